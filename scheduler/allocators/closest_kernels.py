"""
Compiled search for the window of a list with the least sum of hops over its pairs.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, int16, int64, njit, types
from numpy.typing import NDArray

from netsim.arrays import Ints

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)


@njit(boolean(types.Array(int16, 2, "C", readonly=True)), cache=True)
def is_metric(table: NDArray[np.int16]) -> bool:
    """Say whether no detour is shorter than the direct way in a symmetric table."""
    size = table.shape[0]
    for x in range(size):
        for z in range(size):
            to_z = table[x, z]
            shorter = 0
            for y in range(size):
                shorter += table[x, y] > to_z + table[z, y]
            if shorter:
                return False
    return True


@njit(int64(_TABLE, _TABLE, _INTS, int64, int64, int64, int64), cache=True)
def _to_window(
    row: Ints, column: Ints, hops: Ints, node: int, first: int, end: int, skipped: int
) -> int:
    """Return the hops from a node to the nodes first..end-1 without one of them."""
    total = 0
    for other in range(first, end):
        if other != skipped:
            for part in range(row.shape[1]):
                total += hops[row[node, part] + column[other, part]]
    return total


@njit(int64(_TABLE, _TABLE, _INTS, int64, int64), cache=True)
def _window(row: Ints, column: Ints, hops: Ints, first: int, size: int) -> int:
    """Return the sum over the pairs of a window."""
    total = 0
    for node in range(first + 1, first + size):
        total += _to_window(row, column, hops, node, first, node, -1)
    return total


@njit(int64(_TABLE, _TABLE, _INTS, int64, boolean), cache=True)
def best_window(row: Ints, column: Ints, hops: Ints, size: int, metric: bool) -> int:
    """
    Return the first node of the window with the least sum, the first of equals.

    ``hops[row[i, k] + column[j, k]]``, summed over k, is the distance of nodes i and j; a
    window is `size` (at least 2) successive nodes of the list. If the distance is a metric,
    a window has this lower bound: pair its j-th node with the one ``size - size // 2`` on,
    and let M be the sum of hops over these disjoint pairs. For a pair (x, y) and any other
    node z, d(x, z) + d(z, y) >= d(x, y); added up over all pairs and nodes this counts every
    distance between two pairs at most twice, so S >= M + (size - 2) / 2 * M = size * M / 2.
    M slides along the list at two look-ups a window. The sum S itself slides from window to
    window at 2 (size - 1) look-ups, and is summed afresh where that is less.
    """
    n_windows = row.shape[0] - size + 1
    bound = np.zeros(n_windows, dtype=np.int64)  # 2 S >= bound
    if metric:
        half, shift = size // 2, size - size // 2
        matched = 0
        for node in range(n_windows - 1 + half):
            matched += _to_window(row, column, hops, node, node + shift, node + shift + 1, -1)
            if node >= half:
                gone = node - half
                matched -= _to_window(row, column, hops, gone, gone + shift, gone + shift + 1, -1)
            if node >= half - 1:
                bound[node - half + 1] = size * matched
    best = int(bound.argmin())  # a good window to begin with, so that others are passed over
    least = _window(row, column, hops, best, size)
    at, total = best, least
    for window in range(n_windows):
        if bound[window] > 2 * least or (bound[window] == 2 * least and window > best):
            continue
        steps = window - at
        if 0 <= steps <= size // 4:
            while at < window:
                total -= _to_window(row, column, hops, at, at + 1, at + size, -1)
                total += _to_window(row, column, hops, at + size, at + 1, at + size, -1)
                at += 1
        else:
            at, total = window, _window(row, column, hops, window, size)
        if total < least or (total == least and window < best):
            best, least = window, total
    return best
