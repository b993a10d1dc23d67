"""fabricsim explain: why a job waited, who slowed it, and the price of isolation."""

import json

import pandas as pd
import pytest

from coupling.inputs.experiment import Experiment
from coupling.results.manifest import read_manifest, write_manifest
from coupling.runs.campaign import run_campaign

SHORT = {"generator": "synth", "mean_nodes": 6, "n_jobs": 150, "seed": 3}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain") / "out"
    made = Experiment(
        {"kind": "fat-tree", "radix": 8}, SHORT, compare=("ta", "random"), self_check=False
    )
    run_campaign(made, folder)
    return folder


def test_a_job_is_told_why_it_waited_and_who_slowed_it(command, done):
    campaign = json.loads(command("explain", done, "--json")[1])
    assert [run["run"] for run in campaign["runs"]] == ["ta", "random"]
    held = campaign["runs"][0]["longest"][0]

    status, out, err = command("explain", done, "--job", held["job"], "--run", "ta", "--json")
    told = json.loads(out)["runs"][0]

    assert (status, err) == (0, "")
    assert sum(row["wait_s"] for row in told["waited"]) == pytest.approx(told["job"]["wait_s"])
    direct = [row["wait_s"] for row in told["waited"] if row["reason"] == "isolation"]
    assert sum(direct) == pytest.approx(held["wait_s"])
    assert told["slowed"] == []  # isolated
    words = " ".join(command("explain", done, "--job", held["job"], "--run", "ta")[1].split())
    assert "nodes were free, but isolation forbade them" in words
    assert "interference 1, placement 1" in words  # exactly, not rounded


def test_culprits_are_told_with_the_time_in_which_both_ran(command, done):
    jobs = pd.read_parquet(done / "random" / "jobs.parquet").set_index("id")
    worst = int(jobs["interference_delay_s"].idxmax())

    told = json.loads(command("explain", done, "--job", worst, "--run", "random", "--json")[1])
    slowed = told["runs"][0]["slowed"]

    assert slowed
    lost = jobs.loc[worst, "interference_delay_s"] * jobs.loc[worst, "n_nodes"]
    assert sum(row["interference_delay_node_s"] for row in slowed) <= lost * (1 + 1e-9)
    first = slowed[0]
    assert first["from_s"] == max(jobs.loc[[worst, first["culprit"]], "start_s"])
    assert first["to_s"] == min(jobs.loc[[worst, first["culprit"]], "end_s"])


def test_a_whole_run_is_told_by_reason_and_has_a_price(command, done):
    out = " ".join(command("explain", done)[1].split())

    assert "Price of isolation:" in out
    assert "random: jobs waited" in out
    assert "0.0% of it at the moment" in out  # random isolates nobody


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--job", "9999"], "--job: expected a job of"),
        (["--run", "jigsaw"], "--run"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(command, done, arguments, words):
    status, out, err = command("explain", done, *arguments)

    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_result_of_an_older_version_is_told_to_be_run_again(command, experiment, tmp_path):
    run_campaign(experiment(workload=SHORT, self_check=False), tmp_path / "old")
    (tmp_path / "old" / "waits.parquet").unlink()
    manifest = read_manifest(tmp_path / "old")
    del manifest["files"]["waits.parquet"]
    write_manifest(tmp_path / "old", manifest)

    status, _, err = command("explain", tmp_path / "old")

    assert status == 2
    assert "expected waits.parquet, found none: an older version wrote the result" in err


HAND = """
[topology]
kind = "fat-tree"
radix = 4

[workload]
path = "jobs.csv"
format = "csv"
estimates = "runtime"

[scheduler]
allocator = "ALLOCATOR"
OPTIONS

[network]
model = "null"

[run]
self_check = false
"""
PODS = ["1,0,3,10", "2,0,3,10", "3,0,3,10", "4,0,3,10"]
ALL_BUT_FOUR = ["1,0,12,10", "2,0,16,5"]


@pytest.mark.parametrize(
    ("run", "job", "told"),
    [
        # Twelve of sixteen nodes run for 10 s, the head wants all.
        (
            ("first-free", "", ALL_BUT_FOUR),
            2,
            "10 s: fewer nodes were free than it asks for (as head of the queue), between 0 s",
        ),
        # Behind it a job for 6 nodes, two too many, until the head runs.
        (
            ("first-free", "", [*ALL_BUT_FOUR, "3,0,6,5"]),
            3,
            "10 s: fewer nodes were free than it asks for, between 0 s and 10 s",
        ),
        # Under TA jobs of 3 nodes own a pod each: four nodes are free, one in each pod.
        (
            ("ta", "", [*PODS, "5,0,3,10"]),
            5,
            "10 s: nodes were free, but isolation forbade them (as head of the queue), between 0 s",
        ),
        # A job of 4 nodes for 20 s fits, but the head is to have them from 10 s on.
        (
            ("first-free", "", [*ALL_BUT_FOUR, "3,0,4,20"]),
            3,
            "10 s: it would have delayed a reservation of job 2; the job in front waited since",
        ),
        # Two nodes a leaf: three are on two switches, and the job waits 10 s for one.
        (
            ("first-free", 'queue_options = {switches = "1@0:10"}', ["1,0,3,5"]),
            1,
            "10 s: places were free, but on more switches than it wants (as head of the queue)",
        ),
    ],
    ids=["head", "nodes", "isolation", "reservation", "switches"],
)
def test_each_reason_is_told_in_a_case_made_by_hand(command, tmp_path, run, job, told):
    allocator, options, rows = run
    text = HAND.replace("ALLOCATOR", allocator).replace("OPTIONS", options)
    (tmp_path / "hand.toml").write_text(text)
    (tmp_path / "jobs.csv").write_text("\n".join(["id,submit_s,n_nodes,runtime_s", *rows]) + "\n")
    assert command("run", tmp_path / "hand.toml", "--out", tmp_path / "out")[0] == 0

    status, out, _ = command("explain", tmp_path / "out", "--job", job)

    assert status == 0
    assert told in " ".join(out.split())


@pytest.mark.parametrize("most", [100, 0])
def test_runs_that_failed_are_told_of_waits_and_slow_jobs(command, experiment, tmp_path, most):
    """Rows add up to the wait, and no two jobs ran together for less than no time."""
    failing = {"list": [{"time": 3000, "action": "down", "what": "s1.0"}], "max_requeues": most}
    made = experiment(workload=SHORT, self_check=False, allocator="random", events=failing)
    run_campaign(made, tmp_path / "out")
    failures = pd.read_parquet(tmp_path / "out" / "failures.parquet")
    assert len(failures)

    for job in failures["id"]:
        told = json.loads(command("explain", tmp_path / "out", "--job", job, "--json")[1])
        one = told["runs"][0]

        assert sum(row["wait_s"] for row in one["waited"]) == pytest.approx(one["job"]["wait_s"])
        failed = [row["last_s"] for row in one["waited"] if row["reason"] == "failed"]
        assert failed == (pytest.approx([3120]) if most else [])  # queued again after two minutes
        assert all(row["from_s"] < row["to_s"] for row in one["slowed"])
    out = " ".join(command("explain", tmp_path / "out", "--job", job)[1].split())
    assert ("runs that failed, and the delay after each" in out) == (most > 0)
