"""The record of a cluster: jobs with their starts, ends and places, and what is odd about them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from math import inf
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.places import (
    JobPlacement,
    JobPlacements,
    array_task,
    het_part,
    place,
    stated_nodes,
)
from netsim.topology.base import Topology
from scheduler.queues.pinned import Pin
from scheduler.workload.base import Source, Workload, read_source
from scheduler.workload.entries import (
    AGAIN,
    BACKWARDS,
    Entry,
    repeated_runs,
    set_by_an_hour,
    workload_of,
)
from scheduler.workload.filters import Filters
from scheduler.workload.json_lists import job_tables
from scheduler.workload.slurm import (
    is_sacct_json,
    is_skipped,
    is_twice,
    read_instant,
    sacct_entries,
    tells_zone,
)
from scheduler.workload.squeue import squeue_entries
from scheduler.workload.states import UNFINISHED

NO_ZONE = "times are UTC: the records have no time zone"
"""What is assumed of a record whose times have no offset, where no zone is given."""
_NEVER = "never started, or without hosts"
_PAST_LIMIT = "jobs without an end, past their time limit: they end with it"
_STEP = "job steps (sacct -X leaves them out)"


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Jobs that ran on a fabric, when and where."""

    # The jobs, second 0 the first start. Jobs that were submitted before come at 0.
    workload: Workload
    pins: Mapping[int, Pin]  # Start, end and nodes, by job id
    placed: Mapping[int, JobPlacement]  # Nodes of the jobs, each once, and ranks on them
    submit_s: Mapping[int, float]  # True times of submission, which may lie before 0
    notes: Mapping[str, int]  # What is odd, by what it is: how many
    left_out: Mapping[str, int]  # Jobs of the file that are not replayed, by reason
    unknown_hosts: tuple[str, ...]  # Hosts that the fabric has not
    lost_share: float  # Share of the node time of the record on such hosts
    zone: str  # Time zone of the clock; empty where it is unknown
    # Whether its times have offsets and no zone was given: other times need offsets too
    offsets: bool

    def __repr__(self) -> str:
        return f"<Record: {len(self.pins)} jobs>"

    @property
    def counts(self) -> Mapping[str, float]:
        """What a reader of a replay must know, by what it is."""
        counts: dict[str, float] = {**self.notes}
        counts |= {f"jobs left out: {why}": count for why, count in self.left_out.items()}
        if self.unknown_hosts:
            counts["hosts that the fabric has not"] = len(self.unknown_hosts)
            counts["share of the node time on such hosts"] = self.lost_share
        return counts


def read_record(
    path: Path | str, topology: Topology, *, stop: bool = False, zone: str | None = None
) -> Record:
    """Read jobs, times and places from ``sacct -X -P`` or ``squeue --json``."""
    # A job without an end ends with the record, or with its time limit before. Where the clock was
    # set by an hour while a job ran, its run time counts.
    source = read_source(path)
    notes: Counter[str] = Counter()
    clock = None if zone is None else time_zone(zone)
    entries, left_out = _jobs_that_ran(_read_entries(source, clock), notes, source)
    zoned = all(entry.zoned for entry in entries)
    raw = workload_of(entries, Filters(), source)
    notes.update(raw.remarks)
    places = place(raw.jobs, topology, source.name, stop=stop)
    begin_s = min(entry.start_s or 0.0 for entry in entries)
    first_s = min(entry.submit_s for entry in entries)
    workload, pins, submit_s = _pin_start(raw, places, begin_s - first_s)
    notes["jobs on a node that another job has at the same time"] = _count_sharing(pins)
    notes["jobs that go on without some of their hosts"] = places.trimmed
    notes["jobs whose number of nodes is not that of their hosts: the hosts count"] = (
        places.miscounted
    )
    notes["jobs with one rank on each node (tasks unknown, or too many)"] = places.one_rank
    notes["tasks of arrays, each a job of its own"] = sum(map(array_task, raw.jobs))
    notes["parts of heterogeneous jobs, each a job of its own"] = sum(map(het_part, raw.jobs))
    if places.lost:
        left_out["no known host"] = places.lost
    there = sum(job.n_nodes * job.runtime_s for job in workload.jobs)
    return Record(
        replace(workload, begin_unix_s=begin_s),
        pins,
        {own.job.id: own for own in places.jobs},
        submit_s,
        {what: count for what, count in notes.items() if count},
        dict(left_out),
        places.unknown,
        1.0 - there / places.asked_s,
        zone or ("UTC" if zoned else ""),
        offsets=zone is None and zoned and is_table(source),
    )


def time_zone(name: str | None) -> tzinfo:
    """Return a time zone by its IANA name; UTC where none is given."""
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SnapshotError(
            f"timezone: expected a name such as Europe/Paris, got {name!r}."
        ) from None


def moment_of(text: str, zone: str, name: str, *, offsets: bool = False) -> float:
    """Read a moment on the clock of a record; seconds since 1970."""
    clock = time_zone(zone or None)
    moment_s = read_instant(text, name, "time", clock)
    plain = text.replace(".", "", 1).isdecimal()
    if offsets and moment_s >= 0 and not tells_zone(text.strip()):
        raise SnapshotError(
            f"{name}: expected a time with an offset such as 2024-05-30T09:00+02:00, as the "
            f"records have, or seconds since 1970, got {text!r}."
        )
    if moment_s < 0 or (tells_zone(text.strip()) and not plain and not offsets):
        raise SnapshotError(
            f"{name}: expected a time on the clock of the records such as 2024-05-30T09:00, "
            f"without an offset, got {text!r}."
        )
    if is_skipped(text, clock):
        raise SnapshotError(
            f"{name}: expected a time that the clock of {zone} showed, got {text!r}, over which it "
            "was set forward."
        )
    if is_twice(text, clock):
        raise SnapshotError(
            f"{name}: expected a time that the clock of {zone} showed once, or seconds since 1970, "
            f"got {text!r}, which it showed twice."
        )
    return moment_s


