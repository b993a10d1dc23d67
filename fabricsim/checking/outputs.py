"""What an output may overwrite: no input or other output of the same call, no stored result."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
"""Lists the files of a result directory; without it the result cannot be read."""

PLAN = "plan.json"
"""Lists the cells of a sweep."""

_OF_SWEEPS = frozenset(
    {PLAN, "sweep.toml", "gathered.json", "cells.parquet", "classes.parquet", "days.parquet"}
)
_FOLDERS_OF_SWEEPS = frozenset({"marks", "costs", "jobs", "classes"})
_DEPTH = 3  # folders between a file of a result and its manifest, at most
_READ = "expected another file for the output than one that is read"
_TWICE = "expected another file for each output"
_STORED = "expected another file for the output than one of a stored result"

_File = tuple[int, int]  # device and number, which all names of a file share


@dataclass(slots=True)
class _Call:
    """The files that one call reads, and those that it will write."""

    read: set[_File] = field(default_factory=set)
    outputs: set[_File] = field(default_factory=set)
    names: set[str] = field(default_factory=set)  # of the outputs, whether they exist or not


_CALL: ContextVar[_Call | None] = ContextVar("call", default=None)


@contextmanager
def one_call() -> Iterator[None]:
    """Take what is read and written inside the block as one call."""
    token = _CALL.set(_Call())
    try:
        yield
    finally:
        _CALL.reset(token)


def note_read(path: Path | str) -> None:
    """Keep a file from being overwritten by this call; refuse one that is named as its output."""
    call = _CALL.get()
    file = _regular_file(path)
    if call is None or file is None:
        return
    if file in call.outputs:
        raise _output_error(path, _READ)
    call.read.add(file)


def declare_output(path: Path | str) -> None:
    """Refuse an output that would overwrite an input, a stored result or another output."""
    # Files that are read later are checked against it then.
    require_free(path)
    call, file, name = _CALL.get(), _regular_file(path), os.path.realpath(path)
    if call is None:
        return
    if file is not None:
        call.outputs.add(file)
    if name in call.names and (file is not None or not Path(name).exists()):  # no device
        raise _output_error(path, _TWICE)
    call.names.add(name)


def require_free(path: Path | str) -> None:
    """Refuse to overwrite what this call has read, or a file of a stored result."""
    file = _regular_file(path)
    if file is None:
        return
    call = _CALL.get()
    if call is not None and file in call.read:
        raise _output_error(path, _READ)
    if _is_stored(Path(os.path.realpath(path))):
        raise _output_error(path, _STORED)


def require_apart(path: Path | str, *sources: Path | str) -> None:
    """Refuse to overwrite a file that what is written was read from, in this call or before."""
    file = _regular_file(path)
    if file is not None and file in map(_regular_file, sources):
        raise _output_error(path, _READ)


def _regular_file(path: Path | str) -> _File | None:
    """Return what stands for a regular file; None where there is none."""
    with suppress(OSError, ValueError):
        if Path(path).is_file():
            found = Path(path).stat()
            return found.st_dev, found.st_ino
    return None


def _is_stored(path: Path) -> bool:
    """Say whether a result or a sweep around a file lists it."""
    for folder in list(path.parents)[:_DEPTH]:
        place = path.relative_to(folder)
        files = _read_listing(folder / MANIFEST, "fingerprint").get("files")
        if isinstance(files, dict) and place.as_posix() in {MANIFEST, *files}:
            return True
        inside = place.parts[0] in (_OF_SWEEPS if len(place.parts) == 1 else _FOLDERS_OF_SWEEPS)
        if inside and _read_listing(folder / PLAN, "sweep_sha256"):
            return True
    return False


def _read_listing(path: Path, mark: str) -> dict[str, Any]:
    """Read a file that lists what a directory holds; empty where it is none of ours."""
    with suppress(OSError, ValueError, RecursionError):
        document = json.loads(path.read_bytes())
        if isinstance(document, dict) and mark in document:
            return document
    return {}


def _output_error(path: Path | str, expected: str) -> OSError:
    """Return the error of an output that would destroy something."""
    return FileExistsError(errno.EEXIST, expected, str(path))
