"""A fat-tree is recognised by its wiring, whatever the numbering; anything else is named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.common.errors import TopologyError
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree
from netsim.topology.outage import depopulate
from netsim.topology.structure.recognise import recognise_tree


def scrambled(tree, seed):
    """Return the graph of a tree in a random numbering, without what is absent."""
    draw = np.random.default_rng(seed)
    gone = [] if tree.absent is None else tree.absent
    links = draw.permutation(np.setdiff1d(np.arange(tree.n_links), gone))
    ends = np.unique(tree.link_tail[links])
    nodes = draw.permutation(ends[ends < tree.n_nodes])
    switches = draw.permutation(ends[ends >= tree.n_nodes])
    number = np.full(tree.n_nodes + tree.n_switches, -1)
    number[np.concatenate([nodes, switches])] = np.arange(ends.size)
    graph = Topology(
        name="graph",
        n_nodes=nodes.size,
        n_switches=switches.size,
        link_tail=number[tree.link_tail[links]],
        link_head=number[tree.link_head[links]],
        link_cable=tree.link_cable[links],
        capacity=draw.uniform(1, 2, links.size),
        channel=np.arange(links.size),
    )
    return replace(graph, capacity=np.maximum(graph.capacity, graph.capacity[graph.reverse]))


def assert_same_cables(found, graph):
    """Every cable of the graph is one of the tree, between the same vertices, as fast."""
    tree = found.tree
    there = found.link >= 0
    assert np.array_equal(np.sort(found.link[there]), np.arange(graph.n_links))
    assert np.array_equal(found.vertex[tree.link_tail[there]], graph.link_tail[found.link[there]])
    assert np.array_equal(found.vertex[tree.link_head[there]], graph.link_head[found.link[there]])
    assert np.array_equal(tree.capacity[there], graph.capacity[found.link[there]])
    absent = np.flatnonzero(~there)
    assert np.array_equal(absent, [] if tree.absent is None else tree.absent)


@st.composite
def trees(draw):
    """Trees of two to four levels, some with several rails."""
    levels = draw(st.integers(2, 4))
    sizes = st.integers(1, 3 if levels == 4 else 4)
    m = [draw(st.integers(2, 4)) for _ in range(levels)]
    w = [draw(st.sampled_from([1, 1, 2])), *(draw(sizes) for _ in range(levels - 1))]
    p = [1, *(draw(st.integers(1, 2)) for _ in range(levels - 1))]
    return build_fat_tree(m, w, p, "1 B/s")


@settings(deadline=None, max_examples=60)
@given(trees(), st.integers(0, 2**32))
def test_a_scrambled_tree_is_recognised(tree, seed):
    graph = scrambled(tree, seed)

    found = recognise_tree(graph)

    assert found.tree.name == tree.name
    assert_same_cables(found, graph)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_a_scrambled_tree_with_holes_is_recognised(data):
    tree = build_fat_tree((4, 3, 2), (1, 2, 3), (1, 1, 2), "1 B/s")
    nodes = data.draw(st.sets(st.integers(0, 23), max_size=3))
    leaf = data.draw(st.sampled_from(["s1.1", "s1.5"]))
    tree = depopulate(tree, [*sorted(nodes), leaf])
    there = np.zeros(tree.n_nodes, dtype=bool)
    there[tree.usable_nodes] = True
    if not there.reshape(-1, 4).any(axis=1)[[0, 2, 3, 4]].all():
        return
    graph = scrambled(tree, data.draw(st.integers(0, 2**32)))

    found = recognise_tree(graph)

    assert found.tree.name.startswith("PGFT(3; ")
    assert found.tree.usable_nodes.size == tree.usable_nodes.size
    assert_same_cables(found, graph)


@settings(deadline=None, max_examples=60)
@given(trees(), st.integers(0, 2**32))
def test_a_tree_with_one_cable_moved_is_not_taken_for_one(tree, seed):
    """The end of one cable above the leaves goes to another switch: degrees differ, or wiring."""
    graph = scrambled(tree, seed)
    draw = np.random.default_rng(seed)
    up = np.flatnonzero(np.minimum(graph.link_tail, graph.link_head) >= graph.n_nodes)
    link = int(draw.choice(up))
    back = int(graph.reverse[link])
    other = np.setdiff1d(
        np.arange(graph.n_nodes, graph.n_nodes + graph.n_switches),
        [graph.link_tail[link], graph.link_head[link]],
    )
    if not other.size:
        return
    end = int(draw.choice(other))
    head, tail = graph.link_head.copy(), graph.link_tail.copy()
    head[link] = tail[back] = end
    cable = graph.link_cable.copy()
    cable[[link, back]] = 99
    moved = replace(graph, link_head=head, link_tail=tail, link_cable=cable)

    try:
        found = recognise_tree(moved)
    except TopologyError as error:
        found, reason = None, str(error)
    if found is None:
        assert reason.startswith("the fabric is no regular fat-tree: ")
    else:
        assert_same_cables(found, moved)  # the move made another tree


def test_capacities_and_duplex_go_along():
    graph = scrambled(make_topology({"kind": "fat-tree", "radix": 4}), 3)
    graph = replace(graph, channel=np.minimum(np.arange(graph.n_links), graph.reverse))

    assert recognise_tree(graph).tree.half_duplex


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"kind": "torus", "dims": [3, 3]}, "it has 1 levels of switches, expected 2 to 4"),
        ({"kind": "dragonfly", "groups": 3, "routers": 2}, "it has 1 levels"),
    ],
)
def test_a_fabric_of_another_kind_is_refused_with_the_reason(spec, reason):
    with pytest.raises(TopologyError, match=f"no regular fat-tree: {reason}"):
        recognise_tree(make_topology(spec))


def test_two_trees_without_a_cable_between_them_are_refused():
    tree = make_topology({"kind": "fat-tree", "children": [2, 2], "parents": [1, 1]})
    n, v = tree.n_nodes, tree.n_nodes + tree.n_switches

    def twice(ends):
        """Append the second tree's nodes to the first's, and its switches likewise."""
        first = np.where(ends < n, ends, ends + n)
        second = np.where(ends < n, ends + n, ends + v)
        return np.concatenate([first, second])

    both = Topology(
        name="two",
        n_nodes=2 * n,
        n_switches=2 * tree.n_switches,
        link_tail=twice(tree.link_tail),
        link_head=twice(tree.link_head),
        link_cable=np.tile(tree.link_cable, 2),
        capacity=np.tile(tree.capacity, 2),
        channel=np.arange(2 * tree.n_links),
    )

    with pytest.raises(TopologyError, match="no path joins n0 and n4"):
        recognise_tree(both)
