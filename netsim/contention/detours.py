"""What decides which part of the packets of a job goes round, where that depends on other jobs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from netsim.arrays import Floats, Ints, Table
from netsim.contention.base import Traffic
from netsim.topology.base import Topology

Tables: TypeAlias = tuple[Table, Table, Floats]  # records, entries and lanes of `JobConstants`


@dataclass(frozen=True, slots=True, eq=False)
class Detours:
    """
    The choice of a job's packets among others.

    Parameters
    ----------
    pair : (F,) int array
        Pair of routers of each flow.
    alone : (F,) float array
        The part of each flow that goes round alone, 0 to 1.
    way, channel : (n,) int array
        The links of ways that have a choice: their way, 2 p for the minimal ways of pair p
        and 2 p + 1 for its detours, and their channel.
    share : (n,) float array
        Part of the packets of the way that begin on each; of each way they add up to 1. 0 for
        links further on.
    begin : (A,) int array
        First flow of each step that has any.
    most_s : (F,) float array
        Seconds by which links can take longer if the flow goes another way altogether.
    remade : callable of (F,) float array
        Tables of the job with other parts.
    """

    pair: Ints
    alone: Floats
    way: Ints
    channel: Ints
    share: Floats
    begin: Ints
    most_s: Floats
    remade: Callable[[Floats], Tables]

    def among(self, first: Floats, whole: Floats) -> Floats:
        """
        Return the part of each flow that goes round among others, (F,).

        `first` (n,): share of the time for which others keep the queues of links that UGAL looks
        at busy, 0 to 1; `whole` (n,): what they send there, 1 for as much as the link takes. What
        is too much for a link further on fills all buffers before it, so the router where packets
        begin sees that too.
        """
        mean = np.zeros(2 * int(self.pair.max()) + 2)
        np.add.at(mean, self.way, self.share * first)
        too_much = np.zeros_like(mean)
        further = np.where(self.share > 0.0, 0.0, 1.0 - 1.0 / np.maximum(1.0, whole))
        np.maximum.at(too_much, self.way, further)
        busy = 1.0 - (1.0 - mean) * (1.0 - too_much)
        return part_among(self.alone, busy[2 * self.pair], busy[2 * self.pair + 1])

    def felt_s(self, by: Floats) -> float:
        """Return by how many seconds, at most, steps take longer; `by` (F,): moves of parts."""
        return float(np.maximum.reduceat(self.most_s * np.abs(by), self.begin).sum())


def part_among(alone: Floats, straight: Floats, round_: Floats) -> Floats:
    """
    Return the part of the packets of flows that goes round among other jobs, (F,).

    `alone`: if no other job runs; 0 where there is no choice. `straight`, `round_`: share of the
    time for which others keep the minimal ways busy, and the detours, as their first router sees.
    UGAL-L (J. Kim et al., *Technology-driven, highly-scalable dragonfly topology*, ISCA 2008) sees
    the queues of the router at which a packet begins. A packet that alone goes minimally goes
    round where others keep that way busy and the other one not, and the other way about; where
    they keep both or none busy nothing changes. The two are taken as independent.
    """
    stays = 1.0 - round_ * (1.0 - straight)
    return alone * stays + (1.0 - alone) * straight * (1.0 - round_)


def detours_of(
    traffic: Traffic,
    topology: Topology,
    longest_s: Floats,
    remade: Callable[[Floats], Tables],
) -> Detours | None:
    """
    Return the choice of a job's packets; None where none go round.

    `longest_s` (F,): what the links of a flow's step take at most alone, waits included. `remade`:
    as in `Detours`.
    """
    ways, alone, routes = traffic.routes.ways, traffic.detoured, traffic.routes
    if ways is None or alone is None or not alone.any():
        return None
    crossing = routes.hops > 0
    router = np.zeros(ways.indptr.size // 2, dtype=np.int64)
    router[ways.pair[crossing]] = topology.link_head[routes.links[routes.indptr[:-1][crossing]]]
    length = np.diff(ways.indptr)
    way = np.repeat(np.arange(length.size), length)
    has_choice = length[way | 1] > 0
    way, links = way[has_choice], ways.links[has_choice]
    begins = topology.link_tail[links] == router[way // 2]
    share = np.where(begins, ways.share[has_choice], 0.0)
    least = np.where(alone > 0.0, np.minimum(alone, 1.0 - alone), np.inf)
    return Detours(
        ways.pair,
        alone,
        way,
        topology.channel[links],
        share / np.bincount(way, share)[way],
        np.flatnonzero(np.diff(traffic.step, prepend=-1)),
        longest_s / least,
        remade,
    )
