"""Load: what jobs put on a fabric, computed once and used again in every sample."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan

import numpy as np

from coupling.errors import SnapshotError
from coupling.site.state import DrawnTraffic, SiteJob, SiteState
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import NetsimError, RoutingError
from netsim.fluid.demand import DemandOf, JobDemand, JobDemands
from netsim.fluid.model import Fluid
from patterns.errors import PatternError
from scheduler.traffic import (
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
_SILENT, _OPEN = -1, -2  # loads that are none, and those that are not made
_AT_ONCE = 20_000  # flows, about, whose loads are made at once: some 50 MB


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


Part = tuple[JobDemands, Sequence[float], Sequence[float]]
"""Demands of some loads, and seconds of their iterations at injection time, and alone."""


class SampleLoads(Mapping[int, JobLoad]):
    """What jobs put on the links in one sample, by job number."""

    def __init__(
        self, bases: "BaseLoads", jobs: Sequence[int], rows: Ints, compute_s: Floats
    ) -> None:
        self.bases, self.jobs, self.rows = bases, jobs, rows
        self.compute_s: Floats = compute_s + bases.demands.compute_s[rows]
        self.ideal_s: Floats = compute_s + bases.ideal_s[rows]
        self.alone_s: Floats = compute_s + bases.alone_s[rows]
        factor = self.alone_s / self.ideal_s
        self.placement_factor: Floats = np.where(factor > 1.0 + _ROUNDING, factor, 1.0)
        self._place = {job: place for place, job in enumerate(jobs)}

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[int]:
        return iter(self.jobs)

    def __getitem__(self, job: int) -> JobLoad:
        place = self._place[job]
        return JobLoad(
            self.bases.demands.of(int(self.rows[place]), float(self.compute_s[place])),
            float(self.ideal_s[place]),
            float(self.alone_s[place]),
        )

    @property
    def iterations_s(self) -> Floats:
        """Return the seconds of an iteration of each job alone, as the model adds them up."""
        return self.bases.demands.iterations_s(self.rows, self.compute_s)

    def start(self, model: Fluid) -> None:
        """Let these jobs run in a model instead of all others."""
        model.start_over(self.jobs, self.bases.demands, self.rows, self.compute_s)


class BaseLoads:
    """Loads without drawn computation, which samples have in common, in the same tables."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.demands = JobDemands.joined([demands for demands, _, _ in parts])
        self.ideal_s: Floats = np.concatenate([np.empty(0), *(ideal_s for _, ideal_s, _ in parts)])
        self.alone_s: Floats = np.concatenate([np.empty(0), *(alone_s for *_, alone_s in parts)])

    def load(self, row: int) -> JobLoad:
        """Return one of them."""
        own = self.demands.of(row, float(self.demands.compute_s[row]))
        return JobLoad(own, float(self.ideal_s[row]), float(self.alone_s[row]))

    def sample(self, drawn: "_Drawn", row_of: Ints) -> SampleLoads:
        """Return the loads of a sample by job number; `row_of`: by wanted load, -1 for none."""
        rows = row_of[np.array(drawn.wanted, dtype=np.int64)]
        jobs = np.array(drawn.jobs, dtype=np.int64)
        kept = np.flatnonzero(rows >= 0)
        kept = kept[np.argsort(jobs[kept], kind="stable")]
        rows, stated = rows[kept], np.array(drawn.compute_s, dtype=np.float64)[kept]
        fraction = np.array(drawn.fraction, dtype=np.float64)[kept]
        added_s = np.where(np.isnan(stated), computing_s(self.ideal_s[rows], fraction), stated)
        return SampleLoads(self, jobs[kept].tolist(), rows, added_s)


@dataclass(slots=True)
class _Drawn:
    """What is sent in one sample, a job after the other."""

    jobs: list[int]  # Numbers
    wanted: list[int]  # Number of the load that each has, without drawn computation
    compute_s: list[float]  # Seconds beside communication; nan: such that this is a `fraction`
    fraction: list[float]


