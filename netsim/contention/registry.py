"""Contention models by name."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

from netsim.contention.alwayson import AlwaysOnMaxMin, load_ratio
from netsim.contention.base import ContentionModel
from netsim.contention.cold import accurate
from netsim.contention.constants import ConstantsOf
from netsim.contention.exactmodel import exact
from netsim.contention.fast import Fast
from netsim.contention.hopcost import hop_cost
from netsim.contention.null import Null
from netsim.contention.recomputed import Recomputed
from netsim.errors import ContentionError
from netsim.topology.base import Topology


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
    "accurate": _accurate,
    "exact": exact,
    "load-ratio": _load_ratio,
    "always-on-max-min": _always_on_max_min,
    "hop-cost": hop_cost,
}


def make_contention_model(
    name: str,
    topology: Topology,
    *,
    fairness: str = "per-sender",
    options: Mapping[str, Any] | None = None,
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
        Further keywords of the model: ``tolerance`` (`fast`, `accurate`), ``samples`` and
        ``seed`` (`accurate`, `exact`: the latter has only this one).

    Returns
    -------
    ContentionModel
        The model, without jobs.

    Raises
    ------
    ContentionError
        If the name or an option is unknown, or a value is out of range.
    NetsimError
        If the fairness is unknown.
    """
    build = CONTENTION_MODELS.get(name)
    if build is None:
        choices = ", ".join(sorted(CONTENTION_MODELS))
        raise ContentionError(f"unknown contention model {name!r}; choose from {choices}.")
    known = set(signature(build).parameters) - {"topology", "fairness"}
    unknown = sorted(set(options or {}) - known)
    if unknown:
        choices = ", ".join(sorted(known)) or "none"
        raise ContentionError(
            f"unknown option {unknown[0]!r} of contention model {name!r}; it has: {choices}."
        )
    return build(topology, fairness=fairness, **(options or {}))
