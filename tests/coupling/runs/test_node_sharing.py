"""Runs in which jobs share nodes: their links too, and the requests of every kind of log."""

import json

import pandas as pd
import pytest

import fabricsim as fs
from coupling.errors import ExperimentError
from coupling.report.summary_text import reading
from fabricsim.checking.errors import FabricsimError
from scheduler import Job, Workload

TREE = {
    "kind": "fat-tree",
    "children": [4, 2],
    "parents": [1, 1],
    "parallel": [1, 1],
    "bandwidth": "1 GB/s",
    "latency": "none",
}
SILENT = {"pattern": "ring", "comm_fraction": 0}


def run(workload, node, **fields):
    fields = {"communication": SILENT, "self_check": False, **fields}
    return fs.run(fs.Experiment(TREE, workload, node=node, **fields))


def spans(result):
    rows = zip(*(result.jobs[name] for name in ("id", "start_s", "end_s", "nodes")), strict=True)
    return {number: (start, end, nodes) for number, start, end, nodes in rows}


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_jobs_on_the_same_nodes_share_their_links(model):
    """By hand: two pairs that always send through one link each way take twice as long."""
    jobs = tuple(Job(number, 0.0, 2, 10.0, 10.0, cores=8) for number in (1, 2))
    talk = {"pattern": {"name": "shift"}, "comm_fraction": 1.0}

    both = run(Workload(jobs, "by hand"), {"cores": 8}, communication=talk, model=model)
    apart = run(Workload(jobs, "by hand"), None, communication=talk, model=model)

    assert list(both.jobs["nodes"]) == ["n[0-1]", "n[0-1]"]
    assert both.jobs["interference"].to_numpy() == pytest.approx([2.0, 2.0], rel=0.01)
    assert list(apart.jobs["nodes"]) == ["n[0-1]", "n[2-3]"]
    assert list(apart.jobs["interference"]) == [1.0, 1.0]


SWF = """; three of 4, 12 and 64 processors, then one of 3 with 2,000 KB of memory each
1 0 0 100 4 -1 -1 4 100 -1 1 1 1 1 1 -1 -1 -1
2 0 0 100 12 -1 -1 12 100 -1 1 1 1 1 1 -1 -1 -1
3 5 0 100 64 -1 -1 64 100 -1 1 1 1 1 1 -1 -1 -1
4 6 0 10 3 -1 -1 3 10 2000 1 1 1 1 1 -1 -1 -1
"""
SACCT = """JobID|Submit|Start|Elapsed|NNodes|AllocTRES|State
1|2024-01-01T00:00:00|2024-01-01T00:00:00|00:01:40|1|cpu=4,mem=1G,node=1|COMPLETED
2|2024-01-01T00:00:00|2024-01-01T00:00:00|00:01:40|2|billing=12,cpu=12,mem=2000K,node=2|COMPLETED
3|2024-01-01T00:00:05|2024-01-01T00:00:05|00:01:40|8|cpu=64,node=8,gres/gpu=0|COMPLETED
4|2024-01-01T00:00:06|2024-01-01T00:00:06|00:00:10|1|cpu=3,mem=6M,node=1|COMPLETED
"""
CSV = """id,submit_s,n_nodes,cores,memory_mb,runtime_s
1,0,1,4,1024,100
2,0,2,12,2,100
3,5,8,64,,100
4,6,1,3,6,10
"""


@pytest.mark.parametrize("log", [("swf", SWF), ("sacct", SACCT), ("csv", CSV)], ids=lambda x: x[0])
def test_requests_are_read_from_every_kind_of_log(tmp_path, log):
    """
    By hand, 8 cores a node: job 2 has 6 on each of two nodes; job 3 waits for the whole machine.

    Job 1 is on node 0 with 4 cores, job 2 beside none: 6 do not fit there. Job 4 of 3 cores, which
    ends before job 3 may start, goes to node 0, the fullest with room.
    """
    kind, text = log
    path = tmp_path / f"log.{kind}"
    path.write_text(text, encoding="utf-8")

    found = run({"path": str(path), "format": kind}, {"cores": 8, "memory": "64 GiB"})

    assert spans(found) == {
        1: (0.0, 100.0, "n[0]"),
        2: (0.0, 100.0, "n[1-2]"),
        3: (100.0, 200.0, "n[0-7]"),
        4: (6.0, 16.0, "n[0]"),
    }
    parts = dict(zip(found.jobs["id"], found.jobs["node_part"], strict=True))
    assert parts == {1: 0.5, 2: 0.75, 3: 1.0, 4: 0.375}
    spent = 100 * 0.5 + 2 * 100 * 0.75 + 8 * 100 + 10 * 0.375
    assert found.summary["utilization_makespan"] == pytest.approx(spent / (8 * 200))


def test_memory_keeps_jobs_apart():
    """By hand: two jobs of 40 of 64 GiB need a node each."""
    jobs = tuple(Job(n, 0.0, 1, 9.0, 9.0, cores=1, memory_mb=40 * 1024) for n in (1, 2))

    found = run(Workload(jobs, "by hand"), {"cores": 8, "memory": "64 GiB"})

    assert list(found.jobs["nodes"]) == ["n[0]", "n[1]"]


