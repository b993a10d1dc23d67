"""Traffic of a placed job, and the protocol that every contention model fulfils."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from netsim.arrays import Floats, Ints, distinct
from netsim.contention.blame import Culprits
from netsim.routes import Routes
from netsim.topology.base import Topology


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """
    What one placed job puts on the network in each iteration.

    Parameters
    ----------
    step : (F,) int array
        Step 0..A-1 of each flow, ascending; a step starts when the one before has ended.
    sender : (F,) int array
        Node whose injection link the flow shares with the sender's other flows; where nodes have
        several links, that link (`netsim.topology.rails.senders`).
    nbytes : (F,) float array
        Bytes of each flow, positive.
    routes : Routes
        Directed links of each flow, injection and ejection included; a flow inside a node
        crosses none.
    compute_s : float
        Seconds of an iteration without communication.
    latency_s : (F,) float array
        Latency of each flow's path in seconds.
    n_nodes : int, optional
        Nodes that the job runs on, silent ones included; absent: those that send or receive.
    detoured : (F,) float array, optional
        Where packets are spread over ways: the part of each flow that goes round
        (`netsim.routing.detours`).
    """

    step: Ints
    sender: Ints
    nbytes: Floats
    routes: Routes
    compute_s: float
    latency_s: Floats
    n_nodes: int | None = None
    detoured: Floats | None = None

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Traffic: {self.step.size} flows in {np.unique(self.step).size} steps>"


def communicating_nodes(traffic: Traffic, topology: Topology) -> Ints:
    """
    Return the nodes of a job that send to or receive from other nodes.

    Result (n,): ascending, each once.
    """
    routes = traffic.routes
    crossing = np.flatnonzero(routes.hops)
    first = routes.links[routes.indptr[:-1][crossing]]
    last = routes.links[routes.indptr[1:][crossing] - 1]
    return distinct(np.concatenate([topology.link_tail[first], topology.link_head[last]]))


class ContentionModel(Protocol):
    """Predicts how much running jobs slow each other down, event by event."""

    def start(self, job: int, traffic: Traffic) -> None:
        """
        Add a job; its effect shows at the next `solve`.

        Parameters
        ----------
        job : int
            Identity of the job, not present yet.
        traffic : Traffic
            What it sends.
        """

    def end(self, job: int) -> None:
        """
        Take a job away; its effect shows at the next `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.
        """

    def solve(self) -> Mapping[int, float]:
        """
        Bring the slowdowns up to date.

        Returns
        -------
        mapping of int to float
            Interference (iteration time together / alone, exactly 1 where no link is
            shared) of every job that was started or whose value changed since the last
            `solve`.
        """

    def worst_link(self, job: int) -> int:
        """
        Return the link that holds a job up most, as of the last `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.

        Returns
        -------
        int
            The directed link that decides the step with the largest excess over its time
            alone; -1 where no link holds the job up, or the model does not tell.
        """

    def blame(self, job: int) -> Mapping[int, float]:
        """
        Return how much of a job's lost time each other job causes, as of the last `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.

        Returns
        -------
        mapping of int to float
            Shares that add up to 1, largest first; empty where nobody holds the job up, or the
            model does not tell.
        """

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """
        Return who holds jobs up, as of the last `solve`.

        Parameters
        ----------
        jobs : iterable of int
            Identities of jobs that were started.
        kinds : (E,) int array, optional
            Class of each link, 0, 1, ...; absent: all are of class 0.

        Returns
        -------
        Culprits
            Shares of each job's lost time by culprit and class of link; empty where the model
            does not tell.
        """
