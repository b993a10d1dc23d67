"""
How long a job's steps take alone, and what its flows put on links, compiled.

A flow has hops (`netsim.flows.traffic.Hops`): links, and its share on each.
"""

import numpy as np
from numba import float64, from_dtype, int64, types, void

from netsim.common.arrays import Floats, Ints, Table
from netsim.common.jit import njit
from netsim.flows.contention import STEP, Hops

INTS = types.Array(int64, 1, "C", readonly=True)
FLOATS = types.Array(float64, 1, "C", readonly=True)
_WORD, _ONE = 64, np.uint64(1)


HOPS = types.NamedTuple((INTS, INTS, FLOATS), Hops)
_FLOWS = types.Tuple((INTS, FLOATS, FLOATS))
_LINKS = types.Tuple((INTS, FLOATS, INTS, FLOATS))
_SUMS = types.Tuple((int64[::1], float64[::1]))


@njit(
    from_dtype(STEP)[::1](_FLOWS, INTS, HOPS, _LINKS, float64[:, ::1]),
    cache=True,
    error_model="numpy",
)
def step_times(
    flows: tuple[Ints, Floats, Floats],
    rounds: Ints,
    hops: Hops,
    links: tuple[Ints, Floats, Ints, Floats],
    drain_s: Floats,
) -> Table:
    """Return the steps of one job; `rounds` (A,). `drain_s` (2, E) is all 0 before and after."""
    step, nbytes, latency_s = flows
    channel, capacity, bundle, bundle_capacity = links
    n_flows = step.size
    steps = np.zeros(step[n_flows - 1] + 1 if n_flows else 0, STEP)
    first = int(np.int64(0))
    while first < n_flows:
        last, found = first, steps[step[first]]
        while last < n_flows and step[last] == step[first]:
            begin, end = hops.indptr[last], hops.indptr[last + 1]
            found.latency_s = max(found.latency_s, latency_s[last])
            for hop in range(begin, end):
                c = channel[hops.link[hop]]
                drain_s[0, c] += nbytes[last] * hops.share[hop] / capacity[c]
                found.drain_s = max(found.drain_s, drain_s[0, c])
                b = bundle[c]
                if b >= 0:
                    drain_s[1, b] += nbytes[last] / bundle_capacity[c]
                    found.injection_s = max(found.injection_s, drain_s[1, b])
            last += 1
        for hop in range(hops.indptr[first], hops.indptr[last]):
            c = channel[hops.link[hop]]
            drain_s[0, c] = 0.0
            if bundle[c] >= 0:
                drain_s[1, bundle[c]] = 0.0
        found.latency_s *= rounds[step[first]]
        found.injection_s += found.latency_s
        first = last
    return steps


@njit(void(FLOATS, HOPS, float64, float64[::1], float64[::1]), cache=True)
def carry(nbytes: Floats, hops: Hops, times: float, carried: Floats, total: Floats) -> None:
    """Add so many times what flows put on links; `total` of each link is 0 before and after."""
    for f in range(nbytes.size):
        for hop in range(hops.indptr[f], hops.indptr[f + 1]):
            total[hops.link[hop]] += nbytes[f] * hops.share[hop]
    for link in hops.link:
        if total[link] > 0.0:
            carried[link] += total[link] * times
            total[link] = 0.0


@njit(_SUMS(FLOATS, HOPS, int64), cache=True)
def link_bytes(nbytes: Floats, hops: Hops, n_links: int) -> tuple[Ints, Floats]:
    """Return the links that flows use, ascending, and the bytes on each."""
    total = np.empty(n_links)  # of links whose bit is set
    seen = np.zeros(n_links // _WORD + 1, np.uint64)
    count = 0
    for f in range(nbytes.size):
        for hop in range(hops.indptr[f], hops.indptr[f + 1]):
            link = hops.link[hop]
            bit = _ONE << np.uint64(link % _WORD)
            if not seen[link // _WORD] & bit:
                seen[link // _WORD] |= bit
                total[link] = 0.0
                count += 1
            total[link] += nbytes[f] * hops.share[hop]
    used, sums = np.empty(count, np.int64), np.empty(count)
    at = 0
    for word in range(seen.size):
        left, link = seen[word], word * _WORD
        while left:
            if left & _ONE:
                used[at], sums[at] = link, total[link]
                at += 1
            left >>= _ONE
            link += 1
    return used, sums
