"""Random: nodes drawn from all free ones, the worst that locality can be."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scheduler.allocation import Allocation
from scheduler.allocators.base import check_size
from scheduler.allocators.choices import check_count
from scheduler.allocators.ordering import allocation_of
from scheduler.cluster import Cluster
from scheduler.job import Job

_ID_RANGE = 1 << 63  # job ids below zero are mapped here: seeds are not negative


@dataclass(frozen=True, slots=True)
class Scattered:
    """
    Random: free nodes drawn uniformly without replacement.

    Parameters
    ----------
    seed : int, default 1
        The draw depends on the seed, the job's id and the free nodes alone, so it is the
        same in whatever order jobs are tried.

    Notes
    -----
    Ranks run over the drawn nodes in ascending order.
    """

    name: ClassVar[str] = "random"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    fits_by_count: ClassVar[bool] = True

    seed: int = 1

    def __post_init__(self) -> None:
        """Check the option."""
        check_count("seed", self.seed, 0)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return random free nodes."""
        check_size(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        if cluster.geometry.node_at is not None:
            return self._by_number(job, cluster)
        width = -(-cluster.nodes_per_leaf // 8)
        free = _rows_of_bits(cluster.leaf_free, width)
        rng = self._rng(job)
        drawn = np.zeros(free.size, dtype=bool)
        drawn[rng.choice(np.flatnonzero(free), job.n_nodes, replace=False)] = True
        packed = np.packbits(drawn, bitorder="little").tobytes()
        leaves = np.flatnonzero(drawn.reshape(-1, 8 * width).any(axis=1)).tolist()
        return Allocation(
            job,
            cluster.geometry,
            tuple(
                (leaf, int.from_bytes(packed[leaf * width : (leaf + 1) * width], "little"), 0)
                for leaf in leaves
            ),
        )

    def _rng(self, job: Job) -> "np.random.Generator":
        """Return the generator of a job's draw."""
        return np.random.default_rng((self.seed, job.id % _ID_RANGE))

    def _by_number(self, job: Job, cluster: Cluster) -> Allocation:
        """Draw among the free nodes by number, where places are numbered otherwise."""
        drawn = self._rng(job).choice(cluster.free_nodes(), job.n_nodes, replace=False)
        return allocation_of(job, np.sort(drawn).tolist(), cluster.geometry)


def _rows_of_bits(masks: list[int], width: int) -> NDArray[np.uint8]:
    """Return the masks as 0s and 1s, flat, `width` bytes of 8 bits for each."""
    packed = b"".join([mask.to_bytes(width, "little") for mask in masks])
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")
