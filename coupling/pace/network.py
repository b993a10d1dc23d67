"""NetworkPace: running jobs slow each other down through the links they share."""

from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from fabricsim.checking import shortened
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


class BlameLedger:
    """
    Node-seconds that jobs lost to interference, by culprit and class of link.

    Parameters
    ----------
    topology : Topology
        The fabric.

    Attributes
    ----------
    classes : tuple of str
        Classes of links by number.
    kind : (E,) int array
        Number of the class of each link.
    victim, culprit, kind_of_row : array of int
        Job ids, and number of the class; -1 where the model does not tell.
    lost_node_s : array of float
        Node-seconds.
    """

    def __init__(self, topology: Topology) -> None:
        names = [topology.link_class(link) for link in range(topology.n_links)]
        self.classes = tuple(dict.fromkeys(names))
        number = {name: kind for kind, name in enumerate(self.classes)}
        self.kind: Ints = np.array([number[name] for name in names], dtype=np.int64)
        self.victim = array("q")
        self.culprit = array("q")
        self.kind_of_row = array("q")
        self.lost_node_s = array("d")

    def write(self, victim: int, lost: Mapping[tuple[int, int], float]) -> None:
        """
        Write what a job lost in all.

        Parameters
        ----------
        victim : int
            The job.
        lost : mapping of (int, int) to float
            Node-seconds by culprit and class of link.
        """
        for (culprit, kind), node_s in lost.items():
            self.victim.append(victim)
            self.culprit.append(culprit)
            self.kind_of_row.append(kind)
            self.lost_node_s.append(node_s)


_Cause = tuple[tuple[int, int], float]  # culprit and class of link, share
_UNTOLD: tuple[_Cause, ...] = (((-1, -1), 1.0),)


class _Member:
    """A communicating job on the network."""

    __slots__ = (
        "causes",
        "ideal_s",
        "links",
        "lost",
        "n_nodes",
        "nbytes",
        "pace",
        "since_s",
        "work_s",
        "worst_link",
    )

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
        self.causes: Sequence[_Cause] = _UNTOLD
        self.lost: dict[tuple[int, int], float] = {}


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

    Attributes
    ----------
    ledger : LinkLedger
        What the links have carried so far, over jobs that have ended.
    blame : BlameLedger
        Who made whom lose time, over jobs that have ended.
    owned : set of bool
        Whether jobs own links, of those that communicated so far.
    routing : Routing
        As given.
    """

    def __init__(self, topology: Topology, routing: Routing, model: ContentionModel | None) -> None:
        self.ledger = LinkLedger(topology.n_links)
        self.blame = BlameLedger(topology)
        self.owned: set[bool] = set()
        self.routing = routing
        self._topology = topology
        self._model = model
        self._traffic_of = TrafficOf(topology, routing)
        self._members: dict[int, _Member] = {}

    def __repr__(self) -> str:
        """Return one line."""
        return f"<NetworkPace on {shortened(self._topology.name)}: {len(self._members)} jobs>"

    @property
    def latency_bound(self) -> int:
        """Jobs so far that run as if silent, since latency takes all their communication time."""
        return self._traffic_of.latency_bound

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, Pace]:
        """Take the changes of one instant and return the paces that changed."""
        for allocation in ended:
            self._leave(allocation.job.id, now_s)
        paces = {allocation.job.id: self._enter(allocation, now_s) for allocation in started}
        if self._model is not None:
            changes = self._model.solve()
            for job, interference in changes.items():
                member = self._members[job]
                self._advance(member, now_s)
                member.pace = Pace(interference, member.pace.placement_factor)
                worst_link = self._model.worst_link(job)
                if worst_link >= 0:  # else a remnant below the tolerance: it stays where it was
                    member.worst_link = worst_link
                paces[job] = member.pace
            self._blame([job for job, value in changes.items() if value > 1.0])
        return paces

    def _blame(self, held_up: Sequence[int]) -> None:
        """Note who holds jobs up from now on; who is held up by a remnant keeps its culprits."""
        if self._model is None or not held_up:
            return
        told = self._model.culprits(held_up, self.blame.kind)
        keys = list(zip(told.culprit.tolist(), told.kind.tolist(), strict=True))
        causes = list(zip(keys, told.share.tolist(), strict=True))
        first = [0, *(np.flatnonzero(np.diff(told.victim)) + 1).tolist(), len(causes)]
        for begin, end in pairwise(first):
            if end > begin:
                self._members[int(told.victim[begin])].causes = causes[begin:end]

    def _enter(self, allocation: Allocation, now_s: float) -> Pace:
        """Put a job on the network and return its pace among nobody."""
        job = allocation.job
        if job.communication is None or job.n_nodes == 1:
            return FULL_PACE
        partition = allocation.partition()
        placed = self._traffic_of(job.communication, partition)
        if placed is None:
            return FULL_PACE
        self.owned.add(partition.links is not None)
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
            self.blame.write(job, member.lost)
            self._model.end(job)

    def _advance(self, member: _Member, now_s: float) -> None:
        """Account for the time since the job's last change."""
        elapsed_s = now_s - member.since_s
        member.since_s = now_s
        member.work_s += elapsed_s / member.pace.slowdown
        if member.pace.interference == 1.0:
            return
        lost_node_s = elapsed_s * (1.0 - 1.0 / member.pace.interference) * member.n_nodes
        if member.worst_link >= 0:
            self.ledger.lost_node_s[member.worst_link] += lost_node_s
        for key, share in member.causes:
            member.lost[key] = member.lost.get(key, 0.0) + lost_node_s * share
