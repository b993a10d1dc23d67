"""Failed cables and switches: what is rerouted, and what is cut off."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.detours import distances

from netsim.common.errors import RoutingError, TopologyError
from netsim.flows.partition import Partition
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.outage import fail
from netsim.topology.reach import unreachable

FABRICS = {
    "d-mod-k": [
        {"kind": "fat-tree", "radix": 4},
        {"kind": "fat-tree", "children": [2, 4], "parents": [1, 2], "parallel": [1, 2]},
        {"kind": "fat-tree", "children": [2, 2, 2], "parents": [1, 2, 2]},
    ],
    "dimension-order": [
        {"kind": "torus", "dims": [4, 3], "nodes_per_router": 2},
        {"kind": "torus", "dims": [3, 2, 2], "wrap": False},
    ],
    "minimal": [
        {"kind": "dragonfly", "groups": 4, "routers": 3},
        {"kind": "dragonfly", "groups": 3, "routers": [2, 2], "variant": "worst-case"},
    ],
}


def all_pairs(nodes):
    return np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)


@st.composite
def damaged(draw):
    """Draw a fabric, its routing, and some failed cables and a failed switch or none."""
    name = draw(st.sampled_from(sorted(FABRICS)))
    topology = make_topology(draw(st.sampled_from(FABRICS[name])))
    cables = draw(st.lists(st.integers(0, topology.n_links - 1), max_size=8))
    switch = st.integers(topology.n_nodes, topology.n_nodes + topology.n_switches - 1)
    switches = [topology.vertex_name(v) for v in draw(st.lists(switch, max_size=1))]
    return name, topology, fail(topology, cables, switches), cables, switches


@settings(deadline=None, max_examples=40)
@given(damaged())
def test_reroutes_are_shortest_and_the_rest_is_listed_as_unreachable(drawn):
    """A plain breadth-first search finds the same lengths and the same unconnected pairs."""
    name, intact, topology, _, _ = drawn
    dead = set() if topology.absent is None else set(topology.absent.tolist())
    ends = enumerate(zip(topology.link_tail.tolist(), topology.link_head.tolist(), strict=True))
    links = [pair for link, pair in ends if link not in dead]
    reached = {
        node: distances(links, topology.n_nodes, node, up_down=name == "d-mod-k")
        for node in range(topology.n_nodes)
    }
    src, dst = all_pairs(topology.usable_nodes)
    src, dst = src[src != dst], dst[src != dst]
    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    joined = np.array([b in reached[a] for a, b in pairs], dtype=bool)

    lost = unreachable(topology)
    src_lost, dst_lost = src[~joined], dst[~joined]
    src, dst = src[joined], dst[joined]
    routes = make_routing(name, topology).routes(src, dst)

    assert lost.nodes.size == 0, "nodes that are cut off are not usable"
    assert {tuple(pair) for pair in lost.pairs().tolist()} == {
        (min(pair), max(pair)) for pair in zip(src_lost.tolist(), dst_lost.tolist(), strict=True)
    }
    assert not set(routes.links.tolist()) & dead
    usual = make_routing(name, intact).routes(src, dst)
    for flow, (a, b) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        path = routes.of_flow(flow)
        assert topology.link_tail[path[0]] == a
        assert topology.link_head[path[-1]] == b
        assert np.array_equal(topology.link_head[path[:-1]], topology.link_tail[path[1:]])
        if dead & set(usual.of_flow(flow).tolist()):
            assert path.size == reached[a][b]
        else:
            assert np.array_equal(path, usual.of_flow(flow))


@settings(deadline=None, max_examples=30)
@given(damaged())
def test_both_directions_of_a_cable_fail_and_failures_add_up(drawn):
    _, intact, topology, cables, switches = drawn
    if topology.absent is None:
        return
    in_two_steps = fail(fail(intact, cables), (), switches)

    assert np.array_equal(np.sort(topology.reverse[topology.absent]), topology.absent)
    assert np.array_equal(in_two_steps.absent, topology.absent)


def test_a_leaf_without_uplinks_is_cut_off_with_its_nodes():
    tree = make_topology(
        {"kind": "fat-tree", "radix": 4, "failed_links": ["s1.1>s2.0", "s2.1>s1.1"]}
    )

    assert tree.usable_nodes.tolist() == [n for n in range(16) if n not in {2, 3}]
    with pytest.raises(RoutingError, match=r"no path leads from n0 to n2 in the fabric"):
        make_routing("d-mod-k", tree).routes(np.array([0]), np.array([2]))


def test_leaves_that_share_no_spine_any_more_cannot_talk_up_and_down():
    """Leaf 0 keeps spine 1, leaf 1 spine 0; leaf 2 reaches both, but is no way between them."""
    tree = make_topology(
        {
            "kind": "fat-tree",
            "children": [2, 3],
            "parents": [1, 2],
            "failed_links": ["s1.0>s2.0", "s1.1>s2.1"],
        }
    )

    lost = unreachable(tree)

    assert lost.nodes.size == 0
    assert tree.usable_nodes.size == 6
    assert lost.pairs().tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    with pytest.raises(RoutingError, match="no path leads from n"):
        make_routing("d-mod-k", tree).routes(np.array([0]), np.array([2]))


def test_a_failed_leaf_takes_its_nodes_along_and_a_failed_spine_none():
    one = make_topology({"kind": "fat-tree", "radix": 8, "failed_switches": ["s1.2"]})
    other = make_topology({"kind": "fat-tree", "radix": 8, "failed_switches": ["s3.2", "n7"]})

    assert sorted(set(range(128)) - set(one.usable_nodes.tolist())) == [8, 9, 10, 11]
    assert sorted(set(range(128)) - set(other.usable_nodes.tolist())) == [7]


def test_with_a_failed_spine_flows_spread_over_the_ports_that_are_left():
    """On 128 nodes a spine carries 8 destinations; each of its flows takes another spine."""
    tree = make_topology({"kind": "fat-tree", "radix": 8, "failed_switches": ["s3.0"]})
    src, dst = all_pairs(np.arange(128))
    routes = make_routing("d-mod-k", tree).routes(src, dst)
    before = make_routing("d-mod-k", make_topology({"kind": "fat-tree", "radix": 8})).routes(
        src, dst
    )

    assert np.array_equal(routes.hops, before.hops)
    changed = (routes.links != before.links).sum()
    assert changed == 8 * 112 * 2  # both links at the spine, for 8 destinations from 7 pods


def test_of_two_halves_the_one_with_the_lowest_node_stays_in_use():
    """A line of four routers, cut in the middle."""
    line = make_topology({"kind": "torus", "dims": [4], "wrap": False})

    halves = fail(line, ["r1>r2"])

    assert halves.usable_nodes.tolist() == [0, 1]
    assert unreachable(replace(halves, usable=None)).nodes.tolist() == [2, 3]


def test_intact_fabrics_are_returned_as_they_are():
    tree = make_topology("synth-1024")

    assert fail(tree) is tree
    assert unreachable(tree).nodes.size == unreachable(tree).n_pairs == 0


def test_a_job_that_owns_a_failed_link_is_not_led_elsewhere():
    """A detour would leave the job's partition, and its isolation with it."""
    tree = make_topology({"kind": "fat-tree", "radix": 4, "failed_links": ["s1.0>s2.1"]})
    nodes = np.array([0, 1, 2, 3])
    owned = [tree.link_number(f"s1.{leaf}>s2.1") for leaf in (0, 1)]
    links = np.sort(np.concatenate([owned, tree.reverse[owned]]))

    with pytest.raises(RoutingError, match=r"the job owns link s1.0>s2.1, which is out of service"):
        make_routing("jigsaw", tree).routes(nodes[:1], nodes[2:3], Partition(nodes, links))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"failed_links": ["s1.0>s9.1"]}, "no link 's1.0>s9.1' in the fabric"),
        ({"failed_links": [-1]}, "no link -1 in the fabric.*it has 0..95"),
        ({"failed_switches": ["s4.0"]}, "no node or switch 's4.0'"),
        ({"failed_switches": [16]}, "failed_switches: no node 16 in the fabric"),
    ],
)
def test_a_failure_of_nothing_is_refused(fields, message):
    with pytest.raises(TopologyError, match=message):
        make_topology({"kind": "fat-tree", "radix": 4, **fields})


