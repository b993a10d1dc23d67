"""States of jobs in logs: those that ran when a queue was looked at, or were cancelled."""

from collections.abc import Iterable

from scheduler.job import Job

HOLDING = frozenset(
    {
        "COMPLETING",
        "CONFIGURING",
        "RESIZING",
        "RUNNING",
        "SIGNALING",
        "STAGE_OUT",
        "STOPPED",
        "SUSPENDED",
    }
)
"""States of Slurm's queue in which a job has its nodes."""

UNFINISHED = frozenset(
    {
        "CONFIGURING",
        "PENDING",
        "REQUEUED",
        "RESIZING",
        "RUNNING",
        "SIGNALING",
        "STOPPED",
        "SUSPENDED",
    }
)
"""States of Slurm in which a job has no run time yet."""

_ENDED_PARTS = {"REQUEUED", "RESIZING"}  # of records that have an end: the part until then


def unfinished_reason(state: str, end_s: float) -> str:
    """Return why an accounting record is dropped whose job goes on; empty where it has ended."""
    goes_on = state in UNFINISHED and not (state in _ENDED_PARTS and end_s > 0)
    return f"not finished ({state.lower()})" if goes_on else ""


def running(jobs: Iterable[Job]) -> list[Job]:
    """
    Return the jobs that held nodes when a queue was looked at.

    Parameters
    ----------
    jobs : iterable of Job
        Of a workload; a queue of Slurm has their states in the further column ``state``.

    Returns
    -------
    list of Job
        Those that ran, were suspended, or were about to start or end.

    Examples
    --------
    >>> waits = Job(1, 0.0, 4, 60.0, 60.0, extra=(("state", "PENDING"),))
    >>> runs = Job(2, 0.0, 4, 60.0, 60.0, extra=(("state", "RUNNING"),))
    >>> [job.id for job in running([waits, runs])]
    [2]
    """
    return [job for job in jobs if _states_of(job, "state") in HOLDING]


def cancelled(jobs: Iterable[Job]) -> list[Job]:
    """
    Return the jobs that were cancelled while they ran, and held nodes until then.

    Parameters
    ----------
    jobs : iterable of Job
        Of a workload; Slurm has it in the further column ``state``, Flux in ``result``.

    Returns
    -------
    list of Job
        Those among them.

    Examples
    --------
    >>> ended = Job(1, 0.0, 4, 60.0, 60.0, extra=(("state", "CANCELLED by 501"),))
    >>> [job.id for job in cancelled([ended])]
    [1]
    """
    return [
        job
        for job in jobs
        if any(_states_of(job, column).startswith("CANCEL") for column in ("state", "result"))
    ]


def _states_of(job: Job, column: str) -> str:
    """Return a further column in capital letters."""
    return dict(job.extra).get(column, "").upper()
