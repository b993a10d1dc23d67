"""Constants of a job's traffic: what the fixed point needs to know, and the times alone."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fabricsim.checking import number, whole
from netsim.arrays import Floats, Ints, Table
from netsim.contention.base import Traffic
from netsim.contention.columns import PACKET_BYTES
from netsim.contention.detours import Detours, Tables, detours_of, keep_within
from netsim.contention.flattened import fields_of, flat, spread, ways_of
from netsim.errors import ContentionError
from netsim.flows.maxmin import is_per_sender
from netsim.kernelcache import load_kernels
from netsim.routes import Routes, demand_routes
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.rails import n_senders, node_bundles
from netsim.topology.spread import by_chance
from netsim.virtual_channels import channels_in_order, channels_of_ways, has_virtual_channels

_T = TypeVar("_T", bound=np.generic)
_KERNELS = "netsim.contention.traffic_kernels"
_LANE_KERNELS = "netsim.contention.lane_kernels"
_LANE_FILLING_KERNELS = "netsim.contention.lane_filling_kernels"
_SPREAD_LANE_KERNELS = "netsim.contention.spread_lane_kernels"
_SPREAD_KERNELS = "netsim.contention.spread_kernels"
_NO_LANES: Floats = np.zeros((0, 0))
_NO_CHANNELS: Ints = np.zeros(0, dtype=np.int64)
_Tables = tuple[Table, Table, Table]  # records, entries and steps
_Kernel = Callable[..., tuple[Table, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class StepTimes:
    """How long the steps of a job take alone: `steps` as in `JobConstants`."""

    steps: Table

    @property
    def communication_s(self) -> float:
        """Communication time of an iteration alone: sum of tau + lam over the steps."""
        return _communication_s(self.steps)

    @property
    def injection_s(self) -> float:
        """Communication time of an iteration if only the node links limited it."""
        if self.steps.size == 1:
            return float(self.steps.item()[-1])
        return float(self.steps["injection_s"].sum())

    @property
    def latency_s(self) -> float:
        """What latency alone takes of an iteration: sum of lam over the steps."""
        return float(self.steps["latency_s"].sum())


@dataclass(frozen=True, slots=True, eq=False)
class JobConstants:
    """
    One job's demands on channels, per (channel) record and per (channel, step) entry.

    With C the capacity of a channel, all for the job alone, in seconds where it is a time:
    B = bytes / C is the drain time; a flow that opens together with k - 1 others of its
    sender has weight w = k^-c, with c from `netsim.contention.link_kernels.weight_exponent`, 1
    where no buffer is stated; m is the sum of w; q the number of senders; G the w-mean of the
    drain times of the flows' injection links; e the latest end of a flow, where a flow ends
    after the largest B on its path; E the integral of the weights until the flows end;
    w = buffer / C the longest wait of a packet behind those of others (where packets are spread, of
    the part that others meet, times the chance that there is one). A link that takes no
    longer than the limit min(e, tau - w) makes no step longer and no flow linger; of a pool of
    links w counts there as of one of them.

    Parameters
    ----------
    records : (R,) table
        Of each channel: its entries, a directed link of the job on it, sum of B, sum of E,
        least limit/B and largest 1/m over the entries; see `netsim.contention.columns`.
    entries : (K,) table
        Of each channel and step: B, m, q, G, e, limit, w, E; the entries of a record are
        contiguous, steps ascending.
    steps : (A,) table
        Of each step: tau (largest B), lam (latency of the longest path), and the time that
        the node links alone would take, all links of a node together, lam included.
    compute_s : float
        Seconds of an iteration without communication.
    lanes : (K, L) float array
        Of each entry what is on which virtual channel of the link, as
        `netsim.contention.lane_kernels.lanes_of` has it; no rows where links have a single one, or
        no buffer is stated.
    detours : Detours, optional
        How packets choose their way by what others keep busy, where they do.
    """

    records: Table
    entries: Table
    steps: Table
    compute_s: float
    lanes: Floats = field(default_factory=lambda: _NO_LANES)
    detours: Detours | None = None

    @property
    def communication_s(self) -> float:
        """Communication time of an iteration alone."""
        return _communication_s(self.steps)

    @property
    def iteration_s(self) -> float:
        """Time of an iteration alone, T."""
        return self.compute_s + self.communication_s


def _communication_s(steps: Table) -> float:
    """Return the sum of tau + lam over the steps."""
    if steps.size == 1:  # as most jobs have; sums of one cost as much as of many
        drain_s, latency_s, _ = steps.item()
        return float(drain_s + latency_s)
    both = np.empty((steps.size, 2))
    both[:, 0], both[:, 1] = steps["drain_s"], steps["latency_s"]
    return float(both.sum())


class ConstantsOf:
    """
    Computes the constants of jobs on one fabric.

    Parameters
    ----------
    topology : Topology
        The fabric: capacities and channels of its links.
    fairness : {"per-sender", "per-flow"}
        Whether a flow weighs 1 / (flows that its sender opens in the step), as where network
        cards serve their open messages in turn, or 1.

    Attributes
    ----------
    has_lanes : bool
        Whether it tells virtual channels apart: not on tori where each packet may take another.
    fills_lanes : bool
        Whether it knows for how long each of these is full: on dragonflies with fixed paths.
    leads_round : bool
        Whether packets go round by what other jobs keep busy.

    Raises
    ------
    NetsimError
        If the fairness is unknown.
    """

    def __init__(self, topology: Topology, fairness: str = "per-sender") -> None:
        self._per_flow = not is_per_sender(fairness)
        self.topology = topology
        module = "netsim.contention.constants_kernels"
        self._constants = load_kernels(module, "traffic kernels", 8)
        self._times = load_kernels(_KERNELS, "traffic kernels", 8)
        self._n_senders = n_senders(topology)
        bundle, bundle_capacity = node_bundles(topology)
        port = topology.capacity if topology.spread is None else topology.spread.capacity
        self._is_spread = topology.spread is not None and not isinstance(topology, FatTree)
        channels = [topology.channel, bundle]
        if topology.spread is not None:
            channels.append(_queued(topology) if self._is_spread else by_chance(topology))
        self.leads_round = self._is_spread and bool(channels[-1].any())
        rates = np.array([topology.capacity, bundle_capacity, port], dtype=np.float64)
        places = _read_only(np.array(channels, dtype=np.int64))
        self._fabric = places, _read_only(rates), self._n_senders
        self._buffer_bytes = float(topology.buffer_bytes)
        stated = float(topology.packet_bytes)
        self._port = _read_only(np.array([self._buffer_bytes, stated or PACKET_BYTES, stated]))
        self._buffer_s = self._buffer_bytes / float(topology.capacity.min())
        self.has_lanes = (
            has_virtual_channels(topology)
            and (topology.spread is None or isinstance(topology, Dragonfly))
            and not topology.half_duplex
            and self._buffer_bytes > 0.0
        )
        is_dragonfly = isinstance(topology, Dragonfly)
        self.fills_lanes = self.has_lanes and is_dragonfly and not self._is_spread
        self._entry_of: Ints = np.full(topology.n_links, -1)  # scratch, as the kernels leave it
        self._opened: Ints = np.zeros(self._n_senders, dtype=np.int64)
        self._injected_s: Floats = np.zeros(topology.n_links)
        self._drain_s: Floats = np.zeros(topology.n_links)
        self._ahead: tuple[Traffic, _Tables] | None = None  # of the next job

    def __call__(self, traffic: Traffic) -> JobConstants:
        """Return the constants of one job."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and _same_flows(ahead[0], traffic) and self._is_usual(traffic):
            records, entries, steps = ahead[1]
        else:
            records, entries, steps = self._tables(traffic)
        on = _NO_CHANNELS
        if self.has_lanes:
            named = channels_of_ways if self._is_spread else channels_in_order
            on = named(self.topology, traffic.routes)
        lanes = self._lanes(traffic, on, (records, entries, steps))
        own = JobConstants(records, entries, steps, float(traffic.compute_s), lanes)
        return self._choosing(own, traffic, on) if self.leads_round else own

    def _choosing(self, own: JobConstants, traffic: Traffic, on: Ints) -> JobConstants:
        """Return a job, with what decides which part of it goes round among others."""
        longest_s = (own.steps["drain_s"] + self._buffer_s)[traffic.step]
        remade = partial(self._remade, traffic, on.astype(np.int8), own.steps)
        return replace(own, detours=detours_of(traffic, self.topology, longest_s, remade))

    def _remade(self, traffic: Traffic, on: Ints, alone: Table, detoured: Floats) -> Tables:
        """Return records, entries and lanes of a job of which other parts go round."""
        other = replace(traffic, detoured=detoured)
        records, entries, steps = self._tables(other)
        keep_within(alone["drain_s"], steps["drain_s"], records, entries)
        return records, entries, self._lanes(other, on, (records, entries, steps))

    def _lanes(self, traffic: Traffic, on: Ints, tables: _Tables) -> Floats:
        """Return what a job has on each virtual channel; `on`: that of each hop, or of ways."""
        if not self.has_lanes:
            return _NO_LANES
        channel, scratch = self._fabric[0][0], np.empty_like(self._entry_of)
        rest = scratch, *tables[:2], self._n_senders, self._port, self._per_flow
        if self._is_spread:
            whole, real, indptr, hops, of_way, links, share = spread(traffic)
            places = np.stack([links, on])
            given = whole, real, indptr, hops, of_way, places, share, channel
            spread_lanes: Floats = load_kernels(
                _SPREAD_LANE_KERNELS, "contention kernels", 2
            ).spread_lanes_of(*given, *rest)
            return spread_lanes
        step, sender, nbytes, indptr, links, _ = flat(traffic)
        kernels = load_kernels(_LANE_KERNELS, "contention kernels", 2)
        flows = step, sender, nbytes, indptr, channel[links], on
        lanes: Floats = kernels.lanes_of(*flows, *rest)
        if self.fills_lanes:
            alone_s = float(traffic.compute_s) + _communication_s(tables[-1])
            kernels = load_kernels(_LANE_FILLING_KERNELS, "contention kernels", 2)
            lanes = kernels.filled_lanes(lanes, *flows, *rest, alone_s)
        return lanes

    def ahead(self, traffic: Traffic) -> StepTimes:
        """Return what `times` does; if the same flows are asked for next, all is known then."""
        tables = self._tables(traffic)
        self._ahead = traffic, tables
        return StepTimes(tables[-1])

    def _tables(self, traffic: Traffic) -> _Tables:
        """Return records, entries and steps of one job."""
        if self._is_spread:
            check_traffic(traffic, self.topology)
        if traffic.step.size > self._opened.size:
            self._opened = np.zeros(2 * traffic.step.size, dtype=np.int64)
        scratch = self._entry_of, self._opened, self._injected_s
        rest = self._port, *scratch, self._per_flow
        if self._is_spread:
            kernel = load_kernels(_SPREAD_KERNELS, "traffic kernels", 5).spread_constants
            records, entries, steps = kernel(*spread(traffic), *self._fabric[:2], *rest)
        else:
            records, entries, steps = self._told(self._constants.job_constants, traffic, *rest)
        return records, entries, steps

    def times(self, traffic: Traffic) -> StepTimes:
        """Return how long the steps of a job take alone, without what only the model asks for."""
        if self._is_spread:
            return StepTimes(self._tables(traffic)[-1])
        (steps,) = self._told(self._times.step_times, traffic, self._injected_s, self._drain_s)
        return StepTimes(steps)

    def _told(self, kernel: _Kernel, traffic: Traffic, *rest: object) -> tuple[Table, ...]:
        """Return what a kernel tells of a job, the steps last; it checks the flows as it goes."""
        if self._is_usual(traffic):
            try:
                told = kernel(*fields_of(traffic), *self._fabric, *rest)
            except TypeError:  # other arrays
                told = ()
            if told and told[-1].size:
                return told
        check_traffic(traffic, self.topology)
        return kernel(*flat(traffic), *self._fabric, *rest)

    def _is_usual(self, traffic: Traffic) -> bool:
        """Say whether what the kernels do not look at is as it mostly is."""
        topology, routes, compute_s = self.topology, traffic.routes, traffic.compute_s
        if not isinstance(routes, Routes) or routes.n_links != self._entry_of.size:
            return False
        if routes.rule or topology.spread is not None or type(compute_s) is not float:
            return False
        count = traffic.n_nodes
        if count is not None and not (type(count) is int and count > 0):
            return False
        return 0.0 <= compute_s < np.inf


