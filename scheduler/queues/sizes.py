"""The sizes of moldable jobs: with which a job is expected to end first."""

from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.reservation import first_reservation


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
