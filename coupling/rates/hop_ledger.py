"""HopLedger: an observer that notes what communication costs by the formula of Mishra20."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from netsim.baselines.hop_cost import (
    contention_factor,
    effective_hops,
    step_costs,
)
from netsim.common.arrays import Ints
from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation
from scheduler.allocators.leaves import switch_levels
from scheduler.cluster import Cluster
from scheduler.observer import Observer
from scheduler.rates import JobRate
from scheduler.traffic import RankFlows, rank_flows

_Spread = tuple[list[int], list[int]]  # leaves of a job, ascending, and its nodes on each
_Levels = Callable[[Ints, Ints], Ints]  # of the lowest switch above pairs of leaves
_LOOKED_UP = 512  # leaves, up to which levels stand in a table
_BATCH = 1 << 17  # messages that are looked at together: calls of NumPy cost more than numbers


class _PlacedRanks(NamedTuple):
    """A job at its start: its messages, and leaf of each rank with those leaves as they were."""

    job: int
    flows: RankFlows
    slot: Ints | None  # of the leaves below; None: ranks go from leaf to leaf
    leaf: Sequence[int]
    held: Sequence[int]  # nodes on each
    comm: Sequence[int]


class HopLedger(Observer):
    """
    Notes what the communication of each job costs on its placement.

    Equations (2) to (6) of Mishra20, on the leaves as they are when the job has started: nodes
    that run communication-intensive jobs, its own included. Messages of many jobs are looked
    at together, each leaf of each job as a leaf of its own.

    `cluster`: The machine; a tree of switches, or nothing is noted.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._costs: dict[int, float] = {}
        self._comm = [0] * cluster.n_leaves
        self._leaves_of: dict[int, _Spread] = {}
        self._waiting: list[_PlacedRanks] = []
        self._n_waiting = 0
        geometry = cluster.geometry
        whole = geometry.hierarchy is not None and not geometry.in_parts
        self._is_tree = isinstance(cluster.fabric, FatTree) or whole
        if self._is_tree:
            self._nodes = np.array([mask.bit_count() for mask in cluster.leaf_nodes])
            self._level_of = _levels_of(switch_levels(geometry), cluster.n_leaves)

    def on_change(
        self,
        ended: Sequence[Allocation],
        started: Sequence[Allocation],
        job_rates: Mapping[int, JobRate],
        now_s: float,
    ) -> None:
        """Note the jobs that start."""
        del job_rates, now_s
        if not self._is_tree:
            return
        for allocation in ended:
            spread = self._leaves_of.pop(allocation.job.id, None)
            if spread is not None:
                self._count_nodes(spread, -1)
        for allocation in started:
            self._note_cost(allocation)

    def costs(self) -> Mapping[int, float] | None:
        """Return communication costs by job id; None where the machine is no tree."""
        self._settle_costs()
        return self._costs if self._is_tree else None

    def _count_nodes(self, spread: _Spread, sign: int) -> None:
        """Count the communicating nodes of a job in or out."""
        comm = self._comm
        for leaf, count in zip(*spread, strict=True):
            comm[leaf] += sign * count

    def _note_cost(self, allocation: Allocation) -> None:
        """Keep what the cost of a job depends on."""
        job = allocation.job
        if job.communication is None:
            return
        leaves, counts = self._leaves_of[job.id] = _leaves_of(allocation)
        self._count_nodes((leaves, counts), 1)
        if job.communication.compute_s is not None or allocation.gpus:
            return  # ranks are GPUs, of which the paper knows nothing
        order = allocation.order
        n_ranks = job.n_nodes if order is None else len(order)
        flows = rank_flows(job.communication.pattern, n_ranks)
        if not flows.src.size:
            return
        slot = None
        if order is not None:
            slot = np.searchsorted(leaves, allocation.geometry.groups(allocation.nodes()))
        if flows.src.size > (int(flows.step[-1]) + 1) * len(leaves) ** 2:
            own = np.repeat(np.arange(len(leaves)), counts) if slot is None else slot
            flows = _between_leaves(flows, own)
        comm = [self._comm[leaf] for leaf in leaves]
        self._waiting.append(_PlacedRanks(job.id, flows, slot, leaves, counts, comm))
        self._n_waiting += flows.src.size
        if self._n_waiting > _BATCH:
            self._settle_costs()

    def _settle_costs(self) -> None:
        """Compute the costs of the jobs that are kept."""
        waiting, self._waiting, self._n_waiting = self._waiting, [], 0
        if not waiting:
            return
        leaf = np.array([leaf for job in waiting for leaf in job.leaf])
        comm = np.array([count for job in waiting for count in job.comm])
        slots, n_ranks = _leaf_slots(waiting)
        leaf_i = slots[_join_ranges([job.flows.src for job in waiting], n_ranks)]
        leaf_j = slots[_join_ranges([job.flows.dst for job in waiting], n_ranks)]
        level = self._level_of(leaf[leaf_i], leaf[leaf_j])
        contention = contention_factor(leaf_i, leaf_j, comm, self._nodes[leaf])
        rounds = np.concatenate([job.flows.flow_rounds for job in waiting])
        hops = effective_hops(2 * level * rounds, contention)
        n_steps = [int(job.flows.step[-1]) + 1 for job in waiting]
        begin = np.cumsum([0, *n_steps])[:-1].tolist()
        step = _join_ranges([job.flows.step for job in waiting], n_steps)
        cost = np.add.reduceat(step_costs(step, hops), begin).tolist()
        self._costs.update(zip((job.job for job in waiting), cost, strict=True))


