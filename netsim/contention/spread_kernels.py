"""
Constants of a job whose packets are spread over ways, compiled.

Import through `netsim.kernelcache`. As `netsim.contention.constants_kernels`, which says what they
mean; a flow's links between routers carry parts of it. What the flows of a step put on one way is
added up before it is dealt out over the way's links.

A link that others slow down gets less of the packets: what a flow has on it is held up, the rest
goes on. With v the part of their flow that the bytes on the link are (mean over the bytes), the
share bound N / m therefore counts v times, as if the flows weighed m / v. Others meet them less as
well: on minimal ways every router chooses by what is on its links, so that of a flow with the
share s of its way on a link only s counts as present, and only s of it waits in the buffer. A step
that puts less than a packet on a link waits there as seldom as that.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY, STEP, Fabric, Flows, Places, Scratch
from netsim.contention.constants_kernels import by_channel, fabric_of
from netsim.contention.link_kernels import divisor, place_fill, weight_exponent
from netsim.contention.queueing_kernels import sort_by_key
from netsim.contention.traffic_kernels import FLOAT_ROWS, FLOATS, INT_ROWS, INTS
from netsim.contention.window_kernels import BEFORE, standing_queue
from netsim.jit import njit

_FLOWS = (INT_ROWS, FLOAT_ROWS, INTS, INTS)
_WAYS = (INTS, INTS, FLOATS)
_FABRIC = (INT_ROWS, FLOAT_ROWS, FLOATS)
_SCRATCH = (int64[::1], int64[::1], float64[::1])


class Spread(NamedTuple):
    """Ways of pairs of routers, as `netsim.routes.Ways` has them, and the part that goes round."""

    indptr: Ints
    links: Ints
    share: Floats
    pair: Ints  # of each flow
    detoured: Floats  # of each flow


class Sums(NamedTuple):
    """What the flows of a step put on each way; all 0 between steps."""

    nbytes: Floats
    weight: Floats
    feed_s: Floats
    presence_s: Floats
    end_s: Floats
    finish_s: Floats
    square: Floats  # bytes x part of their flow
    packets: Floats
    whole: Floats  # bytes of as many whole packets
    own_s: Floats  # of each entry: drain times x part of their flow; not wiped
    met_s: Floats  # of each entry: drain times x part that had no other link; not wiped
    greatest: Floats  # of each entry: greatest part of a flow of the sender counted last
    crossing: Floats  # of each entry: packets; not wiped


class Marks(NamedTuple):
    """Which ways a step uses."""

    used: Ints  # ways
    place: Ints  # of each way among them, -1 for others


class Work(NamedTuple):
    """All that a job's constants are made of."""

    flows: Flows
    spread: Spread
    fabric: Fabric
    scratch: Scratch
    places: Places
    sums: Sums
    marks: Marks
    entries: Table
    finish_s: Floats  # of each flow
    order: Ints  # flows of a step by sender


@njit(cache=True)
def _met(way: int, share: float) -> float:
    """Return the part of a way's packets on a link that others meet; who goes round has chosen."""
    return share if way % 2 == 0 else 1.0


@njit(cache=True)
def _part(spread: Spread, f: int, kind: int) -> float:
    """Return the part of a flow that goes by its minimal ways (0) or by its detours (1)."""
    return float(spread.detoured[f] if kind else 1.0 - spread.detoured[f])


@njit(cache=True)
def _entry(
    link: int, n_entries: int, fabric: Fabric, scratch: Scratch, places: Places
) -> tuple[int, int]:
    """Return the entry of a link in this step, and how many entries there are then."""
    c = fabric.channel[link]
    k = scratch.entry[c]
    if k < 0:
        k = n_entries
        n_entries += 1
        scratch.entry[c] = k
        places.channel[k], places.link[k] = c, link
        places.last_sender[k] = -1
    return k, n_entries


