"""Halo exchange of an unstructured mesh."""

from dataclasses import dataclass

import numpy as np

from patterns.base import DEFAULT_NBYTES, Floats, Ints, Step, Template, integer, settle, size
from patterns.grid import DEFAULT_DIMS, grid_coordinates, near_cubic
from patterns.messages import message_step, seeded

_SIZE_FACTORS = (0.25, 0.5, 1.0, 2.0)
_FEW = 128  # points of which all distances take a millisecond


@dataclass(frozen=True, slots=True)
class UnstructuredMesh(Template):
    """
    Exchange with the nearest neighbours of random points in a cube, in one step.

    Each rank is a random point in its cell of the near-cubic 3D process grid, so ranks with near
    numbers tend to be near, as a partitioner numbers them. Two ranks exchange messages when either
    is among the nearest of the other; both directions have the same bytes. Unstr-mesh of Pollard18,
    section V, which states neither degrees nor sizes.
    """

    # nearest points of a rank that it exchanges with; symmetry gives some ranks more, a small job
    # fewer
    neighbors: int = 6
    # bytes of a middle-sized message; each pair draws a quarter, half, once or twice that
    nbytes: float = DEFAULT_NBYTES
    seed: int = 1  # equal seeds give equal meshes

    def __post_init__(self) -> None:
        """Check the options."""
        settle(
            self,
            neighbors=integer("neighbors", self.neighbors, 1),
            nbytes=size("nbytes", self.nbytes),
            seed=integer("seed", self.seed, 0),
        )

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        if n_ranks == 1:
            return []
        random = seeded(self.seed, n_ranks)
        grid = near_cubic(n_ranks, DEFAULT_DIMS)
        points = ((grid_coordinates(grid) + random.random((3, n_ranks))).T) / np.array(grid)
        nearest = min(self.neighbors, n_ranks - 1) + 1  # the point itself is the nearest
        near = _nearest(points, nearest)
        here = np.repeat(np.arange(n_ranks), nearest)
        low, high = np.minimum(here, near.ravel()), np.maximum(here, near.ravel())
        pairs = np.unique(low[low < high] * n_ranks + high[low < high])
        nbytes = self.nbytes * random.choice(_SIZE_FACTORS, pairs.size)
        a, b = np.divmod(pairs, n_ranks)
        src, dst, size = np.r_[a, b], np.r_[b, a], np.r_[nbytes, nbytes]
        order = np.lexsort((dst, src))
        return [message_step(src[order], dst[order], size[order])]


def _nearest(points: Floats, n_nearest: int) -> Ints:
    """
    Return the nearest of each of some points (n, n_nearest), itself among them, in any order.

    To load a tree of SciPy's takes a third of a second, more than the rest of a short run.
    """
    if len(points) > _FEW:
        from scipy.spatial import cKDTree  # noqa: PLC0415 (slow to load)

        return np.asarray(cKDTree(points).query(points, k=n_nearest)[1], dtype=np.int64)
    gaps = points[:, None, :] - points
    return np.argpartition((gaps * gaps).sum(axis=2), n_nearest - 1, axis=1)[:, :n_nearest]
