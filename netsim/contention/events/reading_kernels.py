"""
What jobs meet state by state, read off the fixed point of `fast` event by event, compiled.

A job whose slowdown or weights have moved is put down anew (*refreshed*); the jobs that feel it are
read again. Arguments named as tables of `netsim.contention.events.readingpool.ReadingPool` are
these; `crowd_kernels` names their columns. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float32, float64, from_dtype, int32, int64, njit, uint8, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, READING, RECORD, STEP
from netsim.contention.events.crowd_kernels import (
    CHANNEL_AT,
    COUNT_AT,
    DRAIN,
    EFFECT,
    LASTING,
    LINK_AT,
    MARGIN,
    MARGIN_R,
    NOISE,
    has_moved,
    refresh,
)
from netsim.contention.link_kernels import link_time, stays_within
from netsim.contention.window_kernels import late_wait, window_lag, window_time

SAID = 0.2  # tolerances that a reading moves before it is said
_RECORDS, _LISTED, _ENTRIES = (
    from_dtype(RECORD)[::1],
    from_dtype(LISTED)[::1],
    from_dtype(ENTRY)[::1],
)
_STEPS, _JOBS, _CHANNELS = from_dtype(STEP)[::1], from_dtype(JOB)[::1], from_dtype(CHANNEL)[::1]
_READINGS = from_dtype(READING)[::1]
_ROWS, _PLACES, _FLAGS = float32[:, ::1], int32[:, ::1], uint8[::1]


@njit(
    boolean(int64, _ENTRIES, float64, float64, float64, float64, float64, float64[:, ::1], int64),
    cache=True,
    error_model="numpy",
)
def time_entry(
    k: int,
    entries: Table,
    tau: float,
    length_s: float,
    most: float,
    use: float,
    burst_s: float,
    times: Floats,
    n_states: int,
) -> bool:
    """
    Find how long a link takes for a step in each state; False where it surely does not matter.

    `times` (3, M): weights N_i of the others; written: time of the fluid, wait. `most`: the largest
    weight, `use`: R / mean N_i.
    """
    entry = entries[k]
    drain, weight, senders, feed = entry.drain_s, entry.weight, entry.senders, entry.feed_s
    end, queue = entry.end_s, entry.queue_s
    if stays_within(max(0.0, min(end, tau - queue)), drain, weight, most, use * most):
        return False
    for i in range(n_states):  # not a constant: a loop of eight would not run in vectors
        n = times[0, i]
        taken = link_time(drain, weight, senders, feed, n, use * n)
        times[2, i] = late_wait(queue, burst_s, n, end - taken)
        times[1, i] = end / max(end, taken)
    mean, lag = 0.0, window_lag(burst_s, length_s)
    for i in range(n_states):
        mean += times[1, i]
    mean /= n_states
    for i in range(n_states):
        times[1, i] = window_time(end, times[1, i], mean, lag)
    return True


@njit(
    void(
        int64,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _CHANNELS,
        _ROWS,
        _PLACES,
        _ROWS,
        _FLAGS,
        _READINGS,
        float64[:, ::1],
        float64,
    ),
    cache=True,
    error_model="numpy",
)
def _read(
    slot: int,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    channels: Table,
    own: Floats,
    place: Ints,
    crowd: Floats,
    felt: Ints,
    readings: Table,
    times: Floats,
    tolerance: float,
) -> None:
    """Read how much a job is slowed by what is on its channels."""
    job, reading = jobs[slot], readings[slot]
    reading.waking, reading.stale = False, 0.0
    n_states = times.shape[1]
    late = np.zeros((job.n_steps, n_states))
    worst, worst_late_s = -1, 0.0
    for at in range(job.first_entry, job.first_entry + job.n_entries):
        if not felt[at]:
            continue
        c = place[at, CHANNEL_AT]
        total, most = 0.0, 0.0
        for i in range(n_states):
            n = max(0.0, float64(crowd[c, i] - own[at, i]))
            times[0, i] = n
            total += n
            most = max(most, n)
        if total <= NOISE:
            continue
        use = max(0.0, channels[c].use - own[at, DRAIN] * job.rate) * n_states / total
        burst_s = max(0.0, crowd[c, LASTING] - own[at, LASTING]) * n_states / total
        still, effect_s = False, 0.0
        for k in range(at, at + place[at, COUNT_AT]):
            entry = entries[k]
            a = entry.step
            step = steps[job.first_step + a]
            limit = max(0.0, min(entry.end_s, step.drain_s - entry.queue_s))
            if not still:
                margin_use = use * (most + MARGIN) + MARGIN_R
                still = not stays_within(
                    limit, entry.drain_s, entry.weight, most + MARGIN, margin_use
                )
            length_s = step.time_s + latency_s[job.first_step + a]
            effect_s += entry.drain_s / entry.weight
            if not time_entry(
                k, entries, step.drain_s, length_s, most, use, burst_s, times, n_states
            ):
                continue
            held_s, longest_s = 0.0, 0.0
            for i in range(n_states):
                longest_s = max(longest_s, times[1, i])
                by = times[1, i] + times[2, i] - step.drain_s
                held_s += by
                late[a, i] = max(late[a, i], by)
            if held_s > worst_late_s:
                worst_late_s, worst = held_s, place[at, LINK_AT]
            effect_s += longest_s * longest_s / entry.drain_s  # of B / (1 - R)
        felt[at] = still
        own[at, EFFECT] = effect_s / job.alone_s
    excess = late.sum() / n_states
    value = 1.0 + (excess / job.alone_s if excess > 0.0 else 0.0)
    if value == 1.0 or abs(value - reading.value) > SAID * tolerance:
        reading.value = value
    reading.worst_link = worst


@njit(
    int64(
        int64[:, ::1],
        _RECORDS,
        _LISTED,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _CHANNELS,
        _ROWS,
        _PLACES,
        _ROWS,
        _FLAGS,
        _READINGS,
        float64,
    ),
    cache=True,
    error_model="numpy",
)
def read(
    cells: Ints,
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    channels: Table,
    own: Floats,
    place: Ints,
    crowd: Floats,
    felt: Ints,
    readings: Table,
    tolerance: float,
) -> int:
    """
    Bring the readings up to date with the fixed point.

    Parameters
    ----------
    cells : (S, M) int array
        The cell in which the job of each slot is in each state.
    records, listed, entries, steps, latency_s, jobs, channels, own, place, crowd, felt, readings
        The pool.
    tolerance : float
        Of the fixed point; the constants of this module say how much of it moves whom.

    Returns
    -------
    int
        Readings done.
    """
    for slot in range(jobs.size):
        if jobs[slot].n_steps and has_moved(slot, tolerance, records, jobs, own, readings):
            refresh(
                slot,
                cells[slot],
                tolerance,
                records,
                listed,
                entries,
                steps,
                latency_s,
                jobs,
                channels,
                own,
                crowd,
                felt,
                readings,
            )
    times = np.empty((3, cells.shape[1]))
    done = 0
    for slot in range(jobs.size):
        if readings[slot].waking:
            done += 1
            _read(
                slot,
                entries,
                steps,
                latency_s,
                jobs,
                channels,
                own,
                place,
                crowd,
                felt,
                readings,
                times,
                tolerance,
            )
    return done
