"""A job past its expected end is taken to end 60 s from now, at each event anew."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.topology.fattree import build_fat_tree
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.queues.easy import Easy
from scheduler.simulator import simulate
from tests.naive.counting import CountingEasy, expected_end_s

TREE = build_fat_tree((8, 1), (1, 1), (1, 1), "1 B/s")
PODS = build_fat_tree((2, 2, 2), (1, 2, 2), (1, 1, 1), "1 B/s")
POLICIES = ("easy", "conservative", "sjf", "fcfs", "priority", "reckless", "cautious")
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 40.0]),
        st.sampled_from([3.0, 5.0, 8.0, 13.0, 20.0, 200.0]),
        st.integers(1, 8),
        st.sampled_from([0.25, 0.5, 1.0, 3.0]),
    ),
    min_size=1,
    max_size=16,
)
# Number, submission, run time, nodes, estimate: job 1 outlives its estimate by far.
LATE = [
    (1, 0.0, 500.0, 1, 10.0),
    (2, 0.0, 100.0, 6, 100.0),
    (6, 0.0, 80.0, 1, 80.0),
    (3, 1.0, 10.0, 8, 10.0),
    (4, 2.0, 50.0, 7, 50.0),
    (5, 3.0, 20.0, 7, 20.0),
]


def rows_of(drawn):
    rows, submit_s = [], 0.0
    for number, (wait_s, run_s, size, factor) in enumerate(drawn):
        submit_s += wait_s
        rows.append((number, submit_s, run_s, size, run_s * factor))
    return rows


def jobs_of(rows):
    return [Job(number, at_s, size, run_s, wanted) for number, at_s, run_s, size, wanted in rows]


def requested_s(job):
    return job.requested_s


def starts(rows, policy, allocator="random", tree=TREE):
    """Return the start of each job by the event loop."""
    placing = make_allocator(allocator, {}, 1)
    schedule = simulate(jobs_of(rows), Cluster(tree), placing, policy, estimate_s=requested_s)
    return {record.job.id: record.start_s for record in schedule.records}


class Looking:
    """A policy that looks at the expected ends before the one inside decides."""

    def __init__(self, inside, runs):
        self.inside, self.name, self.runs = inside, inside.name, runs
        self.started_s, self.n_overdue = {}, 0

    def __len__(self):
        """Return the number of waiting jobs."""
        return len(self.inside)

    def submit(self, job):
        self.inside.submit(job)

    def select(self, machine):
        now_s = machine.now_s
        right = {
            number: expected_end_s(self.started_s[number], self.runs[number], now_s)
            for number in machine.cluster.running
        }
        assert machine.expected_end_s == right
        assert machine.ends_ascending == sorted((end_s, number) for number, end_s in right.items())
        self.n_overdue += len(machine.overdue)
        self.inside.select(machine)
        for allocation in machine.started:
            self.started_s[allocation.job.id] = now_s


@settings(deadline=None, max_examples=60)
@given(drawn=ROWS, name=st.sampled_from(POLICIES))
def test_every_policy_sees_overdue_jobs_end_a_minute_from_now(drawn, name):
    rows = rows_of(drawn)
    starts(rows, Looking(make_policy(name, {}), {row[0]: row[4] for row in rows}))


@pytest.mark.parametrize("name", POLICIES)
def test_the_machine_of_the_example_has_an_overdue_job(name):
    """Without one the comparison above would say nothing."""
    looking = Looking(make_policy(name, {}), {row[0]: row[4] for row in LATE})
    starts(LATE, looking)
    assert looking.n_overdue


@settings(deadline=None, max_examples=150)
@given(drawn=ROWS, window=st.sampled_from([0, 2, 50]))
def test_easy_is_the_schedule_of_its_definition(drawn, window):
    """Estimates are right, too long or too short."""
    rows = rows_of(drawn)
    right = CountingEasy(rows, 8, window).run()

    assert starts(rows, Easy(window)) == right


@pytest.mark.parametrize("allocator", ["random", "first-free", "jigsaw"])
def test_a_reservation_set_at_80_is_made_anew_at_100(allocator):
    """By hand: at 100 the head is reserved for 160, and job 4 ends at 150."""
    assert starts(LATE, Easy(), allocator) == {1: 0, 2: 0, 6: 0, 4: 100, 5: 150, 3: 500}


def test_bookings_that_wait_for_an_overdue_job_move_at_each_event():
    """
    By hand: job 1 is expected to end at 160 at 100, when job 5 runs until 120, and at 180 then.

    So the 50 s of job 4 fit from 120 on; had the end of 160 stood they would not.
    """
    found = starts(LATE, make_policy("conservative", {}), "first-free")
    assert found == {1: 0, 2: 0, 6: 0, 5: 100, 4: 120, 3: 500}


class Anew(Easy):
    """EASY that makes the head's reservation anew whenever anything has changed."""

    def _need_not_ask(self, *_):
        return False


@pytest.mark.parametrize("allocator", ["jigsaw", "ta", "laas"])
@settings(deadline=None, max_examples=60)
@given(drawn=ROWS, window=st.sampled_from([2, 50]))
def test_reservations_that_are_kept_are_those_made_anew(allocator, drawn, window):
    rows = rows_of(drawn)
    kept = starts(rows, Easy(window), allocator, PODS)
    assert kept == starts(rows, Anew(window), allocator, PODS)


def test_a_reservation_that_waits_for_an_overdue_job_moves_with_it(monkeypatch):
    """Job 1 is overdue from 10 on, and job 3 waits for it."""
    moved, postponed = [], Easy._postponed

    def noted(self, reservation, machine):
        later = postponed(self, reservation, machine)
        moved.append((machine.now_s, later.time_s))
        return later

    monkeypatch.setattr(Easy, "_postponed", noted)
    starts(LATE, Easy(), "jigsaw")
    assert moved
    assert all(time_s == now_s + 60.0 for now_s, time_s in moved)
