"""Recognise a PGFT in a graph, whole or with parts missing: the wiring decides, not the names."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints, occurrence_numbers
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree, build_fat_tree
from netsim.topology.levels import LevelGraph, links_in_service, vertex_levels
from netsim.topology.outage import depopulate

_MIN_LEVELS, _MAX_LEVELS = 2, 4
_LEAST_PRESENT = 0.75  # of the cables between switches; with fewer, another shape may fit better

Name = Callable[[int], str]  # of a vertex, in messages


@dataclass(frozen=True, slots=True, eq=False)
class Recognition:
    """A graph as the fat-tree that it is."""

    tree: FatTree  # the tree, with the capacities of the graph; missing nodes and leaves are absent
    # (V,): vertex of the graph at every place of the tree, -1 where the graph has none
    vertex: Ints
    link: Ints  # (E,): link of the graph for every link of the tree, -1 where the graph has none


@dataclass(frozen=True, slots=True, eq=False)
class TreePlaces:
    """The shape of a PGFT, and the digits of every vertex of a graph in it."""

    # m, w, p: children, parents and parallel cables, from the nodes up
    m: list[int]
    w: list[int]
    p: list[int]
    # (V,): digits above the level of a vertex, and below it, as numbers
    high: Ints
    low: Ints
    # (U,): place of every link upwards among those of its lower end; None: parallel cables in order
    uplink: Ints | None = None

    def filled(self, levels: LevelGraph, name: Name) -> tuple[FatTree, Ints, Ints]:
        """Return the whole tree, and the vertex and the link at each of its places, -1: none."""
        graph, level = levels.graph, levels.level
        tree = build_fat_tree(self.m, self.w, self.p, "1 B/s")
        width = np.array([prod(self.w[:step]) for step in range(tree.levels + 1)], dtype=np.int64)
        vertex = np.full(tree.n_nodes + tree.n_switches, -1, dtype=np.int64)
        known = np.flatnonzero(level >= 0)
        base = np.cumsum([0, *tree.counts], dtype=np.int64)
        place = base[level[known]] + self.low[known] + width[level[known]] * self.high[known]
        twice = np.flatnonzero(occurrence_numbers(place))
        if twice.size:
            pair = known[np.flatnonzero(place == place[twice[0]])[:2]].tolist()
            raise irregular(f"{' and '.join(map(name, pair))} have the same place")
        vertex[place] = known
        child, parent, step = levels.child, levels.parent, level[levels.child]
        digit, low = np.divmod(self.low[parent], width[step])
        parents, ports = np.array(tree.parents)[step], np.array(tree.ports)[step]
        port = self.uplink
        if port is None:
            port = digit + parents * levels.cable_numbers()
        above = self.high[child] // np.array(self.m)[step]
        straight = (low == self.low[child]) & (self.high[parent] == above)
        odd = np.flatnonzero(~straight | (port % parents != digit) | (port >= ports))
        if odd.size:
            ends = name(int(child[odd[0]])), name(int(parent[odd[0]]))
            raise irregular(f"{ends[0]} is cabled to {ends[1]}, unlike its siblings")
        offset = (self.low[child] + width[step] * self.high[child]) * ports + port
        link = np.full(tree.n_links, -1, dtype=np.int64)
        link[np.array(tree.up_base)[step] + offset] = levels.up
        link[np.array(tree.down_base)[step] + offset] = graph.reverse[levels.up]
        return tree, vertex, link


def recognise_tree(
    graph: Topology, port: Ints | None = None, name: Name | None = None
) -> Recognition:
    """
    Find the fat-tree that a graph is, and where everything is in it.

    All elements of a level have as many parents and cables to each, and the PGFT of these counts
    has exactly the graph's cables. Leaves may have fewer nodes, and pods fewer leaves, than
    others: the holes come last. `port` (E,): ports at the tails of links, by which subtrees and
    parents are numbered; without them the order of the graph decides.
    """
    name = name or graph.vertex_name
    levels = _checked_levels(graph, vertex_levels(graph), port, name)
    _require_alike(levels, name)
    numbering = _DigitNumbering(levels, port, name, alike=True)
    places = numbering.places()
    tree, vertex, link = places.filled(levels, name)
    there = vertex >= 0
    if np.any(there[tree.link_tail] & there[tree.link_head] & (link < 0)):
        raise irregular(f"its cables are not those of a {tree.summary}")
    # a leaf may be missing where its nodes have no other; no switch above may
    if not there[tree.n_nodes + tree.n_leaves * (tree.parents[0] == 1) :].all():
        raise irregular(f"a {tree.summary} would have more switches")
    return Recognition(with_graph_parts(graph, tree, vertex, link), vertex, link)


def recognise_damaged_tree(
    graph: Topology, port: Ints, name: Name, *, by_port: bool, like: FatTree | None = None
) -> Recognition:
    """
    Find the fat-tree of which a graph is what is left.

    `like`: the tree that it was, where it lost the same everywhere, as a root of two levels. Parts
    of different classes that share no subtree may be one class that lost what joined it. Subtrees
    and classes are numbered by the ports (E,) that lead to them, else in the order of the graph.
    """
    levels = _checked_levels(graph, wave_levels(graph), port, name)
    if like is not None and levels.top != like.levels:
        raise irregular(f"it has {levels.top} levels of switches, {like.name} has {like.levels}")
    numbering = _DigitNumbering(levels, port if by_port else None, name, like=like, order=port)
    tree, vertex, link = numbering.places().filled(levels, name)
    if like is None:
        _require_enough(tree, vertex, link)
    return Recognition(with_graph_parts(graph, tree, vertex, link), vertex, link)


def _checked_levels(graph: Topology, level: Ints, port: Ints | None, name: Name) -> LevelGraph:
    """Sort the cables of a graph, all of which must lead from a level to the next."""
    works = links_in_service(graph)
    tail, head = graph.link_tail[works], graph.link_head[works]
    lost = np.flatnonzero(level < 0)
    if port is not None:  # switches without a cable are no part of the tree
        lost = lost[np.isin(lost, tail)]
    if lost.size:
        raise irregular(f"no node can be reached from {name(int(lost[0]))}")
    levels = LevelGraph.of(graph, level, port)
    if not _MIN_LEVELS <= levels.top <= _MAX_LEVELS:
        raise irregular(
            f"it has {levels.top} levels of switches, expected {_MIN_LEVELS} to {_MAX_LEVELS}"
        )
    across = np.flatnonzero(np.abs(level[tail] - level[head]) != 1)
    if across.size:
        a, b = int(tail[across[0]]), int(head[across[0]])
        raise irregular(f"{name(a)} and {name(b)} are joined, at levels {level[a]} and {level[b]}")
    if 2 * levels.up.size < tail.size:
        raise irregular("some of its cables work one way only")
    return levels


def _require_alike(levels: LevelGraph, name: Name) -> None:
    """Refuse a level whose elements have other numbers of parents, or of cables to a parent."""
    child, cables = levels.bundles()
    size = levels.level.size
    parents = np.bincount(child, minlength=size)
    fewest, most = np.full(size, np.iinfo(np.int64).max), np.zeros(size, dtype=np.int64)
    np.minimum.at(fewest, child, cables)
    np.maximum.at(most, child, cables)
    for step in range(levels.top):
        members = levels.members(step)
        for bad, what in (
            (parents == 0, "has no cable upwards"),
            (fewest < most, "has unequal bundles of cables to its parents"),
        ):
            if bad[members].any():
                raise irregular(f"{name(int(members[bad[members].argmax()]))} {what}")
        first = members[0]
        other = (parents[members] != parents[first]) | (most[members] != most[first])
        if other.any():
            odd = int(members[other.argmax()])
            raise irregular(
                f"{name(int(first))} has {parents[first]} parents with {most[first]} cables each, "
                f"{name(odd)} has {parents[odd]} with {most[odd]}"
            )


class _DigitNumbering:
    """The digits of every vertex: of its subtree from the roots down, of its class upwards."""

    def __init__(
        self,
        levels: LevelGraph,
        port: Ints | None,
        name: Name,
        *,
        alike: bool = False,
        like: FatTree | None = None,
        order: Ints | None = None,
    ) -> None:
        self._levels, self._port, self._name = levels, port, name
        self._alike, self._like, self._order = alike, like, order
        self._step = levels.level[levels.child]
        self._high = np.zeros(levels.level.size, dtype=np.int64)
        self._low = np.zeros_like(self._high)
        self._uplink = np.zeros_like(levels.up)
        self._m, self._w, self._p = ([1] * levels.top for _ in range(3))

    def places(self) -> TreePlaces:
        """Return the shape of the tree and all digits."""
        self._number_subtrees()
        self._number_classes()
        uplink = None if self._port is None else self._uplink
        return TreePlaces(self._m, self._w, self._p, self._high, self._low, uplink)

    def _number_subtrees(self) -> None:
        """Give numbers to the subtrees of every level, from the roots down."""
        levels = self._levels
        part = levels.parts(0, levels.top)
        there = np.flatnonzero(levels.level >= 0)
        other = there[part[there] != part[there[0]]]
        if other.size:
            names = f"{self._name(int(there[0]))} and {self._name(int(other[0]))}"
            raise irregular(f"no path joins {names}")
        number = np.zeros(levels.level.size, dtype=np.int64)  # of the subtree of each part
        for step in range(levels.top - 1, -1, -1):
            above, part = part, levels.parts(0, step)
            members = levels.members(step)
            subtrees, first = np.unique(part[members], return_index=True)
            first = members[first]
            port = self._ports_down(step, part)[subtrees]
            if np.any(port < 0):
                lost = int(first[np.argmax(port < 0)])
                raise irregular(f"{self._name(lost)} has no cable upwards")
            digit = self._subtree_digits(step, above[first], port, first)
            self._m[step] = int(digit.max()) + 1
            if self._like is not None:
                self._m[step] = max(self._m[step], self._like.children[step])
            own = number[above[first]] * self._m[step] + digit
            number = np.zeros_like(number)
            number[subtrees] = own
            self._high[members] = number[part[members]]

    def _ports_down(self, step: int, part: Ints) -> Ints:
        """Return the port by which most switches lead to each part below, (V,); -1: none."""
        levels = self._levels
        own = self._step == step
        down = levels.graph.reverse[levels.up[own]]
        ports = self._port if self._order is None else self._order
        port = np.zeros_like(down) if ports is None else ports[down]
        below, parent = part[levels.child[own]], levels.parent[own]
        order = np.lexsort((port, parent, below))
        first = np.diff(below[order] * levels.level.size + parent[order], prepend=-1) != 0
        found = np.full(levels.level.size, -1, dtype=np.int64)
        keys, values = _commonest_values(below[order][first], port[order][first])
        found[keys] = values
        return found

    def _subtree_digits(self, step: int, above: Ints, port: Ints, first: Ints) -> Ints:
        """Return the digit of every subtree among its siblings: those with the same part above."""
        digit = np.empty_like(port)
        if self._port is None:
            order = np.lexsort((first, port, above))
            digit[order] = occurrence_numbers(above[order])
            return digit
        twice = np.flatnonzero(occurrence_numbers(above * (1 + int(port.max())) + port))
        if twice.size:
            same = np.flatnonzero((above == above[twice[0]]) & (port == port[twice[0]]))[:2]
            names = " and ".join(self._name(x) for x in first[same].tolist())
            raise irregular(f"the ports of the switches above {names} differ")
        if self._like is not None:
            return (port - 1) // self._like.parallel[step]
        digit[:] = np.unique(port, return_inverse=True)[1]
        return digit

    def _number_classes(self) -> None:
        """Give numbers to the classes of every level, from the leaves up."""
        levels = self._levels
        for step in range(levels.top):
            own = np.flatnonzero(self._step == step)
            self._measure_uplinks(step, own)
            part = levels.parts(step + 1, levels.top)
            members = levels.members(step + 1)
            below = np.full(levels.level.size, -1 if step else 0, dtype=np.int64)
            below[levels.parent[own]] = self._low[levels.child[own]]
            unlike = (
                levels.parent[own][
                    below[levels.parent[own]] != self._low[levels.child[own]]
                ].tolist()
                + members[below[members] < 0].tolist()
            )
            if self._port is None:
                digit = self._coloured_digits(part, members, below)
            else:
                digit = self._port_digits(step, part, own)
                unlike += members[digit[members] < 0].tolist()
            if unlike:
                raise irregular(f"{self._name(unlike[0])} is cabled unlike its siblings")
            self._w[step] = max(self._w[step], int(digit.max()) + 1)
            self._low[members] = below[members] + prod(self._w[:step]) * digit[members]

    def _measure_uplinks(self, step: int, own: Ints) -> None:
        """Find parents and cables to each of a whole switch; number its links up by port."""
        levels, like = self._levels, self._like
        child, cables = levels.bundles()
        here = levels.level[child] == step
        self._w[step] = int(np.bincount(child[here]).max())
        self._p[step] = int(cables[here].max())
        if self._port is None:
            return
        if self._alike or step == 0:
            self._uplink[own] = occurrence_numbers(levels.child[own])
            return
        port = self._port[levels.up[own]]
        ports = np.unique(port)
        if like is not None:
            self._w[step], self._p[step] = like.parents[step], like.parallel[step]
            first = like.children[step - 1] * like.parallel[step - 1] + 1
            ports = np.arange(first, first + like.ports[step])
            if not np.isin(port, ports).all():
                expected = f"{ports[0]} to {ports[-1]}"
                raise irregular(f"switches of level {step} go up by other ports than {expected}")
        if ports.size != self._w[step] * self._p[step]:
            raise irregular(f"switches of level {step} have their uplinks at different ports")
        self._uplink[own] = np.searchsorted(ports, port)

    def _port_digits(self, step: int, part: Ints, own: Ints) -> Ints:
        """Return the digit of every class, (V,), as most ports below have it; -1: unknown."""
        keys, values = _commonest_values(
            part[self._levels.parent[own]], self._uplink[own] % self._w[step]
        )
        digit = np.full(part.size, -1, dtype=np.int64)
        digit[keys] = values
        return digit[part]

    def _coloured_digits(self, part: Ints, members: Ints, below: Ints) -> Ints:
        """Return digits of classes, (V,), largest first: the first that no neighbour has."""
        where: dict[int, set[tuple[int, int]]] = {}  # (class below, subtree) of its switches
        first: dict[int, tuple[int, int]] = {}
        for vertex in members.tolist():
            high, key = int(self._high[vertex]), int(part[vertex])
            where.setdefault(key, set()).add((int(below[vertex]), high))
            first[key] = min(first.get(key, (high, vertex)), (high, vertex))
        digit = np.full(part.size, -1, dtype=np.int64)
        taken: set[tuple[int, int, int]] = set()
        for key in sorted(where, key=lambda key: (-len(where[key]), first[key])):
            digit[key] = next(
                x for x in count() if not any((*place, x) in taken for place in where[key])
            )
            taken |= {(*place, int(digit[key])) for place in where[key]}
        return digit[part]


def _commonest_values(key: Ints, value: Ints) -> tuple[Ints, Ints]:
    """Return the different keys, and the value that each has most often, the lowest of equals."""
    pairs, times = np.unique(np.stack([key, value]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -times, pairs[0]))
    keys, first = np.unique(pairs[0][order], return_index=True)
    return keys, pairs[1][order][first]


def _require_enough(tree: FatTree, vertex: Ints, link: Ints) -> None:
    """Refuse a tree of which more is missing than one would lose: it was another shape."""
    leaf_there = vertex[tree.n_nodes : tree.n_nodes + tree.n_leaves] >= 0
    wanted = there = 0
    for step in range(1, tree.levels):
        populated = leaf_there.reshape(-1, prod(tree.children[1:step])).any(axis=1)
        wanted += int(populated.sum()) * prod(tree.parents[:step]) * tree.ports[step]
        there += int(np.count_nonzero(link[tree.up_base[step] : tree.down_base[step]] >= 0))
    if there < _LEAST_PRESENT * wanted:
        raise irregular(
            f"of {wanted} cables between switches of a {tree.summary}, {there} are there"
        )


def wave_levels(graph: Topology) -> Ints:
    """
    Return the level of every vertex, also where leaves lost all nodes; -1 where none is known.

    Switches are ranked in waves, from those with nodes upwards. A switch that comes next is either
    a parent of those it is joined to, or, having no nodes itself, a child of them: a child's
    parents lie in one subtree, or in different ones of the classes that the switches above hold
    together; a parent's children lie in different subtrees and one class.
    """
    works = links_in_service(graph)
    near: list[set[int]] = [set() for _ in range(graph.n_nodes + graph.n_switches)]
    for a, b in zip(graph.link_tail[works].tolist(), graph.link_head[works].tolist(), strict=True):
        near[a].add(b)
    level = np.full(len(near), -1, dtype=np.int64)
    wave = [i for i in range(graph.n_nodes) if near[i]]
    level[wave] = 0
    wave = sorted({j for i in wave for j in near[i] if level[j] < 0})
    level[wave] = 1
    while wave:
        wave = sorted({j for i in wave for j in near[i] if level[j] < 0})
        parts = _ConnectedParts(LevelGraph.of(graph, level))
        level[wave] = [_next_level(parts, near, level, i) for i in wave]
    return level


class _ConnectedParts:
    """Connected parts of the switches that are ranked so far, up to or from each level."""

    def __init__(self, levels: LevelGraph) -> None:
        self._levels = levels
        self._found: dict[tuple[int, bool], Ints] = {}

    def of(self, switches: list[int], *, up: bool) -> int:
        """Count the parts of switches of one level among that and the levels above or below."""
        own = int(self._levels.level[switches[0]])
        if (own, up) not in self._found:
            span = (own, self._levels.top) if up else (1, own)
            self._found[own, up] = self._levels.parts(*span)
        return np.unique(self._found[own, up][switches]).size


def _next_level(parts: _ConnectedParts, near: list[set[int]], level: Ints, switch: int) -> int:
    """Return the level of a switch that is joined to ranked ones."""
    own = max(int(level[i]) for i in near[switch])
    peers = [i for i in near[switch] if level[i] == own]
    if own == 1:  # leaves with nodes: their level is certain
        return own + 1
    if len(peers) == 1:  # a child where children have one parent; else a parent of one child
        children = [i for i in near[peers[0]] if level[i] == own - 1]
        alone = any(sum(level[j] == own for j in near[i]) == 1 for i in children)
        return own - 1 if alone else own + 1
    if parts.of(peers, up=False) == 1:
        return own - 1
    joined_above = own < level.max() and parts.of(peers, up=True) > 1
    return own - 1 if joined_above else own + 1


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
    half[mine] = _half_duplex_links(graph)[yours]
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


def _half_duplex_links(graph: Topology) -> Bools:
    """Find which links share their channel with another."""
    shared: Bools = np.bincount(graph.channel, minlength=graph.n_links)[graph.channel] > 1
    return shared


def irregular(what: str) -> TopologyError:
    """Return the error for a graph that is no PGFT."""
    return TopologyError(f"the fabric is no regular fat-tree: {what}.")
