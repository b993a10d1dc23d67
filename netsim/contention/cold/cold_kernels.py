"""
The fixed point solved from scratch, among neighbours who are present by states, compiled.

In a state each job is somewhere in one M-th of its iteration, a *cell*; which one is drawn per job.
With a single state a neighbour is there for its share of the time. Sums per channel and state serve
every step that uses the channel, whatever its length. Scratch comes from outside: an array made
here takes longer to compile than a loop. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float64, int64, void

from netsim.arrays import Floats, Table
from netsim.contention.cold.columns import Crowd, Shared, State
from netsim.contention.cold.putting_kernels import (
    CROWD,
    ENTRIES,
    SHARED,
    STATE,
    STEPS,
    put_down,
)
from netsim.contention.drawn_kernels import drawn_wait
from netsim.contention.lane_kernels import late_by_lane, time_beside, weight_beside
from netsim.contention.lane_sum_kernels import met_closed, met_lanes
from netsim.contention.link_kernels import (
    STAGES,
    early_part,
    felt_weight,
    link_time,
    queue_wait,
    stays_within,
)
from netsim.contention.stalling_kernels import stall_wait
from netsim.contention.window_kernels import (
    by_iterations,
    further_waits,
    grown_queue,
    left_over,
    pool_wait,
    queue_ahead,
    wait_further,
    window_lag,
    window_time,
)
from netsim.jit import njit

OMEGA_FLOOR, OMEGA_GROWTH = 0.5, 1.3
PATIENCE = 15  # sweeps after which the floor sinks, as 1 / sweeps: clusters of jobs can cycle
CALMING = 2.0  # times that many, after which omega sinks: links that delay nobody can cycle, too
STALE = 0.7  # tolerances that others may move a slowdown before its job is looked at again
LEFT = 0.5  # the same of what its own last move left over
OWN = 0.25  # of a move at least, as far as what a job takes depends on how long its steps are
FAR = 0.95  # of its last residual that a residual seems to be at most
LATE, ALL = 2, 3  # rows of the scratch while a job is looked at: of a step, and of all steps


@njit(cache=True, error_model="numpy")
def _met_late(entries: Table, k: int, n: float, r: float) -> float:
    """Return how much longer the unluckiest packet waits than alone, beside r of n others."""
    own = entries[k]
    own_r, buffer_s = own.drain_s / (own.slots * own.packet_s), own.queue_s * own.links
    n, r = n + own.senders, min(1.0, r + own_r)
    wait_s = drawn_wait(buffer_s, own.packet_s, own.drawn, r, n, own.slots)
    return float(max(0.0, wait_s - own.met_s))


@njit(
    boolean(int64, float64, ENTRIES, SHARED, CROWD, boolean, float64[:, ::1]),
    cache=True,
    error_model="numpy",
)
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

    `times`, rows 0 and 1 written: of the fluid, and wait of the last packet, in each state.
    """
    own, pair = entries[k], shared.pair[k]
    c, n_states = shared.channel[pair], crowd.cells.shape[1]
    all_weight, weight = crowd.all_weight, crowd.weight
    total, most = 0.0, 0.0
    for i in range(n_states):
        times[0, i] = n = max(0.0, all_weight[c, i] - weight[pair, i])
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
    standing = max(0.0, crowd.held[pair] - crowd.all_held[c]) / mean
    queued_s = max(0.0, crowd.all_queued_s[c] - crowd.queued_s[pair]) / mean
    more_s = wait_further(own.queue_s, queued_s, standing, most)
    limit_s = max(0.0, own.limit_s - more_s) * left_over(held, most)
    if own.drawn > 0.0 and own.limit_s < own.end_s:  # packets come until the end
        limit_s = 0.0
    alike, alike_s, stall_s, shut = 1.0, queued_s, 0.0, 0.0
    if crowd.lanes.shape[0] > 0:
        sums = pair, crowd.lanes, c, crowd.all_lanes
        alike, held, alike_s = met_lanes(k, crowd.of_lanes, *sums, 0, mean)
        stall_s, shut = met_closed(k, crowd.of_lanes, *sums, 0, mean)
    if shut <= 0.0 and stays_within(limit_s, own.drain_s, own.weight, most, use * most):
        return False
    burst_s = max(0.0, crowd.all_lasting_s[c] - crowd.lasting_s[pair]) / mean
    lag = window_lag(burst_s, length_s)
    crossed_s = crowd.all_crossed_s[c] - crowd.lasting_s[pair] * crowd.use[pair]
    grown_s = grown_queue(own.queue_s, crowd.all_use[c], burst_s, crossed_s / mean)
    mean_speed, w, g = 0.0, own.queue_s, feed_s
    early = early_part(own.drain_s, w, own.links)
    for i in range(n_states):
        n, taken, late_s = times[0, i], own.drain_s, 0.0
        if n > 0.0:  # else nobody is there: all below would say the same
            if crowd.lanes.shape[0] > 0:
                beside = weight_beside(n, own.weight, alike)
            else:
                beside = felt_weight(n, early)
            taken = time_beside(own.drain_s, own.weight, own.senders, g, n, use, beside, held)
            spare_s, r = own.end_s - taken, use * n
            late_s = late_by_lane(w, grown_s, queued_s, alike, alike_s, n, r, spare_s)
            if standing > 0.0:
                late_s = max(late_s, queue_ahead(w, standing, n, spare_s))
            if stall_s > 0.0:
                free = time_beside(own.drain_s, own.weight, own.senders, g, n, use, beside, 0.0)
                late_s = max(late_s, stall_wait(stall_s, shut * n, taken, free, own.end_s))
            if own.links > 1.0:
                late_s = max(late_s, pool_wait(w, own.links, burst_s, n, r, spare_s))
            if own.drawn > 0.0:
                late_s = max(late_s, _met_late(entries, k, n, r))
        times[0, i] = speed = own.end_s / max(own.end_s, taken)
        times[1, i] = late_s
        mean_speed += speed / n_states
    for i in range(n_states):
        times[0, i] = window_time(own.end_s, times[0, i], mean_speed, lag)
    return True


