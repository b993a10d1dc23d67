"""Rates that papers state: `assumed` speed-ups, and `hop-cost-ratio`; no network is simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from coupling.errors import ExperimentError
from coupling.rates.base import RateSource, RunInput, SimulationRates
from fabricsim.checking import build
from netsim.baselines.assumed import Assumption
from netsim.baselines.hop_cost import modified_runtime
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.base import Allocator, check_choice
from scheduler.allocators.lc import LeastConstrainedShared
from scheduler.allocators.leaves import HOP_BYTES, HOPS, placement_cost
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.rates import FULL_RATE, JobRate
from scheduler.sharing import refuse_many_sizes

_ASSUMED, _HOP_COST_RATIO = "assumed", "hop-cost-ratio"
REFERENCE = "slurm-best-fit"


def assumption_of(options: Mapping[str, Any]) -> Assumption:
    """Read the options of the model. `options`: of ``[network] model_options``."""
    return build("contention model", _ASSUMED, {_ASSUMED: Assumption}, options, ExperimentError)


def assumed_interference(
    assumption: Assumption, jobs: Sequence[Job], seed: int
) -> dict[int, float]:
    """Return run time not isolated / isolated by job id, at least 1."""
    ids = np.array([job.id for job in jobs], dtype=np.int64)
    nodes = np.array([job.n_nodes for job in jobs], dtype=np.int64)
    loss = assumption.interference(ids, nodes, seed)
    return dict(zip(ids.tolist(), loss.tolist(), strict=True))


class AssumedRateModel:
    """Rates known in advance: full under isolation, else as `assumption` says."""

    # LC+S counts as isolating: it keeps links below the load at which the paper expects
    # interference (HPDC 2021, section 5.4.2).

    def __init__(
        self, jobs: Sequence[Job], assumption: Assumption, seed: int, allocator: Allocator
    ) -> None:
        isolated = allocator.isolating or isinstance(allocator, LeastConstrainedShared)
        self._rates: dict[int, JobRate] = {}
        if not isolated:
            loss = assumed_interference(assumption, jobs, seed)
            self._rates = {job: JobRate(factor) for job, factor in loss.items() if factor > 1.0}

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, JobRate]:
        """Return the rates of the jobs that start."""
        del ended, now_s
        return {one.job.id: self._rates.get(one.job.id, FULL_RATE) for one in started}

    def runtime_s(self, job: Job) -> float:
        """Return the run time: the papers' schedulers know it under their allocator."""
        return job.runtime_s * self._rates.get(job.id, FULL_RATE).network_slowdown


class AssumedRates:
    """Slowdowns as a paper's scenario states them, without a network: the model `assumed`."""

    emergent: ClassVar[bool] = False
    placement_costs: ClassVar[bool] = False
    qualifier: ClassVar[str] = "assumed, not simulated"

    def __init__(self, scene: RunInput) -> None:
        for job in scene.jobs:
            refuse_many_sizes(job, "model 'assumed'")
        self._scene = scene
        self._assumption = assumption_of(scene.options)

    def begin(self, allocator: Allocator) -> SimulationRates:
        """Begin a simulation."""
        scene = self._scene
        job_rate = AssumedRateModel(scene.jobs, self._assumption, scene.seed, allocator)
        return SimulationRates(job_rate, runtime_s=job_rate.runtime_s)

    @classmethod
    def baseline_slowdowns(
        cls, jobs: Sequence[Job], options: Mapping[str, Any], seed: int
    ) -> Mapping[int, float] | None:
        """Return what jobs lose that are not isolated."""
        return assumed_interference(assumption_of(options), jobs, seed)

    @classmethod
    def described(
        cls, model: str, routings: Sequence[str], fairness: str, options: Mapping[str, Any]
    ) -> str:
        """Say what the model is."""
        del routings, fairness
        given = ", ".join(f"{key} {value}" for key, value in options.items()) or "default options"
        return (
            f"Contention model {model} ({given}): no network is simulated; jobs that are not "
            "isolated are said to run longer by the amounts of the papers' scenarios."
        )


@dataclass(frozen=True, slots=True)
class CostRatio:
    """
    How a placement is priced.

    Mishra20, equations (2) to (7): the communication of a job takes as long as its placement
    costs over what Slurm's best fit would cost in the same state of the machine.
    """

    # hops, hop-bytes: effective hops of the worst pair of each step, or these times the bytes of
    # the message
    cost: str = HOPS

    def __post_init__(self) -> None:
        check_choice("cost", self.cost, (HOPS, HOP_BYTES))

    def factor(self, allocation: Allocation, cluster: Cluster) -> float:
        """Return run time / that on the placement of Slurm's best fit: Mishra20, equation (7)."""
        job = allocation.job
        default = make_allocator(REFERENCE, {}, 0).allocate(job, cluster)
        if job.communication is None or default is None:
            return 1.0
        own, reference = (
            placement_cost(
                job.communication.pattern, each, cluster, hop_bytes=self.cost == HOP_BYTES
            )
            for each in (allocation, default)
        )
        return modified_runtime(1.0, job.communication.fraction, own, reference)


def cost_ratio_of(options: Mapping[str, Any]) -> CostRatio:
    """Read the options of the model. `options`: of ``[network] model_options``."""
    return build(
        "contention model", _HOP_COST_RATIO, {_HOP_COST_RATIO: CostRatio}, options, ExperimentError
    )


def fat_tree_of(topology: Topology) -> FatTree:
    """Return a fabric as a fat-tree, which alone has the leaves that are priced."""
    if not isinstance(topology, FatTree):
        raise ExperimentError(
            f"model {_HOP_COST_RATIO!r} needs a fat-tree, got {topology.summary}."
        )
    return topology


class HopCostRateModel:
    """A rate model that sets the rate of a job once, when it starts."""

    def __init__(self, topology: FatTree, ratio: CostRatio) -> None:
        self._cluster, self._ratio = Cluster(topology), ratio  # as the scheduler's own cluster is

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, JobRate]:
        """Return the rate of the jobs that start; it stays."""
        del now_s
        for allocation in ended:
            self._cluster.release(allocation.job.id)
        job_rates = {}
        for allocation in started:
            factor = self._ratio.factor(allocation, self._cluster)
            job_rates[allocation.job.id] = FULL_RATE if factor == 1.0 else JobRate(1.0, factor)
            self._cluster.place(allocation)
        return job_rates


class HopCostRates(RateSource):
    """Run times as a placement is priced, without a network: the model `hop-cost-ratio`."""

    emergent: ClassVar[bool] = False
    placement_costs: ClassVar[bool] = True
    qualifier: ClassVar[str] = "priced, not simulated"

    def __init__(self, scene: RunInput) -> None:
        self._tree = fat_tree_of(scene.topology)
        self._ratio = cost_ratio_of(scene.options)

    def begin(self, allocator: Allocator) -> SimulationRates:
        """Begin a simulation."""
        del allocator
        return SimulationRates(HopCostRateModel(self._tree, self._ratio))

    @classmethod
    def described(
        cls, model: str, routings: Sequence[str], fairness: str, options: Mapping[str, Any]
    ) -> str:
        """Say what the model is."""
        del routings, fairness
        return (
            f"Contention model {model} (cost {cost_ratio_of(options).cost}): no network is "
            "simulated; communication is said to take as long as the placement costs over that "
            f"of {REFERENCE} in the same state."
        )
