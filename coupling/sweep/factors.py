"""Factors of a sweep: fields of an experiment by dotted name, and how values are combined."""

import zlib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import ExperimentError
from coupling.inputs.experiment_fields import DRAWN, PLACES
from coupling.inputs.files import Table, located
from coupling.inputs.plugins import settled
from fabricsim.checking import brief, plain
from scheduler.workload import DEFAULT_PROFILE, read_profile
from scheduler.workload.distributions import read_distribution

SAMPLE = "sample"
"""What a table of cells calls the number of a random sample."""
MOST_CELLS = 1_000_000
_OWN = ("zip", "random", "samples", "seed", "jobs", "name")
_KINDS = frozenset({"uniform", "log_uniform", "lognormal", "choice", "integers", "weights"})
_PAIR = 2
Group = Mapping[str, tuple[Any, ...]]
"""Values by name of the factor, which change together: tuples of one length."""


@dataclass(frozen=True, slots=True)
class Design:
    """What a sweep varies."""

    # Factors that change together, and their values; every value of a group is combined with every
    # one of the others
    groups: tuple[Group, ...]
    jobs: bool = True  # Whether the job table of each cell is kept

    def __len__(self) -> int:
        """Return the number of combinations."""
        return prod(_group_length(group) for group in self.groups)

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of what varies, in the order of the groups."""
        return tuple(name for group in self.groups for name in group)

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield every combination once; the last group changes fastest."""
        for picked in product(*(range(_group_length(group)) for group in self.groups)):
            yield {
                name: values[at]
                for at, group in zip(picked, self.groups, strict=True)
                for name, values in group.items()
            }


def read_design(tables: Any, place: str) -> Design:  # noqa: ANN401 (to be checked)
    """Read the table ``[sweep]``; names may be dotted, or tables inside each other."""
    tables = plain(tables, place, ExperimentError)
    given = Table(tables, place)
    jobs = given.flag("jobs", default=True)
    zipped, own = given.raw("zip", []), _flat_values(given.raw("random", {}), given, "random")
    samples = given.integer("samples", 0, most=MOST_CELLS)
    seed = given.integer("seed", 1)
    rest = {key: given.raw(key) for key in tables if key not in _OWN}
    groups: list[Group] = [
        {name: _factor_values(values, f"{place} {name}")}
        for name, values in _flat_values(rest, given, "").items()
    ]
    if not isinstance(zipped, list) or not all(isinstance(group, Mapping) for group in zipped):
        raise given.error("zip", "a list of tables of lists")
    groups += [
        _zipped_values(_flat_values(group, given, "zip"), f"{place} zip {number}")
        for number, group in enumerate(zipped, start=1)
    ]
    if own or samples:
        groups.append(_drawn_values(own, samples, seed, given))
    if not groups:
        raise ExperimentError(f"{place}: expected lists of values by name of a field, got none.")
    design = Design(tuple(groups), jobs)
    twice = [name for name in design.factors if design.factors.count(name) > 1]
    if twice:
        raise ExperimentError(f"{place} {twice[0]}: varied twice; name it once.")
    if len(design) > MOST_CELLS:
        raise ExperimentError(
            f"{place}: expected at most {MOST_CELLS:,} combinations, got {len(design):,}."
        )
    return design


def _group_length(group: Group) -> int:
    """Return how many values the factors of a group have."""
    return len(next(iter(group.values())))


def _flat_values(tables: object, given: Table, key: str) -> dict[str, Any]:
    """Return values by dotted name; a distribution is a value."""
    if not isinstance(tables, Mapping):
        raise given.error(key, "a table")
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        if isinstance(value, Mapping) and value and not value.keys() <= _KINDS:
            inner = _flat_values(value, given, key)
            flat |= {f"{name}.{rest}": found for rest, found in inner.items()}
        else:
            flat[name] = value
    return flat


def _factor_values(values: object, place: str) -> tuple[Any, ...]:
    """Check the list of a factor."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise ExperimentError(f"{place}: expected a list of values, got {brief(values)}.")
    for at, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:at]):
            raise ExperimentError(f"{place}: {brief(value)} is there twice; name it once.")
    return tuple(values)


def _zipped_values(lists: Mapping[str, Any], place: str) -> Group:
    """Check lists that are gone through together; values may come again."""
    if not lists:
        raise ExperimentError(f"{place}: expected lists of values by name of a field, got none.")
    for name, values in lists.items():
        if not isinstance(values, list) or not values:
            raise ExperimentError(f"{place} {name}: expected a list, got {brief(values)}.")
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ExperimentError(f"{place}: expected lists of one length, got: {sizes}.")
    return {name: tuple(values) for name, values in lists.items()}


def _drawn_values(own: Mapping[str, Any], samples: int, seed: int, given: Table) -> Group:
    """Draw values; those of a factor depend on its name and the seed, not on other factors."""
    if not own:
        raise given.fault("random", "expected distributions by name of a field, got none.")
    if not samples:
        raise given.error("samples", "a whole number from 1 on, beside [sweep.random]")
    group: dict[str, tuple[Any, ...]] = {SAMPLE: tuple(range(samples))}
    for name, value in own.items():
        stream = np.random.default_rng([seed, zlib.crc32(name.encode())])
        group[name] = _share_samples(value, stream.random(samples), given, name)
    return group


def _share_samples(value: object, share: Any, given: Table, name: str) -> tuple[Any, ...]:  # noqa: ANN401 (an array)
    """Return the values that shares of a distribution stand for."""
    if isinstance(value, Mapping) and set(value) == {"integers"}:
        ends = value["integers"]
        whole = isinstance(ends, list) and len(ends) == _PAIR and all(type(e) is int for e in ends)
        if not whole or ends[0] > ends[1]:
            raise given.fault(
                "random", f"{name}: expected integers = [first, last], got {brief(value)}."
            )
        return tuple(ends[0] + int(part * (ends[1] - ends[0] + 1)) for part in share)
    choices = value.get("choice") if isinstance(value, Mapping) else None
    place = f"{given.fault('random', name)}".strip()
    if isinstance(choices, list) and choices and isinstance(value, Mapping):
        numbered = {**value, "choice": list(range(len(choices)))}
        at = read_distribution(numbered, float, place).quantile(share)
        return tuple(choices[int(index)] for index in at)
    if not isinstance(value, Mapping):
        raise given.fault("random", f"{name}: expected a distribution, got {brief(value)}.")
    return tuple(read_distribution(value, float, place).quantile(share).tolist())


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
