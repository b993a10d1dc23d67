"""
Compiled steps of free nodes: spans entered and taken out, and the search for windows.

A step has a place, so that steps are put in and taken out without moving what is known of them:
``place[i]`` is that of step i, and behind the last step stand the empty places. ``size`` holds the
number of steps and ``times`` when they begin; by place, ``steps`` has how many nodes are free and
how many spans end or have an end with the step, and ``free`` a row of words: the free nodes, then
the free links. By row of a booking, ``wants`` has how many nodes its job wants, ``own`` what it
will hold, and ``spans``, in seconds, its length, its begin, and from when until when something has
become free since it was looked at in vain.

They answer as `scheduler.queues.free_nodes.FreeNodes` would. Import through `netsim.common.jit`.
"""

import numpy as np
from numba import float64, int64, types, uint64
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit

Words = NDArray[np.uint64]

_INTS, _FLOATS, _ROW, _ROWS = int64[::1], float64[::1], uint64[::1], uint64[:, ::1]
_TIMES = (_INTS, _FLOATS, _INTS)
_COUNTS, _SPANS = int64[:, ::1], float64[:, ::1]
N_FREE, ENDS, USES = range(3)  # columns of `steps`
_COARSE = 8  # every so many steps tell most windows that have too few
LENGTH_S, BEGIN_S, FROM_S, UNTIL_S = range(4)  # of `spans`
_FOUND = types.Tuple((int64, int64))

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


@njit(int64(*_TIMES, _ROWS, _COUNTS, float64), cache=True)
def _step_at(
    size: Ints, times: Floats, place: Ints, free: Words, steps: Ints, time_s: float
) -> int:
    """Return the step that begins at a time after the first one; put it in if there is none."""
    count = size[0]
    step = int(np.searchsorted(times[:count], time_s))
    if step < count and times[step] == time_s:
        return step
    new, before = place[count], place[step - 1]
    for at in range(count, step, -1):
        times[at], place[at] = times[at - 1], place[at - 1]
    times[step], place[step] = time_s, new
    free[new] = free[before]
    steps[new, N_FREE], steps[new, ENDS], steps[new, USES] = steps[before, N_FREE], 0, 0
    size[0] = count + 1
    return step


@njit(types.void(*_TIMES, _COUNTS, int64), cache=True)
def _leave(size: Ints, times: Floats, place: Ints, steps: Ints, step: int) -> None:
    """Take a step out if no span begins or ends with it any more; never the first one."""
    left, last = place[step], size[0] - 1
    if step == 0 or steps[left, USES] > 0:
        return
    for at in range(step, last):
        times[at], place[at] = times[at + 1], place[at + 1]
    place[last] = left
    size[0] = last


@njit(types.void(*_TIMES, _ROWS, _COUNTS, float64, float64, _ROW, int64, int64), cache=True)
def span(
    size: Ints,
    times: Floats,
    place: Ints,
    free: Words,
    steps: Ints,
    from_s: float,
    until_s: float,
    taken: Words,
    n_nodes: int,
    change: int,
) -> None:
    """
    Enter a span of time in which nodes and links are taken, or take it out.

    There is room for two more steps. `from_s`, `until_s`: what is over is left out. `n_nodes`: of
    those taken. `change`: 1 to enter it, -1 to take it out.
    """
    if until_s <= times[0]:
        return
    first = 0
    if from_s > times[0]:
        first = _step_at(size, times, place, free, steps, from_s)
        steps[place[first], USES] += change
    last = _step_at(size, times, place, free, steps, until_s)
    steps[place[last], USES] += change
    steps[place[last], ENDS] += change
    for step in range(first, last):
        row = place[step]
        steps[row, N_FREE] -= change * n_nodes
        for at in range(taken.size):
            free[row, at] ^= taken[at]
    if change < 0:
        _leave(size, times, place, steps, last)
        if first < last:
            _leave(size, times, place, steps, first)


@njit(types.void(*_TIMES, float64), cache=True)
def begin(size: Ints, times: Floats, place: Ints, now_s: float) -> None:
    """Let the steps begin now: take out what is over."""
    count = size[0]
    past = int(np.searchsorted(times[:count], now_s, side="right")) - 1
    over = place[:past].copy()
    for at in range(past, count):
        times[at - past], place[at - past] = times[at], place[at]
    place[count - past : count] = over
    times[0] = now_s
    size[0] = count - past


@njit(int64(_INTS, _ROWS, int64, int64, int64, int64, _ROW), cache=True)
def _from_back(
    place: Ints, free: Words, first: int, stop: int, by: int, n_nodes: int, left: Words
) -> int:
    """Put into `left` what steps have in common; return the last that leaves too little, or -1."""
    left[:] = ~np.uint64(0)
    for step in range(stop - 1, first - 1, -by):
        row, total = place[step], np.uint64(0)
        for at in range(left.size):
            left[at] &= free[row, at]
            total += _count(left[at])
        if np.int64(total) < n_nodes:
            return step
    return -1


@njit(int64(_INTS, _ROWS, int64, int64, int64, _ROW, _ROW), cache=True)
def _later(
    place: Ints, free: Words, step: int, end: int, by: int, own: Words, beyond: Words
) -> int:
    """Keep in `beyond` what more steps and `own` have in common; return the next one to come."""
    while step < end:
        row = place[step]
        for at in range(beyond.size):
            beyond[at] &= free[row, at] | own[at]
        step += by
    return step


