"""Levels of a fabric, the cables between them, and which link may follow which."""

from dataclasses import dataclass
from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints, occurrence_numbers
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """
    States of a message and the links that take it from one to another.

    On a tree a message that came down never goes up again (up*/down*: no deadlock), so a vertex has
    two states: v while going up, and ``n_vertices + v`` once it came down. Elsewhere a vertex is
    one state. Nodes pass nothing on.
    """

    n_vertices: int  # nodes and switches
    n_nodes: int  # nodes; they are the first vertices
    phases: int  # states of a vertex, 1 or 2
    link: Ints  # (M,): link of each move, by state it starts from, then by link
    # tail, head: (M,): states that each move starts from and leads to
    tail: Ints
    head: Ints
    first: Ints  # (S + 1,): moves from state s are ``first[s]..first[s + 1] - 1``
    into: Ints  # (M,): moves by the state they lead to
    first_into: Ints  # (S + 1,): moves to state s are ``into[first_into[s]:first_into[s + 1]]``

    @classmethod
    def on(cls, topology: Topology) -> "Moves":
        """List the moves of a fabric, over the links that are in service."""
        size = topology.n_nodes + topology.n_switches
        link = np.arange(topology.n_links)
        if topology.absent is not None:
            link = np.delete(link, topology.absent)
        tail, head, phases = topology.link_tail[link], topology.link_head[link], 1
        if isinstance(topology, FatTree):
            phases = 2
            down = tail > head  # switches are numbered level by level
            link = np.concatenate([link, link[down]])
            tail, head = (
                np.concatenate([tail, tail[down] + size]),
                np.concatenate([head + np.where(down, size, 0), head[down] + size]),
            )
        order = np.lexsort((link, tail))
        link, tail, head = link[order], tail[order], head[order]
        into = np.argsort(head, kind="stable")
        marks = np.arange(phases * size + 1)
        first, first_into = np.searchsorted(tail, marks), np.searchsorted(head[into], marks)
        return cls(size, topology.n_nodes, phases, link, tail, head, first, into, first_into)

    def distances(self, switches: Ints) -> Ints:
        """Return the links from every state to the nearest of some switches (S,); -1: none."""
        distance = np.full(self.phases * self.n_vertices, -1, dtype=np.int64)
        frontier = np.concatenate([switches + p * self.n_vertices for p in range(self.phases)])
        distance[frontier] = 0
        steps = 0
        while frontier.size:
            steps += 1
            moves = self.into[row_entries(self.first_into, frontier)]
            reached = self.tail[moves]
            reached = np.sort(reached[distance[reached] < 0])
            reached = reached[np.diff(reached, prepend=-1) > 0]  # as np.unique, but faster
            distance[reached] = steps
            frontier = reached[reached % self.n_vertices >= self.n_nodes]
        return distance


def row_entries(first: Ints, rows: Ints) -> Ints:
    """Return the entries of some rows of a compressed table, row by row."""
    count = first[rows + 1] - first[rows]
    offset = np.cumsum(count) - count
    entries: Ints = np.arange(count.sum()) + np.repeat(first[rows] - offset, count)
    return entries


def links_in_service(topology: Topology) -> Bools:
    """Find which links between nodes work (E,); those inside hosts lead to no other."""
    there = np.ones(topology.n_links, dtype=np.bool_)
    there[topology.n_fabric_links :] = False
    if topology.absent is not None:
        there[topology.absent] = False
    return there


def connected_parts(size: int, tail: Ints, head: Ints, *, strongly: bool = False) -> Ints:
    """
    Return the connected part, 0, 1, ..., of each of `size` vertices that links (n,) join.

    `strongly`: parts within which links lead from every vertex to every other one.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import, and rarely needed)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    graph = csr_array((np.ones(tail.size), (tail, head)), shape=(size, size))
    found = connected_components(graph, directed=strongly, connection="strong")
    part: Ints = found[1].astype(np.int64)
    return part


def steps_from(size: int, tail: Ints, head: Ints, start: Ints) -> Ints:
    """Return the fewest links (tail, head) from some vertices to each of `size`; -1: no path."""
    order = np.argsort(tail, kind="stable")
    head = head[order]
    steps = np.full(size, -1, dtype=np.int64)
    first = np.searchsorted(tail[order], np.arange(size + 1))
    ring, depth = start, 0
    while ring.size:
        steps[ring] = depth
        ring = head[row_entries(first, ring)]
        ring, depth = np.unique(ring[steps[ring] < 0]), depth + 1
    return steps


def vertex_levels(topology: Topology) -> Ints:
    """Return for every vertex the links to the nearest node; -1 where none can be reached."""
    there = links_in_service(topology)
    ends = topology.link_tail[there], topology.link_head[there]
    return steps_from(topology.n_nodes + topology.n_switches, *ends, np.arange(topology.n_nodes))


@dataclass(frozen=True, slots=True, eq=False)
class LevelGraph:
    """
    Cables of a graph from each level to the next: 0 nodes, 1 leaves, and so on to the roots.

    In a PGFT a switch of level l is known by two connected parts: that of the levels up to l, its
    subtree, and that of the levels from l on, its class. Only cables that work both ways count.
    """

    graph: Topology
    level: Ints  # (V,): level of each vertex, -1 of what no node reaches
    # (U,): links upwards, by lower end, then by its port (or cable, where no ports are known)
    up: Ints
    # child, parent: (U,): their ends
    child: Ints
    parent: Ints

    @classmethod
    def of(cls, graph: Topology, level: Ints, port: Ints | None = None) -> "LevelGraph":
        """Sort the links upwards; `port` (E,): at the tail of each link."""
        works = links_in_service(graph)
        tail, head = graph.link_tail, graph.link_head
        between = (level[tail] >= 0) & (level[head] == level[tail] + 1)
        up = np.flatnonzero(works & works[graph.reverse] & between)
        order = (head[up], tail[up]) if port is None else (port[up], tail[up])
        up = up[np.lexsort((graph.link_cable[up], *order))]
        return cls(graph, level, up, tail[up], head[up])

    @property
    def top(self) -> int:
        """Level of the roots."""
        return int(self.level.max(initial=-1))

    def members(self, level: int) -> Ints:
        """Return the vertices of a level, ascending."""
        return np.flatnonzero(self.level == level)

    def parts(self, lowest: int, highest: int) -> Ints:
        """Return the connected part (V,) of each vertex among those of some levels."""
        inside = (self.level[self.child] >= lowest) & (self.level[self.parent] <= highest)
        return connected_parts(self.level.size, self.child[inside], self.parent[inside])

    def cable_numbers(self) -> Ints:
        """Return the number (U,) of each cable among those of its two ends."""
        return occurrence_numbers(self.child * self.level.size + self.parent)

    def bundles(self) -> tuple[Ints, Ints]:
        """Return the lower end of every bundle of parallel cables, and its number of cables."""
        pairs, count = np.unique(self.child * self.level.size + self.parent, return_counts=True)
        return pairs // self.level.size, count


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
