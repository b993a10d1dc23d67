"""Entries: the jobs of a log one by one, for formats that are not read as whole columns."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fabricsim.checking.values import MOST_WHOLE
from netsim.common import hostlist
from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from scheduler.errors import WorkloadError
from scheduler.workload.base import UNITS, Source, Workload
from scheduler.workload.filters import (
    LABELS,
    LARGEST,
    MISSING,
    Filters,
    Records,
    select_jobs,
)


def expand_hostlist(text: str) -> list[str]:
    """
    Return the names in a host list, as `netsim.common.hostlist.expand_hostlist` does.

    Parameters
    ----------
    text : str
        Names separated by commas; brackets hold numbers and ranges.

    Returns
    -------
    list of str
        Names in the order in which they are written, repeats kept.

    Raises
    ------
    WorkloadError
        If it is no host list, or too long.

    Examples
    --------
    >>> expand_hostlist("n[08-10,3],login1")
    ['n08', 'n09', 'n10', 'n3', 'login1']
    """
    try:
        return hostlist.expand_hostlist(text)
    except TopologyError as error:
        raise WorkloadError(str(error)) from None


_NOTHING = {"", "none", "null", "n/a", "nan", "na", "unknown", "-1"}
BACKWARDS = "ends before it starts"
AGAIN = "listed a second time, with the same number and start"
LATER_RUNS = "runs whose number an earlier run has: each is a job of its own"
_MISSING_ID = "jobs whose id is missing: numbered above all others"
_ODD_ID = "jobs whose id is no plain number: numbered above all others"
_PADDED = "cells with blanks around their text: without them"
_HOUR_S = 3600.0
_CLOCK_S = 5.0  # of an hour by which a clock was set, and of the time that Slurm rounds
_SHOWN = 40  # characters of a bad value in a message


@dataclass(frozen=True, slots=True)
class Entry:
    """One job as a log has it; -1 where a number is missing."""

    place: str  # file and line, or file and position, for errors
    id: int | None  # none where the log has no usable number
    # submit_s, runtime_s, requested_s: seconds
    submit_s: float
    runtime_s: float
    n_nodes: int
    requested_s: float = MISSING
    unfit: str = ""  # reason to drop the job that only this format knows; empty if none
    name: str = ""
    # ``user``, ``group``, ``executable``, ``queue``, as numbers or names
    labels: Mapping[str, object] = field(default_factory=dict)
    extra: tuple[tuple[str, str], ...] = ()
    # when it started, on the clock of `submit_s`; None where the log lacks it
    start_s: float | None = None
    hosts: str = ""  # where it ran: a host list
    # when it ended, or has to by its limit, on the clock of `submit_s`; None where the log lacks it
    end_s: float | None = None
    skipped: bool = False  # whether one of its times is none, as the clock was set forward over it
    # whether one of its times was there twice, as the clock was set back; the first is taken
    twice: bool = False
    zoned: bool = True  # whether its times have a time zone
    padded: int = 0  # cells that had blanks around their text
    # cores, gpus, memory_mb: asked for on all nodes together; 0: unknown
    cores: int = 0
    gpus: int = 0
    memory_mb: int = 0
    sizes: tuple[tuple[int, float], ...] = ()  # of a moldable job; what it asks for comes first


def workload_of(entries: Sequence[Entry], filters: Filters, source: Source) -> Workload:
    """
    Turn the entries of a log into a workload.

    A number and a start are one run: what repeats it is dropped, and a later run of the same number
    has it in the further column ``jobid``. Those without a number get numbers above all others;
    labels that are names are numbered in the order in which they appear, with the names as further
    columns.
    """
    if not entries:
        raise WorkloadError(f"{source.name}: expected at least one job, got none.")
    again, later = repeated_runs(entries)
    entries = [
        replace(entry, unfit=AGAIN)
        if at in again
        else _renumbered_run(entry)
        if at in later
        else entry
        for at, entry in enumerate(entries)
    ]
    ids = _numbered_entries(entries)
    missing = sum(e.id is None and is_missing(dict(e.extra).get("jobid")) for e in entries)
    _check_times(entries)
    reasons = dict.fromkeys(entry.unfit for entry in entries if entry.unfit)
    names = {
        label: {
            text: number for number, text in enumerate(dict.fromkeys(_label_names(entries, label)))
        }
        for label in LABELS
    }
    records = Records(
        id=np.array(ids, dtype=np.int64),
        submit_s=np.array([entry.submit_s for entry in entries], dtype=np.float64),
        runtime_s=np.array([entry.runtime_s for entry in entries], dtype=np.float64),
        requested_s=np.array([entry.requested_s for entry in entries], dtype=np.float64),
        n_nodes=np.array([entry.n_nodes for entry in entries], dtype=np.int64),
        unfit={
            reason: np.array([entry.unfit == reason for entry in entries]) for reason in reasons
        },
        labels={label: _label_numbers(entries, label, names[label]) for label in LABELS},
        names=[entry.name for entry in entries],
        extra=[_with_names(entry, names) for entry in entries],
        start_s=np.array([entry.start_s for entry in entries], dtype=np.float64),
        hosts=[entry.hosts for entry in entries],
        units={
            name: np.array([max(0, getattr(entry, name)) for entry in entries], dtype=np.int64)
            for name in UNITS
        },
        sizes=[entry.sizes for entry in entries] if any(e.sizes for e in entries) else None,
        remarks={
            LATER_RUNS: len(later),
            _MISSING_ID: missing,
            _ODD_ID: sum(entry.id is None for entry in entries) - len(later) - missing,
            _PADDED: sum(entry.padded for entry in entries),
        },
    )
    return select_jobs(records, filters, source)


def repeated_runs(entries: Sequence[Entry]) -> tuple[set[int], set[int]]:
    """
    Return places of repeated entries of a run, and of later runs of a number.

    A number and a start are one run; of entries about the same run, the first with its end counts.
    """
    best: dict[tuple[int, float], int] = {}
    for at, entry in enumerate(entries):
        if entry.id is None or entry.start_s is None or entry.unfit:
            continue
        other = best.setdefault((entry.id, entry.start_s), at)
        if entries[other].end_s is None and entry.end_s is not None:
            best[entry.id, entry.start_s] = at
    again, later = set[int](), set[int]()
    started = set[int]()
    for at, entry in enumerate(entries):
        if entry.id is None or entry.start_s is None or entry.unfit:
            continue
        if best[entry.id, entry.start_s] != at:
            again.add(at)
        elif entry.id in started:
            later.add(at)
        else:
            started.add(entry.id)
    return again, later


def _renumbered_run(entry: Entry) -> Entry:
    """Return a run that gets another number, with the log's as a further column."""
    has_id = "jobid" in dict(entry.extra)
    return replace(
        entry, id=None, extra=entry.extra if has_id else (*entry.extra, ("jobid", str(entry.id)))
    )