@njit("float64(float64, float64, int64, float64[:, ::1])", cache=True, error_model="numpy")
def _counted(period_s: float, further_s: float, n_states: int, times: Floats) -> float:
    """Return which part of its delay a job has in the mean over its iterations, not over time."""
    late_s, rate = 0.0, 0.0
    for i in range(n_states):
        late_s += times[ALL, i] / n_states
    if n_states == 1 or late_s <= 0.0:
        return 1.0
    more = 1.0 + further_s / late_s  # further waits are for those who are there, too
    for i in range(n_states):
        rate += 1.0 / (period_s + more * times[ALL, i]) / n_states
    return by_iterations(period_s, more * late_s, rate) / (more * late_s)


@njit(
    float64(int64, ENTRIES, STEPS, float64[::1], SHARED, STATE, CROWD, boolean),
    cache=True,
    error_model="numpy",
)
def time_steps(
    j: int,
    entries: Table,
    steps: Table,
    period_s: Floats,
    shared: Shared,
    state: State,
    crowd: Crowd,
    linger: bool,
) -> float:
    """
    Find how long each step of a job takes among what is on its channels.

    Returned: by how much its slowdown is to move.
    """
    n_states, times, waits = crowd.cells.shape[1], crowd.scratch, crowd.waits
    further_s = 0.0
    for i in range(n_states):
        times[ALL, i] = 0.0
    for p in range(shared.first_pair[j], shared.first_pair[j + 1]):
        state.stale[p] = state.effect[p] = 0.0
    for a in range(shared.first_step[j], shared.first_step[j + 1]):
        tau = steps[a].drain_s
        for i in range(n_states):
            times[LATE, i] = 0.0  # against tau, so that a sum of nothings is nothing
        for stage in range(STAGES):
            waits[0, stage] = 0.0
        for k in range(shared.first_entry[a], shared.first_entry[a + 1]):
            own = entries[k]
            state.fresh_late_s[k] = state.held_s[k] = own.drain_s
            effect = max(1.0, own.senders) * own.drain_s / (own.weight * period_s[j])
            state.effect[shared.pair[k]] += effect
            if not time_link(k, state.duration_s[a], entries, shared, crowd, linger, times):
                continue
            late_s, wait_s, felt_s = 0.0, 0.0, 0.0
            for i in range(n_states):
                late_s += times[0, i] - own.end_s
                wait_s += times[1, i]
                by_s = times[0, i] + times[1, i] - tau
                felt_s += min(times[1, i], max(0.0, by_s))
                times[LATE, i] = max(times[LATE, i], by_s)
            waits[0, own.stage] = max(waits[0, own.stage], felt_s / n_states)
            state.fresh_late_s[k] = own.end_s + late_s / n_states
            state.held_s[k] = state.fresh_late_s[k] + wait_s / n_states
        late_s = 0.0
        for i in range(n_states):
            late_s += times[LATE, i]
            times[ALL, i] += times[LATE, i]
        state.fresh_s[a] = late_s / n_states
        if n_states > 1:
            waits_s = further_waits(waits, 0)
            state.fresh_s[a] += waits_s
            further_s += waits_s
    counted = _counted(period_s[j], further_s, n_states, times)
    residual_s = 0.0
    for a in range(shared.first_step[j], shared.first_step[j + 1]):
        state.fresh_s[a] = (steps[a].drain_s + steps[a].latency_s) + counted * state.fresh_s[a]
        residual_s += state.fresh_s[a] - state.duration_s[a]
    return residual_s / period_s[j] if period_s[j] > 0.0 else 0.0


