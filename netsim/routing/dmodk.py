"""D-mod-k on PGFT(h; m; w; p), exactly as OpenSM's ftree does it, and S-mod-k."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar, Self

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.routing.base import CheckedRouting
from netsim.routing.updown import (
    down_cables,
    endpoint_routes,
    mod_k_routes,
    need_fat_tree,
)
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes


@dataclass(frozen=True, slots=True)
class DModK(CheckedRouting):
    """
    D-mod-k: each switch chooses its up-port from the destination's number.

    Up-port of a level-l element towards destination d: ``floor(d / (w[0] * ... * w[l-1])) mod (w[l]
    * p[l])``; it divides by products of w, the numbers of up-ports, also on tapered trees. The path
    turns at the first level whose switch covers d; going down, the digits are those of d. Source:
    Zahavi 2010; OpenSM 3.3 ftree agrees hop by hop.

    Where nodes have several up-ports, these are the endpoints, and w[0] rails are trees side by
    side: d is the number of the endpoint in its rail, p[0] a node, and is not divided by w[0].
    """

    name: ClassVar[str] = "d-mod-k"
    by_source: ClassVar[bool] = False  # which end has the number

    topology: FatTree

    @classmethod
    def on(cls, topology: Topology) -> Self:
        """Make the routing for a fabric."""
        return cls(need_fat_tree(topology, cls.name))

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
    ) -> Routes:
        """Route flows between endpoints; a partition changes nothing."""
        tree = self.topology
        if tree.ports[0] == 1 and tree.counted_ports is None:
            return mod_k_routes(tree, src, dst, by_source=self.by_source)
        return CheckedRouting.routes(self, src, dst, partition)

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows, where nodes have several links or some are missing."""
        tree = self.topology
        ports = endpoint_ports(tree, src if self.by_source else dst)
        cables = down_cables(tree, src // tree.ports[0], ports)
        return endpoint_routes(tree, src, dst, ports, cables)


@dataclass(frozen=True, slots=True)
class SModK(DModK):
    """
    S-mod-k: each switch chooses its up-port from the source's number.

    D-mod-k with the source in the place of the destination: two flows from one node share their way
    up, two flows to one node meet only where they must. Source: M. Valdes et al.; named with
    D-mod-k by E. Zahavi, 2010.
    """

    name: ClassVar[str] = "s-mod-k"
    by_source: ClassVar[bool] = True


def endpoint_ports(tree: FatTree, ends: Ints) -> Ints:
    """Return the up-ports (h, F) that endpoints choose: by `mod_k_ports`, or counted in holes."""
    numbers, counted = rail_numbers(tree, ends), tree.counted_ports
    return mod_k_ports(tree, numbers) if counted is None else counted[:, numbers]


def rail_numbers(tree: FatTree, ends: Ints) -> Ints:
    """Return the numbers of endpoints among those of their rail: a node has p[0] on a leaf."""
    if tree.ports[0] == 1:
        return ends
    node, port = np.divmod(ends, tree.ports[0])
    numbers: Ints = node * tree.parallel[0] + port // tree.parents[0]
    return numbers


def mod_k_ports(tree: FatTree, numbers: Ints) -> Ints:
    """Return ``floor(d / (w[1]*...*w[l-1])) mod (w[l]*p[l])`` of numbers d in a rail, (h, F)."""
    ports = np.empty((tree.levels, numbers.size), dtype=np.int64)
    for level in range(tree.levels):
        ports[level] = numbers // prod(tree.parents[1:level]) % tree.ports[level]
    return ports
