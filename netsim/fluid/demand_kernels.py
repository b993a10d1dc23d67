"""
What a job puts on links when it is alone, compiled.

A hop is a flow on a link; an entry is all hops of one step on one link::

    flows (F) ── hops indptr[f]..indptr[f+1] ── link, share, channel
    step ── entries first..last ── drain, weight, ... of the step on a link

With B(l) the drain time of link l, that is all bytes of the step over its capacity, a flow f of
b_f bytes ends alone at e_f = max over its links of sum_g min(b_g, b_f) / C: processor sharing on
the link that takes longest. A sender shares its injection link evenly among its open flows, so a
flow weighs 1/o, o being their number; E integrates this weight until e_f. On the injection link
itself, which jobs share where they share a node, each flow weighs 1 and counts as a sender.

Packets of a flow wait before the link of its path with the greatest B. U is the time of the link
here that these bytes take, 1 - B'/B'' of the flow's with B' the greatest B up to here and B'' the
greatest of the path; K is the room for them in the buffers between. A link is blocked for others
for g = 1 - K/U of the time.
"""

import numpy as np
from numba import float64, int64, typeof, types

from netsim.common.arrays import Floats, Ints, Table
from netsim.common.jit import njit
from netsim.fluid.tables import (
    CHANNELS,
    ENTRY,
    ENTRY_WORK,
    FLOW_WORK,
    HOP_WORK,
    RECORD,
    SENT_WORK,
    STEP,
    Demand,
    DemandWork,
    Flows,
)

_EQUAL = 1.0 + 1e-9  # drain times that differ by less are the same
_NO_ENTRY, _NO_RECORD = np.zeros(1, ENTRY), np.zeros(1, RECORD)
_NO_FLOW, _NO_ENTRY_WORK = np.zeros(1, FLOW_WORK), np.zeros(1, ENTRY_WORK)
_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
FLOWS = types.Tuple(  # plain tuples, which numba takes apart in half the time of named ones
    (_INTS, _INTS, _FLOATS, _FLOATS, _INTS, _INTS, _FLOATS, _INTS, _INTS, _FLOATS)
)
DEMAND = types.Tuple(tuple(typeof(np.zeros(1, kind)) for kind in (STEP, RECORD, ENTRY)))
WORK = types.Tuple(
    (
        *(
            typeof(np.zeros(1, kind))
            for kind in (FLOW_WORK, SENT_WORK, HOP_WORK, ENTRY, ENTRY_WORK)
        ),
        *[int64[::1]] * 5,
    )
)


@njit(allocates=False)
def _sort_places(places: Ints, keys: Floats, spare: Ints) -> None:
    """Put places in ascending order of their keys, equal ones as they are: a merge sort."""
    n, width, ascending = places.size, 1, True
    for at in range(1, n):
        ascending = ascending and keys[places[at - 1]] <= keys[places[at]]
    while width < n and not ascending:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            left, right = low, middle
            for at in range(low, high):
                takes_left = right >= high
                if left < middle and right < high:
                    takes_left = keys[places[left]] <= keys[places[right]]
                if takes_left:
                    spare[at] = places[left]
                    left += 1
                else:
                    spare[at] = places[right]
                    right += 1
        for at in range(n):
            places[at] = spare[at]
        width *= 2


@njit(allocates=False)
def _share_at(flows: Flows, h: int) -> float:
    """Return the part of its flow that crosses a link."""
    share: float = flows.share[min(h, flows.share.size - 1)]
    return share


@njit(error_model="numpy", allocates=False)
def _hop_time(flows: Flows, f: int, h: int, capacity: Floats) -> float:
    """Return how long a link takes for the bytes of a flow that cross it."""
    own_s: float = flows.nbytes[f] * _share_at(flows, h) / capacity[flows.link[h]]
    return own_s


