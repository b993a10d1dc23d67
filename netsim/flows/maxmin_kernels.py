"""
Compiled max-min solver, and the heap with changeable keys that it and the simulation use.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import float64, int64, njit, types

from netsim.arrays import Floats, Ints

_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)

_TIE = 1e-12  # shares closer than this (relative) are equal: rounding must not reorder links


@njit(cache=True)
def heap_set(heap: Ints, place: Ints, key: Floats, size: int, item: int, value: float) -> int:
    """Insert an item or change its key; return the new size. `place` is -1 for absent items."""
    i = place[item]
    if i < 0:
        i = size
        size += 1
    key[item] = value
    while i > 0:
        parent = (i - 1) >> 1
        other = heap[parent]
        if key[other] <= value:
            break
        heap[i] = other
        place[other] = i
        i = parent
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        other = heap[child]
        if key[other] >= value:
            break
        heap[i] = other
        place[other] = i
        i = child
    heap[i] = item
    place[item] = i
    return size


@njit(cache=True)
def heap_remove(heap: Ints, place: Ints, key: Floats, size: int, item: int) -> int:
    """Take an item out of the heap; return the new size."""
    i = place[item]
    place[item] = -1
    size -= 1
    if i < size:
        last = heap[size]
        heap[i] = last
        place[last] = i
        heap_set(heap, place, key, size, last, key[last])
    return size


@njit(cache=True)
def flows_by_channel(indptr: Ints, channels: Ints, n_channels: int) -> tuple[Ints, Ints]:
    """Return first and flows: flows[first[c]:first[c + 1]] cross channel c, ascending."""
    first = np.zeros(n_channels + 1, dtype=np.int64)
    for entry in range(channels.size):
        first[channels[entry] + 1] += 1
    for channel in range(n_channels):
        first[channel + 1] += first[channel]
    flows = np.empty(channels.size, dtype=np.int64)
    fill = first[:-1].copy()
    for flow in range(indptr.size - 1):
        for entry in range(indptr[flow], indptr[flow + 1]):
            channel = channels[entry]
            flows[fill[channel]] = flow
            fill[channel] += 1
    return first, flows


@njit(float64[::1](_INTS, _INTS, _FLOATS, _FLOATS), cache=True)
def progressive_filling(indptr: Ints, channels: Ints, capacity: Floats, weight: Floats) -> Floats:
    """
    Return the max-min fair rate of every flow, inf where a flow crosses no channel.

    The heap holds every used channel under its fair share. A share only rises while other
    channels saturate, so a popped channel whose share has risen goes back, and one whose
    share has not is the next bottleneck: its open flows are final.
    """
    n_flows = indptr.size - 1
    n_channels = capacity.size
    first, users = flows_by_channel(indptr, channels, n_channels)
    rate = np.full(n_flows, np.inf)
    final = np.zeros(n_flows, dtype=np.bool_)
    left = capacity.copy()
    open_weight = np.zeros(n_channels)
    open_entries = np.zeros(n_channels, dtype=np.int64)
    for flow in range(n_flows):
        for entry in range(indptr[flow], indptr[flow + 1]):
            open_weight[channels[entry]] += weight[flow]
            open_entries[channels[entry]] += 1
    heap = np.empty(n_channels, dtype=np.int64)
    place = np.full(n_channels, -1, dtype=np.int64)
    key = np.empty(n_channels)
    size = 0
    for channel in range(n_channels):
        if open_entries[channel] > 0:
            share = left[channel] / open_weight[channel]
            size = heap_set(heap, place, key, size, channel, share)
    while size > 0:
        channel = heap[0]
        if open_entries[channel] == 0:
            size = heap_remove(heap, place, key, size, channel)
            continue
        share = max(left[channel], 0.0) / open_weight[channel]
        if share > key[channel] * (1.0 + _TIE):
            size = heap_set(heap, place, key, size, channel, share)
            continue
        size = heap_remove(heap, place, key, size, channel)
        for i in range(first[channel], first[channel + 1]):
            flow = users[i]
            if final[flow]:
                continue
            final[flow] = True
            rate[flow] = share * weight[flow]
            for entry in range(indptr[flow], indptr[flow + 1]):
                left[channels[entry]] -= rate[flow]
                open_weight[channels[entry]] -= weight[flow]
                open_entries[channels[entry]] -= 1
    return rate
