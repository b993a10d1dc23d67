"""SimulatedRateModel: the flows of running jobs are simulated, and say when jobs end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coupling.rates.network import CompletedWork, NetworkRateModel, PlacedJob
from netsim.flowsim.cosimulation import CoSimulation
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from scheduler.rates import FULL_RATE, JobRate


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
