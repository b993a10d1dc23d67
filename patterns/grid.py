"""Process grids, and the patterns of neighbours on them: stencils and meshes of MPI ranks."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import isqrt, prod

import numpy as np

from patterns.base import (
    DEFAULT_NBYTES,
    Floats,
    Ints,
    Step,
    Template,
    choice,
    flag,
    integer,
    integers,
    settle,
    size,
)
from patterns.errors import PatternError
from patterns.messages import first_of_each_pair, message_step, seeded

MAX_DIMS = 4
DEFAULT_DIMS = 3
_SIZE_FACTORS = (0.25, 0.5, 1.0, 2.0)
_FEW = 128  # points of which all distances take a millisecond
_WORD = 8.0  # bytes of a grid value, a double


@lru_cache(maxsize=4096)
def near_cubic(n_ranks: int, dims: int) -> tuple[int, ...]:
    """
    Return the most cubic process grid of exactly so many ranks, largest extent first.

    The halo of a rank that owns 1/n of a cubic domain has an area proportional to the sum of the
    extents; the grid with the least sum is taken, of equals the one with the smallest extents in
    front.
    """
    if dims == 1:
        return (n_ranks,)
    grids = (
        tuple(sorted((first, *near_cubic(n_ranks // first, dims - 1)), reverse=True))
        for first in _all_divisors(n_ranks)
    )
    return min(grids, key=lambda grid: (sum(grid), grid))


def _all_divisors(number: int) -> list[int]:
    """Return all divisors of a number."""
    low = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return sorted({*low, *(number // d for d in low)})


def check_grid(dims: object, grid: object) -> tuple[int, tuple[int, ...] | None]:
    """Check the options of a process grid; return its dimensions and extents."""
    count = integer("dims", dims, 1, MAX_DIMS)
    if grid is None:
        return count, None
    extents = integers("grid", grid, 1)
    if len(extents) > MAX_DIMS or count not in {DEFAULT_DIMS, len(extents)}:
        wanted = f"1..{MAX_DIMS}" if count == DEFAULT_DIMS else f"dims = {count}"
        raise PatternError(f"grid must have {wanted} extents, got {list(extents)}.")
    return len(extents), extents


def grid_for(n_ranks: int, dims: int, grid: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the grid of a job: the given one, or a near-cubic one, x first."""
    if grid is None:
        return near_cubic(n_ranks, dims)
    if prod(grid) != n_ranks:
        shape = " x ".join(map(str, grid))
        raise PatternError(f"grid {shape} holds {prod(grid)} ranks, the job has {n_ranks}.")
    return grid


def grid_coordinates(grid: tuple[int, ...]) -> Ints:
    """Return where each rank lies in the grid (dims, n); x runs fastest."""
    return np.array(np.unravel_index(np.arange(prod(grid)), grid, order="F"), dtype=np.int64)


def grid_lines(grid: tuple[int, ...], dimension: int) -> Ints:
    """Return the ranks of every grid line along one dimension (n / extent, extent), in order."""
    ranks = np.arange(prod(grid)).reshape(grid, order="F")
    return np.moveaxis(ranks, dimension, -1).reshape(-1, grid[dimension])


