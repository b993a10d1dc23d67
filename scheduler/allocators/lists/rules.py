"""
The rules of Stoltzfus13 on bare lists: places of free nodes in, places of a job out.

A list ascends; the *gap* between two free nodes is the difference of their places, so nodes
next to each other have gap 1. All callers make sure that the list is long enough.
"""

from collections.abc import Iterator

import numpy as np

from netsim.common.arrays import Ints


def first_fit(free: Ints, size: int, gap: int) -> Ints:
    """
    Take the first run that is long enough; else halve the job and place both halves so.

    `free` (F,): places of free nodes. `size`: nodes of the job, 1..F. Result (size,): places of the
    job, run after run.

    Stoltzfus13, Figure 11. Of an odd number the first half is the smaller one: the figure says
    "in half", and whole numbers are halved downwards in the language of its simulator.
    """
    pieces: list[Ints] = []
    wanted = [size]
    while wanted:
        now = wanted.pop()
        starts, lengths = runs(free, gap)
        fits = lengths >= now
        if fits.any():
            start = int(starts[fits.argmax()])
            pieces.append(free[start : start + now])
            free = np.concatenate((free[:start], free[start + now :]))
        else:
            wanted += [now - now // 2, now // 2]
    return np.concatenate(pieces)


def largest_fit(free: Ints, size: int, gap: int, *, whole_runs: bool) -> Ints:
    """
    Take the first run that is long enough, else the longest one and go on with the rest.

    `free` (F,): places of free nodes. `size`: nodes of the job, 1..F. Result (size,): places of the
    job, run after run.

    Stoltzfus13, Figure 18, where the node that ends a run is left out of the next one: the list
    is cleared, and that node is not put into it (unlike in Figure 11).
    """
    pieces: list[Ints] = []
    while size:
        if free.size == size:
            pieces.append(free)
            break
        starts, lengths = runs(free, gap)
        if not whole_runs:
            starts, lengths = _as_printed(starts, lengths)
        fits = lengths >= size
        chosen = int(fits.argmax() if fits.any() else lengths.argmax())
        start, length = int(starts[chosen]), min(size, int(lengths[chosen]))
        pieces.append(free[start : start + length])
        free = np.concatenate((free[:start], free[start + length :]))
        size -= length
    return np.concatenate(pieces)


def closest_fit(free: Ints, size: int, gap: int) -> Ints:
    """
    Take the window whose largest gap is least.

    `free` (F,): places of free nodes. `size`: nodes of the job, 1..F. Result (size,): places of the
    job: `size` successive free nodes, the first such of equals.

    Stoltzfus13, Figure 23. The largest gaps of all windows together, by doubling the window:
    O(F log size).
    """
    if size == 1:
        return free[:1]
    largest = np.diff(free)
    width = 1
    while width < size - 1:
        more = min(width, size - 1 - width)
        largest = np.maximum(largest[:-more], largest[more:])
        width += more
    start = int(np.maximum(largest, gap).argmin())
    return free[start : start + size]


def runs(free: Ints, gap: int) -> tuple[Ints, Ints]:
    """
    Part a list where the gap is larger than allowed.

    `free` (F,): places of free nodes, F at least 1. Result: `starts`, `lengths` (R,): index of the
    first node of each run in the list, and its nodes.

    Examples
    --------
    >>> runs(np.array([3, 4, 6, 9, 10]), 2)
    (array([0, 3]), array([3, 2]))
    """
    breaks = np.flatnonzero(np.diff(free) > gap) + 1
    starts = np.concatenate((np.zeros(1, dtype=np.int64), breaks))
    return starts, np.diff(starts, append=free.size)


def _as_printed(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Leave out the first node of each run that follows on a list that is not empty."""
    dropped = np.fromiter(_drops(lengths.tolist()), dtype=np.int64, count=lengths.size)
    return starts + dropped, lengths - dropped


def _drops(lengths: list[int]) -> Iterator[int]:
    """Yield 1 for each run that loses its first node; a run of that node alone empties the list."""
    filled = False
    for length in lengths:
        yield int(filled)
        filled = length - filled > 0
