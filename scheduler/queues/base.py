"""QueuePolicy: which waiting jobs start now; the protocol."""

from typing import ClassVar, Protocol

from scheduler.job import Job
from scheduler.machine import Machine


class QueuePolicy(Protocol):
    """
    Keeps the waiting jobs and chooses which start.

    Attributes
    ----------
    name : str
        Key in the registry.
    """

    name: ClassVar[str]

    def submit(self, job: Job) -> None:
        """
        Take a job into the queue.

        Parameters
        ----------
        job : Job
            Submitted now.
        """

    def select(self, machine: Machine) -> None:
        """
        Start, through ``machine.start``, every job that may start now.

        Parameters
        ----------
        machine : Machine
            The machine after all ends and submissions of this instant.
        """

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
