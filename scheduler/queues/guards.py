"""Guards: what a job must respect that would run past the reserved time of the head (EASY)."""

from collections.abc import Callable
from typing import Protocol

from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.attempts import Attempts
from scheduler.queues.reservation import Reservation, departures, expected_cluster


class Guard(Protocol):
    """
    Watches over the head's reservation during one pass.

    Attributes
    ----------
    time_s : float
        Jobs that end by then cannot delay the head.
    """

    time_s: float

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """
        Place a job that will run past the reserved time.

        Parameters
        ----------
        job : Job
            A waiting job behind the head.
        attempts : Attempts
            Places jobs on the machine as it is.

        Returns
        -------
        Allocation or None
            A placement that does not delay the head; None: it must wait.
        """

    def note(self, placement: Allocation, *, long: bool) -> None:
        """
        Take note of a job that was started.

        Parameters
        ----------
        placement : Allocation
            What it holds.
        long : bool
            Whether it will run past the reserved time.
        """


class HeadStillFits:
    """
    Rule R2: the head must still fit at its time beside the job where it would go now.

    Parameters
    ----------
    head : Job
        First in the queue.
    machine : Machine
        The machine now.
    reservation : Reservation
        Of the head.
    """

    def __init__(self, head: Job, machine: Machine, reservation: Reservation) -> None:
        self.time_s = reservation.time_s
        self._head = head
        self._machine = machine
        self._shadow: Cluster | None = None  # the machine at the reserved time

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job if the head fits beside it."""
        if self._shadow is None:
            self._shadow = expected_cluster(self._machine, self.time_s)
        shadow = self._shadow
        if shadow.n_free < self._head.n_nodes + job.n_nodes:
            return None  # wherever the job goes, too few nodes are left for the head
        placement = attempts.place(job)
        if placement is None:
            return None
        shadow.place(placement)
        if self._machine.expects(self._head, shadow, self.time_s) is not None:
            return placement
        shadow.release(job.id)
        return None

    def note(self, placement: Allocation, *, long: bool) -> None:
        """Do nothing: the shadow knows of long jobs already, and short ones are not in it."""


class HeadIsFixed:
    """
    Rule R3: the head's nodes and links are fixed, the job may use anything else.

    Parameters
    ----------
    head : Job
        First in the queue.
    machine : Machine
        The machine now.
    reservation : Reservation
        Of the head.
    """

    def __init__(self, head: Job, machine: Machine, reservation: Reservation) -> None:
        del head
        self.time_s = reservation.time_s
        self._machine = machine
        self._fixed = machine.cluster.footprint(reservation.placement)
        self._rest: Cluster | None = None  # the machine without what the head will get

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job beside what the head will get."""
        del attempts
        if self._rest is None:
            self._rest = self._machine.cluster.copy()
            self._rest.block(self._fixed)
        return self._machine.expects(job, self._rest, self._machine.now_s)

    def note(self, placement: Allocation, *, long: bool) -> None:
        """See the rest of the machine anew."""
        del placement, long
        self._rest = None


class NodesAreCounted:
    """
    The textbook rule: long jobs may use as many nodes as the head leaves at its time.

    Parameters
    ----------
    head : Job
        First in the queue.
    machine : Machine
        The machine now.
    """

    def __init__(self, head: Job, machine: Machine) -> None:
        running, free = machine.cluster.running, machine.cluster.n_free
        self.time_s = machine.now_s
        for end_s, leaving in departures(machine):
            if free >= head.n_nodes:
                break
            self.time_s = end_s
            free += sum(running[job_id].held for job_id in leaving)
        self._spare = free - head.n_nodes

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job that needs no more than the spare nodes."""
        return attempts.place(job) if job.n_nodes <= self._spare else None

    def note(self, placement: Allocation, *, long: bool) -> None:
        """Count the spare nodes that a long job takes."""
        if long:
            self._spare -= placement.held


RULES: dict[str, Callable[[Job, Machine, Reservation], Guard]] = {
    "R2": HeadStillFits,
    "R3": HeadIsFixed,
}
