"""Write files whole or not at all: the only place of the project that writes a file."""

import fcntl
import os
import re
import stat
from contextlib import suppress
from io import FileIO
from pathlib import Path

from fabricsim.checking.outputs import require_free

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}\.partial")
_ACCESS_LIST = "system.posix_acl_access"
_NAME = 48  # letters of a target's name in that of its temporary file, which may not grow too long


def replace_file(path: Path | str, data: str | bytes, *, own: bool = False) -> None:
    """
    Write a file: whenever the process ends, the old one or the new one is there.

    The data goes into a locked temporary file of the same folder, to the disk, and then under the
    name; leftovers of killed writers are removed. Owner, permissions and access list stay; links
    are followed; pipes and devices are written to as they are. One of several hard links is written
    in place: a crash can leave half of it. `own`: the file belongs to the result that is being
    written.
    """
    data = data.encode("utf-8") if isinstance(data, str) else data
    target = Path(os.path.realpath(path))
    if not own:
        require_free(path)
    old = target.stat() if target.exists() else None
    if old is not None and not (stat.S_ISREG(old.st_mode) and old.st_nlink == 1):
        _write_in_place(Path(path), data)
        return
    remove_leftovers(target.parent, _temporary_prefix(target.name))
    partial, handle = _temporary_file(target)
    try:
        with os.fdopen(handle, "wb") as file:
            if old is not None:
                _keep_access(target, old, handle)
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


def _write_in_place(path: Path, data: bytes) -> None:
    """Write in place to what has an identity: a device, a pipe, or a file of several names."""
    if not path.is_file():
        path.write_bytes(data)
        return
    with path.open("r+b", buffering=0) as file:
        before = file.read()
        try:
            _overwrite_file(file, data)
        except OSError:
            _overwrite_file(file, before)  # its room is still there
            raise


def _overwrite_file(file: FileIO, data: bytes) -> None:
    """Make data the contents of a file."""
    file.seek(0)
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
    file.truncate()
    os.fsync(file.fileno())


def _keep_access(target: Path, old: os.stat_result, handle: int) -> None:
    """Give a new file the owner, permissions and access list of the one that it replaces."""
    now = os.fstat(handle)
    if (old.st_uid, old.st_gid) != (now.st_uid, now.st_gid):
        with suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
    mode = stat.S_IMODE(old.st_mode)
    if os.fstat(handle).st_gid != old.st_gid:
        mode &= ~stat.S_IRWXG  # another group than the one that was allowed
    os.fchmod(handle, mode)
    with suppress(OSError, AttributeError):  # the system or its disk knows no lists
        os.setxattr(handle, _ACCESS_LIST, os.getxattr(target, _ACCESS_LIST))


def remove_leftovers(folder: Path, begin: str = ".") -> None:
    """Remove temporary files of writers that were killed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(begin) and is_leftover(entry.name):
                _remove_idle(entry.path)


def is_leftover(name: str) -> bool:
    """Say whether `temporary_name` made a name."""
    return _LEFTOVER.fullmatch(name) is not None


def temporary_name(name: str) -> str:
    """Return a new hidden name, known to `is_leftover`, for a file until it is complete."""
    return f"{_temporary_prefix(name)}{os.urandom(4).hex()}.partial"


def sync_folder(folder: Path) -> None:
    """Let names that were given in a folder reach the disk, where its file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _temporary_prefix(name: str) -> str:
    """Return how the names of temporary files of a target begin."""
    return f".{name[:_NAME]}."


def _temporary_file(target: Path) -> tuple[Path, int]:
    """Make a temporary file next to a target, and hold its lock."""
    mode = 0o600 if target.exists() else 0o666  # closed until it has the access of the old one
    while True:
        partial = target.with_name(temporary_name(target.name))
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
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
