"""
Jobs enter and leave channels, and which of their records there can matter, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import njit

from netsim.arrays import Bits, Floats, Ints, Ints32
from netsim.contention.events.columns import (
    C_HEAD,
    C_JOBS,
    C_N,
    C_N_TESTED,
    C_N_WOKEN,
    C_R,
    C_R_TESTED,
    C_R_WOKEN,
    J_ACTIVE,
    J_ENT,
    J_NREC,
    J_RATE,
    J_REC,
    J_SHARED,
    J_STEP,
    L_NEXT,
    L_PREV,
    L_SLOT,
    R_B,
    R_CHANNEL,
    R_E,
    R_INV_M,
    R_LINK,
    R_N,
    R_R,
    R_SLACK,
    R_W,
    S_TAU,
    STEP,
)
from netsim.contention.link_kernels import stays_within

_ALONE = 1.0  # jobs on a channel that nobody shares
RETEST_N, RETEST_R = 0.05, 0.02  # a channel that moved by more has all its records tested

# signatures: lists and tables of integers, tables of floats, lists and tables of bits
_I1, _I2, _F2 = "int64[::1]", "int64[:, ::1]", "float64[:, ::1]"
_U1, _U2 = "uint64[::1]", "uint64[:, ::1]"
_RECORDS = f"int32[:, ::1], {_F2}, {_I2}"
_JOBS = f"{_I2}, {_F2}"
_ONE = np.uint64(1)


@njit(f"boolean(int64, {_I2}, {_I2})", cache=True)
def _is_active(r: int, rec_l: Ints, job_i: Ints) -> bool:
    """Return whether a job may be held up on the channel of a record, as of its last test."""
    slot = rec_l[r, L_SLOT]
    return bool(r - job_i[slot, J_REC] < job_i[slot, J_ACTIVE])


@njit(f"void(int64, int32[:, ::1], {_I2}, {_F2})", cache=True)
def _relink(r: int, rec_i: Ints32, rec_l: Ints, chan: Floats) -> None:
    """Let the list of a channel know where a record stands now."""
    before, after = rec_l[r, L_PREV], rec_l[r, L_NEXT]
    if before >= 0:
        rec_l[before, L_NEXT] = r
    else:
        chan[rec_i[r, R_CHANNEL], C_HEAD] = r
    if after >= 0:
        rec_l[after, L_PREV] = r


@njit(f"int64(int64, {_RECORDS}, {_I2}, {_F2}, int64, int64)", cache=True)
def _place(
    r: int,
    rec_i: Ints32,
    rec_f: Floats,
    rec_l: Ints,
    job_i: Ints,
    chan: Floats,
    which: int,
    by: int,
) -> int:
    """Add a record to its job's active or shared ones (by = 1), or take it out (-1); say where."""
    slot = rec_l[r, L_SLOT]
    edge = int(job_i[slot, J_REC] + job_i[slot, which] + min(by, 0))
    job_i[slot, which] += by
    if r == edge:
        return r
    for k in range(R_LINK + 1):
        rec_i[r, k], rec_i[edge, k] = rec_i[edge, k], rec_i[r, k]
    for k in range(R_R + 1):
        rec_f[r, k], rec_f[edge, k] = rec_f[edge, k], rec_f[r, k]
    for k in range(L_PREV + 1):
        rec_l[r, k], rec_l[edge, k] = rec_l[edge, k], rec_l[r, k]
    _relink(r, rec_i, rec_l, chan)
    _relink(edge, rec_i, rec_l, chan)
    return edge


@njit(f"void(int64, int64, {_RECORDS}, {_JOBS}, {_F2}, {_U2}, {_U1})", cache=True)
def test_channel(
    c: int,
    mover: int,
    rec_i: Ints32,
    rec_f: Floats,
    rec_l: Ints,
    job_i: Ints,
    job_f: Floats,
    chan: Floats,
    active: Bits,
    wake: Bits,
) -> None:
    """
    Test which records of a channel can matter; wake those jobs, but not the one that moved.

    Parameters
    ----------
    c : int
        The channel.
    mover : int
        Slot of the job that moved.
    rec_i, rec_f, rec_l, job_i, job_f, chan, active, wake : arrays
        The pool.

    Notes
    -----
    A record can be skipped while y stays within the limit of all its entries; the others are
    *active*. That is tested with a margin of twice what a channel may move before all its
    records are tested again.
    """
    r = int(chan[c, C_HEAD])
    while r >= 0:
        slot = rec_l[r, L_SLOT]
        word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
        rate, slack = job_f[slot, J_RATE], rec_f[r, R_SLACK]
        n = max(0.0, chan[c, C_N] - rec_f[r, R_W] * rate) + 2.0 * RETEST_N
        u = max(0.0, chan[c, C_R] - rec_f[r, R_B] * rate) + 2.0 * RETEST_R
        listed = _is_active(r, rec_l, job_i)
        after = rec_l[r, L_NEXT]  # a record may change places below
        if listed and slot != mover:
            wake[word] |= bit
        if stays_within(slack, 1.0, 1.0, n * rec_f[r, R_INV_M], u):
            if listed:
                r = _place(r, rec_i, rec_f, rec_l, job_i, chan, J_ACTIVE, -1)
                active[c, word] &= ~bit
                chan[c, C_N] += (rec_f[r, R_E] - rec_f[r, R_W]) * rate
                rec_f[r, R_W] = rec_f[r, R_E]
        elif not listed:
            r = _place(r, rec_i, rec_f, rec_l, job_i, chan, J_ACTIVE, 1)
            rec_f[r, R_N] = -1.0  # not evaluated yet
            active[c, word] |= bit
            wake[word] |= bit
        r = after
    chan[c, C_N_WOKEN] = chan[c, C_N_TESTED] = chan[c, C_N]
    chan[c, C_R_WOKEN] = chan[c, C_R_TESTED] = chan[c, C_R]


