"""Estimate: what jobs of a snapshot do to each other, and what other placements would do."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from typing import Any

from coupling.errors import CouplingError, SnapshotError
from coupling.inputs.snapshot import Candidate, JobId, PlacedJob, Snapshot, require_snapshot
from coupling.site.attribution import Shares, lost_time_shares
from coupling.site.predictions import (
    Placed,
    Predict,
    Prediction,
    link_use,
    predictor,
    setting,
    worst_links,
)
from coupling.site.step_parts import ClassBytes, StepPart, class_bytes, step_parts
from coupling.stopping import few_collections
from fabricsim.checking import flag
from fabricsim.checking.documents import NOT_JSON, json_fields, json_value
from netsim.common.arrays import Tabled
from netsim.common.errors import NetsimError
from netsim.flows.traffic import Overlap, TrafficTimes, bytes_per_link
from netsim.packetsim.running import LinkUse
from netsim.registries.accuracy import Setting, known_accuracy
from netsim.registries.routings import limits_of
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.multipath import link_names
from netsim.topology.switches import assumptions_of
from patterns.errors import PatternError
from scheduler.traffic import PlacedTraffic, TrafficOf

_OF_LOAD = ("link", "job", "bytes", "utilization")
_LONGEST_S = 1e15  # beyond, numbers lose their meaning


@dataclass(frozen=True, slots=True)
class LinkQueue:
    """Queues of packets before one link."""

    link: str  # Directed link
    utilization: float  # Share of the time in which the link sent
    waited_s: float  # Mean seconds that a packet waited for a place on it and for its turn


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """What one job puts on one link."""

    link: str  # Directed link
    job: JobId  # The job
    nbytes: float  # Bytes per iteration
    # Share of the link's capacity that the job takes on average, among the others; None where the
    # length of an iteration is unknown
    utilization: float | None


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """What happens to one job; times are seconds per iteration."""

    id: JobId  # The job
    # alone_s, together_s: alone on its placement, and among the others; None where the length of
    # an iteration is unknown: a job that spends no time on the network, given by its communication
    # fraction
    alone_s: float | None
    together_s: float | None
    network_slowdown: float  # Together / ideal: placement factor times interference
    interference: float  # Together / alone; exactly 1 where no link is shared
    placement_factor: float  # Alone / ideal, at least 1
    worst_link: str | None  # Link that holds the job up most
    # When the job ends, under the models `flow-level` and `packets` with given iterations
    end_s: float | None
    # Share of each other job in together - alone, largest first; empty where nothing is lost.
    # Shares add up to 1.
    blame: tuple[tuple[JobId, float], ...] = field(default=(), metadata=NOT_JSON)
    # 99th percentile of the iterations among the others, under the model `packets`
    p99_s: float | None = None
    # On GPU clusters: parts of an iteration, whose exposed times add up to `together_s`, and what
    # it sends by class of link
    parts: tuple[StepPart, ...] = field(default=(), metadata=NOT_JSON)
    bytes_by_class: tuple[ClassBytes, ...] = field(default=(), metadata=NOT_JSON)
    # Collectives that take longer alone than the computation beside them; None where all are hidden
    overlap: Overlap | None = field(default=None, metadata=NOT_JSON)

    def parts_to_dict(self) -> dict[str, Any]:
        """Return the parts of an iteration; empty off GPU clusters."""
        if not self.parts:
            return {}
        exposed_s: dict[str, float] = {}
        for part in self.parts:
            if part.dimension:
                exposed_s[part.dimension] = exposed_s.get(part.dimension, 0.0) + part.exposed_s
        return {
            "parts": json_value(self.parts),
            "exposed_s_by_dimension": exposed_s,
            "bytes_by_class": json_value(self.bytes_by_class),
            "overlap": self.overlap
            and json_fields(self.overlap) | {"exposed_s": self.overlap.exposed_s},
        }


@dataclass(frozen=True, slots=True)
class CandidateEstimate:
    """What another placement of one job would do."""

    candidate: int  # Place in the snapshot's list of candidates
    job: JobEstimate = field(metadata=NOT_JSON)  # What would happen to the job
    # Mean slowdown of the other jobs, each weighted by its nodes; 1 without others
    others_network_slowdown: float
    # 1 for the best placement given for this job: least time together, of equals the one that
    # slows the others least
    rank: int


@dataclass(frozen=True, slots=True)
class Estimate(Tabled):
    """
    What jobs do to each other.

    Parameters
    ----------
    jobs : tuple of JobEstimate
        In the order of the snapshot.
    links : tuple of LinkLoad
        By link and job, of jobs that send.
    candidates : tuple of CandidateEstimate
        In the order of the snapshot.
    setting : Setting
        What the network was, by which the known error of the model is looked up.
    snapshot : Snapshot
        What was estimated.
    queues : tuple of LinkQueue
        By link, of all that carried packets: model `packets`.
    assumed : tuple of str
        What was assumed of the fabric, as the snapshot does not say it.
    """

    jobs: tuple[JobEstimate, ...]
    links: tuple[LinkLoad, ...]
    candidates: tuple[CandidateEstimate, ...]
    setting: Setting
    snapshot: Snapshot = field(repr=False, compare=False)
    queues: tuple[LinkQueue, ...] = ()
    assumed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Estimate: {len(self.jobs)} jobs, {len(self.candidates)} candidates>"

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim estimate --json` prints."""
        return ({"queues": json_value(self.queues)} if self.queues else {}) | {
            "jobs": [
                json_fields(job)
                | {"blame": [{"job": k, "share": share} for k, share in job.blame]}
                | job.parts_to_dict()
                for job in self.jobs
            ],
            "links": [dict(zip(_OF_LOAD, astuple(load), strict=True)) for load in self.links],
            "candidates": [
                {key: value for key, value in json_fields(entry.job).items() if key != "id"}
                | json_fields(entry)
                | {"job": entry.job.id}
                for entry in self.candidates
            ],
            "ranking": [{"job": job, "candidates": order} for job, order in self.ranking.items()],
            "assumed": list(self.assumed),
            "network": self.network,
        }

    @property
    def network(self) -> dict[str, Any]:
        """What the network was, and how far off the model is known to be on it."""
        return known_accuracy(self.setting, self.busiest)

    @property
    def busiest(self) -> tuple[str, float]:
        """The busiest link, and the share of its capacity that the jobs take."""
        busy = dict[str, float]()
        for load in self.links:
            busy[load.link] = busy.get(load.link, 0.0) + (load.utilization or 0.0)
        return max(busy.items(), key=lambda own: own[1], default=("", 0.0))

    @property
    def ranking(self) -> dict[JobId, list[int]]:
        """Return the candidates of every job that has some, best first."""
        order = dict[JobId, list[int]]()
        for entry in sorted(self.candidates, key=lambda entry: entry.rank):
            order.setdefault(entry.job.id, []).append(entry.candidate)
        return order