def _numbered_entries(entries: Sequence[Entry]) -> list[int]:
    """Give numbers to entries that have none; refuse a number used twice."""
    seen: dict[int, str] = {}
    for entry in entries:
        ran = entry.start_s is not None or entry.runtime_s > 0
        if entry.id is not None and not entry.unfit and ran:
            if entry.id in seen:
                raise WorkloadError(
                    f"{entry.place}: field id: expected a number not used before "
                    f"({seen[entry.id]}), got {entry.id}."
                )
            seen[entry.id] = entry.place
    fresh = max((entry.id for entry in entries if entry.id is not None), default=0)
    if fresh + len(entries) >= MOST_WHOLE:
        raise WorkloadError(
            f"{entries[0].place}: field id: expected numbers that leave room for jobs without one, "
            f"got {fresh} in this log."
        )
    ids = []
    for entry in entries:
        if entry.id is None:
            fresh += 1
        ids.append(fresh if entry.id is None else entry.id)
    return ids


def _check_times(entries: Sequence[Entry]) -> None:
    """Refuse durations that no format can hold: limits are given in days and minutes as well."""
    for entry in entries:
        for name in ("submit_s", "runtime_s", "requested_s"):
            value = getattr(entry, name)
            if not value < LARGEST:
                raise refuse(entry.place, name.removesuffix("_s"), "seconds below 2^53", value)


def _label_names(entries: Sequence[Entry], label: str) -> list[str]:
    """Return the labels that are no numbers."""
    texts = (_label_text(entry, label) for entry in entries)
    return [text for text in texts if text and not _is_number(text)]


def _label_text(entry: Entry, label: str) -> str:
    """Return a label as text, empty where there is none."""
    value = entry.labels.get(label)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise refuse(entry.place, label, "a number or a text", value)
    return str(value)


def _is_number(text: str) -> bool:
    """Whether a label is a number that a job can carry; -1 is none."""
    short = len(text) <= len(str(LARGEST))
    return text == "-1" or (short and text.isdecimal() and text.isascii() and int(text) < LARGEST)


def _label_numbers(entries: Sequence[Entry], label: str, names: Mapping[str, int]) -> Ints:
    """Return one label of all entries as numbers."""
    texts = [_label_text(entry, label) for entry in entries]
    numbers = [names[text] if text in names else int(text or MISSING) for text in texts]
    return np.array(numbers, dtype=np.int64)


