"""Contention models by name."""

from collections.abc import Callable, Mapping
from typing import Any

from netsim.contention.base import ContentionModel
from netsim.contention.fast import Fast
from netsim.contention.null import Null
from netsim.errors import ContentionError
from netsim.topology.base import Topology

CONTENTION_MODELS: dict[str, Callable[..., ContentionModel]] = {
    "null": lambda topology, *, fairness: Null(),  # noqa: ARG005 (same door for all models)
    "fast": Fast,
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
        Further keywords of the model.

    Returns
    -------
    ContentionModel
        The model, without jobs.

    Raises
    ------
    ContentionError
        If the name or an option is unknown, or a value is out of range.
    """
    build = CONTENTION_MODELS.get(name)
    if build is None:
        choices = ", ".join(sorted(CONTENTION_MODELS))
        raise ContentionError(f"unknown contention model {name!r}; choose from {choices}.")
    try:
        return build(topology, fairness=fairness, **(options or {}))
    except TypeError as error:
        raise ContentionError(f"contention model {name!r}: {error}.") from None
