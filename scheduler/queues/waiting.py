"""The waiting line: first come, first served, with quick removal near its head."""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable
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
    _molds: bool = False  # whether a moldable job has come
    molds_jobs: ClassVar[bool] = False  # whether it chooses sizes of moldable jobs

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} waiting>"

    def __len__(self) -> int:
        return len(self._line)

    def submit(self, job: Job) -> None:
        """Put a job into the line."""
        if job.sizes:
            self._molds = True
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
        return len(self._front) + len(self._backlog)

    @property
    def reach(self) -> int:
        """How many jobs the policy sees."""
        return self._reach

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


Key = Callable[[Job, Machine], float]


class SortedLine:
    """Waiting jobs by a key that does not change while they wait, equals by submission."""

    __slots__ = ("_jobs", "_key", "_new", "_number", "_reach", "_serial")
    stable: ClassVar[bool] = False

    def __init__(self, reach: int, key: Key) -> None:
        self._reach = reach
        self._key = key
        self._jobs: list[tuple[float, int, Job]] = []
        self._new: list[Job] = []
        self._serial = 0
        self._number: dict[int, int] = {}  # of jobs by id, by which equals are ordered

    def __len__(self) -> int:
        return len(self._jobs) + len(self._new)

    def enroll(self, job: Job) -> None:
        """Give a number to a job that is submitted now, and may be appended later."""
        self._serial += 1  # unique, so that jobs themselves are never compared
        self._number[job.id] = self._serial

    def append(self, job: Job) -> None:
        """Take a job."""
        if job.id not in self._number:
            self.enroll(job)
        self._new.append(job)

    def settle(self, machine: Machine) -> None:
        """Sort the new jobs in."""
        entries = [(self._key(job, machine), self._number[job.id], job) for job in self._new]
        self._new.clear()
        if len(entries) == 1:
            insort(self._jobs, entries[0])
        elif entries:
            self._jobs += entries
            self._jobs.sort()

    def head(self) -> Job | None:
        """Return the first job."""
        return self._jobs[0][2] if self._jobs else None

    def reachable(self) -> list[Job]:
        """Return the first jobs of the line."""
        return [job for _, _, job in self._jobs[: self._reach]]

    def remove(self, job: Job) -> None:
        """Take out a job that starts."""
        number = job.id
        for index, (_, _, waiting) in enumerate(self._jobs):
            if waiting.id == number:
                del self._jobs[index]
                break
        self._number.pop(number, None)

    def withdraw(self, jobs: Iterable[Job]) -> None:
        """Take out jobs that come back to their places."""
        gone = {job.id for job in jobs}
        self._jobs = [entry for entry in self._jobs if entry[2].id not in gone]
