"""Damage to JSON and TOML documents where their structure is, and to JSON and TOML as text."""

import copy
import json
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import tomli_w

from fuzz.values import MEANT, MUCH, NUMBERS, SNOWMAN, TEXTS, WORK

_MARK = "\ue000"
_MARKED = re.compile(r'"(?:\\ue000|\ue000)(\w+)(?:\\ue000|\ue000)"')
_TWICE = re.compile(r'"(?:\\ue000|\ue000)twice (.*?)"', re.DOTALL)
RAW = {
    "digits": "9" * 5000,
    "lists": "[" * 900 + "]" * 900,
    "deep": "[" * 100_000 + "]" * 100_000,
    "open": "[" * 3000,
}
"""What no writer writes, by name."""
_OBJECTS = {"json": '{"a": ' * 900 + "1" + "}" * 900, "toml": "{a = " * 900 + "1" + "}" * 900}


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged document, what was done to it, and what must come of it."""

    data: bytes
    note: str
    must_refuse: bool = False
    must_agree: bool = False


def damage_document(chance: Random, data: bytes, form: str, pool: list[Any]) -> Damage:
    """Damage a document of our own (``form`` is json or toml) in one place."""
    value = json.loads(data) if form == "json" else tomllib.loads(data.decode())
    how = chance.choice(_WAYS)
    note, value, fate = how(chance, value, pool)
    if form == "toml":
        value = _without_none(value)
    return Damage(dump(value, form), note, must_refuse=fate == "refuse", must_agree=fate == "agree")


def dump(value: Any, form: str) -> bytes:
    """Write a document; marks become what no writer writes."""
    text = json.dumps(value, indent=1) if form == "json" else tomli_w.dumps(value)
    text = _MARKED.sub(lambda match: {**RAW, "objects": _OBJECTS[form]}[match[1]], text)
    text = _TWICE.sub(lambda match: f'"{match[1]}"', text)
    return text.encode("utf-8", "surrogatepass")


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """Yield the paths of all values inside a document."""
    if path:
        yield path
    if isinstance(value, (dict, list)):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in inside:
            yield from places(entry, (*path, key))


def at(value: Any, path: tuple) -> Any:
    """Return the value at a place."""
    for key in path:
        value = value[key]
    return value


def _put(value: Any, path: tuple, new: Any) -> Any:
    """Put a value at a place of a copy."""
    copied = copy.deepcopy(value)
    at(copied, path[:-1])[path[-1]] = new
    return copied


def _name(path: tuple) -> str:
    """Write a place without numbers, to be grouped by."""
    return ".".join("*" if isinstance(key, int) else key for key in path)


def _pick(chance: Random, value: Any, kind: type | tuple = object) -> tuple:
    """Return a place that holds a value of some kind; the top where there is none."""
    found = [path for path in places(value) if isinstance(at(value, path), kind)]
    return chance.choice(found) if found else ()


def _delete(chance: Random, value: Any, _pool: list) -> tuple:
    """Leave a field or an entry out."""
    copied = copy.deepcopy(value)
    path = _pick(chance, copied)
    del at(copied, path[:-1])[path[-1]]
    return f"delete {_name(path)}", copied, ""


def _unknown(chance: Random, value: Any, _pool: list) -> tuple:
    """Give a table a field that it does not have: a new name, or a letter of a name changed."""
    tables = [(), *(path for path in places(value) if isinstance(at(value, path), dict))]
    path = chance.choice([path for path in tables if not _names_things(path)])
    copied = copy.deepcopy(value)
    table = at(copied, path)
    if table and chance.random() < 0.7:
        key = chance.choice(list(table))
        new = chance.choice(
            (f"{key}s", f"{key[:-1]}", key.upper(), f"{key} ", f"_{key}", key[::-1])
        )
        if new in table or new == key or not new:
            new = f"{key}x"
        entry = table[key]
        if chance.random() < 0.5:
            del table[key]
        table[new] = entry
        return f"misspell {_name((*path, key))} as {new}", copied, "refuse"
    table["colour"] = chance.choice((1, "red", [], {}))
    return f"unknown key in {_name(path) or 'top'}", copied, "refuse"


def _names_things(path: tuple) -> bool:
    """Say whether a table's keys are names that a user gives, which another check looks at."""
    return path[-1:] == ("options",) and path[:1] == ("compare",)


def _swap_type(chance: Random, value: Any, _pool: list) -> tuple:
    """Put a value of a type that the field does not take."""
    path = _pick(chance, value)
    old = at(value, path)
    choices: list[Any] = [{SNOWMAN: 1}, [[SNOWMAN]]]
    if not isinstance(old, bool):
        choices.append(True)
    if not isinstance(old, str):
        choices.append(SNOWMAN)
    if isinstance(old, bool):
        choices += [1, 0]
    new = chance.choice(choices)
    if isinstance(old, dict) and isinstance(new, dict):
        new = True
    note = f"swap {_name(path)}: {type(old).__name__} to {json.dumps(new)}"
    return note, _put(value, path, new), "refuse"


