"""Placement logs: jobs placed on and removed from a machine, in order (Stoltzfus13)."""

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from scheduler.errors import WorkloadError
from scheduler.workload.base import Workload, bounded, read_source
from scheduler.workload.entries import (
    Entry,
    is_missing,
    read_count,
    read_seconds,
    refuse,
    workload_of,
)
from scheduler.workload.filters import Filters, ReadOptions

_PLACE, _REMOVE = {"P", "PLACE"}, {"F", "R", "REMOVE", "FREE"}
_SHORT, _LONG = 2, 3  # words of a line that removes and of one that places, without time


def read_placement_log(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read a log of placements and removals.

    Each line is ``P id nodes`` or ``F id``, followed by the time in seconds if all lines have one;
    lines that begin with ``#`` or ``;`` are comments. Without times, event k happens at k seconds.
    A job is submitted when it was placed and runs until its removal, or to the end of the log. A
    number that is placed again is a new job with a new number. Stoltzfus13, section 3.1: "P for
    place and F for remove"; its log has no times that count.
    """
    filters = Filters(**options)
    source = read_source(path)
    entries: list[Entry] = []
    running: dict[str, int] = {}
    used: set[str] = set()
    now = 0.0
    timed: bool | None = None
    for number, line in enumerate(bounded(source.lines(), source), start=1):
        words = line.decode("utf-8", "backslashreplace").split()
        if not words or words[0][0] in "#;":
            continue
        place = f"{source.name}:{number}"
        kind, words = _line_kind(words, place)
        bare = _LONG if kind == "P" else _SHORT
        timed = len(words) > bare if timed is None else timed
        if len(words) != bare + timed:
            raise WorkloadError(f"{place}: expected {bare + timed} fields, got {len(words)}.")
        now = _event_time(words[-1], now, place) if timed else now + 1
        job = words[1]
        if kind == "P":
            if job in running:
                raise refuse(place, "id", "a job that is not placed", job)
            running[job] = len(entries)
            entries.append(_placed_entry(job, words[2], place, now, fresh=job not in used))
            used.add(job)
        elif job not in running:
            raise refuse(place, "id", "a job that is placed", job)
        else:
            _end_entry(entries, running.pop(job), now)
    for index in running.values():
        _end_entry(entries, index, now + (not timed))
    return workload_of(entries, filters, source)


def _line_kind(words: list[str], place: str) -> tuple[str, list[str]]:
    """Say whether a line places or removes."""
    word = words[0].upper()
    if word in _PLACE:
        return "P", words
    if word in _REMOVE:
        return "F", words
    raise refuse(place, "event", "P (place) or F (remove)", words[0])


def _event_time(word: str, now: float, place: str) -> float:
    """Read the time of an event."""
    time = read_seconds(word, place, "time")
    if time < now:
        raise refuse(place, "time", f"at least {now:g}, the time of the line before", word)
    return time


def _placed_entry(job: str, nodes: str, place: str, now: float, *, fresh: bool) -> Entry:
    """Return the entry of a job that was placed, its run time yet unknown."""
    number = None if is_missing(job) else read_count(job, place, "id")
    size = read_count(nodes, place, "nodes")
    return Entry(place, number if fresh else None, now, 0.0, size, start_s=now)


def _end_entry(entries: list[Entry], index: int, now: float) -> None:
    """Set the run time of a job that is removed."""
    entries[index] = replace(entries[index], runtime_s=now - entries[index].submit_s)
