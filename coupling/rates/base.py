"""What a rate model of a run is made for, and what it gives to each simulation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from coupling.rates.network import NetworkRateModel
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from scheduler.allocators.base import Allocator
from scheduler.job import Job
from scheduler.rates import RateModel


@dataclass(frozen=True, slots=True, eq=False)
class RunInput:
    """A run as its rate model sees it."""

    topology: Topology  # The fabric
    routing: Routing  # Finds the way of each flow
    jobs: Sequence[Job]  # All jobs that will run
    # model, fairness: contention model, and what links share evenly among
    model: str
    fairness: str
    options: Mapping[str, Any]  # Of the model
    seed: int  # Of the model's samples
    of_alone: bool = False  # Run times of the jobs are those alone on their placement
    links: bool = False  # What links carry is asked for, also where nothing slows a job


@dataclass(frozen=True, slots=True, eq=False)
class SimulationRates:
    """How jobs progress in one simulation."""

    rates: RateModel  # Says how fast jobs progress
    # How long a job will run, where the model knows it: the papers' schedulers do
    runtime_s: Callable[[Job], float] | None = None
    # The network that the rates come from, where one is simulated
    network: NetworkRateModel | None = None


class RateSource(Protocol):
    """A way in which jobs slow each other down in a run. `scene`: The run."""

    # Slowdowns follow from shared links; otherwise they are stated in advance
    emergent: ClassVar[bool]
    placement_costs: ClassVar[bool]  # A job alone takes longer where its placement is worse
    # What stands beside the name of a run among runs of other models; may be empty
    qualifier: ClassVar[str]

    def __init__(self, scene: RunInput) -> None: ...

    def begin(self, allocator: Allocator) -> SimulationRates:
        """Begin a simulation, in which the allocator places the jobs."""

    @classmethod
    def baseline_slowdowns(
        cls, jobs: Sequence[Job], options: Mapping[str, Any], seed: int
    ) -> Mapping[int, float] | None:
        """Return slowdowns under Baseline by job id; None where only a simulation finds them."""
        del jobs, options, seed
        return None

    @classmethod
    def described(
        cls, model: str, routings: Sequence[str], fairness: str, options: Mapping[str, Any]
    ) -> str:
        """Return a sentence on the model for a report."""
