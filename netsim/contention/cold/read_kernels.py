"""
What jobs meet, state by state, at a fixed point that is given: one sweep, compiled.

Apart from the fixed point itself, which most ask for alone. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import float64, from_dtype, int64, njit

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.cold_kernels import gather, shared_of, slow_down, start_at, time_steps
from netsim.contention.cold.loop_kernels import put
from netsim.contention.columns import ENTRY, STEP

_ENTRIES, _STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]


@njit(
    (
        _ENTRIES,
        int64[::1],
        int64[::1],
        int64[::1],
        _STEPS,
        int64[::1],
        float64[::1],
        int64[:, ::1],
        float64[::1],
        float64[::1],
    ),
    cache=True,
    error_model="numpy",
)
def read_states(
    entries: Table,
    pair: Ints,
    channel_of: Ints,
    first_entry: Ints,
    steps: Table,
    first_step: Ints,
    period_s: Floats,
    cells: Ints,
    duration_s: Floats,
    late_s: Floats,
) -> tuple[Floats, Floats]:
    """
    Return slowdowns and `held_s` if steps and links take given times when neighbours look at them.

    One sweep with other cells than those with which `solve_cold` found `duration_s` and `late_s`.
    """
    shared, linger = shared_of(pair, channel_of, first_entry), bool(np.bool_(True))
    state = start_at(entries, steps, period_s.size, 1.0)
    put(duration_s, state.duration_s)
    put(late_s, state.late_s)
    slow_down(state, steps, first_step, period_s)
    crowd = gather(state, shared, entries, first_step, period_s, cells, linger)
    time_steps(state, shared, entries, steps, crowd, linger)
    put(state.fresh_s, state.duration_s)
    slow_down(state, steps, first_step, period_s)
    return state.slow, state.held_s