def _queued(topology: Topology) -> Ints:
    """Return 1 for each link before which queues stand that no way round avoids, 0 for others."""
    queued = np.zeros(topology.n_links, dtype=np.int64)
    goes_round = topology.spread is not None and topology.spread.rule == "adaptive"
    if goes_round and isinstance(topology, Dragonfly):
        queued[topology.bases[2] :] = 1
    return queued


def _same_flows(one: Traffic, other: Traffic) -> bool:
    """Say whether two jobs send the very same flows."""
    return (
        one.nbytes is other.nbytes
        and one.routes is other.routes
        and one.step is other.step
        and one.sender is other.sender
        and one.latency_s is other.latency_s
    )


def _read_only(array: NDArray[_T]) -> NDArray[_T]:
    """Return a view that nobody can write to: the compiled type of a fabric tells them apart."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def check_traffic(traffic: Traffic, topology: Topology) -> None:
    """Refuse traffic that does not fit together or the fabric."""
    n_flows, routes = traffic.step.size, traffic.routes
    demand_routes(routes, ContentionError)
    sizes = (traffic.sender.size, traffic.nbytes.size, traffic.latency_s.size, routes.n_flows)
    if sizes != (n_flows,) * len(sizes):
        raise ContentionError(
            f"traffic must hold one step, sender, size, latency and route per flow, got "
            f"{n_flows}, {sizes[0]}, {sizes[1]}, {sizes[2]} and {sizes[3]}."
        )
    if routes.n_links != topology.n_links:
        raise ContentionError(
            f"routes must be on a fabric of {topology.n_links} links, got one of {routes.n_links}."
        )
    demand_rule(routes, topology)
    number("compute_s", traffic.compute_s, 0.0, error=ContentionError)
    if traffic.n_nodes is not None:
        whole("n_nodes", traffic.n_nodes, 0, error=ContentionError)
    if n_flows == 0:
        return
    step = traffic.step
    if step[0] < 0 or bool((step[1:] < step[:-1]).any()):
        raise ContentionError("steps of flows must be 0 or more and ascend.")
    least, most = traffic.nbytes.min(), traffic.nbytes.max()
    if not 0.0 < least <= most < np.inf:
        wrong_size = most if least > 0.0 else least
        raise ContentionError(f"bytes of flows must be positive and finite, got {wrong_size}.")
    if not 0.0 <= traffic.latency_s.min() <= traffic.latency_s.max() < np.inf:
        raise ContentionError("latencies of flows must be 0 or more and finite.")
    low, high = int(traffic.sender.min()), int(traffic.sender.max())
    most = n_senders(topology) - 1
    if low < 0 or high > most:
        what = "nodes" if topology.rails < 2 else "links of nodes"  # noqa: PLR2004 (one a node)
        raise ContentionError(f"senders must be {what} 0..{most}, got {low}..{high}.")


def demand_rule(routes: Routes, topology: Topology) -> None:
    """Refuse routes over pools of links where the fabric has none, and paths where it has pools."""
    rule = "" if topology.spread is None else topology.spread.rule
    if routes.rule != rule:
        raise ContentionError(
            f"routes must be of the routing {rule or 'of the fabric, over paths'!r}, got "
            f"{routes.rule or 'paths'!r}: where switches choose the way of each packet, make the "
            "fabric by netsim.as_routed."
        )


def bytes_per_link(traffic: Traffic) -> tuple[Ints, Floats]:
    """
    Return what a job puts on each link it uses, injection and ejection included.

    Result: `links` (L,): directed links, ascending; `nbytes` (L,): bytes per iteration on each.
    """
    kernels = load_kernels(_KERNELS, "traffic kernels", 8)
    _, _, nbytes, indptr, hops, _ = flat(traffic)
    flows = nbytes, indptr, hops
    if traffic.routes.ways is None:
        links, total = kernels.link_bytes(*flows, traffic.routes.n_links)
    else:
        links, total = kernels.spread_bytes(*flows, *ways_of(traffic), traffic.routes.n_links)
    return links, total


def carry(traffic: Traffic, times: float, carried: Floats, scratch: Floats) -> None:
    """
    Add what a job puts on links in so many iterations.

    `carried` (E,): bytes of each directed link; added to. `scratch` (E,): all 0, and so again.
    """
    if traffic.routes.ways is not None:
        links, total = bytes_per_link(traffic)
        carried[links] += total * times
        return
    kernels = load_kernels(_KERNELS, "traffic kernels", 8)
    nbytes = np.ascontiguousarray(traffic.nbytes, np.float64)
    indptr = np.ascontiguousarray(traffic.routes.indptr, np.int64)
    hops = np.ascontiguousarray(traffic.routes.links, np.int64)
    kernels.carry(nbytes, indptr, hops, times, carried, scratch)
