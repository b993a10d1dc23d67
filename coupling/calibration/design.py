"""Design: what each link would carry if a group of jobs did nothing but communicate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.places import JobPlacement
from coupling.site.state import SiteState
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import NetsimError, RoutingError
from netsim.flows.partition import Partition
from netsim.flows.traffic import bytes_per_link
from netsim.routing.multipath import single_paths
from netsim.topology.rails import node_bandwidth
from patterns.base import Pattern
from patterns.errors import PatternError
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.traffic import TrafficOf, rank_flows
from scheduler.workload.communication import assign
from scheduler.workload.distributions import Distribution
from scheduler.workload.match import Match, name_of
from scheduler.workload.profile import Profile, Quantity, Rule

BY = ("name", "job", "user", "account", "partition", "rule")
"""What jobs of a group may have in common."""
SEEDS = 4
"""Random patterns are taken as the mean of so many of their kind."""
_ALWAYS = Distribution("constant", (1.0,))


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What a job puts on links under one rule, if it does nothing but communicate."""

    patterns: tuple[Pattern, ...]  # Its messages; several where the pattern is random
    link: Ints  # (L,): directed links
    rate: Floats  # (L,): bytes per second on each, at injection time
    sent: float  # Bytes per second that it sends in all


@dataclass(frozen=True, slots=True, eq=False)
class JobGroup:
    """Jobs that communicate alike."""

    label: str  # What they have in common
    jobs: tuple[int, ...]  # Their numbers
    rules: tuple[int, ...]  # Rules of the profile that may hold for them, by place


@dataclass(frozen=True, slots=True, eq=False)
class FitDesign:
    """Groups of jobs, and what they would put on the links."""

    groups: tuple[JobGroup, ...]  # By label
    # By job and rule; None where the job sends nothing over the network
    demand: Mapping[tuple[int, int], Demand | None]
    share: Mapping[int, float]  # Part of the time between the readings that each job ran
    apart: frozenset[int]  # Jobs of which the routing cannot connect two nodes
    n_links: int  # Directed links of the fabric

    def column(self, group: JobGroup, rule: int, network_slowdown: Mapping[int, float]) -> Floats:
        """Return bytes per second (E,) of a group that only communicates, slowed down as given."""
        total = np.zeros(self.n_links)
        for job in group.jobs:
            demand = self.demand.get((job, rule))
            if demand is not None:
                total[demand.link] += demand.rate * (
                    self.share[job] / network_slowdown.get(job, 1.0)
                )
        return total


def design_of(
    scene: SiteState,
    places: Sequence[JobPlacement],
    profile: Profile,
    by: str,
    share: Mapping[int, float],
) -> FitDesign:
    """Compute what groups put on links; jobs on one node or without a rule are in no group."""
    members: list[tuple[Job, tuple[int, ...]]] = []
    demand: dict[tuple[int, int], Demand | None] = {}
    apart: set[int] = set()
    made = _Maker(scene, profile)
    possible = possible_rules([own.job for own in places], profile.rules)
    for own, rules in zip(places, possible, strict=True):
        if own.nodes.size < 2 or not rules:  # noqa: PLR2004 (no partner)
            continue
        try:
            found = {(own.job.id, rule): made.demand(own, rule) for rule in rules}
        except RoutingError:
            apart.add(own.job.id)
            continue
        demand |= found
        members.append((own.job, rules))
    groups = tuple(grouped_jobs(members, profile, by))
    return FitDesign(groups, demand, share, frozenset(apart), scene.topology.n_links)


def possible_rules(jobs: Sequence[Job], rules: Sequence[Rule]) -> list[tuple[int, ...]]:
    """Return the rules that may decide for each job: up to the first that is sure to."""
    counts = np.array([job.n_nodes for job in jobs], dtype=np.int64)
    found: list[list[int]] = [[] for _ in jobs]
    sure = np.zeros(len(jobs), dtype=np.bool_)
    for number, rule in enumerate(rules):
        if rule.chance > 0:
            taken = rule.match.select(jobs, counts) & ~sure
            for at in np.flatnonzero(taken).tolist():
                found[at].append(number)
            sure |= taken & (rule.chance >= 1)
    return [tuple(own) for own in found]


