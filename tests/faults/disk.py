"""Let writes fail for want of room, or places be closed, and go on afterwards."""

import errno
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign
from faults.kills import start
from faults.same import differences, faults_of

LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}));"
NO_CACHE = "import os; os.environ['NUMBA_CACHE_DIR'] = '/dev/null/closed';"
_LONG_S = 600.0


@contextmanager
def full_at(number: int) -> Iterator[list[int]]:
    """Let the disk be full at one of the writes of this process, half-way; yield their count."""
    real, count = os.fsync, [0]

    def fsync(handle: int) -> None:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            count[0] += 1
            if count[0] == number:
                os.ftruncate(handle, os.fstat(handle).st_size // 2)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with patch("netsim.common.atomic_write.os.fsync", fsync):
        yield count


def fill_at(number: int, experiment: Experiment, folder: Path, reference: Path) -> list[str] | None:
    """Run with a disk that is full at one write, and resume; None where there was no such write."""
    with full_at(number) as count:
        try:
            run_campaign(experiment, folder)
        except ResultError as error:
            text = str(error)
        else:
            text = ""
    if count[0] < number:
        return None
    found = faults_of(folder)
    if not text.endswith("cannot be written: No space left on device."):
        found.append(f"write {number}: expected words on the full disk, got {text!r}")
    found += [f"write {number}: left {path.name}" for path in folder.rglob(".*")]
    run_campaign(experiment, folder, resume=True)
    return found + [f"write {number}: {what}" for what in differences(folder, reference)]


def limit(size: int, workers: int, desk: Path, reference: Path) -> list[str]:
    """Run the command where no file may grow past a size, and resume where it may."""
    folder = desk / f"limit-{size}-{workers}"
    process = start(desk, folder, workers, before=LIMIT.format(size))
    err = process.communicate(timeout=_LONG_S)[1]
    found = faults_of(folder)
    last = (err.splitlines() or [""])[-1]
    if process.returncode != 2 or "cannot be written: File too large." not in last:
        found.append(f"{folder}: status {process.returncode}: {err}")
    found += [f"{folder}: left {path.name}" for path in folder.rglob(".*")]
    return found + _resumed(start(desk, folder, workers, resume=True), folder, reference)


def closed_cache(desk: Path, reference: Path) -> list[str]:
    """Run where compiled code can be kept nowhere."""
    folder = desk / "closed-cache"
    return _resumed(start(desk, folder, 1, before=NO_CACHE), folder, reference)


def killed_compiler(desk: Path, reference: Path, after_s: float) -> list[str]:
    """Kill a run that compiles into an empty cache, and go on with that cache."""
    folder, cache = desk / "compiler", desk / "cache"
    process = start(desk, folder, 1, cache=cache)
    try:
        process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate(timeout=_LONG_S)
    return _resumed(start(desk, folder, 1, resume=True, cache=cache), folder, reference)


def _resumed(process: subprocess.Popen, folder: Path, reference: Path) -> list[str]:
    """Say what is wrong with a run when it has ended."""
    err = process.communicate(timeout=_LONG_S)[1]
    if process.returncode:
        return [f"{folder}: status {process.returncode}: {err}"]
    return [f"{folder}: {what}" for what in differences(folder, reference)]
