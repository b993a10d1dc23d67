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
_TRIES = 100  # at a directory that others take away
_LONGEST = 200  # bytes that a claim says of its holder


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """
    Make a directory for results, and keep other processes from writing into it.

    `folder`: the directory; it holds a file ``.lock`` meanwhile. What was made goes again if it
    stays empty.

    The operating system frees the claim of a process that was killed. A file system that
    knows no locks protects nothing.
    """
    made: list[Path] = []
    try:
        handle = _made_and_locked(folder, made)
        try:
            _write_owner(handle)
            yield
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()  # while locked: a process that waits looks again
            os.close(handle)
    finally:
        with suppress(OSError):  # something lies in it
            for path in made:
                path.rmdir()


def _made_and_locked(folder: Path, made: list[Path]) -> int:
    """Make and lock a directory; again where another process takes it away meanwhile."""
    reason = "cannot be used for results: No such file or directory"
    for _ in range(_TRIES):
        missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
        if len(missing) > len(made):
            made[:] = missing
        try:
            folder.mkdir(parents=True, exist_ok=True)
            reason = (
                "expected a directory for results that stays, got one that another process takes "
                "away; run this when it has ended"
            )
            return _lock_file(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            if isinstance(error, FileExistsError) and not os.path.lexists(folder):
                continue
            raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
    raise ResultError(f"{folder}: {reason}.")


def _write_owner(handle: int) -> None:
    """Write our process into a locked file."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    words = f"process {os.getpid()} on {platform.node()} since {now}"
    with suppress(OSError):  # a full disk: the note is lost
        os.truncate(handle, 0)
        os.write(handle, words.encode())


def _lock_file(folder: Path) -> int:
    """Open and lock the file that stands for the directory."""
    path = folder / LOCK
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, _LONGEST).decode(errors="replace")
            os.close(handle)
            who = holder if holder and holder.isprintable() else "another process"
            raise ResultError(
                f"{folder}: expected a directory that no process writes into, got one that {who} "
                "is writing into; wait for its end."
            ) from None
        except OSError:
            return handle  # no locks here
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        os.close(handle)  # its holder has just gone, and the file with it