@njit(
    f"void(int64, {_I2}, {_F2}, {_I1}, {_F2}, {_F2}, {_RECORDS}, {_F2}, {_F2}, {_JOBS}, {_F2},"
    f"{_U2}, {_U1})",
    cache=True,
)
def enter(
    slot: int,
    own_rec_i: Ints,
    own_rec_f: Floats,
    own_ent_step: Ints,
    own_ent: Floats,
    own_steps: Floats,
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
) -> None:
    """
    Copy a new job's constants, put it on its channels and wake the jobs that may feel it.

    Parameters
    ----------
    slot : int
        Slot of the job; its rows are reserved.
    own_rec_i, own_rec_f, own_ent_step, own_ent, own_steps : arrays
        The job's constants, as in `JobConstants`.
    rec_i, rec_f, rec_l, ent, steps, job_i, job_f, chan, active, wake : arrays
        The pool.
    """
    ent0, step0, first = job_i[slot, J_ENT], job_i[slot, J_STEP], job_i[slot, J_REC]
    for k in range(own_ent_step.size):
        for column in range(STEP):
            ent[ent0 + k, column] = own_ent[k, column]
        ent[ent0 + k, STEP] = own_ent_step[k]
    for a in range(own_steps.shape[0]):
        steps[step0 + a, S_TAU] = own_steps[a, 0]
    n_shared, n_alone = 0, 0
    for i in range(own_rec_i.shape[0]):
        c = own_rec_i[i, 0]
        other = int(chan[c, C_HEAD])
        if other >= 0:
            r = first + n_shared
            n_shared += 1
            if chan[c, C_JOBS] == _ALONE:
                other = _place(other, rec_i, rec_f, rec_l, job_i, chan, J_SHARED, 1)
                chan[c, C_N] = rec_f[other, R_W] * job_f[rec_l[other, L_SLOT], J_RATE]
                chan[c, C_R] = rec_f[other, R_B] * job_f[rec_l[other, L_SLOT], J_RATE]
            rec_l[other, L_PREV] = r
        else:
            n_alone += 1
            r = first + own_rec_i.shape[0] - n_alone
        for column in range(R_LINK + 1):
            rec_i[r, column] = own_rec_i[i, column]
        for column in range(R_W):
            rec_f[r, column] = own_rec_f[i, column]
        rec_f[r, R_W] = rec_f[r, R_E]
        rec_l[r, L_SLOT], rec_l[r, L_NEXT], rec_l[r, L_PREV] = slot, other, -1
        chan[c, C_HEAD] = r
        chan[c, C_JOBS] += 1.0
    job_i[slot, J_SHARED] = n_shared
    for r in range(first, first + n_shared):
        c = rec_i[r, R_CHANNEL]
        chan[c, C_N] += rec_f[r, R_W] * job_f[slot, J_RATE]
        chan[c, C_R] += rec_f[r, R_B] * job_f[slot, J_RATE]
        test_channel(c, slot, rec_i, rec_f, rec_l, job_i, job_f, chan, active, wake)
    wake[slot >> 6] |= _ONE << np.uint64(slot & 63)


@njit(f"void(int64, {_RECORDS}, {_JOBS}, {_F2}, {_U2}, {_U1})", cache=True)
def leave(
    slot: int,
    rec_i: Ints32,
    rec_f: Floats,
    rec_l: Ints,
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
    rec_i, rec_f, rec_l, job_i, job_f, chan, active, wake : arrays
        The pool.
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
        if chan[c, C_JOBS] > _ALONE:
            chan[c, C_N] -= rec_f[r, R_W] * job_f[slot, J_RATE]
            chan[c, C_R] -= rec_f[r, R_B] * job_f[slot, J_RATE]
            test_channel(c, slot, rec_i, rec_f, rec_l, job_i, job_f, chan, active, wake)
            continue
        chan[c, :C_JOBS] = 0.0
        if chan[c, C_JOBS] > 0.0:
            only = int(chan[c, C_HEAD])
            lone = rec_l[only, L_SLOT]
            lone_word, lone_bit = lone >> 6, _ONE << np.uint64(lone & 63)
            if _is_active(only, rec_l, job_i):
                only = _place(only, rec_i, rec_f, rec_l, job_i, chan, J_ACTIVE, -1)
                active[c, lone_word] &= ~lone_bit
                rec_f[only, R_W] = rec_f[only, R_E]
                wake[lone_word] |= lone_bit
            _place(only, rec_i, rec_f, rec_l, job_i, chan, J_SHARED, -1)
    wake[word] &= ~bit


@njit(f"void({_RECORDS}, {_JOBS}, {_F2}, {_I1})", cache=True)
def recount(
    rec_i: Ints32,
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
        The pool.
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
            if chan[c, C_JOBS] > _ALONE:
                chan[c, C_N] += rec_f[r, R_W] * rate
                chan[c, C_R] += rec_f[r, R_B] * rate
