"""
Compiled max-min solver, and the heap with changeable keys that it and the simulation use.

Import through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)

_TIE = 1e-12  # shares closer than this (relative) are equal: rounding must not reorder links


class Heap(NamedTuple):
    """Items 0..n-1 with keys that change, the least key first."""

    items: Ints
    place: Ints  # of each item in `items`; -1: absent
    key: Floats  # of each item
    size: Ints  # one number


@njit(cache=True)
def new_heap(n_items: int) -> Heap:
    """Return a heap without items."""
    return Heap(
        np.empty(n_items, np.int64),
        np.full(n_items, -1, np.int64),
        np.empty(n_items),
        np.zeros(1, np.int64),
    )


@njit(allocates=False)
def heap_set(heap: Heap, item: int, value: float) -> None:
    """Insert an item or change its key."""
    items, place, key = heap.items, heap.place, heap.key
    i = place[item]
    if i < 0:
        i = heap.size[0]
        heap.size[0] += 1
    size = heap.size[0]
    key[item] = value
    while i > 0:
        parent = (i - 1) >> 1
        other = items[parent]
        if key[other] <= value:
            break
        items[i] = other
        place[other] = i
        i = parent
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and key[items[child + 1]] < key[items[child]]:
            child += 1
        other = items[child]
        if key[other] >= value:
            break
        items[i] = other
        place[other] = i
        i = child
    items[i] = item
    place[item] = i


@njit(allocates=False)
def heap_remove(heap: Heap, item: int) -> None:
    """Take an item out of the heap."""
    i = heap.place[item]
    heap.place[item] = -1
    heap.size[0] -= 1
    if i < heap.size[0]:
        last = heap.items[heap.size[0]]
        heap.items[i] = last
        heap.place[last] = i
        heap_set(heap, last, heap.key[last])


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


@njit(float64[::1](_INTS, _INTS, _FLOATS, _FLOATS, _FLOATS), cache=True)
def progressive_filling(
    indptr: Ints, channels: Ints, share: Floats, capacity: Floats, weight: Floats
) -> Floats:
    """
    Return the max-min fair rate of every flow, inf where a flow crosses no channel.

    `share` (nnz,) or (1,): part of the flow that each entry carries, as of `Hops`.

    The heap holds every used channel under its fair share. A share only rises while other channels
    saturate, so a popped channel whose share has risen goes back, and one whose share has not is
    the next bottleneck: its open flows are final.
    """
    n_flows = indptr.size - 1
    n_channels, last = capacity.size, share.size - 1
    first, users = flows_by_channel(indptr, channels, n_channels)
    rate = np.full(n_flows, np.inf)
    final = np.zeros(n_flows, dtype=np.bool_)
    left = capacity.copy()
    open_weight = np.zeros(n_channels)
    open_entries = np.zeros(n_channels, dtype=np.int64)
    for flow in range(n_flows):
        for entry in range(indptr[flow], indptr[flow + 1]):
            open_weight[channels[entry]] += weight[flow] * share[min(entry, last)]
            open_entries[channels[entry]] += 1
    heap = new_heap(n_channels)
    for channel in range(n_channels):
        if open_entries[channel] > 0:
            heap_set(heap, channel, left[channel] / open_weight[channel])
    while heap.size[0] > 0:
        channel = heap.items[0]
        if open_entries[channel] == 0:
            heap_remove(heap, channel)
            continue
        fill = max(left[channel], 0.0) / open_weight[channel]
        if fill > heap.key[channel] * (1.0 + _TIE):
            heap_set(heap, channel, fill)
            continue
        heap_remove(heap, channel)
        for i in range(first[channel], first[channel + 1]):
            flow = users[i]
            if final[flow]:
                continue
            final[flow] = True
            rate[flow] = fill * weight[flow]
            for entry in range(indptr[flow], indptr[flow + 1]):
                left[channels[entry]] -= rate[flow] * share[min(entry, last)]
                open_weight[channels[entry]] -= weight[flow] * share[min(entry, last)]
                open_entries[channels[entry]] -= 1
    return rate
