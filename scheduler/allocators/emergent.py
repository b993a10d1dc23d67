"""Emergent-adaptive: of several placements the one that slows jobs down least on the network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import Traffic
from netsim.flows.traffic import bytes_per_link
from netsim.fluid.model import Fluid
from netsim.registries.routings import ROUTINGS, make_routing
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator, OnAnyNodes, check_choice
from scheduler.allocators.baselines import FirstFree
from scheduler.allocators.leaves import Adaptive, Balanced, Greedy, SlurmBestFit, require_switches
from scheduler.cluster import Cluster
from scheduler.job import Communication, Job
from scheduler.traffic import TrafficOf, rank_flows

CANDIDATES: tuple[Allocator, ...] = (Balanced(), Greedy(), SlurmBestFit(), FirstFree())
NEIGHBOURS = 24  # running jobs that are solved together with the new one
MOST_MESSAGES = 50_000  # of an iteration: above, routing four placements takes seconds
_OF_TREES, _OF_GRAPHS = "d-mod-k", "shortest"
_TOLERANCE = 1e-4  # of the fixed point
_BETTER = 1 - 1e-3  # smaller differences are below what the fixed point resolves


@dataclass(frozen=True, slots=True, eq=False)
class _PlacedLoad:
    """A placed job on the network: what the model needs, and how busy it keeps links alone."""

    n_nodes: int
    traffic: Traffic
    placement_factor: float
    links: Ints
    busy: Floats


@dataclass(slots=True, eq=False)
class _RunningLoads:
    """What running jobs put on one fabric, kept while they run."""

    tree: Topology
    traffic_of: TrafficOf
    known: dict[int, tuple[Allocation, _PlacedLoad | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Topology, routing: str) -> "_RunningLoads":
        """Make the network of a fabric."""
        if routing == _OF_TREES and not isinstance(tree, FatTree):
            routing = _OF_GRAPHS
        return cls(tree, TrafficOf(tree, make_routing(routing, tree)))

    def load(self, allocation: Allocation, communication: Communication) -> _PlacedLoad | None:
        """Return what a placement puts on the network; None when nothing crosses it."""
        partition = allocation.partition()
        placed = self.traffic_of(communication, partition)
        if placed is None:
            return None
        links, nbytes = bytes_per_link(placed.traffic)
        busy = nbytes / (self.tree.capacity[links] * placed.alone_s)
        return _PlacedLoad(
            allocation.job.n_nodes, placed.traffic, placed.placement_factor, links, busy
        )

    def running(self, cluster: Cluster) -> dict[int, _PlacedLoad]:
        """Return the loads of the running jobs that use the network."""
        if len(self.known) > 2 * len(cluster.running) + 64:  # most of them have ended
            self.known = {k: v for k, v in self.known.items() if k in cluster.running}
        loads = {}
        for number, allocation in cluster.running.items():
            communication = allocation.job.communication
            if communication is None:
                continue
            entry = self.known.get(number)
            if entry is None or entry[0] is not allocation:
                entry = self.known[number] = (allocation, self.load(allocation, communication))
            if entry[1] is not None:
                loads[number] = entry[1]
        return loads


@dataclass(slots=True, eq=False)
class EmergentAdaptive(OnAnyNodes):
    """
    The placement that the contention model rates best.

    The placements of balanced, greedy, slurm-best-fit and first-free are tried in the model
    `fluid`, together with the running jobs that use the same links most. The one with the smallest
    sum of nodes x slowdown, over the new job and those others, is taken: slowdown is placement
    factor x interference, so what the job does to others counts as much as what it suffers.

    After the adaptive algorithm of Mishra20, section 4.3, with the emergent slowdown for the hop
    formula. The answer depends on the state alone: each call starts a model of its own. At most 24
    running jobs take part. A job that does not use the network gets slurm-best-fit's placement, one
    of more than 50,000 messages an iteration the choice of `Adaptive`. Placements that differ by
    less than 0.1 % count as equal; then the earlier in the list above is taken. About 5 ms a call
    on 1458 nodes.
    """

    name: ClassVar[str] = "emergent-adaptive"
    fits_by_count: ClassVar[bool] = True

    # routing that the model assumes; that of the experiment. Where a tree is not regular,
    # `shortest` stands for `d-mod-k`.
    routing: str = _OF_TREES
    _network: _RunningLoads | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_choice("routing", self.routing, sorted(ROUTINGS))

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return the candidate placement that is predicted to cost the jobs least."""
        tree = require_switches(cluster, self.name)
        plain = SlurmBestFit().allocate(job, cluster)
        communication = job.communication
        if plain is None or communication is None or job.n_nodes == 1:
            return plain
        if rank_flows(communication.pattern, plain.partition().nodes.size).src.size > MOST_MESSAGES:
            return Adaptive().allocate(job, cluster)
        # where parts are not joined, the lowest free nodes may not reach each other
        tried = CANDIDATES[:-1] if cluster.geometry.in_parts else CANDIDATES
        candidates = _different_placements(
            [candidate.allocate(job, cluster) for candidate in tried]
        )
        if len(candidates) == 1:
            return candidates[0]
        network = self._network_of(tree)
        loads = []
        for candidate in candidates:
            load = network.load(candidate, communication)
            if load is None:  # nothing to send
                return plain
            loads.append(load)
        scores = _candidate_scores(loads, network.running(cluster), tree)
        best = 0
        for number, score in enumerate(scores):
            if score < _BETTER * scores[best]:
                best = number
        return candidates[best]

    def _network_of(self, tree: Topology) -> _RunningLoads:
        """Return the network of the fabric at hand."""
        if self._network is None or self._network.tree is not tree:
            self._network = _RunningLoads.of(tree, self.routing)
        return self._network


def _different_placements(placements: list[Allocation | None]) -> list[Allocation]:
    """Return the placements that differ in the node of a rank, in order."""
    kept: dict[bytes, Allocation] = {}
    for placement in placements:
        if placement is not None:
            kept.setdefault(placement.nodes().tobytes(), placement)
    return list(kept.values())


def _candidate_scores(
    candidates: list[_PlacedLoad], running: Mapping[int, _PlacedLoad], tree: Topology
) -> list[float]:
    """Return the node-weighted slowdowns of each candidate and its neighbours together."""
    model = Fluid(tree, tolerance=_TOLERANCE)
    together = [candidates[0], *_nearest_jobs(candidates, running)]
    for number, load in enumerate(together[1:], start=1):
        model.start(number, load.traffic)
    interference: dict[int, float] = {}
    scores = []
    for together[0] in candidates:
        model.start(0, together[0].traffic)
        interference |= model.solve()
        scores.append(
            sum(
                load.n_nodes * load.placement_factor * interference[number]
                for number, load in enumerate(together)
            )
        )
        model.end(0)
    return scores


def _nearest_jobs(
    candidates: list[_PlacedLoad], running: Mapping[int, _PlacedLoad]
) -> list[_PlacedLoad]:
    """Return the running jobs that meet a candidate most, in the order of their start."""
    n_links = 1 + max(int(load.links[-1]) for load in (*candidates, *running.values()))
    busy: Floats = np.zeros(n_links)
    for load in candidates:
        np.maximum.at(busy, load.links, load.busy)
    meeting = {k: float(busy[load.links] @ load.busy) for k, load in running.items()}
    most = sorted(meeting, key=lambda k: -meeting[k])[:NEIGHBOURS]
    chosen = {k for k in most if meeting[k] > 0.0}
    return [load for k, load in running.items() if k in chosen]