@njit(error_model="numpy", allocates=False)
def _find_ends(
    flows: Flows,
    part: tuple[int, int],
    entries: tuple[int, int],
    capacity: Floats,
    work: DemandWork,
) -> None:
    """
    Find when the flows of a step end alone, where each waits, and how many bytes wait on links.

    `part`, `entries`: where those of the step begin and end. Hops on links that flows of several
    sizes cross are grouped by link.
    """
    indptr, of_entry = flows.indptr, work.of_entry
    stop = indptr[part[0]]
    for k in range(entries[0], entries[1]):
        here = of_entry[k]
        here.is_even = here.most_s <= here.least_s * _EQUAL
        here.stop = stop
        if not here.is_even:
            stop += here.n_hops
    for f in range(part[0], part[1]):
        flow = work.flows[f]
        greatest, flow.slowest = 0.0, indptr[f]
        for h in range(indptr[f], indptr[f + 1]):
            here = of_entry[work.entry_of[flows.link[h]]]
            if here.is_even:
                flow.end_s = max(flow.end_s, here.drain_s)
            else:
                work.hops[h].own_s, work.hops[h].flow = _hop_time(flows, f, h, capacity), f
                work.grouped[here.stop] = h
                here.stop += 1
            if here.drain_s > greatest * _EQUAL:
                greatest, flow.slowest = here.drain_s, h
        for h in range(indptr[f], flow.slowest):
            here = of_entry[work.entry_of[flows.link[h]]]
            here.before_slow += flows.nbytes[f] * _share_at(flows, h)
    for k in range(entries[0], entries[1]):
        here = of_entry[k]
        if here.is_even:
            continue
        on_link, smaller = work.grouped[here.stop - here.n_hops : here.stop], 0.0
        _sort_places(on_link, work.hops["own_s"], work.spare)
        for rank in range(on_link.size):
            hop = work.hops[on_link[rank]]
            flow = work.flows[hop.flow]
            flow.end_s = max(flow.end_s, smaller + (on_link.size - rank) * hop.own_s)
            smaller += hop.own_s


@njit(allocates=False)
def _weigh_flows(own: Ints, flows: Table, sent: Table, by_end: Ints, spare: Ints) -> None:
    """
    Find for the flows of one sender, `own`, their first weight 1/o and its integral until they end.

    Flows that stay on their node end at 0 and are not open on the sender's link. `by_end`, `spare`:
    scratch.
    """
    n_open = 0
    for place in range(own.size):
        flow = sent[place]
        flow.end_s, flow.weight, flow.weight_s = flows[own[place]].end_s, 0.0, 0.0
        n_open += flow.end_s > 0.0
        by_end[place] = place
    _sort_places(by_end[: own.size], sent["end_s"], spare)
    integral, before = 0.0, 0.0
    for rank in range(n_open):
        flow = sent[by_end[own.size - n_open + rank]]
        integral += (flow.end_s - before) / (n_open - rank)
        before = flow.end_s
        flow.weight, flow.weight_s = 1.0 / n_open, integral


@njit(allocates=False)
def _by_link(entries: Table, work: Table, record_of: Ints, records: Table, ordered: Table) -> int:
    """Write records, and the entries in their order; `record_of` is all -1 before and after."""
    n_records = 0
    for k in range(entries.size):
        r = record_of[work[k].link]
        if r < 0:
            r = record_of[work[k].link] = n_records
            records[r] = _NO_RECORD[0]
            records[r].link, records[r].next_record = work[k].link, -1
            n_records += 1
        records[r].n_entries += 1
    first = 0
    for r in range(n_records):
        records[r].first_entry = first
        first += records[r].n_entries
        records[r].n_entries = 0
    for k in range(entries.size):
        record = records[record_of[work[k].link]]
        ordered[record.first_entry + record.n_entries] = entries[k]
        record.n_entries += 1
        for c in range(CHANNELS):
            record.channel[c] += work[k].by_channel[c]
    for r in range(n_records):
        record, total = records[r], np.float32(0.0)
        record_of[record.link] = -1
        for c in range(CHANNELS):
            total += record.channel[c]
        for c in range(CHANNELS):
            record.channel[c] /= total
    return n_records


