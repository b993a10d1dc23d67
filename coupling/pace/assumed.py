"""The model `assumed` of a whole run: who is isolated is a matter of the allocator."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from coupling.errors import ExperimentError
from coupling.pace.base import Pacing, Scene
from fabricsim.checking import build
from netsim.contention.compared.assumption import Assumption
from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator
from scheduler.allocators.isolating.lc import LeastConstrainedShared
from scheduler.job import Job
from scheduler.rates import FULL_PACE, Pace

_NAME = "assumed"


def assumption_of(options: Mapping[str, Any]) -> Assumption:
    """
    Read the options of the model.

    `options`: of ``[network] model_options``.
    """
    return build("contention model", _NAME, {_NAME: Assumption}, options, ExperimentError)


def assumed_interference(
    assumption: Assumption, jobs: Sequence[Job], seed: int
) -> dict[int, float]:
    """
    Return how much longer jobs run when they are not isolated.

    Result: run time not isolated / isolated by job id, at least 1.
    """
    ids = np.array([job.id for job in jobs], dtype=np.int64)
    nodes = np.array([job.n_nodes for job in jobs], dtype=np.int64)
    loss = assumption.interference(ids, nodes, seed)
    return dict(zip(ids.tolist(), loss.tolist(), strict=True))


class AssumedPace:
    """
    A rate model that knows every job's pace in advance.

    Parameters
    ----------
    jobs : sequence of Job
        All jobs that will run; their run times are those under isolation.
    assumption : Assumption
        What jobs gain under isolation.
    seed : int
        Of the draws.
    allocator : Allocator
        Under one that isolates jobs all run at full pace; under others they lose what the
        scenario says. LC+S counts as isolating: it keeps links below the load at which the
        paper expects interference (HPDC 2021, section 5.4.2).
    """

    def __init__(
        self, jobs: Sequence[Job], assumption: Assumption, seed: int, allocator: Allocator
    ) -> None:
        isolated = allocator.isolating or isinstance(allocator, LeastConstrainedShared)
        self._paces: dict[int, Pace] = {}
        if not isolated:
            loss = assumed_interference(assumption, jobs, seed)
            self._paces = {job: Pace(factor) for job, factor in loss.items() if factor > 1.0}

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, Pace]:
        """Return the paces of the jobs that start."""
        del ended, now_s
        return {one.job.id: self._paces.get(one.job.id, FULL_PACE) for one in started}

    def runtime_s(self, job: Job) -> float:
        """
        Return how long a job will run.

        Result: in seconds: the papers' schedulers know the run time under their allocator.
        """
        return job.runtime_s * self._paces.get(job.id, FULL_PACE).slowdown


class Stated:
    """
    Slowdowns as a paper's scenario states them, without a network: the model `assumed`.

    Parameters
    ----------
    scene : Scene
        The run.

    Raises
    ------
    ContentionError, ExperimentError
        If an option or its value is unknown.
    """

    emergent: ClassVar[bool] = False
    placement_costs: ClassVar[bool] = False
    beside: ClassVar[str] = "assumed, not simulated"

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._assumption = assumption_of(scene.options)

    def begin(self, allocator: Allocator) -> Pacing:
        """Begin a simulation."""
        scene = self._scene
        pace = AssumedPace(scene.jobs, self._assumption, scene.seed, allocator)
        return Pacing(pace, runtime_s=pace.runtime_s)

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
