"""fabricsim explain: why a job waited, who slowed it, and the price of isolation."""

import json

import pandas as pd
import pytest

from coupling.experiments.campaign import run_campaign
from coupling.experiments.experiment import Experiment
from coupling.results.manifest import read_manifest, write_manifest

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
    words = command("explain", done, "--job", held["job"], "--run", "ta")[1]
    assert "nodes were free, but isolation forbade them" in " ".join(words.split())


def test_culprits_are_told_with_the_time_in_which_both_ran(command, done):
    jobs = pd.read_parquet(done / "random" / "jobs.parquet").set_index("id")
    worst = int(jobs["lost_s"].idxmax())

    told = json.loads(command("explain", done, "--job", worst, "--run", "random", "--json")[1])
    slowed = told["runs"][0]["slowed"]

    assert slowed
    lost = jobs.loc[worst, "lost_s"] * jobs.loc[worst, "n_nodes"]
    assert sum(row["lost_node_s"] for row in slowed) <= lost * (1 + 1e-9)
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
