"""
Over which links the packets of a flow are spread where switches choose, compiled.

Import through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from netsim.common.arrays import Bools, Floats, Ints
from netsim.common.jit import njit

_ANY, _NONE = -1, -2  # groups to which cables between groups may lead: all of them, or none
_INTS = types.Array(int64, 1, "C", readonly=True)
_MARKS = types.Array(boolean, 1, "C", readonly=True)
_FOUND = types.Tuple((int64[::1], int64[::1], float64[::1]))


class Graph(NamedTuple):
    """Routers, their groups, and the links in service between them, by tail and by head."""

    group: Ints  # of each router
    out_ptr: Ints
    link: Ints  # number of each link in the fabric; ordered by tail
    head: Ints
    between: Bools  # whether it joins groups
    in_ptr: Ints
    into: Ints  # places of links in `link`, ordered by head
    tail: Ints


_GRAPH = types.NamedTuple((_INTS, _INTS, _INTS, _INTS, _MARKS, _INTS, _INTS, _INTS), Graph)


class RouterNextHops(NamedTuple):
    """How far every router is from the goals, and which links lead nearer."""

    distance: Ints  # -1: no way leads there
    ptr: Ints
    place: Ints  # of links in `Graph.link`


class Scratch(NamedTuple):
    """Marks that are as they were after every way."""

    mass: Floats  # at each router, all 0
    first: Ints  # of the routers with mass that are so far from the goals, all -1
    following: Ints  # router with mass after each one that has
    load: Floats  # of each link, all 0
    touched: Ints  # links with load
    entries: Ints  # routers by which a packet enters third groups, or which it goes by
    entered: Floats  # its part at each of them


@njit(cache=True)
def _empty_next_hops(n_routers: int, n_links: int) -> RouterNextHops:
    """Return room for what leads to one set of goals."""
    return RouterNextHops(
        np.empty(n_routers, np.int64),
        np.zeros(n_routers + 1, np.int64),
        np.empty(n_links, np.int64),
    )


@njit(cache=True)
def _measure_distances(
    graph: Graph, goals: Ints, home: int, leads: RouterNextHops, queue: Ints
) -> None:
    """Find what leads from every router to the nearest goal, entering the group `home` alone."""
    distance = leads.distance
    distance[:] = -1
    last = 0
    for goal in goals:
        distance[goal] = 0
        queue[last] = goal
        last += 1
    first = 0
    while first < last:
        here = queue[first]
        first += 1
        for place in range(graph.in_ptr[here], graph.in_ptr[here + 1]):
            k = graph.into[place]
            tail = graph.tail[k]
            counts = home == _ANY or not graph.between[k] or graph.group[here] == home
            if counts and distance[tail] < 0:
                distance[tail] = distance[here] + 1
                queue[last] = tail
                last += 1
    n_leading = 0
    for here in range(distance.size):
        for k in range(graph.out_ptr[here], graph.out_ptr[here + 1]):
            there = graph.head[k]
            counts = home == _ANY or not graph.between[k] or graph.group[there] == home
            if counts and distance[here] > 0 and distance[there] == distance[here] - 1:
                leads.place[n_leading] = k
                n_leading += 1
        leads.ptr[here + 1] = n_leading


@njit(cache=True)
def _add_mass(scratch: Scratch, router: int, togo: int, part: float) -> None:
    """Lay a part of a packet at a router."""
    if scratch.mass[router] == 0.0:
        scratch.following[router] = scratch.first[togo]
        scratch.first[togo] = router
    scratch.mass[router] += part


@njit(cache=True)
def _propagate_load(
    graph: Graph, leads: RouterNextHops, farthest: int, scratch: Scratch, n_touched: int
) -> int:
    """
    Spread the load at routers to the goals over all links that lead nearer, alike.

    No loaded router is farther off than `farthest`. Returns how many links are touched.
    """
    for togo in range(farthest, 0, -1):
        here = scratch.first[togo]
        scratch.first[togo] = -1
        while here >= 0:
            begin, end = leads.ptr[here], leads.ptr[here + 1]
            part = scratch.mass[here] / (end - begin)
            scratch.mass[here] = 0.0
            for place in range(begin, end):
                k = leads.place[place]
                if scratch.load[k] == 0.0:
                    scratch.touched[n_touched] = k
                    n_touched += 1
                scratch.load[k] += part
                _add_mass(scratch, graph.head[k], togo - 1, part)
            here = scratch.following[here]
    return n_touched


@njit(cache=True)
def _write_path(
    graph: Graph,
    scratch: Scratch,
    n_touched: int,
    scale: float,
    links: Ints,
    share: Floats,
    at: int,
) -> tuple[Ints, Floats]:
    """Write a way down behind those before it, wipe the marks, return the lists, maybe longer."""
    if at + n_touched > links.size:
        size = 2 * (at + n_touched)
        more, parts = np.empty(size, np.int64), np.empty(size)
        more[:at], parts[:at] = links[:at], share[:at]
        links, share = more, parts
    for i in range(n_touched):
        k = scratch.touched[i]
        links[at + i], share[at + i] = graph.link[k], scale * scratch.load[k]
        scratch.load[k] = 0.0
    here = scratch.first[0]
    scratch.first[0] = -1
    while here >= 0:
        scratch.mass[here] = 0.0
        here = scratch.following[here]
    return links, share


@njit(cache=True)
def _mark_passable(graph: Graph, distance: Ints, passable: Bools) -> None:
    """Find from which groups all routers that have links lead on to a target."""
    passable[:] = True
    for router in range(graph.group.size):
        if distance[router] < 0 and graph.out_ptr[router + 1] > graph.out_ptr[router]:
            passable[graph.group[router]] = False


@njit(cache=True)
def _nonminimal_paths(
    graph: Graph,
    start: int,
    ends: tuple[int, int],
    leads: RouterNextHops,
    to_third: list[RouterNextHops],
    passable: Bools,
    scratch: Scratch,
) -> tuple[int, int]:
    """
    Spread a packet over the paths by all third groups, or routers, but `ends`.

    Returns how many these are, and links touched.
    """
    entries, entered = scratch.entries, scratch.entered
    n_thirds, n_entries, n_touched = 0, 0, 0
    for third in range(passable.size):
        togo = to_third[third].distance[start]
        if third in ends or not passable[third] or togo < 0:
            continue
        n_thirds += 1
        _add_mass(scratch, start, togo, 1.0)
        n_touched = _propagate_load(graph, to_third[third], togo, scratch, n_touched)
        here = scratch.first[0]
        scratch.first[0] = -1
        while here >= 0:
            entries[n_entries], entered[n_entries] = here, scratch.mass[here]
            n_entries += 1
            scratch.mass[here] = 0.0
            here = scratch.following[here]
    farthest = 0
    for i in range(n_entries):
        togo = leads.distance[entries[i]]
        farthest = max(farthest, togo)
        _add_mass(scratch, entries[i], togo, entered[i])
    return n_thirds, _propagate_load(graph, leads, farthest, scratch, n_touched)


@njit(_FOUND(_INTS, _INTS, _GRAPH, int64, int64, int64), cache=True)
def find_path_sets(
    src: Ints,
    dst: Ints,
    graph: Graph,
    n_groups: int,
    n_places: int,
    most: int,
) -> tuple[Ints, Ints, Floats]:
    """
    Return minimal and non-minimal paths between pairs of routers: links, and their share.

    At each router a packet takes any link that leads nearer, all alike. Minimal: over one cable
    between groups at most where such a way is left, else over as few links as possible.
    Non-minimal: each third group alike, minimally there and on; inside a group each third router of
    it. None where `n_groups`, or `n_places`, the routers of a group, is 0.

    Pair p goes minimally over ``links[indptr[2 p]:indptr[2 p + 1]]``, then come the links of its
    non-minimal paths, each with its share of the packets. Equal `dst` lie together. Beyond `most`
    links in all, pairs are left out.
    """
    group = graph.group
    n_routers, n_links = group.size, graph.link.size
    scratch = Scratch(
        np.zeros(n_routers),
        np.full(n_routers + 1, -1),
        np.empty(n_routers, np.int64),
        np.zeros(n_links),
        np.empty(n_links, np.int64),
        np.empty(n_routers, np.int64),
        np.empty(n_routers),
    )
    queue = np.empty(n_routers, np.int64)
    straight, least = _empty_next_hops(n_routers, n_links), _empty_next_hops(n_routers, n_links)
    to_group = [_empty_next_hops(n_routers, n_links) for _ in range(n_groups)]
    for target in range(n_groups):
        _measure_distances(graph, np.flatnonzero(group == target), target, to_group[target], queue)
    to_place = [_empty_next_hops(n_routers, n_links) for _ in range(n_places)]
    for place in range(n_places):
        goals = np.arange(place, n_routers, n_places)
        _measure_distances(graph, goals, int(np.int64(_NONE)), to_place[place], queue)
    passable, onward = np.empty(n_groups, np.bool_), np.empty(n_places, np.bool_)
    indptr = np.zeros(2 * src.size + 1, np.int64)
    links, share = np.empty(64 * (src.size + 1), np.int64), np.empty(64 * (src.size + 1))
    at, none = int(np.int64(0)), int(np.int64(0))
    for p in range(src.size):
        start, end = src[p], dst[p]
        if p == 0 or dst[p - 1] != end:
            _measure_distances(graph, dst[p : p + 1], group[end], straight, queue)
            _mark_passable(graph, straight.distance, passable)
        leads = straight
        if leads.distance[start] < 0:
            _measure_distances(graph, dst[p : p + 1], int(np.int64(_ANY)), least, queue)
            leads = least
        togo = leads.distance[start]
        if togo > 0:
            _add_mass(scratch, start, togo, 1.0)
            n_touched = _propagate_load(graph, leads, togo, scratch, none)
            links, share = _write_path(graph, scratch, n_touched, 1.0, links, share, at)
            at += n_touched
        indptr[2 * p + 1] = at
        n_thirds, n_touched = 0, 0
        if group[start] != group[end] and n_groups > 0:
            ends = (group[start], group[end])
            n_thirds, n_touched = _nonminimal_paths(
                graph, start, ends, straight, to_group, passable, scratch
            )
        elif group[start] == group[end] and start != end and n_places > 0:
            first = group[end] * n_places
            onward[:] = straight.distance[first : first + n_places] >= 0
            ends = (start - first, end - first)
            n_thirds, n_touched = _nonminimal_paths(
                graph, start, ends, straight, to_place, onward, scratch
            )
        if n_thirds > 0:
            scale = 1.0 / max(1, n_thirds)
            links, share = _write_path(graph, scratch, n_touched, scale, links, share, at)
            at += n_touched
        indptr[2 * p + 2] = at
        if at > most:
            break
    return indptr, links[:at].copy(), share[:at].copy()
