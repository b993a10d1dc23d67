"""What a log says of when and where its jobs ran is kept; what ran is kept though cancelled."""

import csv
import gzip
import json
from datetime import UTC, datetime

import pandas as pd
import pytest

from netsim.common.hostlist import expand_hostlist
from scheduler.workload import READERS, cancelled, make_workload, refine, running
from scheduler.workload.writers import write_trace

SACCT = """JobIDRaw|Submit|Start|End|ElapsedRaw|NNodes|TimelimitRaw|State|NodeList
1|1000|1300|1900|600|2|20|COMPLETED|n[01-02]
2|1100|1200|1260|60|3|20|CANCELLED by 501|n[03-04],m1
3|1150|Unknown|1160|0|4|20|CANCELLED by 501|None assigned
4|1200|1900|Unknown|50|2|20|RUNNING|n[01-02]
5|1300|1950|2000|50|1|20|NODE_FAIL|n01
"""


def recorded(workload):
    return [(job.id, job.logged_start_s, job.logged_hosts) for job in workload.jobs]


@pytest.fixture
def sacct(tmp_path):
    """Return the path of a log whose first job is submitted at 1000 seconds."""
    (tmp_path / "sacct.txt").write_text(SACCT)
    return tmp_path / "sacct.txt"


def test_accounting_records_keep_start_and_nodes_of_all_that_ran(sacct):
    workload = READERS["sacct"](sacct)

    assert recorded(workload) == [(1, 300, "n[01-02]"), (2, 200, "n[03-04],m1"), (5, 950, "n01")]
    assert [job.id for job in cancelled(workload.jobs)] == [2]
    assert workload.jobs[1].runtime_s == 60
    assert workload.dropped == {"no run time": 1, "not finished (running)": 1}
    assert "nodelist" not in dict(workload.jobs[0].extra)


def test_a_run_that_was_queued_again_held_its_nodes_and_counts(tmp_path):
    """As `sacct --duplicates` has it: half an hour on two nodes, then an hour."""
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobIDRaw|Submit|Start|End|ElapsedRaw|NNodes|State\n"
        "1|0|0|1800|1800|2|REQUEUED\n"
        "1|1800|3600|7200|3600|2|COMPLETED\n"
        "2|0|0|600|600|1|RESIZING\n"
        "2|0|600|Unknown|600|2|RESIZING\n"
        "3|0|0|Unknown|600|2|REQUEUED\n"
    )

    found = READERS["sacct"](path)

    ran = sorted((job.n_nodes, job.runtime_s) for job in found.jobs)
    assert ran == [(1, 600), (2, 1800), (2, 3600)]
    assert found.dropped == {"not finished (resizing)": 1, "not finished (requeued)": 1}


@pytest.mark.parametrize("arrivals", ["zero", 0.5, 2.0])
def test_the_record_stays_on_the_clock_of_the_log_whatever_arrivals_do(sacct, arrivals):
    there = READERS["sacct"](sacct, arrivals=arrivals)

    assert sorted(recorded(there)) == sorted(recorded(READERS["sacct"](sacct)))
    assert [job.submit_s for job in there.jobs] != [0, 100, 300]


def test_a_window_moves_the_clock_for_submission_and_start_alike(sacct):
    workload = READERS["sacct"](sacct, window_s=(50, 1000))

    assert [job.submit_s for job in workload.jobs] == [0, 200]
    assert recorded(workload) == [(2, 100, "n[03-04],m1"), (5, 850, "n01")]
    assert recorded(refine(READERS["sacct"](sacct), window_s=(50, 1000))) == recorded(workload)


