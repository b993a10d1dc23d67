"""
How long packets of a job queue before links that its flows bring more than goes on, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import float64, int64, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import Fabric, Flows, Places
from netsim.jit import njit


@njit(void(int64[::1], int64, int64, float64[::1]), cache=True)
def sort_by_key(order: Ints, first: int, last: int, key: Floats) -> None:
    """Sort order[first:last] by ascending key[order[i]] in place (Shell sort, short lists)."""
    gap = (last - first) // 2
    while gap > 0:
        for i in range(first + gap, last):
            item = order[i]
            value = key[item]
            j = i
            while j >= first + gap and key[order[j - gap]] > value:
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 2


@njit("float64(float64, float64)", cache=True, error_model="numpy")
def mean_queue(peak_s: float, room_s: float) -> float:
    """
    Return how long the queue is in the mean that grows to a peak and shrinks again, evenly.

    `peak_s`: the peak, in seconds of the link. `room_s`: what there is room for; more than that
    waits elsewhere.
    """
    if peak_s <= room_s:
        return 0.5 * peak_s
    return room_s * (1.0 - 0.5 * room_s / peak_s)


@njit(cache=True, error_model="numpy")
def _peak(begin: int, end: int, order: Ints, own_s: Floats, until_s: Floats) -> float:
    """Return the longest queue, in seconds, of flows that come evenly until times of their own."""
    sort_by_key(order, begin, end, until_s)
    peak_s, come_s, rate = 0.0, 0.0, 0.0
    for place in range(begin, end):
        rate += own_s[order[place]] / until_s[order[place]]
    for place in range(begin, end):
        i = order[place]
        come_s += own_s[i]
        rate -= own_s[i] / until_s[i]
        peak_s = max(peak_s, come_s + (rate - 1.0) * until_s[i])
    return peak_s


@njit(cache=True, error_model="numpy")
def queue_up(
    first: int,
    last: int,
    base: int,
    n_entries: int,
    flows: Flows,
    fabric: Fabric,
    places: Places,
    entries: Table,
) -> None:
    """
    Find how many of its own packets wait before a link, over the time that it takes for a step.

    `queued` of the entries from `base` on: before, the bytes per second that the links before bring
    at first; written, z, the mean queue x B, in square seconds: 0 without a stated buffer.

    Notes
    -----
    Each flow comes evenly, until the slowest link before is done with it. What has come and not
    gone on waits in the port's buffer and on the links that lead there, which have a buffer each;
    of its places packets have a share in proportion to the bytes of their flows.
    """
    n_found = 0
    for k in range(base, n_entries):
        capacity = fabric.capacity[places.channel[k]]
        if fabric.buffer_bytes <= 0.0 or entries[k].queued <= capacity * (1.0 + 1e-9):
            entries[k].queued = 0.0
            continue
        n_found += 1
    if n_found == 0:
        return
    begin = np.zeros(n_entries - base + 1, np.int64)
    for f in range(first, last):
        for hop in range(flows.indptr[f] + 1, flows.indptr[f + 1]):
            k = places.of_hop[hop]
            begin[k - base + 1] += entries[k].queued > 0.0
    size, links = np.zeros(n_entries - base, np.int64), np.zeros(n_entries - base)
    for k in range(n_entries - base):
        begin[k + 1] += begin[k]
        size[k] = begin[k]
    own_s, until_s = np.empty(begin[n_entries - base]), np.empty(begin[n_entries - base])
    for f in range(first, last):
        this_far_s = 0.0
        for hop in range(flows.indptr[f], flows.indptr[f + 1]):
            k = places.of_hop[hop]
            if entries[k].queued > 0.0 and hop > flows.indptr[f]:
                i, before = size[k - base], places.of_hop[hop - 1]
                size[k - base] += 1
                own_s[i] = flows.nbytes[f] / fabric.capacity[places.channel[k]]
                until_s[i] = this_far_s
                sent = places.drain_s[before] * fabric.capacity[places.channel[before]]
                links[k - base] += flows.nbytes[f] / sent
            this_far_s = max(this_far_s, places.drain_s[k])
    order = np.empty(begin[n_entries - base], np.int64)
    for i in range(begin[n_entries - base]):
        order[i] = i
    for k in range(base, n_entries):
        if entries[k].queued > 0.0:
            i = k - base
            peak_s = _peak(begin[i], begin[i + 1], order, own_s, until_s)
            room_s = (
                (1.0 + links[i])
                * places.fill[k]
                * fabric.buffer_bytes
                / fabric.capacity[places.channel[k]]
            )
            entries[k].queued = places.drain_s[k] * mean_queue(max(0.0, peak_s), room_s)
