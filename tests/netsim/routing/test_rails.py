"""Routings between endpoints of nodes that have several."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.walks import Tree

from netsim.common.errors import RoutingError
from netsim.formats.importers.csv_tables import read_edge_csv
from netsim.formats.importers.sketch import Settings
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.base import RankRouting
from netsim.topology.base import Endpoints
from netsim.topology.fattree import build_fat_tree
from netsim.topology.outage import depopulate
from netsim.topology.rails import Rails

KEEPING = ("d-mod-k", "s-mod-k", "ecmp", "shortest", "jigsaw")


@st.composite
def rails_and_flows(draw):
    """Draw a tree whose nodes have several links, and flows with their rails."""
    levels = draw(st.integers(2, 3))
    lists = [st.lists(st.integers(1, top), min_size=levels, max_size=levels) for top in (4, 3, 2)]
    m, w, p = (draw(part) for part in lists)
    w[0], p[0] = draw(st.integers(2, 4)), 1
    node = st.integers(0, int(np.prod(m)) - 1)
    flow = st.tuples(node, node, st.integers(0, w[0] - 1))
    return (m, w, p), draw(st.lists(flow, min_size=1, max_size=10))


def in_rail(names, rail, rails):
    """Name the links of a tree of one rail as those of that rail among several."""
    return [
        re.sub(r"s([0-9])\.([0-9]+)", lambda s: f"s{s[1]}.{rail + rails * int(s[2])}", name)
        for name in names
    ]


@settings(deadline=None, max_examples=60)
@given(rails_and_flows())
def test_each_rail_is_routed_as_a_tree_of_its_own(drawn):
    """The naive walk in a tree with one link a node, its switches renamed."""
    (m, w, p), flows = drawn
    tree, single = build_fat_tree(m, w, p, 1e9), Tree(m, [1, *w[1:]], p)
    src, dst, rail = np.array(flows).T

    for name, walk in (("d-mod-k", single.d_mod_k), ("s-mod-k", single.s_mod_k)):
        routes = make_routing(name, tree).routes(src * w[0] + rail, dst * w[0] + rail)
        for flow, (a, b, q) in enumerate(flows):
            links = [tree.link_name(link) for link in routes.of_flow(flow)]
            assert links == in_rail(walk(a, b), q, w[0])


@settings(deadline=None, max_examples=60)
@given(rails_and_flows())
def test_shortest_paths_in_rails_of_an_intact_tree_are_d_mod_k(drawn):
    shape, flows = drawn
    tree = build_fat_tree(*shape, 1e9)
    src, dst, rail = np.array(flows).T
    ends = src * tree.ports[0] + rail, dst * tree.ports[0] + rail

    shortest = make_routing("shortest", tree).routes(*ends)

    usual = make_routing("d-mod-k", tree).routes(*ends)
    assert np.array_equal(shortest.links, usual.links)


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("missing", [[], ["n3", "n8"]])
def test_flows_leave_and_arrive_by_the_rail_that_they_are_given(name, missing):
    spec = {"kind": "fat-tree", "children": [6, 3], "parents": [4, 6], "parallel": [1, 1]}
    tree = make_topology(spec | {"missing": missing})
    rng = np.random.default_rng(1)
    src, dst = rng.choice(tree.usable_nodes, (2, 300))
    rail = rng.integers(4, size=300)

    routes = make_routing(name, tree, 3).routes(4 * src + rail, 4 * dst + rail)

    for flow in np.flatnonzero(src != dst):
        links = routes.of_flow(flow)
        assert links[0] == tree.up_base[0] + 4 * src[flow] + rail[flow]
        assert links[-1] == tree.down_base[0] + 4 * dst[flow] + rail[flow]
        assert np.array_equal(tree.link_head[links[:-1]], tree.link_tail[links[1:]])


@pytest.mark.parametrize("name", ["d-mod-k", "shortest"])
def test_shifts_are_free_of_contention_in_every_rail(name):
    """Zahavi 2010 in each of the rails at once: 4 flows a node, one on any link."""
    tree = make_topology(
        {"kind": "fat-tree", "children": [8, 3], "parents": [4, 8], "parallel": [1, 1]}
    )
    src, rail = np.repeat(np.arange(24), 4), np.tile(np.arange(4), 24)
    routing = make_routing(name, tree)

    for shift in range(1, 24):
        routes = routing.routes(4 * src + rail, 4 * ((src + shift) % 24) + rail)
        assert np.bincount(routes.links).max() == 1


def test_parallel_links_of_a_node_are_rails_too():
    """Two cables to each of two leaves: ports 0 and 2 lead to leaf 0, by cable 0 and 1."""
    tree = build_fat_tree((2, 2), (2, 2), (2, 1), 1e9)
    rail = np.arange(4)

    for name in KEEPING[:4]:
        routes = make_routing(name, tree).routes(rail, 4 * 3 + rail)
        assert [tree.link_name(routes.of_flow(q)[0]) for q in rail] == [
            "n0>s1.0#0",
            "n0>s1.1#0",
            "n0>s1.0#1",
            "n0>s1.1#1",
        ]
        assert [tree.link_name(routes.of_flow(q)[-1]) for q in rail] == [
            "s1.2>n3#0",
            "s1.3>n3#0",
            "s1.2>n3#1",
            "s1.3>n3#1",
        ]


@pytest.mark.parametrize("name", KEEPING)
def test_a_rail_that_is_lost_is_an_error_that_names_it(name):
    tree = make_topology(
        {
            "kind": "fat-tree",
            "children": [4, 2],
            "parents": [2, 4],
            "parallel": [1, 1],
            "failed_switches": ["s1.1"],
        }
    )
    one = np.array([2])  # the first link of n1, which has two

    assert make_routing(name, tree).routes(one, one + 8).hops.tolist() == [4]
    for dst in (one + 2, one + 8):
        with pytest.raises(
            RoutingError, match=f"from n1 to n{dst[0] // 2} by rail 1 in the fabric"
        ):
            make_routing(name, tree).routes(one + 1, dst + 1)


@pytest.mark.parametrize("name", KEEPING)
def test_rails_that_nothing_joins_are_an_error_that_names_both(name):
    """A card of rail 0 reaches none of rail 1: the sender's host must hand the message over."""
    tree = make_topology(
        {"kind": "fat-tree", "children": [4, 2], "parents": [2, 4], "parallel": [1, 1]}
    )

    with pytest.raises(RoutingError, match="from n0 to n5 by rails 0 and 1 in the fabric"):
        make_routing(name, tree).routes(np.array([0]), np.array([2 * 5 + 1]))
    assert make_routing(name, tree).routes(np.array([0]), np.array([1])).hops.tolist() == [0]


