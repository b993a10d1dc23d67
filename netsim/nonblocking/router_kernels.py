"""
Compiled kernels of rearrangeable routing: edge colouring, and search over paths.

Import through `netsim.common.jit`.
"""

import numpy as np
from numba import int64, types

from netsim.common.arrays import Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)
_CUBE = types.Array(int64, 3, "C", readonly=True)


@njit(int64[::1](_INTS, _INTS, int64, int64, int64), cache=True)
def color_edges(left: Ints, right: Ints, n_left: int, n_right: int, n_colors: int) -> Ints:
    """
    Colour the edges of a bipartite multigraph so that no vertex has a colour twice.

    Works whenever no vertex has more than `n_colors` edges (Koenig 1916): where the ends of an
    edge have no free colour in common, the path of alternating colours from one end is swapped.
    """
    at_left = np.full((n_left, n_colors), -1, np.int64)  # edge of each colour at each vertex
    at_right = np.full((n_right, n_colors), -1, np.int64)
    for edge in range(left.size):
        u, v = left[edge], right[edge]
        a = b = -1  # free at u, free at v
        for color in range(n_colors):
            free_u, free_v = at_left[u, color] < 0, at_right[v, color] < 0
            if free_u and free_v:
                a = b = color
                break
            if free_u and a < 0:
                a = color
            if free_v and b < 0:
                b = color
        if a != b:
            current, end = at_right[v, a], v
            while True:  # colour a becomes b and b becomes a along the path that starts at v
                x = left[current]
                following = at_left[x, b]
                at_right[end, b] = current
                at_left[x, b] = current
                at_left[x, a] = following
                if following < 0:
                    break
                y = right[following]
                current = at_right[y, a]
                at_right[y, a] = following
                if current < 0:
                    at_right[y, b] = -1
                    break
                end = y
        at_left[u, a] = edge
        at_right[v, a] = edge
    colors = np.empty(left.size, np.int64)
    for u in range(n_left):
        for color in range(n_colors):
            if at_left[u, color] >= 0:
                colors[at_left[u, color]] = color
    return colors


@njit(int64[::1](_TABLE, int64, int64, _TABLE, _TABLE, _CUBE, _CUBE, int64), cache=True)
def search_paths(
    flows: Ints,
    n_l2: int,
    n_spines: int,
    leaf_up: Ints,
    leaf_down: Ints,
    l2_up: Ints,
    l2_down: Ints,
    budget: int,
) -> Ints:
    """
    Search a path for each flow, at most one flow per cable, by backtracking.

    Flows are rows (source leaf, target leaf, source pod, target pod), equal rows together. Return
    choices ``l2 * n_spines + spine`` and 1 (all routed), 0 (impossible) or -1 (budget of steps
    spent).
    """
    up1, down1, up2, down2 = leaf_up.copy(), leaf_down.copy(), l2_up.copy(), l2_down.copy()
    n = flows.shape[0]
    choice = np.full(n + 1, -1, np.int64)
    f = 0
    while 0 <= f < n:
        budget -= 1
        if budget < 0:
            return choice
        s, d, p, q = flows[f, 0], flows[f, 1], flows[f, 2], flows[f, 3]
        now = choice[f]
        if now >= 0:  # back again: free what this flow took
            a, t = now // n_spines, now % n_spines
            up1[s, a] += 1
            down1[d, a] += 1
            if p != q:
                up2[p, a, t] += 1
                down2[q, a, t] += 1
            start = now + 1 if p != q else (a + 1) * n_spines
        elif f > 0 and s == flows[f - 1, 0] and d == flows[f - 1, 1]:
            start = choice[f - 1]  # equal flows are interchangeable: choices ascend
        else:
            start = 0
        found = -1
        option = start
        while option < n_l2 * n_spines:
            a, t = option // n_spines, option % n_spines
            if up1[s, a] == 0 or down1[d, a] == 0:
                option = (a + 1) * n_spines
                continue
            if p == q or (up2[p, a, t] > 0 and down2[q, a, t] > 0):
                found = option
                break
            option += 1
        choice[f] = found
        if found < 0:
            f -= 1
            continue
        a, t = found // n_spines, found % n_spines
        up1[s, a] -= 1
        down1[d, a] -= 1
        if p != q:
            up2[p, a, t] -= 1
            down2[q, a, t] -= 1
        f += 1
    choice[n] = 1 if f == n else 0
    return choice