@njit(error_model="numpy", allocates=False)
def _job_demand(
    flows: Flows,
    part: tuple[int, int, int, int],
    fabric: tuple[Floats, Floats, float],
    per_flow: bool,
    work: DemandWork,
    demand: Demand,
) -> tuple[int, int]:
    """
    Write what one job puts on links; return how many records and entries.

    `part`: where its flows begin and end, and its steps. `demand`: its rows first of all, but for
    steps.
    """
    capacity, buffer_bytes, packet_bytes = fabric
    first_flow, n_flows, first_step, last_step = part
    steps = demand.steps
    indptr, entry_of, entries = flows.indptr, work.entry_of, work.entries
    n_entries, first = 0, first_flow
    while first < n_flows:
        base, last, step = n_entries, first, steps[flows.step[first]]
        while last < n_flows and flows.step[last] == flows.step[first]:
            work.flows[last] = _NO_FLOW[0]
            work.flows[last].sender = last if per_flow else flows.sender[last]
            work.by_sender[last] = last
            step.latency_s = max(step.latency_s, flows.latency_s[last])
            for h in range(indptr[last], indptr[last + 1]):
                link, own_s = flows.link[h], _hop_time(flows, last, h, capacity)
                k = entry_of[link]
                if k < 0:
                    k = entry_of[link] = n_entries
                    entries[k], work.of_entry[k] = _NO_ENTRY[0], _NO_ENTRY_WORK[0]
                    work.of_entry[k].link, work.of_entry[k].last_sender = link, -1
                    work.of_entry[k].least_s = np.inf
                    n_entries += 1
                here = work.of_entry[k]
                here.least_s, here.most_s = min(here.least_s, own_s), max(here.most_s, own_s)
                here.n_hops += 1
                here.drain_s += own_s
            last += 1
        _find_ends(flows, (first, last), (base, n_entries), capacity, work)
        for k in range(base, n_entries):
            entries[k].drain_s = work.of_entry[k].drain_s
            step.drain_s = max(step.drain_s, entries[k].drain_s)
        # flows by sender, with what each sender injects
        by_sender = work.by_sender[first:last]
        _sort_places(by_sender, work.flows["sender"], work.spare)
        at = 0
        while at < by_sender.size:
            stop, injected_s, sender = at, 0.0, work.flows[by_sender[at]].sender
            while stop < by_sender.size and work.flows[by_sender[stop]].sender == sender:
                f = by_sender[stop]
                if indptr[f + 1] > indptr[f]:
                    injected_s += _hop_time(flows, f, indptr[f], capacity)
                stop += 1
            own = by_sender[at:stop]
            at = stop
            _weigh_flows(own, work.flows, work.sent, work.by_end, work.spare)
            for place in range(own.size):
                f, sent = own[place], work.sent[place]
                flow = work.flows[f]
                filled = 1.0  # of the slots that the flow's packets take
                if packet_bytes > 0.0:
                    filled = flows.nbytes[f] / (
                        packet_bytes * np.ceil(flows.nbytes[f] / packet_bytes)
                    )
                room = 0.0
                for h in range(flow.slowest - 1, indptr[f] - 1, -1):
                    here = work.of_entry[entry_of[flows.link[h]]]
                    crossing = flows.nbytes[f] * _share_at(flows, h) / here.before_slow
                    room += crossing * buffer_bytes[flows.link[h]] * filled
                    here.room_s += room / capacity[flows.link[h]]
                upstream_s, greatest = 0.0, 0.0
                if indptr[f + 1] > indptr[f]:
                    greatest = entries[entry_of[flows.link[flow.slowest]]].drain_s
                for h in range(indptr[f], indptr[f + 1]):
                    k, share = entry_of[flows.link[h]], _share_at(flows, h)
                    own_s = _hop_time(flows, f, h, capacity)
                    entry, here = entries[k], work.of_entry[k]
                    by_message = h == indptr[f]
                    weight = 1.0 if by_message else sent.weight
                    entry.weight += weight * share
                    entry.fraction += own_s * share / entry.drain_s
                    entry.end_s = max(entry.end_s, flow.end_s)
                    entry.weight_s += (flow.end_s if by_message else sent.weight_s) * share
                    entry.injection_s += weight * share * injected_s
                    if by_message or here.last_sender != flow.sender:
                        here.last_sender = flow.sender
                        entry.senders += share
                        entry.first_packets_s += own_s * min(1.0, packet_bytes / flows.nbytes[f])
                    entry.offered += own_s / upstream_s if upstream_s > 0.0 else sent.weight * share
                    upstream_s = max(upstream_s, entry.drain_s)
                    if h < flow.slowest:
                        here.waiting_s += own_s * (1.0 - upstream_s / greatest)
                    channel = min(flows.channel[h], CHANNELS - 1)
                    here.by_channel[channel] += np.float32(sent.weight * share)
        for k in range(base, n_entries):
            entry, here = entries[k], work.of_entry[k]
            entry.step, entry.time_s = flows.step[first] - first_step, entry.end_s
            entry.injection_s /= entry.weight
            if here.waiting_s > 0.0 and buffer_bytes[here.link] > 0.0:
                entry.blocked = max(0.0, 1.0 - here.room_s / here.waiting_s)
            entry_of[here.link] = -1
        first = last
    for a in range(first_step, last_step):
        steps[a].duration_s = steps[a].drain_s + steps[a].latency_s
        steps[a].rounds, steps[a].hide_s = flows.rounds[a], flows.hide_s[a]
    found = _by_link(entries[:n_entries], work.of_entry, entry_of, demand.records, demand.entries)
    return found, n_entries


