"""A record that is replayed: starts, ends and places as they were, interference that follows."""

import json
import random
from itertools import pairwise

import numpy as np
import pytest
from sacct_logs import BEGIN, line, sacct

import fabricsim as fs
from coupling.errors import SnapshotError
from coupling.runs.assembly import assemble
from coupling.runs.campaign import run_campaign
from coupling.runs.rerun import rerun
from coupling.runs.stored import Stored

CLOSE = 1e-2  # fixed points, each within its tolerance
TREE = {
    "kind": "fat-tree",
    "radix": 4,
    "levels": 2,
    "latency": "none",
}  # 8 nodes, 2 on each of 4 leaves
ALWAYS = {
    "version": 1,
    "rule": [{"pattern": {"name": "one-to-all"}, "comm_fraction": 1.0, "bytes_per_flow": "1 MB"}],
}
SEVERAL = {
    "version": 1,
    "rule": [
        {
            "pattern": {"name": name},
            "comm_fraction": 0.7,
            "bytes_per_flow": "1 MB",
            "chance": chance,
        }
        for name, chance in (("ring", 0.4), ("all-to-all", 0.5), ("one-to-all", 1.0))
    ],
}


def replayed(log, profile=ALWAYS, replay=None, **fields):
    return fs.Experiment(
        topology=fields.pop("topology", TREE),
        workload={"path": str(log)},
        communication=profile,
        replay=replay or {},
        self_check=False,
        **fields,
    )


def rows(result):
    return {row["id"]: row for row in result.jobs.to_dict("records")}


def test_interference_is_as_it_was_and_ends_are_as_recorded(tmp_path):
    """
    Two jobs that always communicate share one cable: both run at half rate while both run.

    For 50 of its 100 s each, so it loses 25 s, and would have taken 75 s alone.
    """
    log = sacct(
        tmp_path / "log",
        line(7, 0, 100, "n0,n2", submit=-40),
        line(9, 50, 150, "n[1,4]", submit=10, state="CANCELLED by 501"),
    )

    found = fs.run(replayed(log))

    jobs = rows(found)
    assert found.name == "recorded"
    for number, start, end, wait in ((7, 0.0, 100.0, 40.0), (9, 50.0, 150.0, 40.0)):
        job = jobs[number]
        assert (job["start_s"], job["end_s"], job["wait_s"]) == (start, end, wait)
        assert job["interference_delay_s"] == pytest.approx(25.0, rel=CLOSE)
        assert job["runtime_reference_s"] == pytest.approx(75.0, rel=CLOSE)
    assert jobs[7]["submit_s"] == -40.0
    assert found.summary["log_begin_unix_s"] == BEGIN.timestamp()


def test_a_job_alone_did_all_its_time(tmp_path):
    found = fs.run(replayed(sacct(tmp_path / "log", line(7, 0, 100, "n0,n2"))))

    assert rows(found)[7]["runtime_reference_s"] == 100.0
    assert rows(found)[7]["interference"] == 1.0


def lost_as_estimated(experiment):
    """Add up what estimates of the jobs that run between any two instants say that each loses."""
    parts = assemble(experiment)
    sent = {job.id: job.communication for job in parts.workload.jobs}
    pins = parts.record.pins
    instants = sorted({time for pin in pins.values() for time in (pin.start_s, pin.end_s)})
    lost = dict.fromkeys(pins, 0.0)
    for begin, end in pairwise(instants):
        there = [n for n, pin in pins.items() if pin.start_s <= begin and pin.end_s >= end]
        jobs = [
            {
                "id": number,
                "nodes": pins[number].ranks.tolist(),
                "shared": True,
                "pattern": sent[number].pattern,
                "comm_fraction": sent[number].fraction,
            }
            for number in there
            if sent[number] is not None
        ]
        if not jobs:
            continue
        snapshot = {
            "topology": parts.topology,
            "routing": experiment.routing,
            "seed": experiment.all_seeds["routing"],
            "model": experiment.model,
            "fairness": experiment.fairness,
            "model_options": experiment.model_options,
            "jobs": jobs,
        }
        for job in fs.estimate(snapshot, blame=False).jobs:
            lost[job.id] += (end - begin) * (1.0 - 1.0 / job.interference)
    return lost


