"""
The fixed point of fast mode, event by event, compiled.

State per job: slowdown s and, per record (job, channel), W = sum over steps of E + Z, where
Z = max(0, y - e) q is the weight x time of flows that linger. Per channel: N = sum of
W / (T s), the mean weight, and R = sum of B / (T s), the utilisation, over the jobs on it;
both are 0 where a single job is. Arguments named as tables of
`netsim.contention.events.pool.Pool` are these; `netsim.contention.events.columns` names their
columns. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float64, from_dtype, int64, uint64, void

from netsim.arrays import Bits, Ints, Table
from netsim.contention.events.channel_kernels import RETEST_N, RETEST_R, test_channel
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, RECORD, STEP
from netsim.contention.link_kernels import link_time, queue_wait
from netsim.jit import njit

OMEGA_FLOOR, OMEGA_GROWTH = 0.3, 1.3
PATIENCE = 15  # sweeps after which the floor sinks, as 1 / sweeps: some clusters cycle at 0.3
RATE_LAG = 0.3  # a slowdown that moved by less than this share of the tolerance stays unsaid
NOISE = 1e-11  # weight left on a channel by rounding

_RECORDS, _LISTED, _ENTRIES = (
    from_dtype(RECORD)[::1],
    from_dtype(LISTED)[::1],
    from_dtype(ENTRY)[::1],
)
_STEPS, _JOBS, _CHANNELS = from_dtype(STEP)[::1], from_dtype(JOB)[::1], from_dtype(CHANNEL)[::1]
_BITS = uint64[:, ::1], uint64[::1]
_ONE = np.uint64(1)


@njit(void(int64, _RECORDS, _ENTRIES, _STEPS, _JOBS, _CHANNELS), cache=True, error_model="numpy")
def _time_steps(
    slot: int, records: Table, entries: Table, steps: Table, jobs: Table, channels: Table
) -> None:
    """
    Find how long each step of a job takes among the others, and on which link.

    A record keeps the times of its entries while N and R stand still for it.
    """
    job = jobs[slot]
    rate = job.rate
    first_entry, first_step = job.first_entry, job.first_step
    for a in range(first_step, first_step + job.n_steps):
        steps[a].time_s = steps[a].drain_s
    for row in range(job.first_record, job.first_record + job.n_active):
        record = records[row]
        channel = channels[record.channel]
        weight = channel.weight - record.weight_s * rate
        weight = weight if weight > NOISE else 0.0
        use = max(0.0, channel.use - record.drain_s * rate)
        begin = first_entry + record.first_entry
        end = begin + record.n_entries
        if weight != record.others_weight or use != record.others_use:
            record.others_weight, record.others_use = weight, use
            lingering = 0.0
            for k in range(begin, end):
                entry = entries[k]
                taken = link_time(
                    entry.drain_s, entry.weight, entry.senders, entry.feed_s, weight, use
                )
                lingering += max(0.0, taken - entry.end_s) * entry.senders
                entry.time_s = taken + queue_wait(entry.queue_s, weight)
            record.fresh_weight_s = record.presence_s + lingering
        for k in range(begin, end):
            step = steps[first_step + entries[k].step]
            if entries[k].time_s > step.time_s:
                step.time_s = entries[k].time_s
                step.link = record.link


@njit(boolean(int64, float64, int64, _STEPS, _JOBS), cache=True, error_model="numpy")
def _stretch(slot: int, tolerance: float, sweeps: int, steps: Table, jobs: Table) -> bool:
    """
    Move the slowdown of a job towards what its steps take; return whether it is still moving.

    Gauss-Seidel with a damping per job: on a change of sign of its residual,
    omega /= 1 + min(1, |new / old|), with a floor; else it grows, up to 1. Undamped it oscillates.
    """
    job = jobs[slot]
    excess, worst, worst_excess = 0.0, -1, 0.0
    for a in range(job.first_step, job.first_step + job.n_steps):
        late = steps[a].time_s - steps[a].drain_s
        excess += late
        if late > worst_excess:
            worst_excess, worst = late, steps[a].link
    job.worst_link = worst
    residual = 1.0 - job.slowdown
    if excess > 0.0:
        residual += excess / job.alone_s
    omega, before = job.damping, job.residual
    if residual * before < 0.0:
        floor = OMEGA_FLOOR * min(1.0, PATIENCE / sweeps)
        omega = max(floor, omega / (1.0 + min(1.0, abs(residual / before))))
    else:
        omega = min(1.0, OMEGA_GROWTH * omega)
    slowdown = max(1.0, job.slowdown + omega * residual)
    job.damping, job.residual, job.slowdown = omega, residual, slowdown
    rate = 1.0 / (job.alone_s * slowdown) if job.alone_s > 0.0 else 0.0
    if abs(rate - job.rate) > RATE_LAG * tolerance * job.rate:
        job.rate = rate
    return bool(abs((1.0 - omega) * residual) > tolerance)


@njit(
    (int64, float64, float64, _RECORDS, _JOBS, _CHANNELS, *_BITS, int64[::1]),
    cache=True,
    error_model="numpy",
)
def _spread(
    slot: int,
    old_rate: float,
    tolerance: float,
    records: Table,
    jobs: Table,
    channels: Table,
    active: Bits,
    wake: Bits,
    moved: Ints,
) -> tuple[bool, int]:
    """
    Bring the channels of a job up to date and wake who feels it.

    Returns whether a weight is still moving, and how many channels, listed in `moved`, moved so
    much that all their records are to be tested.
    """
    job = jobs[slot]
    rate, first = job.rate, job.first_record
    again = False
    n_moved = 0
    # beyond the active records, the totals change where the rate has
    n_touched = job.n_active if rate == old_rate else job.n_shared
    for row in range(first, first + n_touched):
        record = records[row]
        old = new = record.weight_s
        if row < first + job.n_active:
            fresh = record.fresh_weight_s
            if fresh == old and rate == old_rate:
                continue
            new += job.damping * (fresh - old)
            again = again or abs(fresh - new) * rate > tolerance
            record.weight_s = new
        channel = channels[record.channel]
        channel.weight += new * rate - old * old_rate
        channel.use += record.drain_s * (rate - old_rate)
        if (
            abs(channel.weight - channel.weight_woken) <= tolerance
            and abs(channel.use - channel.use_woken) <= tolerance
        ):
            continue
        if (
            abs(channel.weight - channel.weight_tested) > RETEST_N
            or abs(channel.use - channel.use_tested) > RETEST_R
        ):
            moved[n_moved] = record.channel
            n_moved += 1
            continue
        channel.weight_woken, channel.use_woken = channel.weight, channel.use
        for word in range(wake.size):
            wake[word] |= active[record.channel, word]
    return again, n_moved


@njit(int64(_JOBS, int64[::1]), cache=True)
def _report(jobs: Table, changed: Ints) -> int:
    """List the slots whose slowdown differs from what was said before; return how many."""
    n_changed = 0
    for slot in range(changed.size):
        if jobs[slot].slowdown != jobs[slot].reported:
            jobs[slot].reported = jobs[slot].slowdown
            changed[n_changed] = slot
            n_changed += 1
    return n_changed


@njit(
    int64(
        _RECORDS,
        _LISTED,
        _ENTRIES,
        _STEPS,
        _JOBS,
        _CHANNELS,
        *_BITS,
        int64[::1],
        int64[::1],
        float64,
        int64,
    ),
    cache=True,
    error_model="numpy",
)
def solve(
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    jobs: Table,
    channels: Table,
    active: Bits,
    wake: Bits,
    moved: Ints,
    changed: Ints,
    tolerance: float,
    cap: int,
) -> int:
    """
    Evaluate pending jobs, in sweeps over the slots, until none is pending.

    Parameters
    ----------
    records, listed, entries, steps, jobs, channels, active, wake : arrays
        The pool.
    moved : (E,) int array
        Scratch.
    changed : (S,) int array
        Written: slots whose s differs from what was reported before; it counts as reported now.
    tolerance : float
        Changes of s, of W / (T s) and of N or R below this wake nobody.
    cap : int
        Sweeps at most; what is pending then stays so.

    Returns
    -------
    int
        How many slots are in `changed`.
    """
    sweeps = 0
    busy = True
    while busy and sweeps < cap:
        busy = False
        sweeps += 1
        for slot in range(64 * wake.size):
            word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
            if not wake[word] & bit:
                continue
            busy = True
            rate = jobs[slot].rate
            _time_steps(slot, records, entries, steps, jobs, channels)
            again = _stretch(slot, tolerance, sweeps, steps, jobs)
            moving, n_moved = _spread(
                slot, rate, tolerance, records, jobs, channels, active, wake, moved
            )
            wake[word] &= ~bit
            if again or moving:
                wake[word] |= bit
            for i in range(n_moved):
                test_channel(moved[i], slot, records, listed, jobs, channels, active, wake)
    return int(_report(jobs, changed))
