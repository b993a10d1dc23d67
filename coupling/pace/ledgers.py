"""Ledgers: what links carried, and who made whom lose time, written down by an observer."""

from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from coupling.pace.network import NetworkPace
from netsim.arrays import Floats, Ints
from netsim.contention.base import ContentionModel
from netsim.contention.constants import bytes_per_link
from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.observer import Observer
from scheduler.rates import FULL_PACE, Pace
from scheduler.traffic import PlacedTraffic


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
        self.classes, self.kind = topology.link_kinds(np.arange(topology.n_links))
        self.victim = array("q")
        self.culprit = array("q")
        self.kind_of_row = array("q")
        self.lost_node_s = array("d")

    def write(self, victim: int, lost: Mapping[tuple[int, int], float]) -> None:
        """
        Write what a job lost in all.

        `lost`: node-seconds by culprit and class of link.
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


class NetworkLedger(Observer):
    """
    Writes down what happens on the network.

    Parameters
    ----------
    network : NetworkPace
        The rate model of the simulation.

    Attributes
    ----------
    links : LinkLedger
        What the links have carried so far, over jobs that have ended.
    blame : BlameLedger
        Who made whom lose time, over jobs that have ended.
    """

    def __init__(self, network: NetworkPace) -> None:
        self.links = LinkLedger(network.topology.n_links)
        self.blame = BlameLedger(network.topology)
        self._network = network
        self._members: dict[int, _Member] = {}

    def changed(
        self,
        ended: Sequence[Allocation],
        started: Sequence[Allocation],
        paces: Mapping[int, Pace],
        now_s: float,
    ) -> None:
        """Close the accounts of jobs that left, and go on with the others at their new paces."""
        for allocation in ended:
            self._close(allocation.job.id, now_s)
        for allocation in started:
            job = allocation.job
            placed = self._network.entered.get(job.id)
            if placed is not None:
                self._members[job.id] = _Member(placed, FULL_PACE, job.n_nodes, now_s)
        model, members, held_up = self._network.model, self._members, []
        for job_id, pace in paces.items():
            member = members.get(job_id)
            if member is None:
                continue
            self._advance(member, now_s)
            member.pace = pace
            if model is not None:
                worst_link = model.worst_link(job_id)
                if worst_link >= 0:  # else a remnant below the tolerance: it stays where it was
                    member.worst_link = worst_link
                if pace.interference > 1.0:
                    held_up.append(job_id)
        if model is not None and held_up:
            self._blame(model, held_up)

    def _blame(self, model: ContentionModel, held_up: Sequence[int]) -> None:
        """Note who holds jobs up from now on."""
        told = model.culprits(held_up, self.blame.kind)
        keys = list(zip(told.culprit.tolist(), told.kind.tolist(), strict=True))
        causes = list(zip(keys, told.share.tolist(), strict=True))
        first = [0, *(np.flatnonzero(np.diff(told.victim)) + 1).tolist(), len(causes)]
        for begin, end in pairwise(first):
            if end > begin:  # who is held up by a remnant keeps its culprits
                self._members[int(told.victim[begin])].causes = causes[begin:end]

    def _close(self, job: int, now_s: float) -> None:
        """Write down what a job that left has sent and lost."""
        member = self._members.pop(job, None)
        if member is None:
            return
        self._advance(member, now_s)
        self.links.nbytes[member.links] += member.nbytes * (member.work_s / member.ideal_s)
        self.blame.write(job, member.lost)

    def _advance(self, member: _Member, now_s: float) -> None:
        """Account for the time since the job's last change."""
        elapsed_s = now_s - member.since_s
        member.since_s = now_s
        member.work_s += elapsed_s / member.pace.slowdown
        if member.pace.interference == 1.0:
            return
        lost_node_s = elapsed_s * (1.0 - 1.0 / member.pace.interference) * member.n_nodes
        if member.worst_link >= 0:
            self.links.lost_node_s[member.worst_link] += lost_node_s
        for key, share in member.causes:
            member.lost[key] = member.lost.get(key, 0.0) + lost_node_s * share
