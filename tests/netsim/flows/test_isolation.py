"""Who shares links with whom, on routes in force and under every minimal routing."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import Shape, place

from netsim.flows.isolation import minimal_links, shared_links, used_links
from netsim.flows.partition import Partition
from netsim.routing.wraparound import Wraparound
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix

BW = 12.5e9


def pairs(nodes):
    nodes = np.unique(nodes)
    return np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)


def test_two_jobs_on_their_own_links_share_none_and_d_mod_k_shares_some():
    """Two jobs of 7 and 4 nodes that share all four leaves of a two-level tree."""
    tree = build_fat_tree((4, 4), (1, 4), (1, 1), BW)
    rng = np.random.default_rng(0)
    routing = Wraparound.on(tree)
    first = place(tree, rng, Shape(1, 3, 2, 0, 1))
    free = np.setdiff1d(np.arange(16), first.nodes)
    others = [int(free[free // 4 == leaf][0]) for leaf in range(4)]
    port = next(q for q in range(4) if q not in (first.links - tree.up_base[1]) % 4)
    second = Partition(
        np.array(others),
        np.array([base + 4 * leaf + port for base in (32, 48) for leaf in range(4)]),
    )

    own = [routing.routes(*pairs(job.nodes), job) for job in (first, second)]
    plain = [routing.routes(*pairs(job.nodes)) for job in (first, second)]

    assert shared_links([used_links(routes) for routes in own]) == {}
    mixed = shared_links([used_links(routes) for routes in plain])
    assert mixed
    assert all(jobs == [0, 1] for jobs in mixed.values())


def test_sharing_lists_every_job_of_a_link_once():
    jobs = [np.array([3, 1, 3]), np.array([], dtype=np.int64), np.array([3, 2]), np.array([2, 3])]

    assert shared_links(jobs) == {2: [2, 3], 3: [0, 2, 3]}
    assert shared_links([]) == {}


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_links_of_every_minimal_routing_are_those_of_all_shortest_paths(seed, as_graph):
    rng = np.random.default_rng(seed)
    tree = (
        fat_tree_of_radix(4, BW),
        build_fat_tree((2, 3), (1, 2), (1, 2), BW),
        build_fat_tree((2, 2, 2), (2, 2, 1), (1, 1, 1), BW),
    )[rng.integers(3)]
    src, dst = rng.integers(0, tree.n_nodes, (2, 4))
    fabric = tree
    if as_graph:
        fields = ("link_tail", "link_head", "link_cable", "capacity", "channel")
        arrays = [getattr(tree, field) for field in fields]
        fabric = Topology("graph", tree.n_nodes, tree.n_switches, *arrays)
    graph = nx.DiGraph(list(zip(tree.link_tail.tolist(), tree.link_head.tolist(), strict=True)))
    steps = set()
    for s, d in zip(src.tolist(), dst.tolist(), strict=True):
        for path in nx.all_shortest_paths(graph, s, d):
            steps |= set(pairwise(path))

    found = minimal_links(fabric, src, dst)

    ends = zip(tree.link_tail.tolist(), tree.link_head.tolist(), strict=True)
    assert found.tolist() == [link for link, pair in enumerate(ends) if pair in steps]


@pytest.mark.parametrize(
    ("first", "second", "isolated"),
    [
        ([0, 1, 2, 3], range(6, 12), True),  # leaves 0, 1 of a pod; leaf 2 and the next pod
        ([0, 1, 9], range(3, 6), True),
        ([0, 1, 9], [3, 12], False),  # both leave the pod
        ([0, 3], [1, 6], False),  # both leave leaf 0
    ],
)
def test_placement_alone_isolates_jobs_that_never_leave_a_switch_together(first, second, isolated):
    tree = fat_tree_of_radix(6, BW)
    jobs = [np.array(first), np.array(list(second))]

    shared = shared_links([minimal_links(tree, *pairs(job)) for job in jobs])

    assert (shared == {}) == isolated
