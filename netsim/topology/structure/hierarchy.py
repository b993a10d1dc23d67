"""Hierarchy: the leaves of any tree of switches, and which of them lie below a common switch."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.levels import links_in_service
from netsim.topology.torus import Torus


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Leaves of a tree of switches that need not be regular."""

    # (n_nodes,): leaf of each node: switches with nodes, by number; of several rails the first. -1
    # for a node without a switch.
    leaf: Ints
    switch: Ints  # (L,): vertex of each leaf
    # row l: for switches of level l + 2 the leaves below them, each set once, and none that a row
    # before has
    below: tuple[Bools, ...]

    @cached_property
    def level(self) -> Ints:
        """Level of the lowest switch above two leaves, (L, L): 1 on one leaf; -1 where none is."""
        found = np.full((self.switch.size, self.switch.size), -1, dtype=np.int64)
        for row, below in reversed(list(enumerate(self.below))):
            wide = below.astype(np.float32)
            found[wide.T @ wide > 0.0] = row + 2
        np.fill_diagonal(found, 1)
        return found

    @cached_property
    def in_parts(self) -> bool:
        """Whether some nodes share no switch, however high."""
        return bool(self.leaf.min(initial=0) < 0 or self.level.min(initial=1) < 0)


@lru_cache(maxsize=8)
def hierarchy_of(fabric: Topology) -> Hierarchy | None:
    """
    Return the hierarchy of a fabric; None where no switch is without nodes: it is no tree.

    Below a switch of level l are the leaves from which l - 1 cables or fewer lead to it; the level
    of a switch is what it is asked for, so one that leads to other parts of the machine has more
    leaves below it at a higher level. On a regular tree these sets are its subtrees. Slurm's
    topology/tree takes them from `topology.conf`: the nodes below a switch are those of the
    switches named in its line, and its level is one above the highest of these.

    A switch with nodes that lies between others, as a spine with hosts, is both: a leaf, and a
    switch that has others below it. It has cables to more switches with nodes than those have.
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
        return None
    number = np.full(fabric.n_switches + 1, -1, dtype=np.int64)
    number[switches] = np.arange(switches.size)
    cables = (tail >= nodes) & (head >= nodes)
    ends = tail[cables] - nodes, head[cables] - nodes
    above = np.union1d(inner, _between_leaves(fabric.n_switches, *ends, switches))
    apart = _cables_apart(fabric.n_switches, *ends, switches)
    below = _leaves_below(apart[:, above].T, apart[:, switches])
    return Hierarchy(number[at], nodes + switches, tuple(below))


def _between_leaves(n_switches: int, tail: Ints, head: Ints, leaves: Ints) -> Ints:
    """Return the switches with nodes that have others with nodes below them."""
    has_nodes = np.zeros(n_switches, dtype=np.bool_)
    has_nodes[leaves] = True
    both = has_nodes[tail] & has_nodes[head]
    a, b = np.unique(np.stack([tail[both], head[both]]), axis=1)
    neighbours = np.bincount(a, minlength=n_switches)
    return np.unique(a[neighbours[b] < neighbours[a]])


def _cables_apart(n_switches: int, tail: Ints, head: Ints, leaves: Ints) -> Ints:
    """Return the cables from leaves to switches, (L, n_switches); -1 where no way leads."""
    from scipy.sparse import csgraph, csr_array  # noqa: PLC0415 (slow, rarely needed)

    graph = csr_array((np.ones(tail.size), (tail, head)), shape=(n_switches, n_switches))
    found = csgraph.dijkstra(graph, unweighted=True, indices=leaves)
    return np.where(np.isfinite(found), found, -1).astype(np.int64)


def _leaves_below(apart: Ints, leaves: Ints) -> list[Bools]:
    """
    Return the sets of leaves below switches, level by level, each where it comes up first.

    `apart` (S, L), `leaves` (L, L): cables from the switches above to leaves, and between leaves.
    The last sets are those that any way joins.
    """
    rows: list[Bools] = []
    known: set[bytes] = set()
    steps = range(1, 1 + int(apart.max(initial=0)))
    near_switch = [(apart >= 0) & (apart <= step) for step in steps]
    for sets in (*near_switch, leaves >= 0):
        fresh = []
        for row, near in enumerate(sets):
            key = np.packbits(near).tobytes()
            if key not in known and near.any():
                known.add(key)
                fresh.append(row)
        if fresh:
            rows.append(sets[fresh])
    return rows
