"""The design of a sweep: which values are combined with which."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from coupling.errors import ExperimentError
from coupling.inputs.files import Table
from fabricsim.checking import brief, plain
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
