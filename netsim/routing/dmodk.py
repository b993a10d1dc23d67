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
    mod_k_routes,
    need_fat_tree,
    up_down_routes,
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

    Where nodes have several up-ports and the rail of a flow is given, that is its port at both
    ends, and d is the number of the destination's link among those of its leaves, p[0] a node; it
    is not divided by w[0]: the rails are trees side by side, in each of which a link is an end
    of its own.
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
        rail: Ints | None = None,
    ) -> Routes:
        """Route flows between nodes; a partition changes nothing."""
        if rail is None and self.topology.counted_ports is None:
            return mod_k_routes(self.topology, src, dst, by_source=self.by_source)
        return CheckedRouting.routes(self, src, dst, partition, rail)

    def paths(self, src: Ints, dst: Ints, rail: Ints | None) -> Routes:
        """Return the links of flows, where nodes have rails or some are missing."""
        tree = self.topology
        ports = node_ports(tree, src if self.by_source else dst, rail)
        return up_down_routes(tree, src, dst, ports, down_cables(tree, src, ports, rail))


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


def node_ports(tree: FatTree, nodes: Ints, rail: Ints | None = None) -> Ints:
    """
    Return the up-ports (h, F) that nodes choose: by `mod_k_ports`, or counted in holes.

    Where the rail is given it is the port of the nodes; the levels above choose as if each link
    were a node.
    """
    if rail is None:
        counted = tree.counted_ports
        return mod_k_ports(tree, nodes) if counted is None else counted[:, nodes]
    counted, ends = tree.counted_in_rail, rail_ends(tree, nodes, rail)
    ports = mod_k_ports(tree, ends, in_rail=True) if counted is None else counted[:, ends]
    ports[0] = rail
    return ports


def rail_ends(tree: FatTree, nodes: Ints, rail: Ints) -> Ints:
    """Return the number of a link of each node in its rail: a node has p[0] on each leaf."""
    ends: Ints = nodes * tree.parallel[0] + rail // tree.parents[0]
    return ends


def mod_k_ports(tree: FatTree, numbers: Ints, *, in_rail: bool = False) -> Ints:
    """
    Return ``floor(d / (w[0]*...*w[l-1])) mod (w[l]*p[l])`` of numbers d, as (h, F).

    `in_rail`: whether the rail is chosen already, so that w[0] does not count.
    """
    first = 1 if in_rail else 0
    ports = np.empty((tree.levels, numbers.size), dtype=np.int64)
    for level in range(tree.levels):
        ports[level] = numbers // prod(tree.parents[first:level]) % tree.ports[level]
    return ports