@pytest.mark.parametrize(
    ("dst", "message"),
    [
        ([4, 72], r"dst: expected a list of whole numbers 0\.\.71, got 72 at place 1"),
        ([4], "src and dst: expected one of each for every flow, got 2 and 1"),
        ([0.5, 1.5], r"dst: expected a list of whole numbers 0\.\.71, got float64"),
    ],
)
@pytest.mark.parametrize("name", [*KEEPING, "least-loaded-per-job"])
def test_what_is_no_endpoint_is_refused(name, dst, message):
    """18 nodes of 4 links."""
    tree = make_topology(
        {"kind": "fat-tree", "children": [6, 3], "parents": [4, 6], "parallel": [1, 1]}
    )

    with pytest.raises(RoutingError, match=message):
        make_routing(name, tree).routes(np.array([0, 1]), dst)


@pytest.mark.parametrize("kind", ["bgq-5d", "aries-edison-like", "cab", "synth-1024"])
def test_where_nodes_have_one_link_endpoints_are_the_nodes(kind):
    fabric = make_topology(kind)
    ends = fabric.endpoints

    assert np.array_equal(ends.node, np.arange(fabric.n_nodes))
    assert np.array_equal(fabric.link_tail[ends.link], ends.node)


def test_a_node_without_a_link_has_an_endpoint_that_nothing_reaches():
    """Hosts of 2, 0 and 1 links: endpoints 0 and 1, 2, and 3."""
    ends = Endpoints.of(np.array([7, 8, 5]), np.array([0, 2, 2, 3]))

    assert ends.first.tolist() == [0, 2, 3, 4]
    assert ends.node.tolist() == [0, 0, 1, 2]
    assert ends.link.tolist() == [7, 8, -1, 5]


