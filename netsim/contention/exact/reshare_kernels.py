"""
Compiled re-sharing: levels are brought up to date where flows came, went or changed weight.

Rates stay max-min fair through *re-sharing*: after flows have started, ended or changed
their weight, only the part of the network whose fair shares move is filled again. Rates
change upwards and downwards along chains of bottlenecks, so the filling sweeps fair levels
(rate / weight) from below, as progressive filling does, but visits only *dirty* channels:

* a channel is dirty once a flow on it has changed; its flows' old levels are void when the
  sweep passes the channel's old level without the channel being full (*release*);
* released flows may rise, which makes their other channels dirty;
* a dirty channel that fills at a level *freezes* its flows there; those whose level has
  changed make their other channels dirty; those that keep it touch nobody.

A channel nobody touches keeps its flows, exactly, and costs nothing.
"""

import numpy as np
from numba import njit

from netsim.arrays import Bools, Floats, Ints
from netsim.flows.maxmin_kernels import heap_remove, heap_set

_TIE = 1e-12  # levels closer than this (relative) are equal


@njit(cache=True)
def fair_level(
    room: float,
    channel: int,
    first: int,
    last: int,
    flow_at: Ints,
    weight: Floats,
    level: Floats,
    bottleneck: Ints,
    final: Bools,
) -> float:
    """
    Return the level at which a channel of capacity `room` fills, inf if its flows leave room.

    Flows that are final, or whose bottleneck is another channel, take no more than their
    level; the rest rise until the channel is full.
    """
    fixed = 0.0
    rising = 0.0
    held = 0.0
    top = 0.0
    for i in range(first, last):
        flow = flow_at[i]
        if final[flow]:
            fixed += weight[flow] * level[flow]
        elif bottleneck[flow] < 0 or bottleneck[flow] == channel:
            rising += weight[flow]
        else:
            held += weight[flow] * level[flow]
            top = max(top, level[flow])
    left = room - fixed - held
    if rising == 0.0:
        if left >= -_TIE * room:
            return np.inf
    elif left / rising >= top * (1.0 - _TIE):
        return max(left, 0.0) / rising
    share = 0.0  # some held flows reach less than their level here: raise the share from below
    while True:
        taken = fixed
        open_weight = rising
        for i in range(first, last):
            flow = flow_at[i]
            if final[flow] or bottleneck[flow] < 0 or bottleneck[flow] == channel:
                continue
            if level[flow] <= share:
                taken += weight[flow] * level[flow]
            else:
                open_weight += weight[flow]
        if open_weight == 0.0:
            return np.inf
        risen = max(room - taken, 0.0) / open_weight
        if risen <= share * (1.0 + _TIE):
            return risen
        share = risen


@njit(cache=True)
def lower_key(
    heap: Ints, place: Ints, key: Floats, fresh: Bools, size: int, channel: int, now: float
) -> int:
    """Have a channel looked at again at level `now` at the latest; return the heap's size."""
    fresh[channel] = False
    if place[channel] < 0 or key[channel] > now:
        size = heap_set(heap, place, key, size, channel, now)
    return size


@njit(cache=True)
def schedule_release(
    heap: Ints, place: Ints, key: Floats, filled: Floats, size: int, channel: int
) -> int:
    """Release the flows of a channel that was full, at its old level; return the heap's size."""
    if filled[channel] < np.inf:
        release = filled.size + channel
        size = heap_set(heap, place, key, size, release, filled[channel] * (1.0 + 2.0 * _TIE))
        filled[channel] = np.inf
    return size


@njit(cache=True)
def loosen(
    flow: int,
    indptr: Ints,
    lists: Ints,
    filled: Floats,
    fresh: Bools,
    heap: Ints,
    place: Ints,
    key: Floats,
    size: int,
) -> int:
    """Make the channels of a new or re-weighted flow dirty; return the heap's size."""
    for entry in range(indptr[flow], indptr[flow + 1] - 1):
        size = lower_key(heap, place, key, fresh, size, lists[entry], 0.0)
        size = schedule_release(heap, place, key, filled, size, lists[entry])
    return size


