"""Rate models by the name of the experiment's model: what a run says of jobs together."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from coupling.rates.base import RateSource, RunInput, SimulationRates
from coupling.rates.network import NetworkRateModel
from fabricsim.checking import look_up
from fabricsim.checking.registry import Registry
from netsim.common.errors import ContentionError
from netsim.flows.contention import ContentionModel
from netsim.registries.contention_models import CONTENTION_MODELS, make_contention_model
from scheduler.allocators.base import Allocator
from scheduler.rates import UncoupledRateModel


class NetworkRates(RateSource):
    """Slowdowns emerge from links that jobs share, by any contention model. `scene`: The run."""

    emergent: ClassVar[bool] = True
    placement_costs: ClassVar[bool] = True
    qualifier: ClassVar[str] = ""

    def __init__(self, scene: RunInput) -> None:
        self._scene = scene
        self._fresh = [self._model()]  # bad options are refused before the first job

    def begin(self, allocator: Allocator) -> SimulationRates:
        """Begin a simulation."""
        del allocator
        scene = self._scene
        model = self._fresh.pop() if self._fresh else self._model()
        network = NetworkRateModel(scene.topology, scene.routing, model, of_alone=scene.of_alone)
        return SimulationRates(network, network=network)

    def _model(self) -> ContentionModel | None:
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
            seed=None if scene.model == "fluid" else scene.seed,  # phases as in a snapshot
        )

    @classmethod
    def described(
        cls, model: str, routings: Sequence[str], fairness: str, options: Mapping[str, Any]
    ) -> str:
        """Say what the model is."""
        del options
        return f"Contention model {model}, {' and '.join(routings)} routing, fairness {fairness}."


_UNROUTED = SimulationRates(UncoupledRateModel())


class InfiniteNetwork(NetworkRates):
    """A network on which nothing slows a job: the model `null`. `scene`: The run."""

    placement_costs: ClassVar[bool] = False
    qualifier: ClassVar[str] = "infinite network"

    def begin(self, allocator: Allocator) -> SimulationRates:
        """Begin a simulation, which routes jobs only where it is asked what links carry."""
        return super().begin(allocator) if self._scene.links else _UNROUTED

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


RATE_MODELS: Registry[type[RateSource]] = Registry(
    {
        "assumed": "coupling.rates.baseline_rates:AssumedRates",
        "flow-level": "coupling.rates.simulated:FlowLevelRates",
        "null": "coupling.rates.rate_models:InfiniteNetwork",
        "hop-cost-ratio": "coupling.rates.baseline_rates:HopCostRates",
    }
)
"""By the name of the model; under every other contention model slowdowns are `NetworkRates`."""


def rate_model(name: str) -> type[RateSource]:
    """Return how jobs slow each other down under a model. Result: to be made for a `RunInput`."""
    return RATE_MODELS.get(name, NetworkRates)
