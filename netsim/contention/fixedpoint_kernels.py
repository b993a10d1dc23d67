"""
The fixed point of fast mode, event by event, compiled.

State per job: slowdown s and, per record (job, channel), W = sum over steps of E + Z, where
Z = max(0, y - e) q is the weight x time of flows that linger. Per channel: N = sum of
W / (T s), the mean weight, and R = sum of B / (T s), the utilisation, over the jobs on it;
both are 0 where a single job is. A record can be skipped, as y stays below the limit of all
its entries, while 1 + N/m <= limit/B or 1/(1 - R) <= limit/B; the others are *active*. That is
tested with a margin of twice what a channel may move before all its records are tested again.

The columns of the arrays are named below; `netsim.contention.pool` owns them. Import through
`netsim.kernelcache`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.arrays import Floats, Ints

Bits = NDArray[np.uint64]

# rec_i, rec_f: a row per record; the rows of a job are contiguous
R_CHANNEL, R_FIRST, R_COUNT, R_LINK = range(4)
R_B, R_E, R_SLACK, R_INV_M, R_W, R_FRESH = range(6)
# rec_l: slot of the job, neighbours in the channel's list of records, places in `lists` or -1
L_SLOT, L_NEXT, L_PREV, L_ACTIVE, L_SHARED = range(5)
# lists: columns of the job's active and shared records, counted from its first
ACTIVE, SHARED = range(2)
# ent_f: a row per (job, channel, step)
B, M, Q, G, END, LIMIT, WAIT = range(7)
# steps: a row per (job, step): tau, time among neighbours, link that takes it
S_TAU, S_TIME, S_LINK = range(3)
# job_i, job_f: a row per slot
J_REC, J_NREC, J_ENT, J_NENT, J_STEP, J_NSTEP, J_ACTIVE, J_SHARED, J_WORST = range(9)
J_T, J_S, J_RATE, J_OMEGA, J_RESIDUAL, J_REPORTED = range(6)
# chan: totals, their values when its active jobs were last woken and when its records were
# last tested, number of jobs, first record
C_N, C_R, C_N_WOKEN, C_R_WOKEN, C_N_TESTED, C_R_TESTED, C_JOBS, C_HEAD = range(8)

RETEST_N, RETEST_R = 0.05, 0.02  # a channel that moved by more has all its records tested
OMEGA_FLOOR, OMEGA_GROWTH = 0.3, 1.3
PATIENCE = 15  # sweeps after which the floor sinks, as 1 / sweeps: some clusters cycle at 0.3
RATE_LAG = 0.3  # a slowdown that moved by less than this share of the tolerance stays unsaid
NOISE = 1e-11  # weight left on a channel by rounding

# signatures: lists and tables of integers, tables of floats, lists and tables of bits
_I1, _I2, _F2 = "int64[::1]", "int64[:, ::1]", "float64[:, ::1]"
_U1, _U2 = "uint64[::1]", "uint64[:, ::1]"
_RECORDS = f"{_I2}, {_F2}, {_I2}, {_I2}"
_JOBS = f"{_I2}, {_F2}"
_ONE = np.uint64(1)


@njit(
    "float64(float64, float64, float64, float64, float64, float64)", cache=True, error_model="numpy"
)
def link_time(b: float, m: float, q: float, g: float, n: float, r: float) -> float:
    """
    Return the time y = beta B that a link takes for one step among its neighbours.

    Parameters
    ----------
    b, m, q, g : float
        B, m, q, G of the entry; g = inf leaves out the lingering of the job's own flows.
    n, r : float
        Weight N and utilisation R of the other jobs on the link, at least 0.

    Returns
    -------
    float
        Seconds, at least B; exactly B where n = r = 0.

    Notes
    -----
    beta = min(1 / (1 - R), h) with the share bound h = 1 + N/m until G, and 1 + N/q after
    it, when the senders' other flows are done.
    """
    bound = b * (1.0 + n / m)
    if bound > g:
        late = g + max(0.0, b - g * m / (m + n)) * (1.0 + n / q)
        bound = max(b, min(bound, late))
    return min(bound, b / (1.0 - r)) if r < 1.0 else bound


@njit("float64(float64, float64)", cache=True)
def queue_wait(w: float, n: float) -> float:
    """
    Return how long the last packet of a step waits behind the packets of other jobs.

    Parameters
    ----------
    w : float
        Time in which the link empties the buffer of its port, in seconds.
    n : float
        Weight N of the other jobs on the link.

    Returns
    -------
    float
        Seconds, at most w.

    Notes
    -----
    N is what the others offer, in links' worth: from N = 1 on they keep the buffer full,
    below it is full for that share of the time. No flow model has this term; against packet
    level it halves the error of steps below 15 us.
    """
    return w * min(1.0, n)


@njit(f"void(int64, int64, {_I2}, {_I2}, {_I2})", cache=True)
def _unlist(r: int, which: int, rec_l: Ints, lists: Ints, job_i: Ints) -> None:
    """Take a record off its job's list of active or shared ones; the last fills the gap."""
    slot, where = rec_l[r, L_SLOT], rec_l[r, L_ACTIVE + which]
    first = job_i[slot, J_REC]
    job_i[slot, J_ACTIVE + which] -= 1
    last = lists[first + job_i[slot, J_ACTIVE + which], which]
    lists[first + where, which] = last
    rec_l[first + last, L_ACTIVE + which] = where
    rec_l[r, L_ACTIVE + which] = -1


