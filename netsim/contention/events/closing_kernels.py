"""
What jobs lose before pools that others' hot spots close, event by event, compiled.

Asked only where switches choose and a job closes a pool. Arguments named as tables of
`netsim.contention.events.readingpool.ReadingPool` are these. Import through
`netsim.kernelcache`.
"""

import numpy as np
from numba import float32, float64, from_dtype, int32, int64, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.closing_kernels import (
    FIRST,
    LEAST,
    N_NOTED,
    closing,
    lost_share,
    note,
    spare_time,
)
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, READING, RECORD, STEP
from netsim.contention.events.crowd_kernels import CHANNEL_AT, CLOSES, COUNT_AT, LINK_AT
from netsim.jit import njit

SAID = 0.2  # tolerances that what a job loses moves before it is said

_ENTRIES, _STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]
_RECORDS, _LISTED = from_dtype(RECORD)[::1], from_dtype(LISTED)[::1]
_JOBS, _CHANNELS = from_dtype(JOB)[::1], from_dtype(CHANNEL)[::1]
_READINGS = from_dtype(READING)[::1]


@njit(cache=True, error_model="numpy")
def _closing_of(
    slot: int, at: int, entries: Table, steps: Table, jobs: Table, place: Ints, late: Floats
) -> tuple[float, float]:
    """Return what a job adds to the closing of the channel of a record, and that times D."""
    share, square_s = 0.0, 0.0
    for k in range(at, at + place[at, COUNT_AT]):
        closed_s = late[k, CLOSES] * steps[jobs[slot].first_step + entries[k].step].drain_s
        share += closed_s * jobs[slot].rate
        square_s += closed_s * closed_s * jobs[slot].rate
    if share <= 0.0:
        return 0.0, 0.0
    by = closing(share)
    return by, by * square_s / share


@njit(cache=True, error_model="numpy")
def _lost(
    slot: int,
    at: int,
    closed: float,
    length_s: float,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    place: Ints,
) -> float:
    """Return the share of its time that a job loses on the channel of a record."""
    job = jobs[slot]
    noted = np.zeros(N_NOTED)
    noted[FIRST] = -1.0
    since_s, drained_s, k = 0.0, 0.0, at
    for a in range(job.n_steps):
        tau_s = steps[job.first_step + a].drain_s
        own_s = tau_s + latency_s[job.first_step + a]
        if k < at + place[at, COUNT_AT] and entries[k].step == a:
            note(noted, since_s, own_s, tau_s, spare_time(tau_s, entries, k))
            drained_s += tau_s
            k += 1
        since_s += own_s
    return float(lost_share(noted, drained_s, job.alone_s, closed, length_s))


@njit(
    void(
        int64,
        _RECORDS,
        _LISTED,
        _ENTRIES,
        _STEPS,
        _JOBS,
        _CHANNELS,
        int32[:, ::1],
        float32[:, ::1],
        _READINGS,
        float64[::1],
    ),
    cache=True,
    error_model="numpy",
)
def find_closers(
    victim: int,
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    jobs: Table,
    channels: Table,
    place: Ints,
    late: Floats,
    readings: Table,
    by: Floats,
) -> None:
    """
    Find who closes the pool before which a job loses most.

    Parameters
    ----------
    victim : int
        Slot of a job with a `closed_link`.
    records, listed, entries, steps, jobs, channels, place, late, readings
        The pool.
    by : (S,) float array
        Written: how much the job of each slot adds to its closing.
    """
    first = jobs[victim].first_record
    for row in range(first, first + jobs[victim].n_shared):
        at = jobs[victim].first_entry + records[row].first_entry
        if place[at, LINK_AT] != readings[victim].closed_link:
            continue
        other = channels[place[at, CHANNEL_AT]].first_record
        while other >= 0:
            who = listed[other].slot
            if who != victim and readings[who].closes:
                begin = jobs[who].first_entry + listed[other].first_entry
                by[who] = _closing_of(who, begin, entries, steps, jobs, place, late)[0]
            other = listed[other].following


@njit(
    void(
        _RECORDS,
        _LISTED,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _CHANNELS,
        int32[:, ::1],
        float32[:, ::1],
        _READINGS,
        float64[:, ::1],
        float64,
    ),
    cache=True,
    error_model="numpy",
)
def close_pools(
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    channels: Table,
    place: Ints,
    late: Floats,
    readings: Table,
    closed: Floats,
    tolerance: float,
) -> None:
    """
    Find which share of its time each job loses before pools that others close.

    Parameters
    ----------
    records, listed, entries, steps, latency_s, jobs, channels, place, late, readings
        The pool. Written: `closed` and `closed_link` of the readings.
    closed : (C, 2) float array
        Scratch of each channel, all 0 before and after.
    tolerance : float
        Of the fixed point.
    """
    lost = np.zeros(jobs.size)
    link = np.full(jobs.size, -1)
    for turn in range(2):
        for slot in range(jobs.size):
            if not jobs[slot].n_steps or not readings[slot].closes:
                continue
            first = jobs[slot].first_record
            for row in range(first, first + jobs[slot].n_shared):
                at = jobs[slot].first_entry + records[row].first_entry
                c = place[at, CHANNEL_AT]
                if turn == 0:
                    by, length_s = _closing_of(slot, at, entries, steps, jobs, place, late)
                    closed[c, 0] += by
                    closed[c, 1] += length_s
                    continue
                if closed[c, 0] <= 0.0:
                    continue
                other = channels[c].first_record
                while other >= 0:
                    who = listed[other].slot
                    begin = jobs[who].first_entry + listed[other].first_entry
                    by, length_s = closed[c, 0], closed[c, 1]
                    if readings[who].closes:
                        own, own_s = _closing_of(who, begin, entries, steps, jobs, place, late)
                        by, length_s = by - own, length_s - own_s
                    if by > LEAST:
                        part = _lost(
                            who, begin, by, length_s / by, entries, steps, latency_s, jobs, place
                        )
                        if part > lost[who]:
                            lost[who], link[who] = part, place[begin, LINK_AT]
                    other = listed[other].following
                closed[c, 0] = closed[c, 1] = 0.0
    for slot in range(jobs.size):
        reading = readings[slot]
        reading.closed_link = link[slot]
        if lost[slot] == 0.0 or abs(lost[slot] - reading.closed) > SAID * tolerance:
            reading.closed = lost[slot]
