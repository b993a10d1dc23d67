"""Stoltzfus13: its pseudo-code on short lists by hand, its machines, its main finding."""

import heapq

import numpy as np
import pytest
from sampling import sampled
from scipy.stats import ttest_rel

from netsim.flows.distance import average_pairwise_hops
from netsim.registries.topologies import make_topology
from netsim.topology.torus import build_torus
from scheduler.allocators import make_allocator
from scheduler.allocators.ordering import allocation_of
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.workload.synthetic import hector_like

LINE = build_torus((64,), "1 B/s", wrap=(False,))
DRAGONFLY = {
    "kind": "dragonfly",
    "groups": 8,
    "routers": [6, 16],
    "nodes_per_router": 4,
    "excluded": ["n[2816-3071]"],
}
MACHINES = {
    "3D torus": "hector",
    "best case": DRAGONFLY | {"variant": "best-case"},
    "worst case": DRAGONFLY | {"variant": "worst-case"},
    "5D torus": "bgq-5d",
}
#        runs with gap 1: 3 nodes, 1, 2, 5, 2
FREE = [2, 3, 4, 9, 12, 13, 20, 21, 22, 23, 24, 40, 41]


def job(n_nodes, number=1):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def placed(name, n_nodes, **options):
    """Return the nodes of a job when `FREE` is the list of available nodes."""
    cluster = Cluster(LINE)
    busy = [node for node in range(64) if node not in FREE]
    cluster.place(allocation_of(job(len(busy), -1), busy, cluster.geometry))
    allocation = make_allocator(name, options, 1).allocate(job(n_nodes), cluster)
    return None if allocation is None else allocation.nodes().tolist()


def test_figure_14_fifo_takes_small_jobs_from_the_other_end():
    """A job of exactly k nodes is large."""
    assert placed("fifo", 3, k=4) == [24, 40, 41]
    assert placed("fifo", 4, k=4) == [2, 3, 4, 9]
    assert placed("fifo", 3, k=0) == [2, 3, 4]


def test_figure_11_first_fit_takes_the_first_run_that_is_long_enough():
    assert placed("first-fit", 2, gap=1) == [2, 3]
    assert placed("first-fit", 4, gap=1) == [20, 21, 22, 23]
    assert placed("first-fit", 4, gap=5) == [2, 3, 4, 9]  # 4 to 9 is a space of 5


def test_figure_11_first_fit_halves_what_finds_no_run():
    """
    No run holds 7: 3 are sought first and take 2-4, then 4, which take 20-23.

    No run holds 11 nor its half 5 + 6: 5 take 20-24; 6 become 3 (2-4) and 3, of which 1 is 9
    and 2 are 12-13.
    """
    assert placed("first-fit", 7, gap=1) == [2, 3, 4, 20, 21, 22, 23]
    assert placed("first-fit", 11, gap=1) == [2, 3, 4, 9, 12, 13, 20, 21, 22, 23, 24]


def test_figure_18_largest_fit_takes_the_longest_runs_first():
    """
    6 nodes: the run 20-24 and one more, where a node behind a gap begins no run.

    After 2-4 the list is cleared at 9; 12 begins a new one, and 13. At 20 it is cleared again,
    so the run is 21-24, and 2 of the next round's first run complete the job.
    """
    assert placed("largest-fit", 6, gap=1) == [2, 3, 21, 22, 23, 24]
    assert placed("largest-fit", 6, gap=1, whole_runs=True) == [2, 20, 21, 22, 23, 24]


def test_figure_18_takes_all_when_the_list_is_as_long_as_the_job():
    assert placed("largest-fit", 13, gap=1) == FREE
    assert placed("largest-fit", 14, gap=1) is None


def test_section_5_2_fifofit_is_first_fit_from_one_end_or_the_other():
    """Backwards, the first run of 2 is 41-40, and of 3 it is 24-22."""
    assert placed("fifo-fit", 2, k=4, gap=1) == [40, 41]
    assert placed("fifo-fit", 3, k=4, gap=1) == [22, 23, 24]
    assert placed("fifo-fit", 4, k=4, gap=1) == [20, 21, 22, 23]
    assert placed("fifo-fit", 3, k=2, gap=1) == [2, 3, 4]


