"""
Which jobs are to be read anew, once what is on channels has moved, compiled.

Arguments named as tables of `netsim.contention.events.readingpool.ReadingPool` are these;
`crowd_kernels` names their columns. Import through `netsim.kernelcache`.
"""

from numba import float32, float64, from_dtype, int64, uint8, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.events.columns import CHANNEL, JOB, LISTED, READING
from netsim.contention.events.crowd_kernels import (
    EFFECT,
    FELT,
    HELD,
    LANES_AT,
    MARGIN,
    MARGIN_R,
    MOVED,
    NOISE,
    QUEUED,
    RETEST,
    RISEN,
    STALENESS,
    STATES,
    TOUCHED,
    UNFELT,
    USE,
)
from netsim.contention.lane_sum_kernels import meets_closed
from netsim.contention.link_kernels import stays_within
from netsim.contention.window_kernels import left_over
from netsim.jit import njit

_JOBS, _READINGS = from_dtype(JOB)[::1], from_dtype(READING)[::1]
_CHANNELS, _LISTED = from_dtype(CHANNEL)[::1], from_dtype(LISTED)[::1]
_ROWS, _FLAGS = float32[:, ::1], uint8[::1]


@njit(
    void(
        int64[::1],
        int64,
        float64,
        _LISTED,
        _JOBS,
        _CHANNELS,
        _ROWS,
        _ROWS,
        _FLAGS,
        _READINGS,
    ),
    cache=True,
)
def tell(
    moved_channels: Ints,
    n_moved: int,
    most_stale: float,
    listed: Table,
    jobs: Table,
    channels: Table,
    own: Floats,
    crowd: Floats,
    felt: Ints,
    readings: Table,
) -> None:
    """Let jobs that feel channels, by enough, be read anew; test the others after a rise."""
    for c in moved_channels[:n_moved]:
        test, moved = crowd[c, RISEN] > RETEST, abs(crowd[c, MOVED])
        crowd[c, MOVED] = 0.0
        if test:
            crowd[c, RISEN] = 0.0
        most_effect = float32(0.0)
        row = channels[c].first_record
        while row >= 0:
            slot = listed[row].slot
            at = jobs[slot].first_entry + listed[row].first_entry
            if test and felt[at] == UNFELT:
                total, most = 0.0, 0.0
                for i in range(STATES):
                    n = float64(float32(crowd[c, i] - own[at, i]))
                    total, most = total + n, max(most, n)
                use = max(0.0, float64(float32(crowd[c, USE] - own[at, USE])))
                use *= STATES * (most + MARGIN) / max(total, NOISE)
                weight = (most + MARGIN) * listed[row].per_weight
                held = max(0.0, float64(float32(crowd[c, HELD] - own[at, HELD]))) * STATES
                queues = crowd[c, QUEUED] > own[at, QUEUED]  # longer ones than a slack allows for
                slack = listed[row].slack * left_over(held / max(total, NOISE), most + MARGIN)
                closed = meets_closed(at, own, c, crowd, LANES_AT)
                if queues or closed or not stays_within(slack, 1.0, 1.0, weight, use + MARGIN_R):
                    felt[at], readings[slot].waking = TOUCHED, True
            elif felt[at] == TOUCHED:
                readings[slot].waking = True
            elif felt[at] == FELT:
                own[at, STALENESS] += float32(moved * own[at, EFFECT])
                if own[at, STALENESS] > most_stale:
                    felt[at], readings[slot].waking = TOUCHED, True
            if felt[at] != UNFELT:
                most_effect = max(most_effect, own[at, EFFECT])
            row = listed[row].following
        crowd[c, EFFECT] = most_effect