@njit(
    types.UniTuple(int64, 2)(
        FLOWS,
        int64[:, ::1],
        types.Tuple((_FLOATS, _FLOATS, float64)),
        types.boolean,
        WORK,
        DEMAND,
        int64[:, ::1],
    ),
    cache=True,
    error_model="numpy",
    allocates=False,
)
def job_demands(
    flows: Flows,
    first: Ints,
    fabric: tuple[Floats, Floats, float],
    per_flow: bool,
    work: DemandWork,
    demand: Demand,
    sizes: Ints,
) -> tuple[int, int]:
    """
    Write steps, records and entries of jobs alone, one after the other; return how many of both.

    `first` (2, jobs + 1): flow and step with which each job begins, and where the last ends.
    `flows`: steps ascend; bytes are those of one round. `fabric`: `capacity` (E,): bytes/s.
    `buffer_bytes` (E,): of a virtual channel, of all its links where a link stands for several.
    `packet_bytes`: 0 where none is stated. `per_flow`: each flow is a sender of its own.
    `demand`: rows for as many as there can be; steps are all 0. `sizes` (2, jobs): written: how
    many records and entries there are.

    Records are in the order in which flows first cross their links; their fields `job`,
    `next_record` and the marks are for the solver.
    """
    flows, work, demand = Flows(*flows), DemandWork(*work), Demand(*demand)
    n_records, n_entries = 0, 0
    for job in range(sizes.shape[1]):
        part = first[0, job], first[0, job + 1], first[1, job], first[1, job + 1]
        sizes[0, job], sizes[1, job] = _job_demand(
            flows,
            part,
            fabric,
            per_flow,
            work,
            Demand(demand.steps, demand.records[n_records:], demand.entries[n_entries:]),
        )
        n_records += sizes[0, job]
        n_entries += sizes[1, job]
    return n_records, n_entries
