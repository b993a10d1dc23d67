"""Rate models by the name of the experiment's model: what a run says of jobs together."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from coupling.errors import ExperimentError
from coupling.pace.assumed import AssumedPace, assumed_interference, assumption_of
from coupling.pace.base import Pacing, RunRates, Scene
from coupling.pace.cost_ratio import NAME as COST_RATIO
from coupling.pace.cost_ratio import REFERENCE, CostPace, cost_ratio_of, fat_tree_of
from coupling.pace.forecast import announce, demand_affordable, forecast_of
from coupling.pace.network import NetworkPace
from coupling.pace.simulated import SimulatedPace
from fabricsim.checking import build, look_up, whole
from netsim.contention.base import ContentionModel
from netsim.contention.exact.simulation import SLOWEST_DOES
from netsim.contention_models import CONTENTION_MODELS, make_contention_model
from netsim.errors import ContentionError
from scheduler.allocators.base import Allocator
from scheduler.job import Job

_EXACT = "exact"
_MOST_ITERATIONS = 10**6


class Emergent:
    """
    Slowdowns emerge from links that jobs share, by any contention model.

    Parameters
    ----------
    scene : Scene
        The run.

    Raises
    ------
    ContentionError, NetsimError
        If the model, an option or the fairness is unknown or wrong.
    """

    emergent: ClassVar[bool] = True
    placement_costs: ClassVar[bool] = True
    beside: ClassVar[str] = ""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._fresh = [self._model()]  # bad options are refused before the first job

    def begin(self, allocator: Allocator) -> Pacing:
        """Begin a simulation."""
        del allocator
        scene = self._scene
        model = self._fresh.pop() if self._fresh else self._model()
        network = NetworkPace(scene.topology, scene.routing, model, of_alone=scene.of_alone)
        return Pacing(network, network=network)

    def _model(self) -> ContentionModel | None:
        """Make the contention model."""
        scene = self._scene
        known: Mapping[str, Any] = ChainMap[str, Any](
            CONTENTION_MODELS, RATE_MODELS
        )  # some have no model of a network
        look_up("contention model", scene.model, known, ContentionError)
        return make_contention_model(
            scene.model,
            scene.topology,
            fairness=scene.fairness,
            options=scene.options,
            seed=scene.seed,
        )

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
        del options
        return f"Contention model {model}, {' and '.join(routings)} routing, fairness {fairness}."


class Infinite(Emergent):
    """
    A network on which nothing slows a job: the model `null`.

    Parameters
    ----------
    scene : Scene
        The run.
    """

    placement_costs: ClassVar[bool] = False
    beside: ClassVar[str] = "infinite network"

    def _model(self) -> ContentionModel | None:
        """Make no model; options, of which there are none, are refused."""
        return super()._model() if self._scene.options else None

    @classmethod
    def described(
        cls, model: str, routings: Sequence[str], fairness: str, options: Mapping[str, Any]
    ) -> str:
        """Say what the model is."""
        del routings, fairness, options
        return f"Contention model {model}: an infinite network, on which nothing slows a job."


class Simulated(Emergent):
    """
    Flows are simulated from the first start to the last end: the model `exact`.

    Parameters
    ----------
    scene : Scene
        The run.

    Raises
    ------
    ContentionError, ExperimentError, NetsimError
        If an option or the fairness is unknown or wrong.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._iterations = _simulated_iterations(scene.options)
        self._network()  # bad values are refused before the first job

    def begin(self, allocator: Allocator) -> Pacing:
        """Begin a simulation."""
        del allocator
        network = self._network()
        return Pacing(network, network=network)

    def demand_affordable(self, allocator: Allocator) -> None:
        """
        Refuse a run that would take more than a day, and announce one that takes long.

        `allocator`: one of its own, which is asked for places.
        """
        forecast = forecast_of(self._scene, allocator, self._iterations)
        demand_affordable(forecast)
        announce(forecast)

    def _network(self) -> SimulatedPace:
        """Make the network."""
        scene = self._scene
        return SimulatedPace(
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
        "contention model", _EXACT, {_EXACT: _checked_iterations}, options, ExperimentError
    )
    return made


def _checked_iterations(*, iterations: int = SLOWEST_DOES) -> int:
    """Return a number of iterations that can be simulated."""
    return whole("iterations", iterations, 1, _MOST_ITERATIONS, error=ExperimentError)


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


RATE_MODELS: dict[str, type[RunRates]] = {
    "assumed": Stated,
    _EXACT: Simulated,
    "null": Infinite,
    COST_RATIO: Priced,
}
"""By the name of the model; under every other contention model slowdowns are `Emergent`."""


def rate_model(name: str) -> type[RunRates]:
    """
    Return how jobs slow each other down under a model.

    Result: to be made for a `Scene`.
    """
    return RATE_MODELS.get(name, Emergent)
