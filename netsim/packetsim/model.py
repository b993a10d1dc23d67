"""Model `packets`: every solve simulates the packets of the jobs that run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fabricsim.checking import choice, whole
from netsim.common.errors import ContentionError
from netsim.common.rng import sample_phases
from netsim.flows.contention import Recomputed, Solution, Traffic, refuse_hidden
from netsim.flows.isolation import shared_links
from netsim.flows.maxmin import is_per_sender
from netsim.flows.traffic import check_traffic
from netsim.flowsim.cosimulation import outside_nodes
from netsim.flowsim.snapshot import SLOWEST_DOES, JobTimes
from netsim.packetsim.simulation import (
    STEPPINGS,
    PacketTimes,
    groups_that_meet,
    reachable_links,
    require_packet_fabric,
    simulate_packets,
)
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.multipath import link_groups
from netsim.topology.switches import switch_of

_OFFSETS = 256  # parts of an iteration at which a job may start
_MOST_SAMPLES, _MOST_ITERATIONS = 1000, 10**6


class PacketModel(Recomputed[Traffic]):
    """
    Every packet: the reference, also with starts and iterations of jobs.

    `fairness` {"per-sender"}: links share as the switch makes them; any other rule is refused.
    `switch`: the table `[switch]`, or the name of a preset. `iterations`: of the slowest of the
    jobs that meet, where jobs have none of their own; more than are `dropped`, of each job from its
    first on. `samples`: simulations with other starts and random delays, whose results are
    averaged, the first with `seed`. `stepping` {"barrier", "rank"}: what the next step waits for:
    all messages of the job, or those of the rank.

    Slow: each solve simulates all packets of at least 20 iterations of every job of those groups of
    jobs that meet in which one started or ended. Meant for snapshots and short logs, as the judge
    of the other models. Interference can fall below 1; delay is not attributed.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        fairness: str = "per-sender",
        switch: Mapping[str, Any] | str | None = None,
        iterations: int = SLOWEST_DOES,
        samples: int = 1,
        seed: int = 0,
        stepping: str = "barrier",
        dropped: int = 1,
    ) -> None:
        if not is_per_sender(fairness):
            raise ContentionError(
                f"fairness: expected per-sender, got {fairness!r}: among packets the switch "
                "decides who gets what."
            )
        self.topology, self._switch = topology, switch_of(topology, switch)
        require_packet_fabric(topology)
        self._dropped = whole("dropped", dropped, 0, _MOST_ITERATIONS - 1, error=ContentionError)
        self._iterations = whole(
            "iterations", iterations, dropped + 1, _MOST_ITERATIONS, error=ContentionError
        )
        self._samples = whole("samples", samples, 1, _MOST_SAMPLES, error=ContentionError)
        self._seed = whole("seed", seed, 0, error=ContentionError)
        self._stepping = choice("stepping", stepping, STEPPINGS, error=ContentionError)
        self._solved: dict[tuple[int, ...], Solution] = {}  # of the groups of the last solve
        super().__init__(self._checked, self._solution_of)

    def times(
        self,
        traffic: Mapping[int, Traffic],
        *,
        start_s: Mapping[int, float] | None = None,
        iterations: Mapping[int, int] | None = None,
        persistent: Sequence[int] = (),
    ) -> PacketTimes:
        """
        Simulate jobs together, `persistent` ones without barriers and until the others end.

        `start_s`: when each job starts; absent: at a part of its compute time drawn from its
        identity. Result: means over the samples; what the links carried in the first.
        """
        found = []
        for sample in range(self._seed, self._seed + self._samples):
            starts = start_s
            if starts is None:
                starts = {
                    job: float(sample_phases(job, _OFFSETS, sample)[0]) * own.compute_s
                    for job, own in traffic.items()
                }
            found.append(
                simulate_packets(
                    traffic,
                    self.topology,
                    self._switch,
                    start_s=starts,
                    iterations=iterations,
                    slowest_does=self._iterations,
                    seed=sample,
                    stepping=self._stepping,
                    dropped=self._dropped,
                    persistent=persistent,
                )
            )
        if len(found) == 1:
            return found[0]
        jobs = {job: _mean_times([times.jobs[job] for times in found]) for job in traffic}
        return replace(found[0], jobs=jobs, hops=sum(times.hops for times in found))

    def _checked(self, traffic: Traffic) -> Traffic:
        """Refuse traffic that packets cannot be made of."""
        check_traffic(traffic, self.topology)
        refuse_hidden(traffic, "packets")
        return traffic

    def _solution_of(self, jobs: Mapping[int, Traffic]) -> Solution:
        """Simulate the groups of jobs that meet, but those of the last solve."""
        names = sorted(jobs)
        found = {}
        for members in groups_that_meet([jobs[name] for name in names], self.topology):
            group = tuple(names[member] for member in members)
            found[group] = self._solved.get(group) or self._of_group(
                {name: jobs[name] for name in group}
            )
        self._solved = found
        interference, worst = dict[int, float](), dict[int, int]()
        for solution in found.values():
            interference |= solution.interference
            worst |= solution.worst_link
        return Solution({job: interference[job] for job in jobs}, worst)

    def _of_group(self, traffic: Mapping[int, Traffic]) -> Solution:
        """Simulate jobs that meet; a lone one has 1 without that."""
        if len(traffic) == 1:
            return Solution(dict.fromkeys(traffic, 1.0), dict.fromkeys(traffic, -1))
        times = self.times(traffic)
        interference = {job: own.interference for job, own in times.jobs.items()}
        return Solution(interference, worst_packet_links(traffic, times, self.topology))


def worst_packet_links(
    traffic: Mapping[int, Traffic], times: PacketTimes, topology: Topology
) -> dict[int, int]:
    """
    Return the link before which packets waited longest, of those that a job shares.

    Result: directed link by job; -1 for a job that shares none.
    """
    names = list(traffic)
    links = times.links.links
    if isinstance(topology, FatTree) and topology.multipath is not None:
        links = link_groups(topology).of[links]
    waited = dict[int, float]()
    for link, seconds in zip(links.tolist(), times.links.waited_s.tolist(), strict=True):
        waited[link] = max(waited.get(link, 0.0), seconds)
    worst, longest = dict.fromkeys(names, -1), dict.fromkeys(names, -np.inf)
    parts = [outside_nodes(traffic[name]) for name in names]
    shared = shared_links([reachable_links(part, topology) for part in parts])
    for link, members in shared.items():
        for name in (names[member] for member in members):
            if waited.get(link, 0.0) > longest[name]:
                worst[name], longest[name] = link, waited.get(link, 0.0)
    return worst


def _mean_times(times: list[JobTimes]) -> JobTimes:
    """Return the means of the times of a job."""
    ends = [own.end_s for own in times if own.end_s is not None]
    tails = [own.p99_s for own in times if own.p99_s is not None]
    return JobTimes(
        float(np.mean([own.alone_s for own in times])),
        float(np.mean([own.together_s for own in times])),
        float(np.mean([own.interference for own in times])),
        float(np.mean(ends)) if ends else None,
        float(np.mean(tails)) if tails else None,
    )
