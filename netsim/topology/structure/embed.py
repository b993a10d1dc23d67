"""Embed a tree that is no PGFT into the smallest PGFT that holds it; the rest of that is lost."""

import numpy as np

from netsim.common.arrays import Ints, occurrence_numbers
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.levels import LevelGraph, links_in_service, steps_from
from netsim.topology.reach import unreachable
from netsim.topology.structure.recognise import Recognition, TreePlaces, with_graph_parts

_LEAF, _L2, _SPINE = 1, 2, 3


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
    levels = _switch_levels(graph, _leaf_of_nodes(graph))
    places = _tree_places(levels)
    tree, vertex, link = places.filled(levels, graph.vertex_name)
    found = Recognition(with_graph_parts(graph, tree, vertex, link), vertex, link)
    before, after = unreachable(graph), unreachable(found.tree)
    if after.nodes.size > before.nodes.size or after.n_pairs > before.n_pairs:
        raise _unfit_error("some nodes are not joined by a way that goes up and then down")
    return found, int(np.count_nonzero(links_in_service(graph))) // 2 - levels.up.size


def _leaf_of_nodes(graph: Topology) -> Ints:
    """Return the switch of each node."""
    up = np.flatnonzero(links_in_service(graph) & (graph.link_tail < graph.n_nodes))
    count = np.bincount(graph.link_tail[up], minlength=graph.n_nodes)
    to_node = graph.link_tail[up[graph.link_head[up] < graph.n_nodes]]
    odd = np.concatenate([np.flatnonzero(count != 1), to_node])
    if odd.size:
        name = graph.vertex_name(int(odd[0]))
        raise _unfit_error(f"{name} does not hang on one switch by one cable")
    leaf = np.empty(graph.n_nodes, dtype=np.int64)
    leaf[graph.link_tail[up]] = graph.link_head[up]
    return leaf


def _switch_levels(graph: Topology, leaf: Ints) -> LevelGraph:
    """Sort the cables up to the level that joins all leaves, the spines at most."""
    works = links_in_service(graph)
    both = works & works[graph.reverse] & (graph.link_tail >= graph.n_nodes)
    both &= graph.link_head >= graph.n_nodes
    tail, head = graph.link_tail[both], graph.link_head[both]
    level = steps_from(graph.n_nodes + graph.n_switches, tail, head, np.unique(leaf)) + _LEAF
    level[level == 0] = -1
    level[: graph.n_nodes] = 0
    level_mates = np.flatnonzero((level[tail] == _LEAF) & (level[head] == _LEAF))
    if level_mates.size:
        names = [graph.vertex_name(int(end[level_mates[0]])) for end in (tail, head)]
        raise _unfit_error(f"{names[0]} and {names[1]} are joined, and both have nodes")
    levels = LevelGraph.of(graph, level)
    alone = np.setdiff1d(leaf, levels.child)
    if alone.size:
        raise _unfit_error(f"{graph.vertex_name(int(alone[0]))} has no cable upwards")
    pod = levels.parts(_LEAF, _L2)[leaf]
    several = bool(np.any(pod != pod[0]))
    if several and levels.top > _SPINE:
        raise _unfit_error(
            f"{graph.vertex_name(int(levels.members(4)[0]))} is a switch of a fourth level"
        )
    top = _SPINE if several else _L2
    return LevelGraph.of(graph, np.where(level > top, -1, level))


def _tree_places(levels: LevelGraph) -> TreePlaces:
    """Give places to leaves by their pod, to L2 switches by the spines that they share."""
    level, child, parent = levels.level, levels.child, levels.parent
    high, low = np.zeros_like(level), np.zeros_like(level)
    leaves, l2s, spines = map(levels.members, (_LEAF, _L2, _SPINE))
    switches = np.sort(np.concatenate([leaves, l2s]))
    pod = np.zeros_like(level)
    pod[switches] = _in_order(levels.parts(_LEAF, _L2)[switches])
    group = np.zeros_like(level)
    several = pod[leaves].max() > 0
    if several:
        upper = np.concatenate([l2s, spines])
        group[upper] = _in_order(levels.parts(_L2, _SPINE)[upper])
        _require_own_spines(levels, pod, group)
    else:
        group[l2s] = np.arange(l2s.size)
    in_pod, in_group = occurrence_numbers(pod[leaves]), occurrence_numbers(group[spines])
    cables = levels.cable_numbers()
    first = child < levels.graph.n_nodes
    on_leaf = occurrence_numbers(parent[first])
    m = [1 + int(on_leaf.max()), 1 + int(in_pod.max())]
    w = [1, 1 + int(group.max())]
    p = [1, 1 + int(cables[level[child] == _LEAF].max())]
    if several:
        m.append(1 + int(pod.max()))
        w.append(1 + int(in_group.max(initial=0)))
        p.append(1 + int(cables[level[child] == _L2].max(initial=0)))
    high[leaves] = pod[leaves] * m[1] + in_pod
    high[child[first]] = high[parent[first]] * m[0] + on_leaf
    high[l2s], low[l2s] = pod[l2s], group[l2s]
    low[spines] = group[spines] + w[1] * in_group
    return TreePlaces(m, w, p, high, low)


def _require_own_spines(levels: LevelGraph, pod: Ints, group: Ints) -> None:
    """Refuse L2 switches of one pod that share spines."""
    l2s = levels.members(_L2)
    key = pod[l2s] * levels.level.size + group[l2s]
    twice = np.flatnonzero(occurrence_numbers(key))
    if twice.size:
        other = int(l2s[np.argmax(key == key[twice[0]])])
        names = [levels.graph.vertex_name(x) for x in (other, int(l2s[twice[0]]))]
        raise _unfit_error(f"{names[0]} and {names[1]} of one pod share spines")


def _in_order(part: Ints) -> Ints:
    """Return the numbers of parts, counted where each comes first."""
    _, first, number = np.unique(part, return_index=True, return_inverse=True)
    rank: Ints = np.argsort(np.argsort(first))[number]
    return rank


def _unfit_error(what: str) -> TopologyError:
    """Return the error of a graph that no tree holds."""
    return TopologyError(f"no fat-tree of two or three levels holds the fabric: {what}.")
