"""NodeChooser: base of an allocator of one's own, which only says which free nodes a job gets."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import index
from typing import ClassVar

import numpy as np

from fabricsim.checking import brief, shortened
from netsim.common.arrays import Ints
from scheduler.allocation import Allocation
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.ordering import allocation_of
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job


class NodeChooser(ABC):
    """
    Base of allocators that list nodes: write `choose`, the rest is here.

    Nothing is assumed about the choice: the job owns no links, and a refusal says nothing about
    larger jobs or fuller machines. Set `monotone_in_size` and `monotone_in_free` where they hold
    (see `Allocator`): queue policies are quicker then.
    """

    name: ClassVar[str] = "own"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = False
    monotone_in_free: ClassVar[bool] = False

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"<{type(self).__name__}{': ' * bool(options)}{shortened(options)}>"

    @abstractmethod
    def choose(self, job: Job, free: Ints, cluster: Cluster) -> Sequence[int] | Ints | None:
        """
        Return the nodes of a job, in the order of its ranks.

        Parameters
        ----------
        job : Job
            The job; at least as many nodes are free.
        free : (F,) int array
            Free nodes, ascending.
        cluster : Cluster
            The machine as it is; left unchanged.

        Returns
        -------
        sequence of int or None
            As many of the free nodes as the job wants; None when it has to wait.
        """

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a placement on the chosen nodes; what is no placement is an error."""
        check_size(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        free = cluster.free_nodes()
        chosen = self.choose(job, free, cluster)
        if chosen is None:
            return now_or_later(None, self.name, job, cluster)
        try:
            nodes = [index(node) for node in chosen]
        except TypeError:
            raise AllocationError(
                f"allocator {self.name!r}: expected numbers of nodes for job {job.id}, "
                f"got {brief(chosen)}."
            ) from None
        if len(nodes) != job.n_nodes or len(set(nodes)) != len(nodes):
            raise AllocationError(
                f"allocator {self.name!r}: expected {job.n_nodes} different nodes for job "
                f"{job.id}, got {len(set(nodes))}."
            )
        taken = np.setdiff1d(nodes, free)
        if taken.size:
            raise AllocationError(
                f"allocator {self.name!r}: expected free nodes for job {job.id}, "
                f"got node {taken[0]}."
            )
        return allocation_of(job, nodes, cluster.geometry)
