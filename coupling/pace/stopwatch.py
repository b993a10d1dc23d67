"""Stopwatch: a queue policy that takes the time of its decisions."""

import time
from typing import ClassVar

from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.base import QueuePolicy


class Stopwatch:
    """
    A queue policy, and the CPU time it takes with its allocator.

    Parameters
    ----------
    policy : QueuePolicy
        Chooses which jobs start.

    Attributes
    ----------
    cpu_s : float
        CPU seconds of all its decisions so far: what Smith21, Table 3, divides by the number of
        jobs as scheduling time per job.
    """

    name: ClassVar[str] = "stopwatch"

    def __init__(self, policy: QueuePolicy) -> None:
        self._policy = policy
        self.cpu_s = 0.0

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._policy)

    def submit(self, job: Job) -> None:
        """Take a job into the queue."""
        self._policy.submit(job)

    def select(self, machine: Machine) -> None:
        """Start every job that may start now."""
        begin_s = time.thread_time()
        self._policy.select(machine)
        self.cpu_s += time.thread_time() - begin_s
