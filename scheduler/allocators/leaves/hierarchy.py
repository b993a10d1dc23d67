"""Hierarchy: which leaves of any tree lie below a common switch, level by level."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.arrays import Ints
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.levels import links_in_service
from netsim.topology.torus import Torus
from scheduler.errors import AllocationError


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """
    Leaves of a tree of switches that need not be regular.

    Parameters
    ----------
    leaf : (n_nodes,) int array
        Leaf of each node: switches with nodes, by number; -1 for a node without a link in service.
    groups : tuple of (L,) int array
        Row l: of each leaf the group of leaves that share a switch of level l + 2; every row
        joins groups of the row before.
    """

    leaf: Ints
    groups: tuple[Ints, ...]


@lru_cache(maxsize=8)
def hierarchy_of(fabric: Topology, allocator: str) -> Hierarchy:
    """
    Return the hierarchy of a fabric.

    Two leaves share a switch of level l where 2 (l - 1) cables or fewer lead from one to the other;
    so do those that share one with a third. On a regular tree these are its subtrees. A switch with
    nodes between others, as a spine with hosts, counts as a leaf of its own. What has no switch
    without nodes is no tree.
    """
    joined = np.flatnonzero(links_in_service(fabric))
    tail, head = fabric.link_tail[joined], fabric.link_head[joined]
    nodes = fabric.n_nodes
    up = (tail < nodes) & (head >= nodes)
    at = np.full(nodes, -1, dtype=np.int64)
    at[tail[up][::-1]] = head[up][::-1] - nodes  # of several rails the first
    switches = np.unique(at[at >= 0])
    between = np.unique(np.concatenate([tail, head]))
    inner = np.setdiff1d(between[between >= nodes] - nodes, switches)
    if isinstance(fabric, (Torus, Dragonfly)) or not (inner.size or switches.size == 1):
        raise AllocationError(
            f"allocator {allocator!r} needs a tree of switches, got {fabric.name}."
        )
    number = np.full(fabric.n_switches + 1, -1, dtype=np.int64)
    number[switches] = np.arange(switches.size)
    cables = (tail >= nodes) & (head >= nodes)
    apart = _apart(fabric.n_switches, tail[cables] - nodes, head[cables] - nodes, switches)
    return Hierarchy(number[at], tuple(_groups(apart)))


def _apart(n_switches: int, tail: Ints, head: Ints, leaves: Ints) -> Ints:
    """Return the cables between leaves, (L, L); -1 where no way leads."""
    from scipy.sparse import csgraph, csr_array  # noqa: PLC0415 (slow, rarely needed)

    graph = csr_array((np.ones(tail.size), (tail, head)), shape=(n_switches, n_switches))
    found = csgraph.dijkstra(graph, unweighted=True, indices=leaves)[:, leaves]
    return np.where(np.isfinite(found), found, -1).astype(np.int64)


def _groups(apart: Ints) -> list[Ints]:
    """Join leaves level by level, as long as that joins any."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 (slow, rarely needed)

    rows: list[Ints] = []
    for steps in range(2, 2 + int(apart.max(initial=0)) + 1, 2):
        near = (apart >= 0) & (apart <= steps)
        _, group = connected_components(near, directed=False)
        if not rows or not np.array_equal(group, rows[-1]):
            rows.append(group.astype(np.int64))
    return rows
