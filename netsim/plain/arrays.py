"""Arrays for kernels that are run as plain Python: of Python's own numbers, which are faster."""

from array import array
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEW = 8  # rows of a table that are lists of their own
_ROW_TURNS = 2  # turns of a loop that take as long as to make a row and to write it back
_CODES: dict[np.dtype[Any], str] = {
    np.dtype(np.float64): "d",
    np.dtype(np.float32): "f",
    np.dtype(np.int64): "q",
    np.dtype(np.int32): "i",
    np.dtype(np.uint8): "B",
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_IN_ROWS = {np.dtype(kind) for kind in (np.float64, np.int64, np.int32, np.bool_)}


class Exhausted(Exception):  # noqa: N818 (said to nobody but the caller)
    """A kernel takes more steps than it may."""


class _Tally:
    """How much plain kernels may still do, in turns of their loops, about a microsecond each."""

    __slots__ = ("left", "more")

    def __init__(self) -> None:
        self.left = 0
        self.more: Callable[[], int] = int  # asked when nothing is left

    def take(self, turns: int) -> None:
        """Take away turns, or say that there are not so many."""
        self.left -= turns
        if self.left < 0:
            self.left += self.more()
            if self.left < 0:
                raise Exhausted


Tally = _Tally()  # that of the process; Python is slow to write to a class


class Numbers(array):  # type: ignore[type-arg]
    """A list of numbers, as a kernel sees an array of one dimension; its slices are copies."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self)

    @property
    def shape(self) -> tuple[int]:
        """How many there are, in a tuple."""
        return (len(self),)

    def view(self, dtype: Any) -> NDArray[Any]:  # noqa: ANN401 (a type of numbers)
        """Return the numbers as others, to be read."""
        seen = np.frombuffer(self.tobytes(), dtype)
        seen.flags.writeable = False
        return seen

    def argmax(self) -> int:
        """Return the place of the first of the greatest."""
        if any(number != number for number in self):  # noqa: PLR0124 (not a number)
            raise ValueError("compiled code is asked where something is not a number")
        return self.index(max(self))


class Rows:
    """A table of numbers with few rows, each of which can be had."""

    __slots__ = ("rows", "shape")

    def __init__(self, rows: Sequence[Numbers], width: int) -> None:
        """Put rows one below the other."""
        self.rows = list(rows)
        self.shape = len(rows), width

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 (a place, or a row)
        """Return a number, or a row."""
        if type(at) is tuple:
            return self.rows[at[0]][at[1]]
        return self.rows[at]

    def __setitem__(self, at: Any, number: Any) -> None:  # noqa: ANN401 (a place)
        """Put a number in its place, or in all of a row."""
        column = at[1]
        if type(column) is slice:
            row = self.rows[at[0]]
            for place in range(*column.indices(len(row))):
                row[place] = number
        else:
            self.rows[at[0]][column] = number


class Table:
    """Rows with named columns, made of an array when they are looked at."""

    __slots__ = ("rows", "size", "source")

    def __init__(self, source: NDArray[np.void]) -> None:
        fields: Any = source.dtype.fields
        if not _IN_ROWS.issuperset(field[0] for field in fields.values()):
            raise TypeError(f"columns of {source.dtype} are for compiled code")
        self.source = source
        self.size = source.size
        self.rows: list[SimpleNamespace | None] = [None] * self.size

    def __getitem__(self, place: int) -> SimpleNamespace:
        """Return a row; what is changed in it is changed in the table."""
        row = self.rows[place]
        if row is None:
            Tally.take(_ROW_TURNS)
            names: Any = self.source.dtype.names
            row = self.rows[place] = SimpleNamespace(
                **dict(zip(names, self.source[place].item(), strict=True))
            )
        return row

    def __setitem__(self, place: int, row: SimpleNamespace) -> None:
        """Copy a row."""
        vars(self[place]).update(vars(row))

    def changed(self) -> tuple[list[int], NDArray[np.void]]:
        """Return the numbers of the rows that were looked at, and these."""
        places = [place for place, row in enumerate(self.rows) if row is not None]
        seen = [tuple(vars(row).values()) for row in self.rows if row is not None]
        return places, np.array(seen, self.source.dtype)


def plain(values: NDArray[Any]) -> Any:  # noqa: ANN401 (one of several kinds)
    """Return an array as plain kernels take it: a copy, but for rows, which are copied if seen."""
    if values.dtype.names is not None:
        return Table(values)
    code = _CODES.get(values.dtype)
    if code is None:
        return values.copy()
    if values.ndim == 1:
        return Numbers(code, values.tobytes())
    if values.ndim == 2 and 0 < values.shape[0] <= _FEW:  # noqa: PLR2004 (rows and columns)
        return Rows([Numbers(code, row.tobytes()) for row in values], values.shape[1])
    return _viewed(values.copy())


def array_of(values: Any) -> NDArray[Any]:  # noqa: ANN401 (one of several kinds)
    """Return as an array what a plain kernel made, or what it left of an argument."""
    if isinstance(values, array):
        dtype = _DTYPES[values.typecode]
        return np.frombuffer(values, dtype) if values else np.empty(0, dtype)
    if isinstance(values, Rows):
        return np.stack([array_of(row) for row in values.rows])
    if isinstance(values, Table):
        told = values.source.copy()
        places, rows = values.changed()
        told[places] = rows
        return told
    return np.asarray(values)


def made(shape: Any, dtype: Any, fill: Any = 0) -> Any:  # noqa: ANN401 (as NumPy takes them)
    """Return a new array for a plain kernel."""
    kind = np.dtype(dtype)
    code = _CODES.get(kind)
    if code is not None and isinstance(shape, int):
        if shape < 0:
            raise ValueError("compiled code is asked about an array of less than nothing")
        return Numbers(code, array(code, [fill]).tobytes() * shape)
    if code is not None and len(shape) == 2 and 0 < shape[0] <= _FEW:  # noqa: PLR2004
        return Rows([made(shape[1], kind, fill) for _ in range(shape[0])], shape[1])
    fresh: NDArray[Any] = np.full(shape, fill, kind)
    if kind.names is not None:
        return Table(fresh)
    return fresh if code is None else _viewed(fresh)


def _viewed(values: Any) -> memoryview:  # noqa: ANN401 (an array of numbers)
    """Return a view that gives Python's own numbers."""
    return memoryview(values)