@njit(cache=True, error_model="numpy")
def _drain(
    work: Work, first: int, n_entries: int, per_flow: bool, steps: Table
) -> tuple[int, int, int]:
    """
    Put the bytes of the step that begins with a flow on its channels: B, tau, lam and injection.

    Returns the first flow of the next step, how many entries there are now, and ways used.
    `opened` holds how many flows each sender opens.
    """
    flows, spread, fabric, scratch = work.flows, work.spread, work.fabric, work.scratch
    places, sums, marks, entries = work.places, work.sums, work.marks, work.entries
    a, base, last, n_used = flows.step[first], n_entries, first, 0
    latency_s, injection_s = 0.0, 0.0
    while last < flows.step.size and flows.step[last] == a:
        begin, end = flows.indptr[last], flows.indptr[last + 1]
        latency_s = max(latency_s, flows.latency_s[last])
        if end > begin:
            scratch.opened[last - first if per_flow else flows.sender[last]] += 1
            whole = flows.nbytes[last] / place_fill(flows.nbytes[last], fabric.place_bytes)
            for hop in (begin, end - 1):
                k, n_entries = _entry(flows.links[hop], n_entries, fabric, scratch, places)
                c = places.channel[k]
                entries[k].step = a
                entries[k].drain_s += flows.nbytes[last] / fabric.capacity[c]
                sums.own_s[k] += flows.nbytes[last] / fabric.capacity[c]
                sums.met_s[k] += flows.nbytes[last] / fabric.capacity[c]
                places.fill[k] += whole / fabric.capacity[c]
                sums.crossing[k] += 1.0
                bundle = fabric.bundle[c]
                scratch.injected_s[bundle] += flows.nbytes[last] / fabric.bundle_capacity[c]
                injection_s = max(injection_s, scratch.injected_s[bundle])
            for kind in range(2):
                way, part = 2 * spread.pair[last] + kind, _part(spread, last, kind)
                if part > 0.0 and spread.indptr[way + 1] > spread.indptr[way]:
                    if marks.place[way] < 0:
                        marks.place[way], marks.used[n_used] = n_used, way
                        n_used += 1
                    sums.nbytes[way] += part * flows.nbytes[last]
                    sums.whole[way] += part * whole
                    sums.square[way] += part * part * flows.nbytes[last]
                    sums.packets[way] += part * max(1.0, flows.nbytes[last] / fabric.packet_bytes)
        last += 1
    for i in range(n_used):
        way = marks.used[i]
        for hop in range(spread.indptr[way], spread.indptr[way + 1]):
            c = fabric.channel[spread.links[hop]]
            k = scratch.entry[c]
            if k < 0:
                k, n_entries = _entry(spread.links[hop], n_entries, fabric, scratch, places)
                entries[k].step = a
            places.of_hop[hop] = k
            share = spread.share[hop]
            drained_s = share * sums.nbytes[way] / fabric.capacity[c]
            entries[k].drain_s += drained_s
            places.fill[k] += share * sums.whole[way] / fabric.capacity[c]
            sums.met_s[k] += drained_s * _met(way, share)
            sums.crossing[k] += share * sums.packets[way]
            sums.own_s[k] += share * share * sums.square[way] / fabric.capacity[c]
    drain_s = 0.0
    for k in range(base, n_entries):
        drain_s = max(drain_s, entries[k].drain_s)
        full_s = places.fill[k]
        places.fill[k] = entries[k].drain_s / full_s if full_s > 0.0 else 1.0
    steps[a].drain_s, steps[a].latency_s = drain_s, latency_s
    steps[a].injection_s = injection_s + latency_s
    return last, n_entries, n_used


@njit(cache=True)
def _finish(work: Work, first: int, last: int, n_used: int, per_flow: bool) -> int:
    """
    Find when the flows of a step end, and sort those that leave their node by sender.

    ``order[first:end]`` holds them, `end` is returned. `opened` turns from counts into -1 - the
    end of each sender's group; what was injected is forgotten.
    """
    flows, spread, fabric = work.flows, work.spread, work.fabric
    scratch, places = work.scratch, work.places
    sums, marks, entries, finish_s = work.sums, work.marks, work.entries, work.finish_s
    for i in range(n_used):
        way = marks.used[i]
        for hop in range(spread.indptr[way], spread.indptr[way + 1]):
            own = entries[places.of_hop[hop]].drain_s
            sums.finish_s[way] = max(sums.finish_s[way], own)
    place = first
    for f in range(first, last):
        begin, end = flows.indptr[f], flows.indptr[f + 1]
        finish_s[f] = 0.0
        if end == begin:
            continue
        for hop in (begin, end - 1):
            c = fabric.channel[flows.links[hop]]
            finish_s[f] = max(finish_s[f], entries[scratch.entry[c]].drain_s)
            scratch.injected_s[fabric.bundle[c]] = 0.0
        for kind in range(2):
            if _part(spread, f, kind) > 0.0:
                finish_s[f] = max(finish_s[f], sums.finish_s[2 * spread.pair[f] + kind])
        who = f - first if per_flow else flows.sender[f]
        if scratch.opened[who] > 0:
            count = scratch.opened[who]
            scratch.opened[who] = -(place + 1)
            place += count
        work.order[-scratch.opened[who] - 1] = f
        scratch.opened[who] -= 1
    return place