@njit(f"void(int64, int64, {_I2}, {_I2}, {_I2})", cache=True)
def _enlist(r: int, which: int, rec_l: Ints, lists: Ints, job_i: Ints) -> None:
    """Put a record on its job's list of active or shared ones."""
    slot = rec_l[r, L_SLOT]
    first, where = job_i[slot, J_REC], job_i[slot, J_ACTIVE + which]
    lists[first + where, which] = r - first
    rec_l[r, L_ACTIVE + which] = where
    job_i[slot, J_ACTIVE + which] += 1


@njit(f"void(int64, int64, {_F2}, {_I2}, {_I2}, {_JOBS}, {_F2}, {_U2}, {_U1})", cache=True)
def _test_channel(
    c: int,
    mover: int,
    rec_f: Floats,
    rec_l: Ints,
    lists: Ints,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    active: Bits,
    wake: Bits,
) -> None:
    """Test which records of a channel can matter; wake those jobs, but not the one that moved."""
    r = int(chan[c, C_HEAD])
    while r >= 0:
        slot = rec_l[r, L_SLOT]
        word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
        rate, slack = job_f[slot, J_RATE], rec_f[r, R_SLACK]
        n = max(0.0, chan[c, C_N] - rec_f[r, R_W] * rate) + 2.0 * RETEST_N
        u = max(0.0, chan[c, C_R] - rec_f[r, R_B] * rate) + 2.0 * RETEST_R
        listed = rec_l[r, L_ACTIVE] >= 0
        if listed and slot != mover:
            wake[word] |= bit
        if 1.0 + n * rec_f[r, R_INV_M] <= slack or slack * (1.0 - u) >= 1.0:
            if listed:
                _unlist(r, ACTIVE, rec_l, lists, job_i)
                active[c, word] &= ~bit
                chan[c, C_N] += (rec_f[r, R_E] - rec_f[r, R_W]) * rate
                rec_f[r, R_W] = rec_f[r, R_E]
        elif not listed:
            _enlist(r, ACTIVE, rec_l, lists, job_i)
            active[c, word] |= bit
            wake[word] |= bit
        r = rec_l[r, L_NEXT]
    chan[c, C_N_WOKEN] = chan[c, C_N_TESTED] = chan[c, C_N]
    chan[c, C_R_WOKEN] = chan[c, C_R_TESTED] = chan[c, C_R]