@dataclass(frozen=True, slots=True)
class UnstructuredMesh(Template):
    """
    Exchange with the nearest of random points in a cube.

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
        settle(
            self,
            neighbors=integer("neighbors", self.neighbors, 1),
            nbytes=size("nbytes", self.nbytes),
            seed=integer("seed", self.seed, 0),
        )

    def _steps(self, n_ranks: int) -> list[Step]:
        if n_ranks == 1:
            return []
        random = seeded(self.seed, n_ranks)
        grid = near_cubic(n_ranks, DEFAULT_DIMS)
        points = ((grid_coordinates(grid) + random.random((3, n_ranks))).T) / np.array(grid)
        nearest = min(self.neighbors, n_ranks - 1) + 1  # the point itself is the nearest
        near = _nearest_points(points, nearest)
        here = np.repeat(np.arange(n_ranks), nearest)
        low, high = np.minimum(here, near.ravel()), np.maximum(here, near.ravel())
        pairs = np.unique(low[low < high] * n_ranks + high[low < high])
        nbytes = self.nbytes * random.choice(_SIZE_FACTORS, pairs.size)
        a, b = np.divmod(pairs, n_ranks)
        src, dst, size = np.r_[a, b], np.r_[b, a], np.r_[nbytes, nbytes]
        order = np.lexsort((dst, src))
        return [message_step(src[order], dst[order], size[order])]


def _nearest_points(points: Floats, n_nearest: int) -> Ints:
    """
    Return the nearest of each of some points (n, n_nearest), itself among them, in any order.

    To load a tree of SciPy's takes a third of a second, more than the rest of a short run.
    """
    if len(points) > _FEW:
        from scipy.spatial import cKDTree  # noqa: PLC0415 (slow to load)

        return np.asarray(cKDTree(points).query(points, k=n_nearest)[1], dtype=np.int64)
    gaps = points[:, None, :] - points
    return np.argpartition((gaps * gaps).sum(axis=2), n_nearest - 1, axis=1)[:, :n_nearest]


@dataclass(frozen=True, slots=True)
class Stencil(Template):
    """
    Halo exchange with the neighbours on a process grid, in one step.

    Ranks are numbered with x fastest. A neighbour that occurs twice, because a periodic dimension
    is two ranks long, gets one message, the largest; a dimension of one rank has no neighbours.

    A message across an edge or corner is smaller: the subdomain of a rank is taken as a cube of L^d
    values of 8 bytes, so a face has L^(d-1) values, and a neighbour that differs in k coordinates
    gets L^(d-k). The 4D stencil is Pollard18, section V; the 27-point one is that of HPCG.
    """

    dims: int = DEFAULT_DIMS  # dimensions, 1 to 4; as many as `grid` has where one is given
    # "faces", "all": neighbours across faces only, or across edges and corners too (27 points in
    # 3D)
    points: str = "faces"
    # whether opposite ends of the grid are neighbours, for all dimensions or each
    periodic: bool | tuple[bool, ...] = True
    # extents, x first; the product must be the number of ranks. Default: near-cubic.
    grid: tuple[int, ...] | None = None
    nbytes: float = DEFAULT_NBYTES  # bytes of the message across a face

    def __post_init__(self) -> None:
        dims, grid = check_grid(self.dims, self.grid)
        settle(
            self,
            dims=dims,
            grid=grid,
            points=choice("points", self.points, ("faces", "all")),
            periodic=_check_periodic(self.periodic, dims),
            nbytes=size("nbytes", self.nbytes),
        )

    def _steps(self, n_ranks: int) -> list[Step]:
        extents = grid_for(n_ranks, self.dims, self.grid)
        grid, periodic = np.array(extents), np.broadcast_to(self.periodic, self.dims)
        offsets, sizes = self._neighbours()
        place = grid_coordinates(extents)
        other = place[:, None, :] + offsets.T[:, :, None]  # (dims, offsets, ranks)
        wrapped = other % grid[:, None, None]
        inside = np.all((wrapped == other) | periodic[:, None, None], axis=0).ravel()
        stride = np.concatenate([[1], np.cumprod(grid[:-1])])
        dst = np.tensordot(stride, wrapped, axes=1).ravel()[inside]
        src = np.tile(np.arange(n_ranks), len(offsets))[inside]
        nbytes = np.repeat(sizes, n_ranks)[inside]
        # Faces come first among the offsets, so the first message of a pair is the largest.
        once = first_of_each_pair(src, dst, n_ranks)
        return [message_step(src[once], dst[once], nbytes[once])]

    def _neighbours(self) -> tuple[Ints, Floats]:
        """Return the offset of each neighbour, faces first, and the bytes it gets."""
        furthest = 1 if self.points == "faces" else self.dims
        offsets = np.array(list(product((-1, 0, 1), repeat=self.dims)))
        differing = np.count_nonzero(offsets, axis=1)
        order = np.argsort(differing, kind="stable")
        order = order[(differing[order] >= 1) & (differing[order] <= furthest)]
        offsets, differing = offsets[order], differing[order]
        word = min(_WORD, self.nbytes)
        side = (self.nbytes / word) ** (1 / max(self.dims - 1, 1))
        smaller = word * side ** (self.dims - differing)
        return offsets, np.where(differing == 1, self.nbytes, smaller)


def _check_periodic(value: object, dims: int) -> bool | tuple[bool, ...]:
    """Return one flag, or one for each dimension."""
    if isinstance(value, (list, tuple)):
        if len(value) != dims:
            raise PatternError(f"periodic must have {dims} entries, got {list(value)}.")
        return tuple(flag("each entry of periodic", entry) for entry in value)
    return flag("periodic", value)
