"""
What a job puts on links when it is alone, compiled.

A hop is a flow on a link; an entry is all hops of one step on one link::

    flows (F) ── hops indptr[f]..indptr[f+1] ── link, share, channel
    step ── entries first..last ── drain, weight, ... of the step on a link

With B(l) the drain time of link l, that is all bytes of the step over its capacity, a flow f of
b_f bytes ends alone at e_f = max over its links of sum_g min(b_g, b_f) / C: processor sharing on
the link that takes longest. A sender shares its injection link evenly among its open flows, so a
flow weighs 1/o, o being their number; E integrates this weight until e_f.

Packets of a flow wait before the link of its path with the greatest B. U is the time of the link
here that these bytes take, 1 - B'/B'' of the flow's with B' the greatest B up to here and B'' the
greatest of the path; K is the room for them in the buffers between. A link is blocked for others
for g = 1 - K/U of the time.
"""

import numpy as np
from numba import float64, int64, typeof, types

from netsim.common.arrays import Floats, Ints, Table
from netsim.common.jit import njit
from netsim.fluid.tables import CHANNELS, ENTRY, RECORD, STEP, Flows

_EQUAL = 1.0 + 1e-9  # drain times that differ by less are the same
_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
FLOWS = types.NamedTuple(
    (_INTS, _INTS, _FLOATS, _FLOATS, _INTS, _INTS, _FLOATS, _INTS, _INTS, _FLOATS), Flows
)


@njit()
def _ascending_order(values: Floats) -> Ints:
    """Return the places of values in ascending order, those of equal ones as they are."""
    return np.argsort(values, kind="mergesort")  # one copy of it for all callers


@njit()
def _end_on(hops: Ints, flow_of: Ints, own_s: Floats, end_s: Floats) -> None:
    """Raise the ends of flows to those that one link alone would give them."""
    n = hops.size
    on_link_s, least, most, total = np.empty(n), np.inf, 0.0, 0.0
    for rank in range(n):
        on_link_s[rank] = own_s[hops[rank]]
        least, most = min(least, on_link_s[rank]), max(most, on_link_s[rank])
        total += on_link_s[rank]
    if most <= least * _EQUAL:
        for hop in hops:
            end_s[flow_of[hop]] = max(end_s[flow_of[hop]], total)
        return
    order = _ascending_order(on_link_s)
    smaller = 0.0
    for rank in range(n):
        place = order[rank]
        taken = smaller + (n - rank) * on_link_s[place]
        smaller += on_link_s[place]
        flow = flow_of[hops[place]]
        end_s[flow] = max(end_s[flow], taken)


@njit()
def _weight_times(
    order: Ints, sender: Ints, end_s: Floats, weight: Floats, weight_s: Floats
) -> None:
    """
    Find for flows, `order` by sender, their first weight 1/o and its integral until they end.

    `sender`: of each flow; the flows of a sender are neighbours in `order`. Flows that stay on
    their node end at 0 and are not open on the sender's link.
    """
    at = 0
    while at < order.size:
        stop, n_open = at, 0
        while stop < order.size and sender[order[stop]] == sender[order[at]]:
            n_open += end_s[order[stop]] > 0.0
            stop += 1
        group_s = np.empty(stop - at)
        for place in range(at, stop):
            group_s[place - at] = end_s[order[place]]
        by_end = _ascending_order(group_s)
        integral, before, n_local = 0.0, 0.0, stop - at - n_open
        for rank in range(n_open):
            f = order[at + by_end[n_local + rank]]
            integral += (end_s[f] - before) / (n_open - rank)
            before = end_s[f]
            weight[f], weight_s[f] = 1.0 / n_open, integral
        at = stop


@njit()
def _by_link(n_entries: int, link_of: Ints, record_of: Ints) -> tuple[Table, Ints]:
    """Return records, and the entries in their order; `record_of` is all -1 before and after."""
    n_records = 0
    count = np.zeros(n_entries, np.int64)
    for k in range(n_entries):
        r = record_of[link_of[k]]
        if r < 0:
            r = record_of[link_of[k]] = n_records
            n_records += 1
        count[r] += 1
    records, order = np.zeros(n_records, RECORD), np.empty(n_entries, np.int64)
    first = 0
    for r in range(n_records):
        records[r].first_entry, records[r].next_record = first, -1
        first += count[r]
    for k in range(n_entries):
        r = record_of[link_of[k]]
        records[r].link = link_of[k]
        order[records[r].first_entry + records[r].n_entries] = k
        records[r].n_entries += 1
    for r in range(n_records):
        record_of[records[r].link] = -1
    return records, order