def _with_names(
    entry: Entry, names: Mapping[str, Mapping[str, int]]
) -> tuple[tuple[str, str], ...]:
    """Return the further columns of an entry, labels that are names among them."""
    texts = ((label, _label_text(entry, label)) for label in LABELS)
    return entry.extra + tuple((label, text) for label, text in texts if text in names[label])


def backwards_reason(start_s: float, end_s: float, runtime_s: float) -> str:
    """
    Return why a job is dropped that ends before it starts; empty where it does not.

    Nor where a time is missing (0 or less), or the clock was set back by an hour meanwhile.
    """
    known = 0 < end_s < start_s and runtime_s > 0
    return BACKWARDS if known and not set_by_an_hour(end_s - start_s - runtime_s) else ""


def set_by_an_hour(more_s: float) -> bool:
    """Say whether a clock was set by an hour: by how much end - start is more than the run time."""
    return abs(abs(more_s) - _HOUR_S) <= _CLOCK_S


def refuse(place: str, name: str, expected: str, got: object) -> WorkloadError:
    """Make the error for one value of one job."""
    text = repr(got)
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return WorkloadError(f"{place}: field {name}: expected {expected}, got {text}.")


def is_missing(value: object) -> bool:
    """Say whether a value means unknown: nothing, an empty text, -1, ``Unknown``."""
    return value is None or (not isinstance(value, bool) and str(value).lower() in _NOTHING)


def read_seconds(value: object, place: str, name: str) -> float:
    """Read a time or duration in seconds; -1 where missing."""
    if is_missing(value):
        return float(MISSING)
    number = _finite_number(value)
    if number is None or not 0 <= number < LARGEST:
        raise refuse(place, name, "seconds from 0, or -1 for missing", value)
    return number


def read_count(value: object, place: str, name: str) -> int:
    """Read a whole number; -1 where missing."""
    if is_missing(value):
        return MISSING
    number = _finite_number(value)
    if number is None or not 0 <= number < LARGEST or number != math.floor(number):
        raise refuse(place, name, "a whole number from 0, or -1 for missing", value)
    return int(number)


def read_sizes(
    value: object, place: str, n_nodes: int, runtime_s: float
) -> tuple[tuple[int, float], ...]:
    """
    Read the sizes of a moldable job, ``"4:100 8:60"`` or pairs of nodes and seconds.

    What it asks for, `n_nodes` and `runtime_s`, is a size too and comes first.
    """
    if is_missing(value):
        return ()
    listed = value.split() if isinstance(value, str) else value
    pairs = [own.split(":") if isinstance(own, str) else own for own in _listed(listed)]
    found = dict[int, float]()
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:  # noqa: PLR2004
            raise refuse(place, "sizes", "nodes and run times, such as '4:100 8:60'", value)
        size, own_s = read_count(pair[0], place, "sizes"), read_seconds(pair[1], place, "sizes")
        if size < 1 or own_s <= 0:
            raise refuse(place, "sizes", "nodes from 1, each with a run time above 0 s", value)
        if size in found:
            raise refuse(place, "sizes", f"each size once, {size} nodes are there twice", value)
        found[size] = own_s
    if n_nodes < 1 or runtime_s <= 0:
        return ()
    if found.get(n_nodes, runtime_s) != runtime_s:
        expected = f"{runtime_s:g} s on {n_nodes} nodes, which the job asks for"
        raise refuse(place, "sizes", expected, value)
    others = [own for own in found.items() if own[0] != n_nodes]
    return ((n_nodes, runtime_s), *others) if others else ()


def _listed(value: object) -> Sequence[object]:
    """Return a list as it is, anything else as the one entry of a list."""
    return value if isinstance(value, (list, tuple)) else [value]


def n_hosts(text: str, place: str, name: str) -> int:
    """Count the hosts of a list, each once."""
    try:
        return len(set(expand_hostlist(text)))
    except WorkloadError as error:
        raise WorkloadError(f"{place}: field {name}: {error}") from error


def read_job_id(value: object, place: str, name: str = "id") -> int | None:
    """Read the number of a job, which has up to 63 bits (Flux's has more than a float holds)."""
    if is_missing(value):
        return None
    text = "" if isinstance(value, bool) else str(value)
    if text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_WHOLE)):
        number = int(text)
        if number < MOST_WHOLE:
            return number
    return read_count(value, place, name)


def _finite_number(value: object) -> float | None:
    """Return a value as a finite number, if it is one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, str) and not value.isascii():
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and "_" not in str(value) else None