@njit(f"void(int64, {_RECORDS}, {_JOBS}, {_F2}, {_U2}, {_U1})", cache=True)
def enter(
    slot: int,
    rec_i: Ints,
    rec_f: Floats,
    rec_l: Ints,
    lists: Ints,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    active: Bits,
    wake: Bits,
) -> None:
    """
    Put a new job on its channels and wake the jobs that may feel it.

    Parameters
    ----------
    slot : int
        Slot of the job.
    rec_i, rec_f, rec_l, lists, job_i, job_f, chan, active, wake : arrays
        The pool; see the columns above.
    """
    first = job_i[slot, J_REC]
    for r in range(first, first + job_i[slot, J_NREC]):
        c = rec_i[r, R_CHANNEL]
        other = int(chan[c, C_HEAD])
        rec_l[r, L_SLOT], rec_l[r, L_NEXT], rec_l[r, L_PREV] = slot, other, -1
        rec_l[r, L_ACTIVE] = rec_l[r, L_SHARED] = -1
        chan[c, C_HEAD] = r
        chan[c, C_JOBS] += 1.0
        if other < 0:
            continue
        rec_l[other, L_PREV] = r
        if rec_l[other, L_SHARED] < 0:
            _enlist(other, SHARED, rec_l, lists, job_i)
            chan[c, C_N] = rec_f[other, R_W] * job_f[rec_l[other, L_SLOT], J_RATE]
            chan[c, C_R] = rec_f[other, R_B] * job_f[rec_l[other, L_SLOT], J_RATE]
        _enlist(r, SHARED, rec_l, lists, job_i)
        chan[c, C_N] += rec_f[r, R_W] * job_f[slot, J_RATE]
        chan[c, C_R] += rec_f[r, R_B] * job_f[slot, J_RATE]
        _test_channel(c, slot, rec_f, rec_l, lists, job_i, job_f, chan, active, wake)
    wake[slot >> 6] |= _ONE << np.uint64(slot & 63)


@njit(f"void(int64, {_RECORDS}, {_JOBS}, {_F2}, {_U2}, {_U1})", cache=True)
def leave(
    slot: int,
    rec_i: Ints,
    rec_f: Floats,
    rec_l: Ints,
    lists: Ints,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    active: Bits,
    wake: Bits,
) -> None:
    """
    Take a job off its channels and wake the jobs that may feel it.

    Parameters
    ----------
    slot : int
        Slot of the job.
    rec_i, rec_f, rec_l, lists, job_i, job_f, chan, active, wake : arrays
        The pool; see the columns above.
    """
    word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
    first = job_i[slot, J_REC]
    for r in range(first, first + job_i[slot, J_NREC]):
        c = rec_i[r, R_CHANNEL]
        before, after = rec_l[r, L_PREV], rec_l[r, L_NEXT]
        if before >= 0:
            rec_l[before, L_NEXT] = after
        else:
            chan[c, C_HEAD] = after
        if after >= 0:
            rec_l[after, L_PREV] = before
        active[c, word] &= ~bit
        chan[c, C_JOBS] -= 1.0
        if chan[c, C_JOBS] > 1.0:
            chan[c, C_N] -= rec_f[r, R_W] * job_f[slot, J_RATE]
            chan[c, C_R] -= rec_f[r, R_B] * job_f[slot, J_RATE]
            _test_channel(c, slot, rec_f, rec_l, lists, job_i, job_f, chan, active, wake)
            continue
        chan[c, :C_JOBS] = 0.0
        if chan[c, C_JOBS] > 0.0:
            only = int(chan[c, C_HEAD])
            lone = rec_l[only, L_SLOT]
            lone_word, lone_bit = lone >> 6, _ONE << np.uint64(lone & 63)
            _unlist(only, SHARED, rec_l, lists, job_i)
            if rec_l[only, L_ACTIVE] >= 0:
                _unlist(only, ACTIVE, rec_l, lists, job_i)
                active[c, lone_word] &= ~lone_bit
                rec_f[only, R_W] = rec_f[only, R_E]
                wake[lone_word] |= lone_bit
    wake[word] &= ~bit