@njit(
    types.Tuple(
        (
            typeof(np.zeros(1, STEP)),
            typeof(np.zeros(1, RECORD)),
            typeof(np.zeros(1, ENTRY)),
        )
    )(FLOWS, _FLOATS, _FLOATS, float64, types.boolean, int64[::1]),
    cache=True,
    error_model="numpy",
)
def job_demand(
    flows: Flows,
    capacity: Floats,
    buffer_bytes: Floats,
    packet_bytes: float,
    per_flow: bool,
    entry_of: Ints,
) -> tuple[Table, Table, Table]:
    """
    Return steps, records and entries of a job alone.

    `flows`: steps ascend; bytes are those of one round. `capacity` (E,): bytes per second.
    `buffer_bytes` (E,): of a virtual channel, of all its links where a link stands for several.
    `packet_bytes`: 0 where none is stated. `per_flow`: each flow is a sender of its own.
    `entry_of` (E,): scratch, all -1 before and after.

    Rows of `tables.RECORD` are in the order in which flows first cross their links; their fields
    `job`, `next_record` and the marks are for the solver.
    """
    n_flows, indptr = flows.step.size, flows.indptr
    n_steps = int(flows.step[n_flows - 1]) + 1 if n_flows else 0
    steps = np.zeros(n_steps, STEP)
    n_hops = flows.link.size
    most = min(n_hops, n_steps * capacity.size)  # entries: a link has one in each step
    entries, link_of = np.zeros(most, ENTRY), np.empty(most, np.int64)
    by_channel = np.zeros((most, CHANNELS), np.float32)
    of_hop, own_s = np.empty(n_hops, np.int64), np.empty(n_hops)
    flow_of, grouped = np.empty(n_hops, np.int64), np.empty(n_hops, np.int64)
    drain_s, before_slow = np.zeros(most), np.zeros(most)
    waiting_s, room_s, last_sender = np.zeros(most), np.zeros(most), np.full(most, -1)
    end_s, weight, weight_s = np.zeros(n_flows), np.zeros(n_flows), np.zeros(n_flows)
    total_s, slowest = np.zeros(n_flows), np.zeros(n_flows, np.int64)
    n_entries, first = 0, 0
    while first < n_flows:
        base, last = n_entries, first
        while last < n_flows and flows.step[last] == flows.step[first]:
            for hop in range(indptr[last], indptr[last + 1]):
                link = flows.link[hop]
                k = entry_of[link]
                if k < 0:
                    k = entry_of[link] = n_entries
                    link_of[k] = link
                    n_entries += 1
                of_hop[hop], flow_of[hop] = k, last
                own_s[hop] = flows.nbytes[last] * flows.share[hop] / capacity[link]
                drain_s[k] += own_s[hop]
            last += 1
        step = steps[flows.step[first]]
        hop0, hop1 = indptr[first], indptr[last]
        # ends of flows, link by link
        start = np.zeros(n_entries - base + 1, np.int64)
        for hop in range(hop0, hop1):
            start[of_hop[hop] - base + 1] += 1
        for k in range(n_entries - base):
            start[k + 1] += start[k]
        fill = start[:-1].copy()
        for hop in range(hop0, hop1):
            k = of_hop[hop] - base
            grouped[fill[k]] = hop
            fill[k] += 1
        for k in range(n_entries - base):
            _end_on(grouped[start[k] : start[k + 1]], flow_of, own_s, end_s)
            step.drain_s = max(step.drain_s, drain_s[base + k])
        # flows by sender, with what each sender injects
        order = np.arange(first, last)
        sender = np.arange(n_flows) if per_flow else flows.sender
        for f in range(first + 1, last):
            if sender[f] < sender[f - 1]:
                by_sender = np.empty(last - first)
                for place in range(first, last):
                    by_sender[place - first] = sender[place]
                order = first + _ascending_order(by_sender)
                break
        _weight_times(order, sender, end_s, weight, weight_s)
        at = 0
        while at < order.size:
            stop, injected_s = at, 0.0
            while stop < order.size and sender[order[stop]] == sender[order[at]]:
                if indptr[order[stop] + 1] > indptr[order[stop]]:
                    injected_s += own_s[indptr[order[stop]]]
                stop += 1
            for place in range(at, stop):
                total_s[order[place]] = injected_s
            at = stop
        # where each flow waits, and how many bytes wait on the links before
        for f in range(first, last):
            step.latency_s = max(step.latency_s, flows.latency_s[f])
            greatest, slowest[f] = 0.0, indptr[f]
            for hop in range(indptr[f], indptr[f + 1]):
                if drain_s[of_hop[hop]] > greatest * _EQUAL:
                    greatest, slowest[f] = drain_s[of_hop[hop]], hop
            for hop in range(indptr[f], slowest[f]):
                before_slow[of_hop[hop]] += flows.nbytes[f] * flows.share[hop]
        for place in range(order.size):
            f = int(order[place])
            filled = 1.0  # of the slots that the flow's packets take
            if packet_bytes > 0.0:
                filled = flows.nbytes[f] / (packet_bytes * np.ceil(flows.nbytes[f] / packet_bytes))
            room = 0.0
            for hop in range(slowest[f] - 1, indptr[f] - 1, -1):
                k = of_hop[hop]
                part = flows.nbytes[f] * flows.share[hop] / before_slow[k]
                room += part * buffer_bytes[flows.link[hop]] * filled
                room_s[k] += room / capacity[flows.link[hop]]
            upstream_s, greatest = 0.0, 0.0
            if indptr[f + 1] > indptr[f]:
                greatest = drain_s[of_hop[slowest[f]]]
            for hop in range(indptr[f], indptr[f + 1]):
                k, part = of_hop[hop], flows.share[hop]
                entry = entries[k]
                entry.weight += weight[f] * part
                entry.fraction += own_s[hop] * part / drain_s[k]
                entry.end_s = max(entry.end_s, end_s[f])
                entry.weight_s += weight_s[f] * part
                entry.injection_s += weight[f] * part * total_s[f]
                if last_sender[k] != sender[f]:
                    last_sender[k] = sender[f]
                    entry.senders += part
                    entry.first_packets_s += own_s[hop] * min(1.0, packet_bytes / flows.nbytes[f])
                entry.offered += own_s[hop] / upstream_s if upstream_s > 0.0 else weight[f] * part
                upstream_s = max(upstream_s, drain_s[k])
                if hop < slowest[f]:
                    waiting_s[k] += own_s[hop] * (1.0 - upstream_s / greatest)
                channel = min(flows.channel[hop], CHANNELS - 1)
                by_channel[k, channel] += np.float32(weight[f] * part)
        for k in range(base, n_entries):
            entry = entries[k]
            entry.step, entry.drain_s, entry.time_s = flows.step[first], drain_s[k], entry.end_s
            entry.injection_s /= entry.weight
            if waiting_s[k] > 0.0 and buffer_bytes[link_of[k]] > 0.0:
                entry.blocked = max(0.0, 1.0 - room_s[k] / waiting_s[k])
            entry_of[link_of[k]] = -1
        first = last
    for a in range(n_steps):
        steps[a].duration_s = steps[a].drain_s + steps[a].latency_s
        steps[a].rounds, steps[a].hide_s = flows.rounds[a], flows.hide_s[a]
    records, order = _by_link(n_entries, link_of, entry_of)
    in_order = np.empty(n_entries, ENTRY)
    for r in range(records.size):
        record, total = records[r], np.float32(0.0)
        for row in range(record.first_entry, record.first_entry + record.n_entries):
            k = order[row]
            in_order[row] = entries[k]
            for c in range(CHANNELS):
                record.channel[c] += by_channel[k, c]
        for c in range(CHANNELS):
            total += record.channel[c]
        for c in range(CHANNELS):
            record.channel[c] /= total
    return steps, records, in_order
