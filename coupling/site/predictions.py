"""Predictions: what a contention model says about jobs that run together."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.snapshot import PlacedJob, Snapshot
from coupling.rates.rate_models import rate_model
from netsim.common.arrays import distinct_numbers
from netsim.common.errors import ContentionError
from netsim.flows.contention import ContentionModel
from netsim.flows.isolation import groups_that_share
from netsim.flows.limiters import limited_links, limited_traffic
from netsim.flows.traffic import bytes_per_link
from netsim.flowsim.snapshot import simulate_jobs
from netsim.packetsim.running import LinkUse
from netsim.registries.accuracy import Setting, hot_spot, setting_of
from netsim.registries.contention_models import make_contention_model
from netsim.routing.multipath import require_paths
from netsim.topology.base import Topology
from scheduler.traffic import PlacedTraffic, communicating_nodes, dominant_class, traffic_class

_ROUNDING = 1e-9  # of the flow-level simulation over many iterations


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says about one job that sends."""

    alone_s: float  # Seconds of an iteration alone
    interference: float  # Iteration time together / alone
    worst_link: int  # Directed link that holds the job up most; -1 for none
    # When the job ends, where its iterations are given and the model follows them
    end_s: float | None = None
    p99_s: float | None = None  # Of the iterations together, where the model follows each

    @property
    def held_up(self) -> bool:
        """Whether others cost the job time, beyond rounding."""
        return self.interference > 1.0 + _ROUNDING


Placed = Mapping[int, PlacedTraffic]
Predict = Callable[[Placed], dict[int, Prediction]]


def predictor(snapshot: Snapshot) -> Predict:
    """Return the model of a snapshot as a function of the running jobs."""
    endless = [job.id for job in snapshot.jobs if job.persistent]
    if endless and snapshot.model != "packets":
        raise SnapshotError(
            f"{snapshot.source}: job {endless[0]} persistent: expected model 'packets', the "
            f"only one of jobs without barriers, got {snapshot.model!r}."
        )
    if snapshot.model == "flow-level":
        try:
            require_paths(snapshot.topology, "model 'flow-level' needs", SnapshotError)
        except SnapshotError as error:
            raise SnapshotError(f"{snapshot.source}: {error}") from None
        if snapshot.model_options:
            raise SnapshotError(f"{snapshot.source}: model_options: model 'flow-level' has none.")
        return _FlowLevel(snapshot).predict
    if snapshot.model == "packets":
        return _Packets(snapshot)
    return _Solved(snapshot)


def setting(snapshot: Snapshot, placed: Placed) -> Setting:
    """Return what a snapshot is computed with, by which the known error is looked up."""
    flows = {job.number: job.flows for job in snapshot.jobs if job.flows is not None}
    per_node = [np.unique(job.partition.nodes, return_counts=True)[1] for job in snapshot.jobs]
    return setting_of(
        snapshot.topology,
        snapshot.routing,
        model=snapshot.model,
        fairness=snapshot.fairness,
        owned=[job.partition.links is not None for job in snapshot.jobs],
        ranks_per_node=[int(number) for counts in per_node for number in distinct_numbers(counts)],
        options=options_of(snapshot),
        traffic_class=dominant_class(
            (traffic_class(flows[job]), communicating_nodes(own)) for job, own in placed.items()
        ),
        hot_spot=hot_spot(snapshot.topology, (own.traffic for own in placed.values())),
    )


def link_use(predict: Predict) -> LinkUse | None:
    """Return bytes, use and waits of links in the first prediction; None without packets."""
    return predict.links if isinstance(predict, _Packets) else None


def options_of(snapshot: Snapshot) -> Mapping[str, Any]:
    """Return the options of the model, with the switch where it looks at that."""
    if snapshot.model != "packets" or snapshot.switch is None:
        return snapshot.model_options
    if "switch" in snapshot.model_options:
        raise SnapshotError(
            f"{snapshot.source}: switch: expected it here or in model_options, not both."
        )
    return {**snapshot.model_options, "switch": snapshot.switch}


def groups_that_meet(topology: Topology, placed: Placed) -> list[list[int]]:
    """Return the groups of jobs that share channels or limiters, directly or through others."""
    numbers, (channel, _) = list(placed), limited_links(topology)
    traffics = (limited_traffic(placed[job].traffic, topology) for job in numbers)
    channels = [channel[bytes_per_link(traffic)[0]] for traffic in traffics]
    groups = (members for members in groups_that_share(channels) if len(members) > 1)
    return [sorted(numbers[member] for member in members) for members in groups]


def busiest_shared_links(
    topology: Topology, placed: Placed, together: Mapping[int, Prediction]
) -> dict[int, int]:
    """Return the busiest link that each job shares, for models that name none."""
    busy = np.zeros(topology.n_links)
    users = np.zeros(topology.n_links, dtype=np.int64)
    links_of = {}
    for job, own in placed.items():
        links, nbytes = bytes_per_link(own.traffic)
        links_of[job] = links
        channel = topology.channel[links]
        together_s = together[job].alone_s * together[job].interference
        np.add.at(busy, channel, nbytes / topology.capacity[links] / together_s)
        users[distinct_numbers(channel)] += 1
    worst = {}
    for job, links in links_of.items():
        shared = links[users[topology.channel[links]] > 1]
        if shared.size:
            worst[job] = int(shared[np.argmax(busy[topology.channel[shared]])])
    return worst


def worst_links(
    snapshot: Snapshot, placed: Placed, together: Mapping[int, Prediction]
) -> dict[int, int]:
    """Return the link that delays each job most, -1 if unknown; of `flow-level` by `fluid`."""
    held = [job for job, own in together.items() if own.held_up]
    if not held:
        return {}
    found = together
    if snapshot.model == "flow-level":
        found = predictor(replace(snapshot, model="fluid", model_options={}))(placed)
    busiest = busiest_shared_links(snapshot.topology, placed, together)
    return {
        job: found[job].worst_link if found[job].worst_link >= 0 else busiest.get(job, -1)
        for job in held
    }