def written(record: Record, since_s: float) -> str:
    """Write a moment of a record on its own clock."""
    at = datetime.fromtimestamp(
        (record.workload.begin_unix_s or 0.0) + since_s, time_zone(record.zone or None)
    )
    return at.replace(tzinfo=None).isoformat(timespec="seconds")


def is_table(source: Source) -> bool:
    """Say whether accounting records are lines, no JSON."""
    return source.data.lstrip()[:1] not in (b"{", b"[")


def _read_entries(source: Source, zone: tzinfo | None) -> list[Entry]:
    """Read all jobs of a file; JSON states when unfinished jobs have to end."""
    if is_table(source) or any(is_sacct_json(table) for _, table in job_tables(source)[:1]):
        return sacct_entries(source, Filters(), zone, placed=True)
    return [
        replace(entry, end_s=None) if dict(entry.extra).get("state") in UNFINISHED else entry
        for entry in squeue_entries(source, Filters())
    ]


def _jobs_that_ran(
    entries: Sequence[Entry], notes: Counter[str], source: Source
) -> tuple[list[Entry], Counter[str]]:
    """Return the jobs that ran, with times that fit together, and count the others."""
    left_out: Counter[str] = Counter()
    known = [(entry.submit_s, entry.start_s or 0.0, entry.end_s or 0.0) for entry in entries]
    last_s = max((max(times) for times in known), default=0.0)
    ran: list[Entry] = []
    reasons = [_why_idle(entry) for entry in entries]
    some = [at for at, why in enumerate(reasons) if not why]
    for at in repeated_runs([replace(entries[at], unfit="") for at in some])[0]:
        reasons[some[at]] = AGAIN
    for entry, why in zip(entries, reasons, strict=True):
        timed = None if why else _timed_job(entry, last_s, notes)
        if timed is None:
            left_out[why or "no run time"] += 1
            continue
        notes["jobs with a time over which the clock of their time zone was set forward"] += (
            timed.skipped
        )
        notes["jobs with a time that the clock of their time zone showed twice"] += timed.twice
        ran.append(timed)
    if not ran:
        why = ", ".join(f"{count:,} {why}" for why, count in left_out.items()) or "no job"
        raise SnapshotError(f"{source.name}: expected jobs that ran, got none ({why}).")
    return ran, left_out


def _why_idle(entry: Entry) -> str:
    """Return why a job did not run; empty where it did."""
    if "step" in entry.unfit:
        return _STEP
    state = dict(entry.extra).get("state", "").upper()
    if state.startswith("PENDING"):
        return "pending"
    if entry.start_s is None or not entry.hosts:
        return _NEVER
    return BACKWARDS if entry.unfit == BACKWARDS else ""


def _timed_job(entry: Entry, last_s: float, notes: Counter[str]) -> Entry | None:
    """Return a job whose times fit together; None where it took no time."""
    start_s, end_s = entry.start_s or 0.0, entry.end_s
    if end_s is None:
        limit_s = start_s + entry.requested_s if entry.requested_s > 0 else inf
        end_s = min(last_s, limit_s)
        still = "jobs that still run when the record ends, and end with it"
        notes[_PAST_LIMIT if limit_s < last_s else still] += 1
    elif entry.runtime_s > 0 and set_by_an_hour(end_s - start_s - entry.runtime_s):
        notes["jobs whose end and run time differ by an hour: the clock was set"] += 1
        end_s = start_s + entry.runtime_s
    elif entry.runtime_s > 0 and end_s == start_s:
        notes["jobs that end as they start: their run time counts"] += 1
        end_s = start_s + entry.runtime_s
    if end_s <= start_s:
        return None
    submit_s = entry.submit_s
    if submit_s < 0 or submit_s > start_s:
        notes["jobs that start before they are submitted, or whose submission is unknown"] += 1
        submit_s = start_s
    return replace(
        entry,
        submit_s=submit_s,
        runtime_s=end_s - start_s,
        n_nodes=stated_nodes(entry),
        end_s=end_s,
        unfit="",
    )


def _pin_start(
    raw: Workload, places: JobPlacements, wait_s: float
) -> tuple[Workload, dict[int, Pin], dict[int, float]]:
    """Put second 0 at the first start, which is `wait_s` after the first submission."""
    pins, submit_s, jobs = {}, {}, []
    for own in places.jobs:
        job = own.job
        start_s = (job.logged_start_s or 0.0) - wait_s
        pins[job.id] = Pin(start_s, start_s + job.runtime_s, own.nodes[own.slots])
        submit_s[job.id] = job.submit_s - wait_s
        shown_s = max(submit_s[job.id], 0.0)
        jobs.append(replace(job, submit_s=shown_s, logged_start_s=start_s))
    return replace(raw, jobs=tuple(jobs)), pins, submit_s


def _count_sharing(pins: Mapping[int, Pin]) -> int:
    """Count the jobs that have a node at the same time as another."""
    until: dict[int, tuple[float, int]] = {}  # by node: when the last job on it ends, and which
    found = set[int]()
    for number, pin in sorted(pins.items(), key=lambda own: (own[1].start_s, own[0])):
        for node in np.unique(pin.ranks).tolist():
            end_s, other = until.get(node, (-np.inf, number))
            if end_s > pin.start_s:
                found |= {number, other}
            until[node] = max((end_s, other), (pin.end_s, number))
    return len(found)
