"""Levels of a fabric: how far every vertex is from the nodes."""

from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.moves import row_entries


def links_in_service(topology: Topology) -> Bools:
    """Find which links work (E,)."""
    there = np.ones(topology.n_links, dtype=np.bool_)
    if topology.absent is not None:
        there[topology.absent] = False
    return there


def connected_parts(size: int, tail: Ints, head: Ints) -> Ints:
    """Return the connected part, 0, 1, ..., of each of `size` vertices that links (n,) join."""
    from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import, and rarely needed)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    graph = csr_array((np.ones(tail.size), (tail, head)), shape=(size, size))
    part: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return part


def vertex_levels(topology: Topology) -> Ints:
    """Return for every vertex the links to the nearest node; -1 where none can be reached."""
    there = links_in_service(topology)
    tail, head = topology.link_tail[there], topology.link_head[there]
    order = np.argsort(tail, kind="stable")
    head = head[order]
    level = np.full(topology.n_nodes + topology.n_switches, -1, dtype=np.int64)
    first = np.searchsorted(tail[order], np.arange(level.size + 1))
    ring, depth = np.arange(topology.n_nodes), 0
    while ring.size:
        level[ring] = depth
        ring = head[row_entries(first, ring)]
        ring, depth = np.unique(ring[level[ring] < 0]), depth + 1
    return level


def choice_divisors(topology: Topology) -> Ints:
    """
    Return by what each vertex divides a destination's number before it chooses.

    The product of the parents that a vertex of each lower level has (the median), which on a tree
    is D-mod-k's product of w. Routers that all have nodes have no parents among each other, and
    divide by 1.
    """
    if isinstance(topology, FatTree):
        low = [prod(topology.parents[1:level]) for level in range(topology.levels + 1)]
        return np.repeat(low, topology.counts)
    level = vertex_levels(topology)
    tail, head = topology.link_tail, topology.link_head
    up = (level[tail] >= 0) & (level[head] == level[tail] + 1)
    pairs = np.unique(tail[up] * level.size + head[up])
    parents = np.bincount(pairs // level.size, minlength=level.size)
    found = np.ones(level.size, dtype=np.int64)
    product = 1
    for depth in range(1, int(level.max(initial=0))):
        ranked = np.sort(parents[level == depth])
        product *= max(1, int(ranked[(ranked.size - 1) // 2]))
        found[level > depth] = min(product, topology.n_nodes)
    return found
