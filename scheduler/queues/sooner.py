"""Sooner: the bookings of a plan that might begin sooner, found by compiled code."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Bools, Floats
from netsim.kernelcache import load_kernels
from scheduler.queues.freenodes import Booking, FreeNodes

KERNELS = "scheduler.queues.windows_kernels"
_WORD = 64


class _Steps(NamedTuple):
    """When steps begin, whether something becomes free then, and the free nodes of each."""

    times: Floats
    gains: Bools
    rows: NDArray[np.uint64]


def _with_room(times: Floats, gains: Bools, rows: NDArray[np.uint64]) -> _Steps:
    """Return the same steps with room behind them."""
    count, words = rows.shape
    room = count + 16 + count // 2
    longer = _Steps(
        np.empty(room), np.empty(room, dtype=np.bool_), np.empty((room, words), dtype=np.uint64)
    )
    for empty, known in zip(longer, (times, gains, rows), strict=True):
        empty[:count] = known
    return longer


class Sooner:
    """
    Finds windows for bookings; `FreeNodes.windows` tells the same ones, more slowly.

    Parameters
    ----------
    free : FreeNodes
        What all bookings and running jobs leave.
    bookings : sequence of Booking
        In the order in which they are looked at.
    lengths_s : sequence of float
        For how long each of them holds its nodes, in seconds.
    """

    __slots__ = (
        "_bits",
        "_columns",
        "_count",
        "_fresh",
        "_kernels",
        "_own",
        "_scratch",
        "_steps",
    )

    def __init__(
        self, free: FreeNodes, bookings: Sequence[Booking], lengths_s: Sequence[float]
    ) -> None:
        self._kernels = load_kernels(KERNELS, "kernels that look for windows", 3)
        masks = free.nodes
        taken = [booking.taken.nodes for booking in bookings]
        widest = max(mask.bit_length() for mask in (*masks, *taken))
        self._bits = max(1, -(-widest // _WORD)) * _WORD
        self._count = len(masks)
        self._steps = _with_room(
            np.array(free.times),
            np.array([time_s in free.gains for time_s in free.times]),
            self._words(masks),
        )
        self._own = self._words(taken).astype(np.uint64)  # a copy of its own
        self._fresh = np.ones(len(bookings), dtype=np.bool_)
        self._scratch = np.empty((2, self._own.shape[1]), dtype=np.uint64)
        self._columns = (
            np.array([booking.placement.job.n_nodes for booking in bookings], dtype=np.int64),
            np.array(lengths_s, dtype=np.float64),
            np.array([booking.start_s for booking in bookings]),
        )

    def _words(self, masks: Sequence[int]) -> NDArray[np.uint64]:
        """Return masks as rows of words."""
        raw = b"".join([mask.to_bytes(self._bits // 8, "little") for mask in masks])
        return np.frombuffer(raw, dtype="<u8").reshape(len(masks), -1)

    def next(self, first: int, most: int) -> tuple[int, float, int]:
        """
        Find the next booking for which enough nodes are free sooner.

        `first`: with which to begin; after the last comes the first. `most`: how many to look at.
        Result: how many before it there is none for; from when on, and which nodes are free.
        """
        count, (times, gains, rows) = self._count, self._steps
        arrays = times[:count], rows[:count], gains[:count], *self._columns, self._own, self._fresh
        done, step = self._kernels.first_window(*arrays, first, most, self._scratch)
        if step < 0:
            return most, 0.0, 0
        return done, float(times[step]), int.from_bytes(self._scratch[0].tobytes(), "little")

    def move(self, index: int, old: Booking, new: Booking) -> None:
        """Take note that a booking has been moved."""
        lengths_s, begins_s = self._columns[1:]
        self._toggle(old, self._own[index])
        self._own[index] = self._words([new.taken.nodes])[0]
        begins_s[index] = new.start_s
        self._toggle(new, self._own[index])
        # nothing has become free for those that end before the old place of this one
        self._fresh |= begins_s + lengths_s > old.start_s

    def _toggle(self, booking: Booking, nodes: NDArray[np.uint64]) -> None:
        """Enter a booking, or take it out."""
        first, last = self._step_at(booking.start_s), self._step_at(booking.end_s)
        self._steps.gains[last] = True
        self._steps.rows[first:last] ^= nodes

    def _step_at(self, time_s: float) -> int:
        """Return the step that begins at a time, making one if there is none."""
        steps, count = self._steps, self._count
        step = int(steps.times[:count].searchsorted(time_s))
        if step < count and steps.times[step] == time_s:
            return step
        if count == steps.times.size:
            steps = self._steps = _with_room(*steps)
        for each in steps:
            each[step + 1 : count + 1] = each[step:count]
        steps.times[step], steps.gains[step] = time_s, False
        steps.rows[step] = steps.rows[step - 1]
        self._count += 1
        return step
