"""What decides which part of the packets of a job goes round, where that depends on other jobs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from netsim.arrays import Floats, Ints, Table
from netsim.contention.base import Traffic
from netsim.kernelcache import load_kernels
from netsim.routes import Ways
from netsim.topology.base import Topology

Tables: TypeAlias = tuple[Table, Table, Floats]  # records, entries and lanes of `JobConstants`


@dataclass(frozen=True, slots=True, eq=False)
class Detours:
    """
    The choice of a job's packets among others.

    Parameters
    ----------
    fabric : Topology
        The dragonfly.
    ways : Ways
        Of the job's flows.
    router : (P,) int array
        Vertex at which the ways of each pair of routers begin.
    alone : (F,) float array
        The part of each flow that goes round alone, 0 to 1.
    begin : (A,) int array
        First flow of each step that has any.
    most_s : (F,) float array
        Seconds by which links can take longer if the flow goes another way altogether.
    remade : callable of (F,) float array
        Tables of the job with other parts.
    """

    fabric: Topology
    ways: Ways
    router: Ints
    alone: Floats
    begin: Ints
    most_s: Floats
    remade: Callable[[Floats], Tables]

    def among(self, busy: Floats, own: Floats) -> Floats:
        """
        Return the part of each flow that goes round among others, (F,).

        `busy`, `own`: as for `netsim.contention.among_kernels.busy_ways`.
        """
        ways, fabric = self.ways, self.fabric
        kernels = load_kernels("netsim.contention.among_kernels", "contention kernels", 2)
        on, ends = (ways.indptr, ways.links, ways.share), (fabric.link_tail, fabric.channel)
        by_way = kernels.busy_ways(*on, self.router, *ends, busy, own)
        return part_among(self.alone, by_way[2 * ways.pair], by_way[2 * ways.pair + 1])

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


def keep_within(alone_s: Floats, tau_s: Floats, records: Table, entries: Table) -> None:
    """
    Let no link take longer for a job's own packets than its steps take alone.

    Packets that others lead away from a way do not make another one the bottleneck, as UGAL sees
    their own queue there too. `alone_s`, `tau_s` (A,): the longest a link takes in each step, alone
    and with the parts of `records` and `entries`, which are changed.
    """
    step, first = entries["step"], records["first_entry"]
    if not (tau_s > alone_s).any():
        return
    most_s, less_s = alone_s[step], (alone_s - tau_s)[step]
    ends = np.minimum(1.0, most_s / entries["end_s"])
    entries["presence_s"] *= ends
    entries["end_s"] *= ends
    entries["drain_s"] = np.minimum(entries["drain_s"], most_s)
    limit_s = entries["limit_s"] + np.minimum(0.0, less_s)
    entries["limit_s"] = np.clip(limit_s, 0.0, entries["end_s"])
    for name in ("drain_s", "presence_s"):
        records[name] = np.add.reduceat(entries[name], first)
    records["slack"] = np.minimum.reduceat(entries["limit_s"] / entries["drain_s"], first)


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
    least = np.where(alone > 0.0, np.minimum(alone, 1.0 - alone), np.inf)
    begin = np.flatnonzero(np.diff(traffic.step, prepend=-1))
    return Detours(topology, ways, router, alone, begin, longest_s / least, remade)
