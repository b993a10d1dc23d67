"""What a run whose flows are all simulated will cost, before it starts."""

import logging
from dataclasses import dataclass

import numpy as np

from coupling.rates.base import RunInput
from coupling.rates.simulated import shaped
from netsim.common.units import LONGEST_S, duration_text, require_within_a_day
from netsim.routing.cluster import ClusterRouting
from netsim.routing.wraparound import Wraparound
from scheduler.allocation import job_partition
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.traffic import TrafficOf, rank_flows

_LOG = logging.getLogger("fabricsim")
FLOWS_PER_S = 4e4  # flows started in a second of CPU time where jobs meet; 1024 nodes, 2026
STEPS_PER_S = 1.5e6  # steps of jobs that share no link
_TELL_S = 600.0


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
