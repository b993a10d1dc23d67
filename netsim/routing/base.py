"""Routing: the protocol that every routing fulfils, checks of its flows, routes between ranks."""

from typing import ClassVar, Protocol

import numpy as np

from netsim.common.arrays import Ints, numbers_below
from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.topology.base import Topology
from netsim.topology.rails import EndpointFlows, Rails
from netsim.topology.routes import Routes


class Routing(Protocol):
    """Chooses one path for each flow of a job."""

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
    ) -> Routes:
        """
        Route flows between endpoints.

        Parameters
        ----------
        src, dst : (F,) int array
            Source and destination of each flow, as `Topology.endpoints` numbers them: nodes, or
            where these have several links, the links. A flow within a node crosses no link.
        partition : Partition, optional
            What the job owns; a routing on allocated links needs it, others
            ignore it.

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
    src = numbers_below("src", src, topology.endpoints.size, RoutingError)
    dst = numbers_below("dst", dst, topology.endpoints.size, RoutingError)
    if src.size != dst.size:
        raise RoutingError(
            f"src and dst: expected one of each for every flow, got {src.size} and {dst.size}."
        )
    return src, dst


def no_path(src: int, dst: int, topology: Topology, *, by_rail: bool = True) -> RoutingError:
    """Make the error of a flow between endpoints that no path in service joins."""
    ends = topology.endpoints
    (here, out), (there, into) = (
        (topology.vertex_name(int(ends.node[end])), end - int(ends.first[ends.node[end]]))
        for end in (src, dst)
    )
    rails = f"rail {out}" if out == into else f"rails {out} and {into}"
    by = f" by {rails}" if by_rail and not topology.endpoints.one_each else ""
    return RoutingError(
        f"no path leads from {here} to {there}{by} in the fabric ({topology.summary})."
    )


class CheckedRouting:
    """A routing that a partition does not change; its flows are checked before it finds paths."""

    __slots__ = ()
    topology: Topology
    per_flow: ClassVar[bool] = True  # the path of a flow depends on no other flow of the call

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
    ) -> Routes:
        """Route flows between endpoints; a partition changes nothing."""
        del partition
        return self.paths(*flow_ends(src, dst, self.topology))

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows between endpoints of the fabric."""
        raise NotImplementedError


def inner_routes(
    inner: Routing, src: Ints, dst: Ints, partition: Partition | None, queue_pair: Ints | None
) -> Routes:
    """Route flows by another routing; only those that hash queue pairs take them."""
    hashed = {} if queue_pair is None else {"queue_pair": queue_pair}
    return inner.routes(src, dst, partition, **hashed)


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
        self,
        nodes: Ints,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
        channel: Ints | None = None,
    ) -> tuple[Routes, EndpointFlows | None]:
        """
        Route messages between ranks; the flows that they are split into, if they are.

        `channel` (F,): adapter of each message on a GPU cluster, -1 for that of the receiver.
        """
        gpus = None if partition is None else partition.gpus
        parts = self._rails.split(nodes, src, dst, channel, gpus)
        if parts is None and self._qps == 1:
            return self._routing.routes(nodes[src], nodes[dst], partition), None
        if parts is None:
            whole = np.arange(src.size), np.ones_like(src)
            parts = EndpointFlows(whole[0], nodes[src], nodes[dst], whole[1])
        inside = parts.inside
        if self._qps == 1:
            routes = self._routing.routes(parts.src, parts.dst, partition)
            return self._joined(routes, inside), parts
        flow, out, into = (
            np.repeat(part, self._qps) for part in (parts.flow, parts.src, parts.dst)
        )
        count = np.multiply(np.repeat(parts.parts, self._qps), self._qps)
        hashed = {"queue_pair": np.tile(np.arange(self._qps), parts.flow.size)}
        routes = self._routing.routes(out, into, partition, **hashed)
        if inside is not None:
            first, second, third, fourth = (np.repeat(leg, self._qps) for leg in inside)
            inside = first, second, third, fourth
        return self._joined(routes, inside), EndpointFlows(flow, out, into, count)

    @property
    def of_several_jobs(self) -> bool:
        """Whether flows of several jobs that own no links can be routed in one call."""
        return self._qps == 1 and bool(getattr(self._routing, "per_flow", False))

    @staticmethod
    def _joined(routes: Routes, inside: tuple[Ints, Ints, Ints, Ints] | None) -> Routes:
        """Put the links inside hosts before and after those between them."""
        return routes if inside is None else routes.between(inside[:2], inside[2:])

    def of_nodes(
        self, src: Ints, dst: Ints, partition: Partition | None = None
    ) -> tuple[Routes, EndpointFlows | None]:
        """
        Route messages between nodes of one rank each.

        `routes`: all links that the job can use there, however many ranks a node has.
        """
        return self.routes(self._every_node, src, dst, partition)
