"""The model `flow-level` of a run: all flows are simulated, and say when jobs end; its cost."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coupling.errors import ExperimentError
from coupling.rates.base import RunInput, SimulationRates
from coupling.rates.network import CompletedWork, NetworkRateModel, PlacedJob
from coupling.rates.rate_models import NetworkRates
from fabricsim.checking import build, whole
from netsim.common.units import LONGEST_S, duration_text, require_within_a_day
from netsim.flowsim.cosimulation import CoSimulation
from netsim.flowsim.snapshot import SLOWEST_DOES
from netsim.routing.base import Routing
from netsim.routing.cluster import ClusterRouting
from netsim.routing.wraparound import Wraparound
from netsim.topology.base import Topology
from scheduler.allocation import job_partition
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.rates import FULL_RATE, JobRate
from scheduler.traffic import TrafficOf, rank_flows

_MODEL = "flow-level"
_MOST_ITERATIONS = 10**6
_LOG = logging.getLogger("fabricsim")
FLOWS_PER_S = 4e4  # flows started in a second of CPU time where jobs meet; 1024 nodes, 2026
STEPS_PER_S = 1.5e6  # steps of jobs that share no link
_TELL_S = 600.0


class SimulatedRateModel(NetworkRateModel):
    """
    A rate model that simulates the flows of all running jobs, once, from the first start on.

    The rate of a job, for observers, is how long its last iteration took; it is 1 until the
    first has been made.

    `topology`: The fabric. `routing`: Finds the way of each flow. `fairness`: Weight of a flow
    among others. `iterations`: A job makes at most so many. One that has more makes so many longer
    ones, each of which computes, sends and waits for several. `of_alone`: Run times of jobs are
    those alone on their placement; otherwise those on an ideal one.
    """

    def __init__(
        self,
        topology: Topology,
        routing: Routing,
        *,
        fairness: str,
        iterations: int,
        of_alone: bool = False,
    ) -> None:
        super().__init__(topology, routing, None, of_alone=of_alone)
        self._simulation = CoSimulation(topology, fairness=fairness)
        self._iterations = iterations
        self._began_s: dict[int, float] = {}

    def change(
        self, ended: Sequence[PlacedJob], started: Sequence[PlacedJob], now_s: float
    ) -> Mapping[int, JobRate]:
        """Take the changes of one instant and return the rates that changed."""
        if now_s > self._simulation.now_s:
            self._simulation.advance(now_s)
        self.completed_work = {
            allocation.job.id: self._completed_work(allocation.job.id, now_s)
            for allocation in ended
            if allocation.job.id in self._simulation
        }
        job_rates = {
            job: JobRate(ratio, self._placement_factor[job])
            for job, ratio in self._simulation.news().items()
        }
        self.entered = {}
        for allocation in started:
            job_rates[allocation.job.id] = self._begin_job(allocation, now_s)
        return job_rates

    def moves(self, job: int) -> bool:
        """Say whether a job sends anything."""
        return job in self._simulation

    def advance(self, until_s: float) -> float:
        """Go on to the first instant at which work is done, if it comes."""
        return self._simulation.advance(until_s)

    def done(self) -> Sequence[int]:
        """Return the jobs whose work is done."""
        return self._simulation.over

    def interference_delay_s(self, job: int) -> float:
        """Return by how much other jobs have made a job run longer until now."""
        return self._simulation.interference_delay_s(job)

    def _completed_work(self, job: int, now_s: float) -> CompletedWork:
        """Take a job off the network and return what became of it."""
        interference_delay_s = self._simulation.interference_delay_s(job)
        self._simulation.end(job)
        alone_s = now_s - self._began_s.pop(job) - interference_delay_s
        return CompletedWork(alone_s / self._placement_factor.pop(job), interference_delay_s)

    def _begin_job(self, allocation: PlacedJob, now_s: float) -> JobRate:
        """Put a job on the network and return its rate alone."""
        job, partition = allocation.job, allocation.partition()
        placed = self.traffic(job, partition) if job.runtime_s > 0.0 else None
        solo = None if placed is None else self._simulation.solo_run(placed.traffic)
        if placed is None or solo is None:
            return FULL_RATE
        self._note_owned(partition, placed)
        ideal_s = solo.alone_s if self._of_alone else placed.ideal_s
        self.entered[job.id] = replace(placed, ideal_s=ideal_s)
        self._note_traffic_class(job, partition, placed)
        count, scale = shaped(job.runtime_s, ideal_s, self._iterations)
        self._simulation.start(job.id, solo, count, scale)
        factor = max(1.0, solo.alone_s / ideal_s)
        self._placement_factor[job.id], self._began_s[job.id] = factor, now_s
        return JobRate(1.0, factor)


def shaped(runtime_s: float, ideal_s: float, most: int) -> tuple[int, float]:
    """Return how many iterations a job makes, and how many of its own each of them is."""
    count = max(1, min(most, round(runtime_s / ideal_s)))
    return count, runtime_s / (count * ideal_s)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Cost of a run."""

    starts: float  # Starts of flows, or of whole steps where jobs are kept apart
    apart: bool  # Jobs are kept apart

    @property
    def cpu_s(self) -> float:
        """CPU seconds if all jobs meet others all the time, or none does."""
        return self.starts / (STEPS_PER_S if self.apart else FLOWS_PER_S)

    def __str__(self) -> str:
        what = "steps" if self.apart else "flows"
        return f"{self.starts:.1e} starts of {what}, up to {duration_text(self.cpu_s)} of CPU time"


