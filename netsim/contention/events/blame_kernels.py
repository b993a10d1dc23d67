"""
Who holds a job up in fast mode: the excess of its steps, shared out among neighbours, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import njit

from netsim.arrays import Floats, Ints, Ints32
from netsim.contention.events.columns import (
    C_HEAD,
    C_N,
    C_R,
    J_ACTIVE,
    J_ENT,
    J_NSTEP,
    J_RATE,
    J_REC,
    J_SHARED,
    J_STEP,
    L_NEXT,
    L_SLOT,
    R_B,
    R_CHANNEL,
    R_COUNT,
    R_FIRST,
    R_LINK,
    R_W,
    S_TAU,
    STEP,
    WAIT,
    B,
    G,
    M,
    Q,
)
from netsim.contention.link_kernels import link_time, queue_wait

_I1, _I2, _F1, _F2 = "int64[::1]", "int64[:, ::1]", "float64[::1]", "float64[:, ::1]"


@njit(f"void(int64, int64, int64, float64, float64, {_F2}, {_I2}, {_F2}, {_F2}, {_F2})", cache=True)
def _share_out(
    c: int,
    victim: int,
    kind: int,
    by_use: float,
    by_weight: float,
    rec_f: Floats,
    rec_l: Ints,
    job_f: Floats,
    chan: Floats,
    blame: Floats,
) -> None:
    """Share out seconds among the other jobs on a channel, by their use and by their weight."""
    use, weight = 0.0, 0.0
    for turn in range(2):
        r = int(chan[c, C_HEAD])
        while r >= 0:
            slot = rec_l[r, L_SLOT]
            if slot != victim:
                u, w = rec_f[r, R_B] * job_f[slot, J_RATE], rec_f[r, R_W] * job_f[slot, J_RATE]
                if turn == 0:
                    use, weight = use + u, weight + w
                else:
                    blame[slot, kind] += by_use * u / use + by_weight * w / weight
            r = rec_l[r, L_NEXT]


@njit(
    f"int64({_I1}, {_I1}, int32[:, ::1], {_F2}, {_I2}, {_F2}, {_F2}, {_I2}, {_F2}, {_F2},"
    f"{_F2}, {_I2}, {_F1})",
    cache=True,
    error_model="numpy",
)
def culprits(
    victims: Ints,
    kinds: Ints,
    rec_i: Ints32,
    rec_f: Floats,
    rec_l: Ints,
    ent: Floats,
    steps: Floats,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    blame: Floats,
    rows: Ints,
    shares: Floats,
) -> int:
    """
    Share out what each step of some jobs takes longer than alone.

    Parameters
    ----------
    victims : (V,) int array
        Slots of the jobs.
    kinds : (E,) int array
        Class of each link, 0..K-1.
    rec_i, rec_f, rec_l, ent, steps, job_i, job_f, chan : arrays
        The pool.
    blame : (S, K) float array
        Scratch, all 0 before and after.
    rows : (Z, 3) int array
        Written: place in `victims`, slot of the culprit, class of the link.
    shares : (Z,) float array
        Written: share of the victim's excess; the shares of a victim add up to 1.

    Returns
    -------
    int
        Ints32 there are; those beyond Z are not written.

    Notes
    -----
    A step's excess is that of the link that takes longest. Where the bound 1/(1 - R) decides
    its time, the others share in proportion to their use R_k; where the share bound does, and
    for the wait behind buffered packets, in proportion to their weight N_k. A job that is
    held up by less than the tolerance blames all it meets, by N_k.
    """
    n_rows = 0
    for v in range(victims.size):
        slot = victims[v]
        first, n_active, n_steps = job_i[slot, J_REC], job_i[slot, J_ACTIVE], job_i[slot, J_NSTEP]
        ent0, step0, rate = job_i[slot, J_ENT], job_i[slot, J_STEP], job_f[slot, J_RATE]
        time = steps[step0 : step0 + n_steps, S_TAU].copy()
        where = np.full(n_steps, -1, np.int64)
        alone = np.zeros(n_steps)  # time of the link without waits
        shared_bound = np.zeros(n_steps, np.bool_)
        for r in range(first, first + n_active):
            c = rec_i[r, R_CHANNEL]
            n = chan[c, C_N] - rec_f[r, R_W] * rate
            u = max(0.0, chan[c, C_R] - rec_f[r, R_B] * rate)
            if n <= 0.0:
                continue
            k0 = ent0 + rec_i[r, R_FIRST]
            for k in range(k0, k0 + rec_i[r, R_COUNT]):
                y = link_time(ent[k, B], ent[k, M], ent[k, Q], ent[k, G], n, u)
                late = y + queue_wait(ent[k, WAIT], n)
                a = int(ent[k, STEP])
                if late > time[a]:
                    time[a], where[a], alone[a] = late, r, y
                    bound = link_time(ent[k, B], ent[k, M], ent[k, Q], ent[k, G], n, 1.0)
                    shared_bound[a] = y >= bound
        total = 0.0
        for a in range(n_steps):
            if where[a] < 0:
                continue
            c = rec_i[where[a], R_CHANNEL]
            kind = kinds[rec_i[where[a], R_LINK]]
            tau = steps[step0 + a, S_TAU]
            by_use = 0.0 if shared_bound[a] else max(0.0, alone[a] - tau)
            by_weight = time[a] - tau - by_use
            _share_out(c, slot, kind, by_use, by_weight, rec_f, rec_l, job_f, chan, blame)
            total += time[a] - tau
        if total <= 0.0:
            for r in range(first, first + job_i[slot, J_SHARED]):
                kind = kinds[rec_i[r, R_LINK]]
                c = rec_i[r, R_CHANNEL]
                n = chan[c, C_N] - rec_f[r, R_W] * rate
                if n > 0.0:
                    _share_out(c, slot, kind, 0.0, n, rec_f, rec_l, job_f, chan, blame)
                    total += n
        for other in range(blame.shape[0]):
            for kind in range(blame.shape[1]):
                if blame[other, kind] > 0.0:
                    if n_rows < shares.size:
                        rows[n_rows, 0], rows[n_rows, 1], rows[n_rows, 2] = v, other, kind
                        shares[n_rows] = blame[other, kind] / total
                    n_rows += 1
                    blame[other, kind] = 0.0
    return n_rows