def test_a_message_leaves_by_a_link_to_the_switch_that_it_arrives_from():
    """Hosts a and b on both leaves, c and d on the second alone: to c from a it is a's second."""
    rows = [f"{pair},node,switch" for pair in ("a,x", "a,y", "b,x", "b,y", "c,y", "d,y")]
    rows += ["x,top,switch,switch", "y,top,switch,switch"]
    text = "\n".join(["source,target,source_kind,target_kind", *rows])
    fabric = read_edge_csv(text, "f", Settings())
    a, b, c = (fabric.vertex_number(name) for name in "abc")
    nodes, src, dst = np.array([a, b, c]), np.array([0, 0, 2]), np.array([2, 1, 0])

    parts = Rails(fabric).split(nodes, src, dst)
    assert parts is not None

    ends = fabric.endpoints
    names = [fabric.link_name(int(link)) for link in ends.link[parts.src]]
    into = [fabric.link_name(int(link)) for link in ends.link[parts.dst]]
    assert names == ["a>y", "a>x", "a>y", "c>y", "c>y"]
    assert into == ["c>y", "b>x", "b>y", "a>x", "a>y"]


LOADS = [  # rails, queue pairs, mean largest load of 16 flows on 16 links by balls in bins
    (1, 1, 3.10),
    (8, 1, 4.19),
    (1, 4, 1.97),
    (8, 4, 2.44),
    (8, 16, 1.68),
]


@pytest.mark.parametrize(("rails", "qps", "expected"), LOADS)
def test_ecmp_throws_the_flows_of_rails_and_queue_pairs_independently(rails, qps, expected):
    """16 nodes of a group to 16 of another by 16 spines a rail, within two standard errors."""
    tree = build_fat_tree((16, 2), (rails, 16), (1, 1), 1e9)
    nodes = np.arange(32).repeat(rails)
    src = np.arange(16 * rails)
    up = slice(tree.up_base[1], tree.down_base[1])
    largest = []
    for seed in range(200):
        routing = RankRouting(tree, make_routing({"name": "ecmp", "qps": qps}, tree, seed))
        routes, parts = routing.routes(nodes, src, src + 16 * rails)
        load = np.bincount(routes.links, minlength=tree.n_links)[up] / qps
        assert load.sum() == 16 * rails
        assert parts is None or set(parts.parts.tolist()) == {qps}
        largest.append(load.max())

    rng = np.random.default_rng(43)
    balls = rng.integers(16, size=(2000, rails, 16 * qps)) + 16 * np.arange(rails)[:, None]
    plain = [np.bincount(one.ravel()).max() / qps for one in balls]
    assert np.mean(plain) == pytest.approx(expected, abs=0.05)
    spread = np.hypot(np.std(plain) / 200**0.5, np.std(plain) / 2000**0.5)
    assert np.mean(largest) == pytest.approx(np.mean(plain), abs=2 * spread)


@pytest.mark.parametrize("name", ["d-mod-k", "s-mod-k", "shortest"])
@pytest.mark.parametrize("missing", [[], ["n5"]])
def test_eight_links_of_a_node_on_one_leaf_go_by_eight_uplinks(name, missing):
    """4 nodes of 8 links on each leaf, 32 uplinks: a shift by a leaf has each to itself."""
    tree = depopulate(build_fat_tree((4, 4), (1, 32), (8, 1), 1e9), missing)
    src = np.setdiff1d(np.arange(16), [5])
    dst = (src + 4) % 16
    kept = dst != 5
    src, dst = src[kept].repeat(8), dst[kept].repeat(8)

    card = np.tile(np.arange(8), src.size // 8)
    routes = make_routing(name, tree).routes(8 * src + card, 8 * dst + card)

    assert np.bincount(routes.links).max() == 1