FABRICS = {
    "tree": (TREE, ("d-mod-k", "s-mod-k", "ecmp", "adaptive", "spray", "shortest")),
    "with buffers": ({**TREE, "buffer": "64 KiB"}, ("d-mod-k",)),
    "torus": ({"kind": "torus", "dims": [4, 2]}, ("dimension-order", "shortest")),
    "dragonfly": (
        {"kind": "dragonfly", "groups": 2, "routers": 2, "nodes_per_router": 2},
        ("minimal", "valiant"),
    ),
    "rails": (
        {"kind": "fat-tree", "children": [4, 2], "parents": [2, 4], "parallel": [1, 1]},
        ("d-mod-k",),
    ),
}
ROUTED = [(name, routing) for name, (_, routings) in FABRICS.items() for routing in routings]


@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
@pytest.mark.parametrize(("fabric", "routing"), ROUTED)
def test_interference_is_that_of_the_snapshot_at_every_instant(tmp_path, fabric, routing, fairness):
    """Jobs of one to four nodes, some on nodes of others, some with several ranks on a node."""
    draw = random.Random(len(fabric + routing))  # noqa: S311 (a test)
    lines = []
    for number in range(1, 13):
        start = draw.randrange(100)
        hosts = draw.sample(range(8), draw.randrange(1, 5))
        tasks = draw.choice(["", 2 * len(hosts)])
        names = ",".join(f"n{host}" for host in hosts)
        lines.append(line(number, start, start + draw.randrange(1, 80), names, tasks=tasks))
    log = sacct(tmp_path / "log", *lines)
    experiment = replayed(
        log,
        SEVERAL,
        topology=FABRICS[fabric][0],
        model_options={"tolerance": 1e-7},
        routing=routing,
        fairness=fairness,
    )

    found = rows(fs.run(experiment))

    wanted = lost_as_estimated(experiment)
    assert sum(wanted.values()) > 5.0
    # where windows close, two jobs may hold each other up in two ways: which, depends on the past
    close = 0.2 if fabric == "with buffers" else CLOSE
    for number, interference_delay_s in wanted.items():
        assert found[number]["interference_delay_s"] == pytest.approx(
            interference_delay_s, rel=close, abs=1e-6
        )


