"""Claim a result directory: one process at a time writes into it."""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from coupling.errors import ResultError

LOCK = ".lock"
_LONGEST = 200  # bytes that a claim says of its holder


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Make a directory for results and claim it; what was made goes again if it stays empty."""
    made = _missing(folder)
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
        with claim(folder):
            yield
    finally:
        with suppress(OSError):  # something lies in it
            for path in made:
                path.rmdir()


def _missing(folder: Path) -> list[Path]:
    """Return a directory and those that hold it, the inner ones first, as far as there is none."""
    return [path for path in (folder, *folder.parents) if not os.path.lexists(path)]


@contextmanager
def claim(folder: Path) -> Iterator[None]:
    """
    Keep other processes from writing into a directory.

    `folder`: the directory; it holds a file ``.lock`` meanwhile.

    The operating system frees the claim of a process that was killed. A file system that
    knows no locks protects nobody.
    """
    handle = _locked(folder)
    try:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        words = f"process {os.getpid()} on {platform.node()} since {now}"
        with suppress(OSError):  # a full disk: nobody will know who we are
            os.truncate(handle, 0)
            os.write(handle, words.encode())
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK).unlink()  # while it is locked: who waits for it looks at the name again
        os.close(handle)


def _locked(folder: Path) -> int:
    """Open and lock the file that stands for the directory."""
    path = folder / LOCK
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            reason = error.strerror
            raise ResultError(f"{folder}: cannot be used for results: {reason}.") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, _LONGEST).decode(errors="replace")
            os.close(handle)
            who = holder if holder and holder.isprintable() else "another process"
            raise ResultError(
                f"{folder}: expected a directory that nobody writes into, got one that {who} "
                "is writing into; wait for its end."
            ) from None
        except OSError:
            return handle  # no locks here
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        os.close(handle)  # its holder has just gone, and the file with it
