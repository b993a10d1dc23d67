"""Routing: the protocol that every routing fulfils, checks of its flows, routes between ranks."""

from typing import Protocol

import numpy as np

from netsim.common.arrays import Ints, numbers_below
from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.topology.base import Topology
from netsim.topology.rails import RailFlows, Rails
from netsim.topology.routes import Routes


class Routing(Protocol):
    """Chooses one path for each flow of a job."""

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
        rail: Ints | None = None,
    ) -> Routes:
        """
        Route flows between nodes.

        Parameters
        ----------
        src, dst : (F,) int array
            Source and destination node of each flow; a flow within a node crosses no link.
        partition : Partition, optional
            What the job owns; a routing on allocated links needs it, others
            ignore it.
        rail : (F,) int array, optional
            Where nodes have several links: the one, from 0, by which each flow arrives, and by
            which it leaves if a path starts there. Absent, the routing chooses; one that looks
            at load may choose in any case.

        Returns
        -------
        Routes
            Links of each flow in the order of travel.

        Raises
        ------
        RoutingError
            If a flow has no path.
        """


def flow_ends(src: Ints, dst: Ints, topology: Topology) -> tuple[Ints, Ints]:
    """
    Return sources and destinations as arrays, or refuse them.

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
    """Return the rails of flows as an array, or refuse them; None: the routing chooses."""
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
    return RoutingError(
        f"no path leads from {here} to {there}{by} in the fabric ({topology.summary})."
    )


class CheckedRouting:
    """A routing that a partition does not change; its flows are checked before it finds paths."""

    __slots__ = ()
    topology: Topology

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
        rail: Ints | None = None,
    ) -> Routes:
        """Route flows between nodes; a partition changes nothing."""
        del partition
        src, dst = flow_ends(src, dst, self.topology)
        return self.paths(src, dst, flow_rails(rail, dst, self.topology))

    def paths(self, src: Ints, dst: Ints, rail: Ints | None) -> Routes:
        """Return the links of flows between nodes of the fabric, by rails that their ends have."""
        raise NotImplementedError


def queue_pairs(routing: Routing) -> int:
    """Return over how many queue pairs a routing splits a message, each on a path of its own."""
    return int(getattr(routing, "qps", 1))


class RankRouting:
    """Routes messages between the ranks of jobs."""

    def __init__(self, topology: Topology, routing: Routing) -> None:
        self._routing = routing
        self._qps = queue_pairs(routing)
        self._rails = Rails(topology)
        self._every_node = np.arange(topology.n_nodes)

    def routes(
        self, nodes: Ints, src: Ints, dst: Ints, partition: Partition | None = None
    ) -> tuple[Routes, RailFlows | None]:
        """Route messages between ranks."""
        parts = self._rails.split(nodes, src, dst)
        if parts is None and self._qps == 1:
            return self._routing.routes(nodes[src], nodes[dst], partition), None
        given: dict[str, Ints] = {}
        if parts is None:
            flow = np.arange(src.size)
            parts = RailFlows(flow, np.zeros_like(flow), np.ones_like(flow))
        else:
            given["rail"] = np.repeat(parts.rail, self._qps)
        if self._qps > 1:
            given["queue_pair"] = np.tile(np.arange(self._qps), parts.flow.size)
            each = (np.repeat(part, self._qps) for part in (parts.flow, parts.rail, parts.parts))
            flow, rail, count = each
            parts = RailFlows(flow, rail, count * self._qps)
        ends = nodes[src[parts.flow]], nodes[dst[parts.flow]]
        return self._routing.routes(*ends, partition, **given), parts

    def of_nodes(
        self, src: Ints, dst: Ints, partition: Partition | None = None
    ) -> tuple[Routes, RailFlows | None]:
        """
        Route messages between nodes of one rank each.

        `routes`: all links that the job can use there, however many ranks a node has.
        """
        return self.routes(self._every_node, src, dst, partition)
