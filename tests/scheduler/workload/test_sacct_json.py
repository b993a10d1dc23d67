"""Accounting records as `sacct --json` prints them."""

import json

import pytest

import fabricsim as fs
from coupling.site.running_jobs import running_at
from scheduler.errors import WorkloadError
from scheduler.workload.slurm import read_sacct

BEGIN = 1717056000  # 2024-05-30T08:00 UTC


def job(number, **fields):
    """Return a job in the shape of data_parser v0.0.40."""
    return {
        "job_id": number,
        "name": "gmx",
        "account": "bio",
        "user": "ann",
        "group": "users",
        "partition": "batch",
        "allocation_nodes": 2,
        "nodes": "n[0-1]",
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
        "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
        "time": {
            "elapsed": 3600,
            "submission": BEGIN - 60,
            "start": BEGIN,
            "end": BEGIN + 3600,
            "limit": {"set": True, "infinite": False, "number": 120},
        },
        "steps": [],
    } | fields


def records(path, *jobs):
    path.write_text(json.dumps({"meta": {}, "jobs": list(jobs)}))
    return path


def times(**fields):
    return job(1)["time"] | fields


def test_a_job_has_its_times_nodes_and_names(tmp_path):
    (found,) = read_sacct(records(tmp_path / "r.json", job(7))).jobs

    assert (found.id, found.n_nodes, found.runtime_s, found.requested_s) == (7, 2, 3600, 7200)
    assert (found.name, found.logged_hosts) == ("gmx", "n[0-1]")
    assert dict(found.extra)["account"] == "bio"


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ({}, 0),
        ({"gpu": 8}, 8),
        ({"gpu": 8, "gpu:a100": 8, "gpumem": 40}, 8),
        ({"gpu:a100": 4, "gpu:v100": 2}, 6),
    ],
)
def test_gpus_are_those_of_all_kinds_here_and_in_tables(tmp_path, gres, gpus):
    """Slurm writes a number of all kinds, of each kind, or both."""
    rows = [{"type": "gres", "name": name, "count": count} for name, count in gres.items()]
    words = ",".join(["cpu=4", *(f"gres/{name}={count}" for name, count in gres.items()), "node=2"])
    (tmp_path / "r.txt").write_text(
        "JobID|Submit|Start|Elapsed|NNodes|AllocTRES|State\n"
        f"7|2024-01-01T00:00:00|2024-01-01T00:00:00|00:01:40|2|{words}|COMPLETED\n"
    )

    for path in (
        records(tmp_path / "r.json", job(7, tres={"allocated": rows})),
        tmp_path / "r.txt",
    ):
        (found,) = read_sacct(path).jobs
        assert found.gpus == gpus


def test_a_job_that_ends_before_it_starts_is_dropped(tmp_path):
    odd = job(8, time=times(end=BEGIN - 60))

    found = read_sacct(records(tmp_path / "r.json", job(7), odd))

    assert found.dropped == {"ends before it starts": 1}


def test_older_versions_have_the_state_as_a_text_and_plain_limits(tmp_path):
    old = job(7, state={"current": "COMPLETED"}, time=times(limit=120))

    (found,) = read_sacct(records(tmp_path / "r.json", old)).jobs

    assert found.requested_s == 7200


def test_jobs_that_never_ran_or_still_run_are_no_part_of_a_workload(tmp_path):
    pending = job(2, state={"current": ["PENDING"]}, nodes="None assigned", time=times(start=0))
    running = job(3, state={"current": ["RUNNING"]}, time=times(end=0))

    found = read_sacct(records(tmp_path / "r.json", job(1), pending, running))

    assert [own.id for own in found.jobs] == [1]


def test_the_jobs_of_a_moment_are_those_of_the_text(tmp_path):
    later = job(2, time=times(start=BEGIN + 1800, end=BEGIN + 7200))
    path = records(tmp_path / "r.json", job(1), later)

    found = running_at(path, "2024-05-30T08:20")

    assert [own.id for own in found.jobs] == [1]
    assert found.left_out == {"started later": 1}


def test_replay_and_now_read_it(tmp_path):
    path = records(tmp_path / "r.json", job(1), job(2, nodes="n[2-3]"))

    assert len(fs.replay(path, "cab").recorded.jobs) == 2
    assert len(fs.now("cab", sacct=path, at="2024-05-30T08:20", samples=1).jobs) == 2


def test_a_job_of_an_array_says_so(tmp_path):
    part = job(9, array={"job_id": 8, "task_id": {"set": True, "infinite": False, "number": 1}})

    (found,) = read_sacct(records(tmp_path / "r.json", part)).jobs

    assert dict(found.extra)["array_job_id"] == "8"


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"time": 5}, "field time: expected a table, as sacct --json prints it"),
        ({"time": times(start="soon")}, "field time.start: expected seconds"),
        ({"nodes": "n[0-", "allocation_nodes": 0}, "field nodes"),
        ({"job_id": -4}, "field job_id: expected a whole number"),
    ],
)
def test_what_is_no_record_is_refused_with_its_place(tmp_path, fields, fault):
    with pytest.raises(WorkloadError, match=r"jobs\[1\]: .*" + fault):
        read_sacct(records(tmp_path / "r.json", job(1), job(2, **fields)))


def test_a_file_of_sacct_is_no_queue(tmp_path):
    path = records(tmp_path / "r.json", job(1))

    with pytest.raises(WorkloadError, match="expected a job as squeue --json prints it, got one"):
        fs.now("cab", path)
