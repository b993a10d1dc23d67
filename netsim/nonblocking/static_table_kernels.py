"""
Compiled search for static forwarding tables without contention.

Import through `netsim.common.jit`. Flows are rows (leaf variable, link of up-port 0 of the leaf,
link of down-port 0, link of up-port 0 of L2 switch 0, link of down-port 0 of it, L2 variable of L2
switch 0); the last three are -1 for flows inside a pod. Rows are sorted by step.
"""

import numpy as np
from numba import int64, types

from netsim.common.arrays import Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)
_WORK = types.Array(int64, 1, "C")


_LCG = 0x5DEECE66D, 0xB, (1 << 48) - 1  # multiplier, increment and mask of drand48


@njit(int64(_WORK, int64), cache=True)
def _draw(state: Ints, below: int) -> int:
    """Draw a number from 0 to below - 1; the same on every platform."""
    state[0] = (state[0] * _LCG[0] + _LCG[1]) & _LCG[2]
    number: int = (state[0] >> 17) % below
    return number


@njit(int64(_TABLE, int64, int64, _WORK, _WORK), cache=True)
def _links(flows: Ints, f: int, spines: int, choice: Ints, out: Ints) -> int:
    """Put the links of a flow between switches into `out`; return how many."""
    port = choice[flows[f, 0]]
    out[0] = flows[f, 1] + port
    out[1] = flows[f, 2] + port
    if flows[f, 5] < 0:
        return 2
    spine = choice[flows[f, 5] + port]
    out[2] = flows[f, 3] + port * spines + spine
    out[3] = flows[f, 4] + port * spines + spine
    return 4


@njit(int64(_TABLE, _INTS, int64, _WORK, _WORK, _WORK), cache=True)
def score(flows: Ints, first: Ints, spines: int, choice: Ints, count: Ints, state: Ints) -> int:
    """
    Return the excess of a table: flows beyond the first on a link, over all links and steps.

    `state` holds the random state; put the number of steps without excess into ``state[1]``,
    and into ``state[2]`` a flow that shares a link, -1 if there is none.
    """
    out = np.empty(4, np.int64)
    total = 0
    state[1] = 0
    state[2] = -1
    for step in range(first.size - 1):
        excess = 0
        for f in range(first[step], first[step + 1]):
            for k in range(_links(flows, f, spines, choice, out)):
                count[out[k]] += 1
                if count[out[k]] > 1:
                    excess += 1
                    # any sharer may be drawn: each replaces the last with falling probability
                    if _draw(state, total + excess) == 0:
                        state[2] = f
        for f in range(first[step], first[step + 1]):
            for k in range(_links(flows, f, spines, choice, out)):
                count[out[k]] = 0
        state[1] += excess == 0
        total += excess
    return total


@njit(int64[::1](_TABLE, _INTS, int64, _INTS, _INTS, _INTS, _WORK, int64), cache=True)
def all_tables(
    flows: Ints,
    first: Ints,
    spines: int,
    free: Ints,
    start: Ints,
    options: Ints,
    choice: Ints,
    n_links: int,
) -> Ints:
    """
    Try every table; leave the best in `choice` and return how many have 0, 1, ... clean steps.

    Variable v has the options ``options[start[v]:start[v + 1]]``; only those in `free` vary.
    """
    n_steps = first.size - 1
    histogram = np.zeros(n_steps + 1, np.int64)
    count = np.zeros(n_links, np.int64)
    state = np.zeros(3, np.int64)
    place = np.zeros(free.size, np.int64)
    now = choice.copy()
    for i in range(free.size):
        now[free[i]] = options[start[free[i]]]
    best = -1
    best_excess = 0
    while True:
        excess = score(flows, first, spines, now, count, state)
        histogram[state[1]] += 1
        if state[1] > best or (state[1] == best and excess < best_excess):
            best, best_excess = state[1], excess
            choice[:] = now
        i = 0
        while i < free.size:
            v = free[i]
            place[i] += 1
            if start[v] + place[i] < start[v + 1]:
                now[v] = options[start[v] + place[i]]
                break
            place[i] = 0
            now[v] = options[start[v]]
            i += 1
        if i == free.size:
            return histogram


@njit(int64(_TABLE, _INTS, int64, _INTS, _INTS, _WORK, int64, int64, int64), cache=True)
def improve_table(
    flows: Ints,
    first: Ints,
    spines: int,
    start: Ints,
    options: Ints,
    choice: Ints,
    n_links: int,
    tries: int,
    seed: int,
) -> int:
    """
    Change one entry of a sharing flow at a time, never to a greater excess, but for 1 in 100.

    Leave the best table found in `choice`; return its clean steps.
    """
    count = np.zeros(n_links, np.int64)
    state = np.array([seed, 0, 0])
    now = choice.copy()
    excess = score(flows, first, spines, now, count, state)
    best, best_excess, sharer = int(state[1]), excess, state[2]
    for _ in range(tries):
        if sharer < 0:
            break
        v = flows[sharer, 0]
        if flows[sharer, 5] >= 0 and _draw(state, 2) == 0:
            v = flows[sharer, 5] + now[v]
        width = start[v + 1] - start[v]
        old = now[v]
        now[v] = options[start[v] + _draw(state, width)]
        new_excess = score(flows, first, spines, now, count, state)
        if new_excess > excess and _draw(state, 100) > 0:
            now[v] = old
            continue
        excess, sharer = new_excess, state[2]
        if state[1] > best or (state[1] == best and excess < best_excess):
            best, best_excess = int(state[1]), excess
            choice[:] = now
    return best
