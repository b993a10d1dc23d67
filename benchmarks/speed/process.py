"""Processes that are measured, and the logs that they read."""

import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

COMMAND = "from coupling.cli import main; main()"
COLD = "nothing compiled"  # in the name of what is timed so
STAR = "from fabricsim import *"
_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_S = 0.1
_LOOKS = 3  # that a process of any weight lives through


@dataclass(frozen=True, slots=True)
class Process:
    """
    What a process took, with those that it started.

    Parameters
    ----------
    cpu_s : float
        User and system, of all.
    peak_mib : float
        Of the largest.
    children_s : tuple of float
        CPU seconds of each process that it started, as last seen.
    printed : str
        Standard output.
    """

    cpu_s: float
    peak_mib: float
    children_s: tuple[float, ...]
    printed: str


def run_process(tree: Path, arguments: Sequence[str], **variables: str) -> Process:
    """
    Run Python in a version of the project.

    Where Python starts comes before its path: elsewhere every version would run this one's code.
    """
    environment = {**os.environ, "PYTHONPATH": str(tree), **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        subprocess.Popen(  # noqa: S603 (our own code)
            [sys.executable, *arguments],
            cwd=tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=nowhere,
            text=True,
        ) as process,
    ):
        seen: dict[int, float] = {}
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            seen |= {child: _cpu_s(child) for child in _children(process.pid)}
            time.sleep(_LOOK_S)
        printed = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    long = tuple(sorted(s for s in seen.values() if s > _LOOKS * _LOOK_S))
    return Process(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, long, printed)


def _children(process: int) -> Iterator[int]:
    """Yield the processes that a process has started and not ended."""
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            yield from map(int, tasks.read_text(encoding="ascii").split())
        except OSError:  # the thread has ended
            continue


def _cpu_s(process: int) -> float:
    """Return the CPU seconds that a process has taken so far."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS


def cut(log: Path, n_jobs: int | None, folder: Path) -> Path:
    """Return the log, or so many of its lines that are jobs, evenly spread, as a file."""
    if n_jobs is None:
        return log.resolve()
    target = folder / "log.swf"
    with gzip.open(log, "rt") as text:
        lines = list(text)
    heads = [line for line in lines if line.startswith(";")]
    jobs = [line for line in lines if not line.startswith(";")]
    kept = [jobs[i * len(jobs) // n_jobs] for i in range(min(n_jobs, len(jobs)))]
    target.write_text("".join(heads + kept), encoding="utf-8")
    return target


def repeated(log: Path, n_jobs: int, folder: Path) -> Path:
    """Write a log again and again, each time behind the last, until there are so many lines."""
    target = folder / "log.swf"
    with gzip.open(log, "rt") as text:
        lines = text.readlines()
    heads = [line for line in lines if line.startswith(";")]
    jobs = [line.split() for line in lines if not line.startswith(";")]
    last_id, span_s = (max(int(job[column]) for job in jobs) for column in (0, 1))
    with target.open("w", encoding="utf-8") as out:
        out.writelines(heads)
        for number in range(n_jobs):
            again, place = divmod(number, len(jobs))
            who, when, *rest = jobs[place]
            entry = [str(int(who) + again * last_id), str(int(when) + again * span_s), *rest]
            out.write(" ".join(entry) + "\n")
    return target


def cpu_s(tree: Path, name: str, arguments: Sequence[str]) -> float:
    """Return what a command takes in a version of the project."""
    with tempfile.TemporaryDirectory() as folder:
        filled = [part.replace("OUT", f"{folder}/out") for part in arguments]
        if filled == [STAR]:
            return run_process(tree, ("-c", STAR)).cpu_s
        empty = {"NUMBA_CACHE_DIR": f"{folder}/compiled"} if COLD in name else {}
        return run_process(tree, ("-c", COMMAND, *filled), **empty).cpu_s
