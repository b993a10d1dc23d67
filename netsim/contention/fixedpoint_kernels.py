"""
The fixed point of fast mode, event by event, compiled.

State per job: slowdown s and, per record (job, channel), W = sum over steps of E + Z, where
Z = max(0, y - e) q is the weight x time of flows that linger. Per channel: N = sum of
W / (T s), the mean weight, and R = sum of B / (T s), the utilisation, over the jobs on it.
The columns of the arrays are named below; `netsim.contention.pool` owns them. Import through
`netsim.kernelcache`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.arrays import Floats, Ints

Bits = NDArray[np.uint64]

# rec_i, rec_f: a row per (job, channel); the rows of a job are contiguous, in order of zone
R_CHANNEL, R_FIRST, R_COUNT, R_LINK, R_ZONE = range(5)
R_B, R_E, R_SLACK, R_INV_M, R_W, R_FRESH = range(6)
ACTIVE, SHARED, SOLE = range(3)  # may matter now; shared but cannot matter now; nobody else there
# ent_f: a row per (job, channel, step)
B, M, Q, G, END = range(5)
# steps: a row per (job, step): tau, time among neighbours, link that takes it
S_TAU, S_TIME, S_LINK = range(3)
# job_i, job_f: a row per slot
J_REC, J_NREC, J_ENT, J_NENT, J_STEP, J_NSTEP, J_ACTIVE, J_SHARED, J_WORST = range(9)
J_T, J_S, J_RATE, J_OMEGA, J_RESIDUAL, J_REPORTED = range(6)
# chan: totals, their values at the last fine and coarse wake, number of jobs
C_N, C_R, C_N_FINE, C_R_FINE, C_N_COARSE, C_R_COARSE, C_JOBS = range(7)
# wake: a row of bits each for jobs to evaluate, and jobs to re-test before that
PENDING, STALE = range(2)

COARSE_N, COARSE_R = 0.05, 0.02  # a channel that moved by more has all its records re-tested
OMEGA_FLOOR, OMEGA_GROWTH = 0.3, 1.1
RATE_LAG = 0.1  # a slowdown that moved by less than this share of the tolerance stays unsaid
PAIR = 2  # jobs: whoever was alone on the channel no longer is
NOISE = 1e-11  # weight left on a channel by rounding

# signatures: lists and tables of integers, tables of floats and of bits
_I1, _I2, _F2, _U2 = "int64[::1]", "int64[:, ::1]", "float64[:, ::1]", "uint64[:, ::1]"
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


@njit(f"void(int64, int64, {_F2}, {_U2}, {_U2}, {_U2})", cache=True)
def _wake_jobs(c: int, slot: int, chan: Floats, member: Bits, active: Bits, wake: Bits) -> None:
    """Wake the other jobs of a channel that has moved: the active ones, or all to be re-tested."""
    word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
    own_pending, own_stale = wake[PENDING, word] & bit, wake[STALE, word] & bit
    n, r = chan[c, C_N], chan[c, C_R]
    if abs(n - chan[c, C_N_COARSE]) > COARSE_N or abs(r - chan[c, C_R_COARSE]) > COARSE_R:
        chan[c, C_N_COARSE], chan[c, C_R_COARSE] = n, r
        for w in range(wake.shape[1]):
            wake[PENDING, w] |= member[c, w]
            wake[STALE, w] |= member[c, w]
    else:
        for w in range(wake.shape[1]):
            wake[PENDING, w] |= active[c, w]
    chan[c, C_N_FINE], chan[c, C_R_FINE] = n, r
    wake[PENDING, word] = (wake[PENDING, word] & ~bit) | own_pending
    wake[STALE, word] = (wake[STALE, word] & ~bit) | own_stale


@njit(f"void(int64, {_I2}, {_I2}, {_F2}, {_U2}, {_U2})", cache=True)
def enter(slot: int, rec_i: Ints, job_i: Ints, chan: Floats, member: Bits, wake: Bits) -> None:
    """
    Count a new job on its channels; jobs that were alone on one are to be re-tested.

    Parameters
    ----------
    slot : int
        Slot of the job.
    rec_i, job_i, chan, member, wake : arrays
        The pool; see the columns above.
    """
    word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
    for r in range(job_i[slot, J_REC], job_i[slot, J_REC] + job_i[slot, J_NREC]):
        c = rec_i[r, R_CHANNEL]
        chan[c, C_JOBS] += 1.0
        if chan[c, C_JOBS] == PAIR:
            for w in range(wake.shape[1]):
                wake[PENDING, w] |= member[c, w]
                wake[STALE, w] |= member[c, w]
        member[c, word] |= bit
    wake[PENDING, word] |= bit
    wake[STALE, word] |= bit


@njit(f"void(int64, {_I2}, {_F2}, {_I2}, {_F2}, {_F2}, {_U2}, {_U2}, {_U2}, float64)", cache=True)
def leave(
    slot: int,
    rec_i: Ints,
    rec_f: Floats,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    member: Bits,
    active: Bits,
    wake: Bits,
    tolerance: float,
) -> None:
    """
    Take a job off its channels and wake those that feel it.

    Parameters
    ----------
    slot : int
        Slot of the job.
    rec_i, rec_f, job_i, job_f, chan, member, active, wake : arrays
        The pool; see the columns above.
    tolerance : float
        Changes of N or R below this wake nobody.
    """
    word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
    rate = job_f[slot, J_RATE]
    for r in range(job_i[slot, J_REC], job_i[slot, J_REC] + job_i[slot, J_NREC]):
        c = rec_i[r, R_CHANNEL]
        chan[c, C_JOBS] -= 1.0
        member[c, word] &= ~bit
        active[c, word] &= ~bit
        if rec_i[r, R_ZONE] != SOLE:
            chan[c, C_N] -= rec_f[r, R_W] * rate
            chan[c, C_R] -= rec_f[r, R_B] * rate
        if chan[c, C_JOBS] == 0.0:
            chan[c, :] = 0.0
        elif chan[c, C_JOBS] == 1.0:
            for w in range(wake.shape[1]):
                wake[PENDING, w] |= member[c, w]
                wake[STALE, w] |= member[c, w]
        elif (
            abs(chan[c, C_N] - chan[c, C_N_FINE]) > tolerance
            or abs(chan[c, C_R] - chan[c, C_R_FINE]) > tolerance
        ):
            _wake_jobs(c, slot, chan, member, active, wake)
    wake[PENDING, word] &= ~bit
    wake[STALE, word] &= ~bit


@njit(f"void(int64, {_I2}, {_F2}, {_I2}, {_F2}, {_F2}, {_U2}, {_U2}, {_U2}, float64)", cache=True)
def _retest(
    slot: int,
    rec_i: Ints,
    rec_f: Floats,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    member: Bits,
    active: Bits,
    wake: Bits,
    tolerance: float,
) -> None:
    """
    Sort the records of a job into zones: active, shared, sole.

    A record cannot matter, so y <= e on all its entries, while 1 + N/m <= e/B or
    1/(1 - R) <= e/B; that is tested with a margin of twice what a channel may move before
    all its records are re-tested. Records of sole channels are not in the totals.
    """
    word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
    rate = job_f[slot, J_RATE]
    first = job_i[slot, J_REC]
    last = first + job_i[slot, J_NREC]
    for r in range(first, last):
        c = rec_i[r, R_CHANNEL]
        was_sole = rec_i[r, R_ZONE] == SOLE
        active[c, word] &= ~bit
        if chan[c, C_JOBS] == 1.0:
            if not was_sole:
                chan[c, :C_JOBS] = 0.0
                rec_f[r, R_W] = rec_f[r, R_E]
                rec_i[r, R_ZONE] = SOLE
            continue
        w, b = rec_f[r, R_W], rec_f[r, R_B]
        if was_sole:
            chan[c, C_N] += w * rate
            chan[c, C_R] += b * rate
        n = max(0.0, chan[c, C_N] - w * rate) + 2.0 * COARSE_N
        u = max(0.0, chan[c, C_R] - b * rate) + 2.0 * COARSE_R
        slack = rec_f[r, R_SLACK]
        if 1.0 + n * rec_f[r, R_INV_M] <= slack or slack * (1.0 - u) >= 1.0:
            chan[c, C_N] += (rec_f[r, R_E] - w) * rate
            rec_f[r, R_W] = rec_f[r, R_E]
            rec_i[r, R_ZONE] = SHARED
        else:
            rec_i[r, R_ZONE] = ACTIVE
            active[c, word] |= bit
        if (
            abs(chan[c, C_N] - chan[c, C_N_FINE]) > tolerance
            or abs(chan[c, C_R] - chan[c, C_R_FINE]) > tolerance
        ):
            _wake_jobs(c, slot, chan, member, active, wake)
    low, r, high = first, first, last
    while r < high:  # partition into three zones in one pass
        zone = rec_i[r, R_ZONE]
        if zone == SHARED:
            r += 1
            continue
        if zone == ACTIVE:
            other = low
            low += 1
        else:
            high -= 1
            other = high
        if other != r:
            for k in range(rec_i.shape[1]):
                rec_i[r, k], rec_i[other, k] = rec_i[other, k], rec_i[r, k]
            for k in range(rec_f.shape[1]):
                rec_f[r, k], rec_f[other, k] = rec_f[other, k], rec_f[r, k]
        if zone == ACTIVE:
            r += 1
    job_i[slot, J_ACTIVE] = low - first
    job_i[slot, J_SHARED] = high - first


@njit(
    f"Tuple((int64, int64))({_I2}, {_F2}, {_I1}, {_F2}, {_F2}, {_I2}, {_F2}, {_F2}, {_U2}, {_U2},"
    f"{_U2}, float64, int64)",
    cache=True,
    error_model="numpy",
)
def solve(
    rec_i: Ints,
    rec_f: Floats,
    ent_step: Ints,
    ent_f: Floats,
    steps: Floats,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    member: Bits,
    active: Bits,
    wake: Bits,
    tolerance: float,
    cap: int,
) -> tuple[int, int]:
    """
    Evaluate pending jobs, in sweeps over the slots, until none is pending.

    Parameters
    ----------
    rec_i, rec_f, ent_step, ent_f, steps, job_i, job_f, chan, member, active, wake : arrays
        The pool; see the columns above.
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
    omega /= 1 + min(1, |new / old|), floor 0.3; else omega = min(1, 1.1 omega). Undamped it
    oscillates.
    """
    sweeps = 0
    evaluations = 0
    busy = True
    while busy and sweeps < cap:
        busy = False
        sweeps += 1
        for slot in range(64 * wake.shape[1]):
            word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
            if not wake[PENDING, word] & bit:
                continue
            wake[PENDING, word] &= ~bit
            busy = True
            evaluations += 1
            if wake[STALE, word] & bit:
                wake[STALE, word] &= ~bit
                _retest(slot, rec_i, rec_f, job_i, job_f, chan, member, active, wake, tolerance)
            first = job_i[slot, J_REC]
            last_active = first + job_i[slot, J_ACTIVE]
            ent0, step0 = job_i[slot, J_ENT], job_i[slot, J_STEP]
            step1 = step0 + job_i[slot, J_NSTEP]
            period, s, rate = job_f[slot, J_T], job_f[slot, J_S], job_f[slot, J_RATE]
            for a in range(step0, step1):
                steps[a, S_TIME] = steps[a, S_TAU]
            for r in range(first, last_active):
                c = rec_i[r, R_CHANNEL]
                n = chan[c, C_N] - rec_f[r, R_W] * rate
                u = max(0.0, chan[c, C_R] - rec_f[r, R_B] * rate)
                z = 0.0
                if n > NOISE:
                    k0 = ent0 + rec_i[r, R_FIRST]
                    for k in range(k0, k0 + rec_i[r, R_COUNT]):
                        b, m, end = ent_f[k, B], ent_f[k, M], ent_f[k, END]
                        if b * (m + n) <= end * m or b <= end * (1.0 - u):
                            continue
                        y = link_time(b, m, ent_f[k, Q], ent_f[k, G], n, u)
                        z += max(0.0, y - end) * ent_f[k, Q]
                        a = step0 + ent_step[k]
                        if y > steps[a, S_TIME]:
                            steps[a, S_TIME] = y
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
                omega = max(OMEGA_FLOOR, omega / (1.0 + min(1.0, abs(residual / before))))
            else:
                omega = min(1.0, OMEGA_GROWTH * omega)
            s = max(1.0, s + omega * residual)
            job_f[slot, J_OMEGA], job_f[slot, J_RESIDUAL], job_f[slot, J_S] = omega, residual, s
            again = abs((1.0 - omega) * residual) > tolerance
            new_rate = 1.0 / (period * s) if period > 0.0 else 0.0
            if abs(new_rate - rate) <= RATE_LAG * tolerance * rate:
                new_rate = rate
            job_f[slot, J_RATE] = new_rate
            last = last_active if new_rate == rate else first + job_i[slot, J_SHARED]
            for r in range(first, last):
                c = rec_i[r, R_CHANNEL]
                w = rec_f[r, R_W]
                new_w = w
                if r < last_active:
                    fresh = rec_f[r, R_FRESH]
                    new_w += omega * (fresh - w)
                    again = again or abs(fresh - new_w) * new_rate > tolerance
                    rec_f[r, R_W] = new_w
                chan[c, C_N] += new_w * new_rate - w * rate
                chan[c, C_R] += rec_f[r, R_B] * (new_rate - rate)
                if (
                    abs(chan[c, C_N] - chan[c, C_N_FINE]) > tolerance
                    or abs(chan[c, C_R] - chan[c, C_R_FINE]) > tolerance
                ):
                    _wake_jobs(c, slot, chan, member, active, wake)
            if again:
                wake[PENDING, word] |= bit
    return sweeps, evaluations


@njit(f"void({_I2}, {_F2}, {_I2}, {_F2}, {_F2}, {_I1})", cache=True)
def recount(
    rec_i: Ints, rec_f: Floats, job_i: Ints, job_f: Floats, chan: Floats, slots: Ints
) -> None:
    """
    Sum the totals of all channels anew, which takes off the rounding of many updates.

    Parameters
    ----------
    rec_i, rec_f, job_i, job_f, chan : arrays
        The pool; see the columns above.
    slots : (J,) int array
        Slots in use.
    """
    chan[:, C_N] = 0.0
    chan[:, C_R] = 0.0
    for slot in slots:
        rate = job_f[slot, J_RATE]
        for r in range(job_i[slot, J_REC], job_i[slot, J_REC] + job_i[slot, J_SHARED]):
            c = rec_i[r, R_CHANNEL]
            chan[c, C_N] += rec_f[r, R_W] * rate
            chan[c, C_R] += rec_f[r, R_B] * rate
