"""Routings that are given the rail of every flow."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.walks import Tree

from netsim.common.errors import RoutingError
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.base import RankRouting
from netsim.topology.fattree import build_fat_tree
from netsim.topology.outage import depopulate

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
        routes = make_routing(name, tree).routes(src, dst, rail=rail)
        for flow, (a, b, q) in enumerate(flows):
            links = [tree.link_name(link) for link in routes.of_flow(flow)]
            assert links == in_rail(walk(a, b), q, w[0])


@settings(deadline=None, max_examples=60)
@given(rails_and_flows())
def test_shortest_paths_in_rails_of_an_intact_tree_are_d_mod_k(drawn):
    shape, flows = drawn
    tree = build_fat_tree(*shape, 1e9)
    src, dst, rail = np.array(flows).T

    shortest = make_routing("shortest", tree).routes(src, dst, rail=rail)

    usual = make_routing("d-mod-k", tree).routes(src, dst, rail=rail)
    assert np.array_equal(shortest.links, usual.links)


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("missing", [[], ["n3", "n8"]])
def test_flows_leave_and_arrive_by_the_rail_that_they_are_given(name, missing):
    spec = {"kind": "rail-tree", "rails": 4, "nodes_per_group": 6, "groups": 3}
    tree = make_topology(spec | {"missing": missing})
    rng = np.random.default_rng(1)
    src, dst = rng.choice(tree.usable_nodes, (2, 300))
    rail = rng.integers(4, size=300)

    routes = make_routing(name, tree, 3).routes(src, dst, rail=rail)

    for flow in np.flatnonzero(src != dst):
        links = routes.of_flow(flow)
        assert links[0] == tree.up_base[0] + 4 * src[flow] + rail[flow]
        assert links[-1] == tree.down_base[0] + 4 * dst[flow] + rail[flow]
        assert np.array_equal(tree.link_head[links[:-1]], tree.link_tail[links[1:]])


@pytest.mark.parametrize("name", ["d-mod-k", "shortest"])
def test_shifts_are_free_of_contention_in_every_rail(name):
    """Zahavi 2010 in each of the rails at once: 4 flows a node, one on any link."""
    tree = make_topology({"kind": "rail-tree", "rails": 4, "nodes_per_group": 8, "groups": 3})
    src, rail = np.repeat(np.arange(24), 4), np.tile(np.arange(4), 24)
    routing = make_routing(name, tree)

    for shift in range(1, 24):
        routes = routing.routes(src, (src + shift) % 24, rail=rail)
        assert np.bincount(routes.links).max() == 1


def test_parallel_links_of_a_node_are_rails_too():
    """Two cables to each of two leaves: ports 0 and 2 lead to leaf 0, by cable 0 and 1."""
    tree = build_fat_tree((2, 2), (2, 2), (2, 1), 1e9)
    rail = np.arange(4)
    src, dst = np.zeros(4, dtype=np.int64), np.full(4, 3)

    for name in KEEPING[:4]:
        routes = make_routing(name, tree).routes(src, dst, rail=rail)
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
            "kind": "rail-tree",
            "rails": 2,
            "nodes_per_group": 4,
            "groups": 2,
            "failed_switches": ["s1.1"],
        }
    )
    one = np.array([1])

    assert make_routing(name, tree).routes(one, one + 4, rail=one - 1).hops.tolist() == [4]
    for dst in (one + 1, one + 4):
        with pytest.raises(
            RoutingError, match=f"from n1 to n{dst[0]} by rail 1 in the fabric \\(fat-tree, 8"
        ):
            make_routing(name, tree).routes(one, dst, rail=one)


@pytest.mark.parametrize(
    ("rail", "message"),
    [
        ([0, 4], r"rail: expected a list of whole numbers 0\.\.3, got 4 at place 1"),
        ([0], "rail: expected one for each of 2 flows, got 1"),
        ([0.5, 1.5], r"rail: expected a list of whole numbers 0\.\.3, got float64"),
    ],
)
@pytest.mark.parametrize("name", [*KEEPING, "least-loaded"])
def test_what_is_no_rail_is_refused(name, rail, message):
    tree = make_topology({"kind": "rail-tree", "rails": 4, "nodes_per_group": 6, "groups": 3})

    with pytest.raises(RoutingError, match=message):
        make_routing(name, tree).routes(np.array([0, 1]), np.array([8, 9]), rail=rail)


@pytest.mark.parametrize(
    ("kind", "name"), [("bgq-5d", "dimension-order"), ("aries-edison-like", "valiant")]
)
def test_where_nodes_have_one_link_there_is_one_rail(kind, name):
    fabric = make_topology(kind)
    ends = np.array([0]), np.array([300])

    plain = make_routing(name, fabric).routes(*ends)

    assert np.array_equal(make_routing(name, fabric).routes(*ends, rail=[0]).links, plain.links)
    with pytest.raises(RoutingError, match=r"numbers 0\.\.0, got 1 at place 0"):
        make_routing(name, fabric).routes(*ends, rail=[1])


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

    routes = make_routing(name, tree).routes(src, dst, rail=np.tile(np.arange(8), src.size // 8))

    assert np.bincount(routes.links).max() == 1