class JobLoads:
    """
    Computes the loads of jobs, and keeps what samples have in common.

    Samples differ in pattern and fraction. Routes and constants depend on the pattern alone, so
    they are computed once for each job and pattern, for many at once where that is the same; the
    fraction sets the time beside them.

    `scene`: Jobs, fabric and routing.
    """

    def __init__(self, scene: SiteState) -> None:
        self._scene = scene
        self._traffic_of = TrafficOf(scene.topology, scene.routing)
        self._demand_of = DemandOf(scene.topology, scene.fairness)
        self._kept: Mapping[tuple[int, object], JobLoad | None] = {}
        self._wanted: dict[tuple[int, object], tuple[SiteJob, DrawnTraffic]] = {}
        self._number_of: dict[tuple[int, object], int] = {}
        self._row_of: Ints = np.empty(0, dtype=np.int64)  # by wanted load; -1: none
        self._bases = BaseLoads([])
        self._key_of: dict[tuple[int, int], object] = {}
        self._samples: tuple[list[SampleLoads], set[int]] | None = None
        self.latency_bound = 0
        """Loads that were left out because latency alone takes all the time to communicate."""

    def all_samples(self) -> tuple[list[SampleLoads], set[int]]:
        """Return the loads of each sample, and jobs whose nodes nothing connects."""
        if self._samples is None:
            drawn = [self._drawn_in(sample) for sample in self._scene.samples]
            apart = self._make_loads()
            silent = {
                number
                for number, (_, sent) in enumerate(self._wanted.values())
                if sent.iteration_s is not None and self._row_of[number] == _SILENT
            }
            self.latency_bound = sum(number in silent for own in drawn for number in own.wanted)
            self._samples = [self._bases.sample(own, self._row_of) for own in drawn], apart
        return self._samples

    def keep(self, known: Mapping[tuple[int, object], JobLoad | None]) -> None:
        """Take over loads without computation. `known`: part of `known` of other loads."""
        self._kept = known

    @property
    def known(self) -> Mapping[tuple[int, object], JobLoad | None]:
        """What was computed, by job and messages, without the time beside communication."""
        found = dict(self._kept)
        for key, row in zip(self._wanted, self._row_of.tolist(), strict=True):
            if row >= 0:
                found[key] = self._bases.load(row)
        return found

    def _drawn_in(self, sample: Mapping[int, DrawnTraffic]) -> _Drawn:
        """Return what is sent in a sample; loads that are new are wanted."""
        found, wanted = _Drawn([], [], [], []), self._wanted
        for job in self._scene.jobs:
            sent = sample.get(job.number)
            if sent is None or (sent.compute_s is None and not sent.fraction):
                continue
            key: tuple[int, object] = job.number, sent
            compute_s = 0.0  # where bytes are scaled the load has its computation
            if sent.iteration_s is None:
                key = job.number, self._messages_key(job, sent)
                compute_s = nan if sent.compute_s is None else sent.compute_s
            number = self._number_of.setdefault(key, len(wanted))
            if number == len(wanted):
                wanted[key] = job, sent
            found.jobs.append(job.number)
            found.wanted.append(number)
            found.compute_s.append(compute_s)
            found.fraction.append(sent.fraction or 1.0)
        return found

    def _messages_key(self, job: SiteJob, sent: DrawnTraffic) -> object:
        """Return what is equal where a job sends the same messages."""
        if isinstance(sent.messages, RankFlows):
            return sent.messages
        known = id(sent.messages), job.partition.nodes.size  # the samples hold it
        found = self._key_of.get(known)
        if found is None:
            try:
                found = self._key_of[known] = messages_key(sent.messages, known[1])
            except (NetsimError, PatternError) as error:
                raise self._error(job, error) from None
        return found

    def _error(self, job: SiteJob, error: Exception) -> SnapshotError:
        """Return the error of a job."""
        return SnapshotError(f"{self._scene.source}: job {job.id}: {error}")

    def _make_loads(self) -> set[int]:
        """Make all wanted loads; return the jobs whose nodes nothing connects."""
        wanted, apart, n_rows = list(self._wanted.items()), set[int](), 0
        row_of, parts = np.full(len(wanted), _OPEN), []
        for numbers, part in self._loads_together():
            rows = np.arange(n_rows, n_rows + numbers.size)
            row_of[numbers] = np.where(part[0].sizes[2] > 0, rows, _SILENT)
            n_rows += numbers.size
            parts.append(part)
        for number in np.flatnonzero(row_of == _OPEN).tolist():
            key, (job, sent) = wanted[number]
            if job.number in apart:
                continue
            try:
                load = self._kept[key] if key in self._kept else self._one_load(job, sent)
            except RoutingError:
                apart.add(job.number)
                continue
            except (NetsimError, PatternError) as error:
                raise self._error(job, error) from None
            row_of[number] = _SILENT
            if load is not None:
                row_of[number] = n_rows
                n_rows += 1
                parts.append((JobDemands.of_one(load.demand), [load.ideal_s], [load.alone_s]))
        if apart:
            row_of[[job.number in apart for _, (job, _) in wanted]] = _OPEN
        self._bases, self._row_of = BaseLoads(parts), row_of
        return apart

    def _loads_together(self) -> Iterator[tuple[Ints, Part]]:
        """Yield loads that are made many at once, without those that have no path."""
        numbers, jobs = [], []
        for number, (key, (job, sent)) in enumerate(self._wanted.items()):
            if sent.iteration_s is None and key not in self._kept:
                flows = _rank_messages(sent, job)
                if self._traffic_of.takes_together(flows, job.partition):
                    numbers.append(number)
                    jobs.append((flows, job.partition))
        end = np.cumsum([flows.step.size for flows, _ in jobs], dtype=np.int64)
        begins = np.flatnonzero(np.diff(end // _AT_ONCE, prepend=-1)).tolist()
        for begin, stop in pairwise([*begins, len(jobs)]):
            try:
                made = self._traffic_of.of_jobs(jobs[begin:stop])
            except RoutingError:
                continue
            demands = self._demand_of.of_jobs(made.traffic, made.first)
            yield np.array(numbers[begin:stop]), (demands, *made.times_s())

    def _one_load(self, job: SiteJob, sent: DrawnTraffic) -> JobLoad | None:
        """Make what a job puts on the links, without computation unless bytes are scaled."""
        flows, scaled = _rank_messages(sent, job), sent.iteration_s is not None
        placed = self._traffic_of.of_flows(
            flows,
            job.partition,
            fraction=sent.fraction if scaled else None,
            compute_s=None if scaled else 0.0,
            iteration_s=sent.iteration_s,
        )
        if placed is None:
            return None
        return JobLoad(self._demand_of.of_checked(placed.traffic), placed.ideal_s, placed.alone_s)


def traffic_class_of_state(scene: SiteState) -> str:
    """Return the traffic class of most of the communication in the samples."""
    known: dict[tuple[int, int], str] = {}  # by messages, which the samples hold, and ranks

    def class_of(sent: DrawnTraffic, job: SiteJob) -> str:
        key = id(sent.messages), job.partition.nodes.size
        if key not in known:
            if isinstance(sent.messages, RankFlows):
                known[key] = traffic_class(sent.messages)
            else:
                known[key] = pattern_class(sent.messages, key[1])
        return known[key]

    return dominant_class(
        (class_of(sent, job), job.nodes.size * (1.0 if sent.fraction is None else sent.fraction))
        for sample in scene.samples
        for job in scene.jobs
        if (sent := sample.get(job.number)) is not None
    )


def _rank_messages(sent: DrawnTraffic, job: SiteJob) -> RankFlows:
    """Return the messages between the ranks of a job."""
    if isinstance(sent.messages, RankFlows):
        return sent.messages
    return rank_flows(sent.messages, job.partition.nodes.size)
