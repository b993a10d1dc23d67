"""Trees with missing nodes and leaves, and the numbers D-mod-k gives the others."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.common.errors import TopologyError
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.dmodk import endpoint_ports
from netsim.topology.fattree import build_fat_tree
from netsim.topology.reach import unreachable

RADIX_8 = {"kind": "fat-tree", "radix": 8}


DUMPED = json.loads((Path(__file__).parents[2] / "data/opensm-holes.json").read_text("utf-8"))


@pytest.mark.parametrize("case", DUMPED, ids=[case["what"] for case in DUMPED])
def test_numbers_and_ports_are_those_of_opensm_on_trees_with_holes(case):
    """Dumps of OpenSM 3.3.23 (-R ftree -a roots, on ibsim): 128 nodes without some.

    `leaf_up` and `l2_up` hold the up-port towards each node at a leaf and an L2 switch of
    another pod, `.` for missing nodes; `ca_order` the node of every number.
    """
    tree = make_topology({**RADIX_8, "missing": case["missing"]})
    nodes = tree.usable_nodes

    ports = endpoint_ports(tree, nodes)

    wanted = [[row[node] for node in nodes] for row in (case["leaf_up"], case["l2_up"])]
    assert [list(map(str, row)) for row in ports[1:].tolist()] == wanted
    order = {int(node): d for d, node in enumerate(case["ca_order"].split()) if node != "-"}
    assert {int(node): int(tree.order[node]) for node in nodes} == order


def test_without_holes_counting_gives_the_formula():
    """A tree whose order is written out routes as one whose order is left out."""
    for shape in (
        ((4, 4, 8), (1, 4, 4), (1, 1, 1)),
        ((4, 4, 8), (1, 2, 2), (1, 1, 1)),
        ((6, 6, 4), (1, 6, 2), (1, 1, 3)),
        ((4, 4, 4), (1, 2, 4), (1, 2, 2)),
        ((3, 4, 2), (1, 3, 2), (1, 1, 1)),
        ((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1)),
    ):
        tree = build_fat_tree(*shape, 1e9)
        nodes = np.arange(tree.n_nodes)

        counted = endpoint_ports(replace(tree, order=nodes), nodes)

        assert np.array_equal(counted, endpoint_ports(tree, nodes))


def test_a_missing_node_shifts_the_later_nodes_of_its_leaf_down():
    """Other leaves are full, so each leaf keeps 4 numbers."""
    tree = make_topology({**RADIX_8, "missing": ["n1", 6]})

    assert tree.order[:12].tolist() == [0, -1, 1, 2, 4, 5, -1, 6, 8, 9, 10, 11]
    assert tree.usable_nodes.size == 126


def test_a_leaf_takes_as_many_numbers_as_the_fullest_leaf_has_nodes():
    """Slot 3 of every leaf is empty: the numbers go on without a gap."""
    tree = make_topology({**RADIX_8, "missing": list(range(3, 128, 4))})

    assert tree.order[tree.usable_nodes].tolist() == list(range(96))


def test_a_missing_leaf_takes_no_numbers():
    tree = make_topology({**RADIX_8, "missing": ["s1.1"]})

    assert tree.order[:12].tolist() == [0, 1, 2, 3, -1, -1, -1, -1, 4, 5, 6, 7]
    assert unreachable(tree).nodes.size == 0


def test_a_leaf_without_nodes_takes_dummies_where_a_missing_leaf_takes_nothing():
    without_leaf = make_topology({**RADIX_8, "missing": ["s1.1"]})
    without_nodes = make_topology({**RADIX_8, "missing": ["n[4-7]"]})

    assert without_nodes.order[:12].tolist() == [0, 1, 2, 3, -1, -1, -1, -1, 8, 9, 10, 11]
    more = np.setdiff1d(without_leaf.absent, without_nodes.absent)
    assert [without_leaf.link_class(link) for link in more] == ["leaf-up"] * 4 + ["leaf-down"] * 4


@settings(deadline=None, max_examples=25)
@given(st.sets(st.integers(4, 127).filter(lambda n: n % 4), min_size=1), st.integers(1, 127))
def test_shifts_in_the_order_of_the_numbers_stay_free_of_contention(missing, shift):
    """Zahavi's claim with holes: rank d is the node numbered d, and dummies send nothing."""
    tree = make_topology({**RADIX_8, "missing": sorted(missing)})
    node_of = np.full(128, -1)
    node_of[tree.order[tree.usable_nodes]] = tree.usable_nodes
    src, dst = node_of, np.roll(node_of, -shift)
    both = (src >= 0) & (dst >= 0)

    routes = make_routing("d-mod-k", tree).routes(src[both], dst[both])

    between = np.bincount(routes.links, minlength=tree.n_links)[tree.up_base[1] :]
    assert between.max(initial=0) <= 1


def test_a_rail_tree_may_lack_nodes_but_not_leaves():
    spec = {"kind": "fat-tree", "children": [4, 2], "parents": [2, 4], "parallel": [1, 1]}
    tree = make_topology({**spec, "missing": ["n2"]})

    assert tree.order.tolist() == [0, 1, -1, 2, 4, 5, 6, 7]
    with pytest.raises(TopologyError, match=r"only nodes and leaves can be missing, got 's1.0'"):
        make_topology({**spec, "missing": ["s1.0"]})


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["s2.0"], "only nodes and leaves can be missing, got 's2.0'; let other switches fail"),
        (["n128"], "no node or switch 'n128'"),
        (["n[0-127]"], "all nodes of the fabric \\(.* are missing"),
    ],
)
def test_what_cannot_be_missing_is_refused(missing, message):
    with pytest.raises(TopologyError, match=message):
        make_topology({**RADIX_8, "missing": missing})


def test_excluded_nodes_are_there_and_missing_ones_are_not():
    tree = make_topology({**RADIX_8, "missing": ["n0"], "excluded": ["n1", "s1.31"]})

    assert tree.usable_nodes.tolist() == list(range(2, 124))
    assert tree.link_number("n1>s1.0") not in tree.absent
    assert tree.link_number("n0>s1.0") in tree.absent
