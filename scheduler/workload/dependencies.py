"""Dependencies of jobs on others: as Slurm writes them, and fields 17 and 18 of SWF."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.base import Workload

COLUMN, THINK = "dependency", "think_s"
_TERM = re.compile(r"(\w+):([0-9]+(?:\([a-z]+\))?(?::[0-9]+(?:\([a-z]+\))?)*)")
_KINDS = {"afterany": "after", "after": "after", "afterok": "after_ok"}
ABSENT = "dependencies on jobs that are not run: taken as satisfied"


def linked(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """
    Return jobs with the dependencies that their further columns state.

    ``dependency`` as Slurm's ``--dependency`` has it: ``afterok:12:13,afterany:14``; ``think_s``:
    seconds between the end of the last of them and the submission of the job.
    """
    return tuple(_linked(job) if job.extra else job for job in jobs)


def _linked(job: Job) -> Job:
    """Return a job with its dependencies."""
    columns = {name.lower(): text for name, text in job.extra}
    text = columns.get(COLUMN, "").strip()
    if not text or text.lower() in {"(null)", "none"}:
        return job
    found: dict[str, list[int]] = {"after": [], "after_ok": []}
    for term in text.split(","):
        match = _TERM.fullmatch(term.strip())
        if match is None or match[1] not in _KINDS:
            raise WorkloadError(
                f"job {job.id}: {COLUMN}: expected afterok:JOB or afterany:JOB, by commas, "
                f"got {term.strip()[:40]!r}."
            )
        numbers = (part.partition("(")[0] for part in match[2].split(":"))
        found[_KINDS[match[1]]] += map(int, numbers)
    try:
        think = columns.get(THINK)
        think_s = None if think is None else max(0.0, float(think))
    except ValueError:
        raise WorkloadError(f"job {job.id}: {THINK}: expected seconds, got {think!r}.") from None
    after, after_ok = tuple(found["after"]), tuple(found["after_ok"])
    return replace(job, after=after, after_ok=after_ok, think_s=think_s)


def count_unused(jobs: Sequence[Job]) -> int:
    """Return how many jobs state dependencies that are not used."""
    return sum(any(name.lower() == COLUMN for name, _ in job.extra) for job in jobs)


def resolved(workload: Workload) -> Workload:
    """Return a workload without dependencies on jobs that are not run; refuse cycles."""
    if not any(job.after or job.after_ok for job in workload.jobs):
        return workload
    there = {job.id for job in workload.jobs}
    absent = 0
    jobs = []
    for job in workload.jobs:
        gone = [own for own in (*job.after, *job.after_ok) if own not in there]
        absent += len(gone)
        jobs.append(_without(job, set(gone)) if gone else job)
    check_dependencies(jobs)
    remarks = {**workload.remarks, **({ABSENT: absent} if absent else {})}
    return replace(workload, jobs=tuple(jobs), remarks=remarks)


def _without(job: Job, gone: set[int]) -> Job:
    """Return a job without some dependencies; without any it comes when the log says."""
    after = tuple(own for own in job.after if own not in gone)
    after_ok = tuple(own for own in job.after_ok if own not in gone)
    think_s = job.think_s if after or after_ok else None
    return replace(job, after=after, after_ok=after_ok, think_s=think_s)


def check_dependencies(jobs: Sequence[Job]) -> None:
    """Refuse jobs that depend on themselves, or on jobs that are not there."""
    waits: Mapping[int, tuple[int, ...]] = {job.id: (*job.after, *job.after_ok) for job in jobs}
    done = set[int]()
    for first in waits:
        path, stack = list[int](), [(first, False)]
        while stack:
            job, left = stack.pop()
            if left:
                done.add(path.pop())
            elif job in path:
                through = ", ".join(map(str, path[path.index(job) + 1 :])) or "nothing else"
                raise WorkloadError(f"job {job}: waits for itself, through {through}.")
            elif job not in done:
                if job not in waits:
                    raise WorkloadError(f"job {path[-1]}: waits for job {job}, which is not there.")
                path.append(job)
                stack.append((job, True))
                stack += [(own, False) for own in waits[job]]
