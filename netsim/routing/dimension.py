"""Dimension-order routing on tori, meshes and HyperX."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.routing.base import CheckedRouting
from netsim.topology.base import Topology
from netsim.topology.hyperx import HyperX
from netsim.topology.routes import Routes
from netsim.topology.torus import Torus


@dataclass(frozen=True, slots=True)
class DimensionOrder(CheckedRouting):
    """
    Dimension order: all of axis 0 first, then axis 1, ...; on each the shorter way round.

    Tie rule: at distance D/2 on a ring of even side D a flow goes in plus direction. SimGrid 3.32
    does the same except from coordinate D/2 to coordinate 0, where its comparison slips and it goes
    in minus direction; on a side of 2 it therefore never uses one of the two cables. Source: W. J.
    Dally and C. L. Seitz, *Deadlock-free message routing in multiprocessor interconnection
    networks*, 1987 (e-cube routing).
    """

    topology: Torus

    @classmethod
    def on(cls, topology: Topology) -> "DimensionOrder | HyperXOrder":
        """Make the routing for a fabric."""
        if isinstance(topology, HyperX):
            return HyperXOrder(topology)
        if not isinstance(topology, Torus):
            what = "a torus or HyperX"
            raise RoutingError(f"routing 'dimension-order' needs {what}, got {topology.summary}.")
        return cls(topology)

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows: nodes have one link each."""
        torus = self.topology
        here, there = src // torus.nodes_per_router, dst // torus.nodes_per_router
        parts = [src[:, None]]
        for axis in range(len(torus.dims)):
            links, here = _links_along(torus, axis, here, there)
            parts.append(links)
        table = np.concatenate([*parts, torus.n_nodes + dst[:, None]], axis=1)
        table[src == dst] = -1
        return Routes.from_padded(table, torus.n_links)


def _links_along(torus: Torus, axis: int, here: Ints, there: Ints) -> tuple[Ints, Ints]:
    """Return the links of all flows on one axis, padded with -1, and the routers reached."""
    side, stride = torus.dims[axis], torus.strides[axis]
    start, end = here // stride % side, there // stride % side
    ahead = end - start
    if torus.wrap[axis]:
        ahead = ahead % side
        ahead = np.where(ahead <= side - ahead, ahead, ahead - side)  # a tie goes in plus direction
    count, sign = np.abs(ahead), np.sign(ahead)
    step = np.arange(count.max(initial=0))
    place = (start[:, None] + sign[:, None] * step) % side
    owner_place = np.where(sign[:, None] > 0, place, (place - 1) % side)
    owner = (here - start * stride)[:, None] + owner_place * stride
    cable = torus.cable(axis, owner)
    base = np.where(sign > 0, torus.plus_base[axis], torus.minus_base[axis])
    links = np.where(step < count[:, None], base[:, None] + cable, -1)
    return links, here + (end - start) * stride


@dataclass(frozen=True, slots=True)
class HyperXOrder(CheckedRouting):
    """
    Dimension order on a HyperX: one cable on each axis where the routers differ.

    Of parallel cables flows take that of their destination's number. Source: J. H. Ahn et al.,
    *HyperX: topology, routing, and packaging of efficient large-scale networks*, SC 2009.
    """

    topology: HyperX

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows: nodes have one link each."""
        fabric = self.topology
        here, there = src // fabric.nodes_per_router, dst // fabric.nodes_per_router
        table = [src]
        for axis, (side, parallel) in enumerate(zip(fabric.dims, fabric.parallel, strict=True)):
            place, target = fabric.place(axis, here), fabric.place(axis, there)
            peer = target - (target > place)
            link = fabric.bases[axis] + (here * (side - 1) + peer) * parallel + dst % parallel
            table.append(np.where(place == target, -1, link))
            here = here + (target - place) * fabric.strides[axis]
        padded = np.stack([*table, fabric.n_nodes + dst], axis=1)
        padded[src == dst] = -1
        return Routes.from_padded(padded, fabric.n_links)
