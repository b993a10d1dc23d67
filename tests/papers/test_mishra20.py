"""Mishra20: what sections 4 to 6 claim, on its figures and on its logs."""

import numpy as np
import pytest
from measured.mishra import (
    BINOMIAL,
    DEFAULT,
    LOGS,
    MUST_WIN,
    PAPER_HOURS,
    RD,
    RHVD,
    continuous,
    individual,
    machine,
    read_jobs,
)

from netsim.topology.fattree import build_fat_tree
from patterns.algorithms import RecursiveDoubling, RecursiveHalvingVectorDoubling
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.leaves.leafwise import placement_cost
from scheduler.cluster import Cluster
from scheduler.job import Communication, Job

FOLDER = "data/jobs/iitk-3000"
INTREPID, THETA, MIRA = LOGS


def talker(n_nodes, number=1):
    communication = Communication("rd", RecursiveDoubling(), 1.0)
    return Job(number, 0.0, n_nodes, 1.0, 1.0, communication=communication)


def steps_between_leaves(nodes, nodes_per_leaf):
    """Return the steps of recursive doubling that have a message from leaf to leaf."""
    leaf = np.asarray(nodes) // nodes_per_leaf
    return [
        number
        for number, step in enumerate(RecursiveDoubling().steps(len(nodes)), start=1)
        if np.any(leaf[step.src] != leaf[step.dst])
    ]


def test_section_4_2_halves_meet_in_the_last_step_only():
    """Eight nodes as 3 + 5 talk between switches in all steps, as 4 + 4 in step 3 only.

    The section names steps 2 and 3 for 3 + 5; ranks 2 and 3 part in step 1 already.
    """
    assert steps_between_leaves([0, 1, 2, 8, 9, 10, 11, 12], 8) == [1, 2, 3]
    assert steps_between_leaves([0, 1, 2, 3, 8, 9, 10, 11], 8) == [3]


def test_section_3_1_best_fit_takes_the_lowest_switch_and_the_fewest_free_nodes_first():
    """Figure 2 with n0 and n1 taken: 4 nodes fit below s1, 6 need s2 and begin with s0's two."""
    cluster = Cluster(build_fat_tree((4, 2), (1, 1), (1, 1), "1 B/s"))
    cluster.place(Allocation(talker(2, 9), cluster.geometry, ((0, 0b11, 0),)))
    default = make_allocator(DEFAULT, {}, 1)

    assert default.allocate(talker(4), cluster).leaves == ((1, 0b1111, 0),)
    assert default.allocate(talker(6), cluster).leaves == ((0, 0b1100, 0), (1, 0b1111, 0))


def test_equation_6_as_printed_cannot_tell_rhvd_from_rd():
    """Each distance occurs twice: twice the cost on any placement, so equal gains."""
    cluster = Cluster(build_fat_tree((16, 4), (1, 16), (1, 1), "1 B/s"))
    for masks in ((0xFF, 0xFF, 0, 0), (0x1F, 0x7, 0xFF, 0), (0xF, 0xF, 0xF, 0xF)):
        leaves = tuple((leaf, mask, 0) for leaf, mask in enumerate(masks) if mask)
        halves = Allocation(talker(16), cluster.geometry, leaves)

        cost = placement_cost(RecursiveDoubling(), halves, cluster)

        assert placement_cost(RecursiveHalvingVectorDoubling(), halves, cluster) == 2 * cost


def test_section_6_1_greedy_and_balanced_agree_on_leaves_of_a_power_of_two():
    """Sizes and leaves are powers of two, so greedy's whole leaves are balanced's portions."""
    cluster = Cluster(build_fat_tree((16, 32), (1, 16), (1, 1), "1 B/s"))
    for number, size in enumerate((64, 8, 128, 4, 32, 16, 64)):
        placements = [
            make_allocator(name, {}, 1).allocate(talker(size, number), cluster)
            for name in ("greedy", "balanced")
        ]
        counts = [
            sorted(mask.bit_count() for _, mask, _ in placement.leaves) for placement in placements
        ]
        assert counts[0] == counts[1]
        cluster.place(placements[0])


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_the_jobs_taken_run_as_long_as_those_of_table_3(shared, log):
    """1382, 2189 and 3289 hours under the default."""
    jobs = read_jobs(shared(FOLDER), log, RD, 0.9)

    assert round(sum(job.runtime_s for job in jobs) / 3600) == PAPER_HOURS[log.name, "RD"][0][0]
    assert len(jobs) == 1000
    assert all(job.n_nodes & (job.n_nodes - 1) == 0 for job in jobs)
    assert sum(job.communication is not None for job in jobs) <= 900


@pytest.mark.parametrize("setting", [RD, RHVD], ids=lambda setting: setting.name)
def test_balanced_and_adaptive_beat_the_default_in_a_continuous_run(shared, setting):
    """Table 3 on Theta: cost and execution time; the hours of the default are the log's."""
    jobs, tree = read_jobs(shared(FOLDER), THETA, setting, 0.9), machine(THETA)
    default = continuous(tree, jobs, DEFAULT, setting)

    assert default.cost_ratio == 1.0
    assert round(default.execution_h) == 2189
    for name in MUST_WIN:
        ours = continuous(tree, jobs, name, setting)
        assert ours.execution_h < default.execution_h
        assert ours.cost_ratio < 1.0


@pytest.mark.parametrize("log", [THETA, INTREPID], ids=lambda log: log.name)
def test_balanced_and_adaptive_beat_the_default_in_individual_runs(shared, log):
    """Table 4; greedy wins less than balanced, or as much (Theta)."""
    found = individual(machine(log), read_jobs(shared(FOLDER), log, RD, 0.9), RD)

    for name in MUST_WIN:
        assert found[name].execution_h < 1.0
        assert found[name].cost_ratio < 1.0
    assert found["adaptive"].execution_h <= found["greedy"].execution_h + 1e-12


@pytest.mark.heavy
@pytest.mark.parametrize("log", [INTREPID, MIRA], ids=lambda log: log.name)
@pytest.mark.parametrize("setting", [RD, RHVD, BINOMIAL], ids=lambda setting: setting.name)
def test_they_beat_it_on_the_larger_machines_too(shared, log, setting):
    jobs, tree = read_jobs(shared(FOLDER), log, setting, 0.9), machine(log)
    default = continuous(tree, jobs, DEFAULT, setting)

    for name in MUST_WIN:
        ours = continuous(tree, jobs, name, setting)
        assert ours.execution_h < default.execution_h
        assert ours.cost_ratio < 1.0
