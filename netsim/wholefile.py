"""Write files whole or not at all: the only place of the project that writes a file."""

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}\.partial")
_NAME = 48  # letters of a target's name in that of its temporary file, which may not grow too long


def replace_file(path: Path | str, data: str | bytes) -> None:
    """
    Write a file: whenever the process ends, the old one or the new one is there.

    `path`: the file; one that a link names stays behind its link. What is no regular file, such as
    a pipe or a device, is written to as it is. `data`: its contents; text becomes UTF-8.

    The data goes into a temporary file of the same folder, to the disk, and then under the
    name. The temporary file is locked while its writer lives: those of killed writers are
    removed when the same file is written again.
    """
    data = data.encode("utf-8") if isinstance(data, str) else data
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        Path(path).write_bytes(data)
        return
    remove_leftovers(target.parent, _begin(target.name))
    partial, handle = _temporary(target)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            partial.replace(target)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)  # not the temporary one, or none
        raise
    sync_folder(target.parent)


def remove_leftovers(folder: Path, begin: str = ".") -> None:
    """Remove temporary files of writers that were killed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(begin) and is_leftover(entry.name):
                _remove_idle(entry.path)


def is_leftover(name: str) -> bool:
    """
    Say whether a name is that of a temporary file.

    Result: whether `temporary_name` made it.
    """
    return _LEFTOVER.fullmatch(name) is not None


def temporary_name(name: str) -> str:
    """
    Return a new name for what will be called otherwise when it is complete.

    Result: a hidden name that `is_leftover` knows.
    """
    return f"{_begin(name)}{os.urandom(4).hex()}.partial"


def sync_folder(folder: Path) -> None:
    """Let names that were given in a folder reach the disk, where its file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _begin(name: str) -> str:
    """Return how the names of temporary files of a target begin."""
    return f".{name[:_NAME]}."


def _temporary(target: Path) -> tuple[Path, int]:
    """Make a temporary file beside a target, and hold its lock."""
    while True:
        partial = target.with_name(temporary_name(target.name))
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(OSError):
            if os.path.samestat(partial.stat(), os.fstat(handle)):
                return partial, handle
        os.close(handle)  # another writer has taken it for a leftover before it was locked


def _remove_idle(path: str) -> None:
    """Remove a temporary file, unless its writer lives."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Path(path).unlink()
        finally:
            os.close(handle)