@njit(int64(_ROW, _ROW), cache=True)
def _both(one: Words, other: Words) -> int:
    """Count the bits in common."""
    total = np.uint64(0)
    for at in range(one.size):
        total += _count(one[at] & other[at])
    return int(total)


@njit(
    int64(*_TIMES, _ROWS, _COUNTS, int64, float64, int64, float64, float64, _ROW, _ROWS),
    cache=True,
)
def window(
    size: Ints,
    times: Floats,
    place: Ints,
    free: Words,
    steps: Ints,
    first: int,
    last_s: float,
    n_nodes: int,
    length_s: float,
    before_s: float,
    own: Words,
    scratch: Words,
) -> int:
    """
    Return the first step from which so many nodes are free for so long, or -1.

    `first`, `last_s`: no step before it, or from then on. `before_s`, `own`: when a booking begins
    that is thought away, and what it holds; only steps before; not a number: there is none.
    `scratch`: three rows of the words of nodes; the first one gets those that are free.
    """
    count, left = size[0], scratch[0]
    split = int(np.searchsorted(times[:count], before_s))
    end = first
    enough = first  # the step before which each one has so many free nodes, by itself
    # rows 1 and 2 of `scratch`: what some, and all, steps from `split` on have in common with `own`
    scratch[1:] = ~np.uint64(0)
    some = every = split  # the steps up to which they are filled
    while first < split and times[first] < last_s:
        if first > 0 and steps[place[first], ENDS] == 0:  # nothing is freed then
            first += 1
            continue
        until_s = times[first] + length_s
        end = max(end, first + 1)
        while end < count and times[end] < until_s:
            end += 1
        stop = min(end, split)
        bad, floor = stop - 1, max(enough, first)
        while bad >= floor and steps[place[bad], N_FREE] >= n_nodes:
            bad -= 1
        enough = max(enough, stop)
        found = False
        if bad < floor:  # some steps tell most windows that have too few
            bad = _from_back(place, free, first, stop, _COARSE, n_nodes, left)
        if bad < 0:
            some = _later(place, free, some, end, _COARSE, own, scratch[1])
            found = _both(left, scratch[1]) >= n_nodes
        if found:
            bad = _from_back(place, free, first, stop, 1, n_nodes, left)
        if found and bad < 0:
            every = _later(place, free, every, end, 1, own, scratch[2])
            found = _both(left, scratch[2]) >= n_nodes
        if bad >= 0:  # no window that begins before a step with too few left has enough either
            first = bad + 1
        elif found:
            left &= scratch[2]
            return first
        else:
            first += 1
    return -1


@njit(
    _FOUND(*_TIMES, _ROWS, _COUNTS, _INTS, _SPANS, _ROWS, _INTS, int64, int64, float64, _ROWS),
    cache=True,
)
def first_window(
    size: Ints,
    times: Floats,
    place: Ints,
    free: Words,
    steps: Ints,
    wants: Ints,
    spans: Floats,
    own: Words,
    order: Ints,
    first: int,
    most: int,
    after_s: float,
    scratch: Words,
) -> tuple[int, int]:
    """
    Find the next booking for which enough nodes are free sooner.

    `order`: rows of bookings. `first`: with which to begin; after the last comes the first. `most`:
    how many to look at. `after_s`: for that one only later steps. `scratch`: as for `window`.

    Result: how many before it there is none for, and the step, or -1.
    """
    for done in range(most):
        row = order[(first + done) % order.size]
        look = spans[row]
        if look[FROM_S] < look[UNTIL_S]:
            first_s = look[FROM_S] - look[LENGTH_S]  # who ends by then saw nothing become free
            start = max(0, int(np.searchsorted(times[: size[0]], first_s)) - 1)
            if done == 0:
                start = max(start, int(np.searchsorted(times[: size[0]], after_s, side="right")))
            step = window(
                size,
                times,
                place,
                free,
                steps,
                start,
                look[UNTIL_S],
                wants[row],
                look[LENGTH_S],
                look[BEGIN_S],
                own[row],
                scratch,
            )
            if step >= 0:
                return done, step
            look[FROM_S], look[UNTIL_S] = np.inf, -np.inf
    return most, -1


@njit(types.void(_SPANS, float64, float64), cache=True)
def freed(spans: Floats, from_s: float, until_s: float) -> None:
    """Take note that something has become free between two times."""
    for row in range(len(spans)):
        if spans[row, BEGIN_S] + spans[row, LENGTH_S] > from_s:
            spans[row, FROM_S] = min(spans[row, FROM_S], from_s)
            spans[row, UNTIL_S] = max(spans[row, UNTIL_S], until_s)


@njit(types.void(*_TIMES, _ROWS, int64, float64, float64, _ROW, int64, _ROW), cache=True)
def common(
    size: Ints,
    times: Floats,
    place: Ints,
    free: Words,
    first: int,
    until_s: float,
    before_s: float,
    own: Words,
    skip: int,
    left: Words,
) -> None:
    """
    Put into `left` what is free from a step on until some time, without so many first words.

    `before_s`, `own`: as for `window`.
    """
    left[:] = ~np.uint64(0)
    step = first
    while step == first or (step < size[0] and times[step] < until_s):
        later = times[step] >= before_s
        for at in range(left.size):
            here = free[place[step], skip + at]
            left[at] &= here | own[skip + at] if later else here
        step += 1
