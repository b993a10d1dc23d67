"""Embed a tree that is no PGFT into the smallest PGFT that holds it; the rest of that is lost."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree, build_fat_tree
from netsim.topology.levels import connected_parts, links_in_service
from netsim.topology.reach import unreachable
from netsim.topology.structure.recognise import Recognition, with_graph_parts

_LEAF, _L2, _SPINE = 1, 2, 3

Cable = tuple[int, int, int]  # lower and upper switch, and the link upwards


def embed_tree(graph: Topology) -> tuple[Recognition, int]:
    """
    Find a place for everything in a PGFT of two or three levels.

    Leaves are the switches with nodes; a pod is a part that leaves and the switches next to them
    make; L2 switches of different pods that share spines have one index. The tree has as many
    places as the largest leaf has nodes, the largest pod leaves and the widest bundle cables.
    Counted are cables without a place: between switches of one level, and above the L2 switches
    where all leaves are one pod. Refused are nodes of several links, cables between switches with
    nodes (hosts on spines), spines that join two L2 switches of one pod, four levels, and nodes
    that are joined, but not by a way that goes up and then down.
    """
    leaf = _leaves(graph)
    level, cables = _cables(graph, np.unique(leaf))
    lower = [cable for cable in cables if level[cable[1]] == _L2]
    pod = _parts(graph, lower)
    alone = sorted(set(leaf.tolist()) - pod.keys())
    if alone:
        raise _unfit(f"{graph.vertex_name(alone[0])} has no cable upwards")
    upper = []
    if max(pod.values()):
        upper = [cable for cable in cables if level[cable[1]] > _L2]
        _require_three_levels(graph, level, upper)
    seats = _Seats.of(graph, leaf, lower, upper, pod)
    vertex, link = seats.filled(graph, lower, upper)
    found = Recognition(with_graph_parts(graph, seats.tree, vertex, link), vertex, link)
    _require_ways(graph, found)
    inner = np.minimum(graph.link_tail, graph.link_head) >= graph.n_nodes
    n_cables = int(np.count_nonzero(links_in_service(graph) & inner)) // 2
    return found, n_cables - len(lower) - len(upper)


@dataclass(frozen=True, slots=True, eq=False)
class _Seats:
    """A tree, and where everything goes in it."""

    tree: FatTree  # without anything missing
    node: Ints  # (n_nodes,): place of each node
    switch: dict[int, tuple[int, int]]  # level and position of each switch
    number: dict[int, int]  # number of L2 switches and spines among the parents of one switch

    @classmethod
    def of(
        cls,
        graph: Topology,
        leaf: Ints,
        lower: list[Cable],
        upper: list[Cable],
        pod: dict[int, int],
    ) -> "_Seats":
        """Give leaves numbers in their pods, L2 switches those of their groups."""
        leaves = sorted(set(leaf.tolist()))
        in_pod = _numbered(leaves, pod)
        l2s = sorted({cable[1] for cable in lower})
        several = max(pod.values()) > 0
        group = _groups(graph, l2s, upper, pod) if several else {}
        number = {l2: group.get(l2, place) for place, l2 in enumerate(l2s)}
        spines = sorted({cable[1] for cable in upper})
        in_group = _numbered(spines, group)
        children = [int(np.bincount(leaf).max()), 1 + max(in_pod.values())]
        parents, parallel = [1, 1 + max(number.values())], [1, _widest(lower)]
        if several:
            children.append(1 + max(pod.values()))
            parents.append(1 + max(in_group.values(), default=0))
            parallel.append(_widest(upper))
        tree = build_fat_tree(children, parents, parallel, "1 B/s")
        width = parents[1]
        switch = {at: (_LEAF, pod[at] * children[1] + in_pod[at]) for at in leaves}
        switch |= {at: (_L2, pod[at] * width + number[at]) for at in l2s}
        switch |= {at: (_SPINE, group[at] + width * in_group[at]) for at in spines}
        order = np.argsort(leaf, kind="stable")
        rank = np.empty(leaf.size, dtype=np.int64)
        rank[order] = np.arange(leaf.size) - np.searchsorted(leaf[order], leaf[order])
        first = np.array([switch[at][1] for at in leaf.tolist()]) * children[0]
        return cls(tree, first + rank, switch, number | in_group)

    def filled(self, graph: Topology, lower: list[Cable], upper: list[Cable]) -> tuple[Ints, Ints]:
        """Return the vertex of the graph at every place, and the link for every link; or -1."""
        tree = self.tree
        base = np.cumsum([0, *tree.counts])
        vertex = np.full(tree.n_nodes + tree.n_switches, -1, dtype=np.int64)
        vertex[self.node] = np.arange(graph.n_nodes)
        for at, (level, position) in self.switch.items():
            vertex[base[level] + position] = at
        link = np.full(tree.n_links, -1, dtype=np.int64)
        own = np.flatnonzero(links_in_service(graph) & (graph.link_tail < graph.n_nodes))
        link[tree.up_base[0] + self.node[graph.link_tail[own]]] = own
        link[tree.down_base[0] + self.node[graph.link_tail[own]]] = graph.reverse[own]
        for cables in (lower, upper):
            seen = Counter[tuple[int, int]]()
            for low, high, up in cables:
                level, position = self.switch[low]
                port = self.number[high] + tree.parents[level] * seen[low, high]
                seen[low, high] += 1
                at = position * tree.ports[level] + port
                link[tree.up_base[level] + at] = up
                link[tree.down_base[level] + at] = graph.reverse[up]
        return vertex, link


def _unfit(what: str) -> TopologyError:
    """Return the error of a graph that no tree holds."""
    return TopologyError(f"no fat-tree of two or three levels holds the fabric: {what}.")


def _leaves(graph: Topology) -> Ints:
    """Return the switch of each node."""
    up = np.flatnonzero(links_in_service(graph) & (graph.link_tail < graph.n_nodes))
    count = np.bincount(graph.link_tail[up], minlength=graph.n_nodes)
    to_node = graph.link_tail[up[graph.link_head[up] < graph.n_nodes]]
    odd = np.concatenate([np.flatnonzero(count != 1), to_node])
    if odd.size:
        name = graph.vertex_name(int(odd[0]))
        raise _unfit(f"{name} does not hang on one switch by one cable")
    leaf = np.empty(graph.n_nodes, dtype=np.int64)
    leaf[graph.link_tail[up]] = graph.link_head[up]
    return leaf


def _cables(graph: Topology, leaves: Ints) -> tuple[Ints, list[Cable]]:
    """Return the level of every switch, 1 for leaves, and the cables that lead a level up."""
    works = links_in_service(graph)
    both = np.flatnonzero(works & works[graph.reverse])
    both = both[np.minimum(graph.link_tail[both], graph.link_head[both]) >= graph.n_nodes]
    tail, head = graph.link_tail[both], graph.link_head[both]
    level = np.zeros(graph.n_nodes + graph.n_switches, dtype=np.int64)
    ring, step = leaves, 0
    while ring.size:
        step += 1
        level[ring] = step
        ring = np.unique(head[(level[tail] == step) & (level[head] == 0)])
    level_mates = np.flatnonzero((level[tail] == _LEAF) & (level[head] == _LEAF))
    if level_mates.size:
        names = [graph.vertex_name(int(end[level_mates[0]])) for end in (tail, head)]
        raise _unfit(f"{names[0]} and {names[1]} are joined, and both have nodes")
    up = np.flatnonzero(level[head] == level[tail] + 1)
    order = up[np.lexsort((graph.link_cable[both[up]], head[up], tail[up]))]
    ends = (tail[order].tolist(), head[order].tolist(), both[order].tolist())
    return level, list(zip(*ends, strict=True))


def _parts(graph: Topology, cables: list[Cable]) -> dict[int, int]:
    """Return the part of every switch that cables join, by the first switch of each part."""
    low, high, _ = np.array(cables, dtype=np.int64).reshape(-1, 3).T
    part = connected_parts(graph.n_nodes + graph.n_switches, low, high)
    number: dict[int, int] = {}
    members = np.unique(np.concatenate([low, high])).tolist()
    return {at: number.setdefault(int(part[at]), len(number)) for at in members}


def _require_three_levels(graph: Topology, level: Ints, upper: list[Cable]) -> None:
    """Refuse switches above those above the L2 switches."""
    high = [cable[1] for cable in upper if level[cable[1]] > _SPINE]
    if high:
        raise _unfit(f"{graph.vertex_name(high[0])} is a switch of a fourth level")


def _groups(
    graph: Topology, l2s: list[int], upper: list[Cable], pod: dict[int, int]
) -> dict[int, int]:
    """Return the index that L2 switches of different pods share, and the spines above them."""
    part = _parts(graph, upper)
    number: dict[object, int] = {}
    found = {at: number.setdefault(part.get(at, ("alone", at)), len(number)) for at in l2s}
    seen: dict[tuple[int, int], int] = {}
    for l2 in l2s:
        other = seen.setdefault((pod[l2], found[l2]), l2)
        if other != l2:
            names = f"{graph.vertex_name(other)} and {graph.vertex_name(l2)}"
            raise _unfit(f"{names} of one pod share spines")
    return found | {at: found_at for at, own in part.items() if (found_at := number[own]) >= 0}


def _numbered(members: list[int], part: dict[int, int]) -> dict[int, int]:
    """Return the number of each member in its part."""
    size = Counter[int]()
    number = {}
    for at in members:
        number[at] = size[part[at]]
        size[part[at]] += 1
    return number


def _widest(cables: list[Cable]) -> int:
    """Return the most cables between two switches."""
    return max(Counter((low, high) for low, high, _ in cables).values(), default=1)


def _require_ways(graph: Topology, found: Recognition) -> None:
    """Refuse a tree in which nodes are cut off that the graph joins."""
    before, after = unreachable(graph), unreachable(found.tree)
    if after.nodes.size > before.nodes.size or after.n_pairs > before.n_pairs:
        raise _unfit("some nodes are not joined by a way that goes up and then down")
