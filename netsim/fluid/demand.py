"""What a job puts on each link when it is alone: the constants of the model `fluid`."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Floats, Ints, Table
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
    def rows(self) -> tuple[Table, Table, Table]:
        """The tables in the order of those of the solver."""
        return self.records, self.entries, self.steps

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
        self._channel, capacity = limited_links(topology)
        self._entry_of: Ints = np.full(capacity.size, -1)  # scratch, as the kernel leaves it
        self._work = self._scratch(_KEPT_ROWS, _KEPT_ROWS, _KEPT_ROWS)
        port = topology.capacity if topology.multipath is None else topology.multipath.capacity
        self._capacity: Floats = np.ascontiguousarray(capacity, np.float64)
        self._buffer_bytes: Floats = np.zeros(capacity.size)  # of limiters: 0
        self._buffer_bytes[: port.size] = topology.buffer_bytes * topology.capacity / port

    def __call__(self, traffic: Traffic) -> JobDemand:
        """Return what one job puts on links."""
        check_traffic(traffic, self.topology)
        return self.of_checked(traffic)

    def of_checked(self, traffic: Traffic) -> JobDemand:
        """Return the same of traffic that `check_traffic` need not look at."""
        hops = hops_of(traffic)
        channel = self._channels(traffic, hops.link.size)
        hops, (channel,) = limited_hops(hops, self.topology, channel)
        rounds = np.ascontiguousarray(step_rounds(traffic), np.int64)
        flows = Flows(
            np.ascontiguousarray(traffic.step, np.int64),
            np.ascontiguousarray(traffic.sender, np.int64),
            np.ascontiguousarray(traffic.nbytes / rounds[traffic.step], np.float64),
            np.ascontiguousarray(traffic.latency_s, np.float64),
            hops.indptr,
            self._channel[hops.link],
            hops.share,
            channel,
            rounds,
            np.ascontiguousarray(step_hides_s(traffic), np.float64),
        )
        n_flows, n_hops, n_steps = flows.step.size, hops.link.size, rounds.size
        n_entries = min(n_hops, n_steps * self._capacity.size)  # at most: a link has one in a step
        demand = Demand(
            np.zeros(n_steps, STEP), np.empty(n_entries, RECORD), np.empty(n_entries, ENTRY)
        )
        work = self._work  # of small jobs, made once
        if max(n_flows, n_hops) > _KEPT_ROWS:
            work = self._scratch(n_flows, n_hops, n_entries)
        n_records, n_entries = self._kernels.job_demand(
            Flows._make(map(read_only, flows)),
            read_only(self._capacity),
            read_only(self._buffer_bytes),
            float(self.topology.packet_bytes),
            self._per_flow,
            work,
            demand,
        )
        steps, records, entries = demand
        rows = records[:n_records].copy(), entries[:n_entries].copy()  # a part of those reserved
        return JobDemand(steps, *rows, float(traffic.compute_s))

    def _scratch(self, n_flows: int, n_hops: int, n_entries: int) -> DemandWork:
        """Return scratch with so many rows."""
        return DemandWork(
            np.empty(n_flows, FLOW_WORK),
            np.empty(n_hops, HOP_WORK),
            np.empty(n_entries, ENTRY),
            np.empty(n_entries, ENTRY_WORK),
            self._entry_of,
            *np.empty((2, n_flows), dtype=np.int64),
            *np.empty((2, max(n_hops, n_flows)), dtype=np.int64),
        )

    def _channels(self, traffic: Traffic, n_hops: int) -> Ints:
        """Return the virtual channel of each hop; 0 where packets choose their path."""
        if not self._has_channels or traffic.routes.path_sets is not None:
            return np.zeros(n_hops, dtype=np.int64)
        return np.ascontiguousarray(channels_in_order(self.topology, traffic.routes), np.int64)
