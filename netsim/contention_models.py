"""Contention models by name."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from numbers import Integral, Real
from typing import Any

from netsim.contention.base import ContentionModel
from netsim.contention.cold.fixedpoint import accurate
from netsim.contention.cold.recomputed import Recomputed
from netsim.contention.compared.alwayson import AlwaysOnMaxMin, load_ratio
from netsim.contention.compared.assumed import assumed
from netsim.contention.compared.hopcost import hop_cost
from netsim.contention.compared.null import Null
from netsim.contention.constants import ConstantsOf
from netsim.contention.events.fast import Fast
from netsim.contention.exact.model import exact
from netsim.errors import ContentionError
from netsim.flows.maxmin import is_per_sender
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
    "assumed": assumed,
}


_NUMBERS: dict[type, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
}
"""What an option must be whose default is of a type."""


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
        Further keywords of the model: ``tolerance`` (`fast`, `accurate`), ``samples``
        (`accurate`), ``seed`` (`accurate`, `exact`, `assumed`), ``scenario`` and ``reading``
        (`assumed`).
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
    build = CONTENTION_MODELS.get(name)
    if build is None:
        choices = ", ".join(sorted(CONTENTION_MODELS))
        raise ContentionError(f"unknown contention model {name!r}; choose from {choices}.")
    is_per_sender(fairness)
    given = dict(options or {})
    if seed is not None and "seed" in signature(build).parameters:
        given = {"seed": seed, **given}
    _check_options(name, build, given)
    return build(topology, fairness=fairness, **given)


def _check_options(
    name: str, build: Callable[..., ContentionModel], options: Mapping[str, Any]
) -> None:
    """Refuse options that the model does not have, and what is no number where it wants one."""
    default = {
        key: parameter.default
        for key, parameter in signature(build).parameters.items()
        if key not in {"topology", "fairness"}
    }
    unknown = sorted(set(options) - set(default))
    if unknown:
        choices = ", ".join(sorted(default)) or "none"
        raise ContentionError(
            f"unknown option {unknown[0]!r} of contention model {name!r}; it has: {choices}."
        )
    for key, value in options.items():
        kind, words = _NUMBERS.get(type(default[key]), (object, ""))
        if not isinstance(value, kind) or (words and isinstance(value, bool)):
            raise ContentionError(
                f"option {key!r} of contention model {name!r}: expected {words}, got {value!r}."
            )