def test_a_queue_keeps_start_and_nodes_of_what_runs_alone(tmp_path):
    """Slurm foretells starts of waiting jobs too; those are no record."""
    waits = {"job_id": 2, "job_state": ["PENDING"], "nodes": "", "start_time": 5000}
    runs = {"job_id": 1, "job_state": ["RUNNING"], "nodes": "n[1-2]", "start_time": 150}
    ends = {"job_id": 3, "job_state": ["COMPLETED", "COMPLETING"], "nodes": "n3"}
    common = {"submit_time": 100, "time_limit": 10, "node_count": 2}
    times = {"start_time": 160, "end_time": 170}
    (tmp_path / "q.json").write_text(
        json.dumps([runs | common, waits | common, ends | common | times])
    )

    workload = READERS["squeue-json"](tmp_path / "q.json")

    assert recorded(workload) == [(1, 50, "n[1-2]"), (2, None, ""), (3, 60, "n3")]
    assert [job.id for job in running(workload.jobs)] == [1, 3]


def test_other_logs_keep_what_they_say(tmp_path):
    (tmp_path / "log.swf").write_text(
        "1 100 20 50 4 -1 -1 4 60 -1 1 1 1 1 1 -1 -1 -1\n"
        "2 110 -1 50 4 -1 -1 4 60 -1 1 1 1 1 1 -1 -1 -1\n"
    )
    (tmp_path / "log.csv").write_text(
        'id,submit_s,start_s,runtime_s,n_nodes,nodelist\n1,5,7.5,1,2,"n[1-2]"\n2,6,,1,1,\n'
    )
    (tmp_path / "log.json").write_text(
        json.dumps(
            [
                {"id": 7, "state": "INACTIVE", "nnodes": 2, "nodelist": "b[40-41]"}
                | {"t_submit": 10.5, "t_run": 12.0, "t_cleanup": 20.0}
            ]
        )
    )
    (tmp_path / "log").write_text("P 5 2 100\nP 6 1 130.5\nF 5 160\nF 6 200\n")

    assert recorded(READERS["swf"](tmp_path / "log.swf")) == [(1, 20, ""), (2, None, "")]
    assert recorded(READERS["csv"](tmp_path / "log.csv")) == [(1, 2.5, "n[1-2]"), (2, None, "")]
    assert recorded(READERS["flux-json"](tmp_path / "log.json")) == [(7, 1.5, "b[40-41]")]
    assert recorded(READERS["placement-log"](tmp_path / "log")) == [(5, 0, ""), (6, 30.5, "")]
    drawn = make_workload({"generator": "synth", "mean_nodes": 4, "n_jobs": 3})
    assert {record[1:] for record in recorded(drawn)} == {(None, "")}


def test_the_job_table_of_a_result_says_where_its_jobs_ran(tmp_path):
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "submit_s": [0.0, 3.0],
            "start_s": [1.0, 4.0],
            "n_nodes": [2, 1],
            "nodes": ["cn[001-002]", "cn003"],
            "runtime_reference_s": [10.0, 20.0],
            "dropped": ["", ""],
        }
    )
    frame.to_parquet(tmp_path / "jobs.parquet")

    found = READERS["parquet"](tmp_path / "jobs.parquet")

    assert recorded(found) == [(1, 1, "cn[001-002]"), (2, 4, "cn003")]


@pytest.mark.parametrize("end", [".csv", ".csv.gz", ".parquet", ".swf"])
def test_a_log_that_is_written_says_it_again(sacct, tmp_path, end):
    workload = READERS["sacct"](sacct)

    lost = write_trace(workload, tmp_path / f"log{end}")
    again = READERS[end.removesuffix(".gz").removeprefix(".")](tmp_path / f"log{end}")

    if end == ".swf":  # which has no place for hosts
        assert "where jobs ran" in lost
        assert [record[:2] for record in recorded(again)] == [(1, 300), (2, 200), (5, 950)]
    else:
        assert recorded(again) == recorded(workload)
        assert [job.id for job in cancelled(again.jobs)] == [2]


