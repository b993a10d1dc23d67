"""Runs that are stopped or killed half-way, and what is told of those at work."""

import io
import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children

import pytest

from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.report.terminal import ProgressDisplay
from coupling.runs.campaign import run_campaign
from coupling.runs.result_directory import claimed
from coupling.runs.stored import Stored
from coupling.runs.workers import _IDLE, _PHASE, _Watch

MAIN = "from coupling.cli.root import main; main()"
LONG = """
[topology]
kind = "fat-tree"
radix = 8
[workload]
generator = "synth"
mean_nodes = 8
n_jobs = 20000
[compare]
allocators = ["first-free", "random"]
"""


def started(tmp_path, workers=1):
    """Start a long run in a process group of its own; return when it has begun to run jobs."""
    (tmp_path / "long.toml").write_text(LONG)
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", MAIN, "run", "long.toml", "--out", "out", f"--workers={workers}"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    sign = ".tasks.*.partial/tasks.pickle" if workers > 1 else "experiment.resolved.toml"
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob(sign)):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(
    ("number", "workers"),
    [
        pytest.param(signal.SIGTERM, 1, marks=pytest.mark.heavy),
        (signal.SIGTERM, 2),
        (signal.SIGINT, 1),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.heavy),
    ],
)
def test_a_signal_leaves_nothing_that_looks_like_a_result(tmp_path, command, number, workers):
    """One line, 128 + signal, no run directory, no hidden rest; the rest can be resumed."""
    process = started(tmp_path, workers)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal sends it
    else:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)  # workers hold the pipe as long as they live

    assert process.returncode == 128 + number
    told = [line for line in err.splitlines() if not line.startswith("compiling the ")]
    assert told == ["fabricsim: interrupted; go on with --resume --out out."]
    left = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert left == ["experiment.resolved.toml", "manifest.json"]
    status, out, err = command("compare", tmp_path / "out")
    assert (status, out) == (2, "")
    assert "not complete" in err
    assert err.count("\n") == 1


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    """At once, not only when they look for it, and the directory is free then."""
    process = started(tmp_path, workers=2)
    process.kill()
    process.communicate(timeout=30)  # workers hold the pipe as long as they live

    assert (tmp_path / "out" / ".lock").exists()
    with claimed(tmp_path / "out"):
        pass


def test_a_killed_worker_is_one_line_and_the_rest_is_resumed(tmp_path):
    """SIGKILL, as the kernel sends it when memory runs out."""
    tables = {
        "topology": {"kind": "fat-tree", "radix": 8},
        "workload": {"generator": "synth", "mean_nodes": 8, "n_jobs": 2500},
        "run": {"self_check": False},
        "compare": {"allocators": ["first-free", "random"]},
        "network": {"model": "null"},
    }
    experiment = Experiment.from_tables(tables, "test", tmp_path, "test")
    seen = []

    def kill_once(what, done, total):
        seen.append((what, done, total))
        if len(seen) == 1:
            os.kill(active_children()[0].pid, signal.SIGKILL)

    with pytest.raises(ResultError, match="a worker process was killed"):
        run_campaign(experiment, tmp_path / "out", workers=2, progress=kill_once)
    assert 0 <= seen[0][1] < seen[0][2] == 2500  # in the middle of a run
    assert not active_children()
    with pytest.raises(ResultError, match="not complete"):
        Stored.open(tmp_path / "out")
    campaign = run_campaign(experiment, tmp_path / "out", resume=True)

    assert [result.name for result in campaign.results] == ["first-free", "random"]
    assert not list((tmp_path / "out").rglob("*.partial"))


def test_progress_of_workers_is_told_phase_by_phase(experiment):
    """What the board says of two runs, one of which ends a phase between two looks."""
    told = []
    board = [_IDLE, _IDLE]
    watch = _Watch(
        [experiment(allocator="ta"), experiment(allocator="random", self_check=False)],
        300,
        board,
        lambda *words: told.append(words),
    )
    watch.look()
    board[0] = 7
    watch.look()
    board[:] = [_PHASE + 2, 9]
    watch.look()
    watch.finish(1)
    watch.look()

    assert told == [
        ("ta", 7, 300),
        ("ta", 300, 300),
        ("ta, infinite network", 2, 300),
        ("random", 9, 300),
        ("random", 300, 300),
        ("ta, infinite network", 2, 300),
    ]


def test_two_runs_at_once_have_a_line_each_when_they_end():
    stream = io.StringIO()

    with ProgressDisplay(stream) as progress:
        for done in range(101):
            progress("ta", done, 100)
            progress("jigsaw", done // 2, 100)
        progress("jigsaw", 100, 100)

    lines = stream.getvalue().splitlines()
    assert [line.split(" in ")[0] for line in lines] == ["ta: 100 jobs", "jigsaw: 100 jobs"]
