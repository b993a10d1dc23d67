"""Balanced of Mishra20: communicating jobs on leaves in powers of two."""

from dataclasses import dataclass
from typing import ClassVar

from scheduler.allocation import Allocation
from scheduler.allocators.leaves.leafwise import Portion, free_leaves, take, whole
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class Balanced:
    """
    Balanced: portions of a power of two nodes, so that most exchanges stay on a leaf.

    Below the lowest switch with enough free nodes, a job that communicates takes from the
    leaves, most free nodes first, the largest power of two that fits and does not exceed the
    portion before; what is missing then comes from what these left over, fewest free nodes
    first. Another job takes all of the leaves with the fewest free nodes.

    Notes
    -----
    Mishra20, section 4.2, algorithm 2, table 2. Left open there: a size that is no power of two
    starts from the next lower one, since the text wants powers of two where the algorithm would
    halve the size itself; leaves with as many free nodes come by number; ranks run over the
    portions in the order in which they are taken, so that they align with the exchanges.
    """

    name: ClassVar[str] = "balanced"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    fits_by_count: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        free = free_leaves(job, cluster, self.name)
        if free is None:
            return None
        if job.communication is None:
            order = sorted(free, key=free.__getitem__)
            return take(job, whole(order, free, job.n_nodes), cluster)
        return take(job, portions(free, job.n_nodes), cluster)


def portions(free: dict[int, int], size: int) -> list[Portion]:
    """
    Split a communicating job over leaves in powers of two.

    `free`: free nodes of each leaf, at least 1; together enough. Result: leaf and nodes taken of
    it, in order; a leaf may come twice.

    Examples
    --------
    Table 2 of Mishra20.

    >>> portions(dict(enumerate([160, 150, 100, 80, 70, 50, 40])), 512)
    [(0, 128), (1, 128), (2, 64), (3, 64), (4, 64), (5, 32), (6, 32)]
    """
    order = sorted(free, key=lambda leaf: (-free[leaf], leaf))
    if free[order[0]] >= size:
        return [(order[0], size)]
    taken: list[Portion] = []
    missing, portion = size, 1 << (size.bit_length() - 1)
    for leaf in order:
        while portion > free[leaf]:
            portion //= 2
        taken.append((leaf, min(portion, missing)))
        missing -= taken[-1][1]
        if not missing:
            return taken
    left = {leaf: free[leaf] - count for leaf, count in taken if free[leaf] > count}
    return taken + whole(reversed(left), left, missing)
