"""Leaves of a tree: Slurm's best fit, and greedy, balanced and adaptive of Mishra20."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import ClassVar

import numpy as np

from netsim.baselines.hop_cost import (
    common_switch_level,
    communication_cost,
    communication_ratio,
    contention_factor,
    effective_hops,
)
from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from patterns.base import Pattern
from patterns.collectives import RecursiveDoubling
from scheduler.allocation import Allocation, lowest_bits, mask_bits
from scheduler.allocators.base import OnAnyNodes, check_choice, check_size, now_or_later
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.geometry import Geometry
from scheduler.job import Job
from scheduler.traffic import rank_flows


def require_switches(cluster: Cluster, allocator: str) -> Topology:
    """Return the fabric of a machine, which must be a tree of switches, regular or not."""
    fabric = cluster.fabric
    if not isinstance(fabric, FatTree) and cluster.geometry.hierarchy is None:
        raise AllocationError(
            f"allocator {allocator!r} needs a tree of switches, got {fabric.name}."
        )
    return fabric


def lowest_switch(size: int, cluster: Cluster, allocator: str) -> Sequence[int] | None:
    """
    Return the leaves below the lowest switch with enough free nodes.

    Of several switches at one level, of that with the fewest free nodes, then of the first. None
    where no switch has enough: while so many nodes are free, only on parts that nothing joins.
    """
    fabric = require_switches(cluster, allocator)
    counts = [mask.bit_count() for mask in cluster.leaf_free]
    if isinstance(fabric, FatTree):
        return best_switch(size, counts, fabric)
    hierarchy = cluster.geometry.hierarchy
    assert hierarchy is not None  # noqa: S101 (asked for above)
    return lowest_set(size, np.array(counts[: hierarchy.switch.size]), hierarchy.below)


def lowest_set(size: int, counts: Ints, below: tuple[Bools, ...]) -> list[int] | None:
    """Return the leaves below the lowest switch with enough free nodes, on any hierarchy."""
    for sets in (np.eye(counts.size, dtype=np.bool_), *below):
        free = sets @ counts
        enough = np.flatnonzero(free >= size)
        if enough.size:
            found: list[int] = np.flatnonzero(sets[enough[free[enough].argmin()]]).tolist()
            return found
    return None


def best_switch(size: int, counts: list[int], tree: FatTree) -> range:
    """Return the leaves below the lowest switch with enough free nodes on a tree; all: none has."""
    for level in range(1, tree.levels):
        width = prod(tree.children[1:level])  # leaves below a switch
        free = [sum(counts[first : first + width]) for first in range(0, len(counts), width)]
        enough = [(n, switch) for switch, n in enumerate(free) if n >= size]
        if enough:
            first = min(enough)[1] * width
            return range(first, first + width)
    return range(len(counts))


@dataclass(frozen=True, slots=True)
class SlurmBestFit(OnAnyNodes):
    """
    Slurm's topology/tree: lowest switch, fullest leaves first.

    Of the switches at the lowest level that have enough free nodes below them, the one with the
    fewest is taken; its leaves give all their free nodes in ascending order of how many these are.
    Trees need not be regular: leaves of different size, hosts on spines, missing or several cables,
    branches of different height (see `netsim.topology.structure.hierarchy`).

    Mishra20, section III-B (*best-fit allocation*), the default that its algorithms are compared
    with. Ties go to the lower number. The source of Slurm today (topology/tree, eval_nodes_tree.c)
    finds the same switch, but begins with the leaf below it that has most free nodes and goes on
    with those nearest to it.
    """

    name: ClassVar[str] = "slurm-best-fit"

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        check_size(job, cluster)
        require_switches(cluster, self.name)
        if job.n_nodes > cluster.n_free:
            return None
        below = lowest_switch(job.n_nodes, cluster, self.name)
        if below is None:
            return now_or_later(None, self.name, job, cluster)
        counts = [mask.bit_count() for mask in cluster.leaf_free]
        leaves = []
        missing = job.n_nodes
        for leaf in sorted(below, key=counts.__getitem__):
            if counts[leaf]:
                taken = min(missing, counts[leaf])
                leaves.append((leaf, lowest_bits(cluster.leaf_free[leaf], taken), 0))
                missing -= taken
            if not missing:
                break
        return Allocation(job, cluster.geometry, tuple(leaves))


Portion = tuple[int, int]  # leaf, and nodes taken of it


def free_leaves(job: Job, cluster: Cluster, allocator: str) -> dict[int, int] | None:
    """
    Return free nodes of leaves below the lowest switch that has enough; None: too few are free.

    Line 2 of algorithms 1 and 2 of Mishra20. Among switches of one level the paper does not choose;
    as in Slurm, the one with the fewest free nodes is taken. Full leaves are left out.
    """
    check_size(job, cluster)
    require_switches(cluster, allocator)
    if job.n_nodes > cluster.n_free:
        return None
    below = lowest_switch(job.n_nodes, cluster, allocator)
    if below is None:
        now_or_later(None, allocator, job, cluster)
        return None
    counts = {leaf: cluster.leaf_free[leaf].bit_count() for leaf in below}
    return {leaf: count for leaf, count in counts.items() if count}


def leaf_ratios(leaves: Sequence[int], cluster: Cluster) -> list[float]:
    """Return the communication ratio of leaves: equation (1) of Mishra20."""
    comm = np.array([cluster.leaf_comm[leaf] for leaf in leaves])
    nodes = np.array([cluster.leaf_nodes[leaf].bit_count() for leaf in leaves])
    free = np.array([cluster.leaf_free[leaf].bit_count() for leaf in leaves])
    ratio: list[float] = communication_ratio(comm, nodes - free, nodes).tolist()
    return ratio


def whole(order: Iterable[int], free: dict[int, int], size: int) -> list[Portion]:
    """
    Take all free nodes of leaf after leaf until a job has its nodes.

    `order`: leaves, in the order in which they are taken. Result: leaf and nodes taken of it, in
    order.
    """
    portions = []
    for leaf in order:
        taken = min(free[leaf], size)
        portions.append((leaf, taken))
        size -= taken
        if not size:
            break
    return portions


def take(job: Job, portions: Iterable[Portion], cluster: Cluster) -> Allocation:
    """Give a job free nodes, ranks in the order in which they are taken."""
    masks: dict[int, int] = {}
    order: list[int] = []
    for leaf, count in portions:
        held = masks.get(leaf, 0)
        mask = lowest_bits(cluster.leaf_free[leaf] & ~held, count)
        masks[leaf] = held | mask
        order += cluster.geometry.numbers(leaf, mask_bits(mask))
    ascending = all(a < b for a, b in pairwise(order))
    leaves = tuple((leaf, mask, 0) for leaf, mask in masks.items())
    return Allocation(job, cluster.geometry, leaves, order=None if ascending else tuple(order))


def placement_cost(
    pattern: Pattern, allocation: Allocation, cluster: Cluster, *, hop_bytes: bool = False
) -> float:
    """Return a job's communication cost on a placement: equation (6) of Mishra20."""
    ranks = allocation.partition().nodes
    flows, leaf = rank_flows(pattern, ranks.size), cluster.geometry.groups(ranks)
    comm = np.array(cluster.leaf_comm)
    if allocation.job.communication is not None:
        comm += np.bincount(cluster.geometry.groups(allocation.nodes()), minlength=comm.size)
    nodes = np.array([mask.bit_count() for mask in cluster.leaf_nodes])
    leaf_i, leaf_j = leaf[flows.src], leaf[flows.dst]
    level = switch_levels(cluster.geometry)(leaf_i, leaf_j)
    hops = effective_hops(2 * level, contention_factor(leaf_i, leaf_j, comm, nodes))
    return communication_cost(flows.step, hops * (flows.nbytes if hop_bytes else flows.flow_rounds))


