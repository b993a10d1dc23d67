"""Baseline: the lowest-numbered free nodes, or a run of consecutive ones."""

from dataclasses import dataclass
from itertools import accumulate, compress
from typing import ClassVar

from scheduler.allocation import Allocation, lowest
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.ordering import allocation_of
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class FirstFree:
    """
    Baseline: the lowest-numbered free nodes, wherever they are.

    Notes
    -----
    The *Baseline* of Smith21, section 5 (a traditional, unconstrained scheduler), and the
    topology-oblivious policy of Pollard18, section IV.
    """

    name: ClassVar[str] = "first-free"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    fits_by_count: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return the lowest free nodes."""
        check_size(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        if cluster.geometry.node_at is not None:
            nodes = cluster.free_nodes()[: job.n_nodes].tolist()
            return allocation_of(job, nodes, cluster.geometry)
        leaves = []
        missing = job.n_nodes
        free = cluster.leaf_free
        for leaf in compress(range(len(free)), free):  # on a busy machine few have free nodes
            mask = free[leaf]
            count = mask.bit_count()
            if count >= missing:
                leaves.append((leaf, lowest(mask, missing), 0))
                break
            leaves.append((leaf, mask, 0))
            missing -= count
        return Allocation(job, cluster.geometry, tuple(leaves))


@dataclass(frozen=True, slots=True)
class Contiguous:
    """
    The lowest run of consecutive free nodes that is long enough.

    Notes
    -----
    Consecutive in the numbering of nodes: leaf by leaf on a fat-tree, row by row on a torus. On a
    tree that is not regular, leaf by leaf as well, whatever numbers its file gave the nodes, and
    a leaf with few nodes leaves no gap. Jobs are kept together at the price of external
    fragmentation.
    """

    name: ClassVar[str] = "contiguous"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return consecutive free nodes."""
        check_size(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        sizes = cluster.geometry.sizes()
        starts = 0  # nodes from which on `length` nodes are free
        for size, mask in zip(reversed(sizes), reversed(cluster.leaf_free), strict=True):
            starts = starts << size | mask
        length = 1
        while length < job.n_nodes and starts:
            more = min(length, job.n_nodes - length)
            starts &= starts >> more
            length += more
        if not starts:
            return now_or_later(None, self.name, job, cluster)
        first = lowest(starts, 1).bit_length() - 1
        end = first + job.n_nodes
        begins = zip(accumulate(sizes, initial=0), sizes, strict=False)
        return Allocation(
            job,
            cluster.geometry,
            tuple(
                (leaf, _span(first - begin, end - begin, size), 0)
                for leaf, (begin, size) in enumerate(begins)
                if begin < end and first < begin + size
            ),
        )


def _span(first: int, end: int, width: int) -> int:
    """Return the bits first..end-1 that lie within 0..width-1."""
    return (1 << min(end, width)) - (1 << max(first, 0))
