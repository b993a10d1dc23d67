"""What is said of a job log is true: read back, and held against plain sums over its jobs."""

import re
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupling.report.log import remarks
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload import Workload
from scheduler.workload.statistics import trace_numbers

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@st.composite
def logs(draw):
    """Draw a log whose jobs all have a requested time."""
    times = st.sampled_from([0.0, 0.0, 60.0, 3600.0, 1e5])
    submits = sorted(draw(st.lists(times, min_size=1, max_size=6)))
    jobs = tuple(
        Job(
            id=number,
            submit_s=submit_s,
            n_nodes=draw(st.integers(1, 9)),
            runtime_s=draw(st.sampled_from([10.0, 100.0, 5000.0])),
            requested_s=draw(st.sampled_from([10.0, 100.0, 7200.0])),
        )
        for number, submit_s in enumerate(submits)
    )
    return Workload(jobs, "drawn", has_requested=True)


def found(pattern, text):
    """Return what a pattern finds in a text; an empty tuple where it does not."""
    match = re.search(pattern, text)
    return match.groups() if match else ()


def count(text):
    return int(text.replace(",", ""))


def time_s(text):
    number, unit = text.split()
    return float(number.replace(",", "")) * SECONDS[unit]


@settings(max_examples=150, deadline=None)
@given(logs(), st.none() | st.integers(1, 12))
def test_what_is_said_of_requests_and_load_is_what_the_jobs_are(workload, machine):
    text = " ".join(remarks(trace_numbers(workload, machine)))
    jobs = workload.jobs
    over = [job.runtime_s - job.requested_s for job in jobs if job.runtime_s > job.requested_s]
    exact = sum(job.runtime_s == job.requested_s for job in jobs)
    work_h = sum(job.n_nodes * job.runtime_s for job in jobs) / 3600
    span_s = jobs[-1].submit_s - jobs[0].submit_s
    nodes = machine or max(job.n_nodes for job in jobs)
    larger = sum(job.n_nodes > nodes for job in jobs)

    (values,) = found(r"(\d+) different value", text)
    (used,) = found(r"the median job uses ([\d.,]+) % of it", text)
    assert count(values) == len({job.requested_s for job in jobs})
    true = 100 * median(job.runtime_s / job.requested_s for job in jobs)
    assert float(used.replace(",", "")) == pytest.approx(true, abs=0.0501)
    told = found(r"(\d+) jobs? ran longer than requested, by up to ([\d.,]+ \w+)", text)
    assert bool(told) == bool(over)
    if told:
        assert count(told[0]) == len(over)
        assert time_s(told[1]) == pytest.approx(max(over), rel=0.01)
    assert [count(one) for one in found(r"(\d+) jobs? ran exactly as long", text)] == (
        [exact] if exact else []
    )
    (hours,) = found(r"([\d.,]+) node-hours are asked for", text)
    assert float(hours.replace(",", "")) == pytest.approx(work_h, rel=0.01)
    assert ("all at once" in text) == (span_s == 0)
    if span_s > 0:
        (share,) = found(r"(< 0\.1|[\d.,]+) % of what", text)
        offered = 100 * work_h * 3600 / nodes / span_s
        if share != "< 0.1":
            assert float(share.replace(",", "")) == pytest.approx(offered, abs=0.0501)
        assert [count(one) for one in found(r"(\d+) jobs? (?:is|are) larger", text)] == (
            [larger] if larger else []
        )


def test_words_agree_with_one_and_with_many():
    """Of 3 jobs one is too large and one ran over; of 6 jobs two are."""
    one = (
        Job(1, 0.0, 9, 100.0, 50.0),
        Job(2, 60.0, 2, 10.0, 20.0),
        Job(3, 120.0, 1, 10.0, 10.0),
    )
    two = (*one, Job(4, 120.0, 9, 100.0, 50.0), Job(5, 130.0, 2, 10.0, 20.0))

    first = " ".join(remarks(trace_numbers(Workload(one, "a", has_requested=True), 4)))
    second = " ".join(remarks(trace_numbers(Workload(two, "b", has_requested=True), 4)))

    assert "1 job ran longer than requested, by up to 50.0 s; 1 job ran exactly as long" in first
    assert "1 job is larger than that." in first
    assert "2 jobs ran longer than requested" in second
    assert "2 jobs are larger than that." in second


def test_a_log_without_requests_says_what_backfilling_goes_by():
    jobs = (Job(1, 0.0, 1, 10.0, 10.0), Job(2, 5.0, 1, 10.0, 10.0))

    first = remarks(trace_numbers(Workload(jobs, "none")))[0]

    assert first == "No job has a requested time: backfilling has to go by run times."


@pytest.mark.parametrize("machine", [0, 10**400], ids=["none", "countless"])
def test_a_machine_of_no_or_countless_nodes_is_refused(machine):
    job = Job(1, 0.0, 1, 10.0, 10.0)

    with pytest.raises(WorkloadError, match=r"--nodes: expected a whole number"):
        trace_numbers(Workload((job,), "a"), machine)
