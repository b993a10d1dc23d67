"""Torus and mesh: routers on an n-dimensional grid, several nodes on each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth, Quantity
from netsim.topology.base import Topology
from netsim.topology.building import cable_rates, check_size, latency_seconds, reverse_links

_LONG = 1000  # routers of an axis; the table of all pairs of longer ones takes memory and time


@dataclass(frozen=True, eq=False, repr=False)
class Torus(Topology):
    """
    Routers on a grid; each dimension is a ring (wrap) or a line.

    Router r has coordinates in mixed radix, axis 0 fastest; node n hangs on router ``n //
    nodes_per_router``. The cable from the router at coordinate c to its neighbour at c + 1 on an
    axis is *owned* by the former. A ring of two routers has two cables, one owned by each; a ring
    of one has none.

    Links: ``n`` up from node n, ``n_nodes + n`` down to it, then per axis the owned cables in plus
    direction from ``plus_base[axis]`` and the same cables backwards from ``minus_base[axis]``, both
    by `cable`.
    """

    dims: tuple[int, ...] = ()
    nodes_per_router: int = 1
    wrap: tuple[bool, ...] = ()  # whether each axis is a ring

    @property
    def summary(self) -> str:
        """What the fabric is, in plain words: its shape and nodes."""
        kind = "torus" if all(self.wrap) else "mesh" if not any(self.wrap) else "torus and mesh"
        each = f", {self.nodes_per_router} on each router" if self.nodes_per_router > 1 else ""
        return f"{' x '.join(map(str, self.dims))} {kind}, {self._nodes_words}{each}"

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Difference of router numbers between neighbours on each axis."""
        return tuple(prod(self.dims[:axis]) for axis in range(len(self.dims)))

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """Coordinates on each axis whose router owns a cable."""
        return cable_owners(self.dims, self.wrap)

    @cached_property
    def plus_base(self) -> tuple[int, ...]:
        """Number of the first plus link of each axis."""
        routers = self.n_switches
        sizes = [
            2 * routers // side * own for side, own in zip(self.dims, self.owners, strict=True)
        ]
        return tuple(2 * self.n_nodes + sum(sizes[:axis]) for axis in range(len(sizes)))

    @cached_property
    def minus_base(self) -> tuple[int, ...]:
        """Number of the first minus link of each axis."""
        parts = zip(self.plus_base, self.dims, self.owners, strict=True)
        return tuple(base + self.n_switches // side * own for base, side, own in parts)

    def coordinates(self, router: Ints) -> Ints:
        """Return the coordinates of routers (D, F), one row for each axis."""
        parts = zip(self.strides, self.dims, strict=True)
        return np.stack([router // stride % side for stride, side in parts])

    def cable(self, axis: int, owner: Ints) -> Ints:
        """Return the cable that routers own on an axis, counted from the base of the axis."""
        stride, side, own = self.strides[axis], self.dims[axis], self.owners[axis]
        along = owner // stride % side
        return owner % stride + stride * (along + own * (owner // (stride * side)))

    def hops(self, src: Ints, dst: Ints) -> Ints:
        """Return the links between routers on a shortest path: the Manhattan distance."""
        src, dst = self._node_pairs(src, dst)
        here = self.coordinates(src // self.nodes_per_router)
        there = self.coordinates(dst // self.nodes_per_router)
        total = np.zeros(src.size, dtype=np.int64)
        for axis in range(len(self.dims)):
            total += self._apart(axis, here[axis], there[axis])
        return total

    def total_hops(self, nodes: Ints) -> int:
        """
        Return the sum of `hops` over all unordered pairs of some nodes, axis by axis.

        From the number of nodes at each coordinate, which is fastest, or on long axes from the
        nodes in order.
        """
        nodes = self._node_numbers("nodes", nodes)
        places = self.coordinates(nodes // self.nodes_per_router)
        return sum(self._sum_along(axis, place) for axis, place in enumerate(places))

    def _sum_along(self, axis: int, place: Ints) -> int:
        """Return the sum of the distances of all pairs of places on one axis."""
        length = self.dims[axis]
        if length > _LONG:
            return (_ring_sum if self.wrap[axis] else _line_sum)(np.sort(place), length)
        count, line = np.bincount(place, minlength=length), np.arange(length)
        return int(count @ self._apart(axis, line[:, None], line) @ count) // 2

    def _apart(self, axis: int, here: Ints, there: Ints) -> Ints:
        """Return the distance of coordinates on one axis."""
        straight: Ints = np.abs(there - here)
        return np.minimum(straight, self.dims[axis] - straight) if self.wrap[axis] else straight

    @property
    def first_of_kind(self) -> dict[str, int]:
        """First link of each axis and direction: ``axis0+``, ``axis0-``, ``axis1+``, ..."""
        bases = zip(self.plus_base, self.minus_base, strict=True)
        return {
            f"axis{axis}{sign}": first
            for axis, both in enumerate(bases)
            for sign, first in zip("+-", both, strict=True)
        }


def _line_sum(place: Ints, _length: int) -> int:
    """Return the sum of the distances of all pairs of sorted places on a line."""
    before = np.arange(place.size)
    return int((place * (2 * before - place.size + 1)).sum())


def _ring_sum(place: Ints, length: int) -> int:
    """
    Return the sum of the distances of all pairs of sorted places on a ring.

    Of two places that are not opposite, one is less than half a ring ahead of the other.
    """
    ahead = np.concatenate([place, place + length])
    summed = np.concatenate([[0], np.cumsum(ahead)])
    until = np.searchsorted(ahead, place + (length - 1) // 2, side="right")
    after = np.arange(1, place.size + 1)
    total = int((summed[until] - summed[after] - (until - after) * place).sum())
    if length % 2 == 0:
        opposite = np.searchsorted(ahead, place + length // 2, side="right") - until
        total += int(opposite.sum()) * length // 4  # each such pair is seen from both ends
    return total


def cable_owners(dims: Sequence[int], wrap: Sequence[bool]) -> tuple[int, ...]:
    """Return how many coordinates of each axis own a cable."""
    parts = zip(dims, wrap, strict=True)
    return tuple(0 if side == 1 else side if ring else side - 1 for side, ring in parts)


def build_torus(
    dims: Sequence[int],
    bandwidth: Bandwidth,
    *,
    nodes_per_router: int = 1,
    wrap: Sequence[bool] | None = None,
    half_duplex: bool = False,
    latency_base_s: Quantity = 0.0,
    latency_per_link_s: Quantity = 0.0,
) -> Torus:
    """
    Build a torus or mesh.

    `dims`: routers along each axis; axis 0 is the fastest in the numbering. `bandwidth`: bytes per
    second of every cable; or of node cables and router cables; or of node cables and of the cables
    of each axis. `wrap`: whether each axis is a ring; all are when absent. `half_duplex`: both
    directions of a cable share one capacity. `latency_base_s`, `latency_per_link_s`: latency of a
    path of n links: base + per_link * (n - 1), in seconds or as ``"315 ns"``.

    Examples
    --------
    >>> torus = build_torus([4, 3], 1e9, nodes_per_router=2)
    >>> torus.n_nodes, torus.link_name(torus.plus_base[1])
    (24, 'r0>r4')
    """
    sides = tuple(dims)
    rings = (True,) * len(sides) if wrap is None else tuple(wrap)
    rates = _check(sides, rings, nodes_per_router, bandwidth)
    check_size(2 * prod(sides) * (nodes_per_router + len(sides)))
    routers = np.arange(prod(sides))
    n_nodes = routers.size * nodes_per_router
    node = np.arange(n_nodes)
    router_of_node = n_nodes + node // nodes_per_router
    tails, heads = [node, router_of_node], [router_of_node, node]
    cables: list[Ints] = [np.zeros(2 * n_nodes, dtype=np.int64)]
    capacity: list[Floats] = [np.full(2 * n_nodes, rates[0])]
    stride = 1
    for axis, side in enumerate(sides):
        along = routers // stride % side
        owner = routers[along < cable_owners(sides, rings)[axis]]
        place = owner // stride % side
        neighbour = owner + stride * ((place + 1) % side - place)
        twin = place if side == 2 else np.zeros_like(place)  # noqa: PLR2004 (two cables a pair)
        tails += [n_nodes + owner, n_nodes + neighbour]
        heads += [n_nodes + neighbour, n_nodes + owner]
        cables += [twin, twin]
        capacity.append(np.full(2 * owner.size, rates[1 + axis]))
        stride *= side
    tail, head, cable = np.concatenate(tails), np.concatenate(heads), np.concatenate(cables)
    links = np.arange(tail.size)
    shape = "x".join(map(str, sides))
    return Torus(
        name=f"{'torus' if all(rings) else 'mesh'}({shape}; {nodes_per_router} a router)",
        n_nodes=n_nodes,
        n_switches=routers.size,
        link_tail=tail,
        link_head=head,
        link_cable=cable,
        capacity=np.concatenate(capacity),
        channel=np.minimum(links, reverse_links(tail, head, cable)) if half_duplex else links,
        latency_base_s=latency_seconds(latency_base_s),
        latency_per_link_s=latency_seconds(latency_per_link_s),
        dims=sides,
        nodes_per_router=nodes_per_router,
        wrap=rings,
    )


def _check(
    dims: tuple[int, ...],
    wrap: tuple[bool, ...],
    nodes_per_router: int,
    bandwidth: Bandwidth,
) -> tuple[float, ...]:
    """Check the description; return the bandwidth of node cables and of each axis."""
    if not dims or min(dims) < 1 or nodes_per_router < 1:
        raise TopologyError(
            f"dims and nodes_per_router must be at least 1, got {dims} and {nodes_per_router}."
        )
    if len(wrap) != len(dims):
        raise TopologyError(f"wrap must have an entry for each of {len(dims)} axes, got {wrap}.")
    given = cable_rates(bandwidth)
    shared = {1: given * (1 + len(dims)), 2: given[:1] + given[1:] * len(dims)}
    rates = given if len(given) == 1 + len(dims) else shared.get(len(given))
    if rates is None:
        raise TopologyError(
            f"bandwidth must be one value, two (node, router) or {1 + len(dims)} (node, one for "
            f"each axis), got {len(given)}."
        )
    return rates
