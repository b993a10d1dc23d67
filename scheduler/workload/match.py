"""Which jobs a rule of a communication profile is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fabricsim.checking import text, unknown, whole, wrong
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.filters import LABELS, MISSING

_KEYS = (
    "min_nodes",
    "max_nodes",
    "size",
    *LABELS,
    "account",
    "partition",
    "name",
    "pattern",
    "column",
)
# where the name behind a label stands, the first that a log has: field of the job or column
_NAMED: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "user": ("user", ("user_name", "user")),
        "group": ("group", ("group_name", "group")),
        "executable": ("executable", ("executable",)),
        "queue": ("queue", ("queue", "partition")),
        "account": ("group", ("account", "group")),
        "partition": ("queue", ("partition", "queue")),
    }
)


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions on a job, all of which must hold."""

    # min_nodes, max_nodes: bounds on its nodes, both included
    min_nodes: int | None = None
    max_nodes: int | None = None
    # allowed values of ``size`` (nodes), ``user``, ``group``, ``executable`` and ``queue``
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    # shell-style patterns, one of which its name fits; empty for any name
    names: tuple[str, ...] = ()
    # allowed values of further columns of the log (`Job.extra`)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # shell-style patterns, one of which the name of its ``user``, ``group``, ``executable``,
    # ``queue``, ``account`` or ``partition`` fits
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def select(self, jobs: Sequence[Job], n_nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which jobs meet the conditions."""
        chosen = np.ones(len(jobs), dtype=bool)
        if self.min_nodes is not None:
            chosen &= n_nodes >= self.min_nodes
        if self.max_nodes is not None:
            chosen &= n_nodes <= self.max_nodes
        for key, values in self.numbers.items():
            own = n_nodes if key == "size" else np.array([getattr(job, key) for job in jobs])
            chosen &= np.isin(own, values)
        by_text = self.names or self.columns or self.labels
        for place in np.flatnonzero(chosen).tolist() if by_text else ():
            chosen[place] = self._fits(jobs[place])
        return chosen

    def _fits(self, job: Job) -> bool:
        """Whether name and further columns of one job fit."""
        if self.names and not _like_any(job.name, self.names):
            return False
        extra = dict(job.extra)
        if not all(extra.get(column) in values for column, values in self.columns.items()):
            return False
        return all(_like_any(name_of(job, key), likes) for key, likes in self.labels.items())


def name_of(job: Job, key: str) -> str:
    """
    Return a job's user, group, executable, queue, account or partition as the log has it.

    Its number where it has no name; empty where it has neither.
    """
    label, columns = _NAMED[key]
    extra = dict(job.extra)
    found = next((extra[column] for column in columns if extra.get(column)), "")
    number = getattr(job, label)
    return found or (str(number) if number != MISSING else "")


def _like_any(name: str, likes: Sequence[str]) -> bool:
    """Whether a name fits one of some shell-style patterns."""
    return any(fnmatchcase(name, like) for like in likes)


def read_match(table: object, place: str) -> Match:
    """
    Read the conditions of a rule.

    ``min_nodes``, ``max_nodes``; ``size``, ``user``, ``group``, ``executable``, ``queue`` (a number
    or a list; but for ``size`` also names or shell-style patterns of names, as ``account`` and
    ``partition``); ``name`` (shell-style pattern or a list); ``pattern`` (as the log names it) and
    ``column`` (a table: further columns of the log and their values).
    """
    if not isinstance(table, Mapping):
        raise wrong(f"{place}: match", "a table", table, WorkloadError)
    for key in table:
        if key not in _KEYS:
            raise WorkloadError(f"{place}: match: {unknown('key', key, _KEYS)}")
    columns = table.get("column", {})
    if not isinstance(columns, Mapping):
        raise wrong(f"{place}: match.column", "a table", columns, WorkloadError)
    if "pattern" in table:
        columns = {**columns, "pattern": table["pattern"]}
    numbers, labels = _read_labels(table, place)
    return Match(
        min_nodes=_read_bound(table.get("min_nodes"), f"{place}: match.min_nodes"),
        max_nodes=_read_bound(table.get("max_nodes"), f"{place}: match.max_nodes"),
        numbers=numbers,
        names=tuple(
            text(f"{place}: match.name", value, error=WorkloadError)
            for value in _as_list(table.get("name", []))
        ),
        columns={
            str(name): tuple(
                _plain_value(value, f"{place}: match.{name}") for value in _as_list(values)
            )
            for name, values in columns.items()
        },
        labels=labels,
    )


def _read_labels(
    table: Mapping[str, object], place: str
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[str, ...]]]:
    """Read what is matched by number, and what by name."""
    numbers: dict[str, tuple[int, ...]] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for key in ("size", *_NAMED):
        where = f"{place}: match.{key}"
        values = _as_list(table[key]) if key in table else None
        if values is None:
            continue
        if key in _NAMED and key not in LABELS:
            labels[key] = tuple(_read_name(value, where) for value in values)
        elif key in LABELS and any(isinstance(value, str) for value in values):
            labels[key] = tuple(text(where, value, error=WorkloadError) for value in values)
        else:
            numbers[key] = tuple(whole(where, value, error=WorkloadError) for value in values)
    return numbers, labels


def _as_list(value: object) -> Sequence[object]:
    """Return a list as it is and anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def _read_bound(value: object, place: str) -> int | None:
    """Read a number of nodes that may be absent."""
    return None if value is None else whole(place, value, error=WorkloadError)


def _read_name(value: object, place: str) -> str:
    """Read a name; one of digits only may stand without quotes."""
    return str(value) if type(value) is int else text(place, value, error=WorkloadError)


def _plain_value(value: object, place: str) -> str:
    """Read a value of a column: text or number, as the log writes it."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise wrong(place, "a text or a number", value, WorkloadError)
    return str(value)
