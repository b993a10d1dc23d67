"""What every queue policy of the registry keeps, with right and wrong estimates."""

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import sampled, thinned

from coupling.checks.queues import (
    Queue,
    a_job_starts_on_an_empty_machine,
    every_job_runs_once,
    other_machines_do,
    run_jobs,
    same_schedule,
    time_limits_end_jobs,
)
from scheduler.errors import PolicyError
from scheduler.job import Communication, Job
from scheduler.queues import POLICIES, make_policy

OWN = sorted(set(POLICIES) - {"batsim"})  # of that another program decides
VARIANTS = [
    *[(name, {}) for name in OWN],
    ("easy", {"reservation": "R3"}),
    ("easy", {"reservation": "node-count"}),
    ("easy", {"window": 0}),
    ("priority", {"key": "size"}),
    ("priority", {"key": "requested"}),
    ("priority", {"key": "fair-share", "half_life_days": 0.001}),
    ("cautious", {"evaluate": "capacity"}),
    ("conservative", {"window": 2}),
]
LIMITED = [(name, options | {"switches": "1@1"}) for name, options in VARIANTS]
PLACED = list(product(VARIANTS + LIMITED, ["first-free", "jigsaw", "ta", "lc+s"]))
SOME = settings(
    deadline=None, max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def workloads(draw):
    """Up to 20 jobs; requested times are right, too long or too short."""
    jobs, submit = [], 0.0
    for number in range(1, draw(st.integers(1, 20)) + 1):
        submit += draw(st.sampled_from([0.0, 0.0, 1.0, 30.0]))
        runtime = float(draw(st.integers(1, 200)))
        label = draw(st.sampled_from(["", "all-to-all", "stencil"]))
        jobs.append(
            Job(
                number,
                submit,
                draw(st.integers(1, 16)),
                runtime,
                runtime * draw(st.sampled_from([1.0, 1.0, 0.2, 5.0])),
                user=draw(st.integers(1, 3)),
                communication=Communication(label, None, 0.5) if label else None,
            )
        )
    return jobs


def queue_of(variant, jobs, allocator="first-free"):
    """Return a policy with jobs to try it with."""
    return Queue(lambda: make_policy(*variant), [jobs], allocator)


def run(jobs, variant, allocator="first-free", **options):
    """Run jobs of which the policy knows the run times."""
    return run_jobs(queue_of(variant, jobs, allocator), jobs, estimated=False, **options)


def starts(records):
    return {record.job.id: record.start_s for record in records}


def names(variant):
    return " ".join([variant[0], *(f"{key}={value}" for key, value in variant[1].items())])


@pytest.mark.parametrize(
    "tried", thinned(PLACED, 3), ids=lambda tried: f"{names(tried[0])}-{tried[1]}"
)
@SOME
@given(data=st.data())
def test_every_job_runs_once_after_its_submission_on_nodes_of_its_own(tried, data):
    """Estimates too long or too short delay jobs but neither lose them nor stop the queue."""
    variant, allocator = tried

    assert not list(every_job_runs_once(queue_of(variant, data.draw(workloads()), allocator)))


@pytest.mark.parametrize("variant", VARIANTS, ids=names)
@pytest.mark.parametrize(
    "rule", [other_machines_do, time_limits_end_jobs, a_job_starts_on_an_empty_machine]
)
@SOME
@given(jobs=workloads())
def test_a_policy_keeps_the_rule(rule, variant, jobs):
    """Whatever the estimates."""
    assert not list(rule(queue_of(variant, jobs)))


@pytest.mark.parametrize("variant", sampled(VARIANTS + LIMITED, VARIANTS), ids=names)
@SOME
@given(jobs=workloads())
def test_same_jobs_give_the_same_schedule(variant, jobs):
    """Bit for bit."""
    assert not list(same_schedule(queue_of(variant, jobs, "jigsaw")))


def test_bookings_move_forward_until_none_can():
    """Job 8 gains by a move that itself follows from another: on an idle machine it starts."""
    times = [  # submission, nodes, run time, requested
        (0, 1, 1, 1), (0, 1, 32, 32), (0, 10, 150, 30), (1, 3, 4, 20), (2, 3, 74, 370),
        (3, 16, 21, 21), (33, 10, 8, 8), (33, 13, 65, 65),
    ]  # fmt: skip
    jobs = [
        Job(number, float(submit), nodes, float(runtime), float(requested))
        for number, (submit, nodes, runtime, requested) in enumerate(times, start=1)
    ]
    idle_s = []

    def check(machine):
        if not machine.cluster.running:
            idle_s.append(machine.now_s)

    queue = queue_of(("conservative", {"window": 2}), jobs)
    records = run_jobs(queue, jobs, check=check)

    assert idle_s == [max(record.end_s for record in records)]


@pytest.mark.parametrize("variant", [("fcfs", {}), ("easy", {}), ("easy", {"reservation": "R3"})])
@SOME
@given(jobs=workloads())
def test_the_longest_waiting_job_never_waits_for_nodes_that_are_free(variant, jobs):
    """Work conservation of FCFS and EASY: after each instant the head does not fit."""
    waiting = {job.id: job for job in jobs}

    def check(machine):
        for job_id in machine.cluster.running:
            waiting.pop(job_id, None)
        head = min(waiting, default=None)
        if head is not None and waiting[head].submit_s <= machine.now_s:
            assert waiting[head].n_nodes > machine.cluster.n_free

    run(jobs, variant, check=check)


@pytest.mark.parametrize("allocator", ["first-free", "jigsaw"])
@SOME
@given(jobs=workloads())
def test_fcfs_starts_jobs_in_the_order_of_submission(allocator, jobs):
    """No job overtakes the head."""
    times = starts(run(jobs, ("fcfs", {}), allocator=allocator))

    assert [times[job.id] for job in jobs] == sorted(times.values())


def test_unknown_names_and_options_list_the_choices():
    """As every registry does."""
    with pytest.raises(PolicyError, match="choose from batsim, cautious, conservative, easy"):
        make_policy("best", {})
    near = (
        r"queue 'easy': unknown option 'windw' \(did you mean 'window'\?\); choose from limits, res"
    )
    with pytest.raises(PolicyError, match=near):
        make_policy("easy", {"windw": 3})


@pytest.mark.parametrize("name", POLICIES)
def test_the_limit_of_switches_is_among_the_options_of_every_queue(name):
    with pytest.raises(PolicyError, match=r"choose from .*switches"):
        make_policy(name, {"switchs": "1"})


@pytest.mark.parametrize("name", sorted(set(OWN) - {"fcfs"}))
def test_negative_windows_are_refused(name):
    with pytest.raises(PolicyError, match="window: expected a whole number from 0, got -1"):
        make_policy(name, {"window": -1})


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("easy", {"reservation": "R4"}, "reservation: expected one of R2, R3, node-count"),
        ("priority", {"key": "age"}, "key: expected one of wait, size, requested, fair-share"),
        ("priority", {"half_life_days": 0}, "half_life_days: expected a positive number"),
        ("cautious", {"evaluate": "luck"}, "evaluate: expected one of turnaround, capacity"),
        ("reckless", {"all_to_all": "bruck"}, "all_to_all: expected a list of names of patterns"),
        ("reckless", {"all_to_all": [1]}, "all_to_all: expected a list of names of patterns"),
        ("reckless", {"all_to_all": 1}, "all_to_all: expected a list of names of patterns, got 1"),
        ("fcfs", {"switches": "few"}, 'expected "count@time"'),
    ],
)
def test_values_out_of_range_are_refused_with_the_choices(name, option, message):
    with pytest.raises(PolicyError, match=message):
        make_policy(name, option)
