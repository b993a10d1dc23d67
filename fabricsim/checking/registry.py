"""What a registry has under a name, made with options."""

import inspect
from collections import UserDict
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from fabricsim.checking.units import Stated
from fabricsim.checking.values import brief, flag, meant, number, unknown, whole

T = TypeVar("T")
_CHECKS: Mapping[object, Callable[..., object]] = {
    int: whole,
    float: number,
    bool: flag,
}
"""How an option of a plain type is checked; texts are choices, whose message lists more."""


class Registry(UserDict[str, T]):
    """Things by name, loaded when they are asked for; a user's own are put in as they are."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        super().__init__()
        self._homes = dict(homes)
        self.data: dict[str, Any] = dict.fromkeys(homes)

    def __getitem__(self, name: str) -> T:
        """Return a thing."""
        home = self._homes.get(name)
        if home is not None:  # kept until it is loaded: other threads ask too, and loading may fail
            module, _, found = home.partition(":")
            self[name] = getattr(import_module(module), found)
        thing: T = self.data[name]
        return thing

    def __setitem__(self, name: str, thing: T) -> None:
        """Put a thing in."""
        self.data[name] = thing
        self._homes.pop(name, None)

    def __delitem__(self, name: str) -> None:
        """Take a thing out."""
        self._homes.pop(name, None)
        del self.data[name]

    def __repr__(self) -> str:
        """Return the names, of which some may not be loaded yet."""
        return f"<{type(self).__name__}: {', '.join(self.data)}>"

    def __copy__(self) -> "Registry[T]":
        """Return a registry of the same things, which has its own from now on."""
        other = Registry[T](self._homes)
        other.data = dict(self.data)
        return other

    copy = __copy__

    def __or__(self, more: Any) -> Any:  # noqa: ANN401 (as dictionaries do)
        """Return a registry with more things."""
        if not isinstance(more, Mapping):
            return NotImplemented
        joined = self.copy()
        joined.update(more)
        return joined

    def __ror__(self, more: Any) -> Any:  # noqa: ANN401 (as dictionaries do)
        """Return a dictionary of other things and these."""
        return {**more, **self} if isinstance(more, Mapping) else NotImplemented

    def __ior__(self, more: Any) -> Any:  # noqa: ANN401 (as dictionaries do)
        """Put more things in."""
        self.update(more)
        return self


def look_up(kind: str, name: object, registry: Mapping[str, T], error: type[ValueError]) -> T:
    """Return what a registry has under a name."""
    if not isinstance(name, str) or name not in registry:
        raise error(unknown(kind, name, sorted(registry)))
    return registry[name]


def build(
    kind: str,
    name: object,
    registry: Mapping[str, Callable[..., T]],
    options: object,
    error: type[ValueError],
    *,
    fixed: Mapping[str, Any] | None = None,
    seed: int | None = None,
    others: Sequence[str] = (),
) -> T:
    """Call the factory that a registry has under a name, with options that fit its types."""
    # `fixed` keywords are no options; `others` were taken out by the caller and are listed too.
    factory, fixed = look_up(kind, name, registry, error), fixed or {}
    place = f"{kind} {name!r}"
    if not isinstance(options, Mapping):
        raise error(f"{place}: expected a table of options, got {brief(options)}.")
    known = {
        key: parameter
        for key, parameter in inspect.signature(factory).parameters.items()
        if key not in fixed
    }
    if seed is not None and "seed" in known:
        options = {"seed": seed, **options}
    for key in options:
        if key not in known:
            names = sorted([*known, *others])
            hint = f"choose from {', '.join(names)}" if names else "it has none"
            raise error(f"{place}: unknown option {brief(key)}{meant(key, names)}; {hint}.")
    require_options(
        place, [k for k, own in known.items() if own.default is own.empty], options, error
    )
    types = {key: known[key].annotation for key in options}
    try:
        made = factory(**fixed, **options)
    except error as fault:
        words = str(fault)
        raise error(words if words.startswith(place) else f"{place}: {words}") from fault
    except (TypeError, ValueError, OverflowError) as fault:
        _check_types(options, types, place, error)
        given = ", ".join(f"{key} = {brief(value)}" for key, value in options.items())
        raise error(f"{place} cannot be made with {given or 'no option'}: {fault}.") from fault
    typed = {
        key: value
        for key, value in options.items()
        if not isinstance(getattr(made, key, None), Stated)  # read with its unit
    }
    _check_types(typed, types, place, error)
    return made


def require_options(
    place: str, needed: Sequence[str], given: Collection[str], error: type[ValueError]
) -> None:
    """Refuse options that lack needed ones, and name all of these."""
    absent = [name for name in needed if name not in given]
    if len(absent) == 1:
        raise error(f"{place}: {absent[0]}: expected a value, it is missing.")
    if absent:
        raise error(f"{place}: {', '.join(absent)}: expected values, they are missing.")


def _check_types(
    options: Mapping[str, Any], types: Mapping[str, object], place: str, error: type[ValueError]
) -> None:
    """Refuse values of a wrong plain type, which the factory itself has not refused."""
    for key, value in options.items():
        check = _CHECKS.get(types[key])
        if check is not None:
            check(f"{place}: {key}", value, error=error)
