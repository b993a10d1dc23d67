"""
Compiled up-down paths of a fat-tree on given ports.

Import through `netsim.common.jit`.
"""

import numpy as np
from numba import int64, types

from netsim.common.arrays import Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)
_PATHS = types.Tuple((int64[::1], int64[::1]))


@njit(_PATHS(_INTS, _INTS, _TABLE, _TABLE, _TABLE), cache=True)
def up_down_paths(
    src: Ints, dst: Ints, ports: Ints, cables: Ints, shape: Ints
) -> tuple[Ints, Ints]:
    """
    Return the links of minimal up-down paths in compressed rows.

    The up-ports (h, F) fix the digits of the switches; on the way down the other digits are those
    of the destination. `cables` (h, F): parallel cable down to each level. `shape` (5, h): m, w, p,
    and the first link up and down of each level.
    """
    n_levels = shape.shape[1]
    indptr = np.zeros(src.size + 1, np.int64)
    for f in range(src.size):
        turn, a, b = 0, src[f], dst[f]
        while a != b and turn < n_levels:
            a, b = a // shape[0, turn], b // shape[0, turn]
            turn += 1
        indptr[f + 1] = indptr[f] + 2 * turn
    links = np.empty(indptr[src.size], np.int64)
    for f in range(src.size):
        first, last = indptr[f], indptr[f + 1] - 1
        low, below = 1, 0  # w[0] * ... * w[l-1]; digits 0..l-1 of the element on the path
        a, b = src[f], dst[f]
        for level in range((last + 1 - first) // 2):
            w, p = shape[1, level], shape[2, level]
            port = ports[level, f]
            down_port = port
            digit = port
            if p > 1:
                digit = port % w
                down_port = digit + w * cables[level, f]
            links[first + level] = shape[3, level] + (below + low * a) * w * p + port
            links[last - level] = shape[4, level] + (below + low * b) * w * p + down_port
            below += low * digit
            low *= w
            a, b = a // shape[0, level], b // shape[0, level]
    return indptr, links
