"""What a job puts on each link when it is alone: the constants of the model `fluid`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netsim.common.arrays import Floats, Ints, Table, copied_rows
from netsim.common.jit import load_kernels
from netsim.flows.contention import Traffic, step_hides_s, step_rounds
from netsim.flows.limiters import limited_hops, limited_links
from netsim.flows.maxmin import is_per_sender
from netsim.flows.traffic import check_traffic, hops_of, read_only
from netsim.flows.virtual_channels import channels_in_order, has_virtual_channels
from netsim.fluid.tables import (
    ENTRY,
    ENTRY_WORK,
    FLOW_WORK,
    HOP_WORK,
    RECORD,
    SENT_WORK,
    STEP,
    Demand,
    DemandWork,
    Flows,
)
from netsim.topology.base import Topology

_KEPT_ROWS = 1 << 14  # of scratch


@dataclass(frozen=True, slots=True, eq=False)
class JobDemand:
    """
    What a job puts on links.

    Parameters
    ----------
    steps, records, entries : (A,), (R,), (K,) table
        As `netsim.fluid.tables` names their columns; `records.first_entry` counts from 0.
    compute_s : float
        Seconds of an iteration without communication.
    """

    steps: Table
    records: Table
    entries: Table
    compute_s: float

    @property
    def iteration_s(self) -> float:
        """Time of an iteration alone, T."""
        both = self.steps["rounds"] * (self.steps["drain_s"] + self.steps["latency_s"])
        total_s, together_s = self.compute_s, 0.0  # in the order of the solver: equal bits
        for step_s, hide_s in zip(both.tolist(), self.steps["hide_s"].tolist(), strict=True):
            together_s += step_s
            if hide_s >= 0.0:
                total_s += max(together_s, hide_s)
                together_s = 0.0
        return total_s

    @property
    def tables(self) -> Demand:
        """The tables as kernels take them."""
        return Demand(self.steps, self.records, self.entries)

    @property
    def drain_s(self) -> Floats:
        """Seconds for which an iteration takes the link of each record, (R,)."""
        if not self.records.size:
            return np.zeros(0)
        drain_s = self.entries["drain_s"] * self.steps["rounds"][self.entries["step"]]
        found: Floats = np.add.reduceat(drain_s, self.records["first_entry"])
        return found


class JobDemands:
    """
    What several jobs put on links, one after the other in the same tables.

    `tables`: of all. `sizes`, `first` (3, n): records, entries and steps of each job; where they
    begin. `compute_s` (n,): seconds without communication.
    """

    def __init__(self, tables: Demand, sizes: Ints, compute_s: Floats) -> None:
        self.tables, self.sizes, self.compute_s = tables, sizes, compute_s
        self.first: Ints = np.cumsum(sizes, axis=1) - sizes

    @cached_property
    def _together_s(self) -> Floats:
        """How long steps, or the computation beside them, take: (most groups, jobs)."""
        return _beside_computation_s(self.tables.steps, self.sizes[2].tolist())

    @classmethod
    def of_one(cls, demand: JobDemand) -> "JobDemands":
        """Return one job as several."""
        tables = demand.tables
        sizes = np.array([[tables.records.size], [tables.entries.size], [tables.steps.size]])
        return cls(tables, sizes, np.array([demand.compute_s]))

    @classmethod
    def joined(cls, parts: Sequence["JobDemands"]) -> "JobDemands":
        """Put tables one behind the other."""
        tables = [own.tables for own in parts]
        return cls(
            Demand(
                _joined([own.steps for own in tables], STEP),
                _joined([own.records for own in tables], RECORD),
                _joined([own.entries for own in tables], ENTRY),
            ),
            np.concatenate([np.empty((3, 0), np.int64), *(own.sizes for own in parts)], axis=1),
            np.concatenate([np.empty(0), *(own.compute_s for own in parts)]),
        )

    def of(self, row: int, compute_s: float) -> JobDemand:
        """Return one of them, beside so many seconds of computation."""
        records, entries, steps = (
            slice(first, first + size)
            for first, size in zip(
                self.first[:, row].tolist(), self.sizes[:, row].tolist(), strict=True
            )
        )
        tables = self.tables
        return JobDemand(
            tables.steps[steps], tables.records[records], tables.entries[entries], compute_s
        )

    def iterations_s(self, rows: Ints, compute_s: Floats) -> Floats:
        """Return the times of iterations alone of some of them, as `JobDemand.iteration_s`."""
        total_s = compute_s
        for together_s in self._together_s:
            total_s = total_s + together_s[rows]
        return total_s

    def drain_s(self) -> Floats:
        """Return the seconds for which an iteration takes the link of each record."""
        entries, records = self.tables.entries, self.tables.records
        rounds = self.tables.steps["rounds"]
        first_step = np.repeat(self.first[2], self.sizes[1])
        drain_s = entries["drain_s"] * rounds[first_step + entries["step"]]
        first = np.repeat(self.first[1], self.sizes[0]) + records["first_entry"]
        found: Floats = np.add.reduceat(drain_s, first) if first.size else np.zeros(0)
        return found


def _joined(tables: Sequence[Table], kind: np.dtype[Any]) -> Table:
    """Put tables one behind the other; as bytes, which numpy copies several times as fast."""
    found: Table = np.concatenate([np.empty(0, np.uint8), *(own.view(np.uint8) for own in tables)])
    return found.view(kind)


def _beside_computation_s(steps: Table, counts: Sequence[int]) -> Floats:
    """
    Return how long steps, or the computation beside them, take: (most groups, jobs).

    A group is steps beside one computation; absent ones take 0 s.
    """
    step_s = (steps["rounds"] * (steps["drain_s"] + steps["latency_s"])).tolist()
    hide_s, groups, at = steps["hide_s"].tolist(), [], 0
    for count in counts:
        own, together_s = [], 0.0
        for step in range(at, at + count):
            together_s += step_s[step]
            if hide_s[step] >= 0.0:
                own.append(max(together_s, hide_s[step]))
                together_s = 0.0
        groups.append(own)
        at += count
    found = np.zeros((max(map(len, groups), default=0), len(groups)))
    for job, own in enumerate(groups):
        found[: len(own), job] = own
    return found


class DemandOf:
    """
    Computes what jobs put on the links of one fabric.

    Parameters
    ----------
    topology : Topology
        The fabric: capacities and channels of its links, buffers and packets.
    fairness : {"per-sender", "per-flow"}
        Whether a flow weighs 1 / (flows that its sender opens in the step), as where network
        cards serve their open messages in turn, or 1.

    Raises
    ------
    NetsimError
        If the fairness is unknown.
    """

    def __init__(self, topology: Topology, fairness: str = "per-sender") -> None:
        self.topology = topology
        self._per_flow = not is_per_sender(fairness)
        self._kernels = load_kernels("netsim.fluid.demand_kernels", "traffic kernels", 5)
        self._has_channels = has_virtual_channels(topology) and not topology.half_duplex
        channel, capacity = limited_links(topology)
        one_each = np.array_equal(channel, np.arange(channel.size))
        self._channel = None if one_each else channel  # None: that of a link is the link
        self._entry_of: Ints = np.full(capacity.size, -1)  # scratch, as the kernel leaves it
        self._work = self._scratch(_KEPT_ROWS, _KEPT_ROWS, _KEPT_ROWS)
        port = topology.capacity if topology.multipath is None else topology.multipath.capacity
        self._capacity = read_only(np.ascontiguousarray(capacity, np.float64))
        buffer_bytes = np.zeros(capacity.size)  # of limiters: 0
        buffer_bytes[: port.size] = topology.buffer_bytes * topology.capacity / port
        self._buffer_bytes = read_only(buffer_bytes)

    def __call__(self, traffic: Traffic) -> JobDemand:
        """Return what one job puts on links."""
        check_traffic(traffic, self.topology)
        return self.of_checked(traffic)

    def of_checked(self, traffic: Traffic) -> JobDemand:
        """Return the same of traffic that `check_traffic` need not look at."""
        n_steps = int(traffic.step[-1]) + 1 if traffic.step.size else 0
        ends = np.array([[0, traffic.step.size], [0, n_steps]])
        return JobDemand(*self._tables(traffic, ends)[0], float(traffic.compute_s))

    def of_jobs(self, traffic: Traffic, first: Ints) -> JobDemands:
        """
        Return the same of the traffic of several jobs, without computation.

        `first` (2, n + 1): flow and step with which each job begins, and where the last ends.
        """
        return JobDemands(*self._tables(traffic, first), np.zeros(first.shape[1] - 1))

    def _tables(self, traffic: Traffic, first: Ints) -> tuple[Demand, Ints]:
        """Return the tables of jobs, and how many records, entries and steps each has."""
        hops = hops_of(traffic)
        channel = self._channels(traffic, hops.link.size)
        hops, (channel,) = limited_hops(hops, self.topology, channel)
        rounds, nbytes = step_rounds(traffic), traffic.nbytes
        if traffic.rounds is not None:
            nbytes = nbytes / rounds[traffic.step]
        flows = Flows(
            np.ascontiguousarray(traffic.step, np.int64),
            np.ascontiguousarray(traffic.sender, np.int64),
            np.ascontiguousarray(nbytes, np.float64),
            np.ascontiguousarray(traffic.latency_s, np.float64),
            hops.indptr,
            hops.link if self._channel is None else self._channel[hops.link],
            hops.share,
            channel,
            np.ascontiguousarray(rounds, np.int64),
            np.ascontiguousarray(step_hides_s(traffic), np.float64),
        )
        n_flows, n_hops, n_steps = flows.step.size, hops.link.size, rounds.size
        most = min(n_hops, n_steps * self._entry_of.size)  # a link has one entry in a step
        work, records, entries = self._work  # of small jobs, made once
        if max(n_flows, n_hops) > _KEPT_ROWS:
            work, records, entries = self._scratch(n_flows, n_hops, most)
        demand = Demand(np.zeros(n_steps, STEP), records, entries)
        sizes = np.empty((3, first.shape[1] - 1), dtype=np.int64)
        sizes[2] = first[1, 1:] - first[1, :-1]
        n_records, n_entries = self._kernels.job_demands(
            tuple(map(read_only, flows)),
            first,
            (self._capacity, self._buffer_bytes, float(self.topology.packet_bytes)),
            self._per_flow,
            tuple(work),
            tuple(demand),
            sizes[:2],
        )
        rows = copied_rows(records[:n_records]), copied_rows(entries[:n_entries])
        return Demand(demand.steps, *rows), sizes

    def _scratch(self, n_flows: int, n_hops: int, most: int) -> tuple[DemandWork, Table, Table]:
        """Return scratch of so many flows and hops, and tables of at most so many entries."""
        work = DemandWork(
            np.empty(n_flows, FLOW_WORK),
            np.empty(n_flows, SENT_WORK),
            np.empty(n_hops, HOP_WORK),
            np.empty(most, ENTRY),
            np.empty(most, ENTRY_WORK),
            self._entry_of,
            *np.empty((2, n_flows), dtype=np.int64),
            *np.empty((2, max(n_hops, n_flows)), dtype=np.int64),
        )
        return work, np.empty(most, RECORD), np.empty(most, ENTRY)

    def _channels(self, traffic: Traffic, n_hops: int) -> Ints:
        """Return the virtual channel of each hop; 0 where packets choose their path."""
        if not self._has_channels or traffic.routes.path_sets is not None:
            return np.zeros(n_hops, dtype=np.int64)
        return np.ascontiguousarray(channels_in_order(self.topology, traffic.routes), np.int64)