def epoch(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(("site", "ran", "stopped"), [("hpc2010", 898, 58), ("psmn", 235, 18)])
def test_a_whole_accounting_log_is_read_with_its_places(shared, site, ran, stopped):
    """All node-hours of the log, cancelled jobs included; starts and nodes as it says."""
    path = shared(f"data/site/{site}.sacct.gz")
    with gzip.open(path, "rt") as file:
        lines = {int(row["JobIDRaw"]): row for row in csv.DictReader(file, delimiter="|")}

    workload = READERS["sacct"](path)

    assert (len(workload.jobs), len(workload.dropped_jobs)) == (ran, 0)
    assert len(cancelled(workload.jobs)) == stopped
    work = sum(job.n_nodes * job.runtime_s for job in workload.jobs)
    assert work == sum(int(row["NNodes"]) * int(row["ElapsedRaw"]) for row in lines.values())
    first = min(epoch(row["Submit"]) for row in lines.values())
    for job in workload.jobs:
        row = lines[job.id]
        assert job.logged_start_s == epoch(row["Start"]) - first
        assert job.logged_hosts == row["NodeList"]
        assert len(expand_hostlist(job.logged_hosts)) == job.n_nodes


@pytest.mark.parametrize(("site", "begun"), [("hpc2010", 18), ("psmn", 9)])
def test_the_queue_of_a_site_says_what_runs_where(shared, site, begun):
    workload = READERS["squeue-json"](shared(f"data/site/{site}.squeue.json.gz"))

    there = running(workload.jobs)
    assert len(there) == begun
    assert all(len(expand_hostlist(job.logged_hosts)) == job.n_nodes for job in there)
    assert all(job.logged_start_s >= job.submit_s for job in there)
    rest = [job for job in workload.jobs if job not in there]
    assert {(job.logged_start_s, job.logged_hosts) for job in rest} == {(None, "")}


@pytest.mark.parametrize("end", [".csv", ".csv.gz", ".parquet"])
def test_names_that_look_like_formulas_are_written_as_texts_and_read_as_they_were(tmp_path, end):
    columns = {"user": "=1+1", "group": "'=1", "queue": "-x", "name": "+cmd"}
    columns |= {"=column": "@SUM(1)", "number": "-5", "line": "a\rb"}
    frame = pd.DataFrame([{"id": 1, "submit_s": 0.0, "runtime_s": 9.0, "n_nodes": 2} | columns])
    frame.to_parquet(tmp_path / "jobs.parquet")
    workload = READERS["parquet"](tmp_path / "jobs.parquet")

    write_trace(workload, tmp_path / f"log{end}")
    again = READERS[end.removesuffix(".gz").removeprefix(".")](tmp_path / f"log{end}")

    assert again.jobs == workload.jobs
    assert again.jobs[0].name == "+cmd"
    assert dict(again.jobs[0].extra)["=column"] == "@SUM(1)"
    if end == ".csv":
        cells = (tmp_path / "log.csv").read_text().replace("\n", ",").split(",")
        assert {"'=1+1", "''=1", "'-x", "'+cmd", "'=column", "'@SUM(1)", "-5"} <= set(cells)


def test_a_job_of_a_queue_that_ends_before_it_starts_is_dropped_and_counted(tmp_path):
    """It has no run time, and its limit is none; of a job that waits the end is a forecast."""
    common = {"submit_time": 100, "time_limit": 10, "node_count": 2, "end_time": 150}
    jobs = [
        {"job_id": 1, "job_state": ["COMPLETED"], "start_time": 140},
        {"job_id": 2, "job_state": ["COMPLETED"], "start_time": 160},
        {"job_id": 3, "job_state": ["CANCELLED"], "start_time": 160},
        {"job_id": 4, "job_state": ["PENDING"], "start_time": 160},
    ]
    (tmp_path / "q.json").write_text(json.dumps([job | common for job in jobs]))

    workload = READERS["squeue-json"](tmp_path / "q.json")

    assert [(job.id, job.runtime_s) for job in workload.jobs] == [(1, 10), (4, 600)]
    assert workload.dropped == {"ends before it starts": 1, "cancelled": 1}
