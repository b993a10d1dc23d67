"""Contention models by name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fabricsim.checking import build
from netsim.contention.base import ContentionModel
from netsim.contention.cold.fixedpoint import accurate
from netsim.contention.cold.recomputed import Recomputed
from netsim.contention.compared.alwayson import AlwaysOnMaxMin, load_ratio
from netsim.contention.compared.assumed import assumed
from netsim.contention.compared.hopcost import hop_cost
from netsim.contention.compared.null import Null
from netsim.contention.constants import ConstantsOf
from netsim.contention.events.fast import Fast
from netsim.contention.events.phased import Phased
from netsim.contention.exact.model import exact
from netsim.errors import ContentionError
from netsim.flows.maxmin import is_per_sender
from netsim.packets.model import packets
from netsim.routing.spread import demand_paths
from netsim.topology.base import Topology
from netsim.topology.demand import demand_topology


def _null(topology: Topology, *, fairness: str) -> ContentionModel:
    """Build the model `null`."""
    del topology, fairness
    return Null()


def _accurate(
    topology: Topology,
    *,
    fairness: str,
    samples: int = 8,
    seed: int = 0,
    tolerance: float = 1e-4,
) -> ContentionModel:
    """Build the model `accurate`."""
    solve = partial(accurate, samples=samples, seed=seed, tolerance=tolerance)
    solve({})  # refuses bad options before the first job
    return Recomputed(ConstantsOf(topology, fairness), solve)


def _load_ratio(topology: Topology, *, fairness: str) -> ContentionModel:
    """Build the model `load-ratio`."""
    return Recomputed(ConstantsOf(topology, fairness), load_ratio)


def _always_on_max_min(topology: Topology, *, fairness: str) -> ContentionModel:
    """Build the model `always-on-max-min`."""
    model = AlwaysOnMaxMin(topology, fairness)
    return Recomputed(model.prepare, model.predict)


CONTENTION_MODELS: dict[str, Callable[..., ContentionModel]] = {
    "null": _null,
    "fast": Fast,
    "phased": Phased,
    "accurate": _accurate,
    "exact": exact,
    "packets": packets,
    "load-ratio": _load_ratio,
    "always-on-max-min": _always_on_max_min,
    "hop-cost": hop_cost,
    "assumed": assumed,
}

_OF_PATHS = ("exact", "always-on-max-min")


def make_contention_model(
    name: str,
    topology: Topology,
    *,
    fairness: str = "per-sender",
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> ContentionModel:
    """
    Build a contention model from its name.

    Parameters
    ----------
    name : str
        A key of `CONTENTION_MODELS`.
    topology : Topology
        The fabric.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow among others.
    options : mapping of str to value, optional
        Further keywords of the model: ``tolerance`` (`fast`, `phased`, `accurate`), ``samples``
        (`accurate`), ``seed`` (`phased`, `accurate`, `exact`, `packets`, `assumed`), ``switch``,
        ``iterations`` and ``draws`` (`packets`), ``scenario`` and ``reading`` (`assumed`).
    seed : int, optional
        For models that draw, unless their options hold a seed; absent: 0.

    Returns
    -------
    ContentionModel
        The model, without jobs.

    Raises
    ------
    ContentionError
        If the name or an option is unknown, or a value is out of range or no number.
    NetsimError
        If the fairness is unknown.
    """
    demand_topology(topology, ContentionError)
    if name in _OF_PATHS:
        demand_paths(topology, f"model {name!r} needs", ContentionError)
    is_per_sender(fairness)
    return build(
        "contention model",
        name,
        CONTENTION_MODELS,
        {} if options is None else options,
        ContentionError,
        fixed={"topology": topology, "fairness": fairness},
        seed=seed,
    )
