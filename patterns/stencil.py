"""Halo exchange on a process grid of one to four dimensions."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from patterns.base import DEFAULT_NBYTES, Floats, Ints, Step, Template, choice, flag, settle, size
from patterns.errors import PatternError
from patterns.grid import DEFAULT_DIMS, check_grid, grid_coordinates, grid_for
from patterns.messages import first_of_each_pair, message_step

_WORD = 8.0  # bytes of a grid value, a double


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
        """Check the options."""
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
        """Return the steps."""
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
