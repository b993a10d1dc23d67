"""Static tables: what collides under one table."""

from itertools import product

import numpy as np
import pytest
from partitions import cables

from netsim.flows.partition import Partition
from netsim.nonblocking.static_table import largest_loads, static_table_report
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
    """Every table, counted here: entries choose L2 switch 1 or 3 where both leaves own both."""
    leaf, owned = np.array([0, 0, 1, 1, 2, 2, 3]), [{1, 3}, {1, 3}, {1, 3}, {1}]
    entries = [(s, d) for s in range(4) for d in range(7) if leaf[d] != s]
    tables = list(product(*(sorted(owned[s] & owned[leaf[d]]) for s, d in entries)))
    port = np.full((len(tables), 4, 7), -1)
    port[:, *np.array(entries).T] = tables
    clean = np.zeros(len(tables), dtype=int)
    for shift in range(1, 7):
        src = np.arange(7)
        dst = (src + shift) % 7
        flows = np.flatnonzero(leaf[src] != leaf[dst])
        used = port[:, leaf[src[flows]], dst[flows]]
        ends = np.stack([leaf[src[flows]], 4 + leaf[dst[flows]]]) * 4
        links = np.sort((used[:, None] + ends).reshape(len(tables), 2, -1), axis=2)
        clean += (np.diff(links, axis=2) != 0).all(axis=(1, 2))

    assert len(tables) == 4096
    assert np.bincount(clean)[[6, 5, 4]].tolist() == [1, 12, 166]


def test_a_whole_tree_is_clean_for_all_shifts_under_its_table():
    """Zahavi 2010: D-mod-k is free of contention on shifts of a full tree."""
    tree = fat_tree_of_radix(8, BW)
    whole = Partition(np.arange(tree.n_nodes), None)

    report = static_table_report(tree, DModK(tree), whole, n_random=20)

    assert (report.shifts, report.shifts_clean, report.shifts_worst) == (127, 127, 1)
    assert report.random_clean == 0
    assert 3 < report.random_mean < 4.5  # OpenSM's ftree: 3.61 over 100 permutations


def test_ranks_that_share_a_node_count_once():
    job = seven_nodes()
    twice = Partition(np.repeat(job.nodes, 2), job.links)

    assert static_table_report(FT2, Wraparound.on(FT2), twice) == static_table_report(
        FT2, Wraparound.on(FT2), job
    )


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
