"""Traffic: what a placed job puts on the network, from pattern, placement and routing."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import TypeVar

import numpy as np

from netsim.common.arrays import Bools, Floats, Ints, Table, distinct_numbers, occurrence_numbers
from netsim.common.errors import RoutingError
from netsim.flows.contention import Traffic
from netsim.flows.latency import LatencyOf, MessageLatency, scale_to
from netsim.flows.partition import Partition
from netsim.flows.traffic import StepTimes, TrafficTimes
from netsim.registries.accuracy import ANY, FEW, FILLED, MANY, ONE, STEPS
from netsim.routing.base import RankRouting, Routing
from netsim.routing.path_sets import nonminimal_part
from netsim.topology.base import Topology
from netsim.topology.gpucluster import NIC_EFFICIENCY, GpuCluster
from netsim.topology.rails import senders
from patterns.base import Pattern, Step
from patterns.errors import PatternError
from patterns.placed import Layout, PlacedPattern
from scheduler.job import Communication

CACHED_PATTERNS = 2048  # (pattern, ranks) pairs cached; only placements differ between like jobs
_Number = TypeVar("_Number", float, Floats)
_CACHED_MESSAGES = 1 << 14  # of a pattern, of 32 bytes each; an all-to-all of 5,000 takes 0.8 GB
_MESSAGE_BYTES = 200  # that a message takes until its job is placed, on paths of six links
_PAIR = 2  # fewer ranks send nothing
_STEPS = 3  # from so many an iteration goes in steps
_FEW = 16  # open messages of a sender
_FAN_IN = 4  # messages of one step that make a rank the root of an incast or scatter
_MOST = 2 / 3  # of what is sent: the kind that names a mix


@dataclass(frozen=True, slots=True, eq=False)
class RankFlows:
    """The steps of a pattern as flat arrays over its F messages."""

    step: Ints  # (F,): step of each message, ascending
    # src, dst: (F,): ranks
    src: Ints
    dst: Ints
    nbytes: Floats  # (F,): bytes, of all rounds of the step together
    rounds: Ints | None = None  # (A,): equal rounds of each step; absent: one
    # (F,): adapter by which a collective sends each message on a GPU cluster, -1: the receiver's
    channel: Ints | None = None
    # (A,): seconds of computation beside each step and those before it that have -1; absent: none
    hide_s: Floats | None = None
    # pattern whose messages depend on the hosts of the ranks: those here are of ranks on a host
    # each
    placed: PlacedPattern | None = None
    labels: tuple[str, ...] = ()  # of steps, where they have some
    # (A,): seconds of each step beside the latency of its messages; absent: none
    latency_s: Floats | None = None
    inside_s: float = 0.0  # seconds of steps that stay inside hosts

    @property
    def flow_rounds(self) -> Ints:
        """Rounds in which each message is sent, (F,)."""
        return np.ones_like(self.step) if self.rounds is None else self.rounds[self.step]

    @property
    def n_rounds(self) -> int:
        """Rounds of all steps that send something."""
        return int(self.flow_rounds[np.unique(self.step, return_index=True)[1]].sum())


@lru_cache(maxsize=1)
def _latest_flows(pattern: Pattern, n_ranks: int) -> RankFlows:
    """Make the messages of one iteration; the latest are kept however many they are."""
    flows = _flat(pattern.steps(n_ranks))
    _require_memory(flows.step.size, n_ranks)
    return replace(flows, placed=pattern) if isinstance(pattern, PlacedPattern) else flows


_few_flows = lru_cache(maxsize=CACHED_PATTERNS)(_latest_flows)


@lru_cache(maxsize=CACHED_PATTERNS)
def _are_few(pattern: Pattern, n_ranks: int) -> bool:
    """Say whether the messages of a pattern are few enough to be kept."""
    return _latest_flows(pattern, n_ranks).step.size <= _CACHED_MESSAGES


def rank_flows(pattern: Pattern, n_ranks: int) -> RankFlows:
    """Return the messages of one iteration as flat arrays."""
    kept = _few_flows if _are_few(pattern, n_ranks) else _latest_flows
    return kept(pattern, n_ranks)


def _require_memory(n_messages: int, n_ranks: int) -> None:
    """Refuse more messages than this machine has memory for, before the system ends the process."""
    wanted = n_messages * _MESSAGE_BYTES
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if wanted > whole:
        raise PatternError(
            f"{n_messages:,} messages of {n_ranks:,} ranks take about {wanted / 2**30:,.0f} GiB, "
            f"this machine has {whole / 2**30:,.0f}; take fewer ranks, or an algorithm with fewer "
            "messages, such as bruck."
        )


@lru_cache(maxsize=CACHED_PATTERNS)
def messages_key(pattern: Pattern, n_ranks: int) -> object:
    """Return what is equal for patterns that send the same: few ranks leave seeds no choice."""
    flows = rank_flows(pattern, n_ranks)
    if flows.placed is not None:
        return pattern
    arrays = (flows.step, flows.src, flows.dst, flows.nbytes)
    maybe = (flows.rounds, flows.channel, flows.hide_s, flows.latency_s)
    parts = (b"" if own is None else own.tobytes() for own in (*arrays, *maybe))
    return (*(sha256(part).digest() for part in parts), flows.labels)


@lru_cache(maxsize=64)
def placed_flows(pattern: PlacedPattern, layout: Layout) -> RankFlows:
    """Return the messages of one iteration of ranks on hosts as flat arrays."""
    return _flat(pattern.placed_steps(layout) if layout.host.size > 1 else [])


def layout_of(cluster: GpuCluster, nodes: Ints, gpus: Ints | None = None) -> Layout:
    """Return where ranks on hosts, or on these GPUs of them, of a GPU cluster are."""
    own = cluster.hosts
    numbers, first, host = np.unique(nodes, return_index=True, return_inverse=True)
    order = np.empty_like(first)
    order[np.argsort(first)] = np.arange(first.size)
    gpu = occurrence_numbers(nodes) if gpus is None else gpus
    count = np.bincount(host, minlength=numbers.size)
    if int(count.max()) > own.gpus:
        most = cluster.vertex_name(int(numbers[np.argmax(count)]))
        raise RoutingError(
            f"collectives of GPUs: expected at most {own.gpus} ranks on a host, one for each GPU, "
            f"got {count.max()} on {most}."
        )
    if gpus is None:
        gpu[count[host] == 1] = -1
    rate = float(cluster.capacity[cluster.node_links[0][0]]) * own.planes
    return Layout(order[host], gpu, own.gpus, own.nics, rate, NIC_EFFICIENCY * own.nccl)


def _flat(steps: Sequence[Step]) -> RankFlows:
    """Return the messages of steps as flat arrays."""
    if not steps:
        none = np.empty(0, dtype=np.int64)
        return RankFlows(none, none, none, np.empty(0))
    rounds = np.array([step.rounds for step in steps])
    hide_s = np.array([_beside_s(step) for step in steps])
    if hide_s[-1] < 0.0:
        raise PatternError("hide_s: expected seconds of the last step, got None.")
    latency_s = np.array([step.latency_s for step in steps])
    channel = None
    if any(step.channel is not None for step in steps):
        channel = np.concatenate(
            [np.full(step.src.size, -1) if step.channel is None else step.channel for step in steps]
        )
    return RankFlows(
        np.repeat(np.arange(len(steps)), [step.src.size for step in steps]),
        np.concatenate([step.src for step in steps]),
        np.concatenate([step.dst for step in steps]),
        np.concatenate([step.nbytes for step in steps]),
        rounds if rounds.max() > 1 else None,
        channel,
        hide_s if hide_s.any() else None,
        labels=tuple(step.label for step in steps) if any(step.label for step in steps) else (),
        latency_s=latency_s if latency_s.any() else None,
    )


def _beside_s(step: Step) -> float:
    """Return the computation beside a step, -1 where it goes on beside the next."""
    if step.hide_s is None:
        return -1.0
    if not 0.0 <= step.hide_s < np.inf:
        raise PatternError(f"hide_s: expected seconds from 0, or None, got {step.hide_s!r}.")
    return step.hide_s


@dataclass(frozen=True, slots=True, eq=False)
class PlacedTraffic:
    """Traffic of a placed job, and its times without other jobs."""

    traffic: Traffic  # what the job puts on the network in each iteration
    ideal_s: float  # seconds of an iteration with communication at injection time
    alone_s: float  # seconds of an iteration alone on this placement and routing
    labels: tuple[str, ...] = ()  # of steps, where they have some
    inside_s: float = 0.0  # seconds of steps that stay inside hosts, part of its computation

    @property
    def placement_factor(self) -> float:
        """Alone / ideal, at least 1."""
        return max(1.0, self.alone_s / self.ideal_s)


@dataclass(frozen=True, slots=True, eq=False)
class JobsTraffic:
    """Traffic of several placed jobs without computation, one after the other."""

    traffic: Traffic  # steps are numbered on from job to job
    first: Ints  # (2, n + 1): flow and step with which each job begins; where the last ends
    steps: Table  # times of the steps alone, as in `StepTimes`

    def times_s(self) -> tuple[list[float], list[float]]:
        """Return the seconds of an iteration of each job: at injection time, and alone."""
        length_s = self.steps["drain_s"] + self.steps["latency_s"]
        each = list(pairwise(self.first[1].tolist()))
        return (
            [float(self.steps["injection_s"][begin:end].sum()) for begin, end in each],
            [float(length_s[begin:end].sum()) for begin, end in each],
        )


def computing_s(injection_s: _Number, fraction: _Number) -> _Number:
    """Return the computing time that makes communication this fraction of the ideal iteration."""
    return injection_s * (1.0 / fraction - 1.0)


class TrafficOf:
    """
    Computes the traffic of placed jobs on one fabric.

    `latency_bound`: jobs so far that were left without traffic because the latency of their
    messages alone takes at least the communication time that fraction and length of the iteration
    leave. `exposed`: jobs so far whose steps take longer than the computation beside them.
    """

    def __init__(self, topology: Topology, routing: Routing) -> None:
        self.latency_bound = self.exposed = 0
        self._topology = topology
        self._routing = RankRouting(topology, routing)
        self._times = TrafficTimes(topology)
        self._latency_of = LatencyOf(topology)

    def __call__(
        self, communication: Communication | None, partition: Partition
    ) -> PlacedTraffic | None:
        """
        Return what a job of one rank per node, or per GPU, puts on the network in each iteration.

        `communication`: pattern, communication fraction and length of the iteration. Result: None
        when nothing crosses the network: one node, no message, fraction 0, or a job that counts as
        `latency_bound`. Bytes and compute time are such that communication at injection time is the
        given fraction of the ideal iteration (docs/concepts/model.md).
        """
        if communication is None or partition.nodes.size < _PAIR:
            return None
        flows = rank_flows(communication.pattern, partition.nodes.size)
        if communication.compute_s is not None:
            return self.of_flows(flows, partition, compute_s=communication.compute_s)
        flows, n_nodes = self._on_hosts(flows, partition), partition.nodes.size
        if partition.gpus is not None:
            flows = self._outside_messages(flows, partition.nodes)
            n_nodes = distinct_numbers(partition.nodes).size
        return self._placed(
            flows,
            partition,
            n_nodes,
            communication.fraction,
            communication.iteration_s,
        )

    def of_flows(
        self,
        flows: RankFlows,
        partition: Partition,
        *,
        fraction: float | None = None,
        compute_s: float | None = None,
        iteration_s: float | None = None,
    ) -> PlacedTraffic | None:
        """
        Return what given messages between ranks put on the network in each iteration.

        `fraction`: communication share of the ideal iteration, 0..1; looked at where `compute_s` is
        absent. `compute_s`: seconds of an iteration without communication. `iteration_s`: length of
        the ideal iteration, to which the bytes are scaled; with `fraction`. Result: None when
        nothing crosses the network: all ranks on one node, no message between nodes, fraction 0, or
        a job that counts as `latency_bound`. A node sends as one, whatever the number of its ranks;
        where nodes have several links, each of these does, and ranks share them as in
        `netsim.topology.rails.Rails`. On a GPU cluster messages inside a host cross its network.
        """
        outside = self._outside_messages(self._on_hosts(flows, partition), partition.nodes)
        step = outside.step
        n_nodes = distinct_numbers(partition.nodes).size
        if compute_s is None:
            return self._placed(outside, partition, n_nodes, fraction or 0.0, iteration_s)
        if not step.size:
            return None
        traffic, times, _ = self._routed_traffic(outside, partition, n_nodes)
        self.exposed += times.overlap is not None and not self._topology.loopback_bw
        compute_s += outside.inside_s
        ideal_s = compute_s + times.injection_s
        alone_s = compute_s + times.communication_s
        traffic = _with_compute(traffic, compute_s)
        return PlacedTraffic(traffic, ideal_s, alone_s, outside.labels, outside.inside_s)

    def takes_together(self, flows: RankFlows, partition: Partition) -> bool:
        """Say whether `of_jobs` takes a job."""
        topology, plain = self._topology, (flows.placed, flows.channel, flows.hide_s)
        return (
            self._routing.of_several_jobs
            and topology.multipath is None
            and topology.endpoints.one_each
            and topology.n_fabric_links == topology.n_links
            and not topology.loopback_bw
            and partition.links is None
            and partition.gpus is None
            and flows.latency_s is None
            and all(part is None for part in plain)
        )

    def of_jobs(self, jobs: Sequence[tuple[RankFlows, Partition]]) -> "JobsTraffic":
        """Return what jobs put on the network that `takes_together` says yes to."""
        sent = [flows for flows, _ in jobs]
        n_flows = np.array([own.step.size for own in sent])
        n_steps = np.array([int(own.step[-1]) + 1 if own.step.size else 0 for own in sent])
        n_ranks = np.array([partition.nodes.size for _, partition in jobs])
        nodes = np.concatenate([partition.nodes for _, partition in jobs])
        rank = np.repeat(np.cumsum(n_ranks) - n_ranks, n_flows)
        src = nodes[np.concatenate([own.src for own in sent]) + rank]
        dst = nodes[np.concatenate([own.dst for own in sent]) + rank]
        own_step = np.repeat(np.cumsum(n_steps) - n_steps, n_flows)
        step = np.concatenate([own.step for own in sent]) + own_step
        nbytes = np.concatenate([own.nbytes for own in sent])
        rounds = np.concatenate(
            [
                np.ones(count, dtype=np.int64) if own.rounds is None else own.rounds[:count]
                for own, count in zip(sent, n_steps.tolist(), strict=True)
            ]
        )
        crossing = src != dst
        if not (crossing.all() and _has_no_gaps(step)):
            job = np.repeat(np.arange(len(sent)), n_flows)[crossing]
            numbers, step = np.unique(step[crossing], return_inverse=True)
            src, dst, nbytes, rounds = (
                src[crossing],
                dst[crossing],
                nbytes[crossing],
                rounds[numbers],
            )
            n_flows = np.bincount(job, minlength=len(sent))
            first_step = np.searchsorted(numbers, np.concatenate([[0], np.cumsum(n_steps)]))
            n_steps = np.diff(first_step)
        routes, _ = self._routing.of_nodes(src, dst)
        latency_s = self._latency_of(routes, step, None, rounds[step]).of(nbytes)
        sender = senders(self._topology, src, routes)
        traffic = Traffic(step, sender, nbytes, routes, 0.0, latency_s, None, None, rounds)
        first = np.zeros((2, len(sent) + 1), dtype=np.int64)
        np.cumsum([n_flows, n_steps], axis=1, out=first[:, 1:])
        return JobsTraffic(traffic, first, self._times(traffic).steps)

    def inside_s(self, flows: RankFlows, partition: Partition) -> float:
        """Return the seconds of an iteration's steps that stay inside hosts, of their loopback."""
        return self._outside_messages(self._on_hosts(flows, partition), partition.nodes).inside_s

    def _on_hosts(self, flows: RankFlows, partition: Partition) -> RankFlows:
        """Return the messages of ranks on these hosts, where a pattern depends on them."""
        if flows.placed is None:
            return flows
        if not isinstance(self._topology, GpuCluster):
            raise RoutingError(
                "collectives of GPUs: expected a fabric of kind 'gpu-cluster', got "
                f"{self._topology.summary}."
            )
        own = layout_of(self._topology, partition.nodes, partition.gpus)
        return placed_flows(flows.placed, own)

    def _outside_messages(self, flows: RankFlows, nodes: Ints) -> RankFlows:
        """Return the messages that cross links: on a GPU cluster those inside hosts too."""
        topology = self._topology
        if topology.n_fabric_links < topology.n_links:
            return flows
        crossing = nodes[flows.src] != nodes[flows.dst]
        if crossing.all() and _has_no_gaps(flows.step):
            return flows
        numbers, step = np.unique(flows.step[crossing], return_inverse=True)
        hide_s = None if flows.hide_s is None else flows.hide_s[numbers]
        across = RankFlows(
            step,
            flows.src[crossing],
            flows.dst[crossing],
            flows.nbytes[crossing],
            None if flows.rounds is None else flows.rounds[numbers],
            None if flows.channel is None else flows.channel[crossing],
            hide_s,
            labels=tuple(flows.labels[number] for number in numbers) if flows.labels else (),
            latency_s=None if flows.latency_s is None else flows.latency_s[numbers],
        )
        if topology.loopback_bw and not crossing.all():
            return self._beside_loopback(across, flows, crossing, numbers)
        if flows.hide_s is not None and np.delete(flows.hide_s, numbers).any():
            raise RoutingError(
                "hidden phases: a collective stays inside hosts, where traffic costs nothing; "
                "expected a fabric with gpu_link."
            )
        return across

    def _beside_loopback(
        self, across: RankFlows, flows: RankFlows, crossing: Bools, numbers: Ints
    ) -> RankFlows:
        """
        Return the messages that cross links, `across`, beside those inside hosts that take time.

        Each of these has the loopback to itself, so a step takes no less than its longest one.
        """
        topology, inside = self._topology, ~crossing
        if flows.hide_s is not None:
            raise RoutingError("hidden phases: expected a fabric without loopback_bw.")
        own_s = flows.flow_rounds[inside] * topology.loopback_lat
        own_s = own_s + flows.nbytes[inside] / topology.loopback_bw
        of_step = np.zeros(int(flows.step.max()) + 1)
        np.maximum.at(of_step, flows.step[inside], own_s)
        beside_s = of_step[numbers]
        of_step[numbers] = 0.0
        hide_s = beside_s if beside_s.any() else None
        return replace(across, hide_s=hide_s, inside_s=float(of_step.sum()))

    def _placed(
        self,
        flows: RankFlows,
        partition: Partition,
        n_nodes: int,
        fraction: float,
        iteration_s: float | None,
    ) -> PlacedTraffic | None:
        """Return traffic whose compute time makes communication a fraction of the iteration."""
        if fraction <= 0 or not flows.src.size:
            return None
        inside_s, loopback = flows.inside_s, bool(self._topology.loopback_bw)
        if flows.hide_s is not None and not loopback:
            raise RoutingError("hidden phases: expected compute_s, not a communication fraction.")
        if iteration_s is not None and (flows.hide_s is not None or inside_s):
            raise RoutingError(
                "loopback_bw: expected messages as long as they are, got a fraction and the length "
                "of an iteration, which scale them; leave out one of these."
            )
        traffic, times, latency = self._routed_traffic(flows, partition, n_nodes)
        unscaled_s = injection_s = times.injection_s
        scale = 1.0
        if iteration_s is not None:
            wanted_s, latency_s = fraction * iteration_s, times.latency_s
            as_is_s = unscaled_s - latency_s, latency_s
            scale = scale_to(wanted_s, as_is_s, traffic.step, traffic.nbytes, latency)
            if scale <= 0:
                self.latency_bound += 1
                return None
            injection_s = wanted_s
        compute_s = computing_s(injection_s + inside_s, fraction) + inside_s
        stretched_s = scale * (times.communication_s - unscaled_s)
        if iteration_s is not None:
            scaled = scale * traffic.nbytes
            traffic = replace(traffic, nbytes=scaled, latency_s=latency.of(scaled))
        ideal_s = compute_s + injection_s
        traffic = _with_compute(traffic, compute_s)
        return PlacedTraffic(traffic, ideal_s, ideal_s + stretched_s, inside_s=inside_s)

    def _routed_traffic(
        self,
        flows: RankFlows,
        partition: Partition,
        n_nodes: int,
    ) -> tuple[Traffic, StepTimes, MessageLatency]:
        """Return traffic between nodes without compute, its times alone, latency by length."""
        src = partition.nodes[flows.src]
        step, nbytes = flows.step, flows.nbytes
        routes, parts = self._routing.routes(
            partition.nodes, flows.src, flows.dst, partition, flows.channel
        )
        if parts is not None:
            src, step = src[parts.flow], step[parts.flow]
            nbytes = nbytes[parts.flow] / parts.parts
        sender = senders(self._topology, src, routes)
        nonminimal = nonminimal_part(self._topology, routes, step, nbytes)
        rounds = 1 if flows.rounds is None else flows.rounds[step]
        latency = self._latency_of(routes, step, nonminimal, rounds)
        if flows.latency_s is not None:
            more_s = flows.latency_s[step] / rounds
            latency = replace(latency, fixed_s=latency.fixed_s + more_s)
        latency_s = latency.of(nbytes)
        traffic = Traffic(
            step, sender, nbytes, routes, 0.0, latency_s, n_nodes, nonminimal, flows.rounds
        )
        if flows.hide_s is not None:
            traffic = replace(traffic, hide_s=flows.hide_s)
        return traffic, self._times(traffic), latency


