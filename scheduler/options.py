"""Build a registered thing from its name and options, with errors that list the choices."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def build(
    kind: str,
    name: str,
    registry: Mapping[str, Callable[..., T]],
    options: Mapping[str, Any],
    error: type[Exception],
    *,
    others: Sequence[str] = (),
) -> T:
    """
    Call the factory that a registry has under a name.

    Parameters
    ----------
    kind : str
        What is built, for the error message, e.g. ``"queue"``.
    name : str
        Key of the registry.
    registry : mapping of str to callable
        Factories by name.
    options : mapping of str to any
        Keywords for the factory.
    error : type of Exception
        Raised for an unknown name or option.
    others : sequence of str, optional
        Options that the caller has taken out already, to be listed as well.

    Returns
    -------
    T
        What the factory makes.

    Raises
    ------
    Exception
        Of type `error`, if the name or an option is unknown.
    """
    if name not in registry:
        raise error(f"unknown {kind} {name!r}; choose from {', '.join(sorted(registry))}.")
    factory = registry[name]
    known = [key for key in inspect.signature(factory).parameters if key != "self"]
    for key in options:
        if key not in known:
            choices = ", ".join([*known, *others]) or "none"
            raise error(f"unknown option {key!r} of {kind} {name!r}; its options: {choices}.")
    try:
        return factory(**options)
    except TypeError as fault:
        given = ", ".join(f"{key} = {value!r}" for key, value in options.items())
        raise error(f"{kind} {name!r} cannot be made with {given}: {fault}.") from fault
