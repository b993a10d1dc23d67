"""
Compiled reader of the host lists of many jobs.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, int64, types, uint8

from netsim.arrays import Ints
from netsim.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_BYTES = types.Array(uint8, 1, "C", readonly=True)
_COMMA, _DASH, _OPEN, _CLOSE, _ZERO = 44, 45, 91, 93, 48
_MOST_DIGITS = 9
_BAD = -1


@njit(cache=True)
def _digits(letters: Ints, at: int, stop: int) -> int:
    """Return the place after the digits that begin here."""
    while at < stop and _ZERO <= letters[at] < _ZERO + 10 and at >= 0:
        at += 1
    return at


@njit(cache=True)
def _number(letters: Ints, at: int, end: int, width: int) -> int:
    """Return a number, -1 where it is not written as the names of the fabric are."""
    if end == at or end - at > _MOST_DIGITS or (width and end - at != width):
        return _BAD
    if not width and letters[at] == _ZERO and end - at > 1:
        return _BAD
    value = 0
    for place in range(at, end):
        value = 10 * value + (letters[place] - _ZERO)
    return value


@njit(cache=True)
def _written(first: int, last: int, table: Ints, out: Ints, place: int, write: bool) -> int:
    """Write the nodes of a range and return the place after them, -1 where one is unknown."""
    if first < 0 or last < first or last >= table.size:
        return _BAD
    for number in range(first, last + 1):
        if table[number] < 0:
            return _BAD
        if write:
            out[place + number - first] = table[number]
    return place + last - first + 1


@njit(cache=True)
def _row(
    letters: Ints, at: int, stop: int, stem: Ints, width: int, table: Ints, out: Ints, place: int,
    write: bool,
) -> int:  # fmt: skip
    """Read the list of a job and return the place after its nodes, -1 where it is unusual."""
    while at < stop:
        if stop - at <= stem.size:
            return _BAD
        for letter in range(stem.size):
            if letters[at + letter] != stem[letter]:
                return _BAD
        at += stem.size
        inside = letters[at] == _OPEN
        at += inside
        while True:
            end = _digits(letters, at, stop)
            first = last = _number(letters, at, end, width)
            at = end
            if inside and at < stop and letters[at] == _DASH:
                end = _digits(letters, at + 1, stop)
                last = _number(letters, at + 1, end, width)
                at = end
            place = _written(first, last, table, out, place, write)
            if place < 0:
                return _BAD
            if not inside or at >= stop or letters[at] != _COMMA:
                break
            at += 1
        if inside:
            if at >= stop or letters[at] != _CLOSE:
                return _BAD
            at += 1
        if at < stop:
            if letters[at] != _COMMA or at + 1 == stop:
                return _BAD
            at += 1
    return place


@njit(int64[::1](_BYTES, _INTS, _BYTES, int64, _INTS, int64[::1], int64[::1], boolean), cache=True)
def read_hosts(
    letters: Ints, start: Ints, stem: Ints, width: int, table: Ints, begin: Ints, out: Ints,
    write: bool,
) -> Ints:  # fmt: skip
    """
    Read host lists such as ``n[3-5,9]``.

    `letters`: all lists, one after the other; `start` (J + 1,): where each begins. `stem`: what the
    names begin with; `width`: digits after it, 0: as many as the number needs. `table`: node by its
    number, -1: none. `begin` (J,): where the nodes of each list are written in `out`. Result (J,):
    nodes of each list, -1 for lists that are written otherwise.
    """
    found = np.empty(start.size - 1, np.int64)
    for row in range(start.size - 1):
        own = begin[row] if write else 0
        end = _row(letters, start[row], start[row + 1], stem, width, table, out, own, write)
        found[row] = end - own if end >= 0 else _BAD
    return found
