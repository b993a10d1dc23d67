"""Boxes of routers on a torus: their shapes (Yang), and where free ones are."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.torus import Torus

Box = tuple[int, ...]
"""Side along each axis, in routers."""


def dimension(box: Box) -> int:
    """
    Return how many sides of a box are longer than one router.

    Result: 3 for a cube, 2 for a mesh, 1 for a list, 0 for one router.
    """
    return sum(side > 1 for side in box)


def is_balanced(box: Box) -> bool:
    """
    Say whether all sides longer than one router are equal.

    Result: True for {4, 4, 4} and {8, 8, 1}, false for {8, 4, 2} and {16, 4, 1}.
    """
    return len({side for side in box if side > 1}) <= 1


def boxes(volume: int, dims: Box) -> Iterator[Box]:
    """
    Iterate over the boxes of so many routers that a torus can hold.

    `volume`: routers, at least 1.

    Examples
    --------
    >>> sorted(boxes(6, (3, 4)))
    [(2, 3), (3, 2)]
    """
    if not dims:
        if volume == 1:
            yield ()
        return
    for side in range(1, min(volume, dims[0]) + 1):
        if volume % side == 0:
            for others in boxes(volume // side, dims[1:]):
                yield (side, *others)


@lru_cache(maxsize=4096)
def chunk_boxes(torus: Torus, routers: int, dimensions: int, balance: str) -> tuple[Box, ...]:
    """
    Return the boxes that hold so many routers with least to spare.

    Parameters
    ----------
    torus : Torus
        The machine.
    routers : int
        Routers needed.
    dimensions : int
        Number of sides longer than one router; 0 for any.
    balance : {"any", "balanced", "unbalanced"}
        Whether these sides are equal.

    Returns
    -------
    tuple of tuple of int
        All of the smallest volume that has one: those of more dimensions first, balanced
        before unbalanced, then by mean hops; empty where the machine has none.

    Notes
    -----
    The classes and their order are those of Yang, Table 1 (3D-B, 3D-UB, 2D-B, 2D-UB) and
    the 1D list that its section VI-A adds.
    """
    for volume in range(routers, prod(torus.dims) + 1):
        found = [
            box
            for box in boxes(volume, torus.dims)
            if dimensions in {0, dimension(box)}
            and balance in {"any", "balanced" if is_balanced(box) else "unbalanced"}
        ]
        if found:
            rank = {
                box: (-dimension(box), not is_balanced(box), mean_hops(torus, box), box)
                for box in found
            }
            return tuple(sorted(found, key=rank.__getitem__))
    return ()


@lru_cache(maxsize=4096)
def compact_boxes(torus: Torus, routers: int) -> tuple[Box, ...]:
    """
    Return the boxes that hold so many routers and cannot be made shorter on any side.

    Parameters
    ----------
    torus : Torus
        The machine.
    routers : int
        Routers needed.

    Returns
    -------
    tuple of tuple of int
        By mean hops, then by volume.
    """
    found = []
    for first in product(*(range(1, min(side, routers) + 1) for side in torus.dims[:-1])):
        box = (*first, -(-routers // prod(first)))
        spare = prod(box) - routers
        if box[-1] <= torus.dims[-1] and all(
            side == 1 or prod(box) // side > spare for side in box
        ):
            found.append(box)
    return tuple(sorted(found, key=lambda box: (mean_hops(torus, box), prod(box), box)))


def mean_hops(torus: Torus, box: Box) -> float:
    """
    Return the mean hops between two routers of a box, drawn independently.

    Result: the sum over the axes; a box that goes all the way round a ring uses its wrap.
    """
    total = 0.0
    for side, length, ring in zip(box, torus.dims, torus.wrap, strict=True):
        apart = np.arange(side)
        if ring:  # a box longer than half a ring has shorter ways around outside it
            apart = np.minimum(apart, length - apart)
        pairs = 2 * np.arange(side, 0, -1)
        pairs[0] = side
        total += float(apart @ pairs) / side**2
    return total


class FreeBoxes:
    """
    The free nodes of a torus, and where boxes of them are.

    Parameters
    ----------
    torus : Torus
        The machine.
    free : (N,) bool array
        Whether each node is free.
    lanes : int
        Nodes needed on every router of a box, side by side.
    """

    __slots__ = ("_known", "lanes", "torus")

    def __init__(self, torus: Torus, free: Bools, lanes: int) -> None:
        self.torus, self.lanes = torus, lanes
        grid = free.reshape(*torus.dims[::-1], torus.nodes_per_router)
        self._known: dict[Box, Bools] = {(): all_along(grid, grid.ndim - 1, lanes, ring=False)}

    def find(self, box: Box) -> Ints | None:
        """
        Return the nodes of the lowest-numbered free box.

        Result (n,): along the shortest side first, so that the first so many of them are compact
        too; None where no such box is free.
        """
        starts = self._starts(box)
        first = int(starts.argmax())
        if not starts.flat[first]:
            return None
        router, lane = divmod(first, self.torus.nodes_per_router)
        corner = self.torus.coordinates(np.array([router]))[:, 0].tolist()
        nodes = np.zeros(1, dtype=np.int64)
        for axis in sorted(range(len(box)), key=box.__getitem__):
            along = (corner[axis] + np.arange(box[axis])) % self.torus.dims[axis]
            nodes = (along[:, None] * self.torus.strides[axis] + nodes).ravel()
        lanes = lane + np.arange(self.lanes)
        return (nodes[:, None] * self.torus.nodes_per_router + lanes).ravel()

    def _starts(self, box: Box) -> Bools:
        """Return where free boxes begin; boxes with the same first sides share the work."""
        known = self._known.get(box)
        if known is None:
            shorter = self._starts(box[:-1])
            axis, ring = len(box) - 1, self.torus.wrap[len(box) - 1]
            place = len(self.torus.dims) - 1 - axis
            known = all_along(shorter, place, box[-1], ring=ring) if shorter.any() else shorter
            self._known[box] = known
        return known


def all_along(grid: Bools, axis: int, length: int, *, ring: bool) -> Bools:
    """
    Say from which cells of a grid on so many in a row are true.

    Examples
    --------
    >>> all_along(np.array([True, True, False, True]), 0, 2, ring=True)
    array([ True, False, False,  True])
    """
    width = 1
    while width < length:
        more = min(width, length - width)
        grid = grid & np.roll(grid, -more, axis)
        width += more
    if not ring and length > 1:
        grid = grid.copy()
        np.moveaxis(grid, axis, 0)[grid.shape[axis] - length + 1 :] = False
    return grid
