"""Limited: any queue policy, with a limit of leaf switches for its jobs."""

from typing import ClassVar

from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.base import QueuePolicy
from scheduler.switches import SwitchLimit


class Limited:
    """
    A queue policy whose jobs want few leaf switches for a while.

    Parameters
    ----------
    policy : QueuePolicy
        Chooses which jobs start.
    limit : SwitchLimit
        Refuses placements.
    """

    name: ClassVar[str] = "limited"

    def __init__(self, policy: QueuePolicy, limit: SwitchLimit) -> None:
        self._policy = policy
        self._limit = limit

    def __repr__(self) -> str:
        """Return one line."""
        return f"<{type(self).__name__}: {len(self)} waiting>"

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._policy)

    def submit(self, job: Job) -> None:
        """Take a job into the queue."""
        self._policy.submit(job)

    def select(self, machine: Machine) -> None:
        """Start every job that may start now."""
        machine.limit = self._limit
        self._policy.select(machine)
