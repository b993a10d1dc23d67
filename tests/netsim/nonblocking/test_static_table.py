"""Static tables: what collides under one table, and the search for a better one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import Shape, cables, place, random_partition

from netsim.common.errors import PartitionError
from netsim.flows.partition import Partition
from netsim.infiniband.lft import d_mod_k_tables
from netsim.nonblocking.static_table import largest_loads, search_static_table, static_table_report
from netsim.routing.dmodk import DModK
from netsim.routing.wraparound import Wraparound
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix

BW = 12.5e9
FT2 = build_fat_tree((4, 4), (1, 4), (1, 1), BW)


def seven_nodes():
    """2 + 2 + 2 + 1 nodes on four leaves; S = {1, 3}, S^r = {1}."""
    links = [link for leaf in range(3) for link in cables(FT2, 1, leaf, [1, 3])]
    return Partition(np.array([0, 1, 4, 5, 8, 9, 12]), np.array(links + cables(FT2, 1, 3, [1])))


def shifts(nodes):
    return [(nodes, np.roll(nodes, -shift)) for shift in range(1, nodes.size)]


def clean_steps(tree, routing, job, steps):
    """Count steps without contention, link by link."""
    clean = 0
    for src, dst in steps:
        routes = routing.routes(src, dst, job)
        load = np.bincount(routes.links, minlength=tree.n_links)
        clean += load[tree.up_base[1] :].max(initial=0) <= 1
    return clean


def test_isolation_is_not_contention_freedom():
    """Brute force elsewhere found 4 of 6 shifts clean, 2 and 4 with load 2."""
    job = seven_nodes()
    routing = Wraparound.on(FT2)
    targets = np.stack([dst for _, dst in shifts(job.nodes)])

    report = static_table_report(FT2, routing, job)

    loads = largest_loads(FT2, routing, job, job.nodes, targets)
    assert loads.tolist() == [1, 2, 1, 2, 1, 1]
    assert (report.shifts, report.shifts_clean, report.shifts_worst) == (6, 4, 2)
    assert (report.random, report.random_worst) == (500, 2)
    assert 0.4 < report.random_clean / 500 < 0.6


def test_one_of_4096_tables_is_clean_for_all_six_shifts():
    """Brute force elsewhere: 1 table clean for six shifts, 12 for five, 166 for four."""
    job = seven_nodes()

    found = search_static_table(FT2, job, shifts(job.nodes))

    assert found.histogram.sum() == 4096
    assert found.histogram[[6, 5, 4]].tolist() == [1, 12, 166]
    assert found.clean == found.steps == 6
    assert clean_steps(FT2, found.table, job, shifts(job.nodes)) == 6
    owned = set(job.links.tolist())
    routes = found.table.routes(*np.array(np.meshgrid(job.nodes, job.nodes)).reshape(2, -1))
    assert set(routes.links[routes.links >= FT2.up_base[1]].tolist()) <= owned


def test_a_found_table_can_be_exported_like_any_other():
    job = seven_nodes()
    found = search_static_table(FT2, job, shifts(job.nodes))

    tables = d_mod_k_tables(FT2).confined_to([(found.table, job)])

    assert clean_steps(FT2, tables, job, shifts(job.nodes)) == 6


def test_a_whole_tree_is_clean_for_all_shifts_under_its_table():
    """Zahavi 2010: D-mod-k is free of contention on shifts of a full tree."""
    tree = fat_tree_of_radix(8, BW)
    whole = Partition(np.arange(tree.n_nodes), None)

    report = static_table_report(tree, DModK(tree), whole, n_random=20)

    assert (report.shifts, report.shifts_clean, report.shifts_worst) == (127, 127, 1)
    assert report.random_clean == 0
    assert 3 < report.random_mean < 4.5  # OpenSM's ftree: 3.61 over 100 permutations


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_searched_tables_count_their_clean_steps_right_and_never_fall_behind(seed):
    rng = np.random.default_rng(seed)
    tree = (FT2, fat_tree_of_radix(6, BW), fat_tree_of_radix(8, BW))[rng.integers(3)]
    job = random_partition(tree, rng)
    steps = [(job.nodes, rng.permutation(job.nodes)) for _ in range(4)]

    found = search_static_table(tree, job, steps, tries=300, seed=1)

    assert found.clean == clean_steps(tree, found.table, job, steps)
    assert found.clean >= clean_steps(tree, Wraparound.on(tree), job, steps)
    owned = set(job.links.tolist())
    for src, dst in steps:
        links = found.table.routes(src, dst).links
        assert set(links[links >= tree.up_base[1]].tolist()) <= owned


def test_a_table_without_a_pattern_is_the_wraparound_table():
    tree = fat_tree_of_radix(8, BW)
    job = place(tree, np.random.default_rng(0), Shape(2, 3, 3, 1, 2, many_pods=True))
    src, dst = np.repeat(job.nodes, job.nodes.size), np.tile(job.nodes, job.nodes.size)

    table = search_static_table(tree, job, []).table

    wraparound = Wraparound.on(tree).routes(src, dst, job)
    np.testing.assert_array_equal(table.routes(src, dst).links, wraparound.links)


def test_the_search_improves_a_multi_pod_job_and_repeats_itself():
    tree = fat_tree_of_radix(8, BW)
    job = place(tree, np.random.default_rng(0), Shape(2, 2, 4, 1, 1, many_pods=True))
    steps = shifts(np.sort(job.nodes))

    first, again = (search_static_table(tree, job, steps, tries=5000, seed=3) for _ in range(2))

    assert first.clean > clean_steps(tree, Wraparound.on(tree), job, steps)
    np.testing.assert_array_equal(first.table.leaf_port, again.table.leaf_port)
    np.testing.assert_array_equal(first.table.l2_port, again.table.l2_port)


def test_ranks_that_share_a_node_count_once():
    job = seven_nodes()
    twice = Partition(np.repeat(job.nodes, 2), job.links)

    assert static_table_report(FT2, Wraparound.on(FT2), twice) == static_table_report(
        FT2, Wraparound.on(FT2), job
    )


def test_jobs_that_cannot_be_searched_are_refused():
    job = seven_nodes()
    parallel = build_fat_tree((4, 4), (1, 2), (1, 2), BW)
    cut = Partition(job.nodes, np.array(cables(FT2, 1, 0, [1]) + cables(FT2, 1, 1, [2])))

    with pytest.raises(PartitionError, match="without parallel cables"):
        search_static_table(parallel, Partition(np.arange(8), None), [])
    with pytest.raises(PartitionError, match="do not join all nodes"):
        search_static_table(FT2, cut, shifts(job.nodes))


def test_permutations_drawn_a_few_at_a_time_are_the_same(monkeypatch):
    whole = Partition(np.arange(16), None)
    report = static_table_report(FT2, DModK(FT2), whole, n_random=20)

    monkeypatch.setattr("netsim.nonblocking.static_table._BATCH", 48)

    assert static_table_report(FT2, DModK(FT2), whole, n_random=20) == report
    assert report.random == 20
    assert report.random_mean > 1


@pytest.mark.parametrize("flows_at_once", [1, 16, 48, 16 * 20, 10**6])
@pytest.mark.parametrize("n_random", [1, 20])
def test_random_permutations_are_those_of_one_draw_however_many_are_routed_at_once(
    monkeypatch, flows_at_once, n_random
):
    """Drawn here in one piece and counted link by link."""
    whole, rank = Partition(np.arange(16), None), np.arange(16)
    drawn = np.random.default_rng(3).permuted(np.tile(rank, (n_random, 1)), axis=1)
    loads = []
    for targets in drawn:
        routes = DModK(FT2).routes(rank, targets, whole)
        loads.append(np.bincount(routes.links, minlength=FT2.n_links)[FT2.up_base[1] :].max())
    monkeypatch.setattr("netsim.nonblocking.static_table._BATCH", flows_at_once)

    report = static_table_report(FT2, DModK(FT2), whole, n_random=n_random, seed=3)

    found = report.random, report.random_clean, report.random_worst, report.random_mean
    assert found == (n_random, sum(load <= 1 for load in loads), max(loads), np.mean(loads))
    assert largest_loads(FT2, DModK(FT2), whole, rank, drawn).tolist() == loads
