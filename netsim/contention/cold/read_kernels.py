"""
What jobs meet, state by state, at a fixed point that is given: one sweep, compiled.

Apart from the fixed point itself, which most ask for alone. Import through `netsim.kernelchoice`.
"""

from numba import float64, njit, void

from netsim.arrays import Floats, Table
from netsim.contention.cold.cold_kernels import (
    CROWD,
    ENTRIES,
    SHARED,
    STATE,
    STEPS,
    put_down,
    slow_down,
    time_steps,
)
from netsim.contention.cold.columns import Crowd, Shared, State


@njit(
    void(ENTRIES, STEPS, float64[::1], SHARED, STATE, CROWD),
    cache=True,
    error_model="numpy",
)
def read_states(
    entries: Table, steps: Table, period_s: Floats, shared: Shared, state: State, crowd: Crowd
) -> None:
    """
    Read what jobs meet if steps and links take given times when neighbours look at them.

    `state`: with the times that `solve_cold` found, of other cells than those of `crowd`; written:
    how long steps and links take among the states.
    """
    linger = True
    for j in range(period_s.size):
        slow_down(j, steps, period_s, shared, state)
        put_down(j, 1.0, entries, period_s, shared, state, crowd, linger)
    for j in range(period_s.size):
        time_steps(j, entries, steps, period_s, shared, state, crowd, linger)
    for j in range(period_s.size):
        for a in range(shared.first_step[j], shared.first_step[j + 1]):
            state.duration_s[a] = state.fresh_s[a]
        slow_down(j, steps, period_s, shared, state)
