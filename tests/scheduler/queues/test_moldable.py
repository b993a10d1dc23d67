"""Moldable jobs start at the sizes of naive schedulers, and of schedules worked out by hand."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocation import NodeUnits
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError, WorkloadError
from scheduler.events import FailurePolicy, MachineEvent, MachineEvents
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from tests.naive.molding import (
    CountingMolding,
    NaiveMoldingConservative,
    NaiveMoldingEasy,
    NaiveMoldingPlaced,
)

TREE = fat_tree_of_radix(4, "1 B/s")  # 16 nodes


def played(jobs, queue="easy", allocator="first-free", events=None, cluster=None, **options):
    """Return the schedule under a queue policy, by name or as an object."""
    return simulate(
        jobs,
        cluster or Cluster(TREE),
        make_allocator(allocator, {}, 1),
        make_policy(queue, options) if isinstance(queue, str) else queue,
        estimate_s=lambda job: job.requested_s,
        events=events,
    )


def starts(jobs, *args, **kwargs):
    """Return start and nodes of each job."""
    records = played(jobs, *args, **kwargs).records
    return {own.job.id: (own.start_s, own.job.n_nodes) for own in records}


def places(jobs, *args, **kwargs):
    """Return start, nodes and links of each job."""
    return {
        own.job.id: (own.start_s, own.allocation.nodes().tolist(), own.allocation.l2s)
        for own in played(jobs, *args, **kwargs).records
    }


SIZES = st.lists(
    st.tuples(st.integers(1, 16), st.integers(1, 15).map(lambda half: 2 * half)),
    min_size=1,
    max_size=4,
    unique_by=lambda size: size[0],
)
ROWS = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 2, 5, 40]), SIZES, st.sampled_from([0.5, 1, 1, 2])),
    min_size=1,
    max_size=14,
)


def rows_of(drawn):
    """Return jobs as the naive simulation takes them; `factor`: requested / run time."""
    rows, at = [], 0
    for number, (wait, sizes, factor) in enumerate(drawn):
        at += wait
        rows.append((number, at, tuple((n, run, int(run * factor)) for n, run in sizes)))
    return rows


def jobs_of(rows):
    jobs = []
    for number, at, sizes in rows:
        n_nodes, run, asked = sizes[0]
        pairs = tuple((n, float(own)) for n, own, _ in sizes)
        own = Job(number, float(at), n_nodes, float(run), float(asked))
        jobs.append(own if len(sizes) == 1 else replace(own, sizes=pairs))
    return jobs


@settings(deadline=None, max_examples=80)
@given(drawn=ROWS, window=st.sampled_from([1, 50]), depth=st.sampled_from([0, 1, 2, 3, "all"]))
def test_sizes_and_starts_are_those_counted_second_by_second(drawn, window, depth):
    rows = rows_of(drawn)
    right = CountingMolding(rows, 16, window, inf if depth == "all" else depth).run()

    assert starts(jobs_of(rows), reservation_depth=depth, window=window) == right


@settings(deadline=None, max_examples=40)
@given(drawn=ROWS)
def test_conservative_by_node_counts_chooses_sizes_beside_all_reservations(drawn):
    rows = rows_of(drawn)

    assert starts(jobs_of(rows), "conservative", reservation="node-count") == (
        CountingMolding(rows, 16, 50, inf).run()
    )


@settings(deadline=None, max_examples=40)
@given(drawn=ROWS)
def test_fcfs_chooses_the_size_that_ends_first_beside_running_jobs(drawn):
    rows = rows_of(drawn)

    assert starts(jobs_of(rows), "fcfs") == CountingMolding(rows, 16, 0, 0).run()


@settings(deadline=None, max_examples=30)
@given(drawn=ROWS)
def test_the_queue_of_one_partition_chooses_the_same_sizes(drawn):
    jobs = jobs_of(rows_of(drawn))

    assert starts(jobs, "partitions") == starts(jobs, "easy")


ALLOCATORS = ["jigsaw", "laas", "ta", "first-free", "contiguous"]


@pytest.mark.parametrize("allocator", ALLOCATORS)
@settings(deadline=None, max_examples=20)
@given(drawn=ROWS)
def test_easy_chooses_sizes_and_places_as_the_naive_policy_does(allocator, drawn):
    jobs = jobs_of(rows_of(drawn))

    assert places(jobs, "easy", allocator) == places(jobs, NaiveMoldingEasy(), allocator)


@pytest.mark.parametrize("allocator", [*ALLOCATORS, "lc+s"])
@settings(deadline=None, max_examples=15)
@given(drawn=ROWS)
def test_conservative_books_sizes_and_places_as_the_naive_policy_does(allocator, drawn):
    jobs = jobs_of(rows_of(drawn))
    found = places(jobs, "conservative", allocator)

    assert found == places(jobs, NaiveMoldingConservative(), allocator)


@pytest.mark.parametrize("allocator", ["jigsaw", "laas", "ta", "contiguous"])
@settings(deadline=None, max_examples=15)
@given(drawn=ROWS)
def test_several_reservations_with_places_choose_the_sizes_of_the_naive_policy(allocator, drawn):
    jobs = jobs_of(rows_of(drawn))
    found = starts(jobs, "easy", allocator, reservation_depth=3)

    assert found == starts(jobs, NaiveMoldingPlaced(3), allocator)


def moldable(number, submit_s, *sizes, factor=1.0, **fields):
    """Return a job that asks for the first of its sizes."""
    n_nodes, run_s = sizes[0]
    own = Job(number, submit_s, n_nodes, run_s, run_s * factor, **fields)
    return replace(own, sizes=tuple(sizes))


# 12 of 16 nodes are taken until 30
HELD = Job(0, 0.0, 12, 30.0, 30.0)


@pytest.mark.parametrize(
    "queue", ["fcfs", "easy", "conservative", "sjf", "priority", "multifactor"]
)
@pytest.mark.parametrize(
    ("wide_s", "expected"),
    [(69.0, (30.0, 16)), (70.0, (0.0, 4)), (71.0, (0.0, 4))],
)
def test_a_job_waits_for_more_nodes_where_it_ends_sooner_with_them(queue, wide_s, expected):
    """Of equal ends the one that begins first counts."""
    job = moldable(1, 0.0, (4, 100.0), (16, wide_s))

    assert starts([HELD, job], queue)[1] == expected


def test_of_sizes_that_begin_and_end_together_the_smallest_is_taken():
    assert starts([moldable(1, 0.0, (8, 10.0), (4, 10.0), (12, 10.0))]) == {1: (0.0, 4)}


def test_a_job_that_overtakes_takes_the_shortest_size_that_delays_no_reservation():
    """Job 1 wants all nodes at 30: of job 2 neither 4 nodes to 35 nor 8 fit; 2 nodes to 30 do."""
    whole = Job(1, 0.0, 16, 10.0, 10.0)
    job = moldable(2, 0.0, (8, 5.0), (4, 35.0), (3, 31.0), (2, 30.0))

    assert starts([HELD, whole, job]) == {0: (0.0, 12), 1: (30.0, 16), 2: (0.0, 2)}


def test_the_requested_time_keeps_its_ratio_to_the_run_time():
    """Asked for twice its run time, it is expected at 200 on 4 nodes, at 30 + 160 on 16."""
    job = moldable(1, 0.0, (4, 100.0), (16, 80.0), factor=2.0)

    record = played([HELD, job]).records[-1]

    assert (record.job.n_nodes, record.start_s, record.job.requested_s) == (16, 30.0, 160.0)


def test_a_job_that_depends_on_another_chooses_when_that_has_ended():
    """At 30 all 16 nodes are free."""
    job = moldable(1, 0.0, (4, 100.0), (16, 99.0), after_ok=(0,))

    assert starts([HELD, job])[1] == (30.0, 16)


@pytest.mark.parametrize(
    ("checkpoint_s", "kept_s", "end_s"), [(inf, 0.0, 120.0), (25.0, 0.0, 120.0), (10.0, 20.0, 88.0)]
)
def test_a_job_that_runs_again_chooses_anew_and_keeps_its_part_of_the_work(
    checkpoint_s, kept_s, end_s
):
    """
    On 16 nodes it takes 50 s; at 20 one of them fails. From 40 on 8 nodes do what is left.

    That is all of their 80 s, or with a checkpoint at 20 of 50 s three fifths.
    """
    job = moldable(1, 0.0, (8, 80.0), (16, 50.0))
    policy = FailurePolicy(requeue=True, delay_s=20.0, checkpoint_s=checkpoint_s)
    events = MachineEvents([MachineEvent(20.0, "down", (3,))], (), (), policy)

    done = played([job], events=events)

    assert [own.allocation.job.n_nodes for own in done.failed] == [16]
    assert done.failed[0].lost_s == 20.0 - kept_s
    assert (done.records[0].start_s, done.records[0].job.n_nodes) == (40.0, 8)
    assert done.records[0].end_s == pytest.approx(end_s)


def test_partitions_hold_sizes_within_their_nodes():
    """Eight nodes are the partition's: 8 nodes end first."""
    own = {"half": {"nodes": "n[0-7]", "Default": True}, "rest": {"nodes": "n[8-15]"}}
    job = moldable(1, 0.0, (4, 100.0), (8, 60.0))

    assert starts([job], "partitions", partitions=own) == {1: (0.0, 8)}


