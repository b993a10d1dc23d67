"""NetworkPace: running jobs slow each other down through the links they share."""

from collections.abc import Mapping, Sequence

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.base import ContentionModel
from netsim.contention.constants import bytes_per_link
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.rates import FULL_PACE, Pace
from scheduler.traffic import PlacedTraffic, TrafficOf


class LinkLedger:
    """
    What each directed link has carried, and the time lost there.

    Parameters
    ----------
    n_links : int
        Directed links of the fabric.

    Attributes
    ----------
    nbytes : (E,) float array
        Bytes carried.
    lost_node_s : (E,) float array
        Node-seconds that jobs lost to interference while this link was their worst.
    """

    def __init__(self, n_links: int) -> None:
        self.nbytes: Floats = np.zeros(n_links)
        self.lost_node_s: Floats = np.zeros(n_links)


class _Member:
    """A communicating job on the network."""

    __slots__ = ("ideal_s", "links", "n_nodes", "nbytes", "pace", "since_s", "work_s", "worst_link")

    def __init__(self, placed: PlacedTraffic, pace: Pace, n_nodes: int, now_s: float) -> None:
        self.links: Ints
        self.nbytes: Floats
        self.links, self.nbytes = bytes_per_link(placed.traffic)
        self.ideal_s = placed.ideal_s
        self.pace = pace
        self.n_nodes = n_nodes
        self.since_s = now_s
        self.work_s = 0.0
        self.worst_link = -1


class NetworkPace:
    """
    A rate model that asks the network.

    Parameters
    ----------
    topology : Topology
        The fabric.
    routing : Routing
        Finds the way of each flow.
    model : ContentionModel or None
        Predicts interference; None: an infinite network (the model `null`), on which
        interference and placement factor are 1.
    nodes_per_leaf : int
        Nodes of a group of the cluster, to turn its masks into node numbers.

    Attributes
    ----------
    ledger : LinkLedger
        What the links have carried so far, over jobs that have ended.
    """

    def __init__(
        self,
        topology: Topology,
        routing: Routing,
        model: ContentionModel | None,
        nodes_per_leaf: int,
    ) -> None:
        self.ledger = LinkLedger(topology.n_links)
        self._topology = topology
        self._model = model
        self._nodes_per_leaf = nodes_per_leaf
        self._traffic_of = TrafficOf(topology, routing)
        self._members: dict[int, _Member] = {}

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, Pace]:
        """
        Take the changes of one instant and return the paces that changed.

        Parameters
        ----------
        ended, started : sequence of Allocation
            Jobs that left and came at this instant, in order.
        now_s : float
            The instant, in seconds.

        Returns
        -------
        mapping of int to Pace
            By job id.
        """
        for allocation in ended:
            self._leave(allocation.job.id, now_s)
        paces = {allocation.job.id: self._enter(allocation, now_s) for allocation in started}
        if self._model is not None:
            for job, interference in self._model.solve().items():
                member = self._members[job]
                self._advance(member, now_s)
                member.pace = Pace(interference, member.pace.placement_factor)
                worst_link = self._model.worst_link(job)
                if worst_link >= 0:  # else a remnant below the tolerance: it stays where it was
                    member.worst_link = worst_link
                paces[job] = member.pace
        return paces

    def _enter(self, allocation: Allocation, now_s: float) -> Pace:
        """Put a job on the network and return its pace among nobody."""
        job = allocation.job
        if job.communication is None or job.n_nodes == 1:
            return FULL_PACE
        partition = allocation.partition(self._topology, self._nodes_per_leaf)
        placed = self._traffic_of(job.communication, partition)
        if placed is None:
            return FULL_PACE
        pace = FULL_PACE if self._model is None else Pace(1.0, placed.placement_factor)
        self._members[job.id] = _Member(placed, pace, job.n_nodes, now_s)
        if self._model is not None:
            self._model.start(job.id, placed.traffic)
        return pace

    def _leave(self, job: int, now_s: float) -> None:
        """Take a job off the network and write what it sent into the ledger."""
        member = self._members.pop(job, None)
        if member is None:
            return
        self._advance(member, now_s)
        self.ledger.nbytes[member.links] += member.nbytes * (member.work_s / member.ideal_s)
        if self._model is not None:
            self._model.end(job)

    def _advance(self, member: _Member, now_s: float) -> None:
        """Account for the time since the job's last change."""
        elapsed_s = now_s - member.since_s
        member.since_s = now_s
        member.work_s += elapsed_s / member.pace.slowdown
        if member.worst_link >= 0 and member.pace.interference > 1.0:
            lost_s = elapsed_s * (1.0 - 1.0 / member.pace.interference)
            self.ledger.lost_node_s[member.worst_link] += lost_s * member.n_nodes
