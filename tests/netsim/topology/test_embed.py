"""Trees that are no PGFT in the smallest PGFT that holds them: every cable has a place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim import build_fat_tree, make_topology
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service
from netsim.topology.outage import fail
from netsim.topology.structure.embed import embed_tree


def graph_of(n_nodes, pairs):
    """Return the fabric of pairs of vertices, nodes first; a pair twice is two cables."""
    seen, cable = {}, []
    for pair in pairs:
        seen[pair] = seen.get(pair, -1) + 1
        cable += [seen[pair]] * 2
    tail = np.array([end for pair in pairs for end in pair])
    head = np.array([end for a, b in pairs for end in (b, a)])
    switches = int(max(tail)) + 1 - n_nodes
    rates = 1.0 + np.repeat(np.arange(len(pairs)), 2)
    return Topology(
        "any", n_nodes, switches, tail, head, np.array(cable), rates, np.arange(tail.size)
    )


def assert_held(graph, found, lost):
    """Demand that ends and capacities are the graph's, and no link is used twice."""
    tree = found.tree
    there = np.flatnonzero(found.link >= 0)
    mine = found.link[there]
    np.testing.assert_array_equal(found.vertex[tree.link_tail[there]], graph.link_tail[mine])
    np.testing.assert_array_equal(found.vertex[tree.link_head[there]], graph.link_head[mine])
    np.testing.assert_array_equal(tree.capacity[there], graph.capacity[mine])
    np.testing.assert_array_equal(links_in_service(tree), found.link >= 0)
    assert np.unique(mine).size == mine.size == graph.n_links - 2 * lost
    nodes = found.vertex[: tree.n_nodes]
    assert sorted(nodes[nodes >= 0].tolist()) == list(range(graph.n_nodes))
    np.testing.assert_array_equal(tree.usable_nodes, np.flatnonzero(nodes >= 0))


@st.composite
def two_levels(draw):
    """Return leaves of any size below one to four spines, 0 to 3 cables each, spine 0 over all."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    n_nodes, n_leaves = sum(sizes), len(sizes)
    leaf = np.repeat(np.arange(n_leaves), sizes).tolist()
    order = draw(st.permutations(range(n_nodes)))  # nodes in any order of the leaves
    pairs = [(node, n_nodes + at) for node, at in zip(order, leaf, strict=True)]
    for spine in range(draw(st.integers(1, 4))):
        for at in range(n_leaves):
            count = draw(st.integers(1 if spine == 0 else 0, 3))
            pairs += [(n_nodes + at, n_nodes + n_leaves + spine)] * count
    return n_nodes, pairs


@settings(max_examples=80, deadline=None)
@given(two_levels())
def test_every_cable_of_two_levels_has_a_place(drawn):
    graph = graph_of(*drawn)

    found, lost = embed_tree(graph)

    assert lost == 0
    assert_held(graph, found, lost)


@pytest.mark.parametrize(
    "cut",
    [
        ["s1.0>s2.0"],
        ["s1.0>s2.0", "s1.3>s2.2", "s2.0>s3.0"],
        ["s2.1>s3.1", "s2.3>s3.1", "s2.5>s3.1"],
    ],
)
def test_a_tree_of_three_levels_that_lost_cables_is_held_by_the_whole_one(cut):
    """2 leaves of 2 nodes a pod, 3 pods, 2 L2 switches of 2 up-ports: known as a mere graph."""
    whole = fail(build_fat_tree((2, 2, 3), (1, 2, 2), (1, 1, 1), "1 B/s"), cut)
    live = np.flatnonzero(links_in_service(whole))
    graph = Topology(
        "graph", whole.n_nodes, whole.n_switches, whole.link_tail[live], whole.link_head[live],
        whole.link_cable[live], np.ones(live.size), np.arange(live.size),
    )  # fmt: skip

    found, lost = embed_tree(graph)

    assert (found.tree.name, lost) == ("PGFT(3; 2,2,3; 1,2,2; 1,1,1)", 0)
    assert_held(graph, found, lost)


NODES = [(0, 4), (1, 4), (2, 5), (3, 5)]  # two leaves of two nodes
REFUSED = {
    "a host on a spine": (5, [(0, 5), (1, 5), (2, 6), (3, 7), (5, 7), (6, 7), (4, 7)], "r0 and r2"),
    "a node of two links": (4, [*NODES, (0, 5), (4, 6), (5, 6)], "n0 does not hang"),
    "a leaf without a cable": (4, [*NODES, (4, 6)], "r1 has no cable upwards"),
    "no common switch": (
        4,
        [(0, 4), (1, 5), (2, 6), (3, 6), (4, 7), (5, 8), (6, 7), (6, 8)],
        "not joined by a way that goes up and then down",
    ),
    "spines over two L2 switches of a pod": (
        4,
        [*NODES, (4, 6), (4, 7), (5, 8), (6, 9), (7, 9), (8, 9)],
        "r2 and r3 of one pod share spines",
    ),
    "four levels": (
        4,
        [*NODES, (4, 6), (5, 7), (6, 8), (7, 9), (8, 10), (9, 10)],
        "r6 is a switch of a fourth level",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_tree_holds_is_refused_with_the_first_reason(name):
    n_nodes, pairs, reason = REFUSED[name]

    with pytest.raises(
        TopologyError, match="no fat-tree of two or three levels holds the fabric"
    ) as it:
        embed_tree(graph_of(n_nodes, pairs))

    assert reason in str(it.value)


def test_a_real_irregular_fabric_is_read_as_a_tree_if_asked_for(shared):
    """PSMN X5: leaves of 24, 24, 21, 9, 6 and 5 hosts; 6 cables lead to a switch above spines."""
    path = str(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"))

    tree = make_topology({"kind": "file", "path": path, "as_tree": True})

    assert tree.name == "PGFT(2; 24,6; 1,4; 1,6)"
    on_leaf = np.bincount(tree.usable_nodes // 24)
    assert sorted(on_leaf.tolist()) == [5, 6, 9, 21, 24, 24]
    assert tree.origin.assumed[:2] == (
        (
            "taken as a fat-tree, 89 of 144 nodes in use, 2 levels, oversubscribed 1.21:1, "
            "of which 64 of 144 uplinks of leaves are there"
        ),
        "cables that this tree has no place for (6) are left out",
    )
    assert tree.vertex_number("H-78e7d10300229794") in tree.usable_nodes.tolist()
