"""Read an input whole, with what every job log must hold; bounds on what it may hold."""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from fabricsim.checking.inputs import Input as Source
from fabricsim.checking.inputs import read_input, require_text
from scheduler.errors import WorkloadError

__all__ = ["MOST_ENTRIES", "Source", "bounded", "read_source"]

MOST_ENTRIES = 2_000_000
"""Jobs of a log that is read job by job; each takes a kilobyte of memory."""

_Item = TypeVar("_Item")


def read_source(path: str | Path, *, binary: bool = False) -> Source:
    """
    Read an input whole; gzip is recognised by its content.

    `binary`: whether zero bytes are expected; in text they are refused.
    """
    source = read_input(path, WorkloadError)
    if not source.data:
        raise WorkloadError(f"{source.name}: expected some content, got an empty file.")
    if binary:
        return source
    require_text(source.data, source.name, 1, WorkloadError)
    return Source(source.name, source.data.removeprefix(codecs.BOM_UTF8), source.sha256)


def bounded(entries: Iterable[_Item], source: Source) -> Iterator[_Item]:
    """Refuse a log that holds more than `MOST_ENTRIES` jobs, before memory is full."""
    for number, entry in enumerate(entries):
        if number == MOST_ENTRIES:
            raise WorkloadError(f"{source.name}: expected at most {number:,} jobs, got more.")
        yield entry
