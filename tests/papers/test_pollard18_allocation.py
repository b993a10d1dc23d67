"""
Pollard18 (topology-aware allocation): the rules of section III and the cases of Figures 2 to 4.

The tree of the figures has pods of three leaves of three nodes and two pods: a job of up to 3
nodes is of type T1, of 4 to 9 T2, of 10 to 18 T3 (text beside Figure 2).
"""

import numpy as np
import pytest
from isolation import minimal_links

from netsim.routing.dmodk import DModK
from netsim.topology.fattree import build_fat_tree
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job

TREE = build_fat_tree((3, 3, 2), (1, 3, 3), (1, 1, 1), "1 B/s")
ALL = 0b111
RED, BROWN, BLUE = {1, 2}, {3, 4, 5, 6, 7, 8}, {0, *range(9, 18)}


def job(n_nodes, number):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def held(allocation):
    return set(allocation.nodes().tolist())


def dmodk_links(nodes):
    """Return the links between switches that all pairs of nodes use under D-mod-k."""
    pairs = np.array([(a, b) for a in nodes for b in nodes if a != b])
    routes = DModK(TREE).routes(pairs[:, 0], pairs[:, 1])
    return {int(link) for link in routes.links if TREE.up_base[1] <= link}


@pytest.fixture
def figure_3_without_blue():
    """Red (T1) on the first leaf of pod 1, brown (T2) on its second and third."""
    cluster = Cluster(TREE)
    cluster.place(Allocation(job(2, 1), cluster.geometry, ((0, 0b110, 0),)))
    cluster.place(Allocation(job(6, 2), cluster.geometry, ((1, ALL, ALL), (2, ALL, ALL))))
    return cluster


def test_figure_3_blue_shares_a_leaf_with_red_and_a_pod_with_brown(figure_3_without_blue):
    """Blue is T3 and takes all that is left: it keeps to the first leaf of pod 1."""
    blue = make_allocator("ta", {}, 0).allocate(job(10, 3), figure_3_without_blue)

    assert held(blue) == BLUE


def test_figure_3_no_two_jobs_can_meet_on_a_link():
    """Red is on one leaf and uses no links; brown and blue use those of different leaves."""
    red, brown, blue = (minimal_links(TREE, nodes) for nodes in (RED, BROWN, BLUE))

    assert red == set()
    assert brown.isdisjoint(blue)
    assert dmodk_links(BROWN).isdisjoint(dmodk_links(BLUE))


def test_figure_4_swapping_nodes_2_and_7_makes_red_meet_brown_and_blue():
    red, brown, blue = ({1, 7}, BROWN - {7} | {2}, BLUE)
    links = [minimal_links(TREE, nodes) for nodes in (red, brown, blue)]

    assert links[0] & links[1]
    assert links[0] & links[2]


def placed(cluster, n_nodes):
    """Return where TA puts a job, as a set of nodes, or None."""
    allocation = make_allocator("ta", {}, 0).allocate(job(n_nodes, 1), cluster)
    return None if allocation is None else held(allocation)


def test_figure_4_a_t1_job_waits_rather_than_use_nodes_2_and_7():
    """They are all that is free; one node of them is given, two are not."""
    cluster = Cluster(TREE)
    others = ((0, 0b011, 0), (2, 0b101, 0), *((leaf, ALL, 0) for leaf in (1, 3, 4, 5)))
    cluster.place(Allocation(job(16, 9), cluster.geometry, others))

    assert placed(cluster, 1) == {2}
    assert placed(cluster, 2) is None


@pytest.mark.parametrize(
    ("n_nodes", "leaves", "owns_leaf_links", "owns_spine_links"),
    [(1, 1, False, False), (3, 1, False, False), (4, 2, True, False), (9, 3, True, False),
     (10, 4, True, True), (18, 6, True, True)],
)  # fmt: skip
def test_types_follow_the_node_count(n_nodes, leaves, owns_leaf_links, owns_spine_links):
    """T1 to 3 nodes, T2 to 9, T3 to 18, as in the text beside Figure 2."""
    allocation = make_allocator("ta", {}, 0).allocate(job(n_nodes, 1), Cluster(TREE))

    assert len(allocation.leaves) == leaves
    assert {ports for _, _, ports in allocation.leaves} == {ALL if owns_leaf_links else 0}
    assert bool(allocation.l2s) == owns_spine_links


def test_t1_takes_the_pod_and_the_leaf_with_the_fewest_free_nodes():
    """Lines 10-13: pod 1 has fewer free nodes, in it the leaf with two free."""
    cluster = Cluster(TREE)
    cluster.place(Allocation(job(4, 9), cluster.geometry, ((3, 0b001, 0), (4, ALL, 0))))

    assert placed(cluster, 2) == {10, 11}
    assert placed(cluster, 3) == {15, 16, 17}


