"""Filters keep what they say, in every format alike."""

from dataclasses import replace
from math import nan
from typing import get_type_hints

import pytest

from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.base import DroppedJob, Workload, limit_nodes
from scheduler.workload.filters import Filters, ReadOptions, refine
from scheduler.workload.table import read_csv


@pytest.fixture
def log(tmp_path):
    """Return a log of five jobs, submitted at 100, 110, 120, 130 and 140 s, of 1 to 5 nodes."""
    path = tmp_path / "jobs.csv"
    lines = [f"{n},{90 + 10 * n},60,{n}" for n in range(1, 6)]
    path.write_text("\n".join(["id,submit,runtime,nodes", *lines]) + "\n")
    return path


def dropped(workload):
    """Return number and reason of the jobs that are not run."""
    return tuple((job.id, job.reason) for job in workload.dropped_jobs)


def test_the_keyword_arguments_of_readers_are_the_fields_of_the_filters():
    assert set(get_type_hints(ReadOptions)) == set(Filters.__dataclass_fields__)


def test_a_window_is_half_open_and_counts_from_the_first_job(log):
    workload = read_csv(log, window_s=(10, 30))

    assert [(job.id, job.submit_s) for job in workload.jobs] == [(2, 0), (3, 10)]
    assert dropped(workload) == tuple((n, "outside the time window") for n in (1, 4, 5))


def test_a_window_looks_at_the_log_even_where_all_arrive_at_once(log):
    workload = read_csv(log, window_s=(10, 30), arrivals="zero")

    assert [(job.id, job.submit_s) for job in workload.jobs] == [(2, 0), (3, 0)]


def test_the_first_job_of_a_window_is_the_first_that_remains_otherwise(log):
    workload = read_csv(log, window_s=(0, 5), max_nodes=4)

    assert [job.id for job in workload.jobs] == [1]
    assert workload.dropped == {"more than 4 nodes": 1, "outside the time window": 3}


def test_scaled_jobs_meet_the_limit_after_scaling(log):
    workload = read_csv(log, scale_nodes=3, max_nodes=12)

    assert [job.n_nodes for job in workload.jobs] == [3, 6, 9, 12]
    assert dropped(workload) == ((5, "more than 12 nodes"),)


@pytest.mark.parametrize(("part", "sizes"), [(0.5, [1, 1, 2, 2]), (0.25, [1, 1, 1, 1])])
def test_a_part_of_the_nodes_is_rounded_up(log, part, sizes):
    """Jobs of 1 to 4 nodes and one of 5."""
    workload = read_csv(log, scale_nodes=part, max_nodes=2)

    assert [job.n_nodes for job in workload.jobs][:4] == sizes


def test_dropped_jobs_keep_what_they_asked_for(tmp_path):
    """On the clock of the kept jobs, the first of which comes at 0."""
    path = tmp_path / "jobs.csv"
    lines = ["1,100,60,2", "2,110,70,2", "3,120,0,2", "4,-1,80,2", "5,130,,2", "6,140,90,-1"]
    path.write_text("\n".join(["id,submit,runtime,nodes", *lines]) + "\n")

    workload = read_csv(path, window_s=(5, 50), scale_nodes=3, arrivals=2.0)

    assert [job.id for job in workload.jobs] == [2]
    assert repr(workload.dropped_jobs) == repr(
        (
            DroppedJob(1, "outside the time window", 6, -20.0, 60.0),
            DroppedJob(3, "no run time", 6, 20.0, 0.0),
            DroppedJob(4, "no submit time", 6, nan, 80.0),
            DroppedJob(5, "no run time", 6, 40.0, nan),
            DroppedJob(6, "no processors", 0, 60.0, 90.0),
        )
    )


def test_arrivals_may_be_stretched(log):
    assert [job.submit_s for job in read_csv(log, arrivals=2.5).jobs] == [0, 25, 50, 75, 100]


def test_a_log_of_which_nothing_remains_is_an_empty_workload(log):
    workload = read_csv(log, window_s=(500, 600))

    assert workload.jobs == ()
    assert workload.dropped == {"outside the time window": 5}
    assert not workload.has_requested


