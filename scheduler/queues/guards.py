"""Guards: what a job must respect that would run past the reserved time of the head (EASY)."""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from scheduler.allocation import Allocation
from scheduler.allocators.base import exhaustive
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.attempts import Attempts
from scheduler.queues.refusals import TooMuch
from scheduler.queues.reservation import Place, expected_free
from scheduler.reasons import STRICTER

FIXED = "R3"


class Guard(Protocol):
    """
    Watches over the head's reservation, as long as that stands.

    Attributes
    ----------
    time_s : float
        Jobs that end by then cannot delay the head.
    spare : int
        Nodes left for a long job beside the head, wherever they are: what the rule would say of an
        allocator that takes any free nodes.
    """

    time_s: float

    @property
    def spare(self) -> int:
        """Return how many nodes are left."""

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """
        Place a job that will run past the reserved time.

        Parameters
        ----------
        job : Job
            A waiting job behind the head, of no more than the spare nodes.
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
    time_s : float
        The reserved time of the head.
    reserved : Place
        Where it will go then; the machine of it becomes this guard's.
    """

    def __init__(self, head: Job, machine: Machine, time_s: float, reserved: Place) -> None:
        self.time_s = time_s
        self._head = head
        self._machine = machine
        self._shadow = reserved.cluster  # jobs that end by then change nothing in it
        # an exhaustive allocator is asked less; a limit of switches may refuse what it finds
        self._sure = exhaustive(machine.allocator) if machine.limit is None else None
        self._too_much = TooMuch(nested=self._sure is not None)
        self._witness: Allocation | None = None  # a place for the head beside all long jobs
        self._refused: set[int] = set()  # sizes that leave it none, as long as nobody starts
        self._refused_in: tuple[Attempts, int] | None = None

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job if the head fits beside it."""
        if self._sure is not None and self._is_refused(job, attempts):
            self._machine.why = STRICTER
            return None
        placement = attempts.place(job)
        if placement is None:
            return None
        if not self._too_much.cover(placement):
            if self._fits_beside(placement, self._shadow):
                self._too_much.grown()
                return placement
            if self._machine.limit is None:  # else the head may lose its patience
                self._too_much.add(placement)
        self._refused.add(job.n_nodes)
        self._machine.why = STRICTER
        return None

    def _is_refused(self, job: Job, attempts: Attempts) -> bool:
        """Say whether a job of the same size, which would go to the same place, was refused."""
        state = attempts, len(self._machine.started)
        if self._refused_in != state:
            self._refused_in = state
            self._refused.clear()
        return job.n_nodes in self._refused

    def _fits_beside(self, placement: Allocation, shadow: Cluster) -> bool:
        """Say whether the head fits beside a long job; if so that is placed in the shadow."""
        if self._sure is not None and self._sure.no_room_beside(self._head, shadow, placement):
            return False
        before = shadow.stamp.copy()
        shadow.place(placement)
        if self._witness is not None and shadow.fits(self._witness):
            return True
        found = self._machine.expects(self._head, shadow, self.time_s)
        if found is None:
            shadow.release(placement.job.id)
            shadow.stamp = before  # all is as it was
            return False
        self._witness = found if self._sure is not None else None
        return True

    @property
    def spare(self) -> int:
        """Nodes free at the reserved time, without the head's."""
        return self._shadow.n_free - self._head.n_nodes

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
    time_s : float
        The reserved time of the head.
    reserved : Place
        Where it will go then.
    """

    def __init__(self, head: Job, machine: Machine, time_s: float, reserved: Place) -> None:
        del head
        self.time_s = time_s
        self._machine = machine
        self._fixed = machine.cluster.footprint(reserved.placement)
        self._rest: Cluster | None = None  # the machine without what the head will get

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job beside what the head will get."""
        del attempts
        machine, rest = self._machine, self._left()
        found = machine.expects(job, rest, machine.now_s)
        if found is None:
            machine.why = machine.why_not(job, rest)
        return found

    @property
    def spare(self) -> int:
        """Nodes that are free now and not the head's."""
        return self._left().n_free

    def _left(self) -> Cluster:
        """Return the machine without what the head will get."""
        if self._rest is None:
            self._rest = self._machine.cluster.copy()
            self._rest.block(self._fixed)
        return self._rest

    def note(self, placement: Allocation, *, long: bool) -> None:
        """See the rest of the machine anew."""
        del placement, long
        self._rest = None


class NodesAreCounted:
    """
    The textbook rule: long jobs may use as many nodes as the head leaves at its time.

    Where the allocator refuses only for want of nodes this is rule R2 without asking it.

    Parameters
    ----------
    head : Job
        First in the queue.
    machine : Machine
        The machine now.
    time_s : float
        When enough nodes for the head are expected to be free.
    """

    def __init__(self, head: Job, machine: Machine, time_s: float) -> None:
        self.time_s = time_s
        self._head = head
        self._machine = machine

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job."""
        return attempts.place(job)

    def note(self, placement: Allocation, *, long: bool) -> None:
        """Count the spare nodes that a long job takes."""
        if long:
            self.spare -= placement.held

    @cached_property
    def spare(self) -> int:
        """Nodes that the head leaves at its time; counted when the first long job asks."""
        return expected_free(self._machine, self.time_s) - self._head.n_nodes


RULES: dict[str, Callable[[Job, Machine, float, Place], Guard]] = {
    "R2": HeadStillFits,
    FIXED: HeadIsFixed,
}
