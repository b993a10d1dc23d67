"""
Compiled search for the least loaded minimal path of a fat-tree.

Import through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from netsim.common.arrays import Bools, Floats, Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
_BOOLS = types.Array(boolean, 1, "C", readonly=True)


class TreeLinks(NamedTuple):
    """A PGFT(h; m; w; p), and the first links up and down of each level; (h,) each."""

    children: Ints
    parents: Ints
    parallel: Ints
    up_base: Ints
    down_base: Ints


_TREE = types.NamedUniTuple(int64[::1], 5, TreeLinks)


@njit(int64[:, ::1](_INTS, _INTS, _INTS, _TREE, _FLOATS, _BOOLS), cache=True)
def least_loaded_table(
    src: Ints,
    dst: Ints,
    turn: Ints,
    tree: TreeLinks,
    weight: Floats,
    works: Bools,
) -> Ints:
    """
    Route flows one after another, each on its least loaded minimal path.

    The busiest link of a path decides, then the sum over its links, then the order of the switches'
    digits, level 0 fastest. Between two switches the least loaded cable is taken. Links out of
    service are left out. Return (F, 2h) links: up in columns 0..h-1, down in h..2h-1 as they are
    travelled; -1 beyond the turn, and of a flow without a path.
    """
    children, parents, parallel = tree.children, tree.parents, tree.parallel
    up_base, down_base = tree.up_base, tree.down_base
    h = children.size
    load = np.zeros(weight.size)  # flows times weight
    load[~works] = np.inf  # so that every other path is preferred
    table = np.full((src.size, 2 * h), -1, dtype=np.int64)
    digits = np.zeros(h, dtype=np.int64)
    links = np.zeros(2 * h, dtype=np.int64)
    best = np.zeros(2 * h, dtype=np.int64)
    for flow in range(src.size):
        top = turn[flow]
        paths = 1
        for level in range(top):
            paths *= parents[level]
        least_worst, least_sum = np.inf, np.inf
        for path in range(paths):
            rest = path
            for level in range(top):
                digits[level] = rest % parents[level]
                rest //= parents[level]
            worst, total = 0.0, 0.0
            below, low, size = 0, 1, 1
            for level in range(top):
                ports = parents[level] * parallel[level]
                for way in range(2):
                    end = src[flow] if way == 0 else dst[flow]
                    base = up_base[level] if way == 0 else down_base[level]
                    link = base + (below + low * (end // size)) * ports + digits[level]
                    chosen, cost = link, load[link] + weight[link]
                    for _ in range(1, parallel[level]):
                        link += parents[level]
                        other = load[link] + weight[link]
                        if other < cost:
                            chosen, cost = link, other
                    links[level if way == 0 else 2 * h - 1 - level] = chosen
                    worst = max(worst, cost)
                    total += cost
                below += low * digits[level]
                low *= parents[level]
                size *= children[level]
            if worst < least_worst or (worst == least_worst and total < least_sum):
                least_worst, least_sum = worst, total
                best[:] = links
        if least_worst == np.inf:
            continue
        for level in range(top):
            for column in (level, 2 * h - 1 - level):
                table[flow, column] = best[column]
                load[best[column]] += weight[best[column]]
    return table
