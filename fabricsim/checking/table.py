"""A table of TOML or JSON, field by field; errors name file, place, field and choices."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Self, TypeVar

from fabricsim.checking.values import (
    MISSING,
    brief,
    choice,
    flag,
    meant,
    number,
    text,
    whole,
    wrong,
)

T = TypeVar("T")


class Table:
    """One table of a file; every field is asked for once, what is left over is an error."""

    def __init__(self, values: object, place: str, kind: type[ValueError]) -> None:
        self._kind = kind
        if not isinstance(values, Mapping):
            raise wrong(place.removesuffix(":"), "a table", values, kind)
        self._values: Mapping[str, Any] = values
        self._place = place
        self._known: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Say whether the table has a field, which is then known."""
        self._known.add(key)
        return key in self._values

    def require(self, *keys: str) -> None:
        """Refuse a table that lacks fields, and name all of these."""
        self._known.update(keys)
        absent = [key for key in keys if key not in self._values]
        if len(absent) > 1:
            raise self._kind(
                f"{self._field_name(', '.join(absent))}: expected values, they are missing."
            )

    def error(self, key: str, expected: str) -> ValueError:
        """Make the error for a bad field."""
        return wrong(self._field_name(key), expected, self._values.get(key, MISSING), self._kind)

    def fault(self, key: str, what: str) -> ValueError:
        """Make the error for a field that something else found bad; `what` is a sentence."""
        return self._kind(f"{self._field_name(key)}: {what}")

    def text(self, key: str, default: str | None = None, choices: Collection[str] = ()) -> str:
        """Return a text field; without a default it must be there."""
        if choices:
            return self._checked_field(key, default, choice, choices)
        return self._checked_field(key, default, text)

    def integer(
        self, key: str, default: int | None = None, least: int = 0, most: int | None = None
    ) -> int:
        """Return a whole number."""
        return self._checked_field(key, default, whole, least, most)

    def number(
        self, key: str, default: float | None = None, least: float = 0.0, most: float | None = None
    ) -> float:
        """Return a number."""
        return self._checked_field(key, default, number, least, most)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return true or false."""
        return self._checked_field(key, default, flag)

    def _checked_field(
        self, key: str, default: T | None, check: Callable[..., T], *limits: object
    ) -> T:
        """Return a field that a check of one value accepts, or its default where it is missing."""
        self._known.add(key)
        if key not in self._values and default is not None:
            return default
        return check(
            self._field_name(key), self._values.get(key, MISSING), *limits, error=self._kind
        )

    def _field_name(self, key: str) -> str:
        """Return what errors call a field."""
        return f"{self._place} {key}"

    def names(self, key: str) -> tuple[str, ...]:
        """Return a list of different texts; empty where the field is missing."""
        self._known.add(key)
        value = self._values.get(key, [])
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not is_list or len(set(value)) != len(value):
            raise self.error(key, "a list of different names")
        return tuple(value)

    def raw(self, key: str, default: object = None) -> Any:  # noqa: ANN401 (checked by its reader)
        """Return a field as it is, for a reader of its own."""
        self._known.add(key)
        return self._values.get(key, default)

    def table(self, key: str) -> Self:
        """Return a table inside this one; empty where it is missing."""
        self._known.add(key)
        return type(self)(self._values.get(key, {}), f"{self._place[:-1]}.{key}]", self._kind)

    def mapping(self, key: str) -> dict[str, Any]:
        """Return a table inside this one as it is, for what checks its own options."""
        value = self.raw(key, {})
        if not isinstance(value, Mapping):
            raise self.error(key, "a table of options")
        return dict(value)

    def inner(self, key: str) -> str:
        """Return what errors call a table inside this one."""
        return f"{self._place} {key}:"

    def renamed(self, place: str) -> Self:
        """Return the same fields under a better name for errors."""
        table = type(self)(self._values, place, self._kind)
        table._known = self._known  # noqa: SLF001 (of its own class)
        return table

    def finish(self) -> None:
        """Refuse fields that were not looked up, and list the known ones."""
        for key in self._values:
            if key not in self._known:
                known = sorted(self._known)
                name = key if str(key).isprintable() else brief(key)
                raise self._kind(
                    f"{self._place} {name}: unknown key{meant(key, known)}; choose from "
                    f"{', '.join(known)}."
                )
