"""Wraparound: stays on owned links, is D-mod-k on whole trees, agrees with a naive twin."""

import naive.wraparound as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import cables, random_partition

from netsim.common.errors import PartitionError, RoutingError
from netsim.flows.partition import Partition, on_tree
from netsim.routing.dmodk import DModK
from netsim.routing.wraparound import Wraparound, _table
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.routes import Routes

BW = 12.5e9
TREES = {
    "radix 4": fat_tree_of_radix(4, BW),
    "radix 6": fat_tree_of_radix(6, BW),
    "radix 8": fat_tree_of_radix(8, BW),
    "two levels": fat_tree_of_radix(8, BW, levels=2),
    "parallel roots": build_fat_tree((4, 5), (1, 2), (1, 2), BW),
    "parallel spines": build_fat_tree((3, 3, 4), (1, 3, 1), (1, 1, 3), BW),
}


def all_pairs(nodes):
    nodes = np.unique(nodes)
    return np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)


def whole(tree):
    return Partition(np.arange(tree.n_nodes), np.arange(tree.up_base[1], tree.n_links))


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(TREES)), st.integers(0, 2**32 - 1))
def test_jobs_on_owned_links_reach_every_node_and_never_leave_them(name, seed):
    tree = TREES[name]
    job = random_partition(tree, np.random.default_rng(seed))
    src, dst = all_pairs(job.nodes)

    routes = Wraparound.on(tree).routes(src, dst, job)

    owned = np.zeros(tree.n_links, dtype=bool)
    owned[job.links] = True
    between_switches = routes.links[routes.links >= tree.up_base[1]]
    assert owned[between_switches].all()
    assert_paths(tree, routes, src, dst)


def assert_paths(tree, routes, src, dst):
    """Every route is a chain of links from its source to its destination, of shortest length."""
    plain = DModK.on(tree).routes(src, dst)
    np.testing.assert_array_equal(routes.hops, plain.hops)
    tail, head = tree.link_tail[routes.links], tree.link_head[routes.links]
    starts = routes.indptr[:-1][routes.hops > 0]
    ends = routes.indptr[1:][routes.hops > 0] - 1
    np.testing.assert_array_equal(tail[starts], src[routes.hops > 0])
    np.testing.assert_array_equal(head[ends], dst[routes.hops > 0])
    inner = np.setdiff1d(np.arange(routes.links.size), starts)
    np.testing.assert_array_equal(tail[inner], head[inner - 1])


@settings(deadline=None, max_examples=20)
@given(
    st.sampled_from(["radix 4", "two levels", "parallel roots", "parallel spines"]),
    st.integers(0, 2**32 - 1),
)
def test_routes_agree_with_candidates_found_by_search(name, seed):
    tree = TREES[name]
    rng = np.random.default_rng(seed)
    job = random_partition(tree, rng)
    drop = rng.random(job.links.size) < 0.15  # also partitions that no longer join all nodes
    job = Partition(job.nodes, job.links[~drop])
    nodes, links = job.nodes.tolist(), job.links.tolist()
    for src, dst in rng.choice(job.nodes, (8, 2)).tolist():
        expected = naive.route(tree, nodes, links, src, dst)
        flow = np.array([src]), np.array([dst])
        if expected is None:
            with pytest.raises(RoutingError, match=f"from n{src} to n{dst} on the links"):
                Wraparound.on(tree).routes(*flow, job)
        else:
            assert Wraparound.on(tree).routes(*flow, job).links.tolist() == expected


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["radix 6", "radix 8", "two levels", "tapered", "tapered spines"]),
    st.integers(0, 2**32 - 1),
)
def test_compiled_routes_are_those_of_the_way_for_all_trees(name, seed):
    tree = {
        **TREES,
        "tapered": build_fat_tree((6, 4, 4), (1, 3, 4), (1, 1, 1), BW),
        "tapered spines": build_fat_tree((4, 4, 4), (1, 4, 2), (1, 1, 1), BW),
    }[name]
    job = random_partition(tree, np.random.default_rng(seed))
    src, dst = all_pairs(job.nodes)

    routes = Wraparound.on(tree).routes(src, dst, job)

    expected = Routes.from_padded(_table(on_tree(tree, job), src, dst), tree.n_links)
    np.testing.assert_array_equal(routes.indptr, expected.indptr)
    np.testing.assert_array_equal(routes.links, expected.links)


@pytest.mark.parametrize("name", sorted(TREES))
def test_a_job_that_owns_the_whole_tree_is_routed_by_d_mod_k(name):
    tree = TREES[name]
    src, dst = all_pairs(np.arange(tree.n_nodes))

    routes = Wraparound.on(tree).routes(src, dst, whole(tree))

    np.testing.assert_array_equal(routes.links, DModK.on(tree).routes(src, dst).links)


