"""
What is kept of how late links make the steps of a job, compiled.

Arguments named as tables of `netsim.contention.events.readingpool.ReadingPool` are these;
`crowd_kernels` names their columns. Import through `netsim.kernelcache`.
"""

from numba import float32, float64, from_dtype, int32, int64, uint8

from netsim.arrays import Floats, Ints, Table
from netsim.contention.events.columns import JOB
from netsim.contention.events.crowd_kernels import (
    COUNT_AT,
    LINK_AT,
    STATES,
    STEP_AT,
    TOUCHED,
    UNFELT,
    WAIT,
)
from netsim.contention.link_kernels import STAGES
from netsim.jit import njit

_JOBS = from_dtype(JOB)[::1]
_ROWS, _PLACES, _FLAGS = float32[:, ::1], int32[:, ::1], uint8[::1]


@njit(
    int64(
        int64,
        _JOBS,
        _PLACES,
        _FLAGS,
        _ROWS,
        float64[:, ::1],
        float64[::1],
        int64[::1],
    ),
    cache=True,
)
def recall(
    slot: int,
    jobs: Table,
    place: Ints,
    felt: Ints,
    late: Floats,
    most_late: Floats,
    worst: Floats,
    touched: Ints,
) -> int:
    """
    Raise by how much steps are late, and wait at each stage, to what is kept of the links of a job.

    `touched`, written: the rows of the others; returned: how many there are.
    """
    n_touched = 0
    for at in range(jobs[slot].first_entry, jobs[slot].first_entry + jobs[slot].n_entries):
        if felt[at] == UNFELT:
            continue
        if felt[at] == TOUCHED:
            touched[n_touched] = at
            n_touched += 1
            continue
        for k in range(at, at + place[at, COUNT_AT]):
            a, stage = place[k, STEP_AT] // STAGES, STATES + place[k, STEP_AT] % STAGES
            most_late[a, stage] = max(most_late[a, stage], float64(late[k, WAIT]))
            for i in range(STATES):
                most_late[a, i] = max(most_late[a, i], float64(late[k, i]))
            # in pairs: a sum of eight that wait for each other takes longer than all the rest
            low_s = float32(late[k, 0] + late[k, 1]) + float32(late[k, 2] + late[k, 3])
            high_s = float32(late[k, 4] + late[k, 5]) + float32(late[k, 6] + late[k, 7])
            held_s = float32(float32(low_s) + float32(high_s))
            if held_s > worst[0]:
                worst[0], worst[1] = held_s, place[at, LINK_AT]
    return n_touched