@njit(void(int64, STEPS, float64[::1], SHARED, STATE), cache=True, error_model="numpy")
def slow_down(j: int, steps: Table, period_s: Floats, shared: Shared, state: State) -> None:
    """Find the slowdown of a job from the times of its steps."""
    excess = 0.0
    for a in range(shared.first_step[j], shared.first_step[j + 1]):
        excess += state.duration_s[a] - (steps[a].drain_s + steps[a].latency_s)
    state.slow[j] = 1.0 + (excess / period_s[j] if excess > 0.0 else 0.0)


@njit(boolean(int64, float64, SHARED, STATE), cache=True)
def _is_due(j: int, tolerance: float, shared: Shared, state: State) -> bool:
    """Return whether a job is to be looked at again: others have moved, or it has not arrived."""
    if state.left[j] > LEFT * tolerance:
        return True
    for p in range(shared.first_pair[j], shared.first_pair[j + 1]):
        if state.stale[p] > STALE * tolerance:
            return True
    return False


@njit(float64(int64, float64, int64, ENTRIES, float64[::1], SHARED, STATE, boolean), cache=True)
def _move(
    j: int,
    residual: float,
    sweeps: int,
    entries: Table,
    period_s: Floats,
    shared: Shared,
    state: State,
    linger: bool,
) -> float:
    """
    Move the times of a job towards what they were found to be.

    With a damping per job: on a change of sign of its residual, omega /= 1 + min(1, |new / old|),
    with a floor; else it grows, up to 1. Returned: how far the job seems to have to go in all,
    against this move: 1 / (1 - ratio) where residuals shrink by that ratio.
    """
    last, omega = state.residual[j], state.omega[j]
    if residual * last < 0.0:
        floor = OMEGA_FLOOR * min(1.0, PATIENCE / sweeps)
        omega = max(floor, omega / (1.0 + min(1.0, abs(residual / last))))
    else:
        omega = min(1.0, OMEGA_GROWTH * omega, CALMING * PATIENCE / sweeps)
    state.omega[j], state.residual[j] = omega, residual
    ratio = min(FAR, residual / last) if residual * last > 0.0 else 0.0
    gain = 1.0 / (1.0 - ratio)
    left = max(OWN, 1.0 - omega) * gain * abs(residual)
    for a in range(shared.first_step[j], shared.first_step[j + 1]):
        state.duration_s[a] += omega * (state.fresh_s[a] - state.duration_s[a])
        for k in range(shared.first_entry[a], shared.first_entry[a + 1]):
            fresh_s, end_s = state.fresh_late_s[k], entries[k].end_s
            state.late_s[k] += omega * (fresh_s - state.late_s[k])
            if linger:
                moving_s = max(0.0, fresh_s - end_s) - max(0.0, state.late_s[k] - end_s)
                weight = abs(moving_s) * entries[k].senders / (period_s[j] * state.slow[j])
                left = max(left, weight)
    state.left[j] = left
    return gain


@njit(
    (ENTRIES, STEPS, float64[::1], SHARED, STATE, CROWD, boolean, float64, int64),
    cache=True,
    error_model="numpy",
)
def solve_cold(
    entries: Table,
    steps: Table,
    period_s: Floats,
    shared: Shared,
    state: State,
    crowd: Crowd,
    linger: bool,
    tolerance: float,
    cap: int,
) -> tuple[int, bool]:
    """
    Find the times of jobs that run together, in sweeps over those that are not settled yet.

    Parameters
    ----------
    entries : (K,) table
        Entries (job, step, channel) of all jobs, sorted by step.
    steps : (S,) table
        Steps of all jobs, sorted by job.
    period_s : (J,) float array
        T, time of an iteration alone.
    shared : Shared
        How these belong together.
    state : State
        Where the sweeps begin; written: where they end.
    crowd : Crowd
        Channels with nobody on them; written: what is on them.
    linger : bool
        False takes a flow's weight as constant while its step runs (for comparison).
    tolerance : float
        A job is settled when neither what its last move left over of its slowdown and of its
        weights W / (T s), nor what others have changed since, comes up to it; the constants above
        say how much of it.
    cap : int
        Sweeps at most.

    Returns
    -------
    sweeps : int
        Sweeps done.
    settled : bool
        Whether all jobs are.

    Notes
    -----
    Gauss-Seidel: a job meets what those before it have just put down. So the order of jobs must not
    come from outside. Parts of a machine that share nothing do not know of each other.
    """
    for j in range(period_s.size):
        slow_down(j, steps, period_s, shared, state)
        put_down(j, 1.0, entries, period_s, shared, state, crowd, linger)
    sweeps, busy = 0, True
    while busy and sweeps < cap:
        busy = False
        sweeps += 1
        for j in range(period_s.size):
            if period_s[j] <= 0.0 or not _is_due(j, tolerance, shared, state):
                continue
            busy = True
            residual = time_steps(j, entries, steps, period_s, shared, state, crowd, linger)
            gain = _move(j, residual, sweeps, entries, period_s, shared, state, linger)
            slow_down(j, steps, period_s, shared, state)
            put_down(j, gain, entries, period_s, shared, state, crowd, linger)
    return sweeps, not busy
