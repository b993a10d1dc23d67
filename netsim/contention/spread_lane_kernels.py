"""
What jobs whose packets are spread over ways put on the virtual channels of links, compiled.

Import through `netsim.kernelcache`. `netsim.contention.lane_kernels` says what a lane is.
"""

import numpy as np
from numba import boolean, float64, from_dtype, int64

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY, RECORD
from netsim.contention.lane_kernels import LANES, SHARE
from netsim.contention.link_kernels import divisor, weight_exponent
from netsim.contention.traffic_kernels import FLOAT_ROWS, FLOATS, INT_ROWS, INTS
from netsim.jit import njit

_RECORDS, _ENTRIES = from_dtype(RECORD)[::1], from_dtype(ENTRY)[::1]


@njit(
    float64[:, ::1](
        INT_ROWS,
        FLOAT_ROWS,
        INTS,
        INTS,
        INTS,
        INT_ROWS,
        FLOATS,
        INTS,
        int64[::1],
        _RECORDS,
        _ENTRIES,
        int64,
        FLOATS,
        boolean,
    ),
    cache=True,
    error_model="numpy",
)
def spread_lanes_of(
    whole: Ints,
    real: Floats,
    indptr: Ints,
    hops: Ints,
    way_indptr: Ints,
    way_places: Ints,
    way_share: Floats,
    channel: Ints,
    entry_of: Ints,
    records: Table,
    entries: Table,
    n_senders: int,
    port: Floats,
    per_flow: bool,
) -> Floats:
    """
    Return what the flows of a job have on each lane of its channels.

    Parameters
    ----------
    whole, real, indptr, hops, way_indptr, way_share
        As `spread_kernels.spread_constants` takes them.
    way_places : (2, n) int array
        The links of the ways, and the lane that packets take on each.
    channel : (E,) int array
        Channel of each link.
    entry_of, records, entries, n_senders, port, per_flow
        As for `lane_kernels.lanes_of`.

    Returns
    -------
    (K, 2 LANES) float array
        As from `lane_kernels.lanes_of`; nothing waits there for links ahead.
    """
    step, sender, pair = whole[0], whole[1], whole[2]
    nbytes, detoured = real[0], real[2]
    on = np.zeros((entries.size, 2 * LANES))
    opened, sent = np.zeros(n_senders, np.int64), np.zeros(n_senders)
    weights, used = np.zeros(way_indptr.size - 1), np.empty(way_indptr.size - 1, np.int64)
    for r in range(records.size):
        entry_of[records[r].channel] = records[r].first_entry
    first = 0
    while first < step.size:
        a, last, n_used = step[first], first, 0
        while last < step.size and step[last] == a:
            if indptr[last + 1] > indptr[last]:
                opened[sender[last]] += 1
                sent[sender[last]] += nbytes[last]
            last += 1
        for f in range(first, last):
            if indptr[f + 1] == indptr[f]:
                continue
            n_open = 1 if per_flow else opened[sender[f]]
            mean_bytes = nbytes[f] if per_flow else sent[sender[f]] / n_open
            weight = 1.0 / divisor(n_open, weight_exponent(mean_bytes, port[0]))
            for hop in (indptr[f], indptr[f + 1] - 1):
                c = channel[hops[hop]]
                while entries[entry_of[c]].step < a:
                    entry_of[c] += 1
                on[entry_of[c], SHARE] += weight
            for kind in range(2):
                way = 2 * pair[f] + kind
                part = detoured[f] if kind else 1.0 - detoured[f]
                if part > 0.0:
                    if weights[way] == 0.0:
                        used[n_used] = way
                        n_used += 1
                    weights[way] += part * weight
        for i in range(n_used):
            way = used[i]
            for hop in range(way_indptr[way], way_indptr[way + 1]):
                c = channel[way_places[0, hop]]
                while entries[entry_of[c]].step < a:
                    entry_of[c] += 1
                lane = min(way_places[1, hop], LANES - 1)
                on[entry_of[c], SHARE + lane] += way_share[hop] * weights[way]
            weights[way] = 0.0
        for f in range(first, last):
            opened[sender[f]], sent[sender[f]] = 0, 0.0
        first = last
    for k in range(entries.size):
        total = 0.0
        for lane in range(LANES):
            total += on[k, SHARE + lane]
        for lane in range(LANES):
            on[k, SHARE + lane] /= total
    return on
