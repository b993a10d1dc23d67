"""The model `flow-level` of a whole run."""

from collections.abc import Mapping, Sequence
from typing import Any

from coupling.errors import ExperimentError
from coupling.rates.base import RunInput, SimulationRates
from coupling.rates.forecast import announce, forecast_of, require_affordable
from coupling.rates.rate_models import NetworkRates
from coupling.rates.simulated import SimulatedRateModel
from fabricsim.checking import build, whole
from netsim.flowsim.snapshot import SLOWEST_DOES
from scheduler.allocators.base import Allocator

_MODEL = "flow-level"
_MOST_ITERATIONS = 10**6


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
