"""From the columns of a log to a workload: which jobs remain, how large, and when they come."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from fabricsim import checking
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import UnitError
from netsim.common.units import Quantity, parse_time
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.base import UNITS, DroppedJob, Source, Workload
from scheduler.workload.dependencies import count_unused, linked

MISSING = -1  # as in the Standard Workload Format
LABELS = ("user", "group", "executable", "queue")
LARGEST = 2**53
"""Whole numbers are exact in a float up to here."""
_UNUSED = "dependencies of jobs on others (column dependency): not used"
_SHORTEST_S = 1e-9  # what is shorter is no time, and its reciprocal may be no number
_NO_REQUEST = "requested times below 1 ns: taken as missing"
_FACTORS = 1e-9, 1e9  # on submit times: beyond, times of a log mean nothing


class ReadOptions(TypedDict, total=False):
    """Keyword arguments that every reader takes; meaning and defaults as in `Filters`."""

    processors_per_node: int
    max_nodes: int | None
    scale_nodes: float
    arrivals: Literal["log", "zero"] | float
    window_s: tuple[Quantity, Quantity] | None
    columns: Sequence[str] | None
    dependencies: bool


class Reader(Protocol):
    """Reads a job log; the registry of formats holds these."""

    def __call__(self, path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
        """Read a job log, plain or gzip, or ``-``, with the fields of `Filters` as options."""


@dataclass(frozen=True, slots=True)
class Filters:
    """
    What a reader takes of a log and how it changes it.

    Parameters
    ----------
    processors_per_node : int, default 1
        A job has ceil(processors / this) nodes, where the log counts processors, or GPUs alone.
    max_nodes : int or None, default None
        Jobs larger than this (after scaling) are dropped.
    scale_nodes : int or float, default 1
        Factor on the nodes of every job (Pollard18, section IV-B: "2x", "3x"), or what divides
        them: 0.25 is a quarter, rounded up.
    arrivals : "log", "zero" or float, default "log"
        Submit times as in the log, the first remaining job at 0; all 0, in the order of the
        log; or as in the log times a factor (0.5: twice the load).
    window_s : (float or str, float or str) or None, default None
        Keep the jobs submitted in this half-open interval, in seconds or as ``"2 h"`` after the
        first submission of a job that otherwise remains, before `arrivals` applies.
    columns : sequence of str or None, default None
        Names of the columns of a file of lines that has no header, such as ``sacct --noheader``.
    dependencies : bool, default False
        Let jobs wait for others as the log says: fields 17 and 18 of SWF, else a column
        ``dependency`` as Slurm writes it, with ``think_s`` beside it.

    Raises
    ------
    WorkloadError
        If a value is out of range.
    """

    processors_per_node: int = 1
    max_nodes: int | None = None
    scale_nodes: float = 1
    arrivals: Literal["log", "zero"] | float = "log"
    window_s: tuple[Quantity, Quantity] | None = None
    columns: Sequence[str] | None = None
    dependencies: bool = False

    def __post_init__(self) -> None:
        for name in ("processors_per_node", "max_nodes"):
            value = getattr(self, name)
            if value is not None or name != "max_nodes":
                checking.whole(name, value, 1, LARGEST, error=WorkloadError)
        _read_scale(self.scale_nodes)
        if self.arrivals not in ("log", "zero") and not _is_factor(self.arrivals):
            expected = f"'log', 'zero' or a factor from {_FACTORS[0]:g} to {_FACTORS[1]:g}"
            raise checking.wrong("arrivals", expected, self.arrivals, WorkloadError)
        if self.window_s is not None:
            _read_window(self.window_s)
        if self.columns is not None:
            _check_columns(self.columns)
        checking.flag("dependencies", self.dependencies, error=WorkloadError)


def _check_columns(value: object) -> None:
    """Refuse what are no names of columns."""
    listed = value if isinstance(value, (list, tuple)) else ()
    if not listed or not all(isinstance(name, str) and name.strip() for name in listed):
        raise checking.wrong("columns", "a list of names", value, WorkloadError)


def _read_scale(value: object) -> tuple[int, int]:
    """Read the factor on sizes: what multiplies them, and what divides them."""
    if not isinstance(value, float):
        return checking.whole("scale_nodes", value, 1, LARGEST, error=WorkloadError), 1
    parts = round(1.0 / value) if _FACTORS[0] <= value < 1.0 else 0
    if not math.isclose(parts * value, 1.0, rel_tol=1e-9):
        expected = "a whole number, or a part such as 0.5 or 0.25"
        raise checking.wrong("scale_nodes", expected, value, WorkloadError)
    return 1, parts


def _is_factor(value: object) -> bool:
    """Whether a value is a factor that leaves times of a log what they are."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and _FACTORS[0] <= value <= _FACTORS[1]  # type: ignore[operator]


