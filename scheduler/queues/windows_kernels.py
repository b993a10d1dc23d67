"""
Compiled search for windows: which bookings can certainly not begin sooner.

It answers as `scheduler.queues.freenodes.FreeNodes.windows` would. Import through
`netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float64, int64, njit, types, uint64
from numpy.typing import NDArray

from netsim.arrays import Bools, Floats, Ints

Words = NDArray[np.uint64]

_ROW = types.Array(uint64, 1, "C")
_ROWS = types.Array(uint64, 2, "C")
_FLOATS = types.Array(float64, 1, "C")
_INTS = types.Array(int64, 1, "C")
_BOOLS = types.Array(boolean, 1, "C")
_FOUND = types.Tuple((int64, int64))  # type: ignore[no-untyped-call]

_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@njit(uint64(uint64), cache=True, inline="always")
def _count(word: np.uint64) -> np.uint64:
    """Return the set bits of a word."""
    bits = word - ((word >> _ONE) & _PAIRS)
    bits = (bits & _FOURS) + ((bits >> _TWO) & _FOURS)
    bits = (bits + (bits >> _FOUR)) & _EIGHTS
    return np.uint64((bits * _ONES) >> _TOP)


@njit(int64(_ROWS, _ROW, int64, int64, int64), cache=True)
def _from_back(free: Words, left: Words, first: int, stop: int, n_nodes: int) -> int:
    """Put into `left` what steps have in common; return the last that leaves too little, or -1."""
    left[:] = ~np.uint64(0)
    for step in range(stop - 1, first - 1, -1):
        total = np.uint64(0)
        for at in range(left.size):
            left[at] &= free[step, at]
            total += _count(left[at])
        if np.int64(total) < n_nodes:
            return step
    return -1


@njit(int64(_FLOATS, _ROWS, _BOOLS, int64, float64, float64, _ROW, _ROWS), cache=True)
def _window(
    times: Floats,
    free: Words,
    gains: Bools,
    n_nodes: int,
    length_s: float,
    before_s: float,
    own: Words,
    scratch: Words,
) -> int:
    """
    Return the first step with which a booking may begin sooner, or -1.

    `times`, `free`, `gains`: of each step when it begins, its free nodes, and whether anything
    becomes free then. `before_s`, `own`: when the booking begins, and its nodes. `scratch`: two
    rows; the first one gets the nodes.
    """
    left, beyond = scratch[0], scratch[1]
    split = int(np.searchsorted(times, before_s))
    first, end, known = 0, 0, split  # known: the step up to which `beyond` is filled
    beyond[:] = ~np.uint64(0)
    while first < split:
        if not gains[first]:
            first += 1
            continue
        until_s = times[first] + length_s
        end = max(end, first + 1)
        while end < times.size and times[end] < until_s:
            end += 1
        bad = _from_back(free, left, first, min(end, split), n_nodes)
        if bad >= 0:
            first = bad + 1
            continue
        while known < end:
            for at in range(own.size):
                beyond[at] &= free[known, at] | own[at]
            known += 1
        total = np.uint64(0)
        for at in range(own.size):
            left[at] &= beyond[at]
            total += _count(left[at])
        if np.int64(total) >= n_nodes:
            return first
        first += 1
    return -1


@njit(
    _FOUND(_FLOATS, _ROWS, _BOOLS, _INTS, _FLOATS, _FLOATS, _ROWS, _BOOLS, int64, int64, _ROWS),
    cache=True,
)
def first_window(
    times: Floats,
    free: Words,
    gains: Bools,
    sizes: Ints,
    lengths_s: Floats,
    begins_s: Floats,
    own: Words,
    fresh: Bools,
    first: int,
    most: int,
    scratch: Words,
) -> tuple[int, int]:
    """
    Find the next booking for which enough nodes are free sooner.

    `times`, `free`, `gains`: by step. `sizes`, `lengths_s`, `begins_s`, `own`: by booking, and
    whether it is worth looking at. `first`: with which to begin; after the last comes the first.
    `most`: how many to look at. `scratch`: two rows; the first one gets the nodes.

    Result: how many before it there is none for, and the step, or -1.
    """
    for done in range(most):
        at = (first + done) % sizes.size
        if fresh[at]:
            step = _window(
                times, free, gains, sizes[at], lengths_s[at], begins_s[at], own[at], scratch
            )
            if step >= 0:
                return done, step
            fresh[at] = False
    return most, -1