def estimate(snapshot: Snapshot | Mapping[str, Any], *, blame: bool | None = None) -> Estimate:
    """Estimate how much the jobs of a snapshot slow each other down; see `fabricsim.estimate`."""
    with few_collections():
        snapshot = require_snapshot(snapshot)
        if blame is None:
            blame = snapshot.model != "packets"
        flag("blame", blame, error=SnapshotError)
        return _Estimator(snapshot).estimate(blame=blame)


class _Estimator:
    """Estimates the jobs of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        silent = [job.id for job in snapshot.jobs if job.flows is None]
        if silent:
            raise SnapshotError(
                f"{snapshot.source}: job {silent[0]} pattern: expected a pattern or steps, "
                "both are missing."
            )
        self._snapshot = snapshot
        self._jobs = {job.number: job for job in snapshot.jobs}
        self._ids = {job.number: job.id for job in snapshot.jobs}
        self._traffic_of = TrafficOf(snapshot.topology, snapshot.routing)
        self._times_of = TrafficTimes(snapshot.topology)
        self._name = link_names(snapshot.topology)

    def estimate(self, *, blame: bool) -> Estimate:
        """Estimate jobs, links and candidates."""
        snapshot = self._snapshot
        try:
            predict = predictor(snapshot)
            placed = self._placed_traffic(snapshot.jobs)
            together = predict(placed)
            queues = queues_of(snapshot.topology, link_use(predict))
            shares = lost_time_shares(snapshot, placed, predict, together) if blame else {}
            worst = worst_links(snapshot, placed, together)
            jobs = tuple(
                self._job_estimate(job, placed, together, worst, shares) for job in snapshot.jobs
            )
            candidates = self._rank_candidates(placed, predict)
        except CouplingError:
            raise
        except NetsimError as error:
            raise SnapshotError(f"{snapshot.source}: {error}") from None
        return Estimate(
            jobs,
            within_links(self._link_loads(placed, jobs), queues),
            candidates,
            setting(snapshot, placed),
            snapshot,
            queues,
            (*assumptions_of(snapshot.topology), *limits_of(snapshot.routing)),
        )

    def _placed_traffic(self, jobs: Sequence[PlacedJob]) -> dict[int, PlacedTraffic]:
        """Return the traffic of the jobs that put any on the network."""
        placed = {}
        for job in jobs:
            traffic = self._job_traffic(job)
            if traffic is not None:
                placed[job.number] = traffic
        return placed

    def _job_traffic(self, job: PlacedJob, place: str = "") -> PlacedTraffic | None:
        assert job.flows is not None  # noqa: S101 (checked at the door)
        try:
            return self._traffic_of.of_flows(
                job.flows, job.partition, fraction=job.fraction, compute_s=job.compute_s
            )
        except (NetsimError, PatternError) as error:
            raise SnapshotError(f"{self._snapshot.source}: {place}job {job.id}: {error}") from None

    def _job_estimate(
        self,
        job: PlacedJob,
        placed: Placed,
        together: Mapping[int, Prediction],
        worst: Mapping[int, int],
        shares: Shares,
    ) -> JobEstimate:
        """Put together what is known of one job."""
        if job.number not in placed:
            return self._silent_estimate(job)
        own, ideal_s = together[job.number], placed[job.number].ideal_s
        factor = max(1.0, own.alone_s / ideal_s)
        link = worst.get(job.number, -1)
        blamed = sorted(shares.get(job.number, {}).items(), key=lambda entry: -entry[1])
        found = JobEstimate(
            id=job.id,
            alone_s=own.alone_s,
            together_s=own.alone_s * own.interference,
            network_slowdown=factor * own.interference,
            interference=own.interference,
            placement_factor=factor,
            worst_link=self._name(link) if link >= 0 else None,
            end_s=own.end_s,
            blame=tuple((self._ids[culprit], share) for culprit, share in blamed),
            p99_s=own.p99_s,
        )
        if isinstance(self._snapshot.topology, GpuCluster):
            found = self._with_parts(found, placed[job.number])
        if not 0.0 < own.alone_s * own.interference < _LONGEST_S:
            raise SnapshotError(
                f"{self._snapshot.source}: job {job.id}: expected an iteration of at most "
                f"{_LONGEST_S:g} s, got {own.alone_s * own.interference:g} s."
            )
        return found

    def _with_parts(self, job: JobEstimate, placed: PlacedTraffic) -> JobEstimate:
        """Return the estimate of a job with the parts of an iteration on a GPU cluster."""
        cluster, times = self._snapshot.topology, self._times_of(placed.traffic)
        assert isinstance(cluster, GpuCluster)  # noqa: S101 (for the type)
        assert job.together_s is not None  # noqa: S101 (it sends)
        assert job.alone_s is not None  # noqa: S101 (it sends)
        parts = step_parts(placed, times, job.alone_s, job.together_s)
        sent = class_bytes(cluster, placed)
        return replace(job, parts=parts, bytes_by_class=sent, overlap=times.overlap)

    def _silent_estimate(self, job: PlacedJob) -> JobEstimate:
        """Return the estimate of a job that spends no time on the network."""
        assert job.flows is not None  # noqa: S101 (checked at the door)
        inside_s, alone_s, end_s = self._traffic_of.inside_s(job.flows, job.partition), None, None
        if job.compute_s is not None:
            alone_s = job.compute_s + inside_s
        elif job.fraction and inside_s:
            alone_s = inside_s / job.fraction
        timed = self._snapshot.model in ("flow-level", "packets")
        if timed and job.iterations and alone_s is not None:
            end_s = job.start_s + job.iterations * alone_s
        return JobEstimate(job.id, alone_s, alone_s, 1.0, 1.0, 1.0, None, end_s)

    def _link_loads(self, placed: Placed, jobs: Sequence[JobEstimate]) -> list[LinkLoad]:
        """Return what each job puts on each link, by link and job."""
        topology = self._snapshot.topology
        seconds = {job.id: job.together_s for job in jobs}
        rows = []
        for job in self._snapshot.jobs:
            if job.number in placed:
                links, nbytes = bytes_per_link(placed[job.number].traffic)
                rows += [(link, job.id, n) for link, n in zip(links, nbytes, strict=True)]
        rows.sort(key=lambda row: row[0])
        names = cache(self._name)
        return [
            LinkLoad(
                names(int(link)),
                job,
                float(nbytes),
                float(nbytes / topology.capacity[link] / s) if (s := seconds[job]) else None,
            )
            for link, job, nbytes in rows
        ]

    def _rank_candidates(self, placed: Placed, predict: Predict) -> tuple[CandidateEstimate, ...]:
        """Estimate every other placement, and rank those of a job."""
        found = [
            self._rate_candidate(f"candidates[{place}], ", candidate, placed, predict)
            for place, candidate in enumerate(self._snapshot.candidates)
        ]
        rank, taken = dict[int, int](), dict[JobId, int]()
        for place in sorted(range(len(found)), key=lambda place: _rank_key(*found[place])):
            job = found[place][0].id
            rank[place] = taken[job] = taken.get(job, 0) + 1
        return tuple(
            CandidateEstimate(place, job, others, rank[place])
            for place, (job, others) in enumerate(found)
        )

    def _rate_candidate(
        self, place: str, candidate: Candidate, placed: Placed, predict: Predict
    ) -> tuple[JobEstimate, float]:
        """Estimate one placement: the job, and the mean slowdown of the others."""
        job = next(job for job in self._snapshot.jobs if job.id == candidate.job)
        here = placed.get(job.number)
        moved = replace(job, partition=candidate.partition)
        if here is not None:  # the job computes as long wherever it runs
            moved = replace(moved, fraction=None, compute_s=here.traffic.compute_s - here.inside_s)
        traffic = self._job_traffic(moved, place)
        scene = {number: own for number, own in placed.items() if number != job.number}
        if traffic is not None:
            scene[job.number] = traffic
        together = predict(scene)
        worst = worst_links(self._snapshot, scene, together)
        others = [other for other in self._snapshot.jobs if other is not job]
        weights = [len(set(other.partition.nodes.tolist())) for other in others]
        slowdowns = [
            self._job_estimate(other, scene, together, worst, {}).network_slowdown
            for other in others
        ]
        total = sum(weight * s for weight, s in zip(weights, slowdowns, strict=True))
        mean = total / sum(weights) if others else 1.0
        return self._job_estimate(moved, scene, together, worst, {}), mean


def _rank_key(job: JobEstimate, others: float) -> tuple[float, float]:
    """Return the key by which placements of a job are ranked; differences in rounding tie."""
    time = job.network_slowdown if job.together_s is None else job.together_s
    return float(f"{time:.9g}"), float(f"{others:.9g}")


def queues_of(topology: Topology, use: LinkUse | None) -> tuple[LinkQueue, ...]:
    """Name the queues of a packet simulation; none where no packets were simulated."""
    if use is None:
        return ()
    rows = zip(use.links.tolist(), use.utilization.tolist(), use.waited_s.tolist(), strict=True)
    return tuple(
        LinkQueue(topology.link_name(link), busy, waited_s) for link, busy, waited_s in rows
    )


def within_links(loads: Sequence[LinkLoad], queues: Sequence[LinkQueue]) -> tuple[LinkLoad, ...]:
    """Return loads that no link exceeds."""
    # Packets give mean iterations of jobs in windows of their own, so few may add up to too much.
    if not queues:
        return tuple(loads)
    total: dict[str, float] = {}
    for load in loads:
        total[load.link] = total.get(load.link, 0.0) + (load.utilization or 0.0)
    return tuple(
        replace(load, utilization=load.utilization / max(1.0, total[load.link]))
        if load.utilization
        else load
        for load in loads
    )
