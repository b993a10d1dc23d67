"""
What links bring to each other, and what flows weigh that come through the same port, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import Fabric, Flows, Places
from netsim.jit import njit


@njit(cache=True)
def inflows(
    first: int, last: int, base: int, n_places: int, indptr: Ints, place: Ints, amount: Floats
) -> tuple[Ints, Ints, Ints, Floats]:
    """
    Return what places, links or their lanes, bring to each other.

    `first`, `last`: the flows of the step. `base`, `n_places`: number of its first place, and how
    many there are. `indptr` (F + 1,), `place` (H,): of the hops of flows; `amount` (F,): of each
    flow. `head` (n_places,): of each place the first in the list of those that bring something,
    -1: none; `following` and `source`: the next in the list, and the place it comes from; its
    amount.
    """
    n_hops = indptr[last] - indptr[first]
    head = np.full(n_places, -1)
    following, source = np.empty(n_hops, np.int64), np.empty(n_hops, np.int64)
    brought = np.zeros(n_hops)
    n_found = 0
    for f in range(first, last):
        for hop in range(indptr[f] + 1, indptr[f + 1]):
            k, before = place[hop] - base, place[hop - 1]
            i = head[k]
            while i >= 0 and source[i] != before:
                i = following[i]
            if i < 0:
                i = n_found
                n_found += 1
                source[i], following[i] = before, head[k]
                head[k] = i
            brought[i] += amount[f]
    return head, following, source, brought


@njit(cache=True, error_model="numpy")
def weigh_by_ports(
    first: int,
    last: int,
    base: int,
    n_entries: int,
    flows: Flows,
    fabric: Fabric,
    places: Places,
    entries: Table,
    weight: Floats,
) -> None:
    """
    Let the flows that come to a link through one port weigh no more together than one alone.

    `weight` (F,): of each flow. Of the entries from `base` on m, q and E become less.

    Notes
    -----
    Packets that wait for a link keep places in the port through which they came, and a place that
    becomes free goes to whoever waits longest. A lone flow fills its port, and any number of flows
    can do no more. A pool has as many ports as links.
    """
    hops = flows.indptr, places.of_hop
    head, following, source, through = inflows(first, last, base, n_entries - base, *hops, weight)
    for k in range(base, n_entries):
        i, most, ports = head[k - base], 0.0, 0.0
        if i < 0:
            continue
        while i >= 0:
            c = places.channel[source[i]]
            links = fabric.capacity[c] / fabric.port_capacity[c]
            most += min(links, through[i])
            ports += links
            i = following[i]
        if most < entries[k].weight:
            entries[k].presence_s *= most / entries[k].weight
            entries[k].weight = most
        entries[k].senders = min(entries[k].senders, ports)
