"""A queue is no log: what runs already is not started again on an idle machine."""

import json
from pathlib import Path

import pytest

from coupling.errors import ExperimentError
from coupling.runs.assembly import assemble

DATA = Path(__file__).parents[2] / "data"


def test_a_run_refuses_jobs_that_run_already(experiment):
    """Job 42 runs and 46 ends; both hold nodes."""
    queue = {"path": str(DATA / "squeue.json"), "format": "squeue-json"}

    with pytest.raises(ExperimentError) as error:
        assemble(experiment(workload=queue))

    message = str(error.value)
    assert "[workload]: " in message
    assert "squeue.json is a queue: 2 of its jobs have their nodes already" in message
    assert "(job 42: RUNNING)" in message
    assert "`fabricsim estimate`" in message


def test_the_command_says_so_on_one_line_and_writes_nothing(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "try.toml").write_text(
        f'topology = "cab"\n[workload]\npath = "{DATA / "squeue.json"}"\nformat = "squeue-json"\n'
    )

    status, out, error = command("run", "try.toml", "--out", "there")

    assert (status, out, error.count("\n")) == (2, "", 1)
    assert "estimate" in error
    assert not (tmp_path / "there").exists()


def test_a_converted_queue_is_refused_as_well(experiment, command, tmp_path):
    table = tmp_path / "queue.csv"
    status, _, error = command(
        "trace", "convert", DATA / "squeue.json", table, "--format", "squeue-json"
    )
    assert status == 0, error

    with pytest.raises(ExperimentError, match="2 of its jobs have their nodes already"):
        assemble(experiment(workload={"path": str(table), "format": "csv"}))


def test_what_waits_alone_is_a_workload(experiment, tmp_path):
    document = json.loads((DATA / "squeue.json").read_text())
    waiting = [job for job in document["jobs"] if "PENDING" in job["job_state"]]
    (tmp_path / "waiting.json").write_text(json.dumps({"jobs": waiting}))

    parts = assemble(
        experiment(workload={"path": str(tmp_path / "waiting.json"), "format": "squeue-json"})
    )

    assert [job.id for job in parts.workload.jobs] == [43]


@pytest.mark.parametrize("site", ["hpc2010", "psmn"])
def test_the_queue_of_a_site_is_refused(shared, experiment, site):
    path = str(shared(f"data/site/{site}.squeue.json.gz"))

    with pytest.raises(
        ExperimentError, match=r"is a queue: .*`fabricsim estimate` takes jobs where"
    ):
        assemble(experiment(workload={"path": path, "format": "squeue-json"}))


def test_inspect_counts_what_was_cancelled_and_what_runs(command):
    status, out, error = command(
        "trace", "inspect", DATA / "sacct.txt", "--format", "sacct", "--json"
    )
    assert status == 0, error
    told = json.loads(out)
    assert (told["cancelled"], told["running"]) == (1, 0)
    assert told["recorded"] == {"starts": 5, "places": 0}
    out = command("trace", "inspect", DATA / "sacct.txt", "--format", "sacct")[1]
    assert "1 kept job cancelled while running." in out
    assert "5 jobs with a recorded start, 0 with recorded nodes." in out
    out = command("trace", "inspect", DATA / "squeue.json", "--format", "squeue-json")[1]
    assert "2 jobs running already: `run` refuses them" in out
