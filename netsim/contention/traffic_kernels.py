"""
Whether a job's flows fit together, how long its steps take alone, what links carry, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float64, int64, types, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import STEP
from netsim.jit import njit

# lists that are only read; kernels take arrays, not tuples of them, which numba unpacks slowly
INTS = types.Array(int64, 1, "C", readonly=True)
FLOATS = types.Array(float64, 1, "C", readonly=True)
INT_ROWS = types.Array(int64, 2, "C", readonly=True)
FLOAT_ROWS = types.Array(float64, 2, "C", readonly=True)
_FLOWS = (INTS, INTS, FLOATS, INTS, INTS, FLOATS)  # of `Traffic` and its routes
SPREAD = (INTS, INTS, FLOATS, INTS, FLOATS)  # of `netsim.routes.Ways`, and what goes round
_SUMS = types.Tuple((int64[::1], float64[::1]))  # type: ignore[no-untyped-call]
_WORD, _ONE = 64, np.uint64(1)


@njit(boolean(*_FLOWS, int64, int64), cache=True)
def fits_together(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    latency_s: Floats,
    n_links: int,
    n_senders: int,
) -> bool:
    """Say whether the flows of a job are what `netsim.contention.constants` demands of them."""
    n_flows = step.size
    sizes = sender.size == n_flows and nbytes.size == n_flows and latency_s.size == n_flows
    if not sizes or indptr.size != n_flows + 1 or indptr[0] != 0 or indptr[n_flows] != links.size:
        return False
    before = 0
    for f in range(n_flows):
        if indptr[f + 1] < indptr[f] or step[f] < before or not 0 <= sender[f] < n_senders:
            return False
        if not (0.0 < nbytes[f] < np.inf and 0.0 <= latency_s[f] < np.inf):
            return False
        before = step[f]
    outside = 0
    for link in links:
        outside += link < 0 or link >= n_links
    return outside == 0


@njit(
    (*_FLOWS, INT_ROWS, FLOAT_ROWS, int64, float64[::1], float64[::1]),
    cache=True,
    error_model="numpy",
)
def step_times(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    latency_s: Floats,
    channels: Ints,
    capacities: Floats,
    n_senders: int,
    injected_s: Floats,
    channel_drain_s: Floats,
) -> tuple[Table]:
    """
    Return the steps of one job, alone in a tuple, as `job_constants` does with more beside them.

    The last two arguments, of each bundle and each channel, are all 0 before and after.
    """
    n_flows = step.size
    if not fits_together(
        step, sender, nbytes, indptr, links, latency_s, channels.shape[1], n_senders
    ):
        return (np.zeros(0, STEP),)
    steps = np.zeros(step[n_flows - 1] + 1 if n_flows else 0, STEP)
    first = int(np.int64(0))
    while first < n_flows:
        last = first
        drain_s, longest_s, injection_s = 0.0, 0.0, 0.0
        while last < n_flows and step[last] == step[first]:
            begin, end = indptr[last], indptr[last + 1]
            longest_s = max(longest_s, latency_s[last])
            capacity, own_s = -1.0, 0.0
            for hop in range(begin, end):
                c = channels[0, links[hop]]
                if capacities[0, c] != capacity:
                    capacity = capacities[0, c]
                    own_s = nbytes[last] / capacity
                channel_drain_s[c] += own_s
                drain_s = max(drain_s, channel_drain_s[c])
                if hop in (begin, end - 1):
                    bundle = channels[1, c]
                    injected_s[bundle] += nbytes[last] / capacities[1, c]
                    injection_s = max(injection_s, injected_s[bundle])
            last += 1
        for hop in range(indptr[first], indptr[last]):
            c = channels[0, links[hop]]
            channel_drain_s[c] = injected_s[channels[1, c]] = 0.0
        found = steps[step[first]]
        found.drain_s, found.latency_s = drain_s, longest_s
        found.injection_s = injection_s + longest_s
        first = last
    return (steps,)


@njit(void(FLOATS, INTS, INTS, float64, float64[::1], float64[::1]), cache=True)
def carry(
    nbytes: Floats, indptr: Ints, links: Ints, times: float, carried: Floats, total: Floats
) -> None:
    """Add so many times what flows put on links; `total` of each link is 0 before and after."""
    for f in range(nbytes.size):
        for hop in range(indptr[f], indptr[f + 1]):
            total[links[hop]] += nbytes[f]
    for link in links:
        if total[link] > 0.0:
            carried[link] += total[link] * times
            total[link] = 0.0


@njit(_SUMS(FLOATS, INTS, INTS, int64), cache=True)
def link_bytes(nbytes: Floats, indptr: Ints, links: Ints, n_links: int) -> tuple[Ints, Floats]:
    """Return the links that flows use, ascending, and the bytes on each."""
    total = np.empty(n_links)  # of links whose bit is set
    seen = np.zeros(n_links // _WORD + 1, np.uint64)
    count = 0
    for f in range(nbytes.size):
        for hop in range(indptr[f], indptr[f + 1]):
            link = links[hop]
            bit = _ONE << np.uint64(link % _WORD)
            if not seen[link // _WORD] & bit:
                seen[link // _WORD] |= bit
                total[link] = 0.0
                count += 1
            total[link] += nbytes[f]
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


@njit(_SUMS(FLOATS, INTS, INTS, *SPREAD, int64), cache=True)
def spread_bytes(
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    way_indptr: Ints,
    way_links: Ints,
    way_share: Floats,
    pair: Ints,
    detoured: Floats,
    n_links: int,
) -> tuple[Ints, Floats]:
    """Return the links that flows use, ascending, and the bytes on each."""
    total, by_way = np.zeros(n_links), np.zeros(way_indptr.size - 1)
    for f in range(nbytes.size):
        if indptr[f + 1] > indptr[f]:
            total[links[indptr[f]]] += nbytes[f]
            total[links[indptr[f + 1] - 1]] += nbytes[f]
            by_way[2 * pair[f]] += (1.0 - detoured[f]) * nbytes[f]
            by_way[2 * pair[f] + 1] += detoured[f] * nbytes[f]
    for way in range(by_way.size):
        for hop in range(way_indptr[way], way_indptr[way + 1]):
            total[way_links[hop]] += way_share[hop] * by_way[way]
    count = 0
    for link in range(n_links):
        count += total[link] != 0.0
    used, sums = np.empty(count, np.int64), np.empty(count)
    at = 0
    for link in range(n_links):
        if total[link] != 0.0:
            used[at], sums[at] = link, total[link]
            at += 1
    return used, sums
