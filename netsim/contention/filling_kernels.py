"""
For which part of a step links are full of a job's packets that wait for slower links, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np

from netsim.arrays import Floats, Table
from netsim.contention.columns import Fabric, Flows, Places
from netsim.contention.port_kernels import inflows
from netsim.jit import njit

BEHIND = 1.5  # buffers that waiting packets fill before others wait as they do


@njit(cache=True, error_model="numpy")
def _room_bytes(k: int, fabric: Fabric, places: Places) -> float:
    """Return what the buffers of the ports of an entry's channel hold."""
    c = places.channel[k]
    return float(
        places.fill[k] * fabric.buffer_bytes * (fabric.capacity[c] / fabric.port_capacity[c])
    )


@njit(cache=True)
def _is_pool(k: int, fabric: Fabric, places: Places) -> bool:
    """Say whether an entry's channel is several links among which switches choose."""
    c = places.channel[k]
    return bool(fabric.capacity[c] > fabric.port_capacity[c])


@njit(cache=True, error_model="numpy")
def _fill_alike(base: int, n_entries: int, fabric: Fabric, places: Places, entries: Table) -> bool:
    """
    Turn u into the part of the step in which links are full if all flows go on alike.

    Returned: whether more may wait on any link than its buffer holds.
    """
    fills = False
    for k in range(base, n_entries):
        sent = places.drain_s[k] * fabric.capacity[places.channel[k]]
        most, room = entries[k].held * sent, _room_bytes(k, fabric, places)
        if _is_pool(k, fabric, places):
            most = entries[k].closed
        fills |= most > room
        entries[k].held = 1.0 - BEHIND * room / most if most > BEHIND * room else 0.0
    return fills


@njit(cache=True)
def _slowest(f: int, flows: Flows, places: Places, finish_s: Floats) -> int:
    """Return the hop at which a flow meets the first of its slowest links."""
    for hop in range(flows.indptr[f], flows.indptr[f + 1]):
        if places.drain_s[places.of_hop[hop]] >= finish_s[f]:
            return hop
    return int(flows.indptr[f])


@njit(cache=True, error_model="numpy")
def hold_back(
    first: int,
    last: int,
    base: int,
    n_entries: int,
    flows: Flows,
    fabric: Fabric,
    places: Places,
    entries: Table,
    finish_s: Floats,
) -> None:
    """
    Find for which part of a step its packets fill links while they wait for slower links ahead.

    `held` of the entries from `base` on: before, the greatest u of their flows, 1 less the time
    that a flow takes this far over what it takes in all; written, v: 0 without a stated buffer and
    for pools. `closed`: before, the sum of u times the bytes of the flows; written, the part of the
    step for which a pool is closed to others, 0 for other links.

    Notes
    -----
    What flows have still to send waits on the links before the slowest of their path. If all go on
    alike, nobody notices until BEHIND buffers are full. But a link takes in turn from those that
    lead to it, since each of these has as many packets waiting: where one has brought y bytes,
    each of the others has brought as many, or all it has, so one that brings more is done later. It
    is full once more waits than its buffer and shares in those of the links between hold, until no
    more is left than has room there. The longer of the two counts.

    A pool has one queue in effect, as packets wait for any of its links: who comes while it is full
    waits for all that is ahead. At most as much is ahead as finds no room further on, and as there
    is room for in the buffers of the links that lead to the pool; let it last for W of the D for
    which the pool is full. It grows in D - W, when 1 - W / D of what comes goes on, and shrinks in
    W, when nothing does before the end: so the pool is closed for D (1 - (1 - W / D)^2).
    """
    tau = 0.0
    for k in range(base, n_entries):
        tau = max(tau, places.drain_s[k])
        entries[k].held *= fabric.buffer_bytes > 0.0
        entries[k].closed *= fabric.buffer_bytes > 0.0
    fills = _fill_alike(base, n_entries, fabric, places, entries)
    most_bytes = np.empty(n_entries - base)
    for k in range(base, n_entries):
        most_bytes[k - base], entries[k].closed = entries[k].closed, 0.0
    if not fills:
        return
    waiting, room = np.zeros(n_entries - base), np.zeros(n_entries - base)
    for f in range(first, last):
        beyond = 0.0
        for hop in range(_slowest(f, flows, places, finish_s) - 1, flows.indptr[f] - 1, -1):
            k, ahead = places.of_hop[hop] - base, places.of_hop[hop + 1]
            sent = places.drain_s[ahead] * fabric.capacity[places.channel[ahead]]
            beyond += _room_bytes(ahead, fabric, places) * (flows.nbytes[f] / sent)
            waiting[k] += flows.nbytes[f]
            room[k] += beyond
    hops = flows.indptr, places.of_hop
    head, following, source, nbytes = inflows(
        first, last, base, n_entries - base, *hops, flows.nbytes
    )
    for f in range(first, last):
        slowest, this_far_s = _slowest(f, flows, places, finish_s), 0.0
        for hop in range(flows.indptr[f], slowest):
            k = places.of_hop[hop]
            this_far_s = max(this_far_s, places.drain_s[k])
            most = (1.0 - this_far_s / finish_s[f]) * waiting[k - base]
            if _is_pool(k, fabric, places):
                most = most_bytes[k - base]
            fits = _room_bytes(k, fabric, places) + room[k - base]
            if most <= fits:
                continue
            if _is_pool(k, fabric, places):
                queue, i = 0.0, head[k - base]
                while i >= 0:
                    queue += min(nbytes[i], _room_bytes(source[i], fabric, places))
                    i = following[i]
                rate = waiting[k - base] / finish_s[f]
                entries[k].closed = max(entries[k].closed, min(queue, most - fits) / rate / tau)
            gone = waiting[k - base] - fits
            for later in range(hop + 1, slowest + 1):
                i, brought = head[places.of_hop[later] - base], 0.0
                while i >= 0:
                    brought += min(nbytes[i], gone)
                    i = following[i]
                gone = brought
            until_s = gone / fabric.capacity[places.channel[places.of_hop[slowest]]]
            full_s = until_s - this_far_s * fits / most
            entries[k].held = max(entries[k].held, full_s / tau)
    for k in range(base, n_entries):
        if _is_pool(k, fabric, places):
            own = entries[k]
            if own.held <= 0.0:
                own.closed = 0.0
            else:
                free = 1.0 - min(1.0, own.closed / own.held)
                own.closed = own.held * (1.0 - free * free)
            own.held = 0.0
