"""Logs of Alea: the further fields of its three kinds of lines, on logs written by hand."""

from pathlib import Path

import pytest

from coupling.inputs.experiment import Experiment
from coupling.runs.engine import run
from scheduler.errors import WorkloadError
from scheduler.workload import READERS, make_workload

DATA = Path(__file__).parents[2] / "data"
BASE = "1 100 5 60 4 -1 -1 4 120 1024 1 u 1 1 2 -1 -1 -1"
WHOLE = "expected a whole number from 0, or -1 for missing"


def read(tmp_path, text, **options):
    """Read a log of this text."""
    path = tmp_path / "log.swf"
    path.write_text(text)
    return READERS["alea-swf"](path, **options)


def refused(tmp_path, text):
    """Return the message about a log, without its folder."""
    with pytest.raises(WorkloadError) as caught:
        read(tmp_path, text)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_hosts_queue_and_nodespec_are_read():
    workload = READERS["alea-swf"](DATA / "alea.swf")

    assert [
        (job.id, job.submit_s, job.n_nodes, job.runtime_s, job.requested_s) for job in workload
    ] == [(10, 0, 2, 600, 1200), (11, 60, 1, 50, 60), (12, 70, 3, 500, 900), (14, 90, 1, 100, 200)]
    # 1 GiB and 1.5 GiB of each node, a byte of each of three nodes up to MiB; all of the last
    units = [(job.cores, job.gpus, job.memory_mb) for job in workload]
    assert units == [(4, 0, 2048), (2, 0, 1537), (5, 0, 3), (0, 0, 0)]
    assert [job.logged_hosts for job in workload] == ["7,8", "9", "1,2,3", "5"]
    assert [job.logged_start_s for job in workload] == [5, 60, 110, 90]
    assert [dict(job.extra)["queue"] for job in workload] == ["q_2h", "q_2h", "q_1d", "q_2h"]
    assert [dict(job.extra)["user"] for job in workload] == ["anna", "ben", "anna", "ben"]
    assert dict(workload.dropped) == {"no run time": 1, "cancelled (status 5)": 1}


def test_what_is_not_used_is_counted():
    assert READERS["alea-swf"](DATA / "alea.swf").remarks == {
        "properties that nodes must have (field 21): not used": 2,
        "jobs of unlike nodes (field 21): spread evenly": 1,
        "times below 0 (fields 3 and 4): taken as missing": 1,
        "preceding jobs (field 17): not used": 1,
        "think times (field 18): not used": 1,
    }


def test_without_nodespec_a_job_has_the_nodes_where_it_ran(tmp_path):
    (job,) = read(tmp_path, f"{BASE} {{a,a,b,b}} long\n").jobs

    assert (job.n_nodes, job.cores, job.logged_hosts) == (2, 4, "a,b")


def test_gpus_and_nodes_by_processors_are_read(tmp_path):
    workload = read(
        tmp_path,
        f"; GPUs of all nodes, soft walltime, properties\n{BASE} 6 90 normal:2x2\n"
        + f"{BASE} 8 -1 all:excl:4x1\n{BASE} 0 -1 all\n".replace("1 100", "2 100", 1).replace(
            "\n1 100", "\n3 100"
        ),
        processors_per_node=2,
    )

    # 1 MiB of each node; whole nodes; four processors on nodes of two
    assert [(job.n_nodes, job.cores, job.gpus, job.memory_mb) for job in workload] == [
        (2, 4, 6, 2),
        (4, 0, 0, 0),
        (2, 4, 0, 2),
    ]
    assert workload.jobs[0].queue == 2
    assert workload.remarks == {
        "soft walltimes (field 20): not used": 1,
        "properties that nodes must have (field 21): not used": 1,
    }


def test_tasks_of_a_dag_wait_for_all_before_them(tmp_path):
    names = "id submit wait runtime cpus cputimeused usedmem cpusreq walltime memreq status user"
    rows = [
        f"{number} 0 0 {seconds} 1 -1 -1 1 {seconds} -1 1 1 1 1 1 -1 {before} 0 DAG-1 {number}"
        for number, seconds, before in ((1, 30, -1), (2, 50, -1), (3, 10, "1&2"))
    ]
    log = tmp_path / "dag.swf"
    log.write_text("\n".join([f"{names} group application", *rows]) + "\n")
    table = {"path": str(log), "format": "alea-swf", "dependencies": True}

    assert make_workload(table).jobs[2].after == (1, 2)
    done = run(Experiment({"kind": "switch", "nodes": 4}, table, model="null"))
    assert done.jobs.set_index("id").start_s.to_dict() == {1: 0, 2: 0, 3: 50}


def test_queue_names_are_those_of_partitions():
    partitions = {"q_2h": {"nodes": "n[0-1]"}, "q_1d": {"nodes": "n[2-7]"}}
    table = {"path": str(DATA / "alea.swf"), "format": "alea-swf"}
    done = run(
        Experiment(
            {"kind": "switch", "nodes": 8},
            table,
            queue="partitions",
            queue_options={"partitions": partitions},
            model="null",
        )
    )

    # 10 has both nodes of q_2h from 0 to 600 s; 12 has another partition
    starts = done.jobs.set_index("id").start_s.dropna()
    assert starts.to_dict() == {10: 0, 11: 600, 12: 70, 14: 600}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{BASE} {{a}}", "log.swf:1: expected 18, 20 or 21 fields, got 19."),
        (
            f"{BASE} {{a,a}} q 1:ppn=4\n2{BASE[1:]} {{b}} q",
            "log.swf:2: expected 21 fields as in the first job, got 20.",
        ),
        (
            f"{BASE} {{a}} q 1:ppn=4\n2{BASE[1:]} b q 1:ppn=4",
            "log.swf:2: field 19 (hosts): expected hosts in braces, or -1, got 'b'.",
        ),
        (
            f"{BASE} {{a}} q 0:ppn=4",
            "log.swf:1: field 21 (nodespec): expected nodes from 1, got '0:ppn=4'.",
        ),
        (
            f"{BASE} x -1 all",
            f"log.swf:1: field 19 (GPUs): {WHOLE}, got 'x'.",
        ),
        (
            f"{BASE} 2 -1 all:0x4",
            "log.swf:1: field 21 (properties): expected nodes from 1, got 'all:0x4'.",
        ),
        (
            BASE.replace(" 60 ", " x "),
            "log.swf:1: field 4 (run time): expected seconds from 0, or -1 for missing, got 'x'.",
        ),
        (
            BASE.replace("-1 -1 -1", "-1 1&x -1"),
            f"log.swf:1: field 17 (preceding job): {WHOLE}, got 'x'.",
        ),
        ("; nothing\n", "log.swf: expected at least one job, got none."),
    ],
)
def test_the_place_of_a_fault_is_named(tmp_path, line, message):
    assert refused(tmp_path, line) == message


def test_the_reader_of_swf_names_the_format_of_alea(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(f"{BASE} {{a}} q 1:ppn=4\n")

    with pytest.raises(WorkloadError, match=r"18 fields, got 21; format 'alea-swf' reads Alea's"):
        READERS["swf"](path)
