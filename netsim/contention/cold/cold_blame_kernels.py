"""
Who holds a job up, from the state of a fixed point solved from scratch, compiled.

Import through `netsim.kernelcache`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, njit, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.cold_kernels import covered
from netsim.contention.cold.meeting_kernels import jobs_of_steps
from netsim.contention.columns import ENTRY, STEP
from netsim.contention.link_kernels import link_time, queue_wait

_ENTRIES, _STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]


class Timeline(NamedTuple):
    """When steps run."""

    job: Ints  # of each step
    begin_s: Floats  # of each step, from the start of the iteration
    cycle_s: Floats  # of each step's job, among the others
    phase: Floats  # of each step's job, by sample; none: neighbours are averaged
    duration_s: Floats  # of each step


class Longest(NamedTuple):
    """For each step of a job and sample, the entry whose link takes longest."""

    time_s: Floats
    use_late_s: Floats  # what the bound 1 / (1 - R) decides of it
    entry: Ints  # -1: none
    weight: Floats  # N of the others there
    use: Floats  # R of the others there


@njit(cache=True)
def _timeline(first_step: Ints, cycle_s: Floats, phases: Floats, duration_s: Floats) -> Timeline:
    """Return when steps run."""
    n_steps = duration_s.size
    begin_s, cycle = np.empty(n_steps), np.empty(n_steps)
    phase = np.empty((n_steps, phases.shape[1]))
    for j in range(cycle_s.size):
        since = 0.0
        for a in range(first_step[j], first_step[j + 1]):
            begin_s[a], cycle[a] = since, cycle_s[j]
            phase[a] = phases[j]
            since += duration_s[a]
    return Timeline(jobs_of_steps(first_step), begin_s, cycle, phase, duration_s)


@njit(cache=True)
def _presence(a: int, b: int, sample: int, timeline: Timeline) -> float:
    """Return the share of step a's duration in which step b of another job runs."""
    cycle, length = timeline.cycle_s[b], timeline.duration_s[b]
    if timeline.phase.shape[1] == 0:
        return float(length / cycle)
    at = timeline.phase[b, sample] * cycle + timeline.begin_s[b]
    inside = covered(timeline.duration_s[a] - at, length, cycle)
    return float((inside - covered(-at, length, cycle)) / timeline.duration_s[a])


@njit(cache=True)
def _lasting(k: int, entries: Table, late_s: Floats) -> float:
    """Return W of an entry: E, and what lingers."""
    entry = entries[k]
    return float(entry.presence_s + max(0.0, late_s[k] - entry.end_s) * entry.senders)


@njit(cache=True, error_model="numpy")
def _others(
    step: int, sample: int, others: Ints, timeline: Timeline, entries: Table, late_s: Floats
) -> tuple[float, float]:
    """Return weight N and use R of other jobs' entries on a channel while a step runs."""
    n, r = 0.0, 0.0
    for k in others:
        b = entries[k].step
        if timeline.job[b] == timeline.job[step]:
            continue
        x = _presence(step, b, sample, timeline)
        n += x * _lasting(k, entries, late_s) / timeline.duration_s[b]
        r += x * entries[k].drain_s / timeline.duration_s[b]
    return n, r


@njit(cache=True, error_model="numpy")
def _longest(
    victim: int,
    first_step: Ints,
    timeline: Timeline,
    entries: Table,
    steps: Table,
    channel: Ints,
    on: Ints,
    first_on: Ints,
    late_s: Floats,
) -> Longest:
    """Return the entries that take longest, for each step of a job and sample."""
    shape = (first_step[victim + 1] - first_step[victim], max(1, timeline.phase.shape[1]))
    found = Longest(
        np.zeros(shape), np.zeros(shape), np.full(shape, -1), np.zeros(shape), np.zeros(shape)
    )
    for a in range(shape[0]):
        found.time_s[a, :] = steps[first_step[victim] + a].drain_s
    for k in range(entries.size):
        own = entries[k]
        if timeline.job[own.step] != victim:
            continue
        a = own.step - first_step[victim]
        others = on[first_on[channel[k]] : first_on[channel[k] + 1]]
        for sample in range(shape[1]):
            n, r = _others(own.step, sample, others, timeline, entries, late_s)
            if n <= 0.0 or own.drain_s * (own.weight + n) <= own.limit_s * own.weight:
                continue
            taken = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, r)
            total = taken + queue_wait(own.queue_s, n)
            if total > found.time_s[a, sample]:
                found.time_s[a, sample], found.entry[a, sample] = total, k
                found.weight[a, sample], found.use[a, sample] = n, r
                bound = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, 1.0)
                late = max(0.0, taken - steps[own.step].drain_s)
                found.use_late_s[a, sample] = late if taken < bound else 0.0
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
        float64[:, ::1],
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
    channel: Ints,
    on: Ints,
    first_on: Ints,
    steps: Table,
    first_step: Ints,
    cycle_s: Floats,
    phases: Floats,
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
    entries, channel, steps, first_step, phases : arrays
        As for `solve_cold`.
    on, first_on : arrays
        Entries ``on[first_on[c]:first_on[c + 1]]`` lie on channel c.
    cycle_s : (J,) float array
        Time of an iteration of each job among the others.
    duration_s, late_s : arrays
        The solution: D g of each step, y of each entry.
    kinds : (K,) int array
        Class of the link of each entry.
    blame : (J, Z) float array
        Seconds, added to, by culprit and class of link.

    Notes
    -----
    As in fast mode, per sample: the excess of the link that takes longest, in proportion to
    use where the bound 1/(1 - R) decides, else to weight.
    """
    timeline = _timeline(first_step, cycle_s, phases, duration_s)
    longest = _longest(victim, first_step, timeline, entries, steps, channel, on, first_on, late_s)
    n_steps, samples = longest.entry.shape
    for a in range(n_steps):
        step = first_step[victim] + a
        for sample in range(samples):
            k = longest.entry[a, sample]
            if k < 0:
                continue
            by_use = longest.use_late_s[a, sample]
            by_weight = longest.time_s[a, sample] - steps[step].drain_s - by_use
            for other in on[first_on[channel[k]] : first_on[channel[k] + 1]]:
                b = entries[other].step
                if timeline.job[b] == victim:
                    continue
                x = _presence(step, b, sample, timeline)
                w = _lasting(other, entries, late_s)
                part = by_weight * x * w / duration_s[b] / longest.weight[a, sample]
                if by_use > 0.0:
                    drain = entries[other].drain_s
                    part += by_use * x * drain / duration_s[b] / longest.use[a, sample]
                blame[timeline.job[b], kinds[k]] += part / samples
