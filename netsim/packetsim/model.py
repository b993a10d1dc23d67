"""Model `packets`: every solve simulates the packets of the jobs that run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from netsim.topology.switches import Switch, switch_of

_OFFSETS = 256  # parts of an iteration at which a job may start
_MOST_SAMPLES, _MOST_ITERATIONS = 1000, 10**6


@dataclass(frozen=True, slots=True)
class PacketModel:
    """The packet simulation with its options."""

    topology: Topology  # the fabric, of full-duplex cables
    switch: Switch  # what happens to packets
    # iterations of the slowest of the jobs that meet, where jobs have none of their own
    iterations: int = SLOWEST_DOES
    samples: int = 1  # simulations with other starts and random delays, whose results are averaged
    seed: int = 0  # of the first sample
    # "barrier", "rank": what the next step waits for: all messages of the job, or those of the rank
    stepping: str = "barrier"
    dropped: int = 1  # iterations of each job, from its first on, that do not count

    @classmethod
    def made(
        cls,
        topology: Topology,
        *,
        fairness: str = "per-sender",
        switch: Mapping[str, Any] | str | None = None,
        iterations: int = SLOWEST_DOES,
        samples: int = 1,
        seed: int = 0,
        stepping: str = "barrier",
        dropped: int = 1,
    ) -> "PacketModel":
        """
        Check options.

        `fairness` {"per-sender"}: links share as the switch makes them; any other rule is refused.
        `switch`: the table `[switch]`, or the name of a preset.
        """
        if not is_per_sender(fairness):
            raise ContentionError(
                f"fairness: expected per-sender, got {fairness!r}: among packets the switch "
                "decides who gets what."
            )
        found = switch_of(topology, switch)
        require_packet_fabric(topology)
        whole("dropped", dropped, 0, _MOST_ITERATIONS - 1, error=ContentionError)
        return cls(
            topology,
            found,
            whole("iterations", iterations, dropped + 1, _MOST_ITERATIONS, error=ContentionError),
            whole("samples", samples, 1, _MOST_SAMPLES, error=ContentionError),
            whole("seed", seed, 0, error=ContentionError),
            choice("stepping", stepping, STEPPINGS, error=ContentionError),
            dropped,
        )

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
        for sample in range(self.seed, self.seed + self.samples):
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
                    self.switch,
                    start_s=starts,
                    iterations=iterations,
                    slowest_does=self.iterations,
                    seed=sample,
                    stepping=self.stepping,
                    dropped=self.dropped,
                    persistent=persistent,
                )
            )
        if len(found) == 1:
            return found[0]
        jobs = {job: _mean_times([times.jobs[job] for times in found]) for job in traffic}
        return replace(found[0], jobs=jobs, hops=sum(times.hops for times in found))


def packets(
    topology: Topology,
    *,
    fairness: str,
    switch: Mapping[str, Any] | str | None = None,
    iterations: int = SLOWEST_DOES,
    samples: int = 1,
    seed: int = 0,
    stepping: str = "barrier",
    dropped: int = 1,
) -> Recomputed[Traffic]:
    """
    Build the model `packets`.

    `fairness` {"per-sender"}: links share as the switch makes them; any other rule is refused.
    `switch`: the table `[switch]`, or the name of a preset. `iterations`: iterations of the slowest
    of the jobs that meet, more than are `dropped`.

    Slow: each solve simulates all packets of at least 20 iterations of every job of those groups
    of jobs that meet in which one started or ended. Meant for
    snapshots and short logs, as the judge of the other models. Interference can fall below 1; delay
    is not attributed.
    """
    model = PacketModel.made(
        topology,
        fairness=fairness,
        switch=switch,
        iterations=iterations,
        samples=samples,
        seed=seed,
        stepping=stepping,
        dropped=dropped,
    )

    known: dict[tuple[int, ...], Solution] = {}  # of the groups of the last solve

    def predict(jobs: Mapping[int, Traffic]) -> Solution:
        nonlocal known
        names = sorted(jobs)
        found = {}
        for members in groups_that_meet([jobs[name] for name in names], topology):
            group = tuple(names[member] for member in members)
            found[group] = known.get(group) or _solved_jobs(
                model, {name: jobs[name] for name in group}
            )
        known = found
        interference, worst = dict[int, float](), dict[int, int]()
        for solution in found.values():
            interference |= solution.interference
            worst |= solution.worst_link
        return Solution({job: interference[job] for job in jobs}, worst)

    def kept(traffic: Traffic) -> Traffic:
        check_traffic(traffic, topology)
        refuse_hidden(traffic, "packets")
        return traffic

    return Recomputed(kept, predict)


def _solved_jobs(model: PacketModel, traffic: Mapping[int, Traffic]) -> Solution:
    """Simulate jobs that meet; a lone one has 1 without that."""
    if len(traffic) == 1:
        return Solution(dict.fromkeys(traffic, 1.0), dict.fromkeys(traffic, -1))
    times = model.times(traffic)
    interference = {job: own.interference for job, own in times.jobs.items()}
    return Solution(interference, worst_packet_links(traffic, times, model.topology))


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
