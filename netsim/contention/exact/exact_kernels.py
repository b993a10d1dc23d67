"""Compiled flow-level simulation of iterating jobs; import through `netsim.kernelcache`."""

import numpy as np
from numba import boolean, float64, int64, njit, types

from netsim.arrays import Floats, Ints
from netsim.contention.exact.reshare_kernels import add_flow, loosen, remove_flow, reshare, vacate
from netsim.flows.maxmin_kernels import heap_remove, heap_set

_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
_TIE = 1e-12  # times and rates closer than this (relative) are equal


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
            n_dirty = vacate(
                item, indptr, lists, filled, fresh, dirty, dirty_place, dirty_key, n_dirty
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
                n_dirty = loosen(
                    flow, indptr, lists, filled, fresh, dirty, dirty_place, dirty_key, n_dirty
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
                share = 1.0 / length[sender]
                if bottleneck[flow] < 0 or weight[flow] == share:
                    weight[flow] = share
                    continue
                weight[flow] = share
                bottleneck[flow] = -1
                n_dirty = loosen(
                    flow, indptr, lists, filled, fresh, dirty, dirty_place, dirty_key, n_dirty
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
