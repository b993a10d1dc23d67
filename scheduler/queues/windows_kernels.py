"""
Compiled steps of free nodes: spans entered and taken out, and the search for windows.

    steps of time    0      1      2     ..  size - 1
    times            now    t1     t2
    place            5      0      7              rows of `step` and `free`
    free[place[1]]   nodes | links  one bit each, set where free from t1 to t2

Steps are put in and taken out without moving rows: ``place[i]`` is the row of step i, and the empty
rows stand behind the last step. Bookings have a row each: what they want, what they will hold, and
from when until when something has become free since they were looked at in vain.

Import through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int64, typeof, types, uint64
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit

Words = NDArray[np.uint64]

STEP = np.dtype(
    [
        ("n_free", "i8"),  # free nodes
        ("ends", "i8"),  # spans that end with it: something becomes free
        ("uses", "i8"),  # spans that begin or end with it
    ]
)
BOOKING = np.dtype(
    [
        ("n_nodes", "i8"),  # that its job wants
        ("length_s", "f8"),
        ("begin_s", "f8"),
        ("freed_from_s", "f8"),  # something has become free then since it was looked at in vain;
        ("freed_until_s", "f8"),  # nothing has where that is not later
    ]
)


class Timeline(NamedTuple):
    """Free nodes and links over time; rows of `step` and `free` by `place`."""

    size: Ints  # (1,): steps
    times: Floats  # in seconds: when each step begins
    place: Ints
    step: NDArray[np.void]  # `STEP`
    free: Words  # (rows, words of nodes, then of links)


class Bookings(NamedTuple):
    """Waiting jobs with a reservation, by row."""

    booking: NDArray[np.void]  # `BOOKING`
    taken: Words  # (rows, words): nodes and links


Steps = tuple[Ints, Floats, Ints, NDArray[np.void], Words]
Line = tuple[NDArray[np.void], Words]

_INTS, _FLOATS, _ROW, _ROWS = int64[::1], float64[::1], uint64[::1], uint64[:, ::1]
_TIMELINE = types.NamedTuple((_INTS, _FLOATS, _INTS, typeof(np.zeros(1, STEP)), _ROWS), Timeline)
_BOOKINGS = types.NamedTuple((typeof(np.zeros(1, BOOKING)), _ROWS), Bookings)
# Python passes plain tuples: numba takes them apart in half the time of named ones (1.8 and 4.2 us)
_STEPS, _LINE = types.Tuple(_TIMELINE.types), types.Tuple(_BOOKINGS.types)
_FOUND = types.Tuple((int64, int64))
_COARSE = 8  # looking at every so many steps rules most windows out

_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@njit(uint64(uint64), cache=True, inline="always")
def _count_word(word: np.uint64) -> np.uint64:
    """Return the set bits of a word."""
    bits = word - ((word >> _ONE) & _PAIRS)
    bits = (bits & _FOURS) + ((bits >> _TWO) & _FOURS)
    bits = (bits + (bits >> _FOUR)) & _EIGHTS
    return np.uint64((bits * _ONES) >> _TOP)


@njit(int64(_TIMELINE, float64), cache=True)
def _step_at(timeline: Timeline, time_s: float) -> int:
    """Return the step that begins at a time after the first one; put it in if there is none."""
    times, place = timeline.times, timeline.place
    count = timeline.size[0]
    step = int(np.searchsorted(times[:count], time_s))
    if step < count and times[step] == time_s:
        return step
    new, before = place[count], place[step - 1]
    for at in range(count, step, -1):
        times[at], place[at] = times[at - 1], place[at - 1]
    times[step], place[step] = time_s, new
    timeline.free[new] = timeline.free[before]
    timeline.step[new].n_free = timeline.step[before].n_free
    timeline.step[new].ends = timeline.step[new].uses = 0
    timeline.size[0] = count + 1
    return step


@njit(types.void(_TIMELINE, int64), cache=True)
def _leave_step(timeline: Timeline, step: int) -> None:
    """Take a step out if no span begins or ends with it any more; never the first one."""
    times, place = timeline.times, timeline.place
    row, last = place[step], timeline.size[0] - 1
    if step == 0 or timeline.step[row].uses > 0:
        return
    for at in range(step, last):
        times[at], place[at] = times[at + 1], place[at + 1]
    place[last] = row
    timeline.size[0] = last


@njit(types.void(_STEPS, float64, float64, _ROW, int64, int64), cache=True)
def span(
    steps: Steps, from_s: float, until_s: float, taken: Words, n_nodes: int, change: int
) -> None:
    """
    Enter a span of time in which nodes and links are taken (`change` 1), or take it out (-1).

    There is room for two more steps; what is over at `from_s`, `until_s` is left out.
    """
    timeline = Timeline(*steps)
    place, step_of = timeline.place, timeline.step
    if until_s <= timeline.times[0]:
        return
    first = 0
    if from_s > timeline.times[0]:
        first = _step_at(timeline, from_s)
        step_of[place[first]].uses += change
    last = _step_at(timeline, until_s)
    step_of[place[last]].uses += change
    step_of[place[last]].ends += change
    for step in range(first, last):
        row = place[step]
        step_of[row].n_free -= change * n_nodes
        for at in range(taken.size):
            timeline.free[row, at] ^= taken[at]
    if change < 0:
        _leave_step(timeline, last)
        if first < last:
            _leave_step(timeline, first)


@njit(types.void(_STEPS, float64), cache=True)
def begin(steps: Steps, now_s: float) -> None:
    """Let the steps begin now: take out what is over."""
    timeline = Timeline(*steps)
    times, place = timeline.times, timeline.place
    count = timeline.size[0]
    past = int(np.searchsorted(times[:count], now_s, side="right")) - 1
    over = place[:past].copy()
    for at in range(past, count):
        times[at - past], place[at - past] = times[at], place[at]
    place[count - past : count] = over
    times[0] = now_s
    timeline.size[0] = count - past


@njit(int64(_TIMELINE, int64, int64, int64, int64, _ROW), cache=True)
def _from_back(
    timeline: Timeline, first: int, stop: int, by: int, n_nodes: int, left: Words
) -> int:
    """Put into `left` what steps have in common; return the last that leaves too little, or -1."""
    free = timeline.free
    left[:] = ~np.uint64(0)
    for step in range(stop - 1, first - 1, -by):
        row, total = timeline.place[step], np.uint64(0)
        for at in range(left.size):
            left[at] &= free[row, at]
            total += _count_word(left[at])
        if np.int64(total) < n_nodes:
            return step
    return -1


@njit(int64(_TIMELINE, int64, int64, int64, _ROW, _ROW), cache=True)
def _common_later(
    timeline: Timeline, step: int, end: int, by: int, own: Words, beyond: Words
) -> int:
    """Keep in `beyond` what more steps and `own` have in common; return the next one to come."""
    free = timeline.free
    while step < end:
        row = timeline.place[step]
        for at in range(beyond.size):
            beyond[at] &= free[row, at] | own[at]
        step += by
    return step


@njit(int64(_ROW, _ROW), cache=True)
def _count_common(one: Words, other: Words) -> int:
    """Count the bits in common."""
    total = np.uint64(0)
    for at in range(one.size):
        total += _count_word(one[at] & other[at])
    return int(total)


@njit(int64(_STEPS, int64, float64, int64, float64, float64, _ROW, _ROWS), cache=True)
def window(
    steps: Steps,
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

    No step before `first`, or from `last_s` on. A booking that begins at `before_s` and holds `own`
    is thought away; NaN: there is none. `scratch`: three rows of words of nodes; the first gets
    those that are free.
    """
    timeline = Timeline(*steps)
    times, place, step_of = timeline.times, timeline.place, timeline.step
    count, left = timeline.size[0], scratch[0]
    split = int(np.searchsorted(times[:count], before_s))
    end = first
    enough = first  # the step before which each one has so many free nodes, by itself
    # rows 1 and 2 of `scratch`: what some, and all, steps from `split` on have in common with `own`
    scratch[1:] = ~np.uint64(0)
    some = every = split  # the steps up to which they are filled
    while first < split and times[first] < last_s:
        if first > 0 and step_of[place[first]].ends == 0:  # nothing is freed then
            first += 1
            continue
        until_s = times[first] + length_s
        end = max(end, first + 1)
        while end < count and times[end] < until_s:
            end += 1
        stop = min(end, split)
        bad, floor = stop - 1, max(enough, first)
        while bad >= floor and step_of[place[bad]].n_free >= n_nodes:
            bad -= 1
        enough = max(enough, stop)
        found = False
        if bad < floor:
            bad = _from_back(timeline, first, stop, _COARSE, n_nodes, left)
        if bad < 0:
            some = _common_later(timeline, some, end, _COARSE, own, scratch[1])
            found = _count_common(left, scratch[1]) >= n_nodes
        if found:
            bad = _from_back(timeline, first, stop, 1, n_nodes, left)
        if found and bad < 0:
            every = _common_later(timeline, every, end, 1, own, scratch[2])
            found = _count_common(left, scratch[2]) >= n_nodes
        if bad >= 0:  # no window that begins before a step with too few left has enough either
            first = bad + 1
        elif found:
            left &= scratch[2]
            return first
        else:
            first += 1
    return -1


