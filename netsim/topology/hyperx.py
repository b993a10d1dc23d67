"""HyperX: routers on a grid, joined all-to-all along every axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth, Quantity
from netsim.topology.base import Topology
from netsim.topology.building import all_to_all_links, check_size, class_rates, router_fields


@dataclass(frozen=True, eq=False, repr=False)
class HyperX(Topology):
    """
    Routers on a grid; along each axis a router has cables to all others.

    One axis is a full mesh, two are a flattened butterfly. Router r has coordinates in mixed radix,
    axis 0 fastest; node n hangs on router ``n // nodes_per_router``. Source: J. H. Ahn et al.,
    *HyperX: topology, routing, and packaging of efficient large-scale networks*, SC 2009.

    Links: ``n`` up from node n, ``n_nodes + n`` down to it, then axis by axis, each by tail router,
    peer and cable.
    """

    dims: tuple[int, ...] = ()
    nodes_per_router: int = 1
    parallel: tuple[int, ...] = ()  # parallel cables of a pair of routers, by axis

    @property
    def _kind_words(self) -> str:
        return f"{' x '.join(map(str, self.dims))} HyperX"

    @cached_property
    def bases(self) -> tuple[int, ...]:
        """Number of the first link of each axis."""
        sizes = [
            self.n_switches * (s - 1) * k for s, k in zip(self.dims, self.parallel, strict=True)
        ]
        return tuple(2 * self.n_nodes + sum(sizes[:axis]) for axis in range(len(sizes)))

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Difference of router numbers between neighbours on each axis."""
        return tuple(prod(self.dims[:axis]) for axis in range(len(self.dims)))

    def place(self, axis: int, router: Ints) -> Ints:
        """Return the coordinate of routers on an axis."""
        return router // self.strides[axis] % self.dims[axis]

    def hops(self, src: Ints, dst: Ints) -> Ints:
        """Return the links between routers on a shortest path: the axes on which they differ."""
        src, dst = self._node_pairs(src, dst)
        here, there = src // self.nodes_per_router, dst // self.nodes_per_router
        total = np.zeros(src.size, dtype=np.int64)
        for axis in range(len(self.dims)):
            total += self.place(axis, here) != self.place(axis, there)
        return total

    @property
    def first_of_kind(self) -> dict[str, int]:
        """First link of each axis."""
        return {f"axis{axis}": base for axis, base in enumerate(self.bases)}


def build_hyperx(
    dims: Sequence[int],
    bandwidth: Bandwidth,
    *,
    nodes_per_router: int = 1,
    parallel: Sequence[int] | None = None,
    half_duplex: bool = False,
    latency_base_s: Quantity = 0.0,
    latency_per_link_s: Quantity = 0.0,
) -> HyperX:
    """
    Build a HyperX.

    `dims`: routers along each axis. `bandwidth`: bytes per second of every cable, or of node cables
    and the cables of each axis. `parallel`: parallel cables of a pair of routers, by axis; 1 when
    absent. The others as in `netsim.topology.torus.build_torus`.

    Examples
    --------
    >>> fabric = build_hyperx([4, 3], 1e9, nodes_per_router=2)
    >>> fabric.summary, int(fabric.hops(np.array([0]), np.array([23]))[0])
    ('4 x 3 HyperX, 24 nodes', 2)
    """
    sides = tuple(dims)
    cables = (1,) * len(sides) if parallel is None else tuple(parallel)
    if not sides or min(*sides, *cables, nodes_per_router) < 1 or len(cables) != len(sides):
        raise TopologyError(
            "dims, parallel (one for each axis) and nodes_per_router must be at least 1, got "
            f"{sides}, {cables} and {nodes_per_router}."
        )
    ports = sum((side - 1) * count for side, count in zip(sides, cables, strict=True))
    check_size(prod(sides) * (2 * nodes_per_router + ports))
    axes = range(len(sides))
    shape, last = sides[::-1], len(sides) - 1
    common = router_fields(
        np.repeat(np.arange(prod(sides)), nodes_per_router),
        prod(sides),
        [all_to_all_links(shape, cables[axis], last - axis) for axis in axes],
        class_rates(bandwidth, [f"axis {axis}" for axis in axes]),
        half_duplex=half_duplex,
        latency_base_s=latency_base_s,
        latency_per_link_s=latency_per_link_s,
    )
    name = f"hyperx({'x'.join(map(str, sides))}; {nodes_per_router} a router)"
    return HyperX(
        name=name, **common, dims=sides, nodes_per_router=nodes_per_router, parallel=cables
    )
