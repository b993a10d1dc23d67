"""Recognise a PGFT in a graph: the wiring alone decides, not names or ports."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree, build_fat_tree
from netsim.topology.levels import connected_parts, links_in_service, vertex_levels
from netsim.topology.outage import depopulate

_MIN_LEVELS, _MAX_LEVELS = 2, 4


@dataclass(frozen=True, slots=True, eq=False)
class Recognition:
    """A graph as the fat-tree that it is."""

    tree: FatTree  # the tree, with the capacities of the graph; missing nodes and leaves are absent
    # (V,): vertex of the graph at every place of the tree, -1 where the graph has none
    vertex: Ints
    link: Ints  # (E,): link of the graph for every link of the tree, -1 where the graph has none


def recognise_tree(graph: Topology) -> Recognition:
    """
    Find the fat-tree that a graph is, and where everything is in it.

    A level-l subtree is a connected part of levels 0..l; its place among its siblings gives the
    digits above l, in the order of the graph. The digits below l of a switch are those of its
    children, plus the number of the parent: they are counted once upwards from the first subtree of
    each level, then handed down from the roots to all others, which must agree. Last, the PGFT
    built from the counts must have exactly the graph's cables. Leaves may have fewer nodes, and
    pods fewer leaves, than others: the holes come last.
    """
    shape = _Shape.of(graph)
    m, high = _subtrees(graph, shape)
    low = _low_digits(graph, shape, high)
    tree = build_fat_tree(m, shape.w, shape.p, "1 B/s")
    vertex = _placed(graph, shape, tree, high, low)
    return _fitted(graph, tree, vertex)


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """Levels and parents."""

    level: Ints  # (V,): level of each vertex
    members: list[Ints]  # vertices of each level
    parents: list[list[int]]  # parents of each vertex, ascending
    # w, p: parents of an element of each level, and parallel cables to each
    w: list[int]
    p: list[int]

    @classmethod
    def of(cls, graph: Topology) -> "_Shape":
        """Read the levels of a graph, and demand that all elements of one look alike."""
        level = vertex_levels(graph)
        if np.any(level < 0):
            lost = graph.vertex_name(int(np.argmax(level < 0)))
            raise _irregular(f"no node can be reached from {lost}")
        top = int(level.max())
        if not _MIN_LEVELS <= top <= _MAX_LEVELS:
            raise _irregular(
                f"it has {top} levels of switches, expected {_MIN_LEVELS} to {_MAX_LEVELS}"
            )
        there = links_in_service(graph)
        tail, head = graph.link_tail[there], graph.link_head[there]
        level_mates = np.flatnonzero(np.abs(level[tail] - level[head]) != 1)
        if level_mates.size:
            a, b = int(tail[level_mates[0]]), int(head[level_mates[0]])
            names = f"{graph.vertex_name(a)} and {graph.vertex_name(b)}"
            raise _irregular(f"{names} are joined but both at level {level[a]}")
        up = level[head] > level[tail]
        ends, cables = np.unique(np.stack([tail[up], head[up]]), axis=1, return_counts=True)
        parents: list[list[int]] = [[] for _ in range(level.size)]
        bundles: list[set[int]] = [set() for _ in range(level.size)]
        for (child, parent), count in zip(ends.T.tolist(), cables.tolist(), strict=True):
            parents[child].append(parent)
            bundles[child].add(count)
        members = [np.flatnonzero(level == step) for step in range(top + 1)]
        found = [_bundle(graph, members[step], parents, bundles) for step in range(top)]
        return cls(level, members, parents, [w for w, _ in found], [p for _, p in found])


def _bundle(
    graph: Topology, members: Ints, parents: list[list[int]], bundles: list[set[int]]
) -> tuple[int, int]:
    """Return w and p of a level."""
    first: tuple[int, int] | None = None
    for vertex in members.tolist():
        name = graph.vertex_name(vertex)
        if not parents[vertex]:
            raise _irregular(f"{name} has no cable upwards")
        if len(bundles[vertex]) > 1:
            raise _irregular(f"{name} has unequal bundles of cables to its parents")
        own = len(parents[vertex]), next(iter(bundles[vertex]))
        first = first or own
        if own != first:
            other = graph.vertex_name(int(members[0]))
            raise _irregular(
                f"{other} has {first[0]} parents with {first[1]} cables each, "
                f"{name} has {own[0]} with {own[1]}"
            )
    if first is None:
        raise _irregular("it has no nodes")
    return first


def _subtrees(graph: Topology, shape: _Shape) -> tuple[list[int], Ints]:
    """Return m, and for every vertex the number of its subtree among those of its level."""
    size, top = shape.level.size, len(shape.w)
    below = np.maximum(shape.level[graph.link_tail], shape.level[graph.link_head])
    below = np.where(links_in_service(graph), below, top + 1)
    part = np.zeros((top + 1, size), dtype=np.int64)  # subtree of each vertex at each level
    for step in range(top + 1):
        inside = below <= step
        part[step] = connected_parts(size, graph.link_tail[inside], graph.link_head[inside])
    if np.unique(part[top]).size > 1:
        other = int(np.argmax(part[top] != part[top][0]))
        names = f"{graph.vertex_name(0)} and {graph.vertex_name(other)}"
        raise _irregular(f"no path joins {names}")
    m = [0] * top
    number = {int(part[top][0]): 0}
    high = np.zeros(size, dtype=np.int64)
    for step in range(top - 1, -1, -1):
        first: dict[int, int] = {}  # subtrees in the order of their first switch (or node)
        for vertex in shape.members[step].tolist():
            first.setdefault(int(part[step][vertex]), vertex)
        children: dict[int, list[int]] = {}
        for sub, vertex in first.items():
            children.setdefault(number[int(part[step + 1][vertex])], []).append(sub)
        m[step] = max(map(len, children.values()))
        if step > 1 and min(map(len, children.values())) < m[step]:
            raise _irregular(f"subtrees of level {step + 1} have unequal numbers of subtrees")
        number = {
            sub: above * m[step] + c
            for above, subs in children.items()
            for c, sub in enumerate(subs)
        }
        members = shape.members[step]
        high[members] = [number[sub] for sub in part[step][members].tolist()]
    return m, high


def _low_digits(graph: Topology, shape: _Shape, high: Ints) -> Ints:
    """Return for every vertex the digits below its level, as a number."""
    low = np.full(shape.level.size, -1, dtype=np.int64)
    first = shape.members[0][high[shape.members[0]] == 0]
    low[first] = 0
    for step in range(len(shape.w)):  # upwards through the first subtree of every level
        size = prod(shape.w[:step])
        members = shape.members[step]
        for vertex in members[high[members] == 0].tolist():
            for q, parent in enumerate(shape.parents[vertex]):
                place = int(low[vertex]) + size * q
                if low[vertex] < 0 or low[parent] not in {-1, place}:
                    raise _no_place(graph, parent)
                low[parent] = place
    for step in range(len(shape.w) - 1, -1, -1):  # downwards to all others
        size = prod(shape.w[:step])
        for vertex in shape.members[step].tolist():
            above = low[shape.parents[vertex]]
            digits = {int(x) // size for x in above}
            own = {int(x) % size for x in above}
            if above.min() < 0 or len(own) > 1 or digits != set(range(shape.w[step])):
                raise _no_place(graph, vertex)
            low[vertex] = own.pop()
    return low


def _placed(graph: Topology, shape: _Shape, tree: FatTree, high: Ints, low: Ints) -> Ints:
    """Return the vertex at every place of the tree, -1 where there is none."""
    base = np.cumsum([0, *tree.counts])
    vertex = np.full(tree.n_nodes + tree.n_switches, -1, dtype=np.int64)
    for step, members in enumerate(shape.members):
        place = base[step] + low[members] + prod(tree.parents[:step]) * high[members]
        for at, here in zip(place.tolist(), members.tolist(), strict=True):
            if at >= base[step + 1] or vertex[at] >= 0:
                raise _no_place(graph, here)
            vertex[at] = here
    return vertex


def _fitted(graph: Topology, tree: FatTree, vertex: Ints) -> Recognition:
    """Give a tree the graph's capacities and holes, once all cables are the same."""
    there = links_in_service(graph)
    link = np.full(tree.n_links, -1, dtype=np.int64)
    place = np.empty(vertex.size, dtype=np.int64)
    known = np.flatnonzero(vertex >= 0)
    place[vertex[known]] = known
    mine = np.flatnonzero((vertex[tree.link_tail] >= 0) & (vertex[tree.link_head] >= 0))
    yours = np.flatnonzero(there)
    mine = mine[_by_ends(tree, mine, np.arange(vertex.size))]
    yours = yours[_by_ends(graph, yours, place)]
    ends = (tree.link_tail[mine], tree.link_head[mine])
    theirs = (place[graph.link_tail[yours]], place[graph.link_head[yours]])
    if not all(np.array_equal(a, b) for a, b in zip(ends, theirs, strict=True)):
        raise _irregular(f"its cables are not those of a {tree.summary}")
    link[mine] = yours
    missing = np.flatnonzero(vertex < 0)
    # a leaf may be missing where its nodes have no other; no switch above may
    if np.any(missing >= tree.n_nodes + tree.n_leaves * (tree.parents[0] == 1)):
        raise _irregular(f"a {tree.summary} would have more switches")
    return Recognition(with_graph_parts(graph, tree, vertex, link), vertex, link)