def _swap_softly(chance: Random, value: Any, _pool: list) -> tuple:
    """Put a value of another type that the field may take."""
    path = _pick(chance, value)
    old = at(value, path)
    choices: list[Any] = [None, [old], [], {}, "", str(old), 0, 1, {"name": old}]
    if isinstance(old, list):
        choices += [old * 40, old[::-1], old[:1], [*old, *old[-1:]], dict(enumerate(old))]
        choices[-1] = {str(key): entry for key, entry in choices[-1].items()}
    if isinstance(old, (int, float)):
        choices += [float(old), -old, old + 1, old * 100, old / 3]
    new = chance.choice(choices)
    return (
        f"soft swap {_name(path)}: {type(old).__name__} to {str(new)[:30]!r}",
        _put(value, path, new),
        "",
    )


def _number(chance: Random, value: Any, _pool: list) -> tuple:
    """Put an odd number in the place of a number."""
    path = _pick(chance, value, (int, float))
    if not path or isinstance(at(value, path), bool):
        return _text(chance, value, _pool)
    new = chance.choice(NUMBERS)
    if path[-1] in WORK and MUCH[0] < new <= 10**9:
        new = 17
    fate = "refuse" if isinstance(new, float) and math.isnan(new) else ""
    if isinstance(new, int) and abs(new) > 10**300:
        new = new // abs(new) * 10**400
    return f"number {_name(path)}: {str(new)[:24]}", _put(value, path, new), fate


def _text(chance: Random, value: Any, _pool: list) -> tuple:
    """Put an odd text, or one with a meaning, in the place of a text or number."""
    path = _pick(chance, value, (str, int, float))
    if not path:
        return _delete(chance, value, _pool)
    new = chance.choice(MEANT if chance.random() < 0.7 else TEXTS)
    return f"text {_name(path)}: {new[:24]!r}", _put(value, path, new), ""


def _graft(chance: Random, value: Any, pool: list) -> tuple:
    """Put a part of another document, or another part of this one, at a place."""
    path = _pick(chance, value)
    donor = chance.choice(pool) if chance.random() < 0.6 else value
    same = [p for p in places(donor) if p[-1] == path[-1]]
    source = chance.choice(same or list(places(donor)) or [()])
    note = f"graft {_name(source)} on {_name(path)}"
    return note, _put(value, path, copy.deepcopy(at(donor, source))), ""


def _add(chance: Random, value: Any, pool: list) -> tuple:
    """Add fields that tables of that name have in another document."""
    path = _pick(chance, value, dict)
    donor = chance.choice(pool)
    tables = [p for p in places(donor) if p[-1:] == path[-1:] and isinstance(at(donor, p), dict)]
    extra = at(donor, chance.choice(tables)) if tables else donor
    copied = copy.deepcopy(value)
    if isinstance(extra, dict) and extra:
        key = chance.choice(list(extra))
        at(copied, path).setdefault(key, copy.deepcopy(extra[key]))
        return f"add {_name((*path, key))}", copied, ""
    return _graft(chance, value, pool)


def _exchange(chance: Random, value: Any, _pool: list) -> tuple:
    """Exchange two values, neither inside the other."""
    one, other = _pick(chance, value), _pick(chance, value)
    if one[: len(other)] == other or other[: len(one)] == one:
        return _delete(chance, value, _pool)
    first, second = copy.deepcopy(at(value, one)), copy.deepcopy(at(value, other))
    note = f"exchange {_name(one)} and {_name(other)}"
    return note, _put(_put(value, one, second), other, first), ""


def _raw(chance: Random, value: Any, _pool: list) -> tuple:
    """Put in what no writer writes: thousands of digits or brackets, a field twice."""
    name = chance.choice((*RAW, "objects", "twice"))
    path = _pick(chance, value)
    if name == "twice":
        if not isinstance(path[-1], str):
            return _delete(chance, value, _pool)
        copied = copy.deepcopy(value)
        at(copied, path[:-1])[f"{_MARK}twice {path[-1]}"] = copy.deepcopy(at(value, path))
        return f"twice {_name(path)}", copied, "refuse"
    return f"raw {name} at {_name(path)}", _put(value, path, f"{_MARK}{name}{_MARK}"), "refuse"


def _reorder(chance: Random, value: Any, _pool: list) -> tuple:
    """Write the fields of every table in another order, which means the same."""

    def shuffled(entry: Any) -> Any:
        if isinstance(entry, dict):
            keys = list(entry)
            chance.shuffle(keys)
            return {key: shuffled(entry[key]) for key in keys}
        return [shuffled(item) for item in entry] if isinstance(entry, list) else entry

    return "reorder fields", shuffled(value), "agree"


def _without_none(value: Any) -> Any:
    """Leave out what TOML does not have."""
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [_without_none(entry) for entry in value if entry is not None]
    return value


_WAYS = (
    *(_delete, _unknown, _unknown, _swap_type, _swap_type, _swap_softly, _number, _number, _number),
    *(_text, _text, _text, _graft, _graft, _add, _add, _exchange, _raw, _reorder),
)