def _between_leaves(flows: RankFlows, slot: Ints) -> RankFlows:
    """Return one message of each step and pair of leaves, of which `slot` has that of each rank."""
    n_leaves = int(slot.max()) + 1
    sends = np.zeros((int(flows.step[-1]) + 1, n_leaves, n_leaves), dtype=bool)
    sends[flows.step, slot[flows.src], slot[flows.dst]] = True
    step, here, there = np.nonzero(sends)
    rank = np.unique(slot, return_index=True)[1]
    return RankFlows(step, rank[here], rank[there], np.zeros(step.size), flows.rounds)


def _levels_of(levels: _Levels, n_leaves: int) -> _Levels:
    """Return what looks levels up in a table, or finds them where that would be large."""
    if n_leaves > _LOOKED_UP:
        return levels
    leaves = np.arange(n_leaves)
    table = levels(leaves.repeat(n_leaves), np.tile(leaves, n_leaves))
    return lambda leaf_i, leaf_j: table[leaf_i * n_leaves + leaf_j]


def _leaf_slots(waiting: Sequence[_PlacedRanks]) -> tuple[Ints, list[int]]:
    """Return the leaf of each rank, numbered over all jobs, and how many ranks each job has."""
    if all(job.slot is None for job in waiting):
        counts = [count for job in waiting for count in job.held]
        return np.repeat(np.arange(len(counts)), counts), [sum(job.held) for job in waiting]
    own = [
        np.repeat(np.arange(len(job.leaf)), job.held) if job.slot is None else job.slot
        for job in waiting
    ]
    return _join_ranges(own, [len(job.leaf) for job in waiting]), [slot.size for slot in own]


def _join_ranges(parts: Sequence[Ints], sizes: Sequence[int]) -> Ints:
    """Put numbers of several ranges 0..size-1 one behind the other, as those of one range."""
    base = np.cumsum([0, *sizes])[:-1]
    joined: Ints = np.concatenate(parts) + np.repeat(base, [part.size for part in parts])
    return joined


def _leaves_of(allocation: Allocation) -> _Spread:
    """Return the leaves on which a job runs; the nodes that it only holds are its last."""
    if allocation.order is not None and not allocation.idle:
        nodes: Ints = np.unique(np.array(allocation.order))
        own, sizes = np.unique(allocation.geometry.groups(nodes), return_counts=True)
        return own.tolist(), sizes.tolist()
    placed = sorted(allocation.leaves)
    leaves = [leaf for leaf, _, _ in placed]
    counts = [mask.bit_count() for _, mask, _ in placed]
    idle = allocation.idle
    for place in reversed(range(len(counts) if idle else 0)):
        surplus = min(idle, counts[place])
        counts[place] -= surplus
        idle -= surplus
    return leaves, counts
