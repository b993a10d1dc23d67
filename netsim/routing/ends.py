"""The ends of flows, checked where a routing takes them in."""

import numpy as np

from netsim.common.arrays import Ints, numbers_below
from netsim.common.errors import RoutingError
from netsim.topology.base import Topology


def flow_ends(src: Ints, dst: Ints, topology: Topology) -> tuple[Ints, Ints]:
    """
    Return sources and destinations as arrays, or refuse them.

    `src`, `dst` (F,): source and destination node of each flow; lists will do. Result: `src`, `dst`
    (F,): the same.

    Every routing calls it: a node that does not exist has a link number all the same.
    """
    src = numbers_below("src", src, topology.n_nodes, RoutingError)
    dst = numbers_below("dst", dst, topology.n_nodes, RoutingError)
    if src.size != dst.size:
        raise RoutingError(
            f"src and dst: expected one of each for every flow, got {src.size} and {dst.size}."
        )
    return src, dst


def flow_rails(rail: Ints | None, dst: Ints, topology: Topology) -> Ints | None:
    """
    Return the rails of flows as an array, or refuse them.

    `rail` (F,) or None: rail of each flow; lists will do. None: the routing chooses. `dst` (F,):
    destinations, from `flow_ends`. Result (F,): the same.
    """
    if rail is None:
        return None
    rail = numbers_below("rail", rail, max(topology.rails, 1), RoutingError)
    if rail.size != dst.size:
        raise RoutingError(f"rail: expected one for each of {dst.size} flows, got {rail.size}.")
    count = np.diff(topology.node_links[1])[dst]
    if np.any(rail >= count):
        flow = int(np.argmax(rail >= count))
        name = topology.vertex_name(int(dst[flow]))
        raise RoutingError(
            f"rail: expected one of the {count[flow]} links of {name}, counted from 0, "
            f"got {rail[flow]}."
        )
    return rail


def no_path(src: int, dst: int, topology: Topology, rail: int | None = None) -> RoutingError:
    """Make the error of a flow that no path in service takes to its destination."""
    by = "" if rail is None or topology.rails == 1 else f" by rail {rail}"
    here, there = topology.vertex_name(src), topology.vertex_name(dst)
    return RoutingError(f"no path leads from {here} to {there}{by} in {topology.name}.")
