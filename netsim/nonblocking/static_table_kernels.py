"""
Compiled search for static forwarding tables without contention.

Import through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import from_dtype, int64, types

from netsim.common.arrays import Ints, Table
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_WORK = types.Array(int64, 1, "C")
FLOW = np.dtype(
    [
        ("leaf_entry", np.int64),
        ("leaf_up", np.int64),  # link of up-port 0 of the leaf
        ("leaf_down", np.int64),
        ("l2_up", np.int64),  # link of up-port 0 of L2 switch 0; -1 inside a pod
        ("l2_down", np.int64),
        ("l2_entry", np.int64),  # of L2 switch 0; -1 inside a pod
    ]
)


class Flows(NamedTuple):
    """Flows by step (`first` of each), and the spines above an L2 switch."""

    rows: Table
    first: Ints
    spines: int


class Entries(NamedTuple):
    """Entry v of the tables has the options ``options[start[v]:start[v + 1]]``."""

    start: Ints
    options: Ints


_FLOWS = types.NamedTuple((from_dtype(FLOW)[::1], int64[::1], int64), Flows)
_ENTRIES = types.NamedUniTuple(int64[::1], 2, Entries)


_LCG = 0x5DEECE66D, 0xB, (1 << 48) - 1  # multiplier, increment and mask of drand48


@njit(int64(_WORK, int64), cache=True)
def _draw(state: Ints, below: int) -> int:
    """Draw a number from 0 to below - 1; the same on every platform."""
    state[0] = (state[0] * _LCG[0] + _LCG[1]) & _LCG[2]
    number: int = (state[0] >> 17) % below
    return number


@njit(int64(_FLOWS, int64, _WORK, _WORK), cache=True)
def _links(flows: Flows, f: int, choice: Ints, out: Ints) -> int:
    """Put the links of a flow between switches into `out`; return how many."""
    flow = flows.rows[f]
    port = choice[flow["leaf_entry"]]
    out[0] = flow["leaf_up"] + port
    out[1] = flow["leaf_down"] + port
    if flow["l2_entry"] < 0:
        return 2
    spine = choice[flow["l2_entry"] + port]
    out[2] = flow["l2_up"] + port * flows.spines + spine
    out[3] = flow["l2_down"] + port * flows.spines + spine
    return 4


@njit(int64(_FLOWS, _WORK, _WORK, _WORK), cache=True)
def score(flows: Flows, choice: Ints, count: Ints, state: Ints) -> int:
    """
    Return flows beyond the first on a link, over all links and steps.

    `state` holds the random state; puts steps without excess into ``state[1]`` and a flow that
    shares a link into ``state[2]``, -1 if there is none.
    """
    out, first = np.empty(4, np.int64), flows.first
    total = 0
    state[1] = 0
    state[2] = -1
    for step in range(first.size - 1):
        excess = 0
        for f in range(first[step], first[step + 1]):
            for k in range(_links(flows, f, choice, out)):
                count[out[k]] += 1
                if count[out[k]] > 1:
                    excess += 1
                    # any sharer may be drawn: each replaces the last with falling probability
                    if _draw(state, total + excess) == 0:
                        state[2] = f
        for f in range(first[step], first[step + 1]):
            for k in range(_links(flows, f, choice, out)):
                count[out[k]] = 0
        state[1] += excess == 0
        total += excess
    return total


@njit(int64[::1](_FLOWS, _INTS, _ENTRIES, _WORK, int64), cache=True)
def all_tables(flows: Flows, free: Ints, entries: Entries, choice: Ints, n_links: int) -> Ints:
    """Try every table; leave the best in `choice`; return how many have 0, 1, ... clean steps."""
    start, options = entries
    n_steps = flows.first.size - 1
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
        excess = score(flows, now, count, state)
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


@njit(int64(_FLOWS, _ENTRIES, _WORK, int64, int64, int64), cache=True)
def improve_table(
    flows: Flows, entries: Entries, choice: Ints, n_links: int, tries: int, seed: int
) -> int:
    """Change one entry of a sharing flow at a time, never to a greater excess, but for 1 in 100."""
    start, options = entries
    count = np.zeros(n_links, np.int64)
    state = np.array([seed, 0, 0])
    now = choice.copy()
    excess = score(flows, now, count, state)
    best, best_excess, sharer = int(state[1]), excess, state[2]
    for _ in range(tries):
        if sharer < 0:
            break
        v = flows.rows[sharer]["leaf_entry"]
        if flows.rows[sharer]["l2_entry"] >= 0 and _draw(state, 2) == 0:
            v = flows.rows[sharer]["l2_entry"] + now[v]
        width = start[v + 1] - start[v]
        old = now[v]
        now[v] = options[start[v] + _draw(state, width)]
        new_excess = score(flows, now, count, state)
        if new_excess > excess and _draw(state, 100) > 0:
            now[v] = old
            continue
        excess, sharer = new_excess, state[2]
        if state[1] > best or (state[1] == best and excess < best_excess):
            best, best_excess = int(state[1]), excess
            choice[:] = now
    return best