def test_figure_21_varying_fit_allows_wider_gaps_to_larger_jobs():
    """ln(2 * 3) is 1.8, so gap 1; ln(2 * 4) is 2.1, so gap 2, which no longer run has here."""
    assert placed("varying-fit", 3) == [2, 3, 4]
    assert placed("varying-fit", 4) == [20, 21, 22, 23]
    assert placed("varying-fit", 6) == placed("first-fit", 6, gap=2)


def test_figure_23_closest_fit_takes_the_window_with_the_least_largest_gap():
    """
    5 nodes are together at 20-24.

    Of the windows of 6, 2-13 has a largest gap of 5 (4 to 9), and the others contain 13 to 20 or
    24 to 40. All windows of 7 contain one of these; the first with a gap of 7 is 2-20.
    """
    assert placed("closest-fit", 5) == [20, 21, 22, 23, 24]
    assert placed("closest-fit", 6) == [2, 3, 4, 9, 12, 13]
    assert placed("closest-fit", 7) == [2, 3, 4, 9, 12, 13, 20]
    assert placed("closest-fit", 1) == [2]


def test_figure_23_stops_at_the_first_window_that_is_close_enough():
    assert placed("closest-fit", 4, gap=5) == [2, 3, 4, 9]
    assert placed("closest-fit", 4, gap=4) == [20, 21, 22, 23]


def test_closest_fit_by_mind_looks_at_all_distances_not_at_the_largest_gap():
    """
    On a line MIND is the mean difference.

    For 7 nodes 9-23 has a sum over pairs of 3+4+11+12+13+14 + 1+8+9+10+11 + 7+8+9+10 + 1+2+3
    + 1+2 + 1 = 140, and 12-24 has 1+8+9+10+11+12 + 7+8+9+10+11 + 20 = 116, which is least.
    """
    assert placed("closest-fit-mind", 7) == [12, 13, 20, 21, 22, 23, 24]


def test_figure_2_mind_is_the_mean_over_pairs():
    """Nodes 0, 1 and 3 of a ring of five: 1, 2 and 2 hops."""
    ring = build_torus((5,), "1 B/s")

    assert average_pairwise_hops(ring, np.array([0, 1, 3])) == pytest.approx(5 / 3)


@pytest.mark.parametrize(
    ("machine", "farthest"),
    [("3D torus", 18), ("best case", 3), ("worst case", 5), ("5D torus", 14)],
)
def test_the_four_machines_have_2816_nodes_and_the_papers_diameter(machine, farthest):
    """Sections 2.5.1, 7.2 and 7.3."""
    fabric = make_topology(MACHINES[machine])
    some = np.arange(0, fabric.n_nodes, fabric.nodes_per_router)

    assert fabric.usable_nodes.size == 2816
    hops = max(int(fabric.hops(np.full(some.size, one), some).max()) for one in some[::7])
    assert hops == farthest


def replayed(fabric, jobs, name, **options):
    """Return the MIND of every job; jobs start in order as soon as enough nodes are free."""
    cluster, allocator = Cluster(fabric), make_allocator(name, options, 1)
    ends, now, minds = [], 0.0, []
    for one in jobs:
        now = max(now, one.submit_s)
        while ends and (ends[0][0] <= now or cluster.n_free < one.n_nodes):
            end_s, number = heapq.heappop(ends)
            now = max(now, end_s)
            cluster.release(number)
        allocation = allocator.allocate(one, cluster)
        cluster.place(allocation)
        heapq.heappush(ends, (now + one.runtime_s, one.id))
        minds.append(average_pairwise_hops(fabric, allocation.nodes()))
    return np.array(minds)


@pytest.mark.parametrize("machine", sampled(MACHINES, {"3D torus", "5D torus"}))
def test_closest_and_largest_fit_place_jobs_closer_than_first_free(machine):
    """Tables 1, 4, 5 and 6 in small: jobs up to 64 nodes, significant by section 6.4's test."""
    jobs = [one for one in hector_like(1200, seed=2, load=0.9).jobs if one.n_nodes <= 64]
    fabric = make_topology(MACHINES[machine])
    reference = replayed(fabric, jobs, "fifo", k=0)

    for name in ("closest-fit", "closest-fit-mind", "largest-fit"):
        found = replayed(fabric, jobs, name)

        assert found.mean() < 0.95 * reference.mean()
        assert ttest_rel(reference, found, alternative="greater").pvalue < 0.01
