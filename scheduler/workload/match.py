"""Which jobs a rule of a communication profile is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.filters import LABELS

_KEYS = ("min_nodes", "max_nodes", "size", *LABELS, "name", "pattern", "column")


@dataclass(frozen=True, slots=True)
class Match:
    """
    Conditions on a job, all of which must hold.

    Parameters
    ----------
    min_nodes, max_nodes : int or None
        Bounds on its nodes, both included.
    numbers : mapping of str to tuple of int
        Allowed values of ``size`` (nodes), ``user``, ``group``, ``executable`` and
        ``queue``.
    names : tuple of str
        Shell-style patterns, one of which its name fits; empty for any name.
    columns : mapping of str to tuple of str
        Allowed values of further columns of the log (`Job.extra`).
    """

    min_nodes: int | None = None
    max_nodes: int | None = None
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def select(self, jobs: Sequence[Job], n_nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which jobs meet the conditions."""
        chosen = np.ones(len(jobs), dtype=bool)
        if self.min_nodes is not None:
            chosen &= n_nodes >= self.min_nodes
        if self.max_nodes is not None:
            chosen &= n_nodes <= self.max_nodes
        for key, values in self.numbers.items():
            own = n_nodes if key == "size" else _column(jobs, key)
            chosen &= np.isin(own, values)
        for place in np.flatnonzero(chosen).tolist() if self.names or self.columns else ():
            chosen[place] = self._fits(jobs[place])
        return chosen

    def _fits(self, job: Job) -> bool:
        """Whether name and further columns of one job fit."""
        if self.names and not any(fnmatchcase(job.name, name) for name in self.names):
            return False
        extra = dict(job.extra)
        return all(extra.get(column) in values for column, values in self.columns.items())


def _column(jobs: Sequence[Job], key: str) -> NDArray[np.int64]:
    """Return one field of all jobs."""
    return np.fromiter((getattr(job, key) for job in jobs), dtype=np.int64, count=len(jobs))


def read_match(table: object, place: str) -> Match:
    """
    Read the conditions of a rule.

    Parameters
    ----------
    table : object
        A table with any of ``min_nodes``, ``max_nodes``; ``size``, ``user``, ``group``,
        ``executable``, ``queue`` (a number or a list); ``name`` (shell-style pattern or a
        list); ``pattern`` (as the log names it) and ``column`` (a table: further columns
        of the log and their values).
    place : str
        File and rule, for the error.

    Returns
    -------
    Match
        The conditions.

    Raises
    ------
    WorkloadError
        If a key is unknown or a value of the wrong kind.
    """
    if not isinstance(table, Mapping):
        raise WorkloadError(f"{place}: match: expected a table, got {table!r}.")
    for key in table:
        if key not in _KEYS:
            raise WorkloadError(
                f"{place}: match: unknown key {key!r}; choose from {', '.join(_KEYS)}."
            )
    columns = table.get("column", {})
    if not isinstance(columns, Mapping):
        raise WorkloadError(f"{place}: match.column: expected a table, got {columns!r}.")
    if "pattern" in table:
        columns = {**columns, "pattern": table["pattern"]}
    return Match(
        min_nodes=_bound(table.get("min_nodes"), f"{place}: match.min_nodes"),
        max_nodes=_bound(table.get("max_nodes"), f"{place}: match.max_nodes"),
        numbers={
            key: tuple(_whole(value, f"{place}: match.{key}") for value in _listed(table[key]))
            for key in ("size", *LABELS)
            if key in table
        },
        names=tuple(
            _text(value, f"{place}: match.name") for value in _listed(table.get("name", []))
        ),
        columns={
            str(name): tuple(_plain(value, f"{place}: match.{name}") for value in _listed(values))
            for name, values in columns.items()
        },
    )


def _listed(value: object) -> Sequence[object]:
    """Return a list as it is and anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def _bound(value: object, place: str) -> int | None:
    """Read a number of nodes that may be absent."""
    return None if value is None else _whole(value, place)


def _whole(value: object, place: str) -> int:
    """Read a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise WorkloadError(f"{place}: expected a whole number, got {value!r}.")
    return value


def _text(value: object, place: str) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise WorkloadError(f"{place}: expected a text, got {value!r}.")
    return value


def _plain(value: object, place: str) -> str:
    """Read a value of a column: text or number, as the log writes it."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise WorkloadError(f"{place}: expected a text or a number, got {value!r}.")
    return str(value)
