"""Routes of messages between ranks, over all the links of their nodes."""

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from netsim.topology.rails import RailFlows, Rails
from netsim.topology.routes import Routes


class RankRouting:
    """
    Routes messages between the ranks of jobs.

    Parameters
    ----------
    topology : Topology
        The fabric.
    routing : Routing
        Finds the way of each flow between nodes.
    """

    def __init__(self, topology: Topology, routing: Routing) -> None:
        self._routing = routing
        self._rails = Rails(topology)
        self._every_node = np.arange(topology.n_nodes)

    def routes(
        self, nodes: Ints, src: Ints, dst: Ints, partition: Partition | None = None
    ) -> tuple[Routes, RailFlows | None]:
        """Route messages between ranks."""
        parts = self._rails.split(nodes, src, dst)
        if parts is None:
            return self._routing.routes(nodes[src], nodes[dst], partition), None
        ends = nodes[src[parts.flow]], nodes[dst[parts.flow]]
        return self._routing.routes(*ends, partition, parts.rail), parts

    def of_nodes(
        self, src: Ints, dst: Ints, partition: Partition | None = None
    ) -> tuple[Routes, RailFlows | None]:
        """
        Route messages between nodes of one rank each.

        `src`, `dst` (F,): source and destination node of each message. Result: `routes`: links of
        each flow in the order of travel: all that the job can use there, however many ranks a node
        has; `parts`: as `routes` returns them.
        """
        return self.routes(self._every_node, src, dst, partition)