@njit(cache=True)
def _count(sender: int, k: int, part: float, work: Work) -> None:
    """Count a sender on a link by the greatest part of a flow that it has there."""
    greatest = work.sums.greatest
    if work.places.last_sender[k] != sender:
        work.places.last_sender[k] = sender
        greatest[k] = 0.0
    if part > greatest[k]:
        work.entries[k].senders += part - greatest[k]
        greatest[k] = part


@njit(cache=True)
def _weigh(work: Work, first: int, end: int, per_flow: bool) -> None:
    """Add up what the flows in ``order[first:end]``, sender by sender, weigh on links and ways."""
    flows, spread, fabric = work.flows, work.spread, work.fabric
    scratch, places = work.scratch, work.places
    sums, marks, entries, finish_s = work.sums, work.marks, work.entries, work.finish_s
    i = first
    while i < end:
        head = work.order[i]
        who = head - first if per_flow else flows.sender[head]
        group_end = -scratch.opened[who] - 1
        scratch.opened[who] = 0
        if group_end - i > 1:
            sort_by_key(work.order, i, group_end, finish_s)
        sent = 0.0
        for place in range(i, group_end):
            sent += flows.nbytes[work.order[place]]
        exponent = weight_exponent(sent / (group_end - i), fabric.buffer_bytes)
        weight = 1.0 / divisor(group_end - i, exponent)
        presence_s, before_s = 0.0, 0.0
        for place in range(i, group_end):
            f = work.order[place]
            presence_s += (finish_s[f] - before_s) / divisor(group_end - place, exponent)
            before_s = finish_s[f]
            begin, stop = flows.indptr[f], flows.indptr[f + 1]
            own_s = entries[scratch.entry[fabric.channel[flows.links[begin]]]].drain_s
            for hop in (begin, stop - 1):
                k = scratch.entry[fabric.channel[flows.links[hop]]]
                entry = entries[k]
                entry.weight += weight
                entry.feed_s += weight * own_s
                entry.end_s = max(entry.end_s, finish_s[f])
                entry.presence_s += presence_s
                _count(i, k, 1.0, work)
            for kind in range(2):
                way, part = 2 * spread.pair[f] + kind, _part(spread, f, kind)
                if part > 0.0 and marks.place[way] >= 0:
                    sums.weight[way] += part * weight
                    sums.feed_s[way] += part * weight * own_s
                    sums.end_s[way] = max(sums.end_s[way], finish_s[f])
                    sums.presence_s[way] += part * presence_s
                    for hop in range(spread.indptr[way], spread.indptr[way + 1]):
                        _count(i, places.of_hop[hop], part * spread.share[hop], work)
        i = group_end


@njit(cache=True)
def _deal(work: Work, n_used: int) -> None:
    """Deal out what ways weigh over their links."""
    spread, sums, marks = work.spread, work.sums, work.marks
    entries, places = work.entries, work.places
    for i in range(n_used):
        way = marks.used[i]
        for hop in range(spread.indptr[way], spread.indptr[way + 1]):
            entry = entries[places.of_hop[hop]]
            share = spread.share[hop]
            entry.weight += share * sums.weight[way]
            entry.feed_s += share * sums.feed_s[way]
            entry.end_s = max(entry.end_s, sums.end_s[way])
            entry.presence_s += share * _met(way, share) * sums.presence_s[way]


@njit(cache=True)
def _wipe(n_used: int, sums: Sums, marks: Marks) -> None:
    """Forget the ways of a step."""
    for i in range(n_used):
        way = marks.used[i]
        marks.place[way] = -1
        sums.nbytes[way] = sums.weight[way] = sums.feed_s[way] = sums.presence_s[way] = 0.0
        sums.square[way] = sums.end_s[way] = sums.finish_s[way] = sums.packets[way] = 0.0
        sums.whole[way] = 0.0


