"""The waiting line: first come, first served, with quick removal near its head."""

from collections import deque
from typing import ClassVar, Protocol

from scheduler.job import Job
from scheduler.machine import Machine


class Line(Protocol):
    """Waiting jobs in some order; if `stable`, a job within reach stays so until it is removed."""

    stable: ClassVar[bool]  # a job within reach stays so until it is removed

    def __len__(self) -> int:
        """Return the number of waiting jobs."""

    def append(self, job: Job) -> None:
        """Take a job, submitted last."""

    def settle(self, machine: Machine) -> None:
        """Bring the line into order; the first thing done at every instant."""

    def head(self) -> Job | None:
        """Return the first job; None when no job waits."""

    def reachable(self) -> list[Job]:
        """Return the first jobs of the line, as many as the policy sees, in a new list."""

    def remove(self, job: Job) -> None:
        """Take out a job of `reachable` that starts."""


class LinePolicy:
    """What queue policies share that hold their waiting jobs in one line."""

    _line: Line

    def __repr__(self) -> str:
        """Return one line."""
        return f"<{type(self).__name__}: {len(self)} waiting>"

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._line)

    def submit(self, job: Job) -> None:
        """Put a job into the line."""
        self._line.append(job)


class WaitingLine:
    """
    Waiting jobs in the order of submission.

    The jobs within reach of the policy lie apart, so that taking one out costs the same for 10
    waiting jobs and for 100,000.
    """

    __slots__ = ("_backlog", "_front", "_reach")
    stable: ClassVar[bool] = True

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._front: dict[int, Job] = {}  # by id, in order
        self._backlog: deque[Job] = deque()

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._front) + len(self._backlog)

    def append(self, job: Job) -> None:
        """Add a job at the end."""
        self._backlog.append(job)
        self._fill()

    def settle(self, machine: Machine) -> None:
        """Do nothing: the order is that of submission."""

    def reachable(self) -> list[Job]:
        """Return the first jobs of the line."""
        return list(self._front.values())

    def head(self) -> Job | None:
        """Return the first job."""
        return next(iter(self._front.values()), None)

    def remove(self, job: Job) -> None:
        """Take a reachable job out of the line."""
        self._front.pop(job.id, None)
        self._fill()

    def _fill(self) -> None:
        """Move jobs within reach."""
        while self._backlog and len(self._front) < self._reach:
            job = self._backlog.popleft()
            self._front[job.id] = job
