"""
Compiled search for the window of a list with the least sum of hops over its pairs.

Every pair of nodes less than a window apart on the list is looked at once: its distance belongs
to what the first node loses when a window slides past it, and to what the second one brings when
it comes in. So all windows together cost one window's work a node, O(F size), and the inner loops
run along the list, which compilers turn into vector instructions.

Import through `netsim.common.jit`.
"""

import numpy as np
from numba import int64, types

from netsim.common.arrays import Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)


@njit(int64(types.Array(int64, 1, "C"), types.Array(int64, 1, "C"), int64), cache=True)
def _first_least(leaving: Ints, entering: Ints, size: int) -> int:
    """Slide a window along the list; return the first node of the first window with least sum."""
    total = 0
    for node in range(size):
        total += entering[node]
    best, least = 0, total
    for window in range(1, leaving.size - size + 1):
        total += entering[window + size - 1] - leaving[window - 1]
        if total < least:
            best, least = window, total
    return best


@njit(int64(_INTS, _TABLE, _INTS, int64), cache=True)
def grid_window(nodes: Ints, place: Ints, ring: Ints, size: int) -> int:
    """
    Return where on the list the window with least sum of distances begins, the first of equals.

    ``place[k, node]`` is a coordinate on a ring of ``ring[k]``; a line is a ring of twice its
    length.
    """
    n_listed = nodes.size
    leaving = np.zeros(n_listed, dtype=np.int64)
    entering = np.zeros(n_listed, dtype=np.int64)
    at = np.empty(n_listed, dtype=np.int64)
    for axis in range(ring.size):
        length = ring[axis]
        for i in range(n_listed):
            at[i] = place[axis, nodes[i]]
        for apart in range(1, size):
            for i in range(n_listed - apart):
                straight = abs(at[i] - at[i + apart])
                hops = min(straight, length - straight)
                leaving[i] += hops
                entering[i + apart] += hops
    return _first_least(leaving, entering, size)


@njit(int64(_INTS, _INTS, _TABLE, int64), cache=True)
def table_window(nodes: Ints, group: Ints, hops: Ints, size: int) -> int:
    """Return where the window with least sum of ``hops[group, group]`` begins, first of equals."""
    n_listed = nodes.size
    leaving = np.zeros(n_listed, dtype=np.int64)
    entering = np.zeros(n_listed, dtype=np.int64)
    for apart in range(1, size):
        for i in range(n_listed - apart):
            between = hops[group[nodes[i]], group[nodes[i + apart]]]
            leaving[i] += between
            entering[i + apart] += between
    return _first_least(leaving, entering, size)
