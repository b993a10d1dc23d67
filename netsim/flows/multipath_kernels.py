"""
Hops of flows whose packets are spread over paths, compiled.

Import through `netsim.common.jit`; apart from `netsim.flows.traffic_kernels`: few fabrics need it.
"""

import numpy as np
from numba import float64, int64, types

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit
from netsim.flows.traffic_kernels import FLOATS, INTS

_PATHS = types.Tuple((INTS, INTS, FLOATS, INTS))
_HOPS_MADE = types.Tuple((int64[::1], int64[::1], float64[::1]))


@njit(_HOPS_MADE(INTS, INTS, _PATHS, FLOATS), cache=True)
def multipath_hops(
    indptr: Ints, link: Ints, paths: tuple[Ints, Ints, Floats, Ints], nonminimal: Floats
) -> tuple[Ints, Ints, Floats]:
    """
    Return the hops of flows whose packets are spread: first link, those of both paths, last link.

    `indptr`, `link`: paths that stand for others, of which the ends count. `paths`: fields of
    `netsim.topology.routes.PathSets`. `nonminimal` (F,): part of each flow on the second path. Two
    passes, since all hops of a large all-to-all fill memory once as they are.
    """
    begin, links, share, pair = paths
    first = np.zeros(indptr.size, np.int64)
    for f in range(pair.size):
        count, way = 0, 2 * pair[f]
        if indptr[f + 1] > indptr[f]:
            count = 2
            for hop in range(begin[way], begin[way + 2]):
                part = nonminimal[f] if hop >= begin[way + 1] else 1.0 - nonminimal[f]
                count += share[hop] * part > 0.0
        first[f + 1] = first[f] + count
    found, parts = np.empty(first[-1], np.int64), np.ones(first[-1])
    for f in range(pair.size):
        if indptr[f + 1] == indptr[f]:
            continue
        at, way = first[f], 2 * pair[f]
        found[at] = link[indptr[f]]
        for hop in range(begin[way], begin[way + 2]):
            part = nonminimal[f] if hop >= begin[way + 1] else 1.0 - nonminimal[f]
            if share[hop] * part > 0.0:
                at += 1
                found[at], parts[at] = links[hop], share[hop] * part
        found[at + 1] = link[indptr[f + 1] - 1]
    return first, found, parts
