"""What every reader of job logs promises: jobs in order, filters that filter, a true account."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path

from scheduler.errors import WorkloadError
from scheduler.workload.base import Workload
from scheduler.workload.filters import Reader

_CLOSE = 1e-9


@dataclass(frozen=True)
class Sample:
    """A reader and a log that it reads."""

    read: Reader  # The reader
    path: Path  # The log, with some jobs that are kept

    @cached_property
    def whole(self) -> Workload:
        """All jobs."""
        return self.read(self.path)


def jobs_are_jobs(sample: Sample) -> Iterator[str]:
    """Check order, ids, sizes and times of jobs."""
    jobs = sample.whole.jobs
    if not jobs:
        yield "no job is kept"
        return
    submits = [job.submit_s for job in jobs]
    if submits[0] != 0.0 or submits != sorted(submits):
        yield f"submissions are not ascending from 0: {submits[:3]} ..."
    if len({job.id for job in jobs}) != len(jobs):
        yield "two jobs have one id"
    for job in jobs:
        if not isinstance(job.n_nodes, int) or job.n_nodes < 1:
            yield f"job {job.id} has {job.n_nodes!r} nodes"
        for name in ("runtime_s", "requested_s"):
            value = getattr(job, name)
            if not (isfinite(value) and value > 0):
                yield f"job {job.id}: {name} is {value}"
        if job.communication is not None:
            yield f"job {job.id} communicates already"


def comes_again(sample: Sample) -> Iterator[str]:
    """Check that a path may be a text, and that a log is read alike again."""
    again = sample.read(str(sample.path))
    if again.jobs != sample.whole.jobs:
        yield "the jobs differ when the log is read again, by a text"
    if [job.id for job in again.dropped_jobs] != [job.id for job in sample.whole.dropped_jobs]:
        yield "the dropped jobs differ when the log is read again"


def says_where_from(sample: Sample) -> Iterator[str]:
    """Check that source and hash are those of the file."""
    if sample.whole.source != str(sample.path):
        yield f"source is {sample.whole.source!r}, expected {str(sample.path)!r}"
    expected = hashlib.sha256(sample.path.read_bytes()).hexdigest()
    if sample.whole.sha256 != expected:
        yield f"sha256 is {sample.whole.sha256!r}, that of the file {expected}"


def large_jobs_are_dropped(sample: Sample) -> Iterator[str]:
    """Check the filter `max_nodes`, and that no job is lost."""
    whole = sample.whole
    most = min((job.n_nodes for job in whole.jobs), default=1)
    less = sample.read(sample.path, max_nodes=most)
    expected = [job.id for job in whole.jobs if job.n_nodes <= most]
    if [job.id for job in less.jobs] != expected:
        yield f"max_nodes={most} keeps {len(less.jobs)} jobs, expected {len(expected)}"
    all_jobs = len(whole.jobs) + len(whole.dropped_jobs)
    if len(less.jobs) + len(less.dropped_jobs) != all_jobs:
        yield (
            f"max_nodes={most}: {len(less.jobs)} jobs are kept and {len(less.dropped_jobs)} "
            f"dropped, of {all_jobs}"
        )


def sizes_and_times_change(sample: Sample) -> Iterator[str]:
    """Check the options `scale_nodes`, `arrivals` and `window_s`."""
    whole = sample.whole.jobs
    twice = sample.read(sample.path, scale_nodes=2).jobs
    if [job.n_nodes for job in twice] != [2 * job.n_nodes for job in whole]:
        yield "scale_nodes=2 does not double the sizes"
    if any(job.submit_s for job in sample.read(sample.path, arrivals="zero").jobs):
        yield "arrivals='zero' leaves submit times above 0"
    half = [job.submit_s for job in sample.read(sample.path, arrivals=0.5).jobs]
    if any(
        abs(got - 0.5 * job.submit_s) > _CLOSE for got, job in zip(half, whole, strict=False)
    ) or len(half) != len(whole):
        yield "arrivals=0.5 does not halve the submit times"
    middle = whole[len(whole) // 2].submit_s if whole else 0.0
    if middle > 0:
        early = sample.read(sample.path, window_s=(0.0, middle)).jobs
        if [job.id for job in early] != [job.id for job in whole if job.submit_s < middle]:
            yield f"window_s=(0, {middle:g}) keeps other jobs than those submitted before"


def nonsense_is_refused(sample: Sample) -> Iterator[str]:
    """Check that options out of range, and files that are not there, are refused."""
    options: list[Mapping[str, object]] = [
        {"max_nodes": 0},
        {"scale_nodes": 0},
        {"arrivals": -1.0},
        {"window_s": (2.0, 1.0)},
    ]
    for wrong in options:
        if not _is_refused(lambda wrong=wrong: sample.read(sample.path, **wrong)):  # type: ignore[misc]
            yield f"{next(iter(wrong))} = {next(iter(wrong.values()))} is taken"
    if not _is_refused(lambda: sample.read(sample.path.with_name("no-such-log-here"))):
        yield "a file that is not there gives no WorkloadError"


RULES: Mapping[str, Callable[[Sample], Iterator[str]]] = {
    "jobs are ascending from 0, have ids of their own, sizes and times": jobs_are_jobs,
    "a log is read alike again, by Path and by text": comes_again,
    "source and sha256 are those of the file": says_where_from,
    "max_nodes drops large jobs, and none is lost": large_jobs_are_dropped,
    "scale_nodes, arrivals and window_s do what they say": sizes_and_times_change,
    "options out of range and absent files are refused with a WorkloadError": nonsense_is_refused,
}


def _is_refused(read: Callable[[], object]) -> bool:
    """Say whether reading ends with an error that is meant for people."""
    try:
        read()
    except WorkloadError:
        return True
    return False