def _read_window(window_s: object) -> tuple[float, float]:
    """Read a window; refuse what is no interval."""
    pair = list(window_s) if isinstance(window_s, (list, tuple)) else []
    try:
        pair = [_read_edge(edge) for edge in pair]
        numbers = all(type(edge) in (int, float) and not math.isnan(edge) for edge in pair)
    except (UnitError, OverflowError):  # no time, or a whole number beyond all floats
        pair, numbers = [], False
    if len(pair) != 2 or not numbers or not pair[0] < pair[1]:  # noqa: PLR2004
        expected = "two times such as 3600 or '2 h', start < end"
        raise checking.wrong("window_s", expected, window_s, WorkloadError)
    return float(pair[0]), float(pair[1])


def _read_edge(edge: object) -> object:
    """Read the edge of a window where it is a text."""
    if not isinstance(edge, str):
        return edge
    return math.inf if edge == "inf" else float(parse_time(edge))


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Columns of a log; -1 where a value is missing."""

    id: Ints  # (n,): job numbers, unique
    # submit_s, runtime_s, requested_s: (n,): seconds
    submit_s: Floats
    runtime_s: Floats
    requested_s: Floats
    n_nodes: Ints  # (n,): nodes, before scaling; below 1 where the log has no size
    # jobs that this format drops, by reason
    unfit: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    # columns ``user``, ``group``, ``executable``, ``queue``, where the log has them
    labels: Mapping[str, Ints] = field(default_factory=dict)
    names: Sequence[str] | None = None
    # further columns of each job (`Job.extra`)
    extra: Sequence[tuple[tuple[str, str], ...]] | None = None
    # (n,): when the jobs started, on the clock of `submit_s`; NaN where the log lacks it
    start_s: Floats | None = None
    hosts: Sequence[str] | None = None  # where they ran, as host lists
    # moment of second 0 of `submit_s`, seconds since 1970; None where the log has no dates
    begin_unix_s: float | None = None
    # what the reader did not use or has changed, by what it is: how many
    remarks: Mapping[str, int] = field(default_factory=dict)
    # ``cores``, ``gpus``, ``memory_mb``: (n,): asked for altogether, before scaling; 0: unknown
    units: Mapping[str, Ints] = field(default_factory=dict)
    # of each job: nodes and run times in seconds; None where no job is moldable
    sizes: Sequence[tuple[tuple[int, float], ...]] | None = None


def nodes_of(processors: Ints, requested: Ints, per_node: int) -> Ints:
    """
    Return the nodes that jobs of so many processors take (n,): processors / `per_node`, up.

    `requested` counts where `processors` is below 1; the result is below 1 where both are missing.
    """
    size = np.where(processors > 0, processors, requested)
    return np.where(size > 0, -(-size // per_node), MISSING)


def select_jobs(records: Records, filters: Filters, source: Source) -> Workload:
    """
    Turn the columns of a log into a workload, by submit time.

    A job that several reasons drop counts under the first: run time, processors, those of the
    format, submit time, size, window.
    """
    nodes = _scaled_sizes(records.n_nodes, filters.scale_nodes, source)
    reasons: dict[str, NDArray[np.bool_]] = {
        "no run time": ~(records.runtime_s >= _SHORTEST_S),
        "no processors": nodes < 1,
        **records.unfit,
    }
    if filters.arrivals != "zero" or filters.window_s is not None:
        reasons["no submit time"] = records.submit_s < 0
    if records.sizes is not None and filters.scale_nodes != 1:
        expected = f"{source.name}: scale_nodes: expected 1 with moldable jobs (sizes)"
        raise WorkloadError(f"{expected}, got {filters.scale_nodes:g}.")
    if filters.max_nodes is not None:
        reasons[f"more than {filters.max_nodes} nodes"] = _most_nodes(nodes, records) > (
            filters.max_nodes
        )
    verdict = _first_reason(reasons, len(nodes))
    remaining = verdict == len(reasons)
    since = records.submit_s - (records.submit_s[remaining].min() if remaining.any() else 0.0)
    if filters.window_s is not None:
        begin, end = _read_window(filters.window_s)
        outside = remaining & ~((begin <= since) & (since < end))
        reasons["outside the time window"] = outside
        verdict[remaining & ~outside] += 1
        remaining &= ~outside
    submit_s = _submit_times(since, remaining, filters)
    asked = records.requested_s[remaining]
    remarks: dict[str, int] = {
        **records.remarks,
        _NO_REQUEST: int(np.count_nonzero((asked >= 0) & (asked < _SHORTEST_S))),
    }
    jobs = _remaining_jobs(records, nodes, submit_s, remaining, _read_scale(filters.scale_nodes))
    if filters.dependencies:
        jobs = linked(jobs)
    elif records.extra is not None:
        remarks[_UNUSED] = count_unused(jobs)
    return Workload(
        jobs=jobs,
        source=source.name,
        sha256=source.sha256,
        dropped_jobs=_dropped_jobs(records, nodes, submit_s, list(reasons), verdict),
        has_requested=bool((records.requested_s[remaining] >= _SHORTEST_S).any()),
        n_without_request=int(np.count_nonzero(~(records.requested_s[remaining] >= _SHORTEST_S))),
        n_unsorted=int(np.count_nonzero(np.diff(records.submit_s[remaining]) < 0)),
        begin_unix_s=_first_moment(records, remaining, filters),
        remarks={what: count for what, count in remarks.items() if count},
    )


def _most_nodes(nodes: Ints, records: Records) -> Ints:
    """Return the nodes of each job, of a moldable one those of its largest size."""
    if records.sizes is None:
        return nodes
    largest = [max((size for size, _ in own), default=0) for own in records.sizes]
    return np.maximum(nodes, np.array(largest, dtype=np.int64))


def _first_moment(records: Records, remaining: NDArray[np.bool_], filters: Filters) -> float | None:
    """Return the moment of the first remaining submission, where jobs come when the log says."""
    if records.begin_unix_s is None or filters.arrivals not in ("log", 1.0) or not remaining.any():
        return None
    return records.begin_unix_s + float(records.submit_s[remaining].min())


def _scaled_sizes(n_nodes: Ints, scale: float, source: Source) -> Ints:
    """Multiply sizes, or divide and round up; refuse what does not fit into a number."""
    factor, parts = _read_scale(scale)
    if len(n_nodes) and int(n_nodes.max()) * factor > LARGEST:
        raise WorkloadError(
            f"{source.name}: scale_nodes: expected jobs of at most {LARGEST} nodes, got "
            f"{int(n_nodes.max()) * factor}."
        )
    return -(-n_nodes * factor // parts)


def refine(workload: Workload, **options: Unpack[ReadOptions]) -> Workload:
    """
    Filter a workload that was read or drawn before.

    Parameters
    ----------
    workload : Workload
        Jobs without communication.
    **options : ReadOptions
        The fields of `Filters`; jobs count nodes, not processors.

    Returns
    -------
    Workload
        What is remaining; the dropped jobs of `workload` stay in the account.

    Raises
    ------
    WorkloadError
        If an option is out of range.

    Examples
    --------
    >>> jobs = (Job(1, 0.0, 4, 10.0, 10.0), Job(2, 60.0, 5, 10.0, 10.0))
    >>> [job.submit_s for job in refine(Workload(jobs, "by hand"), arrivals=0.5).jobs]
    [0.0, 30.0]
    """
    filters = Filters(**options)
    jobs = workload.jobs

    def whole(name: str) -> Ints:
        return np.array([getattr(job, name) for job in jobs], dtype=np.int64)

    def times(name: str) -> Floats:
        return np.array([getattr(job, name) for job in jobs], dtype=np.float64)

    records = Records(
        id=whole("id"),
        submit_s=times("submit_s"),
        runtime_s=times("runtime_s"),
        requested_s=times("requested_s"),
        n_nodes=whole("n_nodes"),
        labels={name: whole(name) for name in LABELS},
        units={name: whole(name) for name in UNITS},
        names=[job.name for job in jobs],
        extra=[job.extra for job in jobs],
        start_s=times("logged_start_s"),
        hosts=[job.logged_hosts for job in jobs],
        begin_unix_s=workload.begin_unix_s,
        sizes=[job.sizes for job in jobs] if any(job.sizes for job in jobs) else None,
    )
    remaining = select_jobs(records, filters, Source(workload.source, b"", workload.sha256))
    return replace(
        remaining,
        dropped_jobs=workload.dropped_jobs + remaining.dropped_jobs,
        has_requested=workload.has_requested,
        n_without_request=workload.n_without_request,
        n_unsorted=workload.n_unsorted,
        remarks=workload.remarks,
    )


def _dropped_jobs(
    records: Records, nodes: Ints, submit_s: Floats, reasons: Sequence[str], verdict: Ints
) -> tuple[DroppedJob, ...]:
    """Return the jobs that have a reason, with their fields in the log."""
    rows = np.flatnonzero(verdict < len(reasons))
    submit_s = np.where(records.submit_s < 0, np.nan, submit_s)
    runtime_s = np.where(records.runtime_s < 0, np.nan, records.runtime_s)
    return tuple(
        map(
            DroppedJob,
            records.id[rows].tolist(),
            [reasons[reason] for reason in verdict[rows].tolist()],
            np.maximum(nodes[rows], 0).tolist(),
            submit_s[rows].tolist(),
            runtime_s[rows].tolist(),
        )
    )


def _first_reason(reasons: Mapping[str, NDArray[np.bool_]], n_jobs: int) -> Ints:
    """Return the index of the first reason that drops each job; their number where none."""
    verdict = np.full(n_jobs, len(reasons))
    for index, unfit in reversed(list(enumerate(reasons.values()))):
        verdict[unfit] = index
    return verdict


def _submit_times(since: Floats, remaining: NDArray[np.bool_], filters: Filters) -> Floats:
    """Return the submit time of each job, the first remaining one at 0."""
    if filters.arrivals == "zero":
        return np.zeros(len(since))
    first = since[remaining].min() if remaining.any() else 0.0
    factor = 1.0 if filters.arrivals == "log" else float(filters.arrivals)
    return (since - first) * factor


def _remaining_jobs(
    records: Records,
    nodes: Ints,
    submit_s: Floats,
    remaining: NDArray[np.bool_],
    scale: tuple[int, int],
) -> tuple[Job, ...]:
    """Make the jobs of the remaining rows, by submit time."""
    rows = np.flatnonzero(remaining)
    rows = rows[np.argsort(submit_s[rows], kind="stable")]
    runtime_s = records.runtime_s[rows]
    requested_s = records.requested_s[rows]
    none = np.full(len(records.id), MISSING)
    labels = [records.labels.get(name, none)[rows].tolist() for name in LABELS]
    n_jobs = len(rows)
    order = rows.tolist()
    names, extra = records.names, records.extra
    factor, parts = scale
    none = np.zeros(len(records.id), dtype=np.int64)
    units = [records.units.get(name, none)[rows] for name in UNITS]
    return tuple(
        map(
            Job,
            records.id[rows].tolist(),
            submit_s[rows].tolist(),
            nodes[rows].tolist(),
            runtime_s.tolist(),
            np.where(requested_s >= _SHORTEST_S, requested_s, runtime_s).tolist(),
            *labels,
            [""] * n_jobs if names is None else [names[row] for row in order],
            [None] * n_jobs,
            [()] * n_jobs if extra is None else [extra[row] for row in order],
            _row_starts(records, remaining, order),
            [""] * n_jobs if records.hosts is None else [records.hosts[row] for row in order],
            *([()] * n_jobs, [()] * n_jobs, [None] * n_jobs),  # what it depends on
            *(np.minimum(-(-own * factor // parts), LARGEST).tolist() for own in units),
            [()] * n_jobs if records.sizes is None else [records.sizes[row] for row in order],
        )
    )


def _row_starts(
    records: Records, remaining: NDArray[np.bool_], order: Sequence[int]
) -> Sequence[float | None]:
    """Return the starts of some rows after the first submission, or start, of a remaining job."""
    if records.start_s is None:
        return [None] * len(order)
    submitted = records.submit_s[remaining & (records.submit_s >= 0)]
    started = records.start_s[remaining & np.isfinite(records.start_s)]
    known = submitted if submitted.size else started
    since = records.start_s - known.min() if known.size else records.start_s
    return [None if math.isnan(start) else start for start in since[list(order)].tolist()]
