"""Types of arrays, their checks, and records of arrays as tables."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fabricsim.checking.documents import json_fields, json_value

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bits = NDArray[np.uint64]
Table = NDArray[np.void]  # rows with named columns

_INT, _UNSIGNED = np.dtype(np.int64), np.dtype(np.uint64)


def as_blocks(table: Table) -> Table:
    """Return the same rows without their columns: NumPy copies these ten times as fast."""
    return table.view(f"V{table.itemsize}")


def copied_rows(table: Table) -> Table:
    """Return a copy of a table."""
    return as_blocks(table).copy().view(table.dtype)


def distinct_numbers(values: Ints) -> Ints:
    """Return whole numbers ascending, each once: `numpy.unique` would load masked arrays for it."""
    ascending = np.sort(values, axis=None)
    if not ascending.size:
        return ascending
    first = np.empty(ascending.size, np.bool_)
    first[0] = True
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]


def numbers_below(name: str, values: object, below: int, error: type[ValueError]) -> Ints:
    """Return a list of whole numbers from 0 as an array, or say what is none."""
    if type(values) is np.ndarray and values.dtype is _INT and values.ndim == 1 and values.size:
        unsigned = values.view(_UNSIGNED)  # those below 0 are the greatest
        if unsigned.item(unsigned.argmax()) < below:  # five times as fast as `max`
            return values
    expected = f"{name}: expected a list of whole numbers 0..{below - 1}"
    array = _as_line(values, expected, error)
    if not array.size:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise error(f"{expected}, got {array.dtype} such as {array[0]!r}.")
    if not 0 <= array.min() <= array.max() < below:
        place = int(np.argmax((array < 0) | (array >= below)))
        raise error(f"{expected}, got {array[place]} at place {place}.")
    return array.astype(np.int64, copy=False)


def numbers_from(name: str, values: object, least: float, error: type[ValueError]) -> Floats:
    """Return a list of finite numbers as an array, or say what is none."""
    expected = f"{name}: expected a list of finite numbers from {least:g}"
    array = _as_line(values, expected, error)
    if array.size and array.dtype.kind not in "iuf":
        raise error(f"{expected}, got {array.dtype} such as {array[0]!r}.")
    found = array.astype(np.float64, copy=False)
    fits = np.isfinite(found) & (found >= least)
    if not fits.all():
        place = int(np.argmin(fits))
        raise error(f"{expected}, got {found[place]:g} at place {place}.")
    return found


def _as_line(values: object, expected: str, error: type[ValueError]) -> np.ndarray[Any, Any]:
    """Return values as an array of one dimension."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        raise error(f"{expected}, got lists in each other.") from None
    if array.ndim != 1:
        raise error(f"{expected}, got an array of {array.ndim} dimensions.")
    return array


class Tabled:
    """Base of answers, data classes with rows, which notebooks show as a table."""

    __slots__ = ()
    _ROWS: ClassVar[str] = "jobs"  # field that holds the rows

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints: fields as in docs/reference/commands."""
        return json_fields(self)

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the rows: fields by name."""
        rows: list[dict[str, Any]] = json_value(getattr(self, self._ROWS))
        return rows

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a table: one for each job or flow."""
        import pandas as pd  # noqa: PLC0415 (slow to import, and rarely needed)

        rows = self._table_rows()
        frame = pd.DataFrame(rows)
        for name in frame.columns:
            values = [row.get(name) for row in rows]
            there = [value for value in values if value is not None]
            kinds = {type(one) for one in there}
            if kinds == {int} and len(there) < len(values):
                frame[name] = pd.array(values, dtype="Int64")  # pandas would make 4105 4105.0
            elif kinds == {int, str}:  # ids such as 4105 and 4106_3: files want one type
                frame[name] = [None if one is None else str(one) for one in values]
        return frame

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it."""
        return str(self.to_frame().to_html(max_rows=20))


def occurrence_numbers(key: Ints) -> Ints:
    """Return how many earlier entries are equal (n,): 0 for the first of its kind."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    number = np.arange(key.size) - np.repeat(first, np.diff(first, append=key.size))
    found = np.empty_like(number)
    found[order] = number
    return found
