"""Loads: counted by hand, and closed forms against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.flows.load import all_to_all_link_flows, link_bytes, link_flows, step_loads
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.routes import Routes


def test_flows_and_bytes_of_three_routes_by_hand():
    """Link 1 carries flows 0 and 2, link 3 none; flow 1 stays inside its node."""
    routes = Routes.from_lists([[0, 1], [], [2, 1]], 4)

    assert link_flows(routes).tolist() == [1, 2, 1, 0]
    assert link_bytes(routes, np.array([10.0, 5.0, 3.0])).tolist() == [10, 13, 3, 0]


def test_loads_per_step_name_only_links_that_carry_traffic():
    routes = Routes.from_lists([[0, 1], [1], [1, 2], []], 3)

    load = step_loads(routes, np.array([4.0, 2.0, 8.0, 1.0]), np.array([0, 0, 2, 2]))

    assert load.step.tolist() == [0, 0, 2, 2]
    assert load.link.tolist() == [0, 1, 1, 2]
    assert load.flows.tolist() == [1, 2, 1, 1]
    assert load.nbytes.tolist() == [4, 6, 8, 8]


@st.composite
def placements(draw):
    """Return a small PGFT and the node of each rank, several ranks a node among them."""
    levels = draw(st.integers(2, 4))
    number = st.integers(1, 3)
    children = [draw(st.integers(2, 4)) for _ in range(levels)]
    parents, parallel = ([draw(number) for _ in range(levels)] for _ in range(2))
    down_cable = draw(st.sampled_from(["mirror", "source"]))
    tree = build_fat_tree(children, parents, parallel, 1e9, down_cable=down_cable)
    node = st.integers(0, tree.n_nodes - 1)
    return tree, np.array(draw(st.lists(node, min_size=1, max_size=20)))


@settings(deadline=None, max_examples=150)
@given(placements())
def test_all_to_all_in_closed_form_equals_enumeration(placement):
    """Tapered trees, rails, parallel cables and shared nodes: the same integers."""
    tree, nodes = placement
    src, dst = np.nonzero(~np.eye(nodes.size, dtype=bool))

    closed = all_to_all_link_flows(tree, nodes)

    expected = link_flows(DModK(tree).routes(nodes[src], nodes[dst]))
    np.testing.assert_array_equal(closed, expected)


def test_all_to_all_on_the_whole_full_tree_loads_switch_links_evenly():
    """Radix 8: a leaf's 4 nodes send to the 124 others over 4 ports: 124 flows each."""
    tree = fat_tree_of_radix(8, 1e9)

    load = all_to_all_link_flows(tree, np.arange(tree.n_nodes))

    up = slice(tree.up_base[1], tree.down_base[1])
    assert set(load[up].tolist()) == {124}


@pytest.mark.parametrize("n_ranks", [0, 1])
def test_a_lone_rank_loads_nothing(n_ranks):
    tree = fat_tree_of_radix(4, 1e9)

    assert not all_to_all_link_flows(tree, np.arange(n_ranks)).any()