def _has_no_gaps(step: Ints) -> bool:
    """Say whether every step from 0 to the last sends something."""
    return not step.size or (step[0] == 0 and int((step[1:] - step[:-1]).max(initial=0)) <= 1)


def _with_compute(traffic: Traffic, compute_s: float) -> Traffic:
    """Set the compute time of traffic that is not shared yet; a copy costs eight fields."""
    object.__setattr__(traffic, "compute_s", compute_s)
    return traffic


def traffic_class(flows: RankFlows) -> str:
    """
    Return the traffic class of a job.

    `STEPS` from three steps on; `ONE` where one rank sends or gets more than half of all bytes, in
    four messages at once or more; else `FEW` or `MANY` by how many messages a sender has open at
    once, as the mean over the bytes.
    """
    if flows.n_rounds >= _STEPS:
        return STEPS
    if any(_one_has_most(flows, ranks) for ranks in (flows.src, flows.dst)):
        return ONE
    at_once = _at_once(flows, flows.src)
    return MANY if (at_once * flows.nbytes).sum() > _FEW * flows.nbytes.sum() else FEW


def _one_has_most(flows: RankFlows, ranks: Ints) -> bool:
    """Say whether one of the senders, or receivers, has most of the bytes and many messages."""
    own = np.bincount(ranks, weights=flows.nbytes)
    if not own.size or own.max() <= 0.5 * own.sum():
        return False
    return int(_at_once(flows, ranks)[ranks == own.argmax()].max()) >= _FAN_IN