def test_site_is_replayed_as_its_snapshots(shared):
    log = shared("data/site/psmn.sacct.gz")
    fabric = {
        "kind": "file",
        "path": str(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz")),
        "name_map": str(shared("data/topo/psmn-x5-hostnames.map")),
    }
    experiment = replayed(
        log, SEVERAL, topology=fabric, routing="shortest", model_options={"tolerance": 1e-7}
    )

    found = rows(fs.run(experiment))

    wanted = lost_as_estimated(experiment)
    assert len(wanted) == 235
    for number, interference_delay_s in wanted.items():
        assert found[number]["interference_delay_s"] == pytest.approx(
            interference_delay_s, rel=CLOSE, abs=0.01
        )


def test_what_runs_when_the_queue_is_freed_goes_on_and_all_others_are_placed_anew(tmp_path):
    """
    From second 50 on first-come first-served on the lowest free nodes.

    Job 7 holds n[2-3] to its recorded end at 100; job 8 waits since 10 and gets n[0-1] at 50, not
    at 300; job 9 comes at 60 for six nodes, which are free when job 7 ends.
    """
    log = sacct(
        tmp_path / "log",
        line(6, 0, 40, "n[0-1]"),
        line(7, 20, 100, "n[2-3]"),
        line(8, 300, 360, "n[6-7]", submit=10),
        line(9, 400, 450, "n[0-5]", submit=60),
    )
    silent = {"version": 1, "rule": [{"comm_fraction": 0}]}

    found = rows(fs.run(replayed(log, silent, {"free_from": "2024-05-29T08:00:50"}, queue="fcfs")))

    when = {n: (job["start_s"], job["end_s"], job["nodes"]) for n, job in found.items()}
    assert when == {
        6: (0.0, 40.0, "n[0-1]"),
        7: (20.0, 100.0, "n[2-3]"),
        8: (50.0, 110.0, "n[0-1]"),
        9: (100.0, 150.0, "n[2-7]"),
    }


def test_freed_jobs_do_the_work_that_they_did_and_gain_what_they_had_lost(tmp_path):
    """
    Job 9 of the first test, freed at its start, finds two free nodes of one leaf.

    It did 75 s of work, and needs as long. Job 7 has done 50 s then, and 25 s are left: it ends at
    75 and not at 100.
    """
    log = sacct(tmp_path / "log", line(7, 0, 100, "n0,n2"), line(9, 50, 150, "n[1,4]"))

    found = rows(
        fs.run(
            replayed(log, replay={"free_from": "2024-05-29T08:00:50"}, allocator="slurm-best-fit")
        )
    )

    assert (found[9]["start_s"], found[9]["interference"]) == (50.0, 1.0)
    assert found[9]["end_s"] == pytest.approx(125.0, rel=CLOSE)
    assert found[7]["end_s"] == pytest.approx(75.0, rel=CLOSE)


def test_a_node_in_two_jobs_stays_taken_until_the_second_has_ended(tmp_path):
    """Jobs 7 and 8 share n1; job 9, freed, may not have it while job 8 runs."""
    log = sacct(
        tmp_path / "log",
        line(7, 0, 100, "n[0-1]"),
        line(8, 10, 200, "n[1-2]"),
        line(9, 210, 260, "n[0-6]", submit=60),
    )

    found = fs.run(replayed(log, replay={"free_from": "2024-05-29T08:01:00"}, queue="fcfs"))

    assert rows(found)[9]["start_s"] == pytest.approx(rows(found)[8]["end_s"])
    shared = "jobs on a node that another job has at the same time"
    assert found.summary["replay"][shared] == 2


def test_what_is_odd_is_counted_and_nothing_stops(tmp_path):
    log = sacct(
        tmp_path / "log",
        line(1, 0, 100, "n[0-1],login1"),  # a host that the fabric has not
        line(2, 0, 100, "login[1-3]"),
        line(3, None, None, "None assigned", state="PENDING"),
        line(4, None, 50, "None assigned", state="CANCELLED by 501"),
        line(5, 70, None, "n2", state="RUNNING", limit="UNLIMITED"),  # until the last time, 7400
        line(16, 5, None, "n2", state="RUNNING", limit=1),  # a runaway job, until 65
        line("6_4", 10, 60, "n3"),
        line("7+1", 10, 60, "n4"),
        line(8, 100, 3800, "n5", elapsed=100),  # the clock was set forward by an hour
        line(9, 7300, 3800, "n6", elapsed=100),  # and back
        line(10, 30, 30, "n6"),
        line(11, 90, 95, "n0", submit=200),
        line(12, 100, 110, "n0"),
        line(12, 130, None, "n0", state="RUNNING"),  # as an earlier file told it
        line(12, 130, 140, "n0"),
        line(12, 130, 140, "n0"),
        line("12.batch", 130, 140, "n0"),
        line(13, 7300, 7400, "n7"),
        line(14, 7000, 300, "n7", elapsed=100),  # no clock is set by so much
        line(15, 7000, 7000, "n7", elapsed=100),
    )

    found = fs.run(replayed(log))

    told = dict(found.summary["replay"])
    assert told.pop("share of the node time on such hosts") == pytest.approx(0.05, abs=0.05)
    assert told == {
        "jobs that still run when the record ends, and end with it": 1,
        "jobs without an end, past their time limit: they end with it": 1,
        "jobs whose end and run time differ by an hour: the clock was set": 2,
        "jobs that end as they start: their run time counts": 1,
        "jobs that start before they are submitted, or whose submission is unknown": 1,
        "runs whose number an earlier run has: each is a job of its own": 1,
        "jobs on a node that another job has at the same time": 2,
        "jobs that go on without some of their hosts": 1,
        "jobs with one rank on each node (tasks unknown, or too many)": 1,
        "tasks of arrays, each a job of its own": 1,
        "parts of heterogeneous jobs, each a job of its own": 1,
        "jobs left out: listed a second time, with the same number and start": 2,
        "jobs left out: pending": 1,
        "jobs left out: never started, or without hosts": 1,
        "jobs left out: no run time": 1,
        "jobs left out: ends before it starts": 1,
        "jobs left out: no known host": 1,
        "jobs left out: job steps (sacct -X leaves them out)": 1,
        "hosts that the fabric has not": 3,
    }
    ends = {n: job["end_s"] for n, job in rows(found).items()}
    assert (ends[5], ends[16], ends[8], ends[9]) == (7400.0, 65.0, 200.0, 7400.0)


def test_unknown_hosts_stop_where_they_shall(tmp_path):
    log = sacct(tmp_path / "log", line(1, 0, 100, "n0,login1"))

    with pytest.raises(SnapshotError, match="job 1: host 'login1'"):
        fs.run(replayed(log, replay={"unknown": "stop"}))


@pytest.mark.parametrize(
    ("replay", "fields", "words"),
    [
        ({"free_from": "tomorrow"}, {}, "expected a time such as"),
        ({"free_from": ""}, {}, "free_from: expected a time"),
        ({"timezone": ""}, {}, "timezone: expected the name of a time zone"),
        ({"free_from": "2024-06-29T08:00:50"}, {}, "from the first to the last start"),
        ({"free_from": "2024-05-29T08:00:00+02:00"}, {}, "without an offset"),
        (
            {"timezone": "Europe/Paris", "free_from": "2024-03-31T02:30"},
            {},
            "free_from: expected a time that the clock of Europe/Paris showed, got '2024-03-31T02:",
        ),
        ({"timezone": "Europe/Nowhere"}, {}, "Europe/Paris, got 'Europe/Nowhere'"),
        ({"until": 3}, {}, "unknown key"),
        ({"routing": "ecmp"}, {}, "free_from: expected a time beside routing"),
        ({}, {"runtime_means": "baseline"}, "runtime_means"),
        ({}, {"compare": ["jigsaw", "first-free"]}, "free_from"),
    ],
)
def test_wrong_fields_are_refused_by_name(tmp_path, replay, fields, words):
    log = sacct(tmp_path / "log", line(1, 0, 100, "n0,n1"))

    with pytest.raises(fs.FabricsimError, match=words):
        fs.run(replayed(log, replay=replay, **fields))


def test_result_of_a_replay_is_kept_loaded_and_reproduced(tmp_path):
    log = sacct(tmp_path / "log", line(7, 0, 100, "n0,n2", submit=-40), line(9, 50, 150, "n[1,4]"))
    replay = {"free_from": "2024-05-29T08:00:50"}
    experiment = replayed(log, replay=replay, compare=("first-free", "slurm-best-fit"))

    campaign = run_campaign(experiment, tmp_path / "out", workers=2)

    stored = Stored.open(tmp_path / "out")
    assert stored.experiment.replay == {**replay, "unknown": "skip"}
    assert [result.name for result in campaign.results] == ["first-free", "slurm-best-fit"]
    assert rerun(stored).agrees
    assert np.isfinite(campaign.results[0].jobs["interference_delay_s"]).all()


def test_a_queue_with_jobs_that_have_ended_is_a_record_too(tmp_path):
    """Job 8 runs until its limit says so; the record ends at 90 s, and so does the job here."""
    begin = int(BEGIN.timestamp())
    common = {"submit_time": begin, "time_limit": 60}
    jobs = [
        {"job_id": 7, "job_state": ["COMPLETED"], "nodes": "n0,n2"}
        | {"start_time": begin, "end_time": begin + 90},
        {"job_id": 8, "job_state": ["RUNNING"], "nodes": "n[1,4]"}
        | {"start_time": begin + 50, "end_time": begin + 3650},
        {"job_id": 9, "job_state": ["PENDING"], "nodes": ""} | {"start_time": begin + 7200},
    ]
    log = tmp_path / "queue.json"
    log.write_text(json.dumps({"jobs": [common | job for job in jobs]}))

    found = fs.run(replayed(log))

    jobs = rows(found)
    assert {n: (job["start_s"], job["end_s"]) for n, job in jobs.items()} == {
        7: (0.0, 90.0),
        8: (50.0, 90.0),
    }
    assert found.summary["log_time_zone"] == "UTC"
    assert found.summary["replay"]["jobs left out: pending"] == 1


def test_where_the_number_of_nodes_is_not_that_of_the_hosts_the_hosts_count(tmp_path):
    """
    Jobs 1 and 2 say more and fewer nodes than they have hosts; job 3 tells no number.

    200 s of 8 hosts, each for 100 s, are on the host that the fabric has not: an eighth.
    """
    log = sacct(
        tmp_path / "log",
        line(1, 0, 100, "n[0-1]", nodes=4),
        line(2, 0, 100, "n[2-4]", nodes=2),
        line(3, 0, 100, "n[5-6],login1"),
    )

    found = fs.run(replayed(log))

    told = found.summary["replay"]
    assert told["jobs whose number of nodes is not that of their hosts: the hosts count"] == 2
    assert told["share of the node time on such hosts"] == pytest.approx(1 / 8)
    assert {number: job["n_nodes"] for number, job in rows(found).items()} == {1: 2, 2: 3, 3: 2}
