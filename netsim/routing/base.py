"""Routing: how flows find their way; the protocol that every routing fulfils."""

from typing import Protocol

from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
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
            What the job owns; a routing that keeps to allocated links needs it, others
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
