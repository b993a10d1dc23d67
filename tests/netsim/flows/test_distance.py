"""Hops, average pairwise hops (MIND) and hop-bytes."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.common.errors import NetsimError, TopologyError
from netsim.flows.distance import average_pairwise_hops, average_pairwise_hops_each, hop_bytes
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology

HECTOR_DRAGONFLY = {
    "kind": "dragonfly",
    "groups": 8,
    "routers": [6, 16],
    "nodes_per_router": 4,
    "excluded": ["n[2816-3071]"],
}
LONGEST = {  # largest number of hops, as the thesis on HECToR gives it (2.5.1, 7.2, 7.3)
    "torus": ("hector", 18),
    "5D torus": ("bgq-5d", 14),
    "best-case dragonfly": ({**HECTOR_DRAGONFLY, "variant": "best-case"}, 3),
    "worst-case dragonfly": ({**HECTOR_DRAGONFLY, "variant": "worst-case"}, 5),
}


@pytest.mark.parametrize("name", LONGEST)
def test_the_longest_distance_is_the_published_one(name):
    spec, expected = LONGEST[name]
    topology = make_topology(spec)
    rng = np.random.default_rng(1)
    nodes = topology.usable_nodes

    hops = topology.hops(*rng.choice(nodes, (2, 40_000)))

    assert nodes.size == 2816
    assert hops.max() == expected
    assert set(hops.tolist()) == set(range(expected + 1))


def test_cab_has_at_most_four_hops():
    """Pollard et al. 2018, figure 1."""
    cab = make_topology("cab")

    assert cab.hops(np.zeros(1296, dtype=int), np.arange(1296)).max() == 4


def test_the_whole_best_case_dragonfly_is_2_hops_apart_rounded_down():
    """Section 7.5: "these values converge completely at 2" for large jobs."""
    dragonfly = make_topology({**HECTOR_DRAGONFLY, "variant": "best-case"})
    nodes = dragonfly.usable_nodes[::11]

    expected = 15 / 16 + 5 / 6 + 7 / 8  # chance that column, row and group differ

    assert average_pairwise_hops(dragonfly, nodes) == pytest.approx(expected, rel=0.02)


def test_a_torus_is_measured_with_wrap_around():
    """Routers (0,0), (4,0) and (2,1) of a 5 x 3 ring grid: 1 + 3 + 3 hops over three pairs."""
    torus = make_topology({"kind": "torus", "dims": [5, 3]})

    assert average_pairwise_hops(torus, np.array([0, 4, 7])) == pytest.approx(7 / 3)


def test_nodes_on_one_router_are_no_hop_apart():
    assert average_pairwise_hops(make_topology("hopper"), np.array([0, 1])) == 0.0


def test_one_node_or_none_is_no_distance():
    torus = make_topology("bgq-5d")

    assert average_pairwise_hops(torus, np.array([5])) == 0.0
    assert average_pairwise_hops(torus, np.array([], dtype=np.int64)) == 0.0


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from(["cab", "hector", "bgq-5d", "aries-theta-like"]),
    st.lists(st.integers(0, 1295), min_size=2, max_size=12),
)
def test_the_closed_form_is_the_mean_over_all_pairs(name, members):
    topology, nodes = make_topology(name), np.array(members)
    pairs = [(a, b) for i, a in enumerate(members) for j, b in enumerate(members) if i != j]
    src, dst = np.array(pairs).T

    expected = topology.hops(src, dst).mean()

    assert average_pairwise_hops(topology, nodes) == pytest.approx(expected)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(2, 7), st.booleans()), min_size=1, max_size=3),
    st.lists(st.integers(0, 10**6), min_size=2, max_size=9),
)
@pytest.mark.parametrize("longest", [0, 1000])
def test_tori_of_any_shape_sum_over_all_pairs(longest, axes, members):
    """Rings of even and odd length, open axes, nodes opposite each other or the same."""
    dims, wrap = (list(part) for part in zip(*axes, strict=True))
    torus = make_topology({"kind": "torus", "dims": dims, "wrap": wrap})
    nodes = [member % torus.n_nodes for member in members]
    pairs = [(a, b) for i, a in enumerate(nodes) for b in nodes[:i]]

    hops = torus.hops(*(np.array(ends) for ends in zip(*pairs, strict=True)))

    with patch("netsim.topology.torus._LONG", longest):
        assert torus.total_hops(np.array(nodes)) == hops.sum()


def test_an_axis_of_a_hundred_thousand_routers_needs_no_table_of_all_pairs():
    """Nodes 0, 1, 50,000 and 99,999 of a ring of 100,000: 1 + 50,000 + 1 + 49,999 + 2 + 49,999."""
    ring = make_topology({"kind": "torus", "dims": [100_000]})

    assert ring.total_hops(np.array([0, 1, 50_000, 99_999])) == 150_002


@pytest.mark.parametrize("name", ["cab", "hector", "aries-theta-like"])
def test_many_placements_are_as_far_apart_as_each_of_them_alone(name):
    """Of any size, nodes in any order and twice."""
    topology, drawn = make_topology(name), np.random.default_rng(4)
    placements = [drawn.integers(0, topology.n_nodes, size) for size in (7, 0, 1, 300, 2)]

    each = average_pairwise_hops_each(topology, placements)

    for nodes, mean in zip(placements, each, strict=True):
        src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
        pairs = max(1, nodes.size * (nodes.size - 1))
        assert mean == topology.hops(src, dst).sum() / pairs


def test_hop_bytes_weigh_each_flow_by_its_hops():
    """On one leaf 0 hops, in the pod 2, through a spine 4."""
    tree = make_topology({"kind": "fat-tree", "radix": 4})

    total = hop_bytes(tree, np.array([0, 0, 0]), np.array([1, 2, 15]), np.array([7.0, 10.0, 1.0]))

    assert total == 2 * 10 + 4 * 1


def test_nodes_without_a_path_are_an_error():
    """Two nodes, each on a switch of its own."""
    apart = Topology(
        name="two islands",
        n_nodes=2,
        n_switches=2,
        link_tail=np.array([0, 2, 1, 3]),
        link_head=np.array([2, 0, 3, 1]),
        link_cable=np.zeros(4, dtype=np.int64),
        capacity=np.ones(4),
        channel=np.arange(4),
    )
    src, dst = np.array([0]), np.array([1])

    assert apart.hops(src, dst).tolist() == [-1]
    with pytest.raises(
        NetsimError, match="no path leads from n0 to n1 in the fabric \\(irregular fabric, 2 nodes"
    ):
        hop_bytes(apart, src, dst, np.ones(1))
    with pytest.raises(TopologyError, match="some of the 2 nodes are not connected"):
        average_pairwise_hops(apart, np.array([0, 1]))
