"""Lives of single jobs: how fast each ran when, and what delayed it, found on the network again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.rates.network import NetworkRateModel
from coupling.rates.simulated import SimulatedRateModel
from coupling.results.columns import finished
from coupling.results.manifest import NOT_AGAIN
from coupling.results.result import Result, owned_links
from coupling.runs.assembly import RunInputs, assemble
from coupling.runs.retrace import refuse_parts_of_hosts
from coupling.runs.setup import Setup
from netsim.common.arrays import Floats, Ints
from netsim.flows.partition import Partition
from netsim.flows.traffic import bytes_per_link
from scheduler.allocation import job_partition
from scheduler.job import Job
from scheduler.traffic import RankFlows, rank_flows

MOST_CHANGES = 20_000
"""Starts and ends of jobs during one job's run, up to which its life is found."""
_KEPT = 4096  # jobs whose links are remembered


@dataclass(frozen=True, slots=True)
class _Placed:
    """A job where it ran."""

    job: Job
    where: Partition

    def partition(self) -> Partition:
        """Return its nodes and owned links."""
        return self.where


@dataclass(frozen=True, slots=True)
class RateInterval:
    """A time during which a job ran at one rate."""

    # begin_s, end_s: from when to when
    begin_s: float
    end_s: float
    interference: float  # Iteration time together / alone
    cable: str  # Link that held it up most; empty where none did
    # Share of each other job in what it lost, largest first; empty where no job is to blame
    culprits: Mapping[int, float]

    @property
    def interference_delay_s(self) -> float:
        """Seconds by which interference held the job up."""
        return (self.end_s - self.begin_s) * (1.0 - 1.0 / self.interference)


