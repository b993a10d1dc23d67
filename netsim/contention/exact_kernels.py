"""
Compiled flow-level simulation of iterating jobs; import through `netsim.kernelcache`.

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
from numba import boolean, float64, int64, njit, types

from netsim.arrays import Bools, Floats, Ints
from netsim.maxmin_kernels import heap_remove, heap_set

_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
_TIE = 1e-12  # levels or times closer than this (relative) are equal


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


@njit(
    types.Tuple(  # type: ignore[no-untyped-call]
        (float64[::1], float64[::1], int64[::1], float64[::1], float64[::1])
    )(
        _INTS,
        _INTS,
        _FLOATS,
        _FLOATS,
        _FLOATS,
        _INTS,
        _INTS,
        _FLOATS,
        _FLOATS,
        _INTS,
        boolean,
        boolean,
    ),
    cache=True,
)
def simulate(
    indptr: Ints,
    lists: Ints,
    capacity: Floats,
    nbytes: Floats,
    latency: Floats,
    step_first: Ints,
    job_first: Ints,
    compute: Floats,
    start: Floats,
    need: Ints,
    persist: bool,
    per_sender: bool,
) -> tuple[Floats, Floats, Ints, Floats, Floats]:
    """
    Run jobs that compute, then go through their steps, again and again.

    Flow f crosses the channels ``lists[indptr[f]:indptr[f + 1] - 1]`` of the C there are; the
    last entry of its row is C + its sender. Step s has the flows from step_first[s], job j the
    steps from job_first[j]; no step is empty, and every flow crosses a channel. Job j makes
    need[j] iterations; with `persist` all go on until the last has made its own. Returns per
    job the ends of its first and last iteration and how many it made; per flow its rate when
    it first started and when its bytes had last gone.
    """
    n_flows = nbytes.size
    n_jobs = compute.size
    n_channels = capacity.size
    n_lists = lists.max() + 1
    step_of = np.empty(n_flows, dtype=np.int64)
    job_of = np.empty(step_first.size - 1, dtype=np.int64)
    for job in range(n_jobs):
        for step in range(job_first[job], job_first[job + 1]):
            job_of[step] = job
            step_of[step_first[step] : step_first[step + 1]] = step
    first = np.zeros(n_lists + 1, dtype=np.int64)
    for entry in range(lists.size):
        first[lists[entry] + 1] += 1
    for i in range(n_lists):
        first[i + 1] += first[i]
    length = np.zeros(n_lists, dtype=np.int64)
    flow_at = np.empty(lists.size, dtype=np.int64)
    entry_at = np.empty(lists.size, dtype=np.int64)
    spot = np.empty(lists.size, dtype=np.int64)

    weight = np.ones(n_flows)
    level = np.zeros(n_flows)
    bottleneck = np.full(n_flows, -1, dtype=np.int64)
    final = np.zeros(n_flows, dtype=np.bool_)
    filled = np.full(n_channels, np.inf)
    fresh = np.zeros(n_channels, dtype=np.bool_)
    dirty = np.empty(2 * n_channels, dtype=np.int64)
    dirty_place = np.full(2 * n_channels, -1, dtype=np.int64)
    dirty_key = np.empty(2 * n_channels)
    n_dirty = 0
    done = np.empty(n_flows, dtype=np.int64)

    rate = np.zeros(n_flows)
    first_rate = np.full(n_flows, -1.0)
    left = np.zeros(n_flows)  # bytes not sent at time `since`
    since = np.zeros(n_flows)
    sent = np.zeros(n_flows)
    n_events = n_flows + n_jobs  # a flow's end; a job's next step
    queue = np.empty(n_events, dtype=np.int64)
    queue_place = np.full(n_events, -1, dtype=np.int64)
    queue_key = np.empty(n_events)
    n_queue = 0

    n_open = np.zeros(n_jobs, dtype=np.int64)
    step_end = np.zeros(n_jobs)
    at = np.empty(n_jobs, dtype=np.int64)  # step just ended, or one before the first
    count = np.zeros(n_jobs, dtype=np.int64)
    first_end = np.zeros(n_jobs)
    last_end = np.zeros(n_jobs)
    ready = np.empty(n_jobs, dtype=np.int64)
    touched = np.empty(n_lists - n_channels, dtype=np.int64)
    is_touched = np.zeros(n_lists, dtype=np.bool_)
    n_unfinished = n_jobs
    for job in range(n_jobs):
        at[job] = job_first[job] - 1
        begin = start[job] + compute[job]
        n_queue = heap_set(queue, queue_place, queue_key, n_queue, n_flows + job, begin)

    while n_unfinished > 0:
        now = queue_key[queue[0]]
        n_ready = 0
        n_touched = 0
        while n_queue > 0:
            item = queue[0]
            if queue_key[item] > now:
                if item >= n_flows:
                    break
                if (queue_key[item] - now) * rate[item] > _TIE * nbytes[item]:
                    break
            n_queue = heap_remove(queue, queue_place, queue_key, n_queue, item)
            if item >= n_flows:
                ready[n_ready] = item - n_flows
                n_ready += 1
                continue
            remove_flow(item, indptr, lists, first, length, flow_at, entry_at, spot)
            sent[item] = now
            for entry in range(indptr[item], indptr[item + 1] - 1):
                channel = lists[entry]
                fresh[channel] = False
                if dirty_place[channel] < 0 and filled[channel] < np.inf:
                    n_dirty = heap_set(dirty, dirty_place, dirty_key, n_dirty, channel, 0.0)
                    n_dirty = schedule_release(
                        dirty, dirty_place, dirty_key, filled, n_dirty, channel
                    )
            sender = lists[indptr[item + 1] - 1]
            if per_sender and not is_touched[sender]:
                is_touched[sender] = True
                touched[n_touched] = sender
                n_touched += 1
            job = job_of[step_of[item]]
            step_end[job] = max(step_end[job], now + latency[item])
            n_open[job] -= 1
            if n_open[job] == 0:
                if step_end[job] > now:
                    n_queue = heap_set(
                        queue, queue_place, queue_key, n_queue, n_flows + job, step_end[job]
                    )
                else:
                    ready[n_ready] = job
                    n_ready += 1

        for i in range(n_ready):
            job = ready[i]
            at[job] += 1
            if at[job] == job_first[job + 1]:
                count[job] += 1
                last_end[job] = now
                if count[job] == 1:
                    first_end[job] = now
                if count[job] == need[job]:
                    n_unfinished -= 1
                    if not persist:
                        continue
                at[job] = job_first[job] - 1
                if compute[job] > 0.0:
                    n_queue = heap_set(
                        queue, queue_place, queue_key, n_queue, n_flows + job, now + compute[job]
                    )
                    continue
                at[job] += 1
            step = at[job]
            n_open[job] = step_first[step + 1] - step_first[step]
            step_end[job] = now
            for flow in range(step_first[step], step_first[step + 1]):
                add_flow(flow, indptr, lists, first, length, flow_at, entry_at, spot)
                left[flow] = nbytes[flow]
                since[flow] = now
                rate[flow] = 0.0
                bottleneck[flow] = -1
                for entry in range(indptr[flow], indptr[flow + 1] - 1):
                    channel = lists[entry]
                    n_dirty = lower_key(dirty, dirty_place, dirty_key, fresh, n_dirty, channel, 0.0)
                    n_dirty = schedule_release(
                        dirty, dirty_place, dirty_key, filled, n_dirty, channel
                    )
                sender = lists[indptr[flow + 1] - 1]
                if per_sender and not is_touched[sender]:
                    is_touched[sender] = True
                    touched[n_touched] = sender
                    n_touched += 1

        for i in range(n_touched):
            sender = touched[i]
            is_touched[sender] = False
            for k in range(first[sender], first[sender] + length[sender]):
                flow = flow_at[k]
                weight[flow] = 1.0 / length[sender]
                if bottleneck[flow] < 0:
                    continue
                bottleneck[flow] = -1
                for entry in range(indptr[flow], indptr[flow + 1] - 1):
                    channel = lists[entry]
                    n_dirty = lower_key(dirty, dirty_place, dirty_key, fresh, n_dirty, channel, 0.0)
                    n_dirty = schedule_release(
                        dirty, dirty_place, dirty_key, filled, n_dirty, channel
                    )

        n_done = reshare(
            indptr,
            lists,
            capacity,
            first,
            length,
            flow_at,
            weight,
            level,
            bottleneck,
            final,
            filled,
            fresh,
            dirty,
            dirty_place,
            dirty_key,
            n_dirty,
            done,
        )
        n_dirty = 0
        for i in range(n_done):
            flow = done[i]
            new = weight[flow] * level[flow]
            if abs(new - rate[flow]) <= _TIE * new:
                continue
            left[flow] = max(0.0, left[flow] - rate[flow] * (now - since[flow]))
            since[flow] = now
            rate[flow] = new
            if first_rate[flow] < 0.0:
                first_rate[flow] = new
            n_queue = heap_set(queue, queue_place, queue_key, n_queue, flow, now + left[flow] / new)
    return first_end, last_end, count, first_rate, sent
