"""Documents: JSON and TOML, parsed with bounds on what they may hold; answers as JSON."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from fabricsim.checking.values import MOST_DEPTH, MOST_WHOLE, WHOLE, brief, too_deep

MOST_VALUES = 10_000_000
"""Values of a JSON document, of which a hundred bytes of memory each are needed."""

MOST_TOML = 4 * 2**20
"""Letters of a TOML document, of which the standard library reads a million in a second."""

NOT_JSON = {"json": False}
"""Metadata of the fields of an answer that JSON does not have."""

_LONG = 4300  # digits that the interpreter refuses to read
_DIGITS = re.compile(f"[0-9_]{{{_LONG}}}")
_ENDLESS = 10**_LONG
_HALF = re.compile("[\ud800-\udfff]")  # half a letter, which JSON can escape alone


def parse_json(text: str, name: str, kind: type[ValueError], *, strict: bool = True) -> Any:  # noqa: ANN401 (whatever it holds)
    """Parse JSON. Result: its value: no deeper than `MOST_DEPTH`, whole numbers of 64 bits."""
    if not text or text.isspace():
        raise kind(f"{name}: expected some content, got an empty file.")
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise kind(f"{name}: expected at most {MOST_VALUES:,} values, got more.")
    hook = _distinct_fields if strict else None
    try:
        document = json.loads(text, parse_int=_read_whole, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        what = f"{error.msg} in column {error.colno}"
        raise kind(f"{name}:{error.lineno}: expected JSON, got: {what}.") from None
    except RecursionError:
        raise too_deep(name, kind) from None
    except _RepeatedError as error:
        raise kind(f"{name}: expected JSON, got: {error}.") from None
    _check_value(document, name, kind, strict=strict)
    return document


def parse_toml(text: str, name: str, kind: type[ValueError]) -> dict[str, Any]:
    """Parse TOML no deeper than `MOST_DEPTH`, with finite numbers and integers of 64 bits."""
    import tomllib  # noqa: PLC0415 (most commands read none)

    if len(text) > MOST_TOML:
        raise kind(f"{name}: expected TOML of at most {MOST_TOML // 2**20} MiB, got more.")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise kind(f"{name}: expected TOML, got: {error}.") from None
    except RecursionError:
        raise too_deep(name, kind) from None
    except ValueError as error:
        long = _DIGITS.search(text)
        what = "a number of thousands of digits" if long else f"{error}"
        line = text.count("\n", 0, long.start() if long else 0) + 1
        raise kind(f"{name}:{line}: expected TOML, got: {what}.") from None
    _check_value(document, name, kind, strict=True)
    return document


class _RepeatedError(ValueError):
    """A field is there twice, of which JSON would keep the last."""


def _distinct_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object whose fields have different names."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RepeatedError(f"field {brief(twice)} twice in one object")
    return fields


def _read_whole(digits: str) -> int:
    """Read a whole number; of an endless one its size is enough."""
    return int(digits) if len(digits) < _LONG else _ENDLESS


def _check_value(document: object, name: str, kind: type[ValueError], *, strict: bool) -> None:
    """Refuse what is too deep, no number or no text, and say where it stands."""
    level, depth, fine = [document], 0, True
    while level:
        if depth > MOST_DEPTH:
            raise too_deep(name, kind)
        fine &= all(map(_is_finite if strict else _is_known, level))
        level = [inner for value in level for inner in _held_values(value)]
        depth += 1
    if not fine:
        where, value, expected = next(_value_faults(document, "", strict=strict))
        place = f" {where}:" if where else ""
        raise kind(f"{name}:{place} expected {expected}, got {brief(value)}.")


def _held_values(value: object) -> Iterator[object]:
    """Return what a value holds, the names of fields included."""
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _is_known(value: object) -> bool:
    """Say whether a value is a text, and a whole number one of 64 bits."""
    if type(value) is str:
        return value.isascii() or not _HALF.search(value)
    return type(value) is not int or -MOST_WHOLE <= value < MOST_WHOLE


def _is_finite(value: object) -> bool:
    """Say whether a value is `_is_known`, and finite."""
    return math.isfinite(value) if type(value) is float else _is_known(value)


def _value_faults(value: object, where: str, *, strict: bool) -> Iterator[tuple[str, object, str]]:
    """Yield the place of each bad value, the value and what should stand there."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _value_faults(key, where, strict=strict)
            yield from _value_faults(inner, f"{where}.{key}" if where else key, strict=strict)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _value_faults(inner, f"{where}[{number}]", strict=strict)
    elif not (_is_finite if strict else _is_known)(value):
        kinds = {str: "text", int: WHOLE, float: "a finite number"}
        yield where, value, kinds[type(value)]


def json_fields(answer: Any) -> dict[str, Any]:  # noqa: ANN401 (a data class)
    """Return the fields of an answer as `--json` prints them."""
    return {
        own.name: json_value(getattr(answer, own.name))
        for own in fields(answer)
        if own.metadata.get("json", True)
    }


def json_value(value: Any) -> Any:  # noqa: ANN401 (whatever an answer holds)
    """Return a value as JSON has it: fields by name, lists, None for a number that is none."""
    if is_dataclass(value):
        return json_fields(value)
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: json_value(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(own) for own in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
