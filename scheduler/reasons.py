"""Reasons: why a waiting job does not start."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scheduler.job import Job

NODES = "nodes"
ISOLATION = "isolation"
PLACEMENT = "placement"
SWITCHES = "switches"
RESERVATION = "reservation"
SHAPE = "shape"
ORDER = "order"
WINDOW = "window"
RECORDED = "recorded"
UNREPORTED = "unreported"
USER_LIMIT = "user-limit"
STRICTER = "stricter"  # nodes would be left for a reservation, and yet its job would find no place
REASONS = {
    NODES: "fewer nodes were free than it asks for",
    ISOLATION: "nodes were free, but isolation forbade them",
    PLACEMENT: "nodes were free, but not where the allocator places jobs",
    SWITCHES: "places were free, but on more switches than it wants",
    RESERVATION: "it would have delayed a reservation",
    SHAPE: "it preferred to wait for a better shape",
    ORDER: "no job overtakes the head of the queue",
    WINDOW: "too far behind in the queue to be looked at",
    RECORDED: "it starts when the record says",
    UNREPORTED: "the queue policy reports no reason",
    USER_LIMIT: "its user has as many jobs or nodes as a limit allows",
}
"""Why a job waits, by name, in the order of reports."""

NO_JOB = -1


class Verdict(NamedTuple):
    """
    Why a job does not start at an instant.

    Parameters
    ----------
    reason : str
        Key of `REASONS`: the first test that the job failed when its turn came.
    holder : int
        Job whose reservation is in the way; the job itself where it is the head of the queue;
        else `NO_JOB`.
    root : str
        Of a job that waits for others (reservation, order, window): why the one in front waits;
        empty where the reason is the job's own.
    """

    reason: str
    holder: int = NO_JOB
    root: str = ""


INSUFFICIENT_NODES = Verdict(NODES)
NOT_REPORTED = Verdict(UNREPORTED)


class WaitReasons:
    """
    Reasons that a queue policy reports for the jobs that wait.

    Attributes
    ----------
    verdicts : dict of int to Verdict
        By id of the jobs that it looked at.
    news : dict of int to (Verdict or None)
        Those of them that are new at this instant; None: no longer looked at.
    rest : Verdict
        What holds for all other jobs.
    """

    __slots__ = ("news", "rest", "verdicts")

    def __init__(self) -> None:
        self.verdicts: dict[int, Verdict] = {}
        self.news: dict[int, Verdict | None] = {}
        self.rest = NOT_REPORTED

    def __repr__(self) -> str:
        return f"<WaitReasons: {len(self.verdicts)} jobs, others {self.rest.reason}>"

    def report(self, job: int, verdict: Verdict) -> None:
        """
        Report why a job does not start now.

        Parameters
        ----------
        job : int
            Id of a waiting job.
        verdict : Verdict
            The reason; one that has not changed is not reported to observers again.
        """
        if self.verdicts.get(job) != verdict:
            self.verdicts[job] = self.news[job] = verdict

    def report_insufficient_nodes(self, jobs: Iterable[Job], n_free: int = 0) -> None:
        """
        Report of the jobs that ask for more than so many nodes that too few are free.

        Parameters
        ----------
        jobs : iterable of Job
            Waiting jobs.
        n_free : int, default 0
            Free nodes.
        """
        of = self.verdicts
        for job in jobs:
            if job.n_nodes > n_free and of.get(job.id) is not INSUFFICIENT_NODES:
                of[job.id] = self.news[job.id] = INSUFFICIENT_NODES

    def begin(self) -> None:
        """Begin an instant."""
        self.news = {}

    def drop(self, job: int) -> None:
        """
        Forget a job that starts.

        Parameters
        ----------
        job : int
            Its id.
        """
        if self.verdicts.pop(job, None) is not None:
            self.news.pop(job, None)

    def retain(self, jobs: Sequence[Job]) -> None:
        """
        Forget jobs that are no longer looked at.

        Parameters
        ----------
        jobs : sequence of Job
            Those that are, each of them reported or started at this instant.
        """
        for gone in self.verdicts.keys() - {job.id for job in jobs}:
            del self.verdicts[gone]
            self.news[gone] = None


def trace_roots(verdicts: dict[int, Verdict]) -> None:
    """Find out why the jobs in front wait that hold the reservations; set their root."""
    for job, verdict in verdicts.items():
        if verdict.reason != RESERVATION:
            continue
        seen, front = {job}, verdicts.get(verdict.holder, INSUFFICIENT_NODES)
        while front.reason == RESERVATION and not front.root and front.holder not in seen:
            seen.add(front.holder)
            front = verdicts.get(front.holder, INSUFFICIENT_NODES)
        own = front.root or front.reason
        verdicts[job] = verdict._replace(root=NODES if own == RESERVATION else own)
