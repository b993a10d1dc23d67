"""Workload: the jobs of a log or generator, with an account of what was left out."""

import codecs
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fabricsim.checking import shortened
from fabricsim.checking.inputs import Input as Source
from fabricsim.checking.inputs import read_input, require_text
from scheduler.errors import WorkloadError
from scheduler.job import Job

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_ENTRIES", "Source", "bounded", "read_source"]

MOST_ENTRIES = 2_000_000
"""Jobs of a log that is read job by job; each takes a kilobyte of memory."""

_Item = TypeVar("_Item")
_COLUMNS = (
    *("id", "submit_s", "n_nodes", "runtime_s", "requested_s"),
    *("user", "group", "executable", "queue", "name"),
)
UNITS = ("cores", "gpus", "memory_mb")  # that jobs may ask for, on all nodes together


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


@dataclass(frozen=True, slots=True)
class DroppedJob:
    """A job of a log that is not run."""

    id: int  # number; need not be unique
    reason: str  # why it is not
    n_nodes: int = 0  # nodes asked for; 0 where the log lacks it
    # submit_s, runtime_s: as of a `Job`, but NaN where the log lacks it; submission may lie before
    # 0, the first one of a kept job
    submit_s: float = nan
    runtime_s: float = nan


@dataclass(frozen=True, slots=True)
class Workload:
    """
    Jobs to run, and those that were dropped with the reason.

    Parameters
    ----------
    jobs : tuple of Job
        By submit time; jobs of one time in the order of the log.
    source : str
        Path as it was given, or the generator with its arguments.
    sha256 : str
        Of the bytes that were read; empty for a generated workload.
    dropped_jobs : tuple of DroppedJob
        In the order of the log.
    has_requested : bool
        Whether the log has a requested time for any kept job; where it has none for a job,
        that is the run time.
    n_without_request : int
        Jobs that the reader kept although the log has no requested time for them.
    n_unsorted : int
        Jobs that the reader kept and whose submission lies before that of the job above.
    begin_unix_s : float or None
        Moment of second 0, seconds since 1970; None where the log has no dates, or jobs do not
        come when the log says.
    remarks : mapping of str to int
        What the reader did not use or has changed, by what it is: how many.

    Attributes
    ----------
    table : mapping or None
        Fields of the table ``[workload]`` that make it again; None for jobs from Python, also for
        those that `dataclasses.replace` made of a log.
    """

    jobs: tuple[Job, ...]
    source: str
    sha256: str = ""
    dropped_jobs: tuple[DroppedJob, ...] = ()
    has_requested: bool = False
    n_without_request: int = 0
    n_unsorted: int = 0
    begin_unix_s: float | None = None
    remarks: Mapping[str, int] = field(default_factory=dict)
    table: Mapping[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def __repr__(self) -> str:
        return (
            f"<Workload {shortened(self.source)!r}: {len(self.jobs)} jobs, "
            f"{len(self.dropped_jobs)} dropped>"
        )

    def to_frame(self) -> "pd.DataFrame":
        """
        Return the jobs as a table.

        Returns
        -------
        DataFrame
            A row for each job: id, times in seconds, nodes, labels; -1 stands for no label.
            Cores, GPUs and memory_mb (MiB) where a job asks for some; sizes where one is moldable.
        """
        import pandas as pd  # noqa: PLC0415 (slow to import, and rarely needed)

        units = (name for name in UNITS if any(getattr(job, name) for job in self.jobs))
        columns = [*_COLUMNS, *units]
        table = pd.DataFrame(
            [[getattr(job, name) for name in columns] for job in self.jobs], columns=columns
        )
        if any(job.sizes for job in self.jobs):
            table["sizes"] = [written_sizes(job.sizes) for job in self.jobs]
        return table

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it, its middle left out where it is long."""
        return str(self.to_frame().to_html(max_rows=20))

    @property
    def dropped(self) -> Mapping[str, int]:
        """Number of dropped jobs by reason, in the order in which the reasons appear."""
        return Counter(job.reason for job in self.dropped_jobs)


def limit_nodes(workload: Workload, n_nodes: int) -> Workload:
    """
    Drop the jobs that are larger than a machine.

    Times count from the first job that is left, as where another reason drops the others.

    Parameters
    ----------
    workload : Workload
        Any.
    n_nodes : int
        Nodes of the machine.

    Returns
    -------
    Workload
        With the large jobs among the dropped ones; `workload` itself where there are none.

    Examples
    --------
    >>> jobs = (Job(1, 0.0, 4, 10.0, 10.0), Job(2, 0.0, 5, 10.0, 10.0))
    >>> limit_nodes(Workload(jobs, "by hand"), 4).dropped
    Counter({'larger than the machine (4 nodes)': 1})
    """
    large = [job for job in workload.jobs if most_nodes(job) > n_nodes]
    if not large:
        return workload
    kept = [job for job in workload.jobs if most_nodes(job) <= n_nodes]
    later_s = kept[0].submit_s - workload.jobs[0].submit_s if kept else 0.0
    begin_s = workload.begin_unix_s
    reason = f"larger than the machine ({n_nodes} nodes)"
    dropped = [
        DroppedJob(job.id, reason, job.n_nodes, job.submit_s, job.runtime_s) for job in large
    ]
    return replace(
        workload,
        jobs=tuple(_moved_sooner(job, later_s) for job in kept) if later_s else tuple(kept),
        dropped_jobs=tuple(
            replace(job, submit_s=job.submit_s - later_s)
            for job in (*workload.dropped_jobs, *dropped)
        ),
        begin_unix_s=None if begin_s is None else begin_s + later_s,
    )


def written_sizes(sizes: Sequence[tuple[int, float]]) -> str:
    """Write the sizes of a moldable job as `read_sizes` reads them."""
    return " ".join(
        f"{size}:{int(own_s) if own_s == int(own_s) else repr(own_s)}" for size, own_s in sizes
    )


def most_nodes(job: Job) -> int:
    """Return the nodes of a job, of a moldable one those of its largest size."""
    return max(size for size, _ in job.sizes) if job.sizes else job.n_nodes


def _moved_sooner(job: Job, by_s: float) -> Job:
    """Move the times of a job to a clock that begins later."""
    start_s = job.logged_start_s
    start_s = None if start_s is None else start_s - by_s
    return replace(job, submit_s=job.submit_s - by_s, logged_start_s=start_s)