def switch_levels(geometry: Geometry) -> Callable[[Ints, Ints], Ints]:
    """Return the function for the level of the lowest switch above pairs of leaves of a tree."""
    hierarchy, tree = geometry.hierarchy, geometry.fabric
    if hierarchy is not None:
        return lambda leaf_i, leaf_j: hierarchy.level[leaf_i, leaf_j]
    assert isinstance(tree, FatTree)  # noqa: S101 (other machines have no leaves)
    widths = np.cumprod(tree.children[1:])
    above: Ints = np.arange(geometry.n_leaves) // widths[:, np.newaxis]
    return lambda leaf_i, leaf_j: common_switch_level(leaf_i, leaf_j, above)


@dataclass(frozen=True, slots=True)
class Greedy(OnAnyNodes):
    """
    Greedy: whole leaves in the order of their communication ratio.

    Below the lowest switch with enough free nodes, a job that communicates takes the leaves with
    the lowest ratio, another job those with the highest.

    Mishra20, section 4.1, algorithm 1, equation (1). Left open there: leaves of equal ratio are
    taken with the most free nodes first for a job that communicates (the section's aim of few
    switches), the fewest first for another, then by number; ranks run over the leaves in the order
    in which they are taken. A job is communication-intensive if it communicates at all: the paper
    takes that as given by the user and knows no threshold.
    """

    name: ClassVar[str] = "greedy"
    fits_by_count: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        free = free_leaves(job, cluster, self.name)
        if free is None:
            return None
        sign = -1 if job.communication is None else 1
        leaves = list(free)
        ratio = dict(zip(leaves, leaf_ratios(leaves, cluster), strict=True))
        order = sorted(leaves, key=lambda leaf: (sign * ratio[leaf], -sign * free[leaf], leaf))
        return take(job, whole(order, free, job.n_nodes), cluster)


