"""
Who holds a job up, from the state of a fixed point solved from scratch, compiled.

Import through `netsim.kernelcache`.
"""

from numba import float64, int64, types, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.cold_kernels import slow_down, time_link
from netsim.contention.cold.columns import Crowd, Longest, Shared, State
from netsim.contention.cold.putting_kernels import (
    CROWD,
    ENTRIES,
    SHARED,
    STATE,
    STEPS,
    put_down,
)
from netsim.contention.link_kernels import STAGES, early_part, felt_weight, link_time
from netsim.contention.window_kernels import ADDED
from netsim.jit import njit

_LONGEST = types.NamedTuple(  # type: ignore[no-untyped-call]
    (int64[::1], float64[::1], float64[::1], int64[::1], float64[::1]), Longest
)


@njit(
    void(int64, float64, SHARED, ENTRIES, STEPS, CROWD, _LONGEST),
    cache=True,
    error_model="numpy",
)
def _find_longest(
    a: int,
    length_s: float,
    shared: Shared,
    entries: Table,
    steps: Table,
    crowd: Crowd,
    found: Longest,
) -> None:
    """Find the entries that take longest for a step."""
    n_states, times = crowd.cells.shape[1], crowd.scratch
    for i in range(n_states):
        found.entry[i] = -1
        found.by_use_s[i] = found.by_weight_s[i] = 0.0
    for stage in range(STAGES):
        found.waiting[stage], found.wait_s[stage] = -1, 0.0
    tau, linger = steps[a].drain_s, True
    for k in range(shared.first_entry[a], shared.first_entry[a + 1]):
        own, pair = entries[k], shared.pair[k]
        if not time_link(k, length_s, entries, shared, crowd, linger, times):
            continue
        c = shared.channel[pair]
        total = 0.0
        for i in range(n_states):
            total += crowd.all_weight[c, i] - crowd.weight[pair, i]
        use = (crowd.all_use[c] - crowd.use[pair]) / (total / n_states)
        felt_s, early = 0.0, 0.0
        if n_states > 1 and crowd.lanes.shape[0] == 0:
            early = early_part(own.drain_s, own.queue_s, own.links)
        for i in range(n_states):
            late_s = times[0, i] + times[1, i] - tau
            felt_s += min(times[1, i], max(0.0, late_s)) / n_states
            if late_s <= found.by_use_s[i] + found.by_weight_s[i]:
                continue
            n = max(0.0, crowd.all_weight[c, i] - crowd.weight[pair, i])
            beside = felt_weight(n, early)
            taken = link_time(own.drain_s, own.weight, own.senders, own.feed_s, beside, use * n)
            bound = link_time(own.drain_s, own.weight, own.senders, own.feed_s, beside, 1.0)
            found.entry[i] = k
            found.by_use_s[i] = max(0.0, times[0, i] - tau) if taken < bound else 0.0
            found.by_weight_s[i] = late_s - found.by_use_s[i]
        if n_states > 1 and felt_s > found.wait_s[own.stage]:
            found.waiting[own.stage], found.wait_s[own.stage] = k, felt_s
    longest = 0
    for stage in range(STAGES):
        if found.wait_s[stage] > found.wait_s[longest]:
            longest = stage
    found.waiting[longest] = -1  # that of the link that takes longest


@njit(float64(CROWD, int64, int64), cache=True)
def _weight(crowd: Crowd, pair: int, state: int) -> float:
    """Return what a job weighs on a channel in a state, or in all if that is -1."""
    if state >= 0:
        return crowd.weight[pair, state]  # type: ignore[no-any-return]
    total = 0.0
    for i in range(crowd.weight.shape[1]):
        total += crowd.weight[pair, i]
    return total


@njit(float64(CROWD, int64, int64), cache=True, error_model="numpy")
def _use(crowd: Crowd, pair: int, state: int) -> float:
    """Return the use of a channel by a job in a state, or in all if that is -1."""
    in_all = _weight(crowd, pair, -1)
    return _weight(crowd, pair, state) * crowd.use[pair] / in_all  # type: ignore[no-any-return]


