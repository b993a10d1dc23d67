"""Reservation: when and where a waiting job is expected to start."""

import heapq
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine

NODE_COUNT = "node-count"  # reservations of so many nodes, wherever they are


class Place(NamedTuple):
    """A place that an allocator found for a later time."""

    placement: Allocation
    cluster: Cluster  # the machine then; a copy that the caller may change


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """When and where the head of the queue is expected to start."""

    time_s: float  # the first expected end after which the allocator can place the head
    place: Place | None = None  # where it would go then; None where nodes were counted instead
    # the last expected end before, after which the allocator could not place it
    refused_s: float = -inf


def expected_free(machine: Machine, time_s: float) -> int:
    """Return how many nodes will be free when all jobs expected to end by then have ended."""
    free = machine.cluster.n_free
    for end_s, job_id in machine.ends_ascending:
        if end_s > time_s:
            break
        free += machine.cluster.freed_by(job_id)
    return free


def departures(machine: Machine) -> list[tuple[float, list[int]]]:
    """Return the running jobs by the instant at which they are expected to end."""
    leaving: dict[float, list[int]] = {}
    for end_s, job_id in machine.ends_ascending:
        leaving.setdefault(end_s, []).append(job_id)
    return list(leaving.items())


def enough_nodes_s(job: Job, machine: Machine) -> float:
    """Return when enough nodes for a job are expected to be free, wherever they are."""
    free = machine.cluster.n_free
    if free >= job.n_nodes:
        return machine.now_s
    for end_s, job_id in machine.ends_ascending:
        free += machine.cluster.freed_by(job_id)
        if free >= job.n_nodes:
            return end_s
    return not_before(job, machine)


def first_reservation(
    job: Job, machine: Machine, *, placed: bool = True, refused_s: float = -inf
) -> Reservation:
    """
    Return the first time at which the allocator is expected to be able to place a job.

    Where its place is not wanted, nodes are counted if that is enough. Until `refused_s` it is
    known to find none. A job that wants few switches is expected to lose patience when its time for
    that is over, or so long after the first time at which it fits otherwise.
    """
    if machine.fits_by_count and not placed:
        return Reservation(enough_nodes_s(job, machine))
    cluster, limit = machine.cluster.copy(), machine.switch_limit
    agenda = departures(machine)
    patient_until_s = limit.patience_ends_s(job) if limit else machine.now_s
    last_s = refused_s
    if machine.now_s < patient_until_s < inf:
        heapq.heappush(agenda, (patient_until_s, []))
    for window in machine.windows:
        heapq.heappush(agenda, (window.until_s, []))
    while agenda:
        time_s, leaving = heapq.heappop(agenda)
        for job_id in leaving:
            cluster.release(job_id)
        if time_s <= refused_s or (agenda and agenda[0][0] == time_s):
            continue
        enough = cluster.has_nodes(job)
        found = machine.allocate(job, cluster, at_s=time_s) if enough else None
        if found is None:
            last_s = time_s
            continue
        if limit is None or time_s >= patient_until_s or limit.suits(found, cluster):
            return Reservation(time_s, Place(found, cluster), last_s)
        if patient_until_s == inf:
            patient_until_s = time_s + limit.wanted(job)[1]
            heapq.heappush(agenda, (patient_until_s, []))
    return Reservation(not_before(job, machine), refused_s=last_s)


def not_before(job: Job, machine: Machine) -> float:
    """Return inf for a job that waits for closed nodes; on a whole machine it is an error."""
    if machine.cluster.closed is None:
        raise never_placed(job, machine)
    return inf


def never_placed(job: Job, machine: Machine) -> PolicyError:
    """Return the error of a job that finds no place even when all other jobs have ended."""
    return PolicyError(
        f"job {job.id} of {job.n_nodes} nodes cannot be placed by allocator "
        f"{machine.allocator.name!r} even on the empty machine."
    )


def expected_size(job: Job, machine: Machine) -> Job:
    """
    Return a waiting job at the size with which it is expected to end first.

    Each size begins now if it finds a place, else when the running jobs, as they are expected to
    end, leave it one (Cirne02). Equal ends: the size that begins first, then the smaller one.
    """
    if not job.sizes:
        return job

    def end(size: Job) -> tuple[float, float, int]:
        start_s = machine.now_s
        if machine.try_to_place(size) is None:
            start_s = first_reservation(size, machine, placed=False).time_s
        return start_s + machine.estimate_s(size), start_s, size.n_nodes

    return min(machine.each_size(job), key=end)


def by_run_time(job: Job, machine: Machine) -> list[Job]:
    """Return a job at each of its sizes, the shortest first; equal ones: the smaller first."""
    return sorted(machine.each_size(job), key=lambda own: (machine.estimate_s(own), own.n_nodes))


def least_size(job: Job) -> int:
    """Return the nodes of a job's smallest size."""
    return min((size for size, _ in job.sizes), default=job.n_nodes)