@njit(
    f"Tuple((int64, int64))({_RECORDS}, {_I1}, {_F2}, {_F2}, {_JOBS}, {_F2}, {_U2}, {_U1}, {_I1},"
    "float64, int64)",
    cache=True,
    error_model="numpy",
)
def solve(
    rec_i: Ints,
    rec_f: Floats,
    rec_l: Ints,
    lists: Ints,
    ent_step: Ints,
    ent_f: Floats,
    steps: Floats,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    active: Bits,
    wake: Bits,
    moved: Ints,
    tolerance: float,
    cap: int,
) -> tuple[int, int]:
    """
    Evaluate pending jobs, in sweeps over the slots, until none is pending.

    Parameters
    ----------
    rec_i, rec_f, rec_l, lists, ent_step, ent_f, steps, job_i, job_f, chan, active, wake : arrays
        The pool; see the columns above.
    moved : (E,) int array
        Scratch.
    tolerance : float
        Changes of s, of W / (T s) and of N or R below this wake nobody.
    cap : int
        Sweeps at most; what is pending then stays so.

    Returns
    -------
    sweeps, evaluations : int
        Work done.

    Notes
    -----
    Gauss-Seidel with a damping per job: on a change of sign of its residual,
    omega /= 1 + min(1, |new / old|), with a floor; else omega = min(1, 1.1 omega). Undamped
    it oscillates.
    """
    n_words = wake.size
    sweeps = 0
    evaluations = 0
    busy = True
    while busy and sweeps < cap:
        busy = False
        sweeps += 1
        for slot in range(64 * n_words):
            word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
            if not wake[word] & bit:
                continue
            busy = True
            evaluations += 1
            first, n_active = job_i[slot, J_REC], job_i[slot, J_ACTIVE]
            ent0, step0 = job_i[slot, J_ENT], job_i[slot, J_STEP]
            step1 = step0 + job_i[slot, J_NSTEP]
            period, s, rate = job_f[slot, J_T], job_f[slot, J_S], job_f[slot, J_RATE]
            for a in range(step0, step1):
                steps[a, S_TIME] = steps[a, S_TAU]
            for i in range(first, first + n_active):
                r = first + lists[i, ACTIVE]
                c = rec_i[r, R_CHANNEL]
                n = chan[c, C_N] - rec_f[r, R_W] * rate
                u = max(0.0, chan[c, C_R] - rec_f[r, R_B] * rate)
                z = 0.0
                if n > NOISE:
                    k0 = ent0 + rec_i[r, R_FIRST]
                    for k in range(k0, k0 + rec_i[r, R_COUNT]):
                        b, m, limit = ent_f[k, B], ent_f[k, M], ent_f[k, LIMIT]
                        if b * (m + n) <= limit * m or b <= limit * (1.0 - u):
                            continue
                        y = link_time(b, m, ent_f[k, Q], ent_f[k, G], n, u)
                        z += max(0.0, y - ent_f[k, END]) * ent_f[k, Q]
                        a = step0 + ent_step[k]
                        time = y + queue_wait(ent_f[k, WAIT], n)
                        if time > steps[a, S_TIME]:
                            steps[a, S_TIME] = time
                            steps[a, S_LINK] = rec_i[r, R_LINK]
                rec_f[r, R_FRESH] = rec_f[r, R_E] + z
            excess, worst, worst_excess = 0.0, -1, 0.0
            for a in range(step0, step1):
                late = steps[a, S_TIME] - steps[a, S_TAU]
                excess += late
                if late > worst_excess:
                    worst_excess, worst = late, int(steps[a, S_LINK])
            job_i[slot, J_WORST] = worst
            residual = 1.0 - s
            if excess > 0.0:
                residual += excess / period
            omega, before = job_f[slot, J_OMEGA], job_f[slot, J_RESIDUAL]
            if residual * before < 0.0:
                floor = OMEGA_FLOOR * min(1.0, PATIENCE / sweeps)
                omega = max(floor, omega / (1.0 + min(1.0, abs(residual / before))))
            else:
                omega = min(1.0, OMEGA_GROWTH * omega)
            s = max(1.0, s + omega * residual)
            job_f[slot, J_OMEGA], job_f[slot, J_RESIDUAL], job_f[slot, J_S] = omega, residual, s
            again = abs((1.0 - omega) * residual) > tolerance
            new_rate = 1.0 / (period * s) if period > 0.0 else 0.0
            if abs(new_rate - rate) <= RATE_LAG * tolerance * rate:
                new_rate = rate
            job_f[slot, J_RATE] = new_rate
            n_moved = 0
            which, count = ACTIVE, n_active
            while True:  # active records first; all shared ones where the rate has changed
                for i in range(first, first + count):
                    r = first + lists[i, which]
                    w = rec_f[r, R_W]
                    new_w = w
                    if which == ACTIVE:
                        fresh = rec_f[r, R_FRESH]
                        new_w += omega * (fresh - w)
                        again = again or abs(fresh - new_w) * new_rate > tolerance
                        rec_f[r, R_W] = new_w
                    elif rec_l[r, L_ACTIVE] >= 0:
                        continue
                    c = rec_i[r, R_CHANNEL]
                    n = chan[c, C_N] + (new_w * new_rate - w * rate)
                    u = chan[c, C_R] + rec_f[r, R_B] * (new_rate - rate)
                    chan[c, C_N], chan[c, C_R] = n, u
                    if (
                        abs(n - chan[c, C_N_WOKEN]) <= tolerance
                        and abs(u - chan[c, C_R_WOKEN]) <= tolerance
                    ):
                        continue
                    if (
                        abs(n - chan[c, C_N_TESTED]) > RETEST_N
                        or abs(u - chan[c, C_R_TESTED]) > RETEST_R
                    ):
                        moved[n_moved] = c
                        n_moved += 1
                        continue
                    chan[c, C_N_WOKEN], chan[c, C_R_WOKEN] = n, u
                    for k in range(n_words):
                        wake[k] |= active[c, k]
                if which == SHARED or new_rate == rate:
                    break
                which, count = SHARED, job_i[slot, J_SHARED]
            wake[word] &= ~bit
            if again:
                wake[word] |= bit
            for i in range(n_moved):
                _test_channel(moved[i], slot, rec_f, rec_l, lists, job_i, job_f, chan, active, wake)
    return sweeps, evaluations