@njit(void(ENTRIES, STEPS, float64[::1], SHARED, STATE, CROWD), cache=True)
def put_all_down(
    entries: Table, steps: Table, period_s: Floats, shared: Shared, state: State, crowd: Crowd
) -> None:
    """Put what all jobs have, with the times of a solution, on channels with nobody on them."""
    linger = True
    for j in range(period_s.size):
        slow_down(j, steps, period_s, shared, state)
        put_down(j, 1.0, entries, period_s, shared, state, crowd, linger)


@njit(
    void(
        int64,
        int64,
        float64,
        float64,
        SHARED,
        CROWD,
        int64[::1],
        float64[:, ::1],
    ),
    cache=True,
    error_model="numpy",
)
def _share_out(
    k: int,
    state: int,
    by_use_s: float,
    by_weight_s: float,
    shared: Shared,
    crowd: Crowd,
    kinds: Ints,
    blame: Floats,
) -> None:
    """
    Add what the others on the link of an entry have to do with its delay in a state; -1: in all.

    `k`: -1 for no entry. `by_use_s`, `by_weight_s`: seconds in proportion to use, and to weight.
    """
    if k < 0:
        return
    own, c = shared.pair[k], shared.channel[shared.pair[k]]
    here = shared.there[shared.first_there[c] : shared.first_there[c + 1]]
    total = 0.0
    for other in here:
        if other != own:
            total += _weight(crowd, other, state)
    if total <= 0.0:  # where nobody is there, who is there in other states
        state = -1
    total, total_use = 0.0, 0.0
    for other in here:
        if other != own:
            total += _weight(crowd, other, state)
            total_use += _use(crowd, other, state)
    for other in here:
        if other == own:
            continue
        part = by_weight_s * _weight(crowd, other, state) / total
        if by_use_s > 0.0:
            part += by_use_s * _use(crowd, other, state) / total_use
        blame[shared.job[other], kinds[k]] += part


@njit(
    void(
        int64,
        ENTRIES,
        STEPS,
        float64[::1],
        SHARED,
        CROWD,
        int64[::1],
        _LONGEST,
        float64[:, ::1],
    ),
    cache=True,
    error_model="numpy",
)
def blame_one(
    victim: int,
    entries: Table,
    steps: Table,
    duration_s: Floats,
    shared: Shared,
    crowd: Crowd,
    kinds: Ints,
    longest: Longest,
    blame: Floats,
) -> None:
    """
    Share out what each step of a job takes longer than alone.

    Parameters
    ----------
    victim : int
        The job.
    entries, steps, shared, crowd
        As for `cold_kernels.solve_cold`.
    duration_s : (S,) float array
        D g of each step.
    kinds : (K,) int array
        Class of the link of each entry.
    longest : Longest
        Scratch.
    blame : (J, Z) float array
        Seconds, added to, by culprit and class of link.

    Notes
    -----
    As in fast mode, per state: the excess of the link that takes longest, in proportion to
    use where the bound 1/(1 - R) decides, else to weight. A step that meets several states is held
    up by all who are there in any of them, and waits at further links are due to all who are
    there.
    """
    n_states = crowd.cells.shape[1]
    for a in range(shared.first_step[victim], shared.first_step[victim + 1]):
        _find_longest(a, duration_s[a], shared, entries, steps, crowd, longest)
        for i in range(n_states):
            k, by_use_s = longest.entry[i], longest.by_use_s[i] / n_states
            by_weight_s = longest.by_weight_s[i] / n_states
            _share_out(k, i, by_use_s, by_weight_s, shared, crowd, kinds, blame)
        for stage in range(STAGES):
            k, by_weight_s = longest.waiting[stage], ADDED * longest.wait_s[stage]
            _share_out(k, -1, 0.0, by_weight_s, shared, crowd, kinds, blame)
