"""
Which part of the packets of a step goes by third groups or routers of a dragonfly, compiled.

Import through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)


class PairPaths(NamedTuple):
    """Fields of `netsim.topology.routes.PathSets`."""

    indptr: Ints
    links: Ints
    share: Floats
    pair: Ints


_PATHS = types.NamedTuple((_INTS, _INTS, _FLOATS, _INTS), PairPaths)


_EQUAL = 6.5  # (1 - x) / x of packets in all-to-alls


@njit("float64(float64, float64, float64)", cache=True, error_model="numpy")
def nonminimal_fraction(straight: float, nonminimal: float, others: float) -> float:
    """
    Return the part of the packets that goes by non-minimal paths.

    UGAL (A. Singh, *Load-balanced routing in interconnection networks*, 2005; J. Kim et al.,
    *Technology-driven, highly-scalable dragonfly topology*, 2008) takes a non-minimal path where
    the queue of the minimal path, times its links, is the longer. Idle queues are equal, and then
    the minimal path is taken; so what goes by non-minimal paths are the packets that find that way
    busy. With the part x on it, it is busy for the share x a of the time: x = 1 - x a, which is
    Erlang's formula for the calls that one line loses (A. K. Erlang, 1917). Where the non-minimal
    paths are overloaded too, the packets divide so that both are loaded alike: x a = (1 - x) c.

    `straight` is a: load of the busiest link of the minimal paths if all packets went there, 1 if
    it then took as long as the senders need. `nonminimal` is c: mean load of the links between
    groups if all packets took the non-minimal paths; `others` is b:
    that load if all went minimally.

    Links of non-minimal paths may carry minimal packets b as well. If their queues are as long as
    those of the minimal path, UGAL takes the shorter path, and only what queues differ by chance
    goes by the other. In packet simulations of all-to-alls (a = b) that is 0.13 of the packets, on
    dragonflies of 8 groups with 1, 2 and 4 cables a pair, at four times, twice and just the load
    that these carry: (1 - x) / x = 6.5. Where b is less than a it fades: random permutations send
    0.34 to 0.49 of their packets that way, here 0.24 to 0.48.
    """
    equal = _EQUAL * others * (others / straight) ** 2
    detours = max(1.0, nonminimal, equal)
    return straight / (detours + straight)


@njit(
    float64[::1](_INTS, _INTS, _FLOATS, _PATHS, _FLOATS, int64),
    cache=True,
    error_model="numpy",
)
def nonminimal_part(
    step: Ints,
    first: Ints,
    nbytes: Floats,
    paths: PairPaths,
    capacity: Floats,
    far: int,
) -> Floats:
    """
    Return the part of each flow (F,) by non-minimal paths; links from `far` on join groups.

    Of non-minimal paths by a third group these links count, of those inside a group all.
    """
    indptr, links, share, pair = paths
    n_pairs = (indptr.size - 1) // 2
    found = np.zeros(step.size)
    sent, sent_s = np.zeros(n_pairs), np.zeros(capacity.size)
    loads = np.zeros((2, capacity.size))
    part, used = np.zeros(n_pairs), np.empty(n_pairs, np.int64)
    begin = 0
    while begin < step.size:
        end, n_used, slowest_s = begin, 0, 0.0
        while end < step.size and step[end] == step[begin]:
            p, leaves = pair[end], first[end]
            if sent[p] == 0.0:
                used[n_used] = p
                n_used += 1
            sent[p] += nbytes[end]
            sent_s[leaves] += nbytes[end] / capacity[leaves]
            slowest_s = max(slowest_s, sent_s[leaves])
            end += 1
        for i in range(n_used):
            p = used[i]
            for kind in range(2):
                goes = kind if indptr[2 * p + 2] > indptr[2 * p + 1] else 0
                for hop in range(indptr[2 * p + goes], indptr[2 * p + goes + 1]):
                    link = links[hop]
                    loads[kind, link] += share[hop] * sent[p] / capacity[link] / slowest_s
        for i in range(n_used):
            p = used[i]
            straight, nonminimal, others, between = 0.0, 0.0, 0.0, 0.0
            for hop in range(indptr[2 * p], indptr[2 * p + 1]):
                straight = max(straight, loads[0, links[hop]])
            begins, ends = indptr[2 * p + 1], indptr[2 * p + 2]
            inside = True
            for hop in range(begins, ends):
                inside = inside and links[hop] < far
            for hop in range(begins, ends):
                if inside or links[hop] >= far:
                    nonminimal += share[hop] * loads[1, links[hop]]
                    others += share[hop] * loads[0, links[hop]]
                    between += share[hop]
            if between > 0.0:
                around = nonminimal / between, others / between
                part[p] = nonminimal_fraction(straight, around[0], around[1])
            else:
                part[p] = 0.0
        for f in range(begin, end):
            found[f] = part[pair[f]]
            sent_s[first[f]] = 0.0
        for i in range(n_used):
            sent[used[i]] = 0.0
            for hop in range(indptr[2 * used[i]], indptr[2 * used[i] + 2]):
                loads[0, links[hop]] = loads[1, links[hop]] = 0.0
        begin = end
    return found
