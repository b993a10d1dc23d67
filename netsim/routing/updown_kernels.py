"""
Compiled up-down paths of a fat-tree.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, int64, njit, types

from netsim.arrays import Ints

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)
_PATHS = types.Tuple((int64[::1], int64[::1]))  # type: ignore[no-untyped-call]


@njit(_PATHS(_INTS, _INTS, _TABLE, _TABLE, _TABLE), cache=True)
def up_down_paths(
    src: Ints, dst: Ints, ports: Ints, cables: Ints, shape: Ints
) -> tuple[Ints, Ints]:
    """
    Return the links of minimal up-down paths in compressed rows.

    The up-ports fix the digits of the switches; on the way down the other digits are those
    of the destination.

    Parameters
    ----------
    src, dst : (F,) int array
        Source and destination nodes.
    ports : (h, F) int array
        Up-port taken at each level; looked at below the turning level only.
    cables : (h, F) int array
        Parallel cable taken down to each level 0..h-1.
    shape : (5, h) int array
        m, w, p, and the first link up and down of each level.

    Returns
    -------
    indptr : (F + 1,) int array
        Where the links of each flow begin.
    links : (nnz,) int array
        In the order of travel.
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


@njit(_PATHS(_INTS, _INTS, _INTS, _TABLE, boolean), cache=True)
def mod_k_paths(
    src: Ints, dst: Ints, numbers: Ints, shape: Ints, mirror: bool
) -> tuple[Ints, Ints]:
    """
    Return the links of up-down paths on up-ports ``d // (w[0]*...*w[l-1]) mod (w[l]*p[l])``.

    Parameters
    ----------
    src, dst : (F,) int array
        Source and destination nodes.
    numbers : (F,) int array
        Number d of the node that chooses the ports of each flow.
    shape : (5, h) int array
        As for `up_down_paths`.
    mirror : bool
        Whether the cable down mirrors the up-port; otherwise it is the source mod p.

    Returns
    -------
    indptr : (F + 1,) int array
        Where the links of each flow begin.
    links : (nnz,) int array
        In the order of travel.
    """
    ports = np.empty((shape.shape[1], src.size), np.int64)
    cables = np.zeros((shape.shape[1], src.size), np.int64)
    below = 1
    for level in range(shape.shape[1]):
        w, p = shape[1, level], shape[2, level]
        for f in range(src.size):
            ports[level, f] = numbers[f] // below % (w * p)
            if p > 1:
                cables[level, f] = ports[level, f] // w if mirror else src[f] % p
        below *= w
    return up_down_paths(src, dst, ports, cables, shape)
