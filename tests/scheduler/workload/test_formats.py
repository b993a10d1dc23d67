"""Every format gives the jobs that a small sample holds, counted by hand."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from scheduler.errors import WorkloadError
from scheduler.switches import DEFAULT_PATIENCE_S, SwitchLimit
from scheduler.workload import READERS, cancelled, make_workload
from scheduler.workload.slurm import slurm_duration
from scheduler.workload.writers import write_trace

DATA = Path(__file__).parents[2] / "data"


def rows(workload):
    """Return the numbers of the jobs."""
    return [
        (job.id, job.submit_s, job.n_nodes, job.runtime_s, job.requested_s) for job in workload.jobs
    ]


def dropped(workload):
    """Return number and reason of the jobs that are not run."""
    return tuple((job.id, job.reason) for job in workload.dropped_jobs)


def test_sacct_lines_are_read_with_their_states():
    workload = READERS["sacct"](DATA / "sacct.txt", processors_per_node=16)

    assert rows(workload) == [
        (1008, 0, 3, 30, 30),  # 40 processors, no limit; submitted at 07:59
        (1001, 60, 4, 1800, 3600),
        (1003, 360, 1, 86407, 86400),  # ran over its limit
        (1004, 360, 1, 12, 86400),
        (1005, 420, 2, 60, 60),  # cancelled after a minute on its nodes
    ]
    assert dropped(workload) == (
        (1009, "job step (sacct -X leaves them out)"),
        (1006, "no run time"),
        (1007, "not finished (running)"),
    )
    assert [job.user for job in workload.jobs] == [2, 0, 1, 1, 0]
    assert [job.name for job in workload.jobs] == ["nolimit", "lammps", "sweep", "sweep", "hpcg"]
    assert [job.id for job in cancelled(workload.jobs)] == [1005]
    extra = dict(workload.jobs[2].extra)
    assert (extra["user"], extra["jobid"], extra["comment"]) == ("bob", "1002_1", "array task")


def test_sacct_lines_that_end_before_they_start_are_dropped_unless_a_clock_was_set(tmp_path):
    """Of jobs of 600 s, the first ends before it starts; the second by a clock set back an hour."""
    path = tmp_path / "log"
    path.write_text(
        "JobIDRaw|Submit|Start|End|ElapsedRaw|NNodes\n"
        "1|0|9000|5000|600|2\n"
        "2|0|9000|6000|600|2\n"
        "3|0|9000|9000|600|2\n"
        "4|0|9000|9600|600|2\n"
    )

    found = READERS["sacct"](path)

    assert [job.id for job in found.jobs] == [2, 3, 4]
    assert dropped(found) == ((1, "ends before it starts"),)


def test_sacct_takes_raw_columns_commas_and_closing_bars(tmp_path):
    """Names as in the published README of the Cab logs, and `sacct -p` with its last bar."""
    cab = tmp_path / "cab.csv"
    cab.write_text(
        "JobID,User,Partition,NNodes,NCPUS,Timelimit,State,Submit,Start,Elapsed,End,ExitCode\n"
        "7,5,pbatch,3,48,90,COMPLETED,1406900000,1406900100,00:01:40,1406900200,0:0\n"
    )
    barred = tmp_path / "p.txt"
    barred.write_text(
        "JobIDRaw|Submit|ElapsedRaw|NNodes|TimelimitRaw|\n8|2014-08-01T08:00:00+02:00|50|2|10|\n"
    )

    assert rows(READERS["sacct"](cab)) == [(7, 0, 3, 100, 5400)]
    assert rows(READERS["sacct"](barred)) == [(8, 0, 2, 50, 600)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("1:30", 90),
        ("02:00:30", 7230),
        ("1-2", 93600),
        ("1-2:30", 95400),
        ("1-02:03:04.5", 93784.5),
        ("", None),
        ("1:2:3:4", None),
        ("-5", None),
        ("soon", None),
    ],
)
def test_durations_are_read_in_all_the_ways_slurm_writes_them(text, seconds):
    assert slurm_duration(text) == seconds


def test_the_queue_of_slurm_gives_limits_for_run_times_and_keeps_nodes():
    workload = READERS["squeue-json"](DATA / "squeue.json")

    assert rows(workload) == [
        (42, 0, 4, 7200, 7200),
        (46, 20, 2, 60, 600),  # ended: its own run time; nodes counted from the list
        (43, 50, 2, 1800, 1800),
    ]
    assert workload.dropped == {"no run time": 1, "cancelled": 1}
    assert workload.jobs[0].extra == (
        ("state", "RUNNING"),
        ("user_name", "alice"),
        ("queue", "gpu"),
    )


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"required_switches": 2, "wait_for_switch": 90}, (2, 90)),
        ({"required_switches": {"set": True, "number": 1}}, (1, DEFAULT_PATIENCE_S)),
        ({"minimum_switches": 3, "wait_for_switch": {"set": True, "number": 3605}}, (3, 3605)),
        ({"required_switches": {"set": False, "number": 7}, "minimum_switches": 0}, (9, 60)),
        ({"required_switches": 0, "wait_for_switch": 5}, (9, 60)),
        ({}, (9, 60)),
    ],
)
def test_the_switches_that_a_job_in_the_queue_of_slurm_wants_limit_it(tmp_path, fields, limit):
    entry = {"job_id": 1, "node_count": 4, "submit_time": 5, "time_limit": 10} | fields
    path = tmp_path / "queue.json"
    path.write_text(json.dumps([entry]))

    (job,) = READERS["squeue-json"](path).jobs

    assert SwitchLimit("9@1").wanted(job) == limit


HOSTS = "n[001-002,007]"


@pytest.mark.parametrize(
    "fields",
    [
        {"nodes": HOSTS, "job_state": "RUNNING", "tasks": 6, "tasks_per_node": 0xFFFE},  # 22.05
        {"job_resources": {"nodes": HOSTS, "allocated_hosts": 3}},  # 23.11
        {"job_resources": {"nodes": {"count": 3, "list": HOSTS, "allocation": []}}},  # from 24.05
        {"nodes": HOSTS, "job_resources": None},  # of those who may not see more
        {"job_resources": {"nodes": {"list": HOSTS}}, "node_count": {"set": False, "number": 0}},
    ],
)
def test_the_hosts_of_a_queue_are_read_where_each_version_of_slurm_has_them(tmp_path, fields):
    entry = {
        "job_id": 7,
        "job_state": ["RUNNING"],
        "submit_time": {"set": True, "infinite": False, "number": 5},
        "start_time": {"set": True, "infinite": False, "number": 8},
        "time_limit": {"set": True, "infinite": False, "number": 10},
        "tasks": {"set": True, "infinite": False, "number": 6},
        "tasks_per_node": {"set": False, "infinite": False, "number": 0},
        "array_job_id": {"set": True, "infinite": False, "number": 0},
        "het_job_id": {"set": True, "infinite": False, "number": 6},
        "account": "bio",
    } | fields
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"jobs": [entry]}))

    (job,) = READERS["squeue-json"](path).jobs

    assert (job.logged_hosts, job.n_nodes) == (HOSTS, 3)
    told = dict(job.extra)
    assert (told["tasks"], told["het_job_id"], told["account"]) == ("6", "6", "bio")
    assert "tasks_per_node" not in told
    assert "array_job_id" not in told


def test_flux_jobs_run_from_start_to_clean_up():
    workload = READERS["flux-json"](DATA / "flux.json")

    assert rows(workload) == [
        (15032385536, 0, 6, 20, 3600),
        (15032385537, 1, 2, 1, 1),  # cancelled after a second on its nodes
        (15032385539, 10, 1, 3, 3),
    ]
    assert dropped(workload) == ((15032385538, "no run time"),)
    assert dict(workload.jobs[2].extra)["jobid"] == "f3ETxsR9H"
    assert [job.id for job in cancelled(workload.jobs)] == [15032385537]


def test_numbers_of_62_bits_as_flux_gives_them_come_through_every_table(tmp_path):
    """A float holds 53 bits; SWF is read as such, and refuses them."""
    number = 2**62 + 1
    fields = {"id": number, "t_submit": 1, "t_run": 2, "t_cleanup": 9, "nnodes": 2}
    (tmp_path / "log.json").write_text(json.dumps([fields]))
    workload = READERS["flux-json"](tmp_path / "log.json")

    for end in ("csv", "parquet"):
        write_trace(workload, tmp_path / f"log.{end}")
        assert [job.id for job in READERS[end](tmp_path / f"log.{end}").jobs] == [number]
    with pytest.raises(WorkloadError, match="numbers in SWF are below 2"):
        write_trace(workload, tmp_path / "log.swf")


def test_batsim_jobs_of_delay_profiles_are_read():
    workload = READERS["batsim-json"](DATA / "batsim.json", processors_per_node=2)

    assert rows(workload) == [(1, 0, 2, 20.5, 100), (2, 2.5, 2, 5, 5)]
    assert dropped(workload) == ((3, "run time unknown (profile type parallel_homogeneous)"),)
    assert workload.jobs[0].extra == (("profile", "sleep"),)


def test_placements_keep_their_order_where_there_are_no_times():
    workload = READERS["placement-log"](DATA / "placement.log")

    assert rows(workload) == [
        (1, 0, 4, 2, 2),
        (2, 1, 2, 3, 3),
        (3, 3, 8, 3, 3),  # never removed: to the end of the log
        (4, 5, 1, 1, 1),  # number 1 again: a new job
    ]


def test_placements_with_times_use_them(tmp_path):
    path = tmp_path / "log"
    path.write_text("place 5 2 100\nP 6 1 130.5\nremove 5 160\n; end\nF 6 200\n")

    assert rows(READERS["placement-log"](path)) == [
        (5, 0, 2, 60, 60),
        (6, 30.5, 1, 69.5, 69.5),
    ]


def test_a_table_keeps_the_columns_it_does_not_know(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_bytes(
        b"\xef\xbb\xbfjob,submit,runtime,nodes,comm,comm_perc,user\r\n"
        b'3,10,60,4,1,90,"a, b"\r\n'
        b"\r\n"
        b"1,5,30.5,2,0,10,a\r\n"
    )

    workload = READERS["csv"](path)

    assert rows(workload) == [(1, 0, 2, 30.5, 30.5), (3, 5, 4, 60, 60)]
    assert workload.jobs[1].extra == (("comm", "1"), ("comm_perc", "90"), ("user", "a, b"))


def test_a_parquet_table_gives_the_jobs_of_the_csv_table(tmp_path):
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "submit_s": [5.0, 0.0, 7.5],
            "start_s": [6.0, 1.0, None],
            "n_nodes": [2, 3, 4],
            "nodes": ["0-1", "2-4", None],
            "runtime_reference_s": [10.0, 20.0, 0.0],
            "pattern": ["pairs", "stencil", None],
        }
    )
    frame.to_parquet(tmp_path / "jobs.parquet")
    frame.to_csv(tmp_path / "jobs.csv", index=False)

    (from_parquet, from_csv) = (
        READERS[kind](tmp_path / f"jobs.{kind}") for kind in ("parquet", "csv")
    )

    assert rows(from_parquet) == [(2, 0, 3, 20, 20), (1, 5, 2, 10, 10)]
    assert from_parquet.dropped == {"no run time": 1}
    assert from_parquet.jobs == from_csv.jobs
    assert dict(from_csv.jobs[0].extra) == {"nodes": "2-4", "pattern": "stencil"}


@pytest.mark.parametrize("name", ["log.csv", "LOG.CSV", "log.csv.gz"])
def test_the_end_of_a_name_gives_the_format_where_none_is_named(tmp_path, name):
    text = b"id,submit,runtime,nodes\n1,0,60,2\n2,5,30,4\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    told = make_workload({"path": name, "format": "csv"}, tmp_path)

    assert rows(told) == rows(make_workload({"path": name}, tmp_path))
    with pytest.raises(WorkloadError, match=r"expected 18 fields, got 1"):
        make_workload({"path": name, "format": "swf"}, tmp_path)


def test_a_table_may_lack_submit_times_where_all_arrive_at_once(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("Cores,Note,RunTime\n33,x,60\n")

    jobs = READERS["csv"](path, arrivals="zero", processors_per_node=16).jobs

    assert [(job.id, job.n_nodes, job.runtime_s) for job in jobs] == [(1, 3, 60)]
    with pytest.raises(WorkloadError, match=r"csv:1: expected a column submit \(one of submit_s"):
        READERS["csv"](path)


def test_a_user_of_thousands_of_digits_is_a_name(tmp_path):
    path = tmp_path / "jobs.txt"
    path.write_text(
        f"JobIDRaw|User|Submit|ElapsedRaw|NNodes\n8|{'9' * 5000}|2014-08-01T08:00:00|50|2\n"
    )

    (job,) = READERS["sacct"](path).jobs

    assert (job.user, dict(job.extra)["user"]) == (0, "9" * 5000)


def test_a_user_below_minus_1_is_a_name_and_comes_through_every_log(tmp_path):
    """A log of numbers has -1 for nobody, and no other numbers below 0."""
    table = tmp_path / "jobs.csv"
    table.write_text("id,submit_s,runtime_s,n_nodes,user\n1,0,60,2,-501\n2,0,60,2,-1\n")
    workload = READERS["csv"](table)

    assert [job.user for job in workload.jobs] == [0, -1]
    assert dict(workload.jobs[0].extra)["user"] == "-501"

    write_trace(workload, tmp_path / "jobs.swf")
    assert [job.user for job in READERS["swf"](tmp_path / "jobs.swf").jobs] == [0, -1]


@pytest.mark.parametrize(
    ("mark", "name"),
    [(";", "semicolons"), ("\t", "tabs"), (" ", "blanks"), ("|", "vertical bars")],
)
def test_other_separators_than_expected_are_named(tmp_path, mark, name):
    table, log = tmp_path / "jobs.csv", tmp_path / "log"
    table.write_text("job_id,submit_s,runtime_s,n_nodes\n1,0,10,2\n".replace(",", mark))
    log.write_text("JobID,Submit,Elapsed,NNodes\n1,2014-08-01T08:00:00,50,2\n".replace(",", mark))

    with pytest.raises(WorkloadError, match=f"csv:1: expected columns .* commas, got {name}"):
        READERS["csv"](table)
    if mark != "|":  # which is Slurm's own
        with pytest.raises(WorkloadError, match=rf"log:1: expected .* by \| or commas, got {name}"):
            READERS["sacct"](log)


def test_hosts_give_the_number_of_nodes_where_no_number_does(tmp_path):
    """Four processors to a node would make 2."""
    log = tmp_path / "log"
    log.write_text(
        "JobID|Submit|Elapsed|NCPUS|NodeList\n"
        "1|2014-08-01T08:00:00|50|8|n[1-3]\n2|2014-08-01T08:00:00|50|8|None assigned\n"
    )

    assert [job.n_nodes for job in READERS["sacct"](log, processors_per_node=4).jobs] == [3, 2]
    log.write_text(log.read_text().replace("n[1-3]", "n[1-"))
    with pytest.raises(WorkloadError, match=r"log:2: field nodelist: host list 'n\[1-'"):
        READERS["sacct"](log)
