"""Sweeps: the same bytes whoever computes, nothing computed twice, nothing lost."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

import netsim.common.atomic_write
from coupling.errors import ResultError
from coupling.inputs.experiment_fields import DEFAULT_MODEL
from coupling.sweep import executors
from coupling.sweep.cost import estimate
from coupling.sweep.plan import PLAN, SWEEP, Plan, digest_of, make_plan
from coupling.sweep.spec import Spec
from coupling.sweep.store import Store
from coupling.sweep.sweep import Sweep, gather, run_sweep
from netsim.fluid.model import Fluid

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "coupling.cli", "sweep"]
DEADLINE_S = 120.0


@pytest.fixture
def spec(small):
    return Spec.read(small)


def start(*arguments):
    """Start the command in a process of its own."""
    words, path = [*COMMAND, *map(str, arguments)], {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, env=path, text=True, **pipes)  # noqa: S603 (ours)


def end(*arguments):
    """Run the command to its end; return its answer."""
    with start(*arguments) as process:
        answer, told = process.communicate()
        assert process.returncode == 0, told
    return answer


def wait_for_marks(folder, count):
    """Wait until so many cells are finished."""
    end_s = time.monotonic() + DEADLINE_S
    while len(list(folder.glob("marks/*.json"))) < count:
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_one_process_and_two_give_the_same_bytes(spec, done, tmp_path, contents):
    run_sweep(spec, tmp_path / "two", workers=2)

    assert contents(tmp_path / "two") == contents(done)


def test_tasks_of_an_array_give_the_same_bytes(command, small, done, tmp_path, contents):
    """Plain processes in any order, then gather."""
    folder = tmp_path / "array"
    _, planned, _ = command("sweep", small, "--plan", folder, "--tasks", 2, "--json")
    tasks = [end(folder, "--task", f"{task}/2", "--json") for task in (2, 1)]
    Sweep.open(folder)

    assert json.loads(planned) == {"cells": 8, "script": str(folder / "array.sh")}
    assert [json.loads(answer)["computed"] for answer in tasks] == [4, 4]
    assert contents(folder) == contents(done)


def test_a_killed_sweep_goes_on_where_it_was(small, done, tmp_path, contents):
    """SIGKILL to the whole process in the middle; its workers end, and finished cells stay."""
    folder = tmp_path / "killed"
    with start(small, "--out", folder, "--workers", 2) as first:
        wait_for_marks(folder, 2)
        first.kill()
    time.sleep(1.0)  # the workers end with their parent
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("marks/*.json")}

    run_sweep(Spec.read(small), folder)

    assert all(path.stat().st_mtime_ns == then for path, then in kept.items())
    assert contents(folder) == contents(done)


def test_a_killed_worker_is_one_line_and_finished_cells_stay(spec, done, tmp_path, contents):
    folder, killed = tmp_path / "out", []

    def kill_one(what, n_done, _total):
        if what == "computed" and n_done == 2 and not killed:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            killed.extend(pid for pid in map(int, children) if _is_worker(pid))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    with pytest.raises(
        ResultError, match=r"a worker process was killed .*; finished cells are kept"
    ):
        run_sweep(spec, folder, workers=2, progress=kill_one)
    assert 2 <= len(list(folder.glob("marks/*.json"))) < 8

    run_sweep(spec, folder)
    assert contents(folder) == contents(done)


def _is_worker(pid):
    """Whether a child is a worker of a pool, no tracker of resources."""
    return b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_sweep_attributes_nothing(spec, done, tmp_path, monkeypatch, contents):
    monkeypatch.setattr(Fluid, "culprits", None)  # not called

    run_sweep(spec, tmp_path / "again")

    assert contents(tmp_path / "again") == contents(done)


def test_finished_cells_are_never_computed_again(spec, done, monkeypatch):
    monkeypatch.setattr(executors, "compute", None)

    assert len(run_sweep(spec, done).cells) == 8


def test_a_longer_sweep_computes_what_is_new(small, done, monkeypatch):
    """Two more cells of a third seed per fraction; those of before get the new names only."""
    text = small.read_text().replace(
        '"run.seed" = [1, 2]', '"run.seed" = [1, 2, 3]\n"network.fairness" = ["per-sender"]'
    )
    small.write_text(text)
    told = []
    compute = executors.compute
    monkeypatch.setattr(executors, "compute", lambda *a: told.append(a[2]) or compute(*a))

    longer = run_sweep(Spec.read(small), done)

    assert len(told) == 4
    assert len(longer.cells) == 12
    assert set(pd.read_parquet(done / "jobs")["network.fairness"]) == {"per-sender"}


def test_a_damaged_cell_is_computed_again(spec, done, contents):
    before = contents(done)
    victim = next(done.glob("jobs/*/jobs.parquet"))
    victim.write_bytes(victim.read_bytes()[:-7])

    with pytest.raises(ResultError, match=r"jobs.parquet: expected [0-9,]+ bytes, got"):
        gather(Plan.load(done), done)
    run_sweep(spec, done)

    assert contents(done) == before


def test_a_full_disk_in_the_middle_keeps_what_is_finished(
    spec, done, tmp_path, contents, monkeypatch
):
    """One line that names the file."""
    folder, replace, calls = tmp_path / "full", netsim.common.atomic_write.replace_file, []

    def filling(path, data, *, own):
        calls.append(path)
        if len(calls) > 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        replace(path, data, own=own)

    with monkeypatch.context() as patch:
        patch.setattr("coupling.results.manifest.replace_file", filling)
        with pytest.raises(ResultError, match=r"cannot be written: No space left on device\.$"):
            run_sweep(spec, folder)
    kept = list(folder.glob("marks/*.json"))
    assert 0 < len(kept) < 8

    run_sweep(spec, folder)
    assert contents(folder) == contents(done)


def test_an_input_that_changes_after_planning_is_refused(small, tmp_path):
    profile = tmp_path / "p.toml"
    profile.write_text("version = 1\n[[rule]]\ncomm_fraction = 0\n")
    small.write_text(
        small.read_text()
        .replace("[run]", '[communication]\nprofile = "p.toml"\n[run]')
        .replace('"communication.rule.*.comm_fraction" = [0.1, 0.5]', "")
    )
    folder = tmp_path / "out"
    folder.mkdir()
    make_plan(Spec.read(small)).save(folder)
    profile.write_text("version = 1\n[[rule]]\ncomm_fraction = 0\nlabel = 'other'\n")

    with pytest.raises(
        ResultError, match=r"p.toml: the input has changed since the sweep was planned"
    ):
        executors.compute_here(folder, [0], print)


@pytest.mark.usefixtures("undrawn")
def test_a_plan_of_other_defaults_is_refused_by_a_task_and_planned_anew_by_a_sweep(
    small, tmp_path, command
):
    """An older plan names no model: its cells, then under another, are not filled with others."""
    folder = tmp_path / "older"
    folder.mkdir()
    make_plan(Spec.read(small, ["network.model=flow-level"])).save(folder)
    (folder / SWEEP).write_text((folder / SWEEP).read_text().replace('model = "flow-level"', ""))
    plan = json.loads((folder / PLAN).read_text())
    plan["sweep_sha256"] = sha256((folder / SWEEP).read_bytes()).hexdigest()
    (folder / PLAN).write_text(json.dumps(plan))

    status, out, err = command("sweep", folder, "--task", "1/8")

    assert (status, out) == (2, "")
    assert "another version of fabricsim planned the sweep" in err
    assert command("sweep", folder)[0] == 0
    models = {
        Store(folder).mark(cell)["summary"]["network"]["model"] for cell in Plan.load(folder).cells
    }
    assert models == {DEFAULT_MODEL}
    assert len(list((folder / "marks").iterdir())) == 8


def test_policies_see_common_random_numbers(done):
    """Jobs of one sample have the same sizes, work and communication whatever the allocator."""
    jobs = pd.read_parquet(done / "jobs", filters=[("dropped", "==", "")])
    columns = ["id", "submit_s", "n_nodes", "runtime_reference_s", "pattern", "comm_fraction"]
    samples = jobs.groupby(["run.seed", "communication.rule.*.comm_fraction"])

    for _, sample in samples:
        random, jigsaw = (
            sample[sample["scheduler.allocator"] == name]
            .sort_values("id")[columns]
            .to_numpy()
            .tolist()
            for name in ("random", "jigsaw")
        )
        assert random == jigsaw
    one, two = (jobs[jobs["run.seed"] == seed]["runtime_reference_s"] for seed in (1, 2))
    assert not one.reset_index(drop=True).equals(two.reset_index(drop=True))


def test_the_job_tables_are_one_data_set_that_pandas_opens_in_a_line(done):
    jobs = pd.read_parquet(done / "jobs", filters=[("scheduler.allocator", "==", "jigsaw")])
    cells = pd.read_parquet(done / "cells.parquet")

    assert len(jobs) == 4 * 40
    jobs = jobs[jobs["dropped"] == ""].astype({"cell": str})
    assert set(jobs["cell"]) == set(cells[cells["scheduler.allocator"] == "jigsaw"]["cell"])
    means = jobs.groupby("cell")["turnaround_s"].mean()
    told = cells.set_index("cell")["mean_turnaround_s"]
    pd.testing.assert_series_equal(means, told.loc[means.index], check_names=False)


def test_classes_add_up_to_the_jobs(done):
    """Sums by day, size and pattern of a cell are those of its job table."""
    classes = (
        pd.read_parquet(done / "classes").groupby("cell", observed=True).sum(numeric_only=True)
    )
    jobs = pd.read_parquet(done / "jobs")
    jobs = jobs[jobs["dropped"] == ""].groupby("cell", observed=True)

    assert classes["jobs"].tolist() == jobs.size().tolist()
    assert classes["turnaround_s"].tolist() == pytest.approx(jobs["turnaround_s"].sum().tolist())


def test_job_tables_may_be_left_out(small, tmp_path):
    small.write_text(small.read_text().replace("[sweep]", "[sweep]\njobs = false"))

    run_sweep(Spec.read(small), tmp_path / "out")

    assert not (tmp_path / "out" / "jobs").exists()


def test_an_estimate_is_of_the_cells_that_are_missing(spec, done, tmp_path):
    """From the first jobs where nothing is known, from finished cells where something is."""
    fresh, finished = estimate(make_plan(spec), tmp_path / "new"), estimate(Plan.load(done), done)
    next(done.glob("marks/*.json")).unlink()
    one_less = estimate(Plan.load(done), done)

    assert (fresh.cells, fresh.finished, fresh.measured_cells) == (8, 0, 0)
    assert fresh.cpu_s > 0
    assert fresh.disk_bytes > 0
    assert (finished.finished, finished.cpu_s, finished.disk_bytes) == (8, 0, 0)
    assert (one_less.finished, one_less.measured_cells) == (7, 7)
    assert not (tmp_path / "new").exists()


def test_an_estimate_without_job_tables_does_not_grow_with_the_jobs(small, tmp_path):
    """A cell then keeps sums by day, size and pattern, here a file of a few KiB."""
    text = small.read_text().replace("n_jobs = 40", "n_jobs = 4000")
    small.write_text(text.replace("[sweep]", "[sweep]\njobs = false"))

    found = estimate(make_plan(Spec.read(small)), tmp_path / "new")

    assert found.disk_bytes < 8 * 20_000


def test_a_directory_of_something_else_is_left_alone(spec, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(ResultError, match="expected a new or empty directory or that of a sweep"):
        run_sweep(spec, tmp_path)

    assert not (tmp_path / "plan.json").exists()


def test_the_command_tells_cells_that_are_missing(command, small, tmp_path):
    folder = tmp_path / "array"

    assert command("sweep", small, "--plan", folder)[0] == 0
    status, out, err = command("gather", folder)

    assert (status, out) == (2, "")
    assert "8 of 8 cells are not finished, the first has scheduler.allocator = random" in err


def test_a_dry_run_writes_nothing(command, small, tmp_path):
    status, out, _ = command("sweep", small, "--dry-run", "--json", "--out", tmp_path / "out")

    assert status == 0
    assert json.loads(out)["cells"] == 8
    assert not (tmp_path / "out").exists()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Work in a directory of one's own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--task", "4/3"], "--task: expected TASK/TASKS such as 3/40, from 1 on, got '4/3'."),
        (["--tasks", "2"], "expected --plan DIR beside --tasks"),
        (["--dask", "x", "--dry-run"], "expected one of --dask and --dry-run, got both"),
        (
            ["--dask", "tcp://"],
            "expected the address of a Dask scheduler",
        ),
    ],
)
def test_options_that_make_no_sense_are_one_line(command, small, arguments, told):
    status, out, err = command("sweep", small, *arguments)

    assert (status, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_an_array_of_more_tasks_than_cells_is_not_planned(command, small, tmp_path):
    plan = tmp_path / "plan"
    status, _, err = command("sweep", small, "--plan", plan, "--tasks", "9")

    assert status == 2
    assert "at most one for each of 8 cells, got 9" in err
    assert not plan.exists()


def test_threads_of_one_process_compute_one_cell_at_a_time(spec, tmp_path, monkeypatch):
    """Workers of Dask may have several threads, which share what was read and made."""
    inside, most = [], []

    def slow(_desk, _folder, index):
        inside.append(index)
        time.sleep(0.02)
        most.append(len(inside))
        inside.remove(index)

    make_plan(spec).save(tmp_path)
    digest = digest_of(tmp_path)
    monkeypatch.setattr(executors, "_compute", slow)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda at: executors.compute(str(tmp_path), digest, at), range(8)))

    assert most == [1] * 8
