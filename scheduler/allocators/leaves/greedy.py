"""Greedy of Mishra20: communicating jobs on the least contended leaves."""

from dataclasses import dataclass
from typing import ClassVar

from scheduler.allocation import Allocation
from scheduler.allocators.leaves.leafwise import free_leaves, ratios, take, whole
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class Greedy:
    """
    Greedy: whole leaves in the order of their communication ratio.

    Below the lowest switch with enough free nodes, a job that communicates takes the leaves
    with the lowest ratio, another job those with the highest.

    Notes
    -----
    Mishra20, section 4.1, algorithm 1, equation (1). Left open there: leaves of equal ratio are
    taken with the most free nodes first for a job that communicates (the section's aim of few
    switches), the fewest first for another, then by number; ranks run over the leaves in the
    order in which they are taken. A job is communication-intensive if it communicates at all:
    the paper takes that as given by the user and knows no threshold.
    """

    name: ClassVar[str] = "greedy"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    fits_by_count: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        free = free_leaves(job, cluster, self.name)
        if free is None:
            return None
        sign = -1 if job.communication is None else 1
        leaves = list(free)
        ratio = dict(zip(leaves, ratios(leaves, cluster), strict=True))
        order = sorted(leaves, key=lambda leaf: (sign * ratio[leaf], -sign * free[leaf], leaf))
        return take(job, whole(order, free, job.n_nodes), cluster)
