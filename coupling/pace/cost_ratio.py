"""The model `hop-cost-ratio` of a whole run: what a placement costs over what Slurm's would."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from coupling.errors import ExperimentError
from coupling.pace.base import Pacing, Scene
from fabricsim.checking import build
from netsim.contention.compared.leaves import modified_runtime
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.base import Allocator
from scheduler.allocators.choices import check_choice
from scheduler.allocators.leaves.adaptive import HOP_BYTES, HOPS
from scheduler.allocators.leaves.leafwise import placement_cost
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.rates import FULL_PACE, Pace

_NAME = "hop-cost-ratio"
REFERENCE = "slurm-best-fit"


@dataclass(frozen=True, slots=True)
class CostRatio:
    """
    How a placement is priced.

    Parameters
    ----------
    cost : {"hops", "hop-bytes"}
        Effective hops of the worst pair of each step, or these times the bytes of the message.

    Notes
    -----
    Mishra20, equations (2) to (7): the communication of a job takes as long as its placement
    costs over what Slurm's best fit would cost in the same state of the machine.
    """

    cost: str = HOPS

    def __post_init__(self) -> None:
        """Check the option."""
        check_choice("cost", self.cost, (HOPS, HOP_BYTES))

    def factor(self, allocation: Allocation, cluster: Cluster) -> float:
        """
        Return the run time of a job over that on the placement of Slurm's best fit.

        `allocation`: free nodes of the cluster. Result: equation (7); 1 for a job that sends
        nothing.
        """
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
    """
    Read the options of the model.

    `options`: of ``[network] model_options``.
    """
    return build("contention model", _NAME, {_NAME: CostRatio}, options, ExperimentError)


def fat_tree_of(topology: Topology) -> FatTree:
    """Return a fabric as a fat-tree, which alone has the leaves that are priced."""
    if not isinstance(topology, FatTree):
        raise ExperimentError(f"model {_NAME!r} needs a fat-tree, got {topology.name}.")
    return topology


class CostPace:
    """
    A rate model that sets the pace of a job once, when it starts.

    Parameters
    ----------
    topology : FatTree
        The machine.
    ratio : CostRatio
        How placements are priced.
    """

    def __init__(self, topology: FatTree, ratio: CostRatio) -> None:
        self._cluster, self._ratio = Cluster(topology), ratio  # as the scheduler's own cluster is

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, Pace]:
        """Return the pace of the jobs that start; it stays."""
        del now_s
        for allocation in ended:
            self._cluster.release(allocation.job.id)
        paces = {}
        for allocation in started:
            factor = self._ratio.factor(allocation, self._cluster)
            paces[allocation.job.id] = FULL_PACE if factor == 1.0 else Pace(1.0, factor)
            self._cluster.place(allocation)
        return paces


class Priced:
    """
    Run times as a placement is priced, without a network: the model `hop-cost-ratio`.

    Parameters
    ----------
    scene : Scene
        The run.

    Raises
    ------
    ContentionError, ExperimentError
        If an option or its value is unknown, or the machine is no fat-tree.
    """

    emergent: ClassVar[bool] = False
    placement_costs: ClassVar[bool] = True
    beside: ClassVar[str] = "priced, not simulated"

    def __init__(self, scene: Scene) -> None:
        self._tree = fat_tree_of(scene.topology)
        self._ratio = cost_ratio_of(scene.options)

    def begin(self, allocator: Allocator) -> Pacing:
        """Begin a simulation."""
        del allocator
        return Pacing(CostPace(self._tree, self._ratio))

    @classmethod
    def baseline_slowdowns(
        cls, jobs: Sequence[Job], options: Mapping[str, Any], seed: int
    ) -> Mapping[int, float] | None:
        """Let a simulation tell."""
        del jobs, options, seed
        return None

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
