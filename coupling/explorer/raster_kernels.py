"""
Compiled rasteriser of jobs on nodes over time.

Import through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit


class Cells(NamedTuple):
    """What jobs do in each cell: share of its time and nodes, weight, and whose it mostly is."""

    busy: Floats
    weight: Floats
    top: Ints  # job that fills most of the cell; -1: idle
    most: Floats  # how much that job fills


_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
_TABLE = float64[:, ::1]
_CELLS = types.NamedTuple((_TABLE, _TABLE, int64[:, ::1], _TABLE), Cells)


@njit(cache=True)
def _first_after(values: Floats, low: int, high: int, bound: float) -> int:
    """Return the first place in an ascending part of a list whose value is above a bound."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > bound:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def _add_bar(
    cells: Cells, row: int, own: int, begin: float, end: float, weight: float, share: float
) -> None:
    """Add a bar to the cells of a row; `begin` and `end` are in columns."""
    columns = cells.busy.shape[1]
    first, last = int(begin), min(int(np.ceil(end)), columns)
    for column in range(first, last):
        part = min(end, column + 1.0) - max(begin, float(column))
        if part > 0.0:
            filled = part * share
            cells.busy[row, column] += filled
            cells.weight[row, column] += filled * weight
            if filled > cells.most[row, column]:
                cells.most[row, column] = filled
                cells.top[row, column] = own


@njit(
    types.void(
        types.UniTuple(_INTS, 2), types.UniTuple(_FLOATS, 3), _FLOATS, types.UniTuple(float64, 4),
        _CELLS,
    ),
    cache=True,
)  # fmt: skip
def fill(
    bars: tuple[Ints, Ints],
    times: tuple[Floats, Floats, Floats],
    weight: Floats,
    window: tuple[float, float, float, float],
    cells: Cells,
) -> None:
    """Draw bars of jobs on nodes into empty `cells`."""
    # bars: begin of each node's bars (N + 1,), job of each; times: start and end (J,), latest end
    # on the node up to each bar; weight (J,); window: times, and nodes in fractions.
    begin_of, job = bars
    start, end, latest = times
    begin_s, end_s, low, high = window
    rows, columns = cells.busy.shape
    scale = columns / (end_s - begin_s)
    tall = (high - low) / rows
    for node in range(max(0, int(low)), min(begin_of.size - 1, int(np.ceil(high)))):
        here, last = begin_of[node], begin_of[node + 1]
        first = _first_after(latest, here, last, begin_s)
        row_low = (max(float(node), low) - low) / tall
        row_high = (min(node + 1.0, high) - low) / tall
        for bar in range(first, last):
            own = job[bar]
            if start[own] >= end_s:
                break
            left = max(start[own] - begin_s, 0.0) * scale
            right = min((end[own] - begin_s) * scale, float(columns))
            if right <= left:
                continue
            for row in range(int(row_low), min(int(np.ceil(row_high)), rows)):
                share = min(row_high, row + 1.0) - max(row_low, float(row))
                if share > 0.0:
                    _add_bar(cells, row, own, left, right, weight[own], share)