@dataclass(frozen=True, slots=True)
class Balanced(OnAnyNodes):
    """
    Balanced: powers of two nodes, so that exchanges stay on a leaf.

    Below the lowest switch with enough free nodes, a job that communicates takes from the leaves,
    most free nodes first, the largest power of two that fits and does not exceed the portion
    before; what is missing then comes from what these left over, fewest free nodes first. Another
    job takes all of the leaves with the fewest free nodes.

    Mishra20, section 4.2, algorithm 2, table 2. Left open there: a size that is no power of two
    starts from the next lower one, since the text wants powers of two where the algorithm would
    halve the size itself; leaves with as many free nodes come by number; ranks run over the
    portions in the order in which they are taken, so that they align with the exchanges.
    """

    name: ClassVar[str] = "balanced"
    fits_by_count: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        free = free_leaves(job, cluster, self.name)
        if free is None:
            return None
        if job.communication is None:
            order = sorted(free, key=free.__getitem__)
            return take(job, whole(order, free, job.n_nodes), cluster)
        return take(job, portions(free, job.n_nodes), cluster)


def portions(free: dict[int, int], size: int) -> list[Portion]:
    """
    Split a communicating job over leaves in powers of two.

    `free`: free nodes of each leaf, at least 1; together enough. Result: leaf and nodes taken of
    it, in order; a leaf may come twice.

    Examples
    --------
    Table 2 of Mishra20.

    >>> portions(dict(enumerate([160, 150, 100, 80, 70, 50, 40])), 512)
    [(0, 128), (1, 128), (2, 64), (3, 64), (4, 64), (5, 32), (6, 32)]
    """
    order = sorted(free, key=lambda leaf: (-free[leaf], leaf))
    if free[order[0]] >= size:
        return [(order[0], size)]
    taken: list[Portion] = []
    missing, portion = size, 1 << (size.bit_length() - 1)
    for leaf in order:
        while portion > free[leaf]:
            portion //= 2
        taken.append((leaf, min(portion, missing)))
        missing -= taken[-1][1]
        if not missing:
            return taken
    left = {leaf: free[leaf] - count for leaf, count in taken if free[leaf] > count}
    return taken + whole(reversed(left), left, missing)


HOPS, HOP_BYTES = "hops", "hop-bytes"
_STAND_IN = RecursiveDoubling()  # of a job that has no pattern


@dataclass(frozen=True, slots=True)
class Adaptive(OnAnyNodes):
    """
    Adaptive (Mishra20): of greedy and balanced the one that costs less.

    Jobs that do not communicate get the one with the higher cost, which leaves the better nodes to
    others.

    Mishra20, section 4.3, equations (2) to (6). Left open there: at equal cost balanced's placement
    is taken; the cost for a job that does not communicate is that of recursive doubling, without
    counting its own nodes as communicating.
    """

    name: ClassVar[str] = "adaptive"
    fits_by_count: ClassVar[bool] = True

    # "hops", "hop-bytes": effective hops of the worst pair of each step, as equation (6) is
    # printed, or these times the bytes of the message, as section 5.3 says of patterns like RHVD
    cost: str = HOPS

    def __post_init__(self) -> None:
        check_choice("cost", self.cost, (HOPS, HOP_BYTES))

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        require_switches(cluster, self.name)
        balanced = Balanced().allocate(job, cluster)
        greedy = Greedy().allocate(job, cluster)
        if (
            balanced is None
            or greedy is None
            or (balanced.order, set(balanced.leaves))
            == (
                greedy.order,
                set(greedy.leaves),
            )
        ):
            return balanced
        pattern = job.communication.pattern if job.communication else _STAND_IN
        weighed = self.cost == HOP_BYTES
        costs = [
            placement_cost(pattern, placement, cluster, hop_bytes=weighed)
            for placement in (balanced, greedy)
        ]
        better = costs[1] < costs[0] if job.communication else costs[1] > costs[0]
        return greedy if better else balanced