@njit(cache=True)
def vacate(
    flow: int,
    indptr: Ints,
    lists: Ints,
    filled: Floats,
    fresh: Bools,
    heap: Ints,
    place: Ints,
    key: Floats,
    size: int,
) -> int:
    """Make the full channels that a flow has left dirty; return the heap's size."""
    for entry in range(indptr[flow], indptr[flow + 1] - 1):
        channel = lists[entry]
        fresh[channel] = False
        if place[channel] < 0 and filled[channel] < np.inf:
            size = heap_set(heap, place, key, size, channel, 0.0)
            size = schedule_release(heap, place, key, filled, size, channel)
    return size


@njit(cache=True)
def reshare(
    indptr: Ints,
    channels: Ints,
    capacity: Floats,
    first: Ints,
    length: Ints,
    flow_at: Ints,
    weight: Floats,
    level: Floats,
    bottleneck: Ints,
    final: Bools,
    filled: Floats,
    fresh: Bools,
    heap: Ints,
    place: Ints,
    key: Floats,
    size: int,
    done: Ints,
) -> int:
    """
    Make levels max-min fair again; the heap holds the dirty channels at key 0.

    `filled` is the level at which a channel is full, `bottleneck` the channel that holds a
    flow, -1 for a flow that is new, released or has another weight. Returns how many flows
    were visited, listed in `done`; all others keep their level.
    """
    n_channels = capacity.size
    n_done = 0
    while size > 0:
        item = heap[0]
        now = key[item]
        size = heap_remove(heap, place, key, size, item)
        if item >= n_channels:
            channel = item - n_channels
            for i in range(first[channel], first[channel] + length[channel]):
                flow = flow_at[i]
                if bottleneck[flow] == channel and not final[flow]:
                    bottleneck[flow] = -1
                    for entry in range(indptr[flow], indptr[flow + 1] - 1):
                        other = channels[entry]
                        if other != channel:
                            size = lower_key(heap, place, key, fresh, size, other, now)
                            size = schedule_release(heap, place, key, filled, size, other)
            continue
        channel = item
        begin, end = first[channel], first[channel] + length[channel]
        if not fresh[channel]:
            now = fair_level(
                capacity[channel], channel, begin, end, flow_at, weight, level, bottleneck, final
            )
            fresh[channel] = True
            if now == np.inf:
                for i in range(begin, end):  # full at a level that it froze at in this sweep
                    if final[flow_at[i]] and bottleneck[flow_at[i]] == channel:
                        filled[channel] = level[flow_at[i]]
                continue
            if size > 0 and now > key[heap[0]]:
                size = heap_set(heap, place, key, size, channel, now)
                continue
        filled[channel] = now
        for i in range(begin, end):
            flow = flow_at[i]
            if final[flow]:
                continue
            old = level[flow]
            held = bottleneck[flow] >= 0
            if held and bottleneck[flow] != channel and old <= now * (1.0 + _TIE):
                continue
            final[flow] = True
            done[n_done] = flow
            n_done += 1
            bottleneck[flow] = channel
            if held and abs(now - old) <= _TIE * old:
                continue
            level[flow] = now
            for entry in range(indptr[flow], indptr[flow + 1] - 1):
                other = channels[entry]
                if other == channel:
                    continue
                fresh[other] = False
                if place[other] < 0 and filled[other] < np.inf:
                    size = heap_set(heap, place, key, size, other, now)
                    size = schedule_release(heap, place, key, filled, size, other)
    for i in range(n_done):
        final[done[i]] = False
    return n_done


@njit(cache=True)
def add_flow(
    flow: int,
    indptr: Ints,
    lists: Ints,
    first: Ints,
    length: Ints,
    flow_at: Ints,
    entry_at: Ints,
    spot: Ints,
) -> None:
    """Put a flow on the lists of its channels and its sender."""
    for entry in range(indptr[flow], indptr[flow + 1]):
        where = first[lists[entry]] + length[lists[entry]]
        flow_at[where] = flow
        entry_at[where] = entry
        spot[entry] = where
        length[lists[entry]] += 1


@njit(cache=True)
def remove_flow(
    flow: int,
    indptr: Ints,
    lists: Ints,
    first: Ints,
    length: Ints,
    flow_at: Ints,
    entry_at: Ints,
    spot: Ints,
) -> None:
    """Take a flow from the lists of its channels and its sender; the last one fills the gap."""
    for entry in range(indptr[flow], indptr[flow + 1]):
        length[lists[entry]] -= 1
        last = first[lists[entry]] + length[lists[entry]]
        where = spot[entry]
        flow_at[where] = flow_at[last]
        entry_at[where] = entry_at[last]
        spot[entry_at[where]] = where
