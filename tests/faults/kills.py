"""Kill runs at random moments, and go on with them."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign
from faults.same import EXPERIMENT, differences, faults_of, is_complete

ROOT = Path(__file__).parents[2]
_MAIN = "from coupling.cli.root import main; main()"
_N_RUNS = 4  # that the experiment compares
_MOST_KILLS = 5  # of one result, before it may end
_LOOK_S = 0.005
_LONG_S = 600.0
_WORKER = "a worker process was killed (out of memory?)"


@dataclass(slots=True)
class Killer:
    """
    Runs of one experiment, killed and resumed until they end, in a folder of their own.

    `kills` counts by number of workers, whether the run was the first or resumed one, and what it
    was doing; `results` counts finished results by whether their bytes are those of the reference.
    """

    desk: Path
    chance: Random
    n_jobs: int = 400
    workers: tuple[int, ...] = (1, 2)
    kills: Counter = field(default_factory=Counter)
    whom: Counter = field(default_factory=Counter)
    results: Counter = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    run_s: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Run once for each number of workers without disturbance; that measures the rate."""
        file = self.desk / "try.toml"
        file.write_text(EXPERIMENT.format(n_jobs=self.n_jobs))
        experiment = Experiment.read(file)
        run_campaign(experiment, self.desk / "warm")  # what it compiles is no part of the rate
        began_s = time.monotonic()
        run_campaign(experiment, self.reference)
        self.run_s[1] = time.monotonic() - began_s
        for workers in self.workers[1:]:
            folder = self.desk / f"whole-{workers}"
            process = start(self.desk, folder, workers)
            began_s = _until(process, lambda: _claimed_by(folder, process.pid))  # noqa: B023
            done_s = _until(process, lambda: is_complete(folder))  # noqa: B023
            err = process.communicate(timeout=_LONG_S)[1]
            if process.returncode:
                raise RuntimeError(err)
            self.run_s[workers] = done_s - began_s
            self._judge(folder)

    @property
    def reference(self) -> Path:
        """The result that nobody disturbed."""
        return self.desk / "whole"

    def torment(self, number: int, workers: int, most: int = _MOST_KILLS) -> int:
        """Kill and resume one result until it ends; return how often it was killed."""
        folder = self.desk / f"killed-{number}"
        done = 0
        while done < most:
            if not self._attempt(folder, workers, resume=done > 0):
                break
            done += 1
            self.faults += faults_of(folder) if folder.exists() else []
        process = start(self.desk, folder, workers, resume=True)
        err = process.communicate(timeout=_LONG_S)[1]
        if process.returncode:
            self.faults.append(f"{folder}: status {process.returncode}: {err}")
        self._judge(folder)
        return done

    def _judge(self, folder: Path) -> None:
        """Compare a finished result with the reference."""
        found = differences(folder, self.reference)
        self.results[not found] += 1
        self.faults += [f"{folder}: {what}" for what in found]

    def _attempt(self, folder: Path, workers: int, *, resume: bool) -> bool:
        """Start a run and kill it; say whether it was killed before it ended."""
        process = start(self.desk, folder, workers, resume=resume)
        _until(process, lambda: _claimed_by(folder, process.pid))
        time.sleep(self.chance.uniform(0.0, self._left_s(folder, workers)))
        state = _state(folder)
        whom = self._kill(process, workers)
        err = process.communicate(timeout=_LONG_S)[1]  # workers hold the pipe while they live
        if process.returncode == 0:  # it was faster
            return False
        told = process.returncode == 2 and _WORKER in err.splitlines()[-1]
        if not (told if whom == "a worker" else process.returncode == -signal.SIGKILL):
            self.faults.append(f"{folder}: {whom} killed: status {process.returncode}: {err}")
        self.whom[whom] += 1
        self.kills[workers, "resumed" if resume else "first", state] += 1
        return True

    def _left_s(self, folder: Path, workers: int) -> float:
        """Return about how long a run still takes."""
        there = len(list(folder.glob("[!.]*/summary.json")))
        return self.run_s[workers] * max(_N_RUNS - there, 1) / _N_RUNS

    def _kill(self, process: subprocess.Popen, workers: int) -> str:
        """Kill the command, a worker of it, or all its processes; say which."""
        children = [] if workers == 1 else _workers_of(process.pid)
        whom = self.chance.choice(
            ("the command", "all", "a worker") if children else ("the command",)
        )
        with suppress(ProcessLookupError):
            if whom == "a worker":
                os.kill(self.chance.choice(children), signal.SIGKILL)
            elif whom == "all":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        return whom


def start(
    desk: Path,
    folder: Path,
    workers: int,
    *,
    resume: bool = False,
    before: str = "",
    cache: Path | None = None,
) -> subprocess.Popen:
    """Start the command in a process group of its own, after some code, with a cache of kernels."""
    words = ["run", "try.toml", "--out", folder.name, f"--workers={workers}"]
    more = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", before + _MAIN, *words, *(["--resume"] if resume else [])],
        cwd=desk,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _until(process: subprocess.Popen, sign: Callable[[], object]) -> float:
    """Wait for a sign, or for the end of the process; return the time."""
    deadline = time.monotonic() + _LONG_S
    while process.poll() is None and not sign() and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return time.monotonic()


def _claimed_by(folder: Path, pid: int) -> bool:
    """Say whether a process has claimed a directory."""
    try:
        return f"process {pid} " in (folder / ".lock").read_text()
    except OSError:
        return False


def _workers_of(pid: int) -> list[int]:
    """Return the workers of a process: its children, but for a tracker of resources."""
    with suppress(OSError):
        return [
            int(number)
            for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if b"resource_tracker" not in Path(f"/proc/{number}/cmdline").read_bytes()
        ]
    return []


def _state(folder: Path) -> str:
    """Say what a process is doing, as its folder shows it."""
    return "begin" if is_complete(folder) is None else "runs"
