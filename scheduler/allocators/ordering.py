"""Node orderings: the line along which list-based allocators look at a machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.torus import Torus
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.geometry import Geometry
from scheduler.job import Job


@dataclass(frozen=True, slots=True, eq=False)
class NodeOrder:
    """
    All nodes of a machine on a line.

    A node's *place* on the line (its ordinal in Stoltzfus13) counts every node, also those that
    take no jobs: the gap across a login node is the same as across a busy one.
    """

    geometry: Geometry  # how the machine's nodes lie in groups
    node: Ints  # (N,): node at each place
    # (N,): bit of the node at each place, in the masks of a cluster one after the other, each
    # filled up to whole bytes
    slot: Ints

    def free(self, cluster: Cluster) -> Bools:
        """Say which nodes are free."""
        n_bytes = -(-self.geometry.nodes_per_leaf // 8)
        packed = b"".join([mask.to_bytes(n_bytes, "little") for mask in cluster.leaf_free])
        free = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")
        return free[self.slot].view(np.bool_)

    def free_places(self, cluster: Cluster) -> Ints:
        """Return the places of the free nodes."""
        return np.flatnonzero(self.free(cluster))

    def allocation(self, job: Job, places: Ints) -> Allocation:
        """Return a job on the nodes at some places, its ranks along the line."""
        return allocation_of(job, self.node[np.sort(places)].tolist(), self.geometry)


def allocation_of(job: Job, nodes: Sequence[int], geometry: Geometry) -> Allocation:
    """Return a job on nodes, ranks in the order of the list."""
    masks = geometry.masks(nodes)
    ranks = tuple(nodes)
    return Allocation(
        job,
        geometry,
        tuple((group, masks[group], 0) for group in sorted(masks)),
        order=None if ranks == tuple(sorted(ranks)) else ranks,
    )


@lru_cache(maxsize=16)
def node_order(name: str, fabric: Topology) -> NodeOrder:
    """Put the nodes of a machine on a line, by a key of `ORDERINGS`."""
    node = ORDERINGS[name](fabric)
    geometry = Geometry.of(fabric)
    group, bit = np.divmod(geometry.places(node), geometry.nodes_per_leaf)
    return NodeOrder(geometry, node, group * (-(-geometry.nodes_per_leaf // 8) * 8) + bit)


def row_major(fabric: Topology) -> Ints:
    """Order nodes by number: axis 0 fastest on a torus, leaf by leaf on a tree."""
    return np.arange(fabric.n_nodes)


def snake(fabric: Topology) -> Ints:
    """
    Order routers row by row, every other row (and plane, ...) backwards.

    Successive routers differ by one step on one axis; on a dragonfly, by column, row or group.
    """
    dims, nodes_per_router = _router_grid("snake", fabric)
    rank = np.zeros(int(np.prod(dims)), dtype=np.int64)
    for side, along in reversed(list(zip(dims, _router_coordinates(dims), strict=True))):
        rank = rank * side + np.where(rank % 2 == 0, along, side - 1 - along)
    return _nodes_by(rank, nodes_per_router)


def hilbert(fabric: Topology) -> Ints:
    """
    Order routers along a Hilbert curve; on a dragonfly, of each group's rows and columns.

    The curve fills the smallest cube of 2^k routers a side that covers the grid; what lies outside
    the grid is passed over, so successive routers are neighbours for certain only where the grid is
    such a cube.
    """
    dims, nodes_per_router = _router_grid("hilbert", fabric)
    axes = _router_coordinates(dims)
    if isinstance(fabric, Dragonfly):
        curve = hilbert_index(axes[:2])
        return _nodes_by(axes[2] * (curve.max() + 1) + curve, nodes_per_router)
    return _nodes_by(hilbert_index(axes), nodes_per_router)


def hilbert_index(coordinates: Ints) -> Ints:
    """
    Return how far along the Hilbert curve points of a grid lie (n,), 0 at the origin.

    C. Hamilton, *Compact Hilbert indices*, Dalhousie University CS-2006-07, section 2: from the top
    bit down, the sub-cube of each point is a word of D bits that the entry point and direction of
    the curve in the cube turn into a place of the Gray code.
    """
    n_axes = len(coordinates)
    cubes = np.arange(1 << n_axes)
    before = np.maximum(cubes - 1, 0) // 2 * 2
    entry = before ^ before >> 1
    turn = np.array([_curve_turn(cube) % n_axes for cube in cubes.tolist()])
    start, direction, found = np.zeros((3, coordinates.shape[1]), dtype=np.int64)
    for level in reversed(range(max(1, int(coordinates.max()).bit_length()))):
        word = np.zeros_like(found)
        for axis, along in enumerate(coordinates):
            word |= (along >> level & 1) << axis
        gray = _rotated_words(word ^ start, -(direction + 1), n_axes)
        cube = gray.copy()
        for shift in range(1, n_axes):
            cube ^= gray >> shift
        found = found << n_axes | cube
        start ^= _rotated_words(entry[cube], direction + 1, n_axes)
        direction = (direction + turn[cube] + 1) % n_axes
    return found


def _curve_turn(cube: int) -> int:
    """Return the axis on which the curve crosses a sub-cube: trailing ones of it or before it."""
    odd = cube if cube % 2 else max(cube - 1, 0)
    return (~odd & (odd + 1)).bit_length() - 1


def _rotated_words(word: Ints, by: Ints, n_bits: int) -> Ints:
    """Rotate words to the left."""
    by = by % n_bits
    return (word << by | word >> (n_bits - by)) & ((1 << n_bits) - 1)


def _router_grid(name: str, fabric: Topology) -> tuple[tuple[int, ...], int]:
    """Return the sides of the grid of routers, fastest first, and the nodes of a router."""
    if isinstance(fabric, Torus):
        return fabric.dims, fabric.nodes_per_router
    if isinstance(fabric, Dragonfly):
        return (fabric.columns, fabric.rows, fabric.groups), fabric.nodes_per_router
    raise AllocationError(f"node order {name!r} needs a torus or dragonfly, got {fabric.name}.")


def _router_coordinates(dims: tuple[int, ...]) -> Ints:
    """Return the coordinates of the routers of a grid, axis 0 fastest: (D, n)."""
    return np.indices(dims[::-1]).reshape(len(dims), -1)[::-1]


def _nodes_by(rank: Ints, nodes_per_router: int) -> Ints:
    """Return the nodes by the rank of their router."""
    routers = np.argsort(rank, kind="stable")
    return (routers[:, None] * nodes_per_router + np.arange(nodes_per_router)).ravel()


ORDERINGS: dict[str, Callable[[Topology], Ints]] = {
    "row-major": row_major,
    "snake": snake,
    "hilbert": hilbert,
}
