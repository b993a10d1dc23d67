"""The lowest switch of a tree that has enough free nodes, and the leaves below it."""

from collections.abc import Sequence
from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError


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
    Find the lowest switch with enough free nodes.

    Result: the leaves below it; of several switches at one level, of that with the fewest free
    nodes, then of the first. None where no switch has enough, which is so on parts that nothing
    joins only, while so many nodes are free.
    """
    fabric = require_switches(cluster, allocator)
    counts = [mask.bit_count() for mask in cluster.leaf_free]
    if isinstance(fabric, FatTree):
        return best_switch(size, counts, fabric)
    hierarchy = cluster.geometry.hierarchy
    assert hierarchy is not None  # noqa: S101 (asked for above)
    return lowest_set(size, np.array(counts[: hierarchy.switch.size]), hierarchy.below)


def lowest_set(size: int, counts: Ints, below: tuple[Bools, ...]) -> list[int] | None:
    """
    Find the lowest switch with enough free nodes on a tree that is not regular.

    `counts` (L,): free nodes of each leaf. `below`: as of a `Hierarchy`. Result: the leaves below
    it; None where none has enough.
    """
    for sets in (np.eye(counts.size, dtype=np.bool_), *below):
        free = sets @ counts
        enough = np.flatnonzero(free >= size)
        if enough.size:
            found: list[int] = np.flatnonzero(sets[enough[free[enough].argmin()]]).tolist()
            return found
    return None


def best_switch(size: int, counts: list[int], tree: FatTree) -> range:
    """
    Find the lowest switch with enough free nodes on a regular tree.

    Result: the leaves below it; all where none has enough.
    """
    for level in range(1, tree.levels):
        width = prod(tree.children[1:level])  # leaves below a switch
        free = [sum(counts[first : first + width]) for first in range(0, len(counts), width)]
        enough = [(n, switch) for switch, n in enumerate(free) if n >= size]
        if enough:
            first = min(enough)[1] * width
            return range(first, first + width)
    return range(len(counts))
