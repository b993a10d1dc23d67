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
HOPS = types.NamedTuple((INTS, INTS, FLOATS), Hops)
_FLOWS = types.Tuple((INTS, FLOATS, FLOATS))
_LINKS = types.Tuple((INTS, FLOATS, INTS, FLOATS))


@njit(
    void(_FLOWS, INTS, HOPS, _LINKS, float64[:, ::1], from_dtype(STEP)[::1]),
    cache=True,
    error_model="numpy",
    allocates=False,
)
def step_times(
    flows: tuple[Ints, Floats, Floats],
    rounds: Ints,
    hops: Hops,
    links: tuple[Ints, Floats, Ints, Floats],
    drain_s: Floats,
    steps: Table,
) -> None:
    """Compute the `steps` (A,) of one job, 0 before; `drain_s` (2, E) is 0 before and after."""
    step, nbytes, latency_s = flows
    channel, capacity, bundle, bundle_capacity = links
    n_flows, last_share = step.size, hops.share.size - 1
    first = int(np.int64(0))
    while first < n_flows:
        last, found = first, steps[step[first]]
        while last < n_flows and step[last] == step[first]:
            begin, end = hops.indptr[last], hops.indptr[last + 1]
            found.latency_s = max(found.latency_s, latency_s[last])
            for hop in range(begin, end):
                c = channel[hops.link[hop]]
                drain_s[0, c] += nbytes[last] * hops.share[min(hop, last_share)] / capacity[c]
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


@njit(
    int64(FLOATS, HOPS, float64[::1], int64[::1]),
    cache=True,
    error_model="numpy",
    allocates=False,
)
def link_bytes(nbytes: Floats, hops: Hops, total: Floats, touched: Ints) -> int:
    """
    Add what flows put on links to `total` (E,), all 0 before; return how many links are `touched`.

    `touched` (hops,): written, as flows come to them; those that got no bytes may be there again.
    """
    count, last_share = 0, hops.share.size - 1
    for f in range(nbytes.size):
        for hop in range(hops.indptr[f], hops.indptr[f + 1]):
            link = hops.link[hop]
            if total[link] == 0.0:
                touched[count] = link
                count += 1
            total[link] += nbytes[f] * hops.share[min(hop, last_share)]
    return count
