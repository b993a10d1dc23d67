"""EASY backfilling with a lookahead window; the head's reservation asks the allocator itself."""

from dataclasses import dataclass
from typing import ClassVar

from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.waiting import WaitingLine


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """
    When and in what state of the machine the head of the queue will start.

    Parameters
    ----------
    time_s : float
        The first expected end after which the allocator can place the head.
    cluster : Cluster
        The machine at that time: running jobs that are expected to have ended are gone.
    """

    time_s: float
    cluster: Cluster


class Easy:
    """
    EASY: the head of the queue holds a reservation, others may start if they do not delay it.

    Parameters
    ----------
    window : int, default 50
        Waiting jobs behind the head that are tried; seed 001, section 5.4.3 uses 50.

    Notes
    -----
    Rule R2: a job that would run past the head's reserved time starts if the head still
    fits at that time with the job where it is now. Time and test come from the allocator
    (running jobs are released in the order of their expected ends until it can place the
    head); a reservation that counts nodes only would ignore isolation and costs Jigsaw
    5 points of utilisation on Synth-16.
    """

    name: ClassVar[str] = "easy"

    def __init__(self, window: int = 50) -> None:
        if window < 0:
            raise PolicyError(f"window must be at least 0, got {window}.")
        self._line = WaitingLine(window + 1)
        self._reserved: tuple[int, int, float] | None = None  # head id, disturbances, time

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._line)

    def submit(self, job: Job) -> None:
        """
        Put a job at the end of the line.

        Parameters
        ----------
        job : Job
            Submitted now.
        """
        self._line.append(job)

    def select(self, machine: Machine) -> None:
        """
        Start jobs from the head on while they fit, then backfill.

        Parameters
        ----------
        machine : Machine
            The machine after all ends and submissions of this instant.
        """
        while (head := self._line.head()) is not None:
            placement = machine.try_to_place(head)
            if placement is None:
                break
            machine.start(placement)
            self._line.remove(head)
        if head is not None and machine.cluster.n_free and len(self._line) > 1:
            self._backfill(head, machine)

    def _backfill(self, head: Job, machine: Machine) -> None:
        """Start jobs behind the head that do not delay it."""
        time_s = self._reserved_time(head, machine)
        shadow: Cluster | None = None
        refused = Refusals(machine.allocator)
        for job in self._line.reachable()[1:]:
            if job.n_nodes > machine.cluster.n_free or refused.covers(job):
                continue
            long = machine.now_s + machine.estimate_s(job) > time_s
            if long:
                shadow = shadow or expected_cluster(machine, time_s)
                if shadow.n_free < head.n_nodes + job.n_nodes:
                    continue  # wherever the job goes, too few nodes are left for the head
            placement = machine.allocator.allocate(job, machine.cluster)
            if placement is None:
                refused.add(job)
                continue
            if long and shadow is not None and not _leaves_room(placement, head, shadow, machine):
                continue
            machine.start(placement)
            self._line.remove(job)
            if not machine.cluster.n_free:
                break

    def _reserved_time(self, head: Job, machine: Machine) -> float:
        """Return the head's reserved time; it moves only when an end was not as expected."""
        key = (head.id, machine.disturbances)
        if self._reserved is None or self._reserved[:2] != key:
            self._reserved = (*key, reserve(head, machine).time_s)
        return self._reserved[2]


class Refusals:
    """
    Sizes that the allocator has refused in this pass, so that they are not tried again.

    Parameters
    ----------
    allocator : Allocator
        If it is monotone in size, the smallest refused size covers all larger ones.
    """

    __slots__ = ("_least", "_monotone", "_sizes")

    def __init__(self, allocator: Allocator) -> None:
        self._monotone = allocator.monotone_in_size
        self._least = float("inf")
        self._sizes: set[int] = set()

    def covers(self, job: Job) -> bool:
        """
        Say whether trying a job is useless.

        Parameters
        ----------
        job : Job
            A waiting job.

        Returns
        -------
        bool
            True when its size, or for a monotone allocator a smaller one, was refused.
        """
        return job.n_nodes >= self._least or job.n_nodes in self._sizes

    def add(self, job: Job) -> None:
        """
        Remember a refusal.

        Parameters
        ----------
        job : Job
            Refused just now.
        """
        if self._monotone:
            self._least = min(self._least, job.n_nodes)
        else:
            self._sizes.add(job.n_nodes)


def _leaves_room(placement: Allocation, head: Job, shadow: Cluster, machine: Machine) -> bool:
    """Keep a placement in the shadow if the head still fits beside it."""
    shadow.place(placement)
    if machine.allocator.allocate(head, shadow) is not None:
        return True
    shadow.release(placement.job.id)
    return False


def expected_cluster(machine: Machine, time_s: float) -> Cluster:
    """
    Return the machine as it will be when all jobs expected to end by then have ended.

    Parameters
    ----------
    machine : Machine
        The machine now.
    time_s : float
        A time from now on, in seconds.

    Returns
    -------
    Cluster
        A copy.
    """
    cluster = machine.cluster.copy()
    for job_id, end_s in machine.expected_end_s.items():
        if end_s <= time_s:
            cluster.release(job_id)
    return cluster


def reserve(job: Job, machine: Machine) -> Reservation:
    """
    Return the first time at which the allocator is expected to be able to place a job.

    Parameters
    ----------
    job : Job
        The job at the head of the queue, which does not fit now.
    machine : Machine
        The machine now.

    Returns
    -------
    Reservation
        Time and expected state of the machine.

    Raises
    ------
    PolicyError
        If the job does not fit even when all running jobs have ended: the allocator
        refuses it on an empty machine without saying that it never will.
    """
    cluster = machine.cluster.copy()
    ends = sorted((end_s, job_id) for job_id, end_s in machine.expected_end_s.items())
    for index, (end_s, job_id) in enumerate(ends):
        cluster.release(job_id)
        same_instant = index + 1 < len(ends) and ends[index + 1][0] == end_s
        if same_instant or cluster.n_free < job.n_nodes:
            continue
        if machine.allocator.allocate(job, cluster) is not None:
            return Reservation(end_s, cluster)
    raise PolicyError(
        f"job {job.id} of {job.n_nodes} nodes cannot be placed by allocator "
        f"{machine.allocator.name!r} even on the empty machine."
    )