def require_affordable(forecast: Forecast) -> None:
    """Refuse a run that would take more than a day."""
    require_within_a_day(
        f"the flow-level simulation would need {forecast}",
        forecast.cpu_s,
        "ask for fewer iterations (options.iterations), a part of the log or another model",
    )


def announce(forecast: Forecast) -> None:
    """Say what will take long."""
    if forecast.cpu_s > _TELL_S:
        _LOG.warning("flow-level simulation: %s", forecast)


def forecast_of(scene: RunInput, allocator: Allocator, iterations: int) -> Forecast:
    """Forecast the cost of a run with at most so many iterations a job, or fewer if too many."""
    routing = scene.routing.inner if isinstance(scene.routing, ClusterRouting) else scene.routing
    apart = getattr(allocator, "isolating", False) and isinstance(routing, Wraparound)
    most = Forecast(
        sum(iterations * _each_step(job, scene, apart=apart) for job in scene.jobs), apart
    )
    if most.cpu_s <= LONGEST_S:
        return most
    ideal_s = _Ideal(scene, allocator)
    starts = 0.0
    for job in scene.jobs:
        if each := _each_step(job, scene, apart=apart):
            starts += each * shaped(job.runtime_s, ideal_s(job), iterations)[0]
    return Forecast(starts, apart)


def _each_step(job: Job, scene: RunInput, *, apart: bool) -> float:
    """Return the flows of an iteration, or its steps."""
    talk = job.communication
    if talk is None or talk.fraction == 0.0 or job.runtime_s == 0.0 or job.n_nodes == 1:
        return 0.0
    ranks = job_partition(job, scene.topology, np.arange(job.n_nodes)).nodes
    flows = rank_flows(talk.pattern, ranks.size)
    return float(flows.n_rounds if apart else flows.flow_rounds.sum())


class _Ideal:
    """Tells how long an iteration of a job is at best, from where it would be placed first."""

    def __init__(self, scene: RunInput, allocator: Allocator) -> None:
        self._allocator, self._cluster = allocator, Cluster(scene.topology)
        self._traffic_of = TrafficOf(scene.topology, scene.routing)
        self._known: dict[object, float] = {}

    def __call__(self, job: Job) -> float:
        """Return seconds; infinite for what sends nothing, which makes one iteration."""
        talk = job.communication
        if talk is None or talk.iteration_s is not None:
            return float("inf") if talk is None else talk.iteration_s or float("inf")
        key = talk.pattern, talk.fraction, job.n_nodes, job.gpus
        if key not in self._known:
            place = self._allocator.allocate(job, self._cluster)
            placed = None if place is None else self._traffic_of(talk, place.partition())
            self._known[key] = float("inf") if placed is None else placed.ideal_s
        return self._known[key]


class FlowLevelRates(NetworkRates):
    """Flows are simulated from the first start to the last end: the model `flow-level`."""

    def __init__(self, scene: RunInput) -> None:
        self._scene = scene
        self._iterations = _simulated_iterations(scene.options)
        self._network()  # bad values are refused before the first job

    def begin(self, allocator: Allocator) -> SimulationRates:
        """Begin a simulation."""
        del allocator
        network = self._network()
        return SimulationRates(network, network=network)

    def require_affordable(self, allocator: Allocator) -> None:
        """Refuse a run that would take more than a day, and announce one that takes long."""
        forecast = forecast_of(self._scene, allocator, self._iterations)
        require_affordable(forecast)
        announce(forecast)

    def _network(self) -> SimulatedRateModel:
        scene = self._scene
        return SimulatedRateModel(
            scene.topology,
            scene.routing,
            fairness=scene.fairness,
            iterations=self._iterations,
            of_alone=scene.of_alone,
        )

    @classmethod
    def described(
        cls, model: str, routings: Sequence[str], fairness: str, options: Mapping[str, Any]
    ) -> str:
        """Say what the model is."""
        what = super().described(model, routings, fairness, options)
        most = _simulated_iterations(options)
        return f"{what[:-1]}: every flow of at most {most} iterations of a job is simulated."


def _simulated_iterations(options: Mapping[str, Any]) -> int:
    """Return how many iterations a job makes at most."""
    made: int = build(
        "contention model", _MODEL, {_MODEL: _checked_iterations}, options, ExperimentError
    )
    return made


def _checked_iterations(*, iterations: int = SLOWEST_DOES) -> int:
    """Return a number of iterations that can be simulated."""
    return whole("iterations", iterations, 1, _MOST_ITERATIONS, error=ExperimentError)
