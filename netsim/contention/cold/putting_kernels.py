"""
What jobs put on channels, where a fixed point is solved from scratch, compiled.

Import through `netsim.kernelcache`.
"""

from numba import boolean, float64, from_dtype, int64, types, void

from netsim.arrays import Floats, Table
from netsim.contention.cold.columns import Crowd, Shared, State
from netsim.contention.columns import ENTRY, STEP
from netsim.contention.lane_kernels import there_for
from netsim.contention.lane_sum_kernels import add_lanes, put_lanes, take_lanes
from netsim.contention.window_kernels import presence
from netsim.jit import njit

ENTRIES, STEPS = from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]
SHARED = types.NamedUniTuple(int64[::1], len(Shared._fields), Shared)  # type: ignore[no-untyped-call]
STATE = types.NamedUniTuple(float64[::1], len(State._fields), State)  # type: ignore[no-untyped-call]
CROWD = types.NamedTuple(  # type: ignore[no-untyped-call]
    (
        *(float64[:, ::1], *(float64[::1],) * 4) * 2,
        float64[::1],
        int64[:, ::1],
        *(float64[:, ::1],) * 5,
    ),
    Crowd,
)


@njit(
    void(int64, float64, ENTRIES, float64[::1], SHARED, STATE, CROWD, boolean),
    cache=True,
    error_model="numpy",
)
def put_down(
    j: int,
    gain: float,
    entries: Table,
    period_s: Floats,
    shared: Shared,
    state: State,
    crowd: Crowd,
    linger: bool,
) -> None:
    """
    Put what a job has on channels now in place of what it had, and count who may feel it.

    `gain`: how far it seems to have to go in all, against this move.
    """
    fresh, n_states = crowd.scratch, crowd.cells.shape[1]
    has_lanes = n_states > 1 and crowd.lanes.shape[0] > 0
    use, lasting, held, queued = n_states, n_states + 1, n_states + 2, n_states + 3
    first = shared.first_pair[j]
    n_pairs = shared.first_pair[j + 1] - first
    for r in range(n_pairs):
        for i in range(n_states + 4):
            fresh[r, i] = 0.0
        if has_lanes:
            take_lanes(first + r, crowd.lanes, shared.channel[first + r], crowd.all_lanes, 0)
    cycle_s, since_s = period_s[j] * state.slow[j], 0.0
    for a in range(shared.first_step[j], shared.first_step[j + 1]):
        length_s = state.duration_s[a]
        for k in range(shared.first_entry[a], shared.first_entry[a + 1]):
            own, r = entries[k], shared.pair[k] - first
            weight_s, there_s = own.weight * length_s, length_s
            if linger:
                weight_s = own.presence_s + max(0.0, state.late_s[k] - own.end_s) * own.senders
            if has_lanes:
                there_s = there_for(length_s, own.end_s, state.late_s[k])
            for i in range(n_states):
                share = presence(since_s, since_s + there_s, cycle_s / n_states, crowd.cells[j, i])
                fresh[r, i] += share * weight_s / there_s
            fresh[r, use] += own.drain_s / cycle_s
            fresh[r, lasting] += weight_s * there_s / cycle_s
            fresh[r, held] += own.held * length_s / cycle_s
            fresh[r, queued] += own.queued / cycle_s
            if has_lanes:
                per = weight_s / cycle_s, length_s / cycle_s, own.queued / cycle_s
                put_lanes(k, per, crowd.of_lanes, shared.pair[k], crowd.lanes, 0)
        since_s += length_s
    for r in range(n_pairs):
        p = first + r
        c = shared.channel[p]
        moved = 0.0
        for i in range(n_states):
            by = fresh[r, i] - crowd.weight[p, i]
            moved += abs(by) / n_states
            crowd.all_weight[c, i] += by
            crowd.weight[p, i] = fresh[r, i]
        by = fresh[r, use] - crowd.use[p]
        moved += abs(by)
        crowd.all_use[c] += by
        crowd.all_crossed_s[c] += fresh[r, lasting] * fresh[r, use]
        crowd.all_crossed_s[c] -= crowd.lasting_s[p] * crowd.use[p]
        crowd.all_lasting_s[c] += fresh[r, lasting] - crowd.lasting_s[p]
        crowd.all_held[c] += fresh[r, held] - crowd.held[p]
        crowd.all_queued_s[c] += fresh[r, queued] - crowd.queued_s[p]
        crowd.use[p], crowd.lasting_s[p] = fresh[r, use], fresh[r, lasting]
        crowd.held[p], crowd.queued_s[p] = fresh[r, held], fresh[r, queued]
        if has_lanes:
            add_lanes(p, crowd.lanes, c, crowd.all_lanes, 0)
        if moved > 0.0:
            for other in shared.there[shared.first_there[c] : shared.first_there[c + 1]]:
                if other != p:
                    state.stale[other] += moved * gain * state.effect[other]
