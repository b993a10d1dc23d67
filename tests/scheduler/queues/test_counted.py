"""Schedules by numbers of nodes are those of the event loop, to the last bit."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues import make_policy
from scheduler.queues.counted import counted_times
from scheduler.queues.easy import Easy
from scheduler.simulator import simulate

TREE = fat_tree_of_radix(4, "1 B/s")  # 16 nodes
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 0.3, 20.0]),
        st.one_of(st.integers(1, 16), st.integers(1, 4)),
        st.sampled_from([0.0, 0.1, 0.7, 3.0, 10.0, 61.0, 200.0]),
        st.sampled_from([1.0, 1.0, 2.0, 5.0, 0.5, 0.01]),
    ),
    max_size=40,
)


def told(job):
    return job.requested_s


def jobs_of(rows):
    jobs, submit_s = [], 0.0
    for number, (wait, size, run, factor) in enumerate(rows):
        submit_s += wait
        jobs.append(Job(7 * number, submit_s, size, run, run * factor))
    return jobs


def simulated(jobs, policy, *, kill):
    """Return start and end of each job by the event loop."""
    allocator = make_allocator("random", {}, 1)
    records = simulate(
        jobs, Cluster(TREE), allocator, policy, estimate_s=told, kill_at_limit=kill
    ).records
    by_id = {record.job.id: record for record in records}
    return [(by_id[job.id].start_s, by_id[job.id].end_s) for job in jobs]


def machine(allocator="random"):
    return Machine(Cluster(TREE), make_allocator(allocator, {}, 1), told)


def assert_same(jobs, options, *, kill):
    times = counted_times(jobs, machine(), Easy(**options), kill_at_limit=kill)

    found = list(zip(times.start_s.tolist(), times.end_s.tolist(), strict=True))
    assert found == simulated(jobs, Easy(**options), kill=kill)


@settings(deadline=None, max_examples=150)
@given(rows=ROWS, kill=st.booleans(), window=st.sampled_from([0, 1, 3, 50]))
def test_counted_times_are_those_of_the_event_loop(rows, kill, window):
    """Estimates are right, too long or too short; instants coincide; jobs may take no time."""
    assert_same(jobs_of(rows), {"window": window}, kill=kill)


@pytest.mark.parametrize("reservation", ["R2", "node-count"])
def test_a_long_queue_is_counted_as_the_event_loop_does(reservation):
    for seed in range(4):
        rng = random.Random(seed)  # noqa: S311 (jobs of a test, not secrets)
        factors = rng.choice([[1.0], [1.0, 2.0, 9.0], [0.3, 1.0, 3.0]])
        rows = [
            (rng.expovariate(0.05), rng.randint(1, 8), rng.expovariate(0.01), rng.choice(factors))
            for _ in range(400)
        ]
        assert_same(jobs_of(rows), {"window": 10, "reservation": reservation}, kill=False)


def test_a_wide_job_at_the_head_lets_a_short_one_pass_and_holds_a_long_one_up():
    """By hand: 12 of 16 nodes run until 10; the head wants 16; of 4 nodes left, 4 for 10 s fit."""
    rows = [(0.0, 12, 10.0, 1.0), (0.0, 16, 5.0, 1.0), (0.0, 2, 11.0, 1.0), (0.0, 4, 10.0, 1.0)]
    times = counted_times(jobs_of(rows), machine(), Easy())

    assert times.start_s.tolist() == [0.0, 10.0, 15.0, 0.0]
    assert times.end_s.tolist() == [10.0, 15.0, 26.0, 10.0]


@pytest.mark.parametrize(
    ("policy", "allocator"),
    [
        (Easy(), "jigsaw"),
        (Easy(), "contiguous"),
        (Easy(reservation="R3"), "random"),
        (make_policy("sjf", {}), "random"),
        (make_policy("easy", {"switches": "1@5"}), "random"),
        (make_policy("conservative", {}), "random"),
    ],
)
def test_where_more_than_nodes_counts_nothing_is_said(policy, allocator):
    assert counted_times(jobs_of([(0.0, 1, 1.0, 1.0)]), machine(allocator), policy) is None


def test_of_a_job_larger_than_the_machine_nothing_is_said():
    assert counted_times([Job(1, 0.0, 17, 1.0, 1.0)], machine(), Easy()) is None
