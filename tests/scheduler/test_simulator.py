"""The event loop: progress, order of events, limits."""

from dataclasses import replace

import pytest

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocation import Allocation, lowest_bits
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError, PolicyError, SchedulerError
from scheduler.job import Job
from scheduler.observer import Observer
from scheduler.queues.easy import Easy, Fcfs
from scheduler.rates import JobRate, JobRates
from scheduler.simulator import simulate


class LowestNodes:
    """First free nodes, written for these tests."""

    name, isolating, monotone_in_size, monotone_in_free = "lowest", False, True, True

    def allocate(self, job, cluster):
        if job.n_nodes > cluster.n_free:
            return None
        leaves, left = [], job.n_nodes
        for leaf, free in enumerate(cluster.leaf_free):
            take = min(left, free.bit_count())
            if take:
                leaves.append((leaf, lowest_bits(free, take), 0))
                left -= take
        return Allocation(job, cluster.geometry, tuple(leaves))


class HalfSpeedTogether:
    """Jobs that run together interfere by a factor 2."""

    def __init__(self):
        self.present = []

    def change(self, ended, started, now_s):
        del now_s
        gone = {allocation.job.id for allocation in ended}
        self.present = [job for job in self.present if job not in gone]
        self.present += [allocation.job.id for allocation in started]
        return dict.fromkeys(self.present, JobRate(2.0 if len(self.present) > 1 else 1.0))


def job(number, submit_s=0.0, n_nodes=1, runtime_s=10.0, requested_s=None):
    return Job(number, submit_s, n_nodes, runtime_s, requested_s or runtime_s)


def run(jobs, policy=None, **options):
    cluster = Cluster(fat_tree_of_radix(4, 1e9))
    policy = Easy() if policy is None else policy  # an empty queue is falsy
    schedule = simulate(jobs, cluster, LowestNodes(), policy, **options)
    assert cluster.n_free == cluster.n_nodes
    return {record.job.id: record for record in schedule.records}


def test_two_equal_jobs_at_half_speed_while_together_end_at_15_and_20_seconds():
    """The second starts at 5 s: 5 s alone, 10 s at half speed, then 5 s alone for the other."""
    records = run([job(1), job(2, submit_s=5.0)], rates=HalfSpeedTogether())

    assert (records[1].end_s, records[2].end_s) == (15.0, 20.0)
    assert (records[1].interference_delay_s, records[2].interference_delay_s) == (5.0, 5.0)
    assert (records[1].interference, records[2].interference) == (1.5, 1.5)


def test_interference_is_exactly_one_for_a_job_that_shares_no_link():
    """No rounding: 0.1 + 0.2 s arithmetic must not show."""
    records = run([job(1, submit_s=0.1, runtime_s=0.2)], rates=HalfSpeedTogether())

    assert records[1].interference == 1.0


def test_placement_factor_stretches_the_run():
    """A job on a bad placement takes runtime x placement factor and loses nothing to others."""

    class Bad:
        def change(self, ended, started, now_s):
            del ended, now_s
            return {allocation.job.id: JobRate(1.0, 1.5) for allocation in started}

    records = run([job(1)], rates=Bad())

    assert (records[1].end_s, records[1].interference_delay_s, records[1].interference) == (
        15.0,
        0.0,
        1.0,
    )


def test_easy_lets_a_short_job_overtake_but_never_delays_the_head():
    """16 nodes: 12 busy until 10; head of 16 waits for 10; a 4-node job fits before, not after."""
    jobs = [
        job(1, n_nodes=12),
        job(2, n_nodes=16),
        job(3, n_nodes=4, runtime_s=11.0),
        job(4, n_nodes=4, runtime_s=10.0),
    ]

    starts = {number: record.start_s for number, record in run(jobs).items()}

    assert starts == {1: 0.0, 4: 0.0, 2: 10.0, 3: 20.0}


def test_easy_lets_a_long_job_use_nodes_that_the_head_will_not_need():
    """The head needs 14 of 16 nodes at 10 s: a 2-node job may run past that time."""
    jobs = [job(1, n_nodes=12), job(2, n_nodes=14), job(3, n_nodes=2, runtime_s=99.0)]

    starts = {number: record.start_s for number, record in run(jobs).items()}

    assert starts == {1: 0.0, 3: 0.0, 2: 10.0}


