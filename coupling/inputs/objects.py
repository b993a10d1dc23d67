"""Objects in the place of names: what class and options they stand for."""

from dataclasses import fields, is_dataclass
from typing import Any


def is_object(value: object) -> bool:
    """Say whether something is an object that its class and options make again."""
    return is_dataclass(value) and not isinstance(value, type)


def options_of(value: Any) -> dict[str, Any]:  # noqa: ANN401 (any dataclass)
    """Return what an object was made with."""
    return {own.name: getattr(value, own.name) for own in fields(value) if own.init}
