"""
The fixed point solved from scratch, among neighbours who are present by states, compiled.

In a state each job is somewhere in one M-th of its iteration, a *cell*; which one is drawn per job.
With a single state a neighbour is there for its share of the time. Sums per channel and state serve
every step that uses the channel, whatever its length. Import through `netsim.kernelcache`.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, from_dtype, int64, njit

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.loop_kernels import count_of, total
from netsim.contention.columns import ENTRY, STEP
from netsim.contention.link_kernels import STAGES, link_time, queue_wait, stays_within
from netsim.contention.window_kernels import (
    further_waits,
    late_wait,
    left_over,
    presence,
    window_lag,
    window_time,
)

OMEGA_START, OMEGA_FLOOR, OMEGA_GROWTH = 0.5, 0.1, 1.05
# omega is halved after so many sweeps without progress: clusters of jobs can cycle
PATIENCE, PROGRESS = 100, 0.7
_ENTRIES, _STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]


class State(NamedTuple):
    """Where the sweeps stand."""

    slow: Floats  # slowdown of each job
    omega: Floats  # damping of each job
    residual: Floats  # of each job in the last sweep
    duration_s: Floats  # D g of each step
    fresh_s: Floats  # what it moves to
    late_s: Floats  # y of each entry
    fresh_late_s: Floats  # what it moves to
    held_s: Floats  # the same with the wait for the queue


class Shared(NamedTuple):
    """The entries on channels of several jobs; the others change nothing."""

    kept: Ints
    first_kept: Ints  # of each step, in `kept`
    pair: Ints  # (job, channel) of each entry
    channel: Ints  # of each pair


class Crowd(NamedTuple):
    """What is on channels in each state: of each pair (job, channel), and of all jobs."""

    weight: Floats  # (P, M) weight of the flows, N
    use: Floats  # (P,) share of the capacity, R
    lasting_s: Floats  # (P,) mean of weight x length of the step, D
    held: Floats  # (P,) mean of what is held while it waits for other links, V
    all_weight: Floats  # (C, M)
    all_use: Floats  # (C,)
    all_lasting_s: Floats  # (C,)
    all_held: Floats  # (C,)


@njit(cache=True)
def shared_of(pair: Ints, channel_of: Ints, first_entry: Ints) -> Shared:
    """Return the entries on channels of several jobs."""
    n_jobs = np.zeros(count_of(channel_of), np.int64)
    for p in range(channel_of.size):
        n_jobs[channel_of[p]] += 1
    kept = np.empty(pair.size, np.int64)
    first_kept = np.zeros(first_entry.size, np.int64)
    n_kept = 0
    for a in range(first_entry.size - 1):
        for k in range(first_entry[a], first_entry[a + 1]):
            if n_jobs[channel_of[pair[k]]] > 1:
                kept[n_kept] = k
                n_kept += 1
        first_kept[a + 1] = n_kept
    return Shared(kept[:n_kept], first_kept, pair, channel_of)


@njit(cache=True)
def start_at(entries: Table, steps: Table, n_jobs: int, stretch: float) -> State:
    """Return the state before the first sweep."""
    duration_s = np.empty(steps.size)
    for a in range(steps.size):
        duration_s[a] = (steps[a].drain_s + steps[a].latency_s) * stretch
    fresh_late_s = np.empty(entries.size)
    for k in range(entries.size):
        fresh_late_s[k] = entries[k].drain_s
    return State(
        np.ones(n_jobs),
        np.full(n_jobs, OMEGA_START),
        np.zeros(n_jobs),
        duration_s,
        np.empty(steps.size),
        np.zeros(entries.size),
        fresh_late_s,
        np.zeros(entries.size),
    )


@njit(cache=True, error_model="numpy")
def slow_down(state: State, steps: Table, first_step: Ints, period_s: Floats) -> None:
    """Find the slowdowns from the times of the steps."""
    for j in range(period_s.size):
        excess = 0.0
        for a in range(first_step[j], first_step[j + 1]):
            excess += state.duration_s[a] - (steps[a].drain_s + steps[a].latency_s)
        state.slow[j] = 1.0 + (excess / period_s[j] if excess > 0.0 else 0.0)


@njit(cache=True, error_model="numpy")
def gather(
    state: State,
    shared: Shared,
    entries: Table,
    first_step: Ints,
    period_s: Floats,
    cells: Ints,
    linger: bool,
) -> Crowd:
    """Sum up what jobs put on channels in each state."""
    n_pairs, n_states = shared.channel.size, cells.shape[1]
    n_channels = count_of(shared.channel)
    crowd = Crowd(
        np.zeros((n_pairs, n_states)),
        np.zeros(n_pairs),
        np.zeros(n_pairs),
        np.zeros(n_pairs),
        np.zeros((n_channels, n_states)),
        np.zeros(n_channels),
        np.zeros(n_channels),
        np.zeros(n_channels),
    )
    for j in range(period_s.size):
        cycle_s, since_s = period_s[j] * state.slow[j], 0.0
        for a in range(first_step[j], first_step[j + 1]):
            length_s = state.duration_s[a]
            for k in shared.kept[shared.first_kept[a] : shared.first_kept[a + 1]]:
                own, pair = entries[k], shared.pair[k]
                weight_s = own.weight * length_s
                if linger:
                    weight_s = own.presence_s + max(0.0, state.late_s[k] - own.end_s) * own.senders
                for i in range(n_states):
                    share = presence(since_s, since_s + length_s, cycle_s / n_states, cells[j, i])
                    crowd.weight[pair, i] += share * weight_s / length_s
                crowd.use[pair] += own.drain_s / cycle_s
                crowd.lasting_s[pair] += weight_s * length_s / cycle_s
                crowd.held[pair] += own.held * length_s / cycle_s
            since_s += length_s
    for pair in range(n_pairs):
        c = shared.channel[pair]
        crowd.all_use[c] += crowd.use[pair]
        crowd.all_lasting_s[c] += crowd.lasting_s[pair]
        crowd.all_held[c] += crowd.held[pair]
        for i in range(n_states):
            crowd.all_weight[c, i] += crowd.weight[pair, i]
    return crowd


@njit(cache=True, error_model="numpy")
def time_link(
    k: int,
    length_s: float,
    entries: Table,
    shared: Shared,
    crowd: Crowd,
    linger: bool,
    times: Floats,
) -> bool:
    """
    Find how long a link takes for a step in each state; False where it surely does not matter.

    `times` (2, M), written: of the fluid, and wait of the last packet.
    """
    own, pair = entries[k], shared.pair[k]
    c, n_states = shared.channel[pair], times.shape[1]
    total, most = 0.0, 0.0
    for i in range(n_states):
        times[0, i] = n = max(0.0, crowd.all_weight[c, i] - crowd.weight[pair, i])
        total, most = total + n, max(most, n)
    if total <= 0.0:
        return False
    mean = total / n_states
    use = max(0.0, crowd.all_use[c] - crowd.use[pair]) / mean  # per weight
    feed_s = own.feed_s if linger else np.inf
    if n_states == 1:  # neighbours who are always there
        if stays_within(own.limit_s, own.drain_s, own.weight, most, use * most):
            return False
        taken = link_time(own.drain_s, own.weight, own.senders, feed_s, most, use * most)
        times[0, 0] = max(own.end_s, taken)
        times[1, 0] = max(0.0, queue_wait(own.queue_s, most) - max(0.0, own.end_s - taken))
        return True
    held = max(0.0, crowd.all_held[c] - crowd.held[pair]) / mean
    limit_s = own.limit_s * left_over(held, most)
    if stays_within(limit_s, own.drain_s, own.weight, most, use * most):
        return False
    burst_s = max(0.0, crowd.all_lasting_s[c] - crowd.lasting_s[pair]) / mean
    lag = window_lag(burst_s, length_s)
    mean_speed = 0.0
    for i in range(n_states):
        n = times[0, i]
        taken = link_time(own.drain_s, own.weight, own.senders, feed_s, n, use * n)
        taken /= left_over(held, n)
        times[1, i] = late_wait(own.queue_s, burst_s, n, own.end_s - taken)
        times[0, i] = own.end_s / max(own.end_s, taken)
        mean_speed += times[0, i] / n_states
    for i in range(n_states):
        times[0, i] = window_time(own.end_s, times[0, i], mean_speed, lag)
    return True


@njit(cache=True, error_model="numpy")
def time_steps(
    state: State, shared: Shared, entries: Table, steps: Table, crowd: Crowd, linger: bool
) -> None:
    """Find how long each step takes among what is on its channels."""
    n_states = crowd.weight.shape[1]
    times, late_by = np.empty((2, n_states)), np.empty(n_states)
    waits = np.empty((1, STAGES))
    for a in range(steps.size):
        tau = steps[a].drain_s
        for i in range(n_states):
            late_by[i] = 0.0  # against tau, so that a sum of nothings is nothing
        waits[0, :] = 0.0
        for k in shared.kept[shared.first_kept[a] : shared.first_kept[a + 1]]:
            own = entries[k]
            state.fresh_late_s[k] = state.held_s[k] = own.drain_s
            if not time_link(k, state.duration_s[a], entries, shared, crowd, linger, times):
                continue
            late_s, wait_s, felt_s = 0.0, 0.0, 0.0
            for i in range(n_states):
                late_s += times[0, i] - own.end_s
                wait_s += times[1, i]
                by_s = times[0, i] + times[1, i] - tau
                felt_s += min(times[1, i], max(0.0, by_s))
                late_by[i] = max(late_by[i], by_s)
            waits[0, own.stage] = max(waits[0, own.stage], felt_s / n_states)
            state.fresh_late_s[k] = own.end_s + late_s / n_states
            state.held_s[k] = state.fresh_late_s[k] + wait_s / n_states
        state.fresh_s[a] = (tau + steps[a].latency_s) + total(late_by) / n_states
        if n_states > 1:
            state.fresh_s[a] += further_waits(waits, int(np.int64(0)))


@njit(cache=True, error_model="numpy")
def _move(
    state: State,
    shared: Shared,
    entries: Table,
    first_step: Ints,
    period_s: Floats,
    sink: float,
) -> float:
    """Move times towards what they were found to be, damped; return the greatest change."""
    change = 0.0
    for j in range(period_s.size):
        if period_s[j] <= 0.0:
            continue
        residual = 0.0
        for a in range(first_step[j], first_step[j + 1]):
            residual += state.fresh_s[a] - state.duration_s[a]
        residual /= period_s[j]
        last = state.residual[j]
        if residual * last < 0.0:
            slower = state.omega[j] / (1.0 + min(1.0, abs(residual / last)))
            state.omega[j] = max(OMEGA_FLOOR * sink, slower)
        else:
            state.omega[j] = min(OMEGA_START * sink, OMEGA_GROWTH * state.omega[j])
        state.residual[j] = residual
        change = max(change, abs(residual))
        omega = state.omega[j]
        for a in range(first_step[j], first_step[j + 1]):
            state.duration_s[a] += omega * (state.fresh_s[a] - state.duration_s[a])
            for k in shared.kept[shared.first_kept[a] : shared.first_kept[a + 1]]:
                old, fresh = state.late_s[k], state.fresh_late_s[k]
                end, senders = entries[k].end_s, entries[k].senders
                lingering = max(0.0, fresh - end) - max(0.0, old - end)
                moved = lingering * senders / period_s[j]
                state.late_s[k] += omega * (fresh - old)
                change = max(change, abs(moved) / state.slow[j])
    return change


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
        boolean,
        float64,
        float64,
        int64,
    ),
    cache=True,
    error_model="numpy",
)
def solve_cold(
    entries: Table,
    pair: Ints,
    channel_of: Ints,
    first_entry: Ints,
    steps: Table,
    first_step: Ints,
    period_s: Floats,
    cells: Ints,
    linger: bool,
    start: float,
    tolerance: float,
    cap: int,
) -> tuple[Floats, Floats, Floats, Floats, int, float]:
    """
    Return the slowdowns of jobs that run together, by damped sweeps over all of them.

    Parameters
    ----------
    entries : (K,) table
        Entries (job, step, channel) of all jobs, sorted by step.
    pair : (K,) int array
        Job and channel of each entry as one number 0..P-1.
    channel_of : (P,) int array
        Channel of each pair, numbered 0..C-1.
    first_entry : (S + 1,) int array
        Entries of step a are ``first_entry[a]:first_entry[a + 1]``.
    steps : (S,) table
        Steps of all jobs, sorted by job.
    first_step : (J + 1,) int array
        Steps of each job.
    period_s : (J,) float array
        T, time of an iteration alone.
    cells : (J, M) int array
        The cell in which each job is in each state; one state takes neighbours as averaged.
    linger : bool
        False takes a flow's weight as constant while its step runs (for comparison).
    start : float
        Stretch g of all steps before the first sweep.
    tolerance : float
        Ends when no slowdown, and no weight W / (T s), moves by more in a full sweep.
    cap : int
        Sweeps at most.

    Returns
    -------
    slowdown : (J,) float array
        Slowdown of each job.
    held_s : (K,) float array
        Mean time that the link takes, wait for its queue included, of each entry.
    duration_s : (S,) float array
        Time D g of each step.
    late_s : (K,) float array
        Mean time y that the link takes, of each entry.
    sweeps : int
        Sweeps done.
    change : float
        Largest change of the last sweep, as compared with the tolerance.
    """
    shared = shared_of(pair, channel_of, first_entry)
    state = start_at(entries, steps, period_s.size, start)
    sweeps, change = 0, np.inf
    best, since, sink = np.inf, 0, 1.0
    while sweeps < cap and change > tolerance:
        sweeps += 1
        if change < PROGRESS * best:
            best, since = change, 0
        since += 1
        if since > PATIENCE:
            best, since, sink = change, 0, 0.5 * sink
        slow_down(state, steps, first_step, period_s)
        crowd = gather(state, shared, entries, first_step, period_s, cells, linger)
        time_steps(state, shared, entries, steps, crowd, linger)
        change = _move(state, shared, entries, first_step, period_s, sink)
    slow_down(state, steps, first_step, period_s)
    return state.slow, state.held_s, state.duration_s, state.late_s, sweeps, change
