"""
Jobs enter and leave channels, and which of their records there can matter, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.arrays import Floats, Ints
from netsim.contention.columns import (
    ACTIVE,
    C_HEAD,
    C_JOBS,
    C_N,
    C_N_TESTED,
    C_N_WOKEN,
    C_R,
    C_R_TESTED,
    C_R_WOKEN,
    J_ACTIVE,
    J_NREC,
    J_RATE,
    J_REC,
    L_ACTIVE,
    L_NEXT,
    L_PREV,
    L_SHARED,
    L_SLOT,
    R_B,
    R_CHANNEL,
    R_E,
    R_INV_M,
    R_SLACK,
    R_W,
    SHARED,
)
from netsim.contention.link_kernels import stays_within

Bits = NDArray[np.uint64]

RETEST_N, RETEST_R = 0.05, 0.02  # a channel that moved by more has all its records tested

# signatures: lists and tables of integers, tables of floats, lists and tables of bits
_I1, _I2, _F2 = "int64[::1]", "int64[:, ::1]", "float64[:, ::1]"
_U1, _U2 = "uint64[::1]", "uint64[:, ::1]"
_RECORDS = f"{_I2}, {_F2}, {_I2}, {_I2}"
_JOBS = f"{_I2}, {_F2}"
_ONE = np.uint64(1)


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
def test_channel(
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
    """
    Test which records of a channel can matter; wake those jobs, but not the one that moved.

    Parameters
    ----------
    c : int
        The channel.
    mover : int
        Slot of the job that moved.
    rec_f, rec_l, lists, job_i, job_f, chan, active, wake : arrays
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
        listed = rec_l[r, L_ACTIVE] >= 0
        if listed and slot != mover:
            wake[word] |= bit
        if stays_within(slack, 1.0, 1.0, n * rec_f[r, R_INV_M], u):
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
        The pool.
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
        test_channel(c, slot, rec_f, rec_l, lists, job_i, job_f, chan, active, wake)
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
        if chan[c, C_JOBS] > 1.0:
            chan[c, C_N] -= rec_f[r, R_W] * job_f[slot, J_RATE]
            chan[c, C_R] -= rec_f[r, R_B] * job_f[slot, J_RATE]
            test_channel(c, slot, rec_f, rec_l, lists, job_i, job_f, chan, active, wake)
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
            if rec_l[r, L_SHARED] >= 0:
                chan[c, C_N] += rec_f[r, R_W] * rate
                chan[c, C_R] += rec_f[r, R_B] * rate
