"""Nodes go down, are drained or closed for a while, as a simulation second by second has it."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import sampled

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.events import DrawnFailures, FailurePolicy, MachineEvent, MachineEvents
from scheduler.footprint import Footprint, join_masks
from scheduler.job import Job
from scheduler.machine import Window
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from tests.naive.outages import NaiveOutages

TREE = fat_tree_of_radix(4, "1 B/s")  # 16 nodes
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 2, 5, 40]),
        st.integers(1, 60),
        st.integers(1, 16),
        st.sampled_from([0.5, 1, 1, 2]),
    ),
    min_size=1,
    max_size=12,
)
NODES = st.sets(st.integers(0, 15), min_size=1, max_size=6).map(sorted)
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 150), st.sampled_from(["down", "down", "drain", "up", "resume"]), NODES
    ),
    max_size=8,
)
WINDOWS = st.lists(st.tuples(st.integers(0, 100), st.integers(1, 80), NODES), max_size=3)


def rows_of(drawn):
    rows, submit_s = [], 0
    for number, (wait_s, run_s, size, factor) in enumerate(drawn):
        submit_s += wait_s
        rows.append((number, submit_s, run_s, size, max(1, int(run_s * factor))))
    return rows


def footprint(nodes):
    cluster = Cluster(TREE)
    return Footprint(join_masks(cluster.nodes_per_leaf, cluster.geometry.masks(nodes).items()))


def happening(events=(), windows=(), drawn=(), users=(), **policy):
    return MachineEvents(
        [MachineEvent(float(at), action, tuple(nodes)) for at, action, nodes in events],
        [
            Window(float(begin), float(until), footprint(nodes), frozenset(users))
            for begin, until, nodes in windows
        ],
        drawn,
        FailurePolicy(**policy),
    )


def runs_of(rows, events, queue="easy", allocator="first-free", **options):
    """Return all runs as the naive simulation does, and who still waits."""
    jobs = [
        Job(number, float(at_s), size, float(run_s), float(ask_s), user=number % 2)
        for number, at_s, run_s, size, ask_s in rows
    ]
    schedule = simulate(
        jobs,
        Cluster(TREE),
        make_allocator(allocator, {}, 1),
        make_policy(queue, options),
        estimate_s=lambda job: job.requested_s,
        events=events,
    )
    ran = [
        (run.allocation.job.id, run.start_s, run.end_s, run.allocation.nodes().tolist(), failed)
        for runs, failed in ((schedule.records, False), (schedule.failed, True))
        for run in runs
    ]
    found = sorted(ran, key=lambda run: (run[2], run[0]))
    return found, [job.id for job in schedule.unfinished], schedule


@settings(deadline=None, max_examples=150)
@given(drawn=ROWS, events=EVENTS, checkpoint=st.sampled_from([0, 10]))
def test_jobs_of_nodes_that_go_down_run_again_as_second_by_second(drawn, events, checkpoint):
    rows = rows_of(drawn)
    events = sorted(events, key=lambda event: event[0])

    found, waiting, _ = runs_of(
        rows, happening(events, checkpoint_s=float(checkpoint) or inf, delay_s=7.0)
    )

    right = NaiveOutages(rows, 16, events, delay=7, checkpoint=checkpoint)
    assert (found, waiting) == right.run()


@settings(deadline=None, max_examples=150)
@given(drawn=ROWS, windows=WINDOWS, events=EVENTS)
def test_jobs_keep_off_windows_that_they_would_reach(drawn, windows, events):
    rows = rows_of(drawn)
    windows = [(begin, begin + length, nodes) for begin, length, nodes in windows]
    events = sorted(events, key=lambda event: event[0])

    found, waiting, _ = runs_of(rows, happening(events, windows))

    assert (found, waiting) == NaiveOutages(rows, 16, events, windows).run()


every_queue = pytest.mark.parametrize(
    "queue",
    [
        ("fcfs", {}),
        ("easy", {"reservation": "R3"}),
        ("easy", {"reservation": "node-count"}),
        ("easy", {"reservation_depth": 3}),
        ("conservative", {}),
        ("conservative", {"reservation": "node-count"}),
        ("sjf", {}),
        ("multifactor", {"slurm": {"PriorityWeightFairshare": 100}}),
        ("reckless", {}),
    ],
)


@every_queue
@pytest.mark.parametrize(
    "allocator", sampled(["first-free", "jigsaw", "laas", "random"], {"first-free", "jigsaw"})
)
@settings(deadline=None, max_examples=12)
@given(drawn=ROWS, windows=WINDOWS, events=EVENTS)
def test_no_job_runs_where_it_may_not(queue, allocator, drawn, windows, events):
    """Runs never overlap on a node; none begins on a closed node, or reaches a window."""
    rows = rows_of(drawn)
    windows = [(begin, begin + length, nodes) for begin, length, nodes in windows]
    events = sorted(events, key=lambda event: event[0])

    found, waiting, schedule = runs_of(
        rows, happening(events, windows), queue[0], allocator, **queue[1]
    )

    ask_s = {row[0]: row[4] for row in rows}
    assert {run[0] for run in found if not run[4]} | set(waiting) == {row[0] for row in rows}
    for number, start_s, end_s, nodes, _ in found:
        closed = set()
        for at_s, action, which in events:
            if at_s <= start_s:
                closed = closed | set(which) if action in ("down", "drain") else closed
        for begin_s, until_s, which in windows:
            if begin_s < start_s + ask_s[number] and until_s > start_s:
                assert not set(which) & set(nodes)
        for at_s, action, which in events:
            if action == "down" and start_s < at_s < end_s:
                assert not set(which) & set(nodes)
        for other, begin_s, until_s, which, _ in found:
            if other != number and begin_s < end_s and start_s < until_s:
                assert not set(which) & set(nodes)
    assert all(run.end_s > run.start_s for run in schedule.records)


@every_queue
@pytest.mark.parametrize("allocator", ["first-free", "jigsaw"])
@settings(deadline=None, max_examples=12)
@given(drawn=ROWS, windows=WINDOWS)
def test_reserved_nodes_are_the_users_own_and_closed_to_all_others(
    queue, allocator, drawn, windows
):
    """As without the reservation where it is for all users; as maintenance where for none."""
    # none outlives its estimate: such a job is expected to end later at each instant, one of which
    # is the end of a reservation
    rows = [(*row[:4], max(row[2], row[4])) for row in rows_of(drawn)]
    windows = [(begin, begin + length, nodes) for begin, length, nodes in windows]

    def run(events):
        return runs_of(rows, events, queue[0], allocator, **queue[1])[:2]

    later = [(10**6, 10**6 + 1, [0])]  # places are reserved, not counts, in both
    if queue[0] != "multifactor":  # whose order is another one at the end of a reservation
        assert run(happening((), windows + later, users=(0, 1))) == run(happening((), later))
    assert run(happening((), windows, users=(2,))) == run(happening((), windows))


@every_queue
@pytest.mark.parametrize("allocator", ["first-free", "jigsaw"])
@settings(deadline=None, max_examples=12)
@given(drawn=ROWS, windows=WINDOWS)
def test_jobs_of_others_keep_off_reserved_nodes(queue, allocator, drawn, windows):
    rows = rows_of(drawn)
    windows = [(begin, begin + length, nodes) for begin, length, nodes in windows]

    found, _, _ = runs_of(rows, happening((), windows, users=(1,)), queue[0], allocator, **queue[1])

    ask_s = {row[0]: row[4] for row in rows}
    assert {run[0] for run in found} == {row[0] for row in rows}
    for number, start_s, _, nodes, _ in found:
        for begin_s, until_s, which in windows:
            if number % 2 == 0 and begin_s < start_s + ask_s[number] and until_s > start_s:
                assert not set(which) & set(nodes)


def test_failures_by_chance_have_the_mean_times_asked_for():
    """Of 10,000 of each: means within four standard errors of exponential times."""
    drawn = DrawnFailures(range(50), 1000.0, 100.0, 1)
    since = {}
    spans = {"failed": [], "repaired": []}
    while len(spans["failed"]) < 10_000:
        event = drawn.pop()
        spans[event.action].append(event.time_s - since.get(event.nodes, 0.0))
        since[event.nodes] = event.time_s

    for action, mean_s in (("failed", 1000.0), ("repaired", 100.0)):
        found = np.array(spans[action])
        assert found.mean() == pytest.approx(mean_s, abs=4 * mean_s / np.sqrt(found.size))


def test_failures_by_chance_follow_from_the_seed_alone():
    rows = [(number, 0, 50, 4, 50) for number in range(12)]

    def run(seed):
        drawn = DrawnFailures(range(16), 200.0, 30.0, seed)
        return runs_of(rows, happening(drawn=[drawn], delay_s=1.0))[:2]

    assert run(1) == run(1)
    assert run(1) != run(2)
    assert sum(run[4] for run in run(1)[0]) > 0


def test_a_job_that_fails_too_often_has_ended():
    """By hand: node 0 goes down at 10 and 30 and is up at once; the job starts at 0, 11, 31."""
    events = [(10, "down", [0]), (10, "up", [0]), (30, "down", [0]), (30, "up", [0])]
    found, _, schedule = runs_of([(1, 0, 50, 16, 50)], happening(events, delay_s=1.0, most=1))

    assert [run[:3] for run in found if run[4]] == [(1, 0, 10), (1, 11, 30)]
    assert [(own.start_s, own.end_s, own.killed) for own in schedule.records] == [(11, 30, True)]
    assert [run.lost_s for run in schedule.failed] == [10.0, 19.0]


def test_jobs_that_wait_for_nodes_that_stay_down_are_left_over():
    found, waiting, _ = runs_of([(1, 0, 5, 4, 5), (2, 0, 5, 16, 5)], happening([(0, "down", [3])]))

    assert [run[:3] for run in found] == [(1, 0, 5)]
    assert waiting == [2]


@pytest.mark.parametrize("queue", ["easy", "conservative"])
def test_counted_nodes_are_without_those_that_a_drain_keeps(queue):
    """
    By hand, on 16 nodes: of job 1, which ends at 100 s, four are drained; job 2 ends at 200 s.

    Job 3 wants eight nodes, so it waits for job 2; four that are free now are left for job 4 until
    151 s.
    """
    rows = [(1, 0.0, 100.0, 4, 100.0), (2, 0.0, 200.0, 8, 200.0)]
    rows += [(3, 1.0, 10.0, 8, 10.0), (4, 1.0, 150.0, 4, 150.0)]

    found, _, _ = runs_of(
        rows, happening([(0.5, "drain", [0, 1, 2, 3])]), queue, reservation="node-count"
    )

    assert {run[0]: run[1] for run in found} == {1: 0, 2: 0, 3: 200, 4: 1}


@pytest.mark.parametrize("queue", ["conservative", "reckless"])
@pytest.mark.parametrize("allocator", ["lc+s", "jigsaw"])
def test_plans_wait_for_nodes_that_are_down_whatever_links_jobs_have(allocator, queue):
    """Job 1 has links of two leaves until 50 s; job 2 wants 12 nodes, of which 8 are there."""
    rows = [(1, 0.0, 50.0, 4, 50.0), (2, 10.0, 10.0, 12, 10.0)]
    events = [(5.0, "down", range(8, 16)), (100.0, "up", range(8, 16))]

    found, _, _ = runs_of(rows, happening(events), queue, allocator)

    assert {run[0]: run[1] for run in found} == {1: 0, 2: 100}
