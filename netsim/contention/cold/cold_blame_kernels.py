"""
Who holds a job up, from the state of a fixed point solved from scratch, compiled.

Import through `netsim.kernelcache`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, njit, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.cold_kernels import (
    Crowd,
    Shared,
    gather,
    shared_of,
    start_at,
    time_link,
)
from netsim.contention.columns import ENTRY, STEP
from netsim.contention.link_kernels import link_time

_ENTRIES, _STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]


class Longest(NamedTuple):
    """The entry whose link takes longest for a step, by state."""

    entry: Ints  # -1: none
    by_use_s: Floats  # delay that the bound 1 / (1 - R) decides
    by_weight_s: Floats  # delay that the share bound decides, and waits


@njit(cache=True, error_model="numpy")
def _longest(
    a: int, length_s: float, shared: Shared, entries: Table, steps: Table, crowd: Crowd
) -> Longest:
    """Return the entries that take longest for a step."""
    n_states = crowd.weight.shape[1]
    found = Longest(np.full(n_states, -1), np.zeros(n_states), np.zeros(n_states))
    times, tau = np.empty((2, n_states)), steps[a].drain_s
    for k in shared.kept[shared.first_kept[a] : shared.first_kept[a + 1]]:
        own, pair = entries[k], shared.pair[k]
        if not time_link(k, length_s, entries, shared, crowd, True, times):
            continue
        c = shared.channel[pair]
        others = crowd.all_weight[c] - crowd.weight[pair]
        use = (crowd.all_use[c] - crowd.use[pair]) / others.mean()
        for i in range(n_states):
            late_s = times[0, i] + times[1, i] - tau
            if late_s <= found.by_use_s[i] + found.by_weight_s[i]:
                continue
            n = max(0.0, others[i])
            taken = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, use * n)
            bound = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, 1.0)
            found.entry[i] = k
            found.by_use_s[i] = max(0.0, times[0, i] - tau) if taken < bound else 0.0
            found.by_weight_s[i] = late_s - found.by_use_s[i]
    return found


@njit(
    void(
        int64,
        _ENTRIES,
        int64[::1],
        int64[::1],
        int64[::1],
        _STEPS,
        int64[::1],
        float64[::1],
        int64[:, ::1],
        float64[::1],
        float64[::1],
        float64[::1],
        int64[::1],
        float64[:, ::1],
    ),
    cache=True,
    error_model="numpy",
)
def blame_one(
    victim: int,
    entries: Table,
    pair: Ints,
    channel_of: Ints,
    first_entry: Ints,
    steps: Table,
    first_step: Ints,
    period_s: Floats,
    cells: Ints,
    slow: Floats,
    duration_s: Floats,
    late_s: Floats,
    kinds: Ints,
    blame: Floats,
) -> None:
    """
    Share out what each step of a job takes longer than alone.

    Parameters
    ----------
    victim : int
        The job.
    entries, pair, channel_of, first_entry, steps, first_step, period_s, cells
        As for `solve_cold`.
    slow, duration_s, late_s : arrays
        The solution: slowdown of each job, D g of each step, y of each entry.
    kinds : (K,) int array
        Class of the link of each entry.
    blame : (J, Z) float array
        Seconds, added to, by culprit and class of link.

    Notes
    -----
    As in fast mode, per state: the excess of the link that takes longest, in proportion to
    use where the bound 1/(1 - R) decides, else to weight. A step that meets several states is held
    up by all who are there in any of them.
    """
    shared = shared_of(pair, channel_of, first_entry)
    state = start_at(entries, steps, period_s.size, 1.0)
    state.slow[:], state.duration_s[:], state.late_s[:] = slow, duration_s, late_s
    crowd = gather(state, shared, entries, first_step, period_s, cells, True)
    job_of = np.zeros(channel_of.size, np.int64)
    for j in range(period_s.size):
        for a in range(first_step[j], first_step[j + 1]):
            for k in range(first_entry[a], first_entry[a + 1]):
                job_of[pair[k]] = j
    n_states = cells.shape[1]
    for a in range(first_step[victim], first_step[victim + 1]):
        longest = _longest(a, duration_s[a], shared, entries, steps, crowd)
        for i in range(n_states):
            k = longest.entry[i]
            if k < 0:
                continue
            others = np.flatnonzero(channel_of == channel_of[pair[k]])
            others = others[others != pair[k]]
            weight = crowd.weight[others, i]
            if weight.sum() <= 0.0:  # held up by what is there in other states
                weight = crowd.weight[others].sum(axis=1)
            use = weight * crowd.use[others] / crowd.weight[others].sum(axis=1)
            part = longest.by_weight_s[i] * weight / weight.sum()
            if longest.by_use_s[i] > 0.0:
                part += longest.by_use_s[i] * use / use.sum()
            for place in range(others.size):
                blame[job_of[others[place]], kinds[k]] += part[place] / n_states
