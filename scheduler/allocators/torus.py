"""Torus allocators of Yang: sub-torus chunks, compact contiguous (CC), non-contiguous (NC)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.torus import Torus
from scheduler.allocation import Allocation
from scheduler.allocators.base import (
    OnAnyNodes,
    check_choice,
    check_count,
    check_size,
    now_or_later,
)
from scheduler.allocators.lists import OrderedList
from scheduler.allocators.ordering import NodeOrder, allocation_of, node_order
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job

Box = tuple[int, ...]
"""Side along each axis, in routers."""


def dimension(box: Box) -> int:
    """Return how many sides of a box are longer than one router."""
    return sum(side > 1 for side in box)


def is_balanced(box: Box) -> bool:
    """Say whether all sides longer than one router are equal."""
    return len({side for side in box if side > 1}) <= 1


def torus_boxes(volume: int, dims: Box) -> Iterator[Box]:
    """Iterate over the boxes of so many routers that a torus can hold."""
    if not dims:
        if volume == 1:
            yield ()
        return
    for side in range(1, min(volume, dims[0]) + 1):
        if volume % side == 0:
            for others in torus_boxes(volume // side, dims[1:]):
                yield (side, *others)


@lru_cache(maxsize=4096)
def chunk_boxes(torus: Torus, routers: int, dimensions: int, balance: str) -> tuple[Box, ...]:
    """
    Return the boxes that hold so many routers with least to spare, of so many long sides.

    Those of more dimensions first, balanced before unbalanced, then by mean hops; `dimensions` 0:
    any. The classes and their order are those of Yang, Table 1 (3D-B, 3D-UB, 2D-B, 2D-UB) and the
    1D list that its section VI-A adds.
    """
    for volume in range(routers, prod(torus.dims) + 1):
        found = [
            box
            for box in torus_boxes(volume, torus.dims)
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
    """Return the boxes that hold so many routers and cannot be made shorter on any side."""
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
    """Return the mean hops between two random routers of a box; a whole ring uses its wrap."""
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
    """The free nodes of a torus, `lanes` on every router, and where boxes of them are."""

    __slots__ = ("_known", "lanes", "torus")

    def __init__(self, torus: Torus, free: Bools, lanes: int) -> None:
        self.torus, self.lanes = torus, lanes
        grid = free.reshape(*torus.dims[::-1], torus.nodes_per_router)
        self._known: dict[Box, Bools] = {(): all_along(grid, grid.ndim - 1, lanes, ring=False)}

    def find(self, box: Box) -> Ints | None:
        """
        Return the nodes of the lowest-numbered free box, the shortest side first.

        So the first so many of them are compact too; None where no such box is free.
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
    """Say from which cells of a grid on so many in a row are true."""
    width, side = 1, grid.shape[axis]
    while width < length:
        more = min(width, length - width)
        grid = grid & grid.take(np.arange(more, more + side), axis, mode="wrap")
        width += more
    if not ring and length > 1:
        grid = grid.copy()
        np.moveaxis(grid, axis, 0)[grid.shape[axis] - length + 1 :] = False
    return grid


_BALANCE = ("any", "balanced", "unbalanced")


@dataclass(frozen=True, slots=True)
class TorusChunk:
    """
    A free box of routers of a given shape, balanced or not.

    Yang, section VI-A, Table 1, and section VIII (a chunk {x, y, z} has x * y * z nodes), for any
    number of axes, every orientation, and boxes that go round a ring.

    What the paper leaves open: a size that is no product of such sides takes the first nodes of the
    smallest free box that holds it and leaves the others free for later jobs; of several boxes the
    one with least mean hops is tried first, and of its places the one with the lowest node number.
    Where routers have several nodes, a box is made of whole routers, but a job smaller than a
    router takes nodes side by side on one.
    """

    name: ClassVar[str] = "torus-chunk"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = False
    monotone_in_free: ClassVar[bool] = True

    dimensions: int = 0  # sides of the box longer than one router; 0: any, more dimensions first
    # "any", "balanced", "unbalanced": whether these sides must be equal; with "any", balanced boxes
    # are tried first
    balance: str = "any"

    def __post_init__(self) -> None:
        check_count("dimensions", self.dimensions, 0)
        check_choice("balance", self.balance, _BALANCE)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a free box of the shape asked for."""
        check_size(job, cluster)
        torus = _require_torus(self.name, cluster.fabric)
        routers = -(-job.n_nodes // torus.nodes_per_router)
        choices = chunk_boxes(torus, routers, self.dimensions, self.balance)
        if not choices:
            kind = f"{self.balance} " if self.balance != "any" else ""
            raise AllocationError(
                f"no {kind}box of {self.dimensions} dimensions holds {routers} routers of "
                f"{torus.name} (job {job.id})."
            )
        return now_or_later(_first_free(job, cluster, torus, choices), self.name, job, cluster)


@dataclass(frozen=True, slots=True)
class CompactContiguous(OnAnyNodes):
    """
    CC: nodes that are contiguous, in the most compact free box there is.

    Yang, section IX: "spacially contiguous and compact", as the partitions of Blue Gene are; the
    search is left open. Here boxes that hold the job and have no side to spare are tried by mean
    hops, so a job whose compact boxes are taken gets a longer one. The job takes the first nodes of
    the box, which are contiguous, and leaves the others free.
    """

    name: ClassVar[str] = "compact-contiguous"

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return the most compact free box."""
        check_size(job, cluster)
        torus = _require_torus(self.name, cluster.fabric)
        routers = -(-job.n_nodes // torus.nodes_per_router)
        choices = compact_boxes(torus, routers)
        return now_or_later(_first_free(job, cluster, torus, choices), self.name, job, cluster)


@dataclass(frozen=True, slots=True)
class NonContiguous(OrderedList):
    """
    NC: the first free nodes along an ordering, however scattered.

    Yang, section IX: "without consideration about the adjacency of nodes", as on Cray's machines,
    which take them off an ordered list (its reference to ALPS). The same nodes as FIFO-0 of
    Stoltzfus13, on any machine.
    """

    name: ClassVar[str] = "non-contiguous"

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first free nodes."""
        return free[:size]


def _require_torus(allocator: str, fabric: Topology) -> Torus:
    """Refuse any other machine."""
    if not isinstance(fabric, Torus):
        raise AllocationError(f"allocator {allocator!r} needs a torus, got {fabric.name}.")
    return fabric


def _first_free(
    job: Job, cluster: Cluster, torus: Torus, choices: Iterable[Box]
) -> Allocation | None:
    """Return the job on the first of some boxes that is free somewhere."""
    if job.n_nodes > cluster.n_free:
        return None
    line = node_order("row-major", torus)
    free = FreeBoxes(torus, line.free(cluster), min(job.n_nodes, torus.nodes_per_router))
    for box in choices:
        nodes = free.find(box)
        if nodes is not None:
            return allocation_of(job, nodes[: job.n_nodes].tolist(), cluster.geometry)
    return None
