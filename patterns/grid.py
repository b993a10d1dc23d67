"""Process grids: near-cubic factorisation of a rank count, coordinates of ranks."""

from functools import lru_cache
from math import isqrt, prod

import numpy as np

from patterns.base import Ints, integer, integers
from patterns.errors import PatternError

MAX_DIMS = 4
DEFAULT_DIMS = 3


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
        for first in _divisors(n_ranks)
    )
    return min(grids, key=lambda grid: (sum(grid), grid))


def _divisors(number: int) -> list[int]:
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
