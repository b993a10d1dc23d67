"""
Compiled up-down paths of a fat-tree without holes, by D-mod-k or S-mod-k.

Import through `netsim.common.jit`.
"""

import numpy as np
from numba import boolean, int64, types

from netsim.common.arrays import Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_PATHS = types.Tuple((int64[::1], int64[::1]))


@njit(_PATHS(_INTS, _INTS, _INTS, _TABLE, boolean), cache=True, error_model="numpy")
def mod_k_paths(
    src: Ints, dst: Ints, numbers: Ints, shape: Ints, mirror: bool
) -> tuple[Ints, Ints]:
    """
    Return up-down paths on up-ports ``d // (w[0]*...*w[l-1]) mod (w[l]*p[l])`` in rows.

    `numbers` (F,) are d of the node that chooses. `mirror`: the cable down mirrors the up-port;
    otherwise it is the source mod p. Empty where an end of a flow is no node of the tree.
    """
    indptr = np.zeros(src.size + 1, np.int64)
    links = np.empty(2 * shape.shape[1] * src.size, np.int64)
    if not src.size == dst.size == numbers.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    m, w, p = shape[0].view(np.uint64), shape[1].view(np.uint64), shape[2].view(np.uint64)
    n_nodes = _ONE
    for children in m:
        n_nodes *= children
    first = 0
    for f in range(src.size):
        turn = 0
        a, b = np.uint64(src[f]), np.uint64(dst[f])  # numba divides signed numbers more slowly
        if a >= n_nodes or b >= n_nodes:  # or below 0
            return np.empty(0, np.int64), np.empty(0, np.int64)
        while a != b and turn < m.size:
            a, b = a // m[turn], b // m[turn]
            turn += 1
        a, b, d = np.uint64(src[f]), np.uint64(dst[f]), np.uint64(numbers[f])
        low, below = _ONE, _NONE  # w[0] * ... * w[l-1]; digits 0..l-1 of the element on the path
        last = first + 2 * turn - 1
        for level in range(turn):
            above = d // w[level]
            digit = port = down_port = d - above * w[level]
            if p[level] > _ONE:
                port = d % (w[level] * p[level])
                cable = port // w[level] if mirror else np.uint64(src[f]) % p[level]
                down_port = digit + w[level] * cable
            wide = w[level] * p[level]
            links[first + level] = shape[3, level] + np.int64((below + low * a) * wide + port)
            links[last - level] = shape[4, level] + np.int64((below + low * b) * wide + down_port)
            below += low * digit
            low *= w[level]
            a, b, d = a // m[level], b // m[level], above
        first = last + 1
        indptr[f + 1] = first
    own = np.empty(first, np.int64)
    for hop in range(first):
        own[hop] = links[hop]
    return indptr, own