def grouped_jobs(
    jobs: Sequence[tuple[Job, tuple[int, ...]]], profile: Profile, by: str
) -> list[JobGroup]:
    """Return groups of jobs that communicate alike, by label."""
    members: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for job, rules in jobs:
        members.setdefault((_label_of(job, by, profile, rules), rules), []).append(job.id)
    groups = [JobGroup(label, tuple(ids), rules) for (label, rules), ids in members.items()]
    return sorted(groups, key=lambda group: (group.label, group.rules))


def _label_of(job: Job, by: str, profile: Profile, rules: Sequence[int]) -> str:
    """Return what a job has in common with others."""
    if by == "rule":
        return " or ".join(profile.rules[rule].label or "silent" for rule in rules)
    if by == "job":
        return dict(job.extra).get("jobid", "") or str(job.id)
    return (job.name if by == "name" else name_of(job, by)) or "-"


class _Maker:
    """Computes what jobs put on links; jobs alike share patterns."""

    def __init__(self, scene: SiteState, profile: Profile) -> None:
        single_paths(scene.routing, "calibration needs", SnapshotError)
        self._source = scene.source
        self._rules = profile.rules
        self._traffic_of = TrafficOf(scene.topology, scene.routing)
        self._bandwidth = float(node_bandwidth(scene.topology).min())

    def demand(self, own: JobPlacement, rule: int) -> Demand | None:
        """Return what a job would send under a rule, doing nothing else."""
        patterns = self._candidate_patterns(own, self._rules[rule])
        parts = [
            part for pattern in patterns if (part := self._pattern_load(own, pattern)) is not None
        ]
        if not parts:
            return None
        link = np.concatenate([part.link for part in parts])
        rate = np.concatenate([part.rate for part in parts])
        each, where = np.unique(link, return_inverse=True)
        mean = np.bincount(where, weights=rate) / len(patterns)
        return Demand(tuple(patterns), each, mean, sum(part.sent for part in parts) / len(patterns))

    def _candidate_patterns(self, own: JobPlacement, rule: Rule) -> list[Pattern]:
        """Return the patterns that a job may have under a rule."""
        if rule.pattern is None:
            return []
        quantities: dict[str, Quantity] = {"comm_fraction": _ALWAYS}
        if "bytes_per_flow" in rule.quantities:
            quantities["bytes_per_flow"] = rule.quantities["bytes_per_flow"]
        sure = replace(rule, match=Match(), chance=1.0, quantities=quantities)
        found: dict[Pattern, None] = {}
        for seed in range(SEEDS):
            try:
                (given,) = assign(
                    [own.job],
                    Profile((sure,), {}, self._source),
                    seed,
                    node_bandwidth=self._bandwidth,
                    slots={own.job.id: own.slots},
                )
            except WorkloadError as error:
                raise SnapshotError(f"{self._source}: {error}") from None
            if given.communication is not None:
                found[given.communication.pattern] = None
        return list(found)

    def _pattern_load(self, own: JobPlacement, pattern: Pattern) -> Demand | None:
        """Return what one pattern puts on links."""
        partition = Partition(own.nodes[own.slots], None)
        try:
            placed = self._traffic_of.of_flows(
                rank_flows(pattern, partition.nodes.size), partition, compute_s=0.0
            )
        except RoutingError:
            raise
        except (NetsimError, PatternError) as error:
            raise SnapshotError(f"{self._source}: job {own.job.id}: {error}") from None
        if placed is None:
            return None
        link, nbytes = bytes_per_link(placed.traffic)
        sent = float(placed.traffic.nbytes.sum())
        return Demand((pattern,), link, nbytes / placed.ideal_s, sent / placed.ideal_s)