def disjoint_rails(tmp_path, **failed):
    """Four hosts of two network cards, one on each of two rails that nothing joins."""
    rows = ["source,target,bandwidth"]
    rows += [f"h{h}c{rail},leaf{rail}{h // 2},1 Gb/s" for h in range(4) for rail in range(2)]
    rows += [f"leaf{rail}{leaf},spine{rail},1 Gb/s" for rail in range(2) for leaf in range(2)]
    path = tmp_path / "rails.csv"
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    return make_topology({"kind": "file", "path": str(path), **failed})


def names_of(fabric):
    return sorted(fabric.vertex_name(node) for node in fabric.usable_nodes.tolist())


@pytest.mark.parametrize(
    ("failed", "lost"),
    [
        ({"failed_links": ["leaf00>spine0"]}, {"h2c0", "h3c0"}),  # of two halves the first stays
        ({"failed_links": ["h3c1>leaf11"]}, {"h3c1"}),
        ({"failed_switches": ["spine1"]}, {"h2c1", "h3c1"}),
        ({"failed_switches": ["leaf00", "leaf11"]}, {"h0c0", "h1c0", "h2c1", "h3c1"}),
        ({"failed_switches": ["h0c0"]}, {"h0c0"}),
        ({}, set()),
    ],
)
def test_what_a_failure_does_not_touch_stays_in_use(tmp_path, failed, lost):
    """Rails that never reached each other: the loss of a cable in one is no loss of the other."""
    fabric = disjoint_rails(tmp_path, **failed)
    cards = {f"h{h}c{rail}" for h in range(4) for rail in range(2)}

    assert names_of(fabric) == sorted(cards - lost)
    for rail in range(2):
        nodes = [
            fabric.vertex_number(f"h{h}c{rail}") for h in range(4) if f"h{h}c{rail}" not in lost
        ]
        src, dst = all_pairs(np.array(nodes))
        dead = [] if fabric.absent is None else fabric.absent
        routes = make_routing("shortest", fabric).routes(src, dst)
        assert not np.isin(routes.links, dead).any()
        assert np.array_equal(routes.hops > 0, src != dst)


def test_between_disjoint_rails_there_is_no_path_with_or_without_a_failure(tmp_path):
    for failed in ({}, {"failed_links": ["h3c1>leaf11"]}):
        fabric = disjoint_rails(tmp_path, **failed)
        ends = [np.array([fabric.vertex_number(name)]) for name in ("h0c0", "h0c1")]

        with pytest.raises(RoutingError, match="no path leads from h"):
            make_routing("shortest", fabric).routes(*ends)


def test_failures_one_after_the_other_cut_off_what_they_do_at_once(tmp_path):
    fabric = disjoint_rails(tmp_path)
    one = fail(fail(fabric, ["h3c1>leaf11"]), ["leaf00>spine0"])

    assert names_of(one) == names_of(fail(fabric, ["h3c1>leaf11", "leaf00>spine0"]))
    assert names_of(one) == ["h0c0", "h0c1", "h1c0", "h1c1", "h2c1"]
