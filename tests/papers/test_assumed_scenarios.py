"""Pollard18 (V-C, V-D) and Smith21 (6.3): makespan when isolated jobs are assumed to be faster."""

from dataclasses import replace

import pytest

from coupling.rates.baseline_rates import assumed_interference
from netsim.baselines.assumed import Assumption
from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from scheduler.workload import synth


@pytest.fixture(scope="module")
def ratio():
    """Return a function: makespan / Baseline makespan on the first 400 jobs of Synth-16."""
    tree = fat_tree_of_radix(16, "1 B/s")
    logged = synth(16, n_jobs=400).jobs

    def makespan(allocator, jobs):
        schedule = simulate(
            jobs, Cluster(tree), make_allocator(allocator, {}, 1), make_policy("easy", {})
        )
        return max(record.end_s for record in schedule.records)

    baseline = makespan("first-free", logged)

    def measure(allocator, scenario=None):
        jobs = logged
        if scenario is not None:
            loss = assumed_interference(Assumption(scenario), logged, 1)
            jobs = [replace(job, runtime_s=job.runtime_s / loss[job.id]) for job in jobs]
        return makespan(allocator, jobs) / baseline

    return measure


def test_isolation_without_speed_up_lengthens_the_makespan_and_speed_ups_win_it_back(ratio):
    """Smith21, Figure 8: Jigsaw above Baseline alone, below it with 10 %, further with 20 %."""
    alone, ten, twenty = ratio("jigsaw"), ratio("jigsaw", "10%"), ratio("jigsaw", "20%")

    assert alone > 1.0 > ten > twenty


def test_ta_is_worse_than_baseline_except_at_twenty_per_cent(ratio):
    """Smith21, section 6.3, and worse than Jigsaw under the same assumption."""
    assert ratio("ta", "5%") > 1.0 > ratio("ta", "20%")
    assert ratio("ta", "10%") > ratio("jigsaw", "10%")
