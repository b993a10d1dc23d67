"""
Compiled up-down paths of a fat-tree without holes, by D-mod-k or S-mod-k.

Import through `netsim.common.jit`.
"""

import numpy as np
from numba import boolean, int64, types, uint64

from netsim.common.arrays import Bits, Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(uint64, 2, "C", readonly=True)
_NONE, _ONE = np.uint64(0), np.uint64(1)


@njit(
    int64(_INTS, _INTS, _INTS, _TABLE, boolean, int64[::1], int64[::1]),
    cache=True,
    error_model="numpy",
    allocates=False,
)
def mod_k_paths(
    src: Ints, dst: Ints, numbers: Ints, shape: Bits, mirror: bool, indptr: Ints, links: Ints
) -> int:
    """
    Write up-down paths on up-ports ``d // (w[0]*...*w[l-1]) mod (w[l]*p[l])`` in rows.

    `numbers` (F,) are d of the node that chooses. `mirror`: the cable down mirrors the up-port;
    otherwise it is the source mod p. `indptr` (F + 1,), `links` (2 F h,): written. Returns how many
    links there are, or -1 where an end of a flow is no node of the tree.
    """
    if not src.size == dst.size == numbers.size:
        return -1
    n_levels = shape.shape[1]
    n_nodes = _ONE
    for level in range(n_levels):
        n_nodes *= shape[0, level]
    first = indptr[0] = 0
    for f in range(src.size):
        turn = 0
        a, b = np.uint64(src[f]), np.uint64(dst[f])  # numba divides signed numbers more slowly
        if a >= n_nodes or b >= n_nodes:  # or below 0
            return -1
        while a != b and turn < n_levels:
            a, b = a // shape[0, turn], b // shape[0, turn]
            turn += 1
        a, b, d = np.uint64(src[f]), np.uint64(dst[f]), np.uint64(numbers[f])
        low, below = _ONE, _NONE  # w[0] * ... * w[l-1]; digits 0..l-1 of the element on the path
        last = first + 2 * turn - 1
        for level in range(turn):
            w, p = shape[1, level], shape[2, level]
            above = d // w
            digit = port = down_port = d - above * w
            if p > _ONE:
                port = d % (w * p)
                cable = port // w if mirror else np.uint64(src[f]) % p
                down_port = digit + w * cable
            wide = w * p
            links[first + level] = np.int64(shape[3, level] + (below + low * a) * wide + port)
            links[last - level] = np.int64(shape[4, level] + (below + low * b) * wide + down_port)
            below += low * digit
            low *= w
            a, b, d = a // shape[0, level], b // shape[0, level], above
        first = last + 1
        indptr[f + 1] = first
    return first
