"""Smith21: what sections 3 to 6 say of the allocators, on cases made by hand."""

import pytest
from isolation import Ends, broken_conditions

from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.lc import bandwidth_units
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job

RADIX_4 = fat_tree_of_radix(4, "1 B/s")  # 4 pods of 2 leaves of 2 nodes
RADIX_6 = fat_tree_of_radix(6, "1 B/s")  # 6 pods of 3 leaves of 3 nodes


def job(n_nodes, number=1):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def ask(name, n_nodes, cluster, **options):
    return make_allocator(name, options, 1).allocate(job(n_nodes), cluster)


def leaves_of(allocation):
    """Return {leaf: nodes on it}."""
    return {leaf: nodes.bit_count() for leaf, nodes, _ in allocation.leaves}


def test_figure_2_left_laas_wastes_a_node_of_the_last_leaf():
    """Over pods, LaaS rounds 5 nodes up to three leaves of 2; Jigsaw gives exactly 5."""
    laas = ask("laas", 5, Cluster(RADIX_4))
    jigsaw = ask("jigsaw", 5, Cluster(RADIX_4))

    assert laas.idle == 1
    assert sum(leaves_of(laas).values()) == 6
    assert laas.nodes().size == 5
    assert jigsaw.idle == 0
    assert sorted(leaves_of(jigsaw).values()) == [1, 2, 2]


def test_laas_gives_a_job_in_one_pod_exactly_its_nodes():
    """The rounding is of the reduction from three levels to two only (section 5.2.1)."""
    allocation = ask("laas", 8, Cluster(RADIX_6))

    assert allocation.idle == 0
    assert leaves_of(allocation) == {0: 3, 1: 3, 2: 2}


def test_figure_2_right_three_nodes_must_wait_for_a_leaf_under_ta():
    """Six nodes and enough links are free, two on each leaf of a pod; Jigsaw takes 2 + 1."""
    cluster = Cluster(RADIX_6)
    others = tuple((leaf, 0b111, 0) for leaf in range(3, 18))
    cluster.place(
        Allocation(job(48, 9), cluster.geometry, ((0, 1, 0), (1, 1, 0), (2, 1, 0), *others))
    )

    assert ask("ta", 3, cluster) is None
    assert leaves_of(ask("ta", 4, cluster)) == {0: 2, 1: 2}  # a larger job would fit
    assert leaves_of(ask("jigsaw", 3, cluster)) == {0: 2, 1: 1}


def test_figure_2_centre_ta_reserves_links_that_jigsaw_leaves_free():
    """A job of 4 on two leaves of 3: TA owns all 6 uplinks, Jigsaw 4 of them."""
    n_links = [
        sum(ports.bit_count() for _, _, ports in ask(name, 4, Cluster(RADIX_6)).leaves)
        for name in ("ta", "jigsaw")
    ]

    assert n_links == [6, 4]


def test_jobs_over_pods_use_whole_leaves_but_for_the_remainder_leaf():
    """Section 4: with one free node on each leaf, LC uses them over pods and Jigsaw does not."""
    cluster = Cluster(RADIX_4)
    cluster.place(Allocation(job(8, 9), cluster.geometry, tuple((leaf, 1, 0) for leaf in range(8))))

    assert ask("jigsaw", 3, cluster) is None
    assert leaves_of(ask("lc", 3, cluster)).keys() == {0, 1, 2}
    assert leaves_of(ask("jigsaw", 2, cluster)) == {0: 1, 1: 1}


def test_a_three_level_allocation_has_the_shape_of_conditions_1_to_3():
    """23 = 2 trees of 9 + a remainder tree of one leaf of 3 and a remainder leaf of 2."""
    allocation = ask("jigsaw", 23, Cluster(RADIX_6))

    assert list(leaves_of(allocation).values()) == [3] * 6 + [3, 2]
    spines = [ports.bit_count() for _, ports in allocation.l2s]
    assert spines == [3] * 6 + [2, 2, 1]  # the third L2 of the remainder tree is outside S^r


def test_best_fit_order_takes_the_fullest_pod_and_index_order_the_first():
    cluster = Cluster(RADIX_6)
    cluster.place(Allocation(job(4, 9), cluster.geometry, ((3, 0b111, 0), (4, 0b001, 0))))

    assert leaves_of(ask("jigsaw", 2, cluster)) == {4: 2}
    assert leaves_of(ask("jigsaw", 2, cluster, order="index")) == {0: 2}


