"""Jobs that run now, or ran at a moment, from Slurm's own files."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from coupling.errors import SnapshotError
from coupling.inputs.places import array_task, het_part, stated_nodes
from coupling.inputs.record import is_table, moment_of
from scheduler.job import Job
from scheduler.workload.base import Source, read_source
from scheduler.workload.entries import BACKWARDS, Entry, workload_of
from scheduler.workload.filters import Filters
from scheduler.workload.slurm import sacct_entries, tells_zone
from scheduler.workload.squeue import squeue_entries
from scheduler.workload.states import HOLDING

_SENDING = {"RUNNING", "RESIZING", "SIGNALING"}  # others hold nodes, but compute nothing


@dataclass(frozen=True, slots=True)
class HeldNodes:
    """Nodes that a job holds, computing or not."""

    job: Job  # The job, with its hosts
    end_s: float  # When its time limit ends it, seconds since 1970; infinity where none is stated


@dataclass(frozen=True, slots=True)
class RunningJobs:
    """Jobs that compute at one moment."""

    jobs: tuple[Job, ...]  # With the hosts that they have
    left_out: Mapping[str, int]  # Jobs of the file that do not compute then, by reason
    source: str  # The file
    # array_tasks, het_parts: jobs that are tasks of arrays, and parts of heterogeneous jobs; each
    # is a job of its own
    array_tasks: int
    het_parts: int
    held: tuple[HeldNodes, ...] = ()  # Jobs that hold nodes
    # When the file was written at the earliest: the last moment that it reports as past
    looked_s: float = 0.0
    zoned: bool = True  # Whether its times are those of UTC, not of a clock without a zone
    # What the reader of the file did not use or has changed, by what it is: how many
    remarks: Mapping[str, int] = field(default_factory=dict)


def running_in_queue(path: Path | str, *, idle: bool = False) -> RunningJobs:
    """Read running jobs from ``squeue --json``; with `idle` there may be none."""
    source = read_source(path)
    entries = squeue_entries(source, Filters())
    found = _split_running(source, entries, _reason_in_queue, "" if idle else "in the queue")
    there = [entry for entry in entries if entry.hosts and _queue_state(entry) in HOLDING]
    begun = (max(entry.submit_s, entry.start_s or 0.0) for entry in there)
    return replace(found, held=_node_holds(there), looked_s=max(begun, default=0.0))


def running_at(
    path: Path | str, at: str, *, idle: bool = False, lasting_s: float = 0.0
) -> RunningJobs:
    """Read jobs that ran at a moment, or within `lasting_s` of it, from ``sacct -X -P``."""
    moment_of(at, "", "--at", offsets=tells_zone(at))  # if it is none, before a file is read
    source = read_source(path)
    entries = sacct_entries(source, Filters(), placed=True)
    zoned = all(entry.zoned for entry in entries)
    moment_s = moment_of(at, "", "--at", offsets=zoned and is_table(source))

    def reason(entry: Entry) -> str:
        return _reason_at(entry, moment_s, lasting_s)

    found = _split_running(
        source, entries, reason, "" if idle else f"at {at}", (moment_s, lasting_s)
    )
    there = [replace(entry, end_s=None) for entry in entries if not reason(entry)]
    return replace(found, held=_node_holds(there), looked_s=moment_s, zoned=zoned)


def _node_holds(entries: Sequence[Entry]) -> tuple[HeldNodes, ...]:
    """Return what jobs hold, and until when at the latest."""
    found = []
    for number, entry in enumerate(entries):
        end_s = entry.end_s
        if end_s is None:
            known = entry.start_s is not None and entry.requested_s > 0
            end_s = (entry.start_s or 0.0) + entry.requested_s if known else inf
        name = entry.id if entry.id is not None else -number - 1
        job = Job(name, 0.0, max(entry.n_nodes, 1), 1.0, 1.0, logged_hosts=entry.hosts)
        found.append(HeldNodes(job, end_s))
    return tuple(found)


def _queue_state(entry: Entry) -> str:
    """Return the state of a job of the queue."""
    return dict(entry.extra).get("state", "")


def _reason_in_queue(entry: Entry) -> str:
    """Return why a job of the queue does not compute; empty where it does."""
    state = _queue_state(entry)
    if state in _SENDING:
        return "" if entry.hosts else "running, without hosts"
    if state in HOLDING:
        return state.lower()
    return state.lower() if state else "without a state"


def _reason_at(entry: Entry, moment_s: float, lasting_s: float = 0.0) -> str:
    """Return why a job of the records did not compute in a time; empty where it did."""
    if "step" in entry.unfit:
        return "job steps (sacct -X leaves them out)"
    if entry.start_s is None or not entry.hosts:
        return "never started, or without hosts"
    if entry.unfit == BACKWARDS:
        return BACKWARDS
    if entry.start_s > moment_s and entry.start_s >= moment_s + lasting_s:
        return "started later"
    end_s = _end_s(entry)
    if end_s is not None:
        return "ended before" if end_s <= moment_s else ""
    late = entry.requested_s > 0 and entry.start_s + entry.requested_s <= moment_s
    return "without an end, past its time limit" if late else ""


def _end_s(entry: Entry) -> float | None:
    """Return when a job ended; where the clock was set back over it, its run time tells."""
    start_s, end_s = entry.start_s, entry.end_s
    if start_s is None or end_s is None or end_s >= start_s:
        return end_s
    return start_s + entry.runtime_s


def _part(entry: Entry, begin_s: float, lasting_s: float) -> float:
    """Return how many seconds of a time a job ran; 1 of a moment."""
    if not lasting_s:
        return 1.0
    until_s = begin_s + lasting_s
    end_s = _end_s(entry)
    last_s = until_s if end_s is None else min(end_s, until_s)
    return last_s - max(entry.start_s or begin_s, begin_s)


def _split_running(
    source: Source,
    entries: Sequence[Entry],
    reason: Callable[[Entry], str],
    when: str,
    span: tuple[float, float] = (0.0, 0.0),
) -> RunningJobs:
    """Part the jobs of a file by whether they compute, at a moment or within a span."""
    reasons = [reason(entry) for entry in entries]
    there = [entry for entry, why in zip(entries, reasons, strict=True) if not why]
    left_out = Counter(why for why in reasons if why)
    if not there and when:
        told = ", ".join(f"{count:,} {why}" for why, count in left_out.most_common()) or "no job"
        raise SnapshotError(f"{source.name}: expected jobs that run {when}, got none ({told}).")
    computing = [
        replace(
            entry,
            submit_s=0.0,
            runtime_s=_part(entry, *span),
            n_nodes=stated_nodes(entry),
            unfit="",
        )
        for entry in there
    ]
    jobs: tuple[Job, ...] = ()
    remarks: Mapping[str, int] = {}
    if computing:
        workload = workload_of(computing, Filters(), source)
        jobs = workload.jobs
        left_out.update(workload.dropped)
        remarks = workload.remarks
    return RunningJobs(
        jobs,
        dict(left_out.most_common()),
        source.name,
        sum(map(array_task, jobs)),
        sum(map(het_part, jobs)),
        remarks=remarks,
    )
