"""Limits of users: how many jobs and nodes each may have at once, as Slurm's QOS has them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Protocol

from fabricsim.checking import Table, wrong
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.waiting import Line
from scheduler.sharing import refuse_many_sizes

_TRES = re.compile(r"node=(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class UserLimits:
    """What the running jobs of a user may be at most."""

    jobs: float = inf
    nodes: float = inf

    @classmethod
    def read(cls, table: object) -> "UserLimits":
        """Read ``MaxJobsPerUser`` and ``MaxTRESPerUser = "node=64"``."""
        if not isinstance(table, Mapping) or not table:
            raise wrong("limits", "a table such as {MaxJobsPerUser = 4}", table, PolicyError)
        own = Table(table, "limits:", PolicyError)
        jobs = own.integer("MaxJobsPerUser", least=1) if "MaxJobsPerUser" in own else inf
        nodes = inf
        if "MaxTRESPerUser" in own:
            match = _TRES.fullmatch(str(own.raw("MaxTRESPerUser")))
            if match is None or not int(match[1]):
                raise own.error("MaxTRESPerUser", "a text such as 'node=64'")
            nodes = int(match[1])
        own.finish()
        return cls(jobs, nodes)


class OpenLine(Line, Protocol):
    """A line that jobs may leave for a while."""

    def enroll(self, job: Job) -> None:
        """Give a number to a job that is submitted now, and may be appended later."""

    def withdraw(self, jobs: Iterable[Job]) -> None:
        """Take out jobs that come back to their places."""


class UserLimitLine:
    """
    A line without the jobs that a user's limit holds back: they neither start nor reserve.

    As in Slurm, such a job keeps its place in the order and delays no other. Its user's smaller
    jobs may start before it.
    """

    stable: ClassVar[bool] = False

    def __init__(self, line: OpenLine, limits: UserLimits) -> None:
        self._line, self._limits = line, limits
        self._held: dict[int, dict[int, Job]] = {}  # by user and id
        self._open: dict[int, dict[int, Job]] = {}  # those in the line
        self._running: dict[int, Job] = {}  # that were started from here
        self._n_jobs: dict[int, int] = {}  # running ones, by user
        self._n_nodes: dict[int, float] = {}
        self._machine: Machine | None = None

    def __len__(self) -> int:
        return len(self._line) + sum(map(len, self._held.values()))

    def append(self, job: Job) -> None:
        """Take a job."""
        refuse_many_sizes(job, "limits of users")
        if job.n_nodes > self._limits.nodes:
            raise PolicyError(
                f"job {job.id}: expected no more than MaxTRESPerUser = node={self._limits.nodes:g},"
                f" got {job.n_nodes} nodes."
            )
        self._held.setdefault(job.user, {})[job.id] = job
        self._line.enroll(job)

    def held(self) -> list[Job]:
        """Return the jobs that the limits hold back."""
        return [job for own in self._held.values() for job in own.values()]

    def settle(self, machine: Machine) -> None:
        """Count the users' running jobs anew, and let jobs into the line or out of it."""
        self._machine = machine
        on = machine.cluster.running
        self._running = {number: job for number, job in self._running.items() if number in on}
        self._n_jobs.clear()
        self._n_nodes.clear()
        for job in self._running.values():
            self._count(job)
        for user in [*self._held]:
            for job in [*self._held[user].values()]:
                if self.allows(job):
                    del self._held[user][job.id]
                    self._open.setdefault(user, {})[job.id] = job
                    self._line.append(job)
            if not self._held[user]:
                del self._held[user]
        self._line.settle(machine)

    def allows(self, job: Job) -> bool:
        """Say whether a job may start within the limits of its user."""
        jobs, nodes = self._n_jobs.get(job.user, 0), self._n_nodes.get(job.user, 0)
        return jobs + 1 <= self._limits.jobs and nodes + self._weight(job) <= self._limits.nodes

    def head(self) -> Job | None:
        """Return the first job."""
        return self._line.head()

    def reachable(self) -> list[Job]:
        """Return the first jobs of the line."""
        return self._line.reachable()

    def remove(self, job: Job) -> None:
        """Take out a job that starts, and those that its user may not start now."""
        self._line.remove(job)
        self._running[job.id] = job
        self._count(job)
        mine = self._open[job.user]
        del mine[job.id]
        over = [other for other in mine.values() if not self.allows(other)]
        if over:
            self._line.withdraw(over)
            held = self._held.setdefault(job.user, {})
            for other in over:
                held[other.id] = mine.pop(other.id)

    def _count(self, job: Job) -> None:
        self._n_jobs[job.user] = self._n_jobs.get(job.user, 0) + 1
        self._n_nodes[job.user] = self._n_nodes.get(job.user, 0) + self._weight(job)

    def _weight(self, job: Job) -> float:
        return job.n_nodes if self._machine is None else self._machine.cluster.weight(job)


def limited(policy: Any, limits: UserLimits, name: str) -> None:  # noqa: ANN401 (any queue policy)
    """Let a queue policy keep the limits of users; one that plans ahead is refused."""
    limit = getattr(policy, "limit_users", None)
    if limit is None:
        raise PolicyError(
            f"queue {name!r}: limits: expected fcfs, easy, sjf, priority or multifactor, or "
            "partitions of these."
        )
    limit(limits)
