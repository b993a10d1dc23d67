"""Model `assumed`: a job that shares a link loses what a paper's scenario says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from fabricsim.checking import whole
from netsim.arrays import Ints
from netsim.contention.base import Traffic, communicating_nodes
from netsim.contention.blame import Culprits, no_culprits
from netsim.contention.cold.fixedpoint import ColdSolution
from netsim.contention.cold.recomputed import Recomputed
from netsim.contention.compared.assumption import Assumption
from netsim.contention.constants import bytes_per_link, check_traffic
from netsim.errors import ContentionError
from netsim.flows.isolation import shared_links
from netsim.topology.base import Topology


@dataclass(frozen=True, slots=True, eq=False)
class AssumedJob:
    """
    What is kept of a job.

    Parameters
    ----------
    channel : (L,) int array
        Channels of its links, ascending, each once.
    link : (L,) int array
        One of its directed links on each.
    n_nodes : int
        Its nodes.
    """

    channel: Ints
    link: Ints
    n_nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """
    Who meets whom where, from which blame is told.

    Parameters
    ----------
    jobs : mapping of int to AssumedJob
        Jobs that run together.
    users : mapping of int to list of int
        Jobs on each channel that several use.
    losing : set of int
        Jobs whose interference is above 1.
    """

    jobs: Mapping[int, AssumedJob]
    users: Mapping[int, list[int]]
    losing: set[int]

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return who holds jobs up, and on which class of links."""
        rows = [row for job in jobs if job in self.losing for row in self._rows(job, kinds)]
        if not rows:
            return no_culprits()
        victim, culprit, kind, share = (np.array(column) for column in zip(*rows, strict=True))
        return Culprits(victim, culprit, kind, share)

    def _rows(self, victim: int, kinds: Ints | None) -> list[tuple[int, int, int, float]]:
        """Return the victim's rows: victim, culprit, class of link, share."""
        own = self.jobs[victim]
        meetings: dict[int, dict[int, int]] = {}  # links by culprit and class
        for channel, link in zip(own.channel.tolist(), own.link.tolist(), strict=True):
            kind = 0 if kinds is None else int(kinds[link])
            for other in self.users.get(channel, ()):
                if other != victim:
                    count = meetings.setdefault(other, {})
                    count[kind] = count.get(kind, 0) + 1
        return [
            (victim, other, kind, n / sum(count.values()) / len(meetings))
            for other, count in sorted(meetings.items())
            for kind, n in sorted(count.items())
        ]


class Assumed:
    """
    Interference by an assumed scenario for jobs that share a link, 1 for the others.

    Parameters
    ----------
    topology : Topology
        The fabric.
    assumption : Assumption
        Who loses how much.
    seed : int
        Of the draws: what a job loses depends on it, its identity and its size alone.

    Notes
    -----
    The papers assume that jobs lose this under every scheduler that does not isolate them; here
    sharing decides, and neither bytes nor times matter. No single absence helps a victim that
    meets two others, so leave-one-out means nothing: who meets the victim has an equal share of
    the blame.
    """

    def __init__(self, topology: Topology, assumption: Assumption, seed: int) -> None:
        self._topology = topology
        self._assumption = assumption
        self._seed = seed

    def prepare(self, traffic: Traffic) -> AssumedJob:
        """Return what is kept of a job."""
        check_traffic(traffic, self._topology)
        links = bytes_per_link(traffic)[0]
        channel, first = np.unique(self._topology.channel[links], return_index=True)
        n_nodes = traffic.n_nodes
        if n_nodes is None:
            n_nodes = communicating_nodes(traffic, self._topology).size
        return AssumedJob(channel, links[first], n_nodes)

    def predict(self, jobs: Mapping[int, AssumedJob]) -> ColdSolution:
        """
        Return the interference of jobs that run together.

        `jobs`: what `prepare` returned. Result: interference, at least 1; links are not told.
        """
        numbers = list(jobs)
        users = {
            channel: [numbers[place] for place in places]
            for channel, places in shared_links([own.channel for own in jobs.values()]).items()
        }
        sharing = sorted({job for some in users.values() for job in some})
        nodes = np.array([jobs[job].n_nodes for job in sharing], dtype=np.int64)
        loss = self._assumption.interference(np.array(sharing, np.int64), nodes, self._seed)
        interference = dict.fromkeys(numbers, 1.0) | dict(zip(sharing, loss.tolist(), strict=True))
        losing = {job for job, factor in interference.items() if factor > 1.0}
        state = Meetings(dict(jobs), users, losing)
        return ColdSolution(interference, dict.fromkeys(numbers, -1), state=state)


def assumed(
    topology: Topology,
    *,
    fairness: str,
    scenario: str = "10%",
    reading: str = "divide",
    seed: int = 1,
) -> Recomputed[AssumedJob]:
    """
    Build the model `assumed`.

    `fairness` {"per-sender", "per-flow"}: without effect. `scenario` {"5%", "10%", "20%", "V1",
    "V2", "random"}: speed-up x under isolation, by size of the job and chance: see `Assumption`.
    `reading` {"divide", "subtract"}: interference is 1 + x, or 1 / (1 - x).
    """
    whole("seed", seed, 0, error=ContentionError)
    del fairness
    model = Assumed(topology, Assumption(scenario, reading), seed)
    return Recomputed(model.prepare, model.predict)
