"""Rails: which links of a node its ranks have, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree
from netsim.topology.rails import Rails, node_bandwidth, node_bundles
from netsim.topology.reach import switch_meetings, unreachable

FOUR = {"kind": "fat-tree", "children": [4, 2], "parents": [4, 4], "parallel": [1, 1]}


def rail_of(fabric, ends):
    """Return the place of endpoints among those of their nodes."""
    points = fabric.endpoints
    return ends - points.first[points.node[ends]]


def rails_of(spec, nodes, src, dst):
    """Return the rails of every message, and its parts, as lists."""
    fabric = make_topology(spec)
    split = Rails(fabric).split(np.array(nodes), np.array(src), np.array(dst))
    found = [[] for _ in dst]
    out, into = (rail_of(fabric, ends) for ends in (split.src, split.dst))
    assert np.array_equal(out, into)
    for flow, rail, parts in zip(split.flow, into, split.parts, strict=True):
        found[flow].append(int(rail))
        assert parts == np.sum(split.flow == flow)
    return found


@pytest.mark.parametrize(
    ("nodes", "dst", "rails"),
    [
        # block: ranks 4..7 are on node 1
        ([0, 0, 0, 0, 1, 1, 1, 1], [4, 5, 6, 7], [[0], [1], [2], [3]]),
        # round-robin: ranks 1, 3, 5, 7 are
        ([0, 1, 0, 1, 0, 1, 0, 1], [1, 3, 5, 7], [[0], [1], [2], [3]]),
        # more ranks than links: local index mod 4
        ([0] * 6 + [1] * 6, [6, 7, 8, 9, 10, 11], [[0], [1], [2], [3], [0], [1]]),
        # fewer: the links are dealt out
        ([0, 0, 1, 1], [2, 3], [[0, 2], [1, 3]]),
        ([0, 0, 0, 1, 1, 1], [3, 4, 5], [[0, 3], [1], [2]]),
        ([0, 1], [1], [[0, 1, 2, 3]]),
    ],
)
def test_a_ranks_rail_is_its_index_on_its_node(nodes, dst, rails):
    assert rails_of(FOUR, nodes, [0] * len(dst), dst) == rails


def test_the_rail_is_that_of_the_rank_that_receives():
    """Rank 1 of node 0 sends to ranks 0..3 of node 1: handed over inside node 0 first."""
    nodes = [0] * 4 + [1] * 4

    assert rails_of(FOUR, nodes, [1, 1, 1, 1], [4, 5, 6, 7]) == [[0], [1], [2], [3]]


def test_nodes_of_one_link_have_nothing_to_choose():
    rails = Rails(make_topology({"kind": "fat-tree", "radix": 4}))

    assert rails.split(np.array([0, 0, 1]), np.array([0]), np.array([2])) is None


BLOCK = [node for node in range(8) for _ in range(4)]


@pytest.mark.parametrize(
    ("failed", "rails"),
    [
        ({"failed_switches": ["s1.1"]}, [[0], [0, 2, 3], [2], [3]]),
        ({"failed_switches": ["s1.0", "s1.1"]}, [[2, 3], [2, 3], [2], [3]]),
        ({"failed_switches": ["s1.0", "s1.1", "s1.3"]}, [[2], [2], [2], [2]]),
        ({"failed_links": ["n1>s1.2"]}, [[0], [1], [0, 1, 3], [3]]),  # a cable of the receiver
        ({"failed_links": ["n0>s1.2"]}, [[0], [1], [0, 1, 3], [3]]),  # only a cable of the sender
        ({"failed_switches": ["s1.5", "s2.0"]}, [[0], [1], [2], [3]]),  # the other group; a spine
    ],
)
def test_messages_of_a_lost_rail_are_spread_over_those_left(failed, rails):
    """Node 0 to the four ranks of node 1."""
    assert rails_of(FOUR | failed, BLOCK, [0] * 4, [4, 5, 6, 7]) == rails


def test_a_message_over_all_rails_is_split_over_those_that_are_left():
    failed = {"failed_switches": ["s1.1"]}

    assert rails_of(FOUR | failed, [0, 1], [0], [1]) == [[0, 2, 3]]
    assert rails_of(FOUR | failed, [4, 5], [0], [1]) == [[0, 1, 2, 3]]


def test_a_rail_without_a_common_spine_is_lost_between_groups_only():
    """Rail 0 has spines 0, 4, 8, 12; group 0 keeps the first, group 1 the others."""
    cut = [f"s1.0>s2.{spine}" for spine in (4, 8, 12)] + ["s1.4>s2.0"]
    failed = FOUR | {"failed_links": cut}

    assert rails_of(failed, BLOCK, [0], [16]) == [[1, 2, 3]]
    assert rails_of(failed, BLOCK, [0, 16], [4, 20]) == [[0], [0]]


def graph(links, n_nodes, n_switches):
    """Return a fabric of cables (a, b), both directions one after the other, 1 byte/s."""
    ends = np.array([end for a, b in links for end in ((a, b), (b, a))]).T
    count = ends.shape[1]
    return Topology(
        name="graph",
        n_nodes=n_nodes,
        n_switches=n_switches,
        link_tail=ends[0],
        link_head=ends[1],
        link_cable=np.zeros(count, dtype=np.int64),
        capacity=np.ones(count),
        channel=np.arange(count),
    )


def test_nodes_may_have_different_numbers_of_links():
    """Node 0 has two, node 1 one: messages to node 0 are split, those to node 1 are not."""
    fabric = graph([(0, 2), (0, 3), (1, 3), (2, 3)], 2, 2)

    split = Rails(fabric).split(np.array([0, 1]), np.array([0, 1]), np.array([1, 0]))

    assert split.flow.tolist() == [0, 1, 1]
    assert rail_of(fabric, split.dst).tolist() == [0, 0, 1]
    leaf = fabric.link_head[fabric.endpoints.link]
    assert leaf[split.src].tolist() == [3, 3, 3]  # node 0 leaves by its link to node 1's switch
    assert split.parts.tolist() == [1, 2, 2]


def test_the_link_that_a_message_would_leave_by_counts_as_well():
    """Both rails meet in switch 4; node 0 has lost its link of rail 0, node 1 has not."""
    fabric = graph([(0, 2), (0, 3), (1, 2), (1, 3), (2, 4), (3, 4)], 2, 3)
    damaged = replace(fabric, absent=np.array([0, 1]))

    split = Rails(damaged).split(np.array([0, 1]), np.array([0]), np.array([1]))

    for ends in (split.src, split.dst):
        assert (rail_of(damaged, ends).tolist(), split.parts.tolist()) == ([1], [1])


def test_what_a_node_can_send_is_the_sum_of_its_links():
    tree = make_topology(FOUR | {"bandwidth": ["400 Gb/s", "200 Gb/s"]})
    bundle, capacity = node_bundles(tree)
    own = tree.channel[tree.node_links[0][4:8]]  # of node 1

    assert np.unique(bundle[own]).tolist() == [own.min()]
    assert capacity[own].tolist() == [200e9] * 4
    assert node_bandwidth(tree).tolist() == [200e9] * 8
    between = np.arange(tree.up_base[1], tree.n_links)
    assert set(bundle[between].tolist()) == {-1}
    assert set(capacity[between].tolist()) == {25e9}


def test_both_directions_of_a_half_duplex_link_are_one():
    """Two links of 1 GB/s, each for both directions: the node has 2 GB/s for both."""
    tree = build_fat_tree((2, 2), (2, 1), (1, 1), 1e9, half_duplex=True)
    bundle, capacity = node_bundles(tree)
    links = tree.node_links[0][:2]

    assert np.array_equal(tree.channel[tree.reverse[links]], tree.channel[links])
    assert len(set(bundle[tree.channel[links]].tolist())) == 1
    assert capacity[tree.channel[links]].tolist() == [2e9, 2e9]


def test_switches_that_meet_are_those_between_whose_nodes_a_path_leads():
    """Leaves of one rail meet, those of different rails do not."""
    tree = make_topology(FOUR)
    kind, meet = switch_meetings(tree)
    leaf = kind[tree.n_nodes : tree.n_nodes + 8]

    rail = np.arange(8) % 4
    assert np.array_equal(meet[leaf[:, None], leaf], rail[:, None] == rail)
    assert unreachable(tree).nodes.size == 0
