"""
What jobs put on channels taken off them, and summed anew, compiled.

Arguments named as tables of `netsim.contention.events.readingpool.ReadingPool` are these;
`crowd_kernels` names their columns. Import through `netsim.kernelcache`.
"""

from numba import float32, float64, int64, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.events.crowd_kernels import (
    CROSSED,
    FLAGS,
    HELD,
    LANES_AT,
    LASTING,
    POOL,
    QUEUED,
    READINGS,
    ROWS,
    STATES,
    UNFELT,
    USE,
    is_to_be_told,
)
from netsim.jit import njit


@njit(
    int64(int64, float64, *POOL, ROWS, ROWS, FLAGS, READINGS, int64[::1], int64),
    cache=True,
)
def depart(
    slot: int,
    tolerance: float,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    own: Floats,
    crowd: Floats,
    felt: Ints,
    readings: Table,
    moved_channels: Ints,
    n_moved: int,
) -> int:
    """
    Take what a job put on channels off them, while it is still on their lists; list the channels.

    `moved_channels`: channels of which jobs are to be told; returned: how many there are now.
    """
    job = jobs[slot]
    for row in range(job.first_record, job.first_record + job.n_shared):
        c, at = records[row].channel, job.first_entry + records[row].first_entry
        gone = float32(0.0)
        for i in range(LASTING):
            gone += own[at, i] / STATES
        for i in range(LASTING + 1):
            crowd[c, i] -= own[at, i]
        crowd[c, CROSSED] -= float32(own[at, LASTING] * own[at, USE])
        for i in (USE, HELD, QUEUED):
            crowd[c, i] -= own[at, i]
        for i in range(LANES_AT, crowd.shape[1]):
            crowd[c, i] -= own[at, i]
        if channels[c].n_jobs > 2:  # noqa: PLR2004 (others are left who meet)
            if is_to_be_told(c, float64(gone), tolerance, crowd):
                moved_channels[n_moved] = c
                n_moved += 1
            continue
        for i in range(crowd.shape[1]):
            crowd[c, i] = 0.0
        other = channels[c].first_record
        while other >= 0:
            owner = listed[other].slot
            at = jobs[owner].first_entry + listed[other].first_entry
            readings[owner].waking |= felt[at] != UNFELT
            felt[at] = UNFELT
            for i in range(LASTING + 2):
                own[at, i] = 0.0
            own[at, USE] = own[at, HELD] = own[at, QUEUED] = 0.0
            for i in range(LANES_AT, crowd.shape[1]):
                own[at, i] = 0.0
            other = listed[other].following
    readings[slot].pending = readings[slot].waking = False
    readings[slot].said, readings[slot].closed = readings[slot].value, 0.0
    return n_moved


@njit(void(POOL[0], POOL[2], ROWS, ROWS, int64[::1]), cache=True)
def recount_crowd(records: Table, jobs: Table, own: Floats, crowd: Floats, slots: Ints) -> None:
    """Sum what is on channels anew, for the jobs in `slots`: it takes off rounding."""
    for c in range(crowd.shape[0]):
        for i in range(LASTING + 1):
            crowd[c, i] = 0.0
        crowd[c, USE] = crowd[c, HELD] = crowd[c, QUEUED] = crowd[c, CROSSED] = 0.0
        for i in range(LANES_AT, crowd.shape[1]):
            crowd[c, i] = 0.0
    for slot in slots:
        job = jobs[slot]
        for row in range(job.first_record, job.first_record + job.n_shared):
            at = job.first_entry + records[row].first_entry
            c = records[row].channel
            for i in range(LASTING + 1):
                crowd[c, i] += own[at, i]
            for i in (USE, HELD, QUEUED):
                crowd[c, i] += own[at, i]
            for i in range(LANES_AT, crowd.shape[1]):
                crowd[c, i] += own[at, i]
            crowd[c, CROSSED] += float32(own[at, LASTING] * own[at, USE])