@njit(cache=True)
def _room(flows: Flows, spread: Spread, n_channels: int) -> int:
    """Return how many entries there can be."""
    total, first = 0, 0
    while first < flows.step.size:
        last, most = first, 0
        while last < flows.step.size and flows.step[last] == flows.step[first]:
            pair = spread.pair[last]
            most += 2 + spread.indptr[2 * pair + 2] - spread.indptr[2 * pair]
            last += 1
        total += min(most, n_channels)
        first = last
    return total


@njit(cache=True)
def _sums(n_ways: int, room: int) -> tuple[Sums, Marks]:
    """Return room for sums over ways."""
    of, whole, at = np.zeros((8, n_ways)), np.zeros(n_ways), np.zeros((4, room))
    ways = of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7], whole
    sums = Sums(*ways, at[0], at[1], at[2], at[3])
    return sums, Marks(np.empty(n_ways, np.int64), np.full(n_ways, -1))


@njit((*_FLOWS, *_WAYS, *_FABRIC, *_SCRATCH, boolean), cache=True, error_model="numpy")
def spread_constants(
    whole: Ints,
    real: Floats,
    indptr: Ints,
    links: Ints,
    way_indptr: Ints,
    way_links: Ints,
    way_share: Floats,
    channels: Ints,
    capacities: Floats,
    port: Floats,
    entry: Ints,
    opened: Ints,
    injected_s: Floats,
    per_flow: bool,
) -> tuple[Table, Table, Table]:
    """
    Return records, entries and steps of one job, as `constants_kernels.job_constants` does.

    `whole`: step, sender and pair of each flow. `real`: its bytes, its latency, and the part that
    goes round. Then routes, fields of `Spread`, and arguments of the other kernel. `channels` has
    a third row: 1 for the links before which queues stand that no way round avoids.
    """
    flows = Flows(whole[0], whole[1], real[0], indptr, links, real[1])
    spread = Spread(way_indptr, way_links, way_share, whole[2], real[2])
    fabric = fabric_of(channels, capacities, port)
    scratch = Scratch(entry, opened, injected_s)
    n_flows = flows.step.size
    room = _room(flows, spread, fabric.channel.size)
    rows = np.empty((3, room), np.int64)
    sums, marks = _sums(way_indptr.size - 1, room)
    of_hop = np.empty(way_links.size, np.int64)
    places = Places(rows[0], rows[1], rows[2], of_hop, sums.own_s, np.zeros(room))
    entries = np.zeros(room, ENTRY)
    steps = np.zeros(flows.step[n_flows - 1] + 1 if n_flows else 0, STEP)
    given = flows, spread, fabric, scratch
    work = Work(
        *given, places, sums, marks, entries, np.empty(n_flows), np.empty(n_flows, np.int64)
    )
    first, n_entries = int(np.int64(0)), int(np.int64(0))
    while first < n_flows:
        base = n_entries
        last, n_entries, n_used = _drain(work, first, base, per_flow, steps)
        end = _finish(work, first, last, n_used, per_flow)
        _weigh(work, first, end, per_flow)
        _deal(work, n_used)
        _wipe(n_used, sums, marks)
        for k in range(base, n_entries):
            own = entries[k]
            own.feed_s /= own.weight
            own.links = 1.0
            bound = sums.own_s[k] / own.drain_s
            fill = places.fill[k] if fabric.buffer_bytes > 0.0 and not per_flow else 1.0
            own.weight *= fill / bound
            own.senders *= fill / bound
            own.presence_s *= fill
            met = sums.met_s[k] / own.drain_s * min(1.0, sums.crossing[k])
            own.queue_s = met * fabric.buffer_bytes / fabric.capacity[places.channel[k]]
            queued = channels[2, places.link[k]] > 0 and fabric.buffer_bytes > 0.0
            if queued:
                buffer_s = fabric.buffer_bytes / fabric.capacity[places.channel[k]]
                own.held = -standing_queue(own.drain_s, own.feed_s, buffer_s)
            most_wait_s = own.queue_s * (BEFORE if queued else 1.0)
            own.limit_s = max(0.0, min(own.end_s, steps[own.step].drain_s - most_wait_s))
            scratch.entry[places.channel[k]] = -1
        first = last
    records, grouped = by_channel(n_entries, scratch.entry, places, entries)
    return records, grouped, steps