def _at_once(flows: RankFlows, ranks: Ints) -> Ints:
    """Return for each message how many its sender, or receiver, has in that step."""
    n_ranks = int(ranks.max(initial=0)) + 1
    at = flows.step * n_ranks + ranks
    found: Ints = np.bincount(at)[at] if at.size else at
    return found


@lru_cache(maxsize=CACHED_PATTERNS)
def pattern_class(pattern: Pattern, n_ranks: int) -> str:
    """Return the traffic class of a job of so many ranks."""
    return traffic_class(rank_flows(pattern, n_ranks))


@lru_cache(maxsize=CACHED_PATTERNS)
def most_saturating(pattern: Pattern, n_ranks: int) -> int:
    """
    Return how many messages a rank gets in one step, at most, of those that could fill its link.

    Ranks have a node each, of one link. Senders that could fill it just once do not count.
    """
    flows = rank_flows(pattern, n_ranks)
    at = flows.step * n_ranks + flows.dst
    rate = np.bincount(at, 1.0 / _at_once(flows, flows.src))
    return int(np.bincount(at)[rate > FILLED].max(initial=0))


def communicating_nodes(placed: PlacedTraffic) -> float:
    """Return how many of its nodes a job keeps communicating, on average over its iteration."""
    traffic = placed.traffic
    return (traffic.n_nodes or 1) * max(0.0, 1.0 - traffic.compute_s / placed.ideal_s)


def dominant_class(weighted: Iterable[tuple[str, float]]) -> str:
    """Return the class with two thirds or more of the node-time on communication, else `ANY`."""
    total: dict[str, float] = {}
    for kind, weight in weighted:
        total[kind] = total.get(kind, 0.0) + weight
    if not total:
        return ANY
    most = max(total, key=lambda kind: total[kind])
    return most if 0.0 < _MOST * sum(total.values()) <= total[most] else ANY
