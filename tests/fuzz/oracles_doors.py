"""The other door: what the command makes of a document, Python makes of the same fields."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import fabricsim
from fuzz.cases import Case
from fuzz.execute import REFUSED, Outcome, inside
from fuzz.texts import unpacked

_DOORS: Mapping[tuple[str, ...], tuple[str, Callable[[Any], Any]]] = {
    ("estimate", "s.json", "--json"): (
        "s.json",
        lambda fields: fabricsim.estimate(fields).to_dict(),
    ),
    ("topology", "inspect", "t.json", "--json"): ("t.json", fabricsim.topology),
}


def python_faults(case: Case, found: Outcome) -> str:
    """Give the same fields to Python; say where it does otherwise, empty where it does not."""
    file, door = _DOORS.get(case.argv, ("", None))
    if door is None or file not in case.files:
        return ""
    fields = _fields(case, file)
    if fields is None:
        return ""
    fault = _fault(door, fields, found)
    return f"{fault} python: {' '.join(case.argv[:2])}" if fault else ""


def _fields(case: Case, file: str) -> Any:
    """Return what a file holds; None where Python cannot have it."""
    try:
        return json.loads(unpacked(case.files[file]).decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError, MemoryError):  # a packed file of gigabytes, say
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary, which cannot hold a field twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _fault(door: Callable[[Any], Any], fields: Any, found: Outcome) -> str:
    """Say where Python does otherwise."""
    try:
        with inside(found.folder):
            answer = door(fields)
    except fabricsim.FabricsimError:
        return "" if found.status == REFUSED else "refuses what the command answers:"
    except Exception as error:  # noqa: BLE001 (every other exception is a finding)
        return f"traceback: {type(error).__name__}"
    if found.status == REFUSED:
        return "accepted, which the command refuses:"
    same = not isinstance(answer, dict) or json.loads(json.dumps(answer)) == json.loads(found.out)
    return "" if same else "nonsense: another answer:"
