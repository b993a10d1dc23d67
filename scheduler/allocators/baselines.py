"""Allocators that know no topology: lowest free nodes, consecutive ones, random ones."""

from array import array
from dataclasses import dataclass
from itertools import accumulate, compress, repeat
from typing import ClassVar

import numpy as np

from scheduler.allocation import Allocation, lowest_bits
from scheduler.allocators.base import OnAnyNodes, check_count, check_size, now_or_later
from scheduler.allocators.ordering import allocation_of
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class FirstFree(OnAnyNodes):
    """
    Baseline: the lowest-numbered free nodes, wherever they are.

    The *Baseline* of Smith21, section 5 (a traditional, unconstrained scheduler), and the
    topology-oblivious policy of Pollard18, section IV.
    """

    name: ClassVar[str] = "first-free"
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
                leaves.append((leaf, lowest_bits(mask, missing), 0))
                break
            leaves.append((leaf, mask, 0))
            missing -= count
        return Allocation(job, cluster.geometry, tuple(leaves))


@dataclass(frozen=True, slots=True)
class Contiguous(OnAnyNodes):
    """
    The lowest run of consecutive free nodes that is long enough.

    Consecutive in the numbering of nodes: leaf by leaf on a fat-tree, row by row on a torus. On a
    tree that is not regular, leaf by leaf as well, whatever numbers its file gave the nodes, and a
    leaf with few nodes leaves no gap. Jobs are kept together at the price of external
    fragmentation.
    """

    name: ClassVar[str] = "contiguous"

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
        first = lowest_bits(starts, 1).bit_length() - 1
        end = first + job.n_nodes
        begins = zip(accumulate(sizes, initial=0), sizes, strict=False)
        return Allocation(
            job,
            cluster.geometry,
            tuple(
                (leaf, _bit_span(first - begin, end - begin, size), 0)
                for leaf, (begin, size) in enumerate(begins)
                if begin < end and first < begin + size
            ),
        )


def _bit_span(first: int, end: int, width: int) -> int:
    """Return the bits first..end-1 that lie within 0..width-1."""
    return (1 << min(end, width)) - (1 << max(first, 0))


_WORD = 64  # nodes of a leaf that fit into one number
_ID_RANGE = 1 << 63  # job ids below zero are mapped here: seeds are not negative


@dataclass(frozen=True, slots=True)
class Scattered(OnAnyNodes):
    """
    Random: free nodes drawn uniformly without replacement.

    Ranks run over the drawn nodes in ascending order.
    """

    name: ClassVar[str] = "random"
    fits_by_count: ClassVar[bool] = True

    # the draw depends on the seed, the job's id and the free nodes alone, so it is the same in
    # whatever order jobs are tried
    seed: int = 1

    def __post_init__(self) -> None:
        check_count("seed", self.seed, 0)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return random free nodes."""
        check_size(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        if cluster.geometry.node_at is not None or cluster.nodes_per_leaf > _WORD:
            return self._by_number(job, cluster)
        masks = np.frombuffer(array("Q", cluster.leaf_free), np.uint64)
        is_free = np.unpackbits(masks.view(np.uint8), bitorder="little").view(np.bool_)
        free = np.flatnonzero(is_free)  # of booleans: four times as fast
        drawn = np.zeros(is_free.size, np.bool_)
        drawn[self._rng(job).choice(free, job.n_nodes, replace=False)] = True
        rows = np.packbits(drawn, bitorder="little").view(np.uint64)
        leaves = np.flatnonzero(rows)
        bits = zip(leaves.tolist(), rows[leaves].tolist(), repeat(0))
        return Allocation(job, cluster.geometry, tuple(bits))

    def _rng(self, job: Job) -> "np.random.Generator":
        """Return the generator of a job's draw."""
        return np.random.default_rng((self.seed, job.id % _ID_RANGE))

    def _by_number(self, job: Job, cluster: Cluster) -> Allocation:
        """Draw among the free nodes by number, where places are numbered otherwise."""
        drawn = self._rng(job).choice(cluster.free_nodes(), job.n_nodes, replace=False)
        return allocation_of(job, np.sort(drawn).tolist(), cluster.geometry)