@pytest.mark.parametrize(
    ("m", "w", "p"),
    [
        ((4, 4, 8), (1, 2, 2), (1, 1, 1)),
        ((4, 4), (1, 2), (1, 1)),
        ((4, 2, 3), (1, 2, 2), (1, 2, 1)),
        ((18, 18, 4), (1, 18, 2), (1, 1, 9)),
    ],
)
def test_whole_tapered_and_parallel_trees_are_routed_by_d_mod_k(m, w, p):
    tree = build_fat_tree(m, w, p, BW)
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, tree.n_nodes, (2, 3000))

    routes = Wraparound.on(tree).routes(src, dst, whole(tree))

    np.testing.assert_array_equal(routes.links, DModK.on(tree).routes(src, dst).links)


def test_a_remainder_leaf_wraps_its_ports_around():
    """Smith21, Figure 5: slot 1 of 2 finds one port where its leaf of the tree would want two."""
    tree = fat_tree_of_radix(8, BW, levels=2)
    links = [cable for leaf in (0, 1) for cable in cables(tree, 1, leaf, [1, 3])]
    job = Partition(np.array([0, 1, 5, 6, 8]), np.array(links + cables(tree, 1, 2, [3])))

    routes = Wraparound.on(tree).routes(np.array([0, 0, 8, 0]), np.array([5, 6, 6, 8]), job)

    names = [[tree.link_name(link) for link in routes.of_flow(flow)] for flow in range(4)]
    assert [row[1] for row in names] == ["s1.0>s2.1", "s1.0>s2.3", "s1.2>s2.3", "s1.0>s2.3"]


def test_jobs_without_links_share_the_fabric_under_d_mod_k():
    tree = TREES["radix 6"]
    src, dst = all_pairs(np.arange(30))
    plain = DModK.on(tree).routes(src, dst)

    for partition in (None, Partition(np.arange(30), None)):
        routes = Wraparound.on(tree).routes(src, dst, partition)

        np.testing.assert_array_equal(routes.links, plain.links)


def test_a_job_that_owns_no_link_at_all_can_talk_within_its_leaf_only():
    tree = TREES["radix 6"]
    job = Partition(np.array([0, 1, 3]), np.array([], dtype=np.int64))

    inside = Wraparound.on(tree).routes(np.array([0, 0]), np.array([1, 0]), job)

    assert inside.hops.tolist() == [2, 0]
    with pytest.raises(PartitionError, match="node n2 is not among the job's 3 nodes"):
        Wraparound.on(tree).routes(np.array([0]), np.array([2]), job)
    with pytest.raises(RoutingError, match="no shortest path from n1 to n3 on the links"):
        Wraparound.on(tree).routes(np.array([0, 1]), np.array([1, 3]), job)


def test_several_ranks_on_a_node_are_one_node():
    tree = TREES["radix 6"]
    job = random_partition(tree, np.random.default_rng(1), "pod")
    src, dst = all_pairs(job.nodes)
    once = Wraparound.on(tree).routes(src, dst, job)

    twice = Wraparound.on(tree).routes(src, dst, Partition(np.tile(job.nodes, 2), job.links))

    np.testing.assert_array_equal(once.links, twice.links)


@pytest.mark.parametrize(
    ("nodes", "links", "message"),
    [
        ([0, 1, 54], [], r"nodes must be one or more of 0\.\.53"),
        ([], [], "nodes must be one or more"),
        ([0, 1, 2, 3], [-1], r"links: expected a list of whole numbers .*got -1 at place 0"),
        ([0, 1, 2, 3], [324], r"links must be in 0\.\.323"),
        ([0, 1, 2], [], "node n3 is not among the job's 3 nodes"),
    ],
)
def test_nodes_and_links_that_do_not_fit_the_tree_are_errors(nodes, links, message):
    routing = Wraparound.on(TREES["radix 6"])

    with pytest.raises(PartitionError, match=message):  # by the partition or by the routing
        routing.routes([0], [3], Partition(np.array(nodes, np.int64), np.array(links, np.int64)))


def test_fabrics_without_the_three_level_shape_are_refused():
    four = build_fat_tree((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), BW)
    rails = build_fat_tree((4, 2), (2, 2), (1, 1), BW)
    other = Topology("a pair", 2, 0, *np.array([[0, 1], [1, 0], [0, 0]]), np.ones(2), np.arange(2))

    for tree in (four, rails):
        with pytest.raises(PartitionError, match="2 or 3 levels with one link per node"):
            Wraparound.on(tree).routes(np.array([0]), np.array([1]), whole(tree))
    with pytest.raises(RoutingError, match="needs a fat-tree, got one switch, 2 nodes"):
        Wraparound.on(other)