def without(placed: Placed, jobs: Collection[int], gone: int) -> Placed:
    """Return some of the jobs, one of them taken away."""
    return {job: placed[job] for job in jobs if job != gone}


class _Solved:
    """A contention model of the registry; some of them attribute delay."""

    def __init__(self, snapshot: Snapshot) -> None:
        _model_of(snapshot)  # refuses bad options before anything is computed
        self._snapshot = snapshot
        self._last: tuple[Placed, ContentionModel, Mapping[int, float]] | None = None

    def __call__(self, placed: Placed) -> dict[int, Prediction]:
        """Solve the jobs given."""
        model, interference = self._run_together(placed)
        ideal = not rate_model(self._snapshot.model).placement_costs
        return {
            job: Prediction(
                alone_s=placed[job].ideal_s if ideal else placed[job].alone_s,
                interference=interference[job],
                worst_link=model.worst_link(job),
            )
            for job in sorted(placed)
        }

    def blame(self, placed: Placed) -> dict[int, dict[int, float]]:
        """Return culprit to share by victim; empty where the model does not tell."""
        model, _ = self._run_together(placed)
        shares = {victim: dict(model.blame(victim)) for victim in placed}
        return {victim: own for victim, own in shares.items() if own}

    def _run_together(self, placed: Placed) -> tuple[ContentionModel, Mapping[int, float]]:
        """Let jobs run together, in the order of their numbers; interference by job number."""
        if (
            self._last is None or self._last[0] is not placed
        ):  # blame is asked for after a prediction
            model = self._running_model(placed)
            self._last = placed, model, model.solve()
        return self._last[1:]

    def _running_model(self, placed: Placed) -> ContentionModel:
        """Return a model in which jobs run."""
        model = _model_of(self._snapshot)
        for job in sorted(placed):
            model.start(job, placed[job].traffic)
        return model


def blame_of_model(predict: Predict, placed: Placed) -> dict[int, dict[int, float]]:
    """Return a model's own shares of blame, victim to culprit; empty where it has none."""
    return predict.blame(placed) if isinstance(predict, _Solved) else {}


def _model_of(snapshot: Snapshot) -> ContentionModel:
    """Make the contention model; what can be wrong is an option."""
    try:
        return make_contention_model(
            snapshot.model,
            snapshot.topology,
            fairness=snapshot.fairness,
            options=options_of(snapshot),
        )
    except ContentionError as error:
        raise SnapshotError(f"{snapshot.source}: model_options: {error}") from None


class _FlowLevel:
    """The flow-level simulation; it has no worst links."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._jobs = {job.number: job for job in snapshot.jobs}
        self._iterations = given_iterations(snapshot.jobs, snapshot.source)

    def predict(self, placed: Placed) -> dict[int, Prediction]:
        """Simulate the jobs given."""
        topology = self._snapshot.topology
        order = sorted(placed)
        channel, capacity = limited_links(topology)
        times = simulate_jobs(
            {job: limited_traffic(placed[job].traffic, topology) for job in order},
            capacity,
            channel,
            fairness=self._snapshot.fairness,
            start_s={job: self._jobs[job].start_s for job in order},
            iterations={job: self._iterations[job] for job in order} if self._iterations else None,
            buffer_bytes=topology.buffer_bytes,
            packet_bytes=topology.packet_bytes,
        )
        return {
            job: Prediction(own.alone_s, own.interference, -1, own.end_s)
            for job, own in times.items()
        }


class _Packets:
    """The packet simulation; it tells what the links carried as well."""

    def __init__(self, snapshot: Snapshot) -> None:
        from netsim.packetsim import model  # noqa: PLC0415 (other models need none of it)

        _model_of(snapshot)  # refuses bad options
        self._worst_links = model.worst_packet_links
        self._model = model.PacketModel(
            snapshot.topology, fairness=snapshot.fairness, **options_of(snapshot)
        )
        self._jobs = {job.number: job for job in snapshot.jobs}
        self._iterations = given_iterations(snapshot.jobs, snapshot.source)
        self._timed = bool(self._iterations) or any(job.start_s for job in snapshot.jobs)
        self.links: LinkUse | None = None

    def __call__(self, placed: Placed) -> dict[int, Prediction]:
        """Simulate the jobs given."""
        traffic = {job: placed[job].traffic for job in sorted(placed)}
        times = self._model.times(
            traffic,
            start_s={job: self._jobs[job].start_s for job in traffic} if self._timed else None,
            iterations={job: self._iterations.get(job, 0) for job in traffic}
            if self._iterations
            else None,
            persistent=[job for job in traffic if self._jobs[job].persistent],
        )
        if self.links is None:
            self.links = times.links
        worst = self._worst_links(traffic, times, self._model.topology)
        return {
            job: Prediction(own.alone_s, own.interference, worst[job], own.end_s, own.p99_s)
            for job, own in times.jobs.items()
        }


def given_iterations(jobs: Sequence[PlacedJob], source: str) -> dict[int, int]:
    """Return the iterations of all jobs by number; empty where no job has any."""
    jobs = [job for job in jobs if not job.persistent]
    given = {job.number: job.iterations for job in jobs if job.iterations is not None}
    if given and len(given) < len(jobs):
        missing = next(job.id for job in jobs if job.iterations is None)
        raise SnapshotError(
            f"{source}: job {missing} iterations: expected them for all jobs or for none, "
            f"{len(given)} of {len(jobs)} jobs have them."
        )
    return given