def test_reservation_is_made_anew_when_a_job_ends_earlier_than_announced():
    """Job 1 asked for 100 s and ran 10 s: the head starts at 10 s."""
    jobs = [
        job(1, n_nodes=12, requested_s=100.0),
        job(2, n_nodes=16),
        job(3, n_nodes=4, runtime_s=5.0, requested_s=90.0),
    ]

    starts = {
        number: record.start_s
        for number, record in run(jobs, estimate_s=lambda j: j.requested_s).items()
    }

    assert starts == {1: 0.0, 3: 0.0, 2: 10.0}


def test_head_starts_when_a_job_outlives_its_estimate():
    """Job 1 asked for 5 s and runs 10: at 6 s it is expected at 66 s, and job 3 may backfill."""
    jobs = [job(1, n_nodes=12, requested_s=5.0), job(2, n_nodes=16), job(3, 6.0, 4, 20.0, 20.0)]

    starts = {
        number: record.start_s
        for number, record in run(jobs, estimate_s=lambda j: j.requested_s).items()
    }

    assert starts == {1: 0.0, 3: 6.0, 2: 26.0}


def test_limit_kills_only_jobs_whose_work_is_not_done():
    """Requested 6 of 10 s: killed at 6; requested exactly the run time: not killed."""
    records = run([job(1, requested_s=6.0), job(2, runtime_s=0.3)], kill_at_limit=True)

    assert (records[1].end_s, records[1].killed) == (6.0, True)
    assert (records[2].end_s, records[2].killed) == (0.3, False)


def test_under_fcfs_no_job_overtakes():
    """The short job behind the blocked head waits."""
    jobs = [job(1, n_nodes=12), job(2, n_nodes=16), job(3, n_nodes=4, runtime_s=1.0)]

    starts = {number: record.start_s for number, record in run(jobs, Fcfs()).items()}

    assert starts == {1: 0.0, 2: 10.0, 3: 20.0}


def test_queue_that_never_starts_anything_is_an_error():
    """A policy that leaves jobs waiting on an empty machine is told so."""

    class Idle(Fcfs):
        def select(self, machine):
            pass

    with pytest.raises(PolicyError, match="1 jobs wait on an empty machine"):
        run([job(1)], Idle())


@pytest.mark.parametrize(
    ("numbers", "named"), [([2], "job 2: "), ([2, 3], "job 2 and 1 more: ")], ids=str
)
def test_a_policy_that_forgets_a_job_is_named_with_the_job(numbers, named):
    class Forgetful(Fcfs):
        name = "forgetful"

        def submit(self, job):
            if job.id not in numbers:
                super().submit(job)

    with pytest.raises(PolicyError, match=f"^queue policy 'forgetful': {named}submitted, but"):
        run([job(1), job(2), job(3)], Forgetful())


def _twice(policy, machine):
    placement = machine.try_to_place(policy.job)
    machine.start(placement)
    machine.start(placement)


def _of_no_queue(policy, machine):
    machine.start(machine.try_to_place(replace(policy.job, id=9)))


def _nothing(policy, machine):
    machine.try_to_place(policy.job)
    machine.start(None)


def _typing_error(policy, machine):
    machine.place(policy.job)


FAULTS = {
    "at 0 s, job 1: job 1 was given nodes or links that are taken, or runs already.": _twice,
    "job 9 is started at 0 s, but does not wait.": _of_no_queue,
    "at 0 s, job 1: start: expected an Allocation, got None.": _nothing,
    "at 0 s: AttributeError: 'Machine' object has no attribute 'place'.": _typing_error,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_policy_names_it_and_the_job(fault):
    class Own(Fcfs):
        name = "own"

        def submit(self, job):
            self.job = job

        def select(self, machine):
            FAULTS[fault](self, machine)

    with pytest.raises(PolicyError) as error:
        run([job(1)], Own())

    assert str(error.value) == f"queue policy 'own': {fault}"


def _fails(*_):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("method", "returned", "fault"),
    [
        ("submit", _fails, "job 1 is submitted: ZeroDivisionError."),
        ("__len__", lambda *_: -1, "ValueError: __len__() should return >= 0."),
    ],
)
def test_a_fault_at_the_submission_and_in_the_length_names_the_policy(method, returned, fault):
    own = type("Own", (Fcfs,), {"name": "own", method: returned})()

    with pytest.raises(PolicyError) as error:
        run([job(1)], own)

    assert str(error.value) == f"queue policy 'own': {fault}"


