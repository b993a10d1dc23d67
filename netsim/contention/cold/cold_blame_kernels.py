"""
Who holds a job up, from the state of a fixed point solved from scratch, compiled.

Import through `netsim.kernelcache`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, njit, types, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.cold_kernels import (
    Crowd,
    Shared,
    gather,
    shared_of,
    start_at,
    time_link,
)
from netsim.contention.cold.loop_kernels import count_of, put
from netsim.contention.columns import ENTRY, STEP
from netsim.contention.link_kernels import STAGES, link_time
from netsim.contention.window_kernels import ADDED

_ENTRIES, _STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]


class Meetings(NamedTuple):
    """The pairs (job, channel) on each channel."""

    first: Ints  # of each channel, in `pairs`
    pairs: Ints
    job: Ints  # of each pair


_SHARED = types.NamedUniTuple(int64[::1], 4, Shared)  # type: ignore[no-untyped-call]
_CROWD = types.NamedTuple(  # type: ignore[no-untyped-call]
    (float64[:, ::1], float64[::1], float64[::1], float64[::1]) * 2, Crowd
)
_MEETINGS = types.NamedUniTuple(int64[::1], 3, Meetings)  # type: ignore[no-untyped-call]


class Longest(NamedTuple):
    """The entry whose link takes longest for a step, by state, and those of further waits."""

    entry: Ints  # -1: none
    by_use_s: Floats  # delay that the bound 1 / (1 - R) decides
    by_weight_s: Floats  # delay that the share bound decides, and waits
    waiting: Ints  # the entry of the longest wait at each stage, -1: none
    wait_s: Floats  # how long it is, in the mean over the states


@njit(cache=True, error_model="numpy")
def _longest(
    a: int, length_s: float, shared: Shared, entries: Table, steps: Table, crowd: Crowd
) -> Longest:
    """Return the entries that take longest for a step."""
    n_states = crowd.weight.shape[1]
    found = Longest(
        np.full(n_states, -1),
        np.zeros(n_states),
        np.zeros(n_states),
        np.full(STAGES, -1),
        np.zeros(STAGES),
    )
    times, tau, linger = np.empty((2, n_states)), steps[a].drain_s, bool(np.bool_(True))
    for k in shared.kept[shared.first_kept[a] : shared.first_kept[a + 1]]:
        own, pair = entries[k], shared.pair[k]
        if not time_link(k, length_s, entries, shared, crowd, linger, times):
            continue
        c = shared.channel[pair]
        total = 0.0
        for i in range(n_states):
            total += crowd.all_weight[c, i] - crowd.weight[pair, i]
        use = (crowd.all_use[c] - crowd.use[pair]) / (total / n_states)
        felt_s = 0.0
        for i in range(n_states):
            late_s = times[0, i] + times[1, i] - tau
            felt_s += min(times[1, i], max(0.0, late_s)) / n_states
            if late_s <= found.by_use_s[i] + found.by_weight_s[i]:
                continue
            n = max(0.0, crowd.all_weight[c, i] - crowd.weight[pair, i])
            taken = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, use * n)
            bound = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, 1.0)
            found.entry[i] = k
            found.by_use_s[i] = max(0.0, times[0, i] - tau) if taken < bound else 0.0
            found.by_weight_s[i] = late_s - found.by_use_s[i]
        if n_states > 1 and felt_s > found.wait_s[own.stage]:
            found.waiting[own.stage], found.wait_s[own.stage] = k, felt_s
    found.waiting[found.wait_s.argmax()] = -1  # that of the link that takes longest
    return found


@njit(cache=True)
def _weight(crowd: Crowd, pair: int, state: int) -> float:
    """Return what a job weighs on a channel in a state, or in all if that is -1."""
    if state >= 0:
        return crowd.weight[pair, state]  # type: ignore[no-any-return]
    total = 0.0
    for i in range(crowd.weight.shape[1]):
        total += crowd.weight[pair, i]
    return total


@njit(cache=True, error_model="numpy")
def _use(crowd: Crowd, pair: int, state: int) -> float:
    """Return the use of a channel by a job in a state, or in all if that is -1."""
    in_all = _weight(crowd, pair, int(np.int64(-1)))
    return _weight(crowd, pair, state) * crowd.use[pair] / in_all  # type: ignore[no-any-return]


@njit(
    (
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
    ),
    cache=True,
    error_model="numpy",
)
def who_meets(
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
) -> tuple[Shared, Crowd, Meetings]:
    """
    Return what `blame_one` reads, the same for all victims.

    `slow`, `duration_s`, `late_s`: the solution: slowdown of each job, D g of each step, y of each
    entry. All others: as for `solve_cold`.
    """
    shared = shared_of(pair, channel_of, first_entry)
    state = start_at(entries, steps, period_s.size, 1.0)
    put(slow, state.slow)
    put(duration_s, state.duration_s)
    put(late_s, state.late_s)
    linger = bool(np.bool_(True))  # a constant would have all compiled once more
    crowd = gather(state, shared, entries, first_step, period_s, cells, linger)
    job = np.zeros(channel_of.size, np.int64)
    for j in range(period_s.size):
        for a in range(first_step[j], first_step[j + 1]):
            for k in range(first_entry[a], first_entry[a + 1]):
                job[pair[k]] = j
    first = np.zeros(count_of(channel_of) + 1, np.int64)
    for c in channel_of:
        first[c + 1] += 1
    for c in range(first.size - 1):
        first[c + 1] += first[c]
    pairs, filled = np.empty(channel_of.size, np.int64), np.zeros(first.size, np.int64)
    for p in range(channel_of.size):
        c = channel_of[p]
        pairs[first[c] + filled[c]] = p
        filled[c] += 1
    return shared, crowd, Meetings(first, pairs, job)


@njit(cache=True, error_model="numpy")
def _share_out(
    k: int,
    state: int,
    by_s: tuple[float, float],
    shared: Shared,
    crowd: Crowd,
    meetings: Meetings,
    kinds: Ints,
    blame: Floats,
) -> None:
    """
    Add what the others on the link of an entry have to do with its delay in a state; -1: in all.

    `k`: -1 for no entry. `by_s`: seconds in proportion to use, and to weight.
    """
    if k < 0:
        return
    own, c = shared.pair[k], shared.channel[shared.pair[k]]
    here = meetings.pairs[meetings.first[c] : meetings.first[c + 1]]
    total = 0.0
    for other in here:
        if other != own:
            total += _weight(crowd, other, state)
    if total <= 0.0:  # where nobody is there, who is there in other states
        state = int(np.int64(-1))
    total, total_use = 0.0, 0.0
    for other in here:
        if other != own:
            total += _weight(crowd, other, state)
            total_use += _use(crowd, other, state)
    for other in here:
        if other == own:
            continue
        part = by_s[1] * _weight(crowd, other, state) / total
        if by_s[0] > 0.0:
            part += by_s[0] * _use(crowd, other, state) / total_use
        blame[meetings.job[other], kinds[k]] += part


@njit(
    void(
        int64,
        _ENTRIES,
        _STEPS,
        int64[::1],
        float64[::1],
        _SHARED,
        _CROWD,
        _MEETINGS,
        int64[::1],
        float64[:, ::1],
    ),
    cache=True,
    error_model="numpy",
)
def blame_one(
    victim: int,
    entries: Table,
    steps: Table,
    first_step: Ints,
    duration_s: Floats,
    shared: Shared,
    crowd: Crowd,
    meetings: Meetings,
    kinds: Ints,
    blame: Floats,
) -> None:
    """
    Share out what each step of a job takes longer than alone.

    Parameters
    ----------
    victim : int
        The job.
    entries, steps, first_step, duration_s
        As for `who_meets`.
    shared, crowd, meetings
        As from `who_meets`.
    kinds : (K,) int array
        Class of the link of each entry.
    blame : (J, Z) float array
        Seconds, added to, by culprit and class of link.

    Notes
    -----
    As in fast mode, per state: the excess of the link that takes longest, in proportion to
    use where the bound 1/(1 - R) decides, else to weight. A step that meets several states is held
    up by all who are there in any of them, and waits at further links are due to all who are
    there.
    """
    n_states = crowd.weight.shape[1]
    for a in range(first_step[victim], first_step[victim + 1]):
        longest = _longest(a, duration_s[a], shared, entries, steps, crowd)
        for i in range(n_states):
            by_s = (longest.by_use_s[i] / n_states, longest.by_weight_s[i] / n_states)
            _share_out(longest.entry[i], i, by_s, shared, crowd, meetings, kinds, blame)
        for stage in range(STAGES):
            by_s = (0.0, ADDED * longest.wait_s[stage])
            k = longest.waiting[stage]
            _share_out(k, int(np.int64(-1)), by_s, shared, crowd, meetings, kinds, blame)
