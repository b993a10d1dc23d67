"""Baseline: the lowest-numbered free nodes, or a run of consecutive ones."""

from dataclasses import dataclass
from typing import ClassVar

from scheduler.allocation import Allocation, lowest
from scheduler.allocators.base import check_size
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class FirstFree:
    """
    Baseline: the lowest-numbered free nodes, wherever they are.

    Notes
    -----
    The *Baseline* of seed 001, section 5 (a traditional, unconstrained scheduler), and the
    topology-oblivious policy of seed 000, section IV.
    """

    name: ClassVar[str] = "first-free"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """
        Return the lowest free nodes.

        Parameters
        ----------
        job : Job
            Only its size is looked at.
        cluster : Cluster
            The machine as it is; left unchanged.

        Returns
        -------
        Allocation or None
            None when too few nodes are free.

        Raises
        ------
        AllocationError
            If the machine has too few nodes.
        """
        check_size(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        leaves = []
        missing = job.n_nodes
        for leaf, mask in enumerate(cluster.leaf_free):
            if mask:
                count = mask.bit_count()
                if count >= missing:
                    leaves.append((leaf, lowest(mask, missing), 0))
                    break
                leaves.append((leaf, mask, 0))
                missing -= count
        return Allocation(job, tuple(leaves))
