"""
What jobs meet, state by state, at a fixed point that is given: one sweep, compiled.

Apart from the fixed point itself, which most ask for alone. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import float64, int64, types

from netsim.arrays import Floats, Table
from netsim.contention.closing_kernels import (
    FIRST,
    LEAST,
    N_NOTED,
    closing,
    lost_share,
    note,
    spare_time,
)
from netsim.contention.cold.cold_kernels import slow_down, time_steps
from netsim.contention.cold.columns import Closed, Crowd, Shared, State
from netsim.contention.cold.putting_kernels import (
    CROWD,
    ENTRIES,
    SHARED,
    STATE,
    STEPS,
    put_down,
)
from netsim.jit import njit

_CLOSED = types.NamedTuple(  # type: ignore[no-untyped-call]
    (float64[::1], int64[::1], float64[::1]), Closed
)


@njit(cache=True)
def _closes(entries: Table) -> bool:
    """Say whether any step closes a pool."""
    most = 0.0
    for k in range(entries.size):
        most = max(most, entries[k].closed)
    return most > 0.0


@njit(cache=True, error_model="numpy")
def _lost(entries: Table, steps: Table, period_s: Floats, shared: Shared, state: State) -> Closed:
    """
    Return what each job loses before pools that others close.

    Of all pools the one before which it loses most counts.
    """
    n_pairs, n_channels = shared.channel.size, shared.first_there.size - 1
    lost, lost_at = np.zeros(period_s.size), np.full(period_s.size, -1)
    closed, length = np.zeros(n_pairs), np.zeros(n_pairs)
    if not _closes(entries):
        return Closed(lost, lost_at, closed)
    all_closed, all_length = np.zeros(n_channels), np.zeros(n_channels)
    noted, drained_s = np.zeros((n_pairs, N_NOTED)), np.zeros(n_pairs)
    noted[:, FIRST] = -1.0
    for j in range(period_s.size):
        since_s, cycle_s = 0.0, period_s[j] * state.slow[j]
        for a in range(shared.first_step[j], shared.first_step[j + 1]):
            tau_s, length_s = steps[a].drain_s, steps[a].drain_s + steps[a].latency_s
            for k in range(shared.first_entry[a], shared.first_entry[a + 1]):
                p = shared.pair[k]
                note(noted[p], since_s, length_s, tau_s, spare_time(tau_s, entries, k))
                drained_s[p] += tau_s
                closed_s = entries[k].closed * tau_s
                closed[p] += closed_s / cycle_s
                length[p] += closed_s * closed_s / cycle_s
            since_s += length_s
    for p in range(n_pairs):
        if closed[p] > 0.0:
            by = closing(closed[p])
            length[p] *= by / closed[p]
            closed[p] = by
            all_closed[shared.channel[p]] += by
            all_length[shared.channel[p]] += length[p]
    for j in range(period_s.size):
        for p in range(shared.first_pair[j], shared.first_pair[j + 1]):
            c = shared.channel[p]
            by = all_closed[c] - closed[p]
            if by > LEAST:
                for_s = (all_length[c] - length[p]) / by
                own = lost_share(noted[p], drained_s[p], period_s[j], by, for_s)
                if own > lost[j]:
                    lost[j], lost_at[j] = own, p
    return Closed(lost, lost_at, closed)


@njit(
    _CLOSED(ENTRIES, STEPS, float64[::1], SHARED, STATE, CROWD),
    cache=True,
    error_model="numpy",
)
def read_states(
    entries: Table, steps: Table, period_s: Floats, shared: Shared, state: State, crowd: Crowd
) -> Closed:
    """
    Read what jobs meet if steps and links take given times when neighbours look at them.

    `state`: with the times that `solve_cold` found, of other cells than those of `crowd`; written:
    how long steps and links take among the states. Returned: what closed pools add.
    """
    linger = True
    for j in range(period_s.size):
        slow_down(j, steps, period_s, shared, state)
        put_down(j, 1.0, entries, period_s, shared, state, crowd, linger)
    lost = _lost(entries, steps, period_s, shared, state)
    for j in range(period_s.size):
        time_steps(j, entries, steps, period_s, shared, state, crowd, linger)
    for j in range(period_s.size):
        for a in range(shared.first_step[j], shared.first_step[j + 1]):
            state.duration_s[a] = state.fresh_s[a]
        slow_down(j, steps, period_s, shared, state)
        state.slow[j] /= 1.0 - lost.share[j]
    return lost
