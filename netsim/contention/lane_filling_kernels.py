"""
For which part of a step lanes are full of a job's packets that wait for links ahead, compiled.

`netsim.contention.lane_kernels` says what a lane is. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float64, from_dtype, int64

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY, RECORD
from netsim.contention.filling_kernels import BEHIND
from netsim.contention.lane_kernels import (
    AHEAD,
    ALONE,
    CLOSED,
    FULL,
    HELD,
    LANES,
    N_OWN,
    SHARE,
    TIMES,
)
from netsim.contention.link_kernels import place_fill
from netsim.contention.port_kernels import inflows
from netsim.contention.traffic_kernels import FLOATS
from netsim.jit import njit

_ALIKE, _CLOSED, _WAITED = 0, 1, 2  # rows of what `_fill` says of lanes
_RECORDS, _ENTRIES = from_dtype(RECORD)[::1], from_dtype(ENTRY)[::1]
_INTS = int64[::1]


@njit(cache=True)
def _come(k: int, most: float, head: Ints, following: Ints, brought: Floats) -> float:
    """Return the bytes that all lanes before one have brought to it, each at most so many."""
    total, i = 0.0, head[k]
    while i >= 0:
        total += min(brought[i], most)
        i = following[i]
    return total


@njit(cache=True, error_model="numpy")
def _fill(
    first: int,
    last: int,
    nbytes: Floats,
    waits: Floats,
    indptr: Ints,
    place: Ints,
    drain_s: Floats,
    queue_s: Floats,
    fill: Floats,
    buffer_bytes: float,
) -> Floats:
    """
    Find for which part of a step lanes are full of packets that wait, and how much is ahead then.

    Parameters
    ----------
    first, last : int
        The flows of the step.
    nbytes, waits : (F,) float arrays
        Bytes of each flow, and 1 for those whose packets wait on the way, 0 for others.
    indptr : (F + 1,) int array
        Hops of each flow.
    place : (H,) int array
        Lane of each hop: 0, 1, ... among those of the step.
    drain_s, queue_s : (N,) float arrays
        Of each lane B and w of its link.
    buffer_bytes : float
        Buffer of a port.

    Returns
    -------
    (3, N) float array
        Of each lane the part of the step for which it is full if all flows go on alike; for which
        it is closed; and the time that takes what is ahead of a packet that comes then.
    """
    n_places, tau = drain_s.size, 0.0
    total, waiting, room = np.zeros(n_places), np.zeros(n_places), np.zeros(n_places)
    late, found = np.zeros(n_places), np.zeros((3, n_places))
    slowest = np.zeros(last - first, np.int64)
    for f in range(first, last):
        best = indptr[f]
        for hop in range(indptr[f], indptr[f + 1]):
            total[place[hop]] += nbytes[f]
            if drain_s[place[hop]] > drain_s[place[best]]:
                best = hop
        slowest[f - first] = best
    for f in range(first, last):
        this_far_s, beyond = 0.0, 0.0
        if waits[f] == 0.0 or indptr[f] == indptr[f + 1]:
            continue
        finish_s = drain_s[place[slowest[f - first]]]
        tau = max(tau, finish_s)
        for hop in range(slowest[f - first] - 1, indptr[f] - 1, -1):
            beyond += buffer_bytes * nbytes[f] / total[place[hop + 1]]
            waiting[place[hop]] += nbytes[f]
            room[place[hop]] += beyond
        for hop in range(indptr[f], slowest[f - first]):
            this_far_s = max(this_far_s, drain_s[place[hop]])
            late[place[hop]] += (1.0 - this_far_s / finish_s) * nbytes[f]
    fills = False
    for k in range(n_places):
        fills |= waiting[k] > buffer_bytes
        if late[k] > BEHIND * buffer_bytes:
            found[_ALIKE, k] = 1.0 - BEHIND * buffer_bytes / late[k]
    if not fills:
        return found
    head, following, _, brought = inflows(first, last, 0, n_places, indptr, place, nbytes)
    for f in range(first, last):
        if waits[f] == 0.0:
            continue
        this_far_s, to = 0.0, slowest[f - first]
        for hop in range(indptr[f], to):
            k, end = place[hop], place[to]
            this_far_s = max(this_far_s, drain_s[k])
            fits = buffer_bytes + room[k]
            most = (1.0 - this_far_s / drain_s[end]) * waiting[k]
            if most <= fits:
                continue
            gone = waiting[k] - fits
            for later in range(hop + 1, to + 1):
                gone = _come(place[later], gone, head, following, brought)
            full_s = fill[end] * gone / buffer_bytes * queue_s[end] - this_far_s * fits / most
            found[_CLOSED, k] = max(found[_CLOSED, k], full_s / tau)
    for f in range(first, last):
        if waits[f] == 0.0:
            continue
        this_far_s, to = 0.0, slowest[f - first]
        for hop in range(indptr[f], to):
            k, end = place[hop], place[to]
            this_far_s = max(this_far_s, drain_s[k])
            full_s, part = found[_CLOSED, k] * tau, 1.0 - this_far_s / drain_s[end]
            if full_s > 0.0 and part > 0.0:
                queue = _come(k, buffer_bytes, head, following, brought)
                ahead_s = min(queue * drain_s[end] / waiting[k], part * full_s)
                found[_WAITED, k] = max(found[_WAITED, k], ahead_s)
    return found


@njit(
    float64[:, ::1](
        float64[:, ::1],
        _INTS,
        _INTS,
        float64[::1],
        _INTS,
        _INTS,
        _INTS,
        _INTS,
        _RECORDS,
        _ENTRIES,
        int64,
        FLOATS,
        boolean,
        float64,
    ),
    cache=True,
    error_model="numpy",
)
def filled_lanes(
    shares: Floats,
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    channels: Ints,
    lanes: Ints,
    entry_of: Ints,
    records: Table,
    entries: Table,
    n_senders: int,
    port: Floats,
    per_flow: bool,
    alone_s: float,
) -> Floats:
    """
    Return what the flows of a job have on each lane, with how long they keep it full and closed.

    Parameters
    ----------
    shares : (K, 2 LANES) float array
        From `lane_kernels.lanes_of`; of it the shares of the weight are taken.
    step, sender, nbytes, indptr, channels, lanes, entry_of, records, entries
        As there.
    n_senders, port, per_flow
        As there.
    alone_s : float
        T, time of an iteration alone.

    Returns
    -------
    (K, N_OWN) float array
        As `lane_kernels` names its columns.

    Notes
    -----
    As `filling_kernels.hold_back` has it for links, but for each lane on its own. Only the flows of
    a sender that end last wait on the way: once its window is full of their packets its others go
    no faster, and are where they find room.

    A lane is *closed* while it is full since links take in turn from those that lead to them. What
    is ahead of a packet that comes then is what the lanes before have brought, at most a buffer of
    each; all who wait go on at the rate A / B'' together. That takes W, and no longer than u D: of
    what comes while it is closed a part u waits.
    """
    on = np.zeros((entries.size, N_OWN))
    longest_s, finish_s, waits = np.zeros(n_senders), np.zeros(step.size), np.ones(step.size)
    number_of, row_of = np.full(entries.size * LANES, -1), np.empty(entries.size * LANES, np.int64)
    place, first = np.empty(channels.size, np.int64), 0
    room_bytes, buffer_bytes = np.empty(step.size), port[0]
    for f in range(step.size):
        room_bytes[f] = nbytes[f] / place_fill(nbytes[f], port[2])
    for r in range(records.size):
        entry_of[records[r].channel] = records[r].first_entry
        for k in range(records[r].first_entry, records[r].first_entry + records[r].n_entries):
            on[k, TIMES], on[k, ALONE] = records[r].n_entries, alone_s
            for lane in range(LANES):
                on[k, SHARE + lane] = shares[k, SHARE + lane]
    while first < step.size:
        last, n_places = first, 0
        while last < step.size and step[last] == step[first]:
            for hop in range(indptr[last], indptr[last + 1]):
                while entries[entry_of[channels[hop]]].step < step[first]:
                    entry_of[channels[hop]] += 1
                row = entry_of[channels[hop]] * LANES + min(lanes[hop], LANES - 1)
                if number_of[row] < 0:
                    number_of[row], row_of[n_places] = n_places, row
                    n_places += 1
                place[hop] = number_of[row]
                finish_s[last] = max(finish_s[last], entries[row // LANES].drain_s)
            longest_s[sender[last]] = max(longest_s[sender[last]], finish_s[last])
            last += 1
        tau = 0.0
        for f in range(first, last):
            tau = max(tau, finish_s[f])
            if not per_flow and finish_s[f] < longest_s[sender[f]]:
                waits[f] = 0.0
        drain_s, queue_s = np.empty(n_places), np.empty(n_places)
        sent, held = np.zeros(n_places), np.zeros(n_places)
        for f in range(first, last):
            for hop in range(indptr[f], indptr[f + 1]):
                sent[place[hop]] += nbytes[f]
                held[place[hop]] += room_bytes[f]
        for i in range(n_places):
            entry = entries[row_of[i] // LANES]
            drain_s[i], queue_s[i] = entry.drain_s, entry.queue_s
        rest = place, drain_s, queue_s, sent / held, buffer_bytes
        found = _fill(first, last, room_bytes, waits, indptr, *rest)
        for i in range(n_places):
            k, lane, part = row_of[i] // LANES, row_of[i] % LANES, found[_CLOSED, i]
            on[k, HELD + lane] = max(found[_ALIKE, i], part)
            on[k, CLOSED + lane] = part
            on[k, AHEAD + lane] = part * found[_WAITED, i]
            on[k, FULL + lane] = part * part * tau
            number_of[row_of[i]] = -1
        for f in range(first, last):
            longest_s[sender[f]] = 0.0
        first = last
    return on