@njit(_FOUND(_STEPS, _LINE, _INTS, int64, int64, float64, _ROWS), cache=True)
def first_window(
    steps: Steps,
    line: Line,
    order: Ints,
    first: int,
    most: int,
    after_s: float,
    scratch: Words,
) -> tuple[int, int]:
    """
    Find the next booking for which enough nodes are free sooner.

    Bookings are rows of `order` from `first` on, then from the start, at most `most`; for the first
    one only steps after `after_s`. Returns how many before it there is none for, and the step, or
    -1.
    """
    timeline, bookings = Timeline(*steps), Bookings(*line)
    times = timeline.times[: timeline.size[0]]
    for done in range(most):
        row = order[(first + done) % order.size]
        look = bookings.booking[row]
        if look.freed_from_s < look.freed_until_s:
            # a window that ends by then has nothing that became free
            start = int(np.searchsorted(times, look.freed_from_s - look.length_s))
            start = max(0, start - 1)
            if done == 0:
                start = max(start, int(np.searchsorted(times, after_s, side="right")))
            step = window(
                steps,
                start,
                look.freed_until_s,
                look.n_nodes,
                look.length_s,
                look.begin_s,
                bookings.taken[row],
                scratch,
            )
            if step >= 0:
                return done, step
            look.freed_from_s, look.freed_until_s = np.inf, -np.inf
    return most, -1


@njit(types.void(_LINE, float64, float64), cache=True)
def freed(line: Line, from_s: float, until_s: float) -> None:
    """Take note that something has become free between two times."""
    bookings = Bookings(*line)
    for row in range(bookings.booking.size):
        look = bookings.booking[row]
        if look.begin_s + look.length_s > from_s:
            look.freed_from_s = min(look.freed_from_s, from_s)
            look.freed_until_s = max(look.freed_until_s, until_s)


@njit(types.void(_STEPS, int64, float64, float64, _ROW, int64, _ROW), cache=True)
def common(
    steps: Steps,
    first: int,
    until_s: float,
    before_s: float,
    own: Words,
    skip: int,
    left: Words,
) -> None:
    """Put into `left` what is free from a step on until some time, without so many first words."""
    timeline = Timeline(*steps)
    times = timeline.times[: timeline.size[0]]
    left[:] = ~np.uint64(0)
    step = first
    while step == first or (step < times.size and times[step] < until_s):
        later = times[step] >= before_s
        row = timeline.place[step]
        for at in range(left.size):
            here = timeline.free[row, skip + at]
            left[at] &= here | own[skip + at] if later else here
        step += 1