def test_few_nodes_per_leaf_only_when_many_do_not_fit():
    """n_L descends: 4 nodes as 3 + 1 before 2 + 2."""
    assert leaves_of(ask("jigsaw", 4, Cluster(RADIX_6))) == {0: 3, 1: 1}


def test_single_leaf_jobs_take_links_only_when_asked_to():
    plain, literal = (
        ask("jigsaw", 2, Cluster(RADIX_6), single_leaf_links=f) for f in (False, True)
    )

    assert [row[2].bit_count() for row in (*plain.leaves, *literal.leaves)] == [0, 2]


def test_parallel_cables_at_the_top_are_virtual_spines():
    """One spine of three cables per L2 index is as good as three spines."""
    cables = build_fat_tree((3, 3, 4), (1, 3, 1), (1, 1, 3), "1 B/s")
    spines = build_fat_tree((3, 3, 4), (1, 3, 3), (1, 1, 1), "1 B/s")

    for n_nodes in range(1, 37):
        allocations = [ask("jigsaw", n_nodes, Cluster(tree)) for tree in (cables, spines)]

        assert allocations[0].leaves == allocations[1].leaves
        assert allocations[0].l2s == allocations[1].l2s
        assert broken_conditions(cables, Ends(cables), allocations[0], whole_leaves=True) == []


@pytest.mark.parametrize("name", ["jigsaw", "laas", "lc", "lc+s"])
@pytest.mark.parametrize(
    ("children", "parents", "parallel", "message"),
    [
        ((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), "2 or 3 levels"),
        ((4, 4, 4), (2, 2, 4), (1, 1, 1), "one link per node"),
    ],
)
def test_a_tree_outside_the_theory_is_refused_with_the_reason(
    name, children, parents, parallel, message
):
    cluster = Cluster(build_fat_tree(children, parents, parallel, "1 B/s"))

    with pytest.raises(AllocationError, match=message):
        ask(name, 1, cluster)


def test_bandwidth_classes_are_four_and_equally_likely():
    """Section 5.4.2: 0.5, 1.0, 1.5 and 2.0 GB/s of 5 GB/s; drawn per job."""
    drawn = [bandwidth_units(1, number) for number in range(4000)]

    assert {drawn.count(units) // 100 for units in (1, 2, 3, 4)} <= {9, 10}
    assert drawn != [bandwidth_units(2, number) for number in range(4000)]
    assert drawn[5:9] == [bandwidth_units(1, number) for number in range(5, 9)]


def two_free_nodes_on_each_of_two_leaves(taken):
    """Return a two-level cluster; jobs of so many units use all uplinks of both leaves."""
    cluster = Cluster(build_fat_tree((4, 2), (1, 4), (1, 1), "1 B/s"))
    for number, units in ((1001, min(taken, 4)), (1002, max(0, taken - 4))):
        nodes, ports = 1 << number - 1001, 0b1111 if units else 0
        rows = ((0, nodes, ports), (1, nodes, ports))
        cluster.place(Allocation(job(2, number), cluster.geometry, rows, units=units))
    return cluster


@pytest.mark.parametrize("units", [1, 2, 3, 4])
@pytest.mark.parametrize("taken", range(9))
def test_lc_s_fills_a_link_to_eight_tenths_and_no_further(units, taken):
    """A job of 4 nodes needs 2 + 2; it fits if taken + own units are at most 8 of 10."""
    cluster = two_free_nodes_on_each_of_two_leaves(taken)
    number = next(n for n in range(1000) if bandwidth_units(1, n) == units)

    allocation = make_allocator("lc+s", {}, 1).allocate(job(4, number), cluster)

    assert (allocation is not None) == (taken + units <= 8)
    if allocation is not None:
        assert allocation.units == units
        assert [ports.bit_count() for _, _, ports in allocation.leaves] == [2, 2]
        cluster.place(allocation)


def test_lc_s_shares_links_that_lc_does_not():
    """Somebody uses one tenth of every uplink: nothing is left to own."""
    cluster = two_free_nodes_on_each_of_two_leaves(1)

    assert ask("lc", 4, cluster) is None
    assert ask("lc+s", 4, cluster) is not None