@njit(f"void({_I2}, {_F2}, {_I2}, {_JOBS}, {_F2}, {_I1})", cache=True)
def recount(
    rec_i: Ints,
    rec_f: Floats,
    rec_l: Ints,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    slots: Ints,
) -> None:
    """
    Sum the totals and link the records of all channels anew.

    It takes off the rounding of many updates, and is needed after records have moved.

    Parameters
    ----------
    rec_i, rec_f, rec_l, job_i, job_f, chan : arrays
        The pool; see the columns above.
    slots : (J,) int array
        Slots in use.
    """
    chan[:, C_N] = 0.0
    chan[:, C_R] = 0.0
    chan[:, C_HEAD] = -1.0
    for slot in slots:
        rate, first = job_f[slot, J_RATE], job_i[slot, J_REC]
        for r in range(first, first + job_i[slot, J_NREC]):
            c = rec_i[r, R_CHANNEL]
            after = int(chan[c, C_HEAD])
            rec_l[r, L_NEXT], rec_l[r, L_PREV] = after, -1
            if after >= 0:
                rec_l[after, L_PREV] = r
            chan[c, C_HEAD] = r
            if rec_l[r, L_SHARED] >= 0:
                chan[c, C_N] += rec_f[r, R_W] * rate
                chan[c, C_R] += rec_f[r, R_B] * rate
