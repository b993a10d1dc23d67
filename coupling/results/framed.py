"""Tables of a run: columns, made a pandas frame on first use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Ints

if TYPE_CHECKING:
    import pandas as pd


Values = Union[NDArray[Any], Sequence[str], "Categorical"]
Table = Union["TableColumns", "pd.DataFrame"]


@dataclass(frozen=True, slots=True, eq=False)
class Categorical:
    """A column of few different texts."""

    codes: Ints  # (R,): which of the names each row has
    names: Sequence[str]  # In their order

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:  # noqa: ANN401
        """Return the texts."""
        del dtype, copy
        return np.array(self.names, dtype=object)[self.codes]


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """Columns of a table, without pandas."""

    of: Mapping[str, Values]  # By name, all as long; of Python's own sequences only texts

    def __getitem__(self, name: str) -> Values:
        """Return a column."""
        return self.of[name]

    def __len__(self) -> int:
        first = next(iter(self.of.values()))
        return len(first.codes if isinstance(first, Categorical) else first)

    def assign(self, **columns: Values) -> "TableColumns":
        """Return the table with other columns."""
        return TableColumns({**self.of, **columns})

    def frame(self) -> "pd.DataFrame":
        """Return the table as a frame, a new one."""
        import pandas as pd  # noqa: PLC0415 (slow to import, and seldom needed)

        def of_pandas(values: Values) -> Any:  # noqa: ANN401 (what a frame takes)
            """Return a column as pandas has it."""
            if isinstance(values, Categorical):
                return pd.Categorical.from_codes(values.codes, pd.Index(values.names))
            return values if isinstance(values, np.ndarray) else pd.Series(values, dtype="str")

        return pd.DataFrame({name: of_pandas(values) for name, values in self.of.items()})


def frame_of(table: Table) -> "pd.DataFrame":
    """Return a table as a frame."""
    return table.frame() if isinstance(table, TableColumns) else table


class LazyTable:
    """A field that is given columns or a frame, and read as a frame."""

    def __init__(self, default: TableColumns | None = None) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        """Note what the field is called."""
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> TableColumns: ...
    @overload
    def __get__(self, owner: object, kind: type) -> "pd.DataFrame": ...
    def __get__(self, owner: object | None, kind: type) -> Table:
        """Return the frame; of the class the default, where there is one."""
        if owner is None:
            if self._default is None:
                raise AttributeError(self._name)
            return self._default
        held = vars(owner)[self._name] = frame_of(vars(owner)[self._name])
        return held

    def __set__(self, owner: object, value: Table) -> None:
        """Keep what is given."""
        vars(owner)[self._name] = value


class LazyTables(Mapping[str, "pd.DataFrame"]):
    """Tables by name; each becomes a frame on first use."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = dict(tables)

    def __getitem__(self, name: str) -> "pd.DataFrame":
        """Return a table."""
        held = self._tables[name] = frame_of(self._tables[name])
        return held

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<tables {', '.join(self._tables) or 'none'}>"


def ran(jobs: Table) -> Callable[[str], NDArray[Any]]:
    """Return, as a function of the column's name, rows of jobs that were not dropped."""
    there = np.asarray(jobs["dropped"]) == ""

    def of(name: str) -> NDArray[Any]:
        """Return a column, or what `nodes_used` returns."""
        values = nodes_used(jobs) if name == NODES_USED else np.asarray(jobs[name])
        kept: NDArray[Any] = values[there]
        return kept

    return of


NODES_USED = "nodes used"  # for `ran`
NODE_PART = "node_part"
"""Column of jobs that share nodes: the part of each node that a job counts as."""


def nodes_used(jobs: Table) -> NDArray[Any]:
    """Return the nodes of each row; where jobs share nodes, their parts together."""
    held = jobs.of if isinstance(jobs, TableColumns) else jobs.columns
    size = np.asarray(jobs["n_nodes"])
    if NODE_PART not in held:
        return size
    parts: NDArray[Any] = size * np.nan_to_num(np.asarray(jobs[NODE_PART], dtype=float), nan=1.0)
    return parts


def folded(numbers: Iterable[int]) -> str:
    """Write numbers with ascending runs folded, in any order."""
    return folded_each([np.array(list(numbers), dtype=np.int64)])[0]


def folded_each(lists: Sequence[Ints]) -> list[str]:
    """Write each of some lists as `folded` does, all at once."""
    if not lists:
        return []
    numbers, ends = np.concatenate(lists), np.cumsum([len(own) for own in lists])
    begins = np.ones(numbers.size + 1, dtype=bool)  # of a run; one more for lists of nothing
    begins[1:-1] = np.diff(numbers) != 1
    begins[ends] = True
    first = np.flatnonzero(begins[:-1])
    last = np.append(first, numbers.size)[1:] - 1
    runs = [
        str(a) if a == b else f"{a}-{b}"
        for a, b in zip(numbers[first].tolist(), numbers[last].tolist(), strict=True)
    ]
    until = np.searchsorted(first, ends).tolist()
    return [",".join(runs[a:b]) for a, b in pairwise([0, *until])]
