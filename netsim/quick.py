"""Frozen dataclasses of many fields that are made by the hundred thousand."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

_T = TypeVar("_T")
_CLASS_OF: Callable[[object, type], None] = object.__dict__["__class__"].__set__
_MADE = """
def __init__(self, {parameters}):
    if type(self) is not _frozen:
        return _slowly(self, {names})
    _become(self, _open)
    {set_all}
    self.__class__ = _frozen
"""


def quickly_made(kind: type[_T]) -> type[_T]:
    """
    Let objects of a frozen dataclass be made in a third of the time.

    `kind`: with slots, without `__post_init__`, factories and base classes. Result: the same class.

    A frozen class refuses that its fields are set, so its own `__init__` goes another way, a call
    for each field. Here an object is of a class of the same slots that can be set until it is
    complete.
    """
    members = fields(kind)  # type: ignore[arg-type]  # a dataclass
    names = [member.name for member in members]
    known: dict[str, Any] = {
        "_frozen": kind,
        "_slowly": kind.__init__,
        "_become": _CLASS_OF,
        "_open": type(kind.__name__, (), {"__slots__": tuple(names)}),
    }
    parameters = []
    for member in members:
        has_default = member.default is not MISSING
        parameters.append(f"{member.name}=_{member.name}" if has_default else member.name)
        known[f"_{member.name}"] = member.default
    source = _MADE.format(
        parameters=", ".join(parameters),
        names=", ".join(names),
        set_all="; ".join(f"self.{name} = {name}" for name in names),
    )
    exec(source, known)  # noqa: S102 (as dataclasses does; names of fields are identifiers)
    made = known["__init__"]
    made.__annotations__ = kind.__init__.__annotations__
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = made  # type: ignore[method-assign]
    return kind