@pytest.mark.parametrize(
    ("allocate", "fault"),
    [
        (_fails, "ZeroDivisionError."),
        (lambda *_: [0], "expected an Allocation or None, got [0]."),
    ],
)
def test_a_fault_of_an_allocator_names_it_and_the_job(allocate, fault):
    own = type("Own", (LowestNodes,), {"name": "own", "allocate": allocate})()

    with pytest.raises(AllocationError) as error:
        simulate([job(1)], Cluster(fat_tree_of_radix(4, 1e9)), own, Fcfs())

    assert str(error.value) == f"allocator 'own': job 1 of 1 nodes: {fault}"


def test_timeline_counts_running_waiting_and_busy():
    """One line for each instant."""
    cluster = Cluster(fat_tree_of_radix(4, 1e9))
    jobs = [job(1, n_nodes=16), job(2, n_nodes=3)]

    line = simulate(jobs, cluster, LowestNodes(), Fcfs()).timeline

    assert line.time_s == [0.0, 10.0, 20.0]
    assert (line.running, line.queued, line.busy_nodes) == ([1, 1, 0], [1, 0, 0], [16, 3, 0])
    assert line.interference == [1.0, 1.0, 1.0]


class Diary(Observer):
    """An observer that writes everything down."""

    def __init__(self):
        self.lines = []

    def on_submit(self, jobs, now_s):
        self.lines.append((now_s, "submitted", [each.id for each in jobs]))

    def on_decide(self, now_s):
        self.lines.append((now_s, "deciding"))

    def on_decided(self, now_s):
        self.lines.append((now_s, "decided"))

    def on_wait(self, news, rest, now_s):
        self.lines.append((now_s, {number: each.reason for number, each in news.items()}))
        del rest

    def on_change(self, ended, started, job_rates, now_s):
        who = [[each.job.id for each in some] for some in (ended, started)]
        slow = {job: job_rate.network_slowdown for job, job_rate in job_rates.items()}
        self.lines.append((now_s, *who, slow))

    def on_instant(self, n_ended, now_s):
        self.lines.append((now_s, n_ended))


def test_an_observer_hears_of_every_instant_in_order_and_changes_nothing():
    """Job 1 runs from 0 to 10 s; job 2 comes at 4 s and wants the whole machine until 15 s."""
    jobs = [job(1), job(2, 4.0, 16, 5.0)]
    diary = Diary()

    watched = run(jobs, observers=[Observer(), diary])
    times = [(number, each.start_s, each.end_s) for number, each in watched.items()]

    around = ["deciding", "decided"]
    assert diary.lines == [
        (0.0, "submitted", [1]),
        *((0.0, word) for word in around),
        (0.0, {}),
        (0.0, [], [1], {1: 1.0}),
        (0.0, 0),
        (4.0, "submitted", [2]),
        *((4.0, word) for word in around),
        (4.0, {2: "nodes"}),
        (4.0, 0),
        *((10.0, word) for word in around),
        (10.0, {}),
        (10.0, [1], [2], {2: 1.0}),
        (10.0, 1),
        *((15.0, word) for word in around),
        (15.0, {}),
        (15.0, [2], [], {}),
        (15.0, 2),
    ]
    assert times == [(k, each.start_s, each.end_s) for k, each in run(jobs).items()]


class Forgetful:
    """A rate model that gives nobody a rate."""

    def change(self, ended, started, now_s):
        del ended, started, now_s
        return {}


def test_a_job_that_is_given_no_rate_ends_the_simulation_with_an_error():
    with pytest.raises(SchedulerError, match="job 1 starts and is given no rate"):
        run([job(1)], rates=Forgetful())


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf"), "2"])
def test_rates_in_columns_are_positive_numbers_as_single_ones_are(wrong):
    for columns in ([wrong], [1.0]), ([1.0], [wrong]):
        with pytest.raises(SchedulerError, match=r"interference|placement_factor"):
            JobRates([1], *columns)


def test_rates_in_columns_are_a_mapping_of_single_ones():
    job_rates = JobRates([3, 1], [2.0, 1.0], [1.5, 1.0])

    assert dict(job_rates) == {3: JobRate(2.0, 1.5), 1: JobRate()}
    assert JobRates.of(dict(job_rates)).interference == [2.0, 1.0]
    assert job_rates.get(2) is None
