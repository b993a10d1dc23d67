"""Reasons: why a queue policy passes over a waiting job."""

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
UNTOLD = "untold"
STRICTER = "stricter"  # nodes would be left for a reservation, and yet its job would find no place
REASONS = {
    NODES: "fewer nodes were free than it asks for",
    ISOLATION: "nodes were free, but isolation forbade them",
    PLACEMENT: "nodes were free, but not where the allocator places jobs",
    SWITCHES: "places were free, but on more switches than it wants",
    RESERVATION: "it would have delayed a reservation",
    SHAPE: "it preferred to wait for a better shape",
    ORDER: "nobody overtakes the head of the queue",
    WINDOW: "too far behind in the queue to be looked at",
    RECORDED: "it starts when the record says",
    UNTOLD: "the queue policy does not tell",
}
"""Why a job waits, by name, in the order in which people are told."""

NOBODY = -1


class Verdict(NamedTuple):
    """
    Why a job does not start at an instant.

    Parameters
    ----------
    reason : str
        Key of `REASONS`: the first test that the job failed when its turn came.
    holder : int
        Job whose reservation is in the way; the job itself where it is the head of the queue;
        else `NOBODY`.
    root : str
        Of a job that waits for others (reservation, order, window): why the one in front waits;
        empty where the reason is the job's own.
    """

    reason: str
    holder: int = NOBODY
    root: str = ""


LACKING = Verdict(NODES)
SILENT = Verdict(UNTOLD)


class Told:
    """
    What a queue policy says of the jobs that wait.

    Attributes
    ----------
    of : dict of int to Verdict
        By id of the jobs that it looked at.
    news : dict of int to (Verdict or None)
        Those of them that are new at this instant; None: no longer looked at.
    rest : Verdict
        What holds for all other jobs.
    """

    __slots__ = ("news", "of", "rest")

    def __init__(self) -> None:
        self.of: dict[int, Verdict] = {}
        self.news: dict[int, Verdict | None] = {}
        self.rest = SILENT

    def tell(self, job: int, verdict: Verdict) -> None:
        """Say why a job does not start now."""
        if self.of.get(job) != verdict:
            self.of[job] = self.news[job] = verdict

    def tell_lacking(self, jobs: Iterable[Job], n_free: int = 0) -> None:
        """Say of those jobs that ask for more nodes that no more than these are free."""
        of = self.of
        for job in jobs:
            if job.n_nodes > n_free and of.get(job.id) is not LACKING:
                of[job.id] = self.news[job.id] = LACKING

    def begin(self) -> None:
        """Begin an instant."""
        self.news = {}

    def drop(self, job: int) -> None:
        """Forget a job that starts."""
        if self.of.pop(job, None) is not None:
            self.news.pop(job, None)

    def keep(self, jobs: Sequence[Job]) -> None:
        """
        Forget jobs that are no longer looked at.

        `jobs`: those that are, each of them told or started at this instant.
        """
        for gone in self.of.keys() - {job.id for job in jobs}:
            del self.of[gone]
            self.news[gone] = None


def trace_roots(verdicts: dict[int, Verdict]) -> None:
    """
    Find out why the jobs in front wait that hold the reservations.

    `verdicts`: by job id; those of reservations get their root.
    """
    for job, verdict in verdicts.items():
        if verdict.reason != RESERVATION:
            continue
        seen, front = {job}, verdicts.get(verdict.holder, LACKING)
        while front.reason == RESERVATION and not front.root and front.holder not in seen:
            seen.add(front.holder)
            front = verdicts.get(front.holder, LACKING)
        own = front.root or front.reason
        verdicts[job] = verdict._replace(root=NODES if own == RESERVATION else own)
