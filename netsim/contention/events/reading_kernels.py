"""
What jobs meet state by state, read off the fixed point of `fast` event by event, compiled.

Links of a job on which the others have moved by enough are *touched*: they are timed anew, and the
job is read again. What the others of its links do to its steps is kept, in `late`. Arguments named
as tables of `netsim.contention.events.readingpool.ReadingPool` are
these; `crowd_kernels` names their columns. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import float32, float64, from_dtype, int32, int64, uint8, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, READING, STEP
from netsim.contention.events.crowd_kernels import (
    AFRESH,
    CHANNEL_AT,
    COUNT_AT,
    CROSSED,
    DRAWN,
    EFFECT,
    FELT,
    HELD,
    LANES_AT,
    LASTING,
    LINK_AT,
    LINKS,
    MARGIN,
    MARGIN_R,
    NOISE,
    QUEUED,
    STALENESS,
    STATES,
    STEP_AT,
    TOUCHED,
    UNFELT,
    USE,
    WAIT,
)
from netsim.contention.events.filled_kernels import wait_for_pool
from netsim.contention.events.recall_kernels import recall
from netsim.contention.lane_sum_kernels import (
    N_ALL_SUMS,
    meets_closed,
    met_closed,
    met_lanes,
    times_by_lane,
)
from netsim.contention.link_kernels import STAGES, early_part, felt_weight, link_time, stays_within
from netsim.contention.window_kernels import (
    by_iterations,
    further_waits,
    grown_queue,
    late_wait,
    left_over,
    queue_ahead,
    time_behind,
    wait_further,
    window_lag,
    window_time,
)
from netsim.jit import njit

WIDEST = LANES_AT + N_ALL_SUMS  # columns where it is known what is closed
SAID = 0.2  # tolerances that a reading moves before it is said
_ENTRIES, _STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]
_JOBS, _READINGS = from_dtype(JOB)[::1], from_dtype(READING)[::1]
_CHANNELS, _LISTED = from_dtype(CHANNEL)[::1], from_dtype(LISTED)[::1]
_ROWS, _PLACES, _FLAGS = float32[:, ::1], int32[:, ::1], uint8[::1]


@njit(
    void(
        int64,
        int64[::1],
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _ROWS,
        _PLACES,
        _ROWS,
        _FLAGS,
        _ROWS,
        float64[:, ::1],
        float64[:, ::1],
        float64[::1],
    ),
    cache=True,
    error_model="numpy",
)
def _meet(  # one function: a call with arrays counts their references, as long as a link takes
    slot: int,
    touched: Ints,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    own: Floats,
    place: Ints,
    crowd: Floats,
    felt: Ints,
    late: Floats,
    times: Floats,
    most_late: Floats,
    worst: Floats,
) -> None:
    """
    Find by how much the touched channels of a job make its steps late in each state.

    `touched` (K,): first entries. Raised, as by `recall`: `most_late`, `worst`. `times`: scratch.
    """
    first_step, alone_s, n_states = jobs[slot].first_step, jobs[slot].alone_s, times.shape[1]
    n_plain = n_states if crowd.shape[1] == LANES_AT else 0  # of those where a link has one lane
    for at in touched:
        c, total, most = place[at, CHANNEL_AT], 0.0, 0.0
        for i in range(n_states):  # not a constant: a loop of eight would not run in vectors
            times[0, i] = n = max(0.0, float64(float32(crowd[c, i] - own[at, i])))
            total, most = total + n, max(most, n)
        if total <= NOISE:
            crowd[c, EFFECT] = max(crowd[c, EFFECT], own[at, EFFECT])
            continue
        use = max(0.0, float64(float32(crowd[c, USE] - own[at, USE]))) * n_states / total
        burst_s = max(0.0, float32(crowd[c, LASTING] - own[at, LASTING])) * n_states / total
        held = max(0.0, float64(float32(crowd[c, HELD] - own[at, HELD]))) * n_states / total
        queued = float64(float32(own[at, HELD] - crowd[c, HELD]))
        standing = queued * n_states / total if queued > NOISE else 0.0
        queued_s = max(0.0, float64(float32(crowd[c, QUEUED] - own[at, QUEUED]))) * n_states / total
        crossed = float32(crowd[c, CROSSED] - float32(own[at, LASTING] * own[at, USE]))
        crossed_s = float64(crossed) * n_states / total
        shut = crowd.shape[1] >= WIDEST and meets_closed(at, own, c, crowd, LANES_AT)
        least, within, effect_s = -1.0 if shut else left_over(held, most + MARGIN), True, 0.0
        for k in range(at, at + place[at, COUNT_AT]):
            drain, weight, end = entries[k].drain_s, entries[k].weight, entries[k].end_s
            senders, feed, queue = entries[k].senders, entries[k].feed_s, entries[k].queue_s
            a, tau = entries[k].step, steps[first_step + entries[k].step].drain_s
            more_s = wait_further(queue, queued_s, standing, most + MARGIN)
            links, margin_use = float64(late[k, LINKS]), use * (most + MARGIN) + MARGIN_R
            limit = max(0.0, min(end, tau - max(1.0, links) * queue - more_s)) * least
            drawn = late[k, DRAWN] > 0.0 and end > tau - links * queue  # packets come until the end
            if not drawn and stays_within(limit, drain, weight, most + MARGIN, margin_use):
                for i in range(n_states + 1):  # and WAIT
                    late[k, i] = 0.0
                continue
            within, length_s = False, steps[first_step + a].time_s + latency_s[first_step + a]
            lag, mean, longest_s, held_s, felt_s = window_lag(burst_s, length_s), 0.0, 0.0, 0.0, 0.0
            grown_s = grown_queue(queue, float64(crowd[c, USE]), burst_s, crossed_s)
            if n_plain == 0:
                sums = at, own, c, crowd, LANES_AT, total / n_states
                link = drain, weight, senders, feed, end, queue
                met = *met_lanes(k, late, *sums), *met_closed(k, late, *sums)
                effect_s += times_by_lane(times, link, (use, grown_s, queued_s, standing), met, tau)
            early = early_part(drain, queue, links)
            for i in range(n_plain):
                n = times[0, i]
                taken = link_time(drain, weight, senders, feed, felt_weight(n, early), use * n)
                if held > 0.0:
                    left = left_over(held, n)
                    taken = time_behind(taken, drain, weight, senders, feed, n, use, left)
                times[1, i], times[2, i] = end / max(end, taken), end - taken
            for i in range(n_plain):
                n, spare_s, wait_s = times[0, i], times[2, i], 0.0
                if queue > 0.0:
                    wait_s = late_wait(queue, grown_s, queued_s, n, use * n, spare_s)
                if standing > 0.0:
                    wait_s = max(wait_s, queue_ahead(queue, standing, n, spare_s))
                times[2, i] = wait_s - tau
            if links > 1.0:
                effect_s += wait_for_pool(entries, k, late, tau, burst_s, use, times)
            for i in range(n_states):
                mean += times[1, i]
            for i in range(n_states):
                times[1, i] = window_time(end, times[1, i], mean / n_states, lag)
            for i in range(n_states):
                late[k, i] = float32(times[1, i] + times[2, i])
            for i in range(n_states):
                longest_s = max(longest_s, times[1, i])
                by_s = times[1, i] + times[2, i]
                held_s += by_s
                felt_s += min(times[2, i] + tau, max(0.0, by_s))
            late[k, WAIT] = float32(felt_s / n_states)
            stage = STATES + place[k, STEP_AT] % STAGES
            most_late[a, stage] = max(most_late[a, stage], float64(late[k, WAIT]))
            for i in range(n_states):
                most_late[a, i] = max(most_late[a, i], float64(late[k, i]))
            if held_s > worst[0]:
                worst[0], worst[1] = held_s, place[at, LINK_AT]
            effect_s += max(queued_s, standing * queue) + drain / weight + longest_s**2 / drain
        own[at, EFFECT], own[at, STALENESS] = effect_s / alone_s, 0.0
        crowd[c, EFFECT] = max(crowd[c, EFFECT], own[at, EFFECT])
        felt[at] = UNFELT if within else FELT


@njit(
    void(
        int64,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _ROWS,
        _PLACES,
        _ROWS,
        _FLAGS,
        _READINGS,
        _ROWS,
        float64[:, ::1],
        int64[::1],
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
    own: Floats,
    place: Ints,
    crowd: Floats,
    felt: Ints,
    readings: Table,
    late: Floats,
    times: Floats,
    touched: Ints,
    tolerance: float,
) -> None:
    """Read how much a job is slowed by what is on its channels."""
    job, reading = jobs[slot], readings[slot]
    reading.waking = False
    if abs(job.slowdown - reading.met) > AFRESH * tolerance:
        reading.met = job.slowdown
        for at in range(job.first_entry, job.first_entry + job.n_entries):
            felt[at] = TOUCHED if felt[at] != UNFELT else UNFELT
    most_late = np.zeros((job.n_steps, STATES + STAGES))
    worst = np.empty(2)
    worst[0], worst[1] = -np.inf, -1.0  # in the mean a link may be early that is late in a state
    n_touched = recall(slot, jobs, place, felt, late, most_late, worst, touched)
    _meet(
        slot,
        touched[:n_touched],
        entries,
        steps,
        latency_s,
        jobs,
        own,
        place,
        crowd,
        felt,
        late,
        times,
        most_late,
        worst,
    )
    excess = 0.0
    for a in range(job.n_steps):
        for i in range(STATES):
            excess += most_late[a, i]
    excess /= STATES
    if excess > 0.0:
        more, rate = 1.0 + further_waits(most_late, STATES) / excess, 0.0
        for i in range(STATES):
            late_s = 0.0
            for a in range(job.n_steps):
                late_s += most_late[a, i]
            rate += 1.0 / (job.alone_s + more * late_s) / STATES
        excess = by_iterations(job.alone_s, more * excess, rate)
    value = 1.0 + (excess / job.alone_s if excess > 0.0 else 0.0)
    if value == 1.0 or abs(value - reading.value) > SAID * tolerance:
        reading.value = value
    reading.worst_link = int64(worst[1]) if excess > 0.0 else -1


@njit(
    int64(
        int64,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _ROWS,
        _PLACES,
        _ROWS,
        _FLAGS,
        _READINGS,
        _ROWS,
        int64[::1],
        int64[::1],
        float64,
    ),
    cache=True,
    error_model="numpy",
)
def read(
    n_states: int,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    own: Floats,
    place: Ints,
    crowd: Floats,
    felt: Ints,
    readings: Table,
    late: Floats,
    touched: Ints,
    changed: Ints,
    tolerance: float,
) -> int:
    """
    Read anew the jobs that were woken.

    Parameters
    ----------
    n_states : int
        M.
    entries, steps, latency_s, jobs, own, place, crowd, felt, readings, late
        The pool.
    touched : (C,) int array
        Scratch.
    changed : (S,) int array
        Written: slots whose reading differs from what was said before; it counts as said now.
    tolerance : float
        Of the fixed point.

    Returns
    -------
    int
        How many slots are in `changed`.
    """
    times, n_changed = np.empty((3, n_states)), 0
    for slot in range(jobs.size):
        if readings[slot].waking:
            _read(
                slot,
                entries,
                steps,
                latency_s,
                jobs,
                own,
                place,
                crowd,
                felt,
                readings,
                late,
                times,
                touched,
                tolerance,
            )
        value = readings[slot].value / (1.0 - readings[slot].closed)
        if value != readings[slot].said:
            readings[slot].said = value
            changed[n_changed] = slot
            n_changed += 1
    return n_changed