def test_where_no_job_has_gpus_nodes_of_gpus_have_no_node_time():
    """A log of cores on nodes that count by GPUs: means by node time do not exist."""
    jobs = tuple(Job(n, 0.0, 1, 9.0, 9.0, cores=1) for n in (1, 2))

    found = run(Workload(jobs, "by hand"), {"cores": 8, "gpus": 4})

    assert found.summary["node_hours"] == found.summary["utilization_makespan"] == 0.0
    assert found.summary["mean_interference"] == 1.0
    assert found.summary["mean_interference_by_node_seconds"] is None
    assert reading([found])[0] == (
        "No job counts as a part of a node, so there is no node time to lose."
    )


def test_jobs_of_whole_nodes_give_the_same_tables_as_without_sharing():
    jobs = tuple(Job(n, float(n), 1 + n % 5, 50.0, 50.0) for n in range(20))
    talk = {"pattern": "all-to-all", "comm_fraction": 0.4}

    shared = run(Workload(jobs, "by hand"), {"cores": 8}, communication=talk)
    alone = run(Workload(jobs, "by hand"), None, communication=talk)

    for table in ("jobs", "links", "timeline", "blame"):
        pd.testing.assert_frame_equal(getattr(shared, table), getattr(alone, table))
    assert shared.summary == alone.summary


SYSTEM = {"groups": {"g": {"core": 16, "mem": 67108864}}, "resources": {"g": 8}}


def _system(tmp_path, **changes):
    """Write a system configuration of AccaSim: 8 nodes of 16 cores, by twos, and 64 GiB."""
    path = tmp_path / "machine.config"
    document = {**SYSTEM, "equivalence": {"processor": {"core": 2}}, **changes}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_system_of_accasim_gives_the_nodes_and_what_each_has(tmp_path):
    """A processor of the log is two cores there: nodes have eight, as in the logs above."""
    _system(tmp_path)
    log = tmp_path / "log.swf"
    log.write_text(SWF, encoding="utf-8")
    system = {"kind": "file", "path": "machine.config"}

    found = fs.run(
        fs.Experiment(
            topology=system,
            workload={"path": "log.swf"},
            node={"path": "machine.config"},
            model="null",
            folder=tmp_path,
        )
    )

    assert spans(found) == {
        1: (0.0, 100.0, "node_1"),
        2: (0.0, 100.0, "node_[2-3]"),
        3: (100.0, 200.0, "node_[1-8]"),
        4: (6.0, 16.0, "node_1"),
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"groups": {"g": {"core": 16}, "h": {"core": 8}}, "resources": {"g": 4, "h": 4}},
            "machine.config: groups: expected nodes that are alike, .* got 'g' and 'h', which",
        ),
        ({"groups": {"g": {"core": 16, "mic": 1}}}, "groups: g: unknown unit 'mic'; choose from"),
        ({"groups": {"g": {"core": 5}}}, "whole processors of 2 cores, got 5 cores in group 'g'"),
        ({"groups": {"g": {"disk": 0}}}, "groups: g: unknown unit 'disk'"),
        ({"groups": {"g": {}}}, "groups: g: expected core, gpu or mem above 0, got none"),
    ],
)
def test_a_system_whose_nodes_cannot_be_shared_is_refused(tmp_path, changes, message):
    path = _system(tmp_path, **changes)
    with pytest.raises(FabricsimError, match=message):
        run(Workload((Job(1, 0.0, 1, 9.0, 9.0, cores=4),), "by hand"), {"path": str(path)})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"node": {"cores": 8, "path": "x"}}, r"cores: expected none beside path"),
        ({"node": {"path": "x"}}, r"x: cannot be read"),
        ({"node": {"core": 8}}, r"\[scheduler\] ?\.?node.*core.*unknown|unknown.*core"),
        ({"node": {}}, r"node: expected a table such as"),
        ({"node": {"cores": 0}}, r"cores: expected .* from 1"),
        ({"node": {"memory": "much"}}, r"memory: expected bytes, such as '256 GiB'"),
        ({"node": {"cores": 8}, "queue": "conservative"}, "where jobs share nodes"),
        ({"node": {"cores": 8}, "allocator": "jigsaw"}, "jobs own links"),
        ({"node": {"cores": 2}}, "job 1: cores: expected at most 2 on each of 1 nodes, got 4"),
    ],
)
def test_nodes_that_cannot_be_are_refused_in_a_line(fields, message):
    jobs = (Job(1, 0.0, 1, 9.0, 9.0, cores=4),)
    with pytest.raises(ExperimentError, match=message):
        run(Workload(jobs, "by hand"), **fields)


def test_what_jobs_lose_counts_by_their_part_of_the_nodes_in_every_table():
    """Blame and summary are of the same node-seconds."""
    jobs = tuple(Job(n, float(n), 2 + n % 3, 50.0, 50.0, cores=2 * (2 + n % 3)) for n in range(20))
    talk = {"pattern": "all-to-all", "comm_fraction": 0.9}

    found = run(Workload(jobs, "by hand"), {"cores": 8}, communication=talk)

    lost = found.summary["node_seconds_lost_to_interference"]
    assert lost > 0
    assert found.blame["interference_delay_node_s"].sum() == pytest.approx(lost)


def test_prices_of_whole_nodes_are_refused_where_jobs_share_them():
    with pytest.raises(ExperimentError, match="'hop-cost-ratio': expected jobs that do not share"):
        run(Workload((Job(1, 0.0, 1, 9.0, 9.0),), "x"), {"cores": 8}, model="hop-cost-ratio")
