"""
The fixed point solved from scratch, averaged or sampled neighbours, compiled.

Import through `netsim.kernelcache`.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, from_dtype, int64, njit

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.meeting_kernels import Meetings, meetings_of
from netsim.contention.columns import ENTRY, STEP
from netsim.contention.link_kernels import link_time, queue_wait, stays_within

OMEGA_START, OMEGA_FLOOR, OMEGA_GROWTH = 0.5, 0.1, 1.05
# sampled steps jump, so states can cycle: omega is halved after so many sweeps without progress
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
    begin_s: Floats  # of each step, by phase
    before_s: Floats  # of each step, by phase: what [begin, 0) holds of it, negative


@njit("float64(float64, float64, float64)", cache=True, error_model="numpy")
def covered(until: float, length: float, period: float) -> float:
    """
    Return how much of [0, until) is covered by [0, length), repeated every period.

    A negative end counts what [until, 0) holds, with a minus sign; 0 <= length <= period.
    """
    whole = np.floor(until / period)
    return float(whole * length + min(until - whole * period, length))


@njit(cache=True)
def _start(entries: Table, steps: Table, n_jobs: int, n_phases: int, stretch: float) -> State:
    """Return the state before the first sweep."""
    duration_s = np.empty(steps.size)
    for a in range(steps.size):
        duration_s[a] = (steps[a].drain_s + steps[a].latency_s) * stretch
    fresh_late_s = np.empty(entries.size)
    for k in range(entries.size):
        fresh_late_s[k] = entries[k].drain_s
    samples = max(1, n_phases)
    return State(
        np.ones(n_jobs),
        np.full(n_jobs, OMEGA_START),
        np.zeros(n_jobs),
        duration_s,
        np.empty(steps.size),
        np.zeros(entries.size),
        fresh_late_s,
        np.zeros(entries.size),
        np.zeros((steps.size, samples)),
        np.zeros((steps.size, samples)),
    )


@njit(cache=True, error_model="numpy")
def _slow_down(state: State, steps: Table, first_step: Ints, period_s: Floats) -> None:
    """Find the slowdowns from the times of the steps."""
    for j in range(period_s.size):
        excess = 0.0
        for a in range(first_step[j], first_step[j + 1]):
            excess += state.duration_s[a] - (steps[a].drain_s + steps[a].latency_s)
        state.slow[j] = 1.0 + (excess / period_s[j] if excess > 0.0 else 0.0)


@njit(cache=True, error_model="numpy")
def _begin(state: State, first_step: Ints, period_s: Floats, phases: Floats) -> None:
    """Find when steps begin, for each sampled phase of their jobs."""
    for j in range(period_s.size):
        cycle = period_s[j] * state.slow[j]
        for i in range(phases.shape[1]):
            at = phases[j, i] * period_s[j] * state.slow[j]
            for a in range(first_step[j], first_step[j + 1]):
                state.begin_s[a, i] = at
                state.before_s[a, i] = covered(-at, state.duration_s[a], cycle)
                at += state.duration_s[a]


@njit(cache=True, error_model="numpy")
def _sum_up(
    state: State,
    meetings: Meetings,
    entries: Table,
    channel: Ints,
    linger: bool,
    weight: Floats,
    use: Floats,
) -> None:
    """Find what entries weigh and use while their steps run, and the sums on each channel."""
    weight[:] = 0.0
    use[:] = 0.0
    for k in meetings.kept:
        own = entries[k]
        rate = 1.0 / state.duration_s[own.step]
        lasting = own.presence_s + max(0.0, state.late_s[k] - own.end_s) * own.senders
        entry = meetings.on[meetings.place[k]]
        entry.weight = lasting * rate if linger else own.weight
        entry.use = own.drain_s * rate
        weight[channel[k]] += entry.weight
        use[channel[k]] += entry.use


@njit(cache=True, error_model="numpy")
def _meet(
    a: int, state: State, meetings: Meetings, period_s: Floats, averaged: bool, share: Floats
) -> None:
    """Find the share of a step in which each step that it meets runs."""
    rate = 1.0 / state.duration_s[a]
    for i in range(meetings.first_met[a], meetings.first_met[a + 1]):
        b = meetings.met[i]
        cycle = period_s[meetings.job[b]] * state.slow[meetings.job[b]]
        if averaged:
            share[b, 0] = state.duration_s[b] / cycle
        else:
            for phase in range(share.shape[1]):
                inside = covered(
                    state.duration_s[a] - state.begin_s[b, phase], state.duration_s[b], cycle
                )
                share[b, phase] = (inside - state.before_s[b, phase]) * rate


@njit(cache=True, error_model="numpy")
def _time_steps(
    state: State,
    meetings: Meetings,
    entries: Table,
    channel: Ints,
    steps: Table,
    period_s: Floats,
    averaged: bool,
    linger: bool,
    all_weight: Floats,
    all_use: Floats,
) -> None:
    """Find how long each step takes among those that it meets."""
    share, samples = np.empty(state.begin_s.shape), state.begin_s.shape[1]
    on, first_on = meetings.on, meetings.first_on
    n, r, late_by = np.zeros(samples), np.zeros(samples), np.zeros(samples)
    over, waits = np.zeros(samples), np.zeros(samples)
    for a in range(steps.size):
        j, tau = meetings.job[a], steps[a].drain_s
        _meet(a, state, meetings, period_s, averaged, share)
        late_by[:] = 0.0  # against tau, so that a sum of nothings is nothing
        for k in meetings.kept[meetings.first_kept[a] : meetings.first_kept[a + 1]]:
            c, own, entry = channel[k], on[meetings.place[k]], entries[k]
            drain, weight, senders, queue = (
                entry.drain_s,
                entry.weight,
                entry.senders,
                entry.queue_s,
            )
            state.fresh_late_s[k] = state.held_s[k] = drain
            most = all_weight[c] - own.weight  # were all neighbours there all the time
            if stays_within(entry.limit_s, drain, weight, most, all_use[c] - own.use):
                continue
            n[:] = 0.0
            r[:] = 0.0
            for i in range(first_on[c], first_on[c + 1]):
                if on[i].job == j:
                    continue
                b, other_weight, other_use = on[i].step, on[i].weight, on[i].use
                for phase in range(samples):
                    n[phase] += share[b, phase] * other_weight
                    r[phase] += share[b, phase] * other_use
            feed = entry.feed_s if linger else np.inf
            for phase in range(samples):  # apart from the sums, so that it runs in vectors
                taken = link_time(drain, weight, senders, feed, n[phase], r[phase])
                wait = queue_wait(queue, n[phase])
                over[phase], waits[phase] = taken - drain, wait
                late_by[phase] = max(late_by[phase], taken + wait - tau)
            state.fresh_late_s[k] = drain + over.sum() / samples
            state.held_s[k] = state.fresh_late_s[k] + waits.sum() / samples
        state.fresh_s[a] = (tau + steps[a].latency_s) + late_by.sum() / samples


@njit(cache=True, error_model="numpy")
def _move(
    state: State,
    meetings: Meetings,
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
            for k in meetings.kept[meetings.first_kept[a] : meetings.first_kept[a + 1]]:
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
        _STEPS,
        int64[::1],
        float64[::1],
        float64[:, ::1],
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
    channel: Ints,
    first_entry: Ints,
    steps: Table,
    first_step: Ints,
    period_s: Floats,
    phases: Floats,
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
    channel : (K,) int array
        Channel of each entry, numbered 0..C-1.
    first_entry : (S + 1,) int array
        Entries of step a are ``first_entry[a]:first_entry[a + 1]``.
    steps : (S,) table
        Steps of all jobs, sorted by job.
    first_step : (J + 1,) int array
        Steps of each job.
    period_s : (J,) float array
        T, time of an iteration alone.
    phases : (J, M) float array
        Sampled phases as fractions of the period; M = 0 takes neighbours as averaged.
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
    meetings = meetings_of(entries, channel, first_entry, first_step)
    state = _start(entries, steps, period_s.size, phases.shape[1], start)
    weight, use = np.zeros(meetings.first_on.size - 1), np.zeros(meetings.first_on.size - 1)
    averaged = phases.shape[1] == 0
    sweeps, change = 0, np.inf
    best, since, sink = np.inf, 0, 1.0
    while sweeps < cap and change > tolerance:
        sweeps += 1
        if change < PROGRESS * best:
            best, since = change, 0
        since += 1
        if since > PATIENCE:
            best, since, sink = change, 0, 0.5 * sink
        _slow_down(state, steps, first_step, period_s)
        _begin(state, first_step, period_s, phases)
        _sum_up(state, meetings, entries, channel, linger, weight, use)
        _time_steps(
            state, meetings, entries, channel, steps, period_s, averaged, linger, weight, use
        )
        change = _move(state, meetings, entries, first_step, period_s, sink)
    _slow_down(state, steps, first_step, period_s)
    return state.slow, state.held_s, state.duration_s, state.late_s, sweeps, change
