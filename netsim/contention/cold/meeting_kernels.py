"""
Which steps of jobs meet which on shared channels, compiled.

Import through `netsim.kernelcache`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from netsim.arrays import Ints, Table
from netsim.contention.cold.columns import MEETING


class Meetings(NamedTuple):
    """Which steps meet which on channels of several jobs; the others change nothing."""

    job: Ints  # of each step
    kept: Ints  # entries on such channels, by step
    first_kept: Ints  # of each step, in `kept`
    place: Ints  # of each of these entries in `on`
    on: Table  # the same entries by channel, `MEETING`
    first_on: Ints  # of each channel
    met: Ints  # steps of other jobs that each step meets
    first_met: Ints  # of each step


@njit(cache=True)
def jobs_of_steps(first_step: Ints) -> Ints:
    """Return the job of each step."""
    job = np.empty(first_step[-1], np.int64)
    for j in range(first_step.size - 1):
        job[first_step[j] : first_step[j + 1]] = j
    return job


@njit(cache=True)
def _sharing(entries: Table, channel: Ints, job: Ints, first_entry: Ints) -> tuple[Ints, Ints]:
    """Return the entries on channels of several jobs, and where those of each step begin."""
    owner = np.full(channel.max() + 1 if channel.size else 0, -1, np.int64)
    shared = np.zeros(owner.size, np.bool_)
    for k in range(entries.size):
        c, j = channel[k], job[entries[k].step]
        shared[c] |= owner[c] not in (-1, j)
        owner[c] = j
    kept = np.empty(entries.size, np.int64)
    first_kept = np.zeros(first_entry.size, np.int64)
    n_kept = 0
    for a in range(first_entry.size - 1):
        for k in range(first_entry[a], first_entry[a + 1]):
            if shared[channel[k]]:
                kept[n_kept] = k
                n_kept += 1
        first_kept[a + 1] = n_kept
    return kept[:n_kept], first_kept


@njit(cache=True)
def meetings_of(entries: Table, channel: Ints, first_entry: Ints, first_step: Ints) -> Meetings:
    """Find which steps meet which."""
    job = jobs_of_steps(first_step)
    kept, first_kept = _sharing(entries, channel, job, first_entry)
    first_on = np.zeros((channel.max() if channel.size else -1) + 2, np.int64)
    for k in kept:
        first_on[channel[k] + 1] += 1
    for c in range(first_on.size - 1):
        first_on[c + 1] += first_on[c]
    free = first_on[:-1].copy()
    place = np.empty(entries.size, np.int64)
    on = np.zeros(kept.size, MEETING)
    for k in kept:
        i = free[channel[k]]
        free[channel[k]] += 1
        place[k] = i
        on[i].step, on[i].job = entries[k].step, job[entries[k].step]
    met_by = np.full(job.size, -1, np.int64)
    met = np.empty(0, np.int64)
    first_met = np.zeros(job.size + 1, np.int64)
    for turn in range(2):  # count, then list
        if turn == 1:
            for a in range(job.size):
                first_met[a + 1] += first_met[a]
            met = np.empty(first_met[job.size], np.int64)
            met_by[:] = -1
        for a in range(job.size):
            count = 0
            for k in kept[first_kept[a] : first_kept[a + 1]]:
                for i in range(first_on[channel[k]], first_on[channel[k] + 1]):
                    b = on[i].step
                    if on[i].job != job[a] and met_by[b] != a:
                        met_by[b] = a
                        if turn == 1:
                            met[first_met[a] + count] = b
                        count += 1
            if turn == 0:
                first_met[a + 1] = count
    return Meetings(job, kept, first_kept, place, on, first_on, met, first_met)