BAD = {
    "size 0": (((8, 60.0), (0, 9.0)), "job 1: sizes: nodes: expected a whole number from 1, got 0"),
    "a size twice": (((8, 60.0), (8, 9.0)), "expected each size once, got 8 nodes twice"),
    "no run time": (((8, 60.0), (4,)), r"sizes: expected pairs of nodes and seconds, got \(4,\)"),
    "run time 0": (((8, 60.0), (4, 0.0)), "run time on 4 nodes: expected a positive number"),
    "too large": (((8, 60.0), (32, 9.0)), "expected at most the 16 nodes of the machine, got 32"),
    "another first": (((4, 60.0), (8, 9.0)), r"what the job asks for first \(8 nodes, 60 s\)"),
}


@pytest.mark.parametrize(("sizes", "message"), BAD.values(), ids=BAD)
def test_sizes_that_cannot_be_are_refused(sizes, message):
    with pytest.raises(WorkloadError, match=message):
        played([Job(1, 0.0, 8, 60.0, 60.0, sizes=sizes)])


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"queue": "cautious"}, "queue policy 'cautious': job 1: expected jobs of one size"),
        ({"queue": "reckless"}, "queue policy 'reckless': job 1: expected jobs of one size"),
        ({"limits": {"MaxJobsPerUser": 1}}, "limits of users: job 1: expected jobs of one size"),
        ({"cluster": Cluster(TREE, NodeUnits(8))}, "where jobs share nodes: job 1"),
        (
            {"queue": "partitions", "partitions": {"a": {"Default": True, "MaxNodes": 8}}},
            "job 1: expected no more than MaxNodes = 8 of partition 'a', got 12 nodes",
        ),
        (
            {"queue": "partitions", "partitions": {"a": {"nodes": "n[0-7]", "Default": True}}},
            "job 1: expected no more than the 8 nodes of partition 'a', got 12 nodes",
        ),
    ],
)
def test_what_knows_one_size_only_refuses_moldable_jobs(kwargs, message):
    with pytest.raises(PolicyError, match=message):
        played([moldable(1, 0.0, (4, 60.0), (12, 30.0))], **kwargs)


class Widest:
    """A policy of a user's own, which takes the largest size that fits."""

    name = "widest"

    def __init__(self):
        self.waiting = []

    def __len__(self):
        """Return the number of waiting jobs."""
        return len(self.waiting)

    def submit(self, job):
        self.waiting.append(job)

    def select(self, machine):
        for job in self.waiting[:]:
            for size in sorted(machine.each_size(job), key=lambda own: -own.n_nodes):
                found = machine.try_to_place(size)
                if found is not None:
                    machine.start(found)
                    self.waiting.remove(job)
                    break


def test_a_policy_of_ones_own_may_choose_another_size():
    job = moldable(1, 0.0, (1, 10.0), (2, 20.0), (4, 40.0), (16, 1.0))

    assert starts([HELD, job], Widest())[1] == (0.0, 4)
