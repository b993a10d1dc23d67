"""
For how much of the time others keep the ways of a job through a dragonfly busy, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import float64

from netsim.arrays import Floats, Ints
from netsim.contention.traffic_kernels import FLOATS, INTS
from netsim.jit import njit

MOST = 1.0 - 1e-6  # of the time that others keep a link busy: no way is given up altogether


@njit(
    float64[::1](INTS, INTS, FLOATS, INTS, INTS, INTS, float64[:, ::1], float64[:, ::1]),
    cache=True,
    error_model="numpy",
)
def busy_ways(
    indptr: Ints,
    links: Ints,
    share: Floats,
    router: Ints,
    tail: Ints,
    channel: Ints,
    busy: Floats,
    own: Floats,
) -> Floats:
    """
    Return for how much of the time others keep ways busy, as the router where they begin sees.

    Parameters
    ----------
    indptr, links, share
        Fields of `netsim.routes.Ways`: of each pair of routers its minimal ways, then its detours.
    router : (P,) int array
        Vertex at which the ways of each pair begin.
    tail, channel : (E,) int arrays
        Vertex from which each link leads, and its channel.
    busy : (2, C) float array
        What all jobs send on each channel, 1 for as much as it takes: what is in the queue that
        UGAL looks at, and all.
    own : (2, C) float array
        The part of the job itself.

    Returns
    -------
    (2 P,) float array
        From 0 to 1; 0 for pairs without detours.

    Notes
    -----
    Others keep the first link of a way busy for the time that they send there. Of links further on
    the router sees what is too much for them, 1 - 1 / R of what others send R times as fast as the
    link takes it: that fills all buffers before it.
    """
    found = np.zeros(indptr.size - 1)
    for way in range(found.size):
        pair = way // 2
        if indptr[2 * pair + 2] == indptr[2 * pair + 1]:
            continue
        begin, held, goes_on = 0.0, 0.0, 1.0
        for hop in range(indptr[way], indptr[way + 1]):
            c = channel[links[hop]]
            if tail[links[hop]] == router[pair]:
                begin += share[hop]
                held += share[hop] * min(MOST, max(0.0, busy[0, c] - own[0, c]))
            elif busy[1, c] - own[1, c] > 1.0:
                goes_on = min(goes_on, 1.0 / (busy[1, c] - own[1, c]))
        if begin > 0.0:
            held /= begin
        found[way] = 1.0 - (1.0 - held) * goes_on
    return found
