"""What the communication-aware allocators share: leaves below a switch, and nodes taken there."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from netsim.baselines.hop_cost import (
    common_switch_level,
    communication_cost,
    communication_ratio,
    contention_factor,
    effective_hops,
)
from netsim.common.arrays import Ints
from netsim.topology.fattree import FatTree
from patterns.base import Pattern
from scheduler.allocation import Allocation, bits, lowest
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.leaves.lowest import lowest_switch, require_switches
from scheduler.cluster import Cluster
from scheduler.geometry import Geometry
from scheduler.job import Job
from scheduler.traffic import rank_flows

Portion = tuple[int, int]  # leaf, and nodes taken of it


def free_leaves(job: Job, cluster: Cluster, allocator: str) -> dict[int, int] | None:
    """
    Return the leaves below the lowest switch that has enough free nodes for a job.

    Result: free nodes of each leaf below the switch that Slurm's best fit would choose, full leaves
    left out; None when too few nodes are free.

    Line 2 of algorithms 1 and 2 of Mishra20. Among switches of one level the paper does not
    choose; as in Slurm, the one with the fewest free nodes is taken.
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


def ratios(leaves: Sequence[int], cluster: Cluster) -> list[float]:
    """
    Return the communication ratio of leaves.

    Result: equation (1) of Mishra20 for each.
    """
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
        mask = lowest(cluster.leaf_free[leaf] & ~held, count)
        masks[leaf] = held | mask
        order += cluster.geometry.numbers(leaf, bits(mask))
    ascending = all(a < b for a, b in pairwise(order))
    leaves = tuple((leaf, mask, 0) for leaf, mask in masks.items())
    return Allocation(job, cluster.geometry, leaves, order=None if ascending else tuple(order))


def placement_cost(
    pattern: Pattern, allocation: Allocation, cluster: Cluster, *, hop_bytes: bool = False
) -> float:
    """
    Return what a job's communication would cost on a placement.

    Result: equation (6) of Mishra20; 0 for a job that sends nothing.
    """
    flows = rank_flows(pattern, allocation.job.n_nodes)
    leaf = cluster.geometry.groups(allocation.nodes())
    comm = np.array(cluster.leaf_comm)
    if allocation.job.communication is not None:
        comm += np.bincount(leaf, minlength=comm.size)
    nodes = np.array([mask.bit_count() for mask in cluster.leaf_nodes])
    leaf_i, leaf_j = leaf[flows.src], leaf[flows.dst]
    level = switch_levels(cluster.geometry)(leaf_i, leaf_j)
    hops = effective_hops(2 * level, contention_factor(leaf_i, leaf_j, comm, nodes))
    return communication_cost(flows.step, hops * flows.nbytes if hop_bytes else hops)


def switch_levels(geometry: Geometry) -> Callable[[Ints, Ints], Ints]:
    """
    Return what tells the level of the lowest switch above pairs of leaves of a tree.

    Result: takes two arrays of leaves; 1 where both are one leaf.
    """
    hierarchy, tree = geometry.hierarchy, geometry.fabric
    if hierarchy is not None:
        return lambda leaf_i, leaf_j: hierarchy.level[leaf_i, leaf_j]
    assert isinstance(tree, FatTree)  # noqa: S101 (other machines have no leaves)
    widths = np.cumprod(tree.children[1:])
    above: Ints = np.arange(geometry.n_leaves) // widths[:, np.newaxis]
    return lambda leaf_i, leaf_j: common_switch_level(leaf_i, leaf_j, above)
