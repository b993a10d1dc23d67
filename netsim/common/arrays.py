"""Names for the array types that the package passes around, and the check of lists of numbers."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bits = NDArray[np.uint64]
Table = NDArray[np.void]  # rows with named columns

_INT, _UNSIGNED = np.dtype(np.int64), np.dtype(np.uint64)


def distinct(values: Ints) -> Ints:
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
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        raise error(f"{expected}, got lists in each other.") from None
    if array.ndim != 1:
        raise error(f"{expected}, got an array of {array.ndim} dimensions.")
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
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        raise error(f"{expected}, got lists in each other.") from None
    if array.ndim != 1:
        raise error(f"{expected}, got an array of {array.ndim} dimensions.")
    if array.size and array.dtype.kind not in "iuf":
        raise error(f"{expected}, got {array.dtype} such as {array[0]!r}.")
    found = array.astype(np.float64, copy=False)
    fits = np.isfinite(found) & (found >= least)
    if not fits.all():
        place = int(np.argmin(fits))
        raise error(f"{expected}, got {found[place]:g} at place {place}.")
    return found
