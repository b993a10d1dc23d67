"""Load: what jobs put on a fabric, computed once and used again in every sample."""

from collections.abc import Mapping
from dataclasses import dataclass

from coupling.errors import SnapshotError
from coupling.site.state import DrawnTraffic, SiteJob, SiteState
from netsim.common.errors import NetsimError, RoutingError
from netsim.fluid.demand import DemandOf, JobDemand
from patterns.errors import PatternError
from scheduler.traffic import (
    PlacedTraffic,
    RankFlows,
    TrafficOf,
    computing_s,
    dominant_class,
    messages_key,
    pattern_class,
    rank_flows,
    traffic_class,
)

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class JobLoad:
    """What one job puts on the links in one sample."""

    demand: JobDemand  # Of the model `fluid`
    # ideal_s, alone_s: seconds of an iteration with communication at injection time, and alone on
    # this placement
    ideal_s: float
    alone_s: float

    @property
    def placement_factor(self) -> float:
        """Alone / ideal, at least 1, and 1 where they differ by rounding alone."""
        factor = self.alone_s / self.ideal_s
        return factor if factor > 1.0 + _ROUNDING else 1.0


class JobLoads:
    """
    Computes the loads of jobs, and keeps what samples have in common.

    Samples differ in pattern and fraction. Routes and constants depend on the pattern alone, so
    they are computed once for each job and pattern; the fraction sets the time beside them.

    `scene`: Jobs, fabric and routing.
    """

    def __init__(self, scene: SiteState) -> None:
        self._scene = scene
        self._traffic_of = TrafficOf(scene.topology, scene.routing)
        self._demand_of = DemandOf(scene.topology, scene.fairness)
        self._known: dict[tuple[int, object], JobLoad | None] = {}  # without computation
        self._of_sample: dict[tuple[int, DrawnTraffic], JobLoad] = {}

    def all_samples(self) -> tuple[list[dict[int, JobLoad]], set[int]]:
        """Return the loads of each sample by job number, and jobs whose nodes nothing connects."""
        found: list[dict[int, JobLoad]] = []
        apart: set[int] = set()
        for sample in self._scene.samples:
            here: dict[int, JobLoad] = {}
            for job in self._scene.jobs:
                sent = sample.get(job.number)
                if sent is None or job.number in apart:
                    continue
                try:
                    load = self._job_load(job, sent)
                except RoutingError:
                    apart.add(job.number)
                    continue
                except (NetsimError, PatternError) as error:
                    raise SnapshotError(f"{self._scene.source}: job {job.id}: {error}") from None
                if load is not None:
                    here[job.number] = load
            found.append(here)
        kept = [{n: load for n, load in here.items() if n not in apart} for here in found]
        return kept, apart

    @property
    def latency_bound(self) -> int:
        """Loads that were left out because latency alone takes all the time to communicate."""
        return self._traffic_of.latency_bound

    def keep(self, known: Mapping[tuple[int, object], JobLoad | None]) -> None:
        """Take over loads without computation. `known`: part of `known` of other loads."""
        self._known.update(known)

    @property
    def known(self) -> Mapping[tuple[int, object], JobLoad | None]:
        """What was computed, by job and messages, without the time beside communication."""
        return self._known

    def _job_load(self, job: SiteJob, sent: DrawnTraffic) -> JobLoad | None:
        """Return what a job puts on the links, the same object if asked again; None: nothing."""
        found = self._of_sample.get((job.number, sent))
        if found is None:
            found = self._made_load(job, sent)
            if found is not None:
                self._of_sample[job.number, sent] = found
        return found

    def _made_load(self, job: SiteJob, sent: DrawnTraffic) -> JobLoad | None:
        """Make what a job puts on the links."""
        if sent.compute_s is None and not sent.fraction:
            return None
        if sent.iteration_s is not None:  # bytes are scaled: samples share nothing
            return self._make_pattern_of(
                self._traffic_of.of_flows(
                    _rank_messages(sent, job),
                    job.partition,
                    fraction=sent.fraction,
                    iteration_s=sent.iteration_s,
                )
            )
        key = job.number, _messages_key(sent, job)
        if key not in self._known:
            flows = _rank_messages(sent, job)
            traffic = self._traffic_of.of_flows(flows, job.partition, compute_s=0.0)
            self._known[key] = self._make_pattern_of(traffic)
        base = self._known[key]
        if base is None:
            return None
        compute_s = sent.compute_s
        if compute_s is None:
            compute_s = computing_s(base.ideal_s, sent.fraction or 1.0)
        return JobLoad(
            JobDemand(
                base.demand.steps,
                base.demand.records,
                base.demand.entries,
                compute_s + base.demand.compute_s,
            ),
            compute_s + base.ideal_s,
            compute_s + base.alone_s,
        )

    def _make_pattern_of(self, placed: PlacedTraffic | None) -> JobLoad | None:
        if placed is None:
            return None
        return JobLoad(self._demand_of.of_checked(placed.traffic), placed.ideal_s, placed.alone_s)


def traffic_class_of_state(scene: SiteState) -> str:
    """Return the traffic class of most of the communication in the samples."""
    return dominant_class(
        (
            _traffic_class_of(sent, job),
            job.nodes.size * (1.0 if sent.fraction is None else sent.fraction),
        )
        for sample in scene.samples
        for job in scene.jobs
        if (sent := sample.get(job.number)) is not None
    )


def _traffic_class_of(sent: DrawnTraffic, job: SiteJob) -> str:
    """Return the traffic class of a job in one sample."""
    if isinstance(sent.messages, RankFlows):
        return traffic_class(sent.messages)
    return pattern_class(sent.messages, job.partition.nodes.size)


def _messages_key(sent: DrawnTraffic, job: SiteJob) -> object:
    """Return what is equal where a job sends the same messages."""
    if isinstance(sent.messages, RankFlows):
        return sent.messages
    return messages_key(sent.messages, job.partition.nodes.size)


def _rank_messages(sent: DrawnTraffic, job: SiteJob) -> RankFlows:
    """Return the messages between the ranks of a job."""
    if isinstance(sent.messages, RankFlows):
        return sent.messages
    return rank_flows(sent.messages, job.partition.nodes.size)
