"""Contention models by name."""

from collections.abc import Callable, Mapping
from typing import Any

from fabricsim.checking import build
from fabricsim.checking.registry import Registry
from netsim.common.errors import ContentionError
from netsim.flows.contention import ContentionModel
from netsim.flows.maxmin import is_per_sender
from netsim.routing.multipath import require_paths
from netsim.topology.base import Topology, require_topology

CONTENTION_MODELS: Registry[Callable[..., ContentionModel]] = Registry(
    {
        "fluid": "netsim.fluid.model:Fluid",
        "flow-level": "netsim.flowsim.snapshot:flow_level",
        "packets": "netsim.packetsim.model:PacketModel",
        "null": "netsim.baselines.hop_cost:Null",
        "hop-cost": "netsim.baselines.hop_cost:HopCost",
    }
)

RENAMED_MODELS: Mapping[str, str] = {
    "phased": "fluid",
    "fast": "fluid",
    "accurate": "fluid",
    "load-ratio": "fluid",
    "exact": "flow-level",
    "always-on-max-min": "flow-level",
}
"""Names of older versions, and the model that is to be asked instead."""


def refuse_renamed(name: object, place: str, error: type[ValueError]) -> None:
    """Refuse a model's name of older versions, and say what to use."""
    if isinstance(name, str) and name in RENAMED_MODELS:
        raise error(
            f"{place}: expected {RENAMED_MODELS[name]!r}, as it is called now, got {name!r}."
        )


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
        Further keywords of the model: ``tolerance`` (`fluid`), ``seed`` (`fluid`,
        `flow-level`, `packets`), ``switch``, ``iterations`` and ``samples`` (`packets`).
    seed : int, optional
        For models that sample, unless their options hold a seed; absent: 0.

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
    require_topology(topology, ContentionError)
    refuse_renamed(name, "contention model", ContentionError)
    if name == "flow-level":
        require_paths(topology, f"model {name!r} needs", ContentionError)
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