def test_t2_takes_the_pod_with_the_fewest_free_nodes_and_its_emptiest_leaves():
    """Lines 21-25: pod 1 again; its two whole leaves before the one that a T1 job shares."""
    cluster = Cluster(TREE)
    cluster.place(Allocation(job(1, 9), cluster.geometry, ((3, 0b001, 0),)))

    assert placed(cluster, 4) == {12, 13, 14, 15}
    assert placed(cluster, 8) == set(range(10, 18))


def test_t2_does_not_share_a_leaf_with_t2_or_t3_but_shares_a_pod_with_t3():
    """Pod 0: a T2 job fills leaf 0, a T3 job has one node of leaf 1; leaf 2 is free."""
    cluster = Cluster(TREE)
    t3 = ((1, 0b001, ALL), *((leaf, ALL, ALL) for leaf in (3, 4, 5)))
    cluster.place(Allocation(job(3, 8), cluster.geometry, ((0, ALL, ALL),)))
    cluster.place(Allocation(job(10, 9), cluster.geometry, t3, tuple((l2, ALL) for l2 in range(6))))

    assert placed(cluster, 3) == {6, 7, 8}
    assert placed(cluster, 4) is None  # leaf 1 is T3's
    assert placed(cluster, 2) == {4, 5}  # T1 goes beside T3


def test_t3_does_not_share_a_pod_with_t3():
    """Eight nodes are free in each pod; one T3 job of ten holds links of both."""
    tree = build_fat_tree((3, 3, 4), (1, 3, 3), (1, 1, 1), "1 B/s")
    allocator, cluster = make_allocator("ta", {}, 0), Cluster(tree)
    first = allocator.allocate(job(10, 1), cluster)
    cluster.place(first)

    second = allocator.allocate(job(18, 2), cluster)
    pods = [{leaf // 3 for leaf, _, _ in allocation.leaves} for allocation in (first, second)]

    assert cluster.n_free == 26
    assert pods == [{0, 1}, {2, 3}]
    assert allocator.allocate(job(19, 3), cluster) is None


def test_t3_takes_the_emptiest_pods_and_their_emptiest_leaves():
    """Lines 33-35."""
    tree = build_fat_tree((3, 3, 3), (1, 3, 3), (1, 1, 1), "1 B/s")
    cluster = Cluster(tree)
    cluster.place(Allocation(job(3, 8), cluster.geometry, ((0, 0b001, 0), (3, 0b011, 0))))

    allocation = make_allocator("ta", {}, 0).allocate(job(13, 1), cluster)

    assert [leaf for leaf, _, _ in allocation.leaves] == [6, 7, 8, 1, 2]


def test_whole_leaves_reading_keeps_multi_leaf_jobs_off_shared_leaves():
    """Rule 2: "using all nodes of one or more switches"; a T1 job sits on leaf 0 of each pod."""
    cluster = Cluster(TREE)
    cluster.place(Allocation(job(2, 9), cluster.geometry, ((0, 1, 0), (3, 1, 0))))
    strict = make_allocator("ta", {"whole_leaves": True}, 0)

    assert held(strict.allocate(job(6, 1), cluster)) == {3, 4, 5, 6, 7, 8}
    assert strict.allocate(job(7, 1), cluster) is None
    assert placed(cluster, 7) == {1, 3, 4, 5, 6, 7, 8}


def test_index_reading_takes_the_first_leaf_that_fits():
    """Nodes 0-2 before the leaf with fewer free nodes, and pod 0 before the fuller pod 1."""
    cluster = Cluster(TREE)
    cluster.place(Allocation(job(1, 9), cluster.geometry, ((3, 1, 0),)))
    index = make_allocator("ta", {"order": "index"}, 0)

    assert held(index.allocate(job(2, 1), cluster)) == {0, 1}
    assert held(index.allocate(job(4, 1), cluster)) == {0, 1, 2, 3}
    assert held(index.allocate(job(10, 1), cluster)) == {*range(9), 10}


@pytest.mark.parametrize(("order", "leaf"), [("sorted", 1), ("index", 0)])
def test_in_the_order_of_numbers_a_small_job_takes_the_first_leaf_that_holds_it(order, leaf):
    """Leaf 0 has three free nodes, leaf 1 two: a job of two fits best on leaf 1."""
    cluster = Cluster(TREE)
    cluster.place(Allocation(job(1, 1), cluster.geometry, ((1, 0b001, 0),)))

    found = make_allocator("ta", {"order": order}, 0).allocate(job(2, 2), cluster)

    assert [each[0] for each in found.leaves] == [leaf]
