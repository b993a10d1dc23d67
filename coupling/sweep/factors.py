"""Factors of a sweep: fields of an experiment by dotted name, set to a value, and labelled."""

from collections.abc import Mapping, MutableMapping
from copy import deepcopy
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from coupling.errors import ExperimentError
from coupling.inputs.experiment_fields import DRAWN, PLACES
from coupling.inputs.files import located
from coupling.inputs.plugins import settled
from coupling.sweep.design import SAMPLE
from fabricsim.checking import brief
from scheduler.workload import DEFAULT_PROFILE, read_profile

Label = bool | int | float | str
"""A value as tables of cells have it."""
LABEL = "label"
_WITH_OPTIONS = {
    "scheduler.allocator": ("scheduler", "allocator", "allocator_options"),
    "scheduler.queue": ("scheduler", "queue", "queue_options"),
    "network.model": ("network", "model", "model_options"),
}
_SEEDS = {f"{part}.seed": f"run.seeds.{part}" for part in DRAWN if part != "workload"}
WHOLE = ("topology", "workload", "communication")
_KNOWN = (
    *WHOLE,
    *(f"{table}.{key}" for table, keys in PLACES.items() for key in keys if table != "compare"),
    *(f"run.seeds.{part}" for part in DRAWN),
    *_SEEDS,
    *(f"topology.{key}" for key in ("kind", "radix", "levels", "parents", "children", "bandwidth")),
    *(f"workload.{key}" for key in ("path", "arrivals", "mean_nodes", "n_jobs", "seed")),
    *(f"communication.{key}" for key in ("profile", "rule.*.comm_fraction")),
)


def is_seed(name: str) -> bool:
    """Return whether a factor is a seed or the number of a sample."""
    return name == SAMPLE or name in ("run.seed", "workload.seed", *_SEEDS) or "run.seeds." in name


def is_policy(name: str) -> bool:
    """Return whether an operator chooses a factor: one of the scheduler, or the routing."""
    own = name.startswith("scheduler.") or name.split(".")[:2] == ["network", "routing"]
    return own and not is_seed(name)


def check_factor(name: str, place: str) -> None:
    """Refuse a name that no experiment knows."""
    parts = _SEEDS.get(name, name).split(".")
    if parts[0] in WHOLE or name == SAMPLE:
        return
    keys = PLACES.get(parts[0], {})
    if parts[0] != "compare" and len(parts) > 1 and parts[1] in keys:
        return
    same = [known for known in _KNOWN if known.rpartition(".")[2] == parts[-1].removesuffix("s")]
    near = get_close_matches(name, same or _KNOWN, n=1, cutoff=0.0 if same else 0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f"; choose from {', '.join(_KNOWN)}."
    raise ExperimentError(f"{place} {brief(name)}: unknown factor{hint}")


def with_values(
    tables: Mapping[str, Any], values: Mapping[str, Any], folder: Path, place: str
) -> dict[str, Any]:
    """Return the tables of an experiment with factors set. `folder`: where relative paths start."""
    changed = deepcopy(dict(tables))
    for name in sorted(values, key=lambda name: name.count(".")):  # whole tables before their keys
        if name == SAMPLE:
            continue
        if name.startswith("communication.rule"):
            _write_out_profile(changed, folder)
        value = deepcopy(values[name])
        if isinstance(value, dict):
            value.pop(LABEL, None)
        if name in _WITH_OPTIONS:
            _set_choice(changed, name, value, place)
        else:
            _set_field(changed, _SEEDS.get(name, name).split("."), value, f"{place} {name}")
    return changed


def placed(name: str, value: Any, folder: Path) -> Any:  # noqa: ANN401 (a TOML value)
    """Return the value of a field with absolute paths. `folder`: where relative paths start."""
    last = name.rpartition(".")[2]
    if name == "run.plugins" and isinstance(value, list):
        return [str((folder / str(one)).resolve()) for one in value]
    if name in _WITH_OPTIONS and isinstance(value, Mapping):
        own = {"name": settled(value.get("name"), folder, last)} if "name" in value else {}
        return {**value, **own}
    return located({last: settled(value, folder, last)}, folder)[last]


def label_of_value(value: object) -> Label:
    """Write a value for tables: a number, the ``label`` of a table, or its name and fields."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, Mapping):
        return f"{value}"
    if LABEL in value:
        return str(value[LABEL])
    own = next((key for key in ("name", "kind", "path", "profile") if key in value), None)
    begin = "" if own is None else Path(str(value[own])).name
    rest = ", ".join(f"{key}={label_of_value(one)}" for key, one in value.items() if key != own)
    return f"{begin}({rest})" if begin and rest else begin or rest


def _write_out_profile(tables: dict[str, Any], folder: Path) -> None:
    """Put the rules of a profile in the place of its name, so that they can be varied."""
    stated = tables.get("communication")
    if stated is None:
        tables["communication"] = deepcopy(dict(DEFAULT_PROFILE.table))
    elif isinstance(stated, Mapping) and isinstance(stated.get("profile"), str):
        path = folder / stated["profile"]
        tables["communication"] = deepcopy(located(read_profile(path).table, path.parent))


def _set_choice(tables: dict[str, Any], name: str, value: object, place: str) -> None:
    """Set what has a name and options; those of the file belong to the name that it gives."""
    table, key, options = _WITH_OPTIONS[name]
    inner = tables.setdefault(table, {})
    if not isinstance(inner, dict):
        return  # refused where all is checked
    if isinstance(value, Mapping):
        if not isinstance(value.get("name"), str):
            raise ExperimentError(
                f"{place} {name}: expected a name, or a table with name and options, "
                f"got {brief(value)}."
            )
        inner[options] = {own: one for own, one in value.items() if own != "name"}
        inner[key] = value["name"]
        return
    if inner.get(key) != value:
        inner.pop(options, None)
    inner[key] = value


def _set_field(tables: Any, parts: list[str], value: object, place: str) -> None:  # noqa: ANN401 (a TOML value)
    """Set a field inside tables and lists; ``*`` is every entry of a list."""
    first, *rest = parts
    if isinstance(tables, list):
        for at in _list_places(tables, first, place):
            if rest:
                _set_field(tables[at], rest, value, place)
            else:
                tables[at] = deepcopy(value)
    elif not isinstance(tables, MutableMapping):
        raise ExperimentError(f"{place}: expected a table that has {first!r}, got {brief(tables)}.")
    elif rest:
        _set_field(tables.setdefault(first, {}), rest, value, place)
    else:
        tables[first] = deepcopy(value)


def _list_places(entries: list[Any], which: str, place: str) -> range:
    """Return the places of a list that a part of a name stands for, counted from 0."""
    if which == "*":
        return range(len(entries))
    if not which.isdecimal() or int(which) >= len(entries):
        raise ExperimentError(
            f"{place}: expected * or a number below {len(entries)}, got {which!r}."
        )
    return range(int(which), int(which) + 1)
