"""Moldable jobs: where the scheduler may choose among the sizes of a job."""

from collections.abc import Iterable

from scheduler.cluster import Cluster
from scheduler.errors import PolicyError, WorkloadError
from scheduler.job import Job


def refuse_many_sizes(job: Job, place: str) -> None:
    """Refuse a moldable job where the size has to be known before it starts."""
    if job.sizes:
        raise PolicyError(f"{place}: job {job.id}: expected jobs of one size, got several sizes.")


def require_molding(jobs: Iterable[Job], cluster: Cluster, policy: object) -> None:
    """Refuse moldable jobs that are larger than the machine, or where none can be scheduled."""
    found = [job for job in jobs if job.sizes]
    if not found:
        return
    if cluster.node is not None:
        refuse_many_sizes(found[0], "where jobs share nodes")
    own = getattr(policy, "inner", policy)
    if not getattr(own, "molds_jobs", not type(own).__module__.startswith("scheduler.")):
        refuse_many_sizes(found[0], f"queue policy {getattr(own, 'name', type(own).__name__)!r}")
    for job in found:
        for size, _ in job.sizes:
            if size > cluster.n_nodes:
                raise WorkloadError(
                    f"job {job.id}: sizes: expected at most the {cluster.n_nodes} nodes of the "
                    f"machine, got {size}."
                )
