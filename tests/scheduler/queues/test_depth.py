"""Several reservations: Flux's published case, and schedules counted second by second."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from tests.naive.backfilling import NaivePlan
from tests.naive.counting import CountingReservations

TREE = fat_tree_of_radix(4, "1 B/s")
CORES = build_fat_tree((16, 1), (1, 1), (1, 1), "1 B/s")
MINUTE_S = 60.0
# nodes and minutes of the eleven jobs of flux-sched t/t1003-qmanager-policy.t, all at second 0
FLUX = [
    *((8, 60), (10, 60), (12, 60), (14, 60), (16, 60), (6, 121), (4, 179), (4, 239)),
    *((2, 239), (2, 299), (2, 59)),
]


def starts(jobs, name, options, fabric=TREE, allocator="first-free"):
    done = simulate(
        jobs,
        Cluster(fabric),
        make_allocator(allocator, {}, 1),
        make_policy(name, options),
        estimate_s=lambda job: job.requested_s,
    )
    return {record.job.id: record.start_s for record in done.records}


@pytest.mark.parametrize(
    ("queue", "sizes", "cancelled", "at_once", "then"),
    [
        (("easy", {}), FLUX, 6, {1, 6, 11}, {7, 9}),
        (("easy", {"reservation_depth": 3}), FLUX, 7, {1, 7, 11}, {9}),
        (("easy", {"reservation_depth": 3, "reservation": "R3"}), FLUX, 7, {1, 7, 11}, {9}),
        (
            ("conservative", {"reservation": "node-count"}),
            [*FLUX[:3], FLUX[4], FLUX[3], *FLUX[5:]],
            7,
            {1, 7, 11},
            set(),
        ),
    ],
)
def test_jobs_of_flux_start_as_its_own_test_says(queue, sizes, cancelled, at_once, then):
    """One job is cancelled after a second; those that Flux starts then are named by the test."""
    jobs = [
        Job(n, 0.0, size, 1.0 if n == cancelled else minutes * MINUTE_S, minutes * MINUTE_S)
        for n, (size, minutes) in enumerate(sizes, start=1)
    ]

    found = starts(jobs, *queue, CORES)

    assert {job for job, start_s in found.items() if start_s == 0} == at_once
    assert {job for job, start_s in found.items() if start_s == 1} == then


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 2, 5, 40]),
        st.integers(1, 30),
        st.integers(1, 16),
        st.sampled_from([0.5, 1, 1, 2]),
    ),
    min_size=1,
    max_size=16,
)


def rows_of(drawn):
    rows, submit_s = [], 0.0
    for number, (wait_s, run_s, size, factor) in enumerate(drawn):
        submit_s += wait_s
        rows.append((number, submit_s, float(run_s), size, float(max(1, int(run_s * factor)))))
    return rows


def jobs_of(rows):
    return [Job(number, at_s, size, run_s, ask_s) for number, at_s, run_s, size, ask_s in rows]


@settings(deadline=None, max_examples=120)
@given(drawn=ROWS, depth=st.sampled_from([2, 3, 5, "all"]), window=st.sampled_from([2, 50]))
def test_reservations_of_nodes_are_those_counted_second_by_second(drawn, depth, window):
    rows = rows_of(drawn)
    options = {"reservation_depth": depth, "window": window}
    right = CountingReservations(rows, 16, window, depth=inf if depth == "all" else depth).run()

    assert starts(jobs_of(rows), "easy", options) == right


@settings(deadline=None, max_examples=60)
@given(drawn=ROWS, window=st.sampled_from([2, 50]))
def test_conservative_by_node_counts_is_the_schedule_of_its_definition(drawn, window):
    rows = rows_of(drawn)
    options = {"reservation": "node-count", "window": window}

    assert starts(jobs_of(rows), "conservative", options) == (
        CountingReservations(rows, 16, window, depth=inf).run()
    )


@pytest.mark.parametrize("key", ["size", "requested"])
@settings(deadline=None, max_examples=40)
@given(drawn=ROWS)
def test_other_orders_hold_several_reservations_too(key, drawn):
    rows = rows_of(drawn)
    by = {"size": lambda row: (-row[3], row[0]), "requested": lambda row: (row[4], row[0])}[key]

    found = starts(jobs_of(rows), "priority", {"key": key, "reservation_depth": 3})

    assert found == CountingReservations(rows, 16, 50, by, depth=3).run()


@settings(deadline=None, max_examples=60)
@given(drawn=ROWS)
def test_one_reservation_of_several_would_be_easy(drawn):
    """The textbook's rule: no long job takes more than the head leaves at its time."""
    rows = rows_of(drawn)

    assert starts(jobs_of(rows), "easy", {}) == CountingReservations(rows, 16, 50, depth=1).run()


@settings(deadline=None, max_examples=60)
@given(drawn=ROWS, name=st.sampled_from(["easy", "sjf", "priority"]))
def test_without_reservations_no_job_overtakes(drawn, name):
    """On equal keys the order is that of submission: FCFS."""
    jobs = [
        Job(own.id, own.submit_s, own.n_nodes, own.runtime_s, 7.0)
        for own in jobs_of(rows_of(drawn))
    ]

    assert starts(jobs, name, {"reservation_depth": 0}) == starts(jobs, "fcfs", {})


class NaivePlaced:
    """The first `depth` jobs that cannot start hold places; each is looked for at every instant."""

    name = "naive-placed"

    def __init__(self, depth):
        self.waiting, self.depth = [], depth

    def __len__(self):
        """Return the number of waiting jobs."""
        return len(self.waiting)

    def submit(self, job):
        self.waiting.append(job)

    def select(self, machine):
        while self.waiting and (found := machine.try_to_place(self.waiting[0])):
            machine.start(found)
            self.waiting.pop(0)
        plan = NaivePlan()
        for job in self.waiting[:51]:
            booking = plan.earliest(job, machine)
            if booking.start_s <= machine.now_s and machine.cluster.fits(booking.placement):
                machine.start(booking.placement)
                self.waiting.remove(job)
            elif len(plan.bookings) < self.depth:
                plan.bookings[job.id] = booking


@pytest.mark.parametrize("allocator", ["jigsaw", "laas", "ta", "lc+s", "contiguous"])
@settings(deadline=None, max_examples=20)
@given(drawn=ROWS)
def test_reservations_with_places_are_those_of_the_naive_policy(allocator, drawn):
    jobs = jobs_of(rows_of(drawn))

    found = starts(jobs, "easy", {"reservation_depth": 3}, allocator=allocator)

    naive = simulate(
        jobs,
        Cluster(TREE),
        make_allocator(allocator, {}, 1),
        NaivePlaced(3),
        estimate_s=lambda job: job.requested_s,
    )
    assert found == {record.job.id: record.start_s for record in naive.records}


@pytest.mark.parametrize("depth", [-1, 1.5, "some"])
def test_a_depth_is_a_number_or_all(depth):
    with pytest.raises(PolicyError, match="reservation_depth"):
        make_policy("easy", {"reservation_depth": depth})