@dataclass(frozen=True, slots=True)
class JobHistory:
    """The run of a job."""

    placement_factor: float  # Iteration time alone / ideal
    stretches: tuple[RateInterval, ...]  # In order, from start to end

    @property
    def interference_delay_s(self) -> float:
        """Seconds by which interference made the job run longer."""
        return sum(stretch.interference_delay_s for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class Use:
    """What a job had of a link."""

    job: int  # Its id
    # begin_s, end_s: when it ran
    begin_s: float
    end_s: float
    share: float  # Part of the link's capacity that it took, as a mean over its run


class JobHistories:
    """The network of a finished run, built again."""

    def __init__(
        self,
        experiment: Experiment,
        manifest: Mapping[str, object],
        result: Result,
        inputs: RunInputs | None = None,
    ) -> None:
        if why_not := manifest.get(NOT_AGAIN):
            raise ResultError(f"the run cannot be made again: {why_not}.")
        if experiment.workload_table.get("path") == "-":
            raise ResultError("the workload came from standard input.")
        parts = assemble(experiment, inputs)
        known = manifest.get("inputs_sha256", {})
        assert isinstance(known, Mapping)  # noqa: S101 (checked when it was read)
        for path, digest in parts.hashes.items():
            if digest not in known.values():
                raise ResultError(f"{path}: expected the file of the run, got another.")
        self._setup = Setup.of(experiment, parts)
        self._network = self._empty_network()
        self.topology = self._network.topology
        refuse_parts_of_hosts(experiment, self.topology, "the run")
        table = finished(result.jobs)
        sizes = dict(zip(table["id"].tolist(), table["n_nodes"].tolist(), strict=True))
        self._jobs = {
            job.id: job.at_size(sizes.get(job.id, job.n_nodes)) if job.sizes else job
            for job in parts.workload.jobs
        }
        self._id, self._start_s, self._end_s, self._slowdown = (
            table[name].to_numpy() for name in ("id", "start_s", "end_s", "network_slowdown")
        )
        self._hosts = dict(zip(self._id.tolist(), table["nodes"].tolist(), strict=True))
        self._owned = owned_links(result.partitions)
        self._links_of = lru_cache(_KEPT)(self._job_links)

    def flows(self, job: int) -> tuple[RankFlows, int] | None:
        """Return the messages of a job and how many ranks it has; None where it sends nothing."""
        own = self._jobs[job]
        talk = own.communication
        if talk is None or own.n_nodes == 1 or not talk.fraction:
            return None
        n_ranks = job_partition(own, self.topology, np.arange(own.n_nodes)).nodes.size
        return rank_flows(talk.pattern, n_ranks), n_ranks

    def life(self, job: int) -> JobHistory:
        """Return what the model says of a job at each start and end; refuse too many."""
        if isinstance(self._network, SimulatedRateModel):
            raise ResultError(
                f"model {self._setup.experiment.model!r}: what slowed a job at a time follows "
                "from all flows of the run so far, and is not worked out again."
            )
        found = np.flatnonzero(self._id == job)
        if not found.size:
            raise ResultError(f"expected a job that ran, got {job}.")
        row = int(found[0])
        begin_s, end_s = float(self._start_s[row]), float(self._end_s[row])
        near = np.flatnonzero((self._start_s < end_s) & (self._end_s > begin_s))
        moments = np.concatenate([self._start_s[near], self._end_s[near]])
        times = np.unique(np.concatenate([[begin_s], moments[moments > begin_s]]))
        times = times[times < end_s]
        if times.size > MOST_CHANGES:
            raise ResultError(
                f"jobs started and ended at {times.size:,} times while it ran; its rate is worked "
                f"out for up to {MOST_CHANGES:,}."
            )
        return self._follow_job(job, near, [*times.tolist(), end_s])

    def _follow_job(self, job: int, near: Ints, times: Sequence[float]) -> JobHistory:
        """Follow a job from change to change."""
        network, on = self._empty_network(), list[tuple[float, int]]()
        waiting = [(float(self._start_s[row]), row) for row in near.tolist()]
        waiting.sort(reverse=True)  # the next to start at the end
        stretches, job_rate, factor = list[RateInterval](), 1.0, 1.0
        cable, culprits = "", dict[int, float]()
        for now_s, next_s in pairwise(times):
            gone = [row for end_s, row in on if end_s <= now_s]
            on = [pair for pair in on if pair[0] > now_s]
            new = []
            while waiting and waiting[-1][0] <= now_s:
                row = waiting.pop()[1]
                new.append(row)
                on.append((float(self._end_s[row]), row))
            news = network.change(
                [self._placed_job(row) for row in gone],
                [self._placed_job(row) for row in new],
                now_s,
            ).get(job)
            if news is not None:
                job_rate, factor = news.interference, news.placement_factor
            held = job_rate > 1.0
            if held:  # also at an unchanged rate: a job may have taken the place of another
                cable, culprits = self._blame_now(network, job, cable, culprits)
            stretch = RateInterval(
                now_s, next_s, job_rate, cable if held else "", culprits if held else {}
            )
            _add_stretch(stretches, stretch)
        return JobHistory(factor, tuple(stretches))

    def _blame_now(
        self, network: NetworkRateModel, job: int, cable: str, culprits: dict[int, float]
    ) -> tuple[str, dict[int, float]]:
        """Return what holds a job up from now on; a remnant keeps what held it up before."""
        model = network.model
        if model is None:
            return "", {}
        link = model.worst_link(job)
        found = model.culprits([job]).by_culprit()
        return self.topology.link_name(link) if link >= 0 else cable, found or culprits

    def users(self, link: int, begin_s: float, end_s: float, most: int) -> list[Use] | None:
        """Return the jobs with the largest shares of a link in a time; None above `most` jobs."""
        there = np.flatnonzero((self._start_s < end_s) & (self._end_s > begin_s))
        if there.size > most:
            return None
        found = []
        for row in there.tolist():
            links, rate = self._links_of(row)
            place = np.searchsorted(links, link)
            if place < links.size and links[place] == link:
                share = float(rate[place] / self.topology.capacity[link] / self._slowdown[row])
                when = float(self._start_s[row]), float(self._end_s[row])
                found.append(Use(int(self._id[row]), *when, share))
        return sorted(found, key=lambda use: -use.share)

    def _job_links(self, row: int) -> tuple[Ints, Floats]:
        """Return the links of a job, and the bytes a second that it would send there ideally."""
        placed = self._placed_job(row)
        traffic = self._network.traffic(placed.job, placed.where)
        if traffic is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        links, nbytes = bytes_per_link(traffic.traffic)
        return links, nbytes / traffic.ideal_s

    def _placed_job(self, row: int) -> _Placed:
        """Return a job where it ran."""
        job = self._jobs[int(self._id[row])]
        nodes = np.array(self.topology.names.nodes([str(self._hosts[job.id])]), dtype=np.int64)
        return _Placed(job, job_partition(job, self.topology, nodes, self._owned(job.id)))

    def _empty_network(self) -> NetworkRateModel:
        """Return an empty network."""
        network = self._setup.rates.begin(self._setup.allocator()).network
        if network is None:
            raise ResultError(f"the model {self._setup.experiment.model} simulates no network.")
        return network


def _add_stretch(stretches: list[RateInterval], new: RateInterval) -> None:
    """Add a stretch; one like the last goes on."""
    last = stretches[-1] if stretches else None
    if last is not None and (last.interference, last.cable, last.culprits) == (
        new.interference,
        new.cable,
        new.culprits,
    ):
        stretches[-1] = RateInterval(
            last.begin_s, new.end_s, last.interference, last.cable, last.culprits
        )
        return
    stretches.append(new)