@pytest.mark.parametrize(
    "options",
    [
        {"processors_per_node": 0},
        {"processors_per_node": 2.0},
        {"processors_per_node": None},
        {"scale_nodes": True},
        {"scale_nodes": 2.0},
        {"scale_nodes": 0.3},
        {"scale_nodes": -0.5},
        {"scale_nodes": float("nan")},
        {"max_nodes": 0},
        {"arrivals": "never"},
        {"arrivals": 0},
        {"arrivals": float("nan")},
        {"arrivals": [1]},
        {"arrivals": 1e-320},
        {"arrivals": 1e300},
        {"arrivals": 10**400},
        {"scale_nodes": 2**62},
        {"scale_nodes": 10**30},
        {"max_nodes": 10**400},
        {"processors_per_node": 2**63},
        {"window_s": (0, 10**400)},
        {"window_s": (-(10**400), 5)},
        {"window_s": (5, 5)},
        {"window_s": (1,)},
        {"window_s": "ab"},
        {"window_s": 5},
    ],
)
def test_senseless_options_are_refused_by_name(log, options):
    (name,) = options

    with pytest.raises(WorkloadError, match=f"{name}: expected"):
        read_csv(log, **options)


def test_sizes_that_leave_the_whole_numbers_are_refused(log):
    """2^62 times two nodes is a negative number of nodes, and was no job at all."""
    with pytest.raises(WorkloadError, match=r"scale_nodes: expected jobs of at most \d+ nodes"):
        read_csv(log, scale_nodes=2**53)


def test_times_below_a_nanosecond_are_no_times(tmp_path):
    """As 1e-320 s, of which the reciprocal is no number."""
    path = tmp_path / "log.csv"
    path.write_text("id,submit,runtime,nodes,requested\n1,0,1e-320,1,5\n2,0,5,1,1e-320\n")

    read = read_csv(path)

    assert read.dropped == {"no run time": 1}
    assert [(job.id, job.requested_s) for job in read.jobs] == [(2, 5.0)]
    assert not read.has_requested


def test_jobs_larger_than_a_machine_are_dropped_with_its_size():
    jobs = tuple(Job(n, 0.0, n, 1.0, 1.0) for n in (1, 2, 3))
    workload = Workload(jobs, "by hand", dropped_jobs=(DroppedJob(9, "cancelled"),))

    limited = limit_nodes(workload, 2)

    assert limited.jobs == jobs[:2]
    assert limited.dropped == {"cancelled": 1, "larger than the machine (2 nodes)": 1}
    assert limited.dropped_jobs[1].n_nodes == 3
    assert limit_nodes(workload, 3) is workload


def test_times_count_from_the_first_job_that_a_machine_can_run(log):
    """As they do where `max_nodes` drops the same jobs."""
    read = read_csv(log)
    large_first = Workload(
        tuple(reversed([replace(job, submit_s=40 - job.submit_s) for job in read.jobs])),
        "by hand",
        begin_unix_s=1e9,
    )

    limited = limit_nodes(large_first, 3)

    assert [(job.id, job.submit_s) for job in limited.jobs] == [(3, 0.0), (2, 10.0), (1, 20.0)]
    assert [job.submit_s for job in limited.dropped_jobs] == [-20.0, -10.0]
    assert limited.begin_unix_s == 1e9 + 20
    by_option = refine(large_first, max_nodes=3)
    assert [job.submit_s for job in by_option.jobs] == [job.submit_s for job in limited.jobs]
    assert by_option.begin_unix_s == limited.begin_unix_s
    assert [job.submit_s for job in by_option.dropped_jobs] == [-20.0, -10.0]


def test_logged_starts_count_from_the_first_job_that_a_machine_can_run():
    jobs = (
        Job(1, 0.0, 4, 9.0, 9.0, logged_start_s=1.0),
        Job(2, 5.0, 1, 9.0, 9.0, logged_start_s=7.0),
        Job(3, 6.0, 1, 9.0, 9.0),
    )

    limited = limit_nodes(Workload(jobs, "by hand"), 2)

    assert [(job.submit_s, job.logged_start_s) for job in limited.jobs] == [(0.0, 2.0), (1.0, None)]
