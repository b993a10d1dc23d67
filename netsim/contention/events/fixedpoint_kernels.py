"""
The fixed point of fast mode, event by event, compiled.

State per job: slowdown s and, per record (job, channel), W = sum over steps of E + Z, where
Z = max(0, y - e) q is the weight x time of flows that linger. Per channel: N = sum of
W / (T s), the mean weight, and R = sum of B / (T s), the utilisation, over the jobs on it;
both are 0 where a single job is. `netsim.contention.events.pool` owns the arrays,
`netsim.contention.events.columns` names their columns. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import njit

from netsim.arrays import Bits, Floats, Ints, Ints32
from netsim.contention.events.channel_kernels import RETEST_N, RETEST_R, test_channel
from netsim.contention.events.columns import (
    C_N,
    C_N_TESTED,
    C_N_WOKEN,
    C_R,
    C_R_TESTED,
    C_R_WOKEN,
    END,
    J_ACTIVE,
    J_ENT,
    J_NSTEP,
    J_OMEGA,
    J_RATE,
    J_REC,
    J_REPORTED,
    J_RESIDUAL,
    J_S,
    J_SHARED,
    J_STEP,
    J_T,
    J_WORST,
    R_B,
    R_CHANNEL,
    R_COUNT,
    R_E,
    R_FIRST,
    R_FRESH,
    R_LINK,
    R_N,
    R_R,
    R_W,
    S_LINK,
    S_TAU,
    S_TIME,
    STEP,
    TIME,
    WAIT,
    B,
    G,
    M,
    Q,
)
from netsim.contention.link_kernels import link_time, queue_wait

OMEGA_FLOOR, OMEGA_GROWTH = 0.3, 1.3
PATIENCE = 15  # sweeps after which the floor sinks, as 1 / sweeps: some clusters cycle at 0.3
RATE_LAG = 0.3  # a slowdown that moved by less than this share of the tolerance stays unsaid
NOISE = 1e-11  # weight left on a channel by rounding

# signatures: lists and tables of integers, tables of floats, lists and tables of bits
_I1, _I2, _F2 = "int64[::1]", "int64[:, ::1]", "float64[:, ::1]"
_U1, _U2 = "uint64[::1]", "uint64[:, ::1]"
_ONE = np.uint64(1)


@njit(
    f"int64(int32[:, ::1], {_F2}, {_I2}, {_F2}, {_F2}, {_I2}, {_F2}, {_F2},"
    f"{_U2}, {_U1}, {_I1}, {_I1}, float64, int64)",
    cache=True,
    error_model="numpy",
)
def solve(
    rec_i: Ints32,
    rec_f: Floats,
    rec_l: Ints,
    ent: Floats,
    steps: Floats,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
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
    rec_i, rec_f, rec_l, ent, steps, job_i, job_f, chan, active, wake : arrays
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

    Notes
    -----
    Gauss-Seidel with a damping per job: on a change of sign of its residual,
    omega /= 1 + min(1, |new / old|), with a floor; else it grows, up to 1. Undamped it oscillates.
    A record keeps the times of its entries while N and R stand still for it.
    """
    n_words = wake.size
    sweeps = 0
    busy = True
    while busy and sweeps < cap:
        busy = False
        sweeps += 1
        for slot in range(64 * n_words):
            word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
            if not wake[word] & bit:
                continue
            busy = True
            first, n_active = job_i[slot, J_REC], job_i[slot, J_ACTIVE]
            ent0, step0 = job_i[slot, J_ENT], job_i[slot, J_STEP]
            step1 = step0 + job_i[slot, J_NSTEP]
            period, s, rate = job_f[slot, J_T], job_f[slot, J_S], job_f[slot, J_RATE]
            for a in range(step0, step1):
                steps[a, S_TIME] = steps[a, S_TAU]
            for r in range(first, first + n_active):
                c = rec_i[r, R_CHANNEL]
                n = chan[c, C_N] - rec_f[r, R_W] * rate
                n = n if n > NOISE else 0.0
                u = max(0.0, chan[c, C_R] - rec_f[r, R_B] * rate)
                k0 = ent0 + rec_i[r, R_FIRST]
                k1 = k0 + rec_i[r, R_COUNT]
                if n != rec_f[r, R_N] or u != rec_f[r, R_R]:
                    rec_f[r, R_N], rec_f[r, R_R] = n, u
                    z = 0.0
                    for k in range(k0, k1):
                        y = link_time(ent[k, B], ent[k, M], ent[k, Q], ent[k, G], n, u)
                        z += max(0.0, y - ent[k, END]) * ent[k, Q]
                        ent[k, TIME] = y + queue_wait(ent[k, WAIT], n)
                    rec_f[r, R_FRESH] = rec_f[r, R_E] + z
                for k in range(k0, k1):
                    a = step0 + int(ent[k, STEP])
                    if ent[k, TIME] > steps[a, S_TIME]:
                        steps[a, S_TIME] = ent[k, TIME]
                        steps[a, S_LINK] = rec_i[r, R_LINK]
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
            # beyond the active records, the totals change where the rate has
            n_touched = n_active if new_rate == rate else job_i[slot, J_SHARED]
            for r in range(first, first + n_touched):
                w = rec_f[r, R_W]
                new_w = w
                if r < first + n_active:
                    fresh = rec_f[r, R_FRESH]
                    if fresh == w and new_rate == rate:
                        continue
                    new_w += omega * (fresh - w)
                    again = again or abs(fresh - new_w) * new_rate > tolerance
                    rec_f[r, R_W] = new_w
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
            wake[word] &= ~bit
            if again:
                wake[word] |= bit
            for i in range(n_moved):
                test_channel(moved[i], slot, rec_i, rec_f, rec_l, job_i, job_f, chan, active, wake)
    n_changed = 0
    for slot in range(changed.size):
        if job_f[slot, J_S] != job_f[slot, J_REPORTED]:
            job_f[slot, J_REPORTED] = job_f[slot, J_S]
            changed[n_changed] = slot
            n_changed += 1
    return n_changed