def with_graph_parts(graph: Topology, tree: FatTree, vertex: Ints, link: Ints) -> FatTree:
    """Give a tree the capacities, the nodes and the holes of a graph."""
    mine = np.flatnonzero(link >= 0)
    yours = link[mine]
    last = tree.n_nodes + tree.n_leaves * (tree.parents[0] == 1)
    missing = np.flatnonzero(vertex[:last] < 0)
    fitted = depopulate(tree, [tree.vertex_name(v) for v in missing.tolist()])
    lost = np.flatnonzero(link < 0)
    capacity = np.full(tree.n_links, graph.capacity.min())
    capacity[mine] = graph.capacity[yours]
    half = np.zeros(tree.n_links, dtype=np.bool_)
    half[mine] = _half(graph)[yours]
    numbers = np.arange(tree.n_links)
    usable = np.zeros(graph.n_nodes, dtype=np.bool_)
    usable[graph.usable_nodes] = True
    nodes = fitted.usable_nodes
    nodes = nodes[usable[vertex[nodes]]]
    return replace(
        fitted,
        absent=lost if lost.size else None,
        capacity=capacity,
        channel=np.where(half, np.minimum(numbers, tree.reverse), numbers),
        latency_base_s=graph.latency_base_s,
        latency_per_link_s=graph.latency_per_link_s,
        buffer_bytes=graph.buffer_bytes,
        packet_bytes=graph.packet_bytes,
        assumed=graph.assumed,
        usable=None if nodes.size == tree.n_nodes else nodes,
    )


def _by_ends(topology: Topology, links: Ints, place: Ints) -> Ints:
    """Return the order of links by their ends and cable."""
    tail, head = place[topology.link_tail[links]], place[topology.link_head[links]]
    return np.lexsort((topology.link_cable[links], head, tail))


def _half(graph: Topology) -> Bools:
    """Find which links share their channel with another."""
    shared: Bools = np.bincount(graph.channel, minlength=graph.n_links)[graph.channel] > 1
    return shared


def _no_place(graph: Topology, vertex: int) -> TopologyError:
    """Return the error for a vertex that is cabled unlike its siblings."""
    return _irregular(f"{graph.vertex_name(vertex)} is cabled unlike its siblings")


def _irregular(what: str) -> TopologyError:
    """Return the error for a graph that is no PGFT."""
    return TopologyError(f"the fabric is no regular fat-tree: {what}.")
