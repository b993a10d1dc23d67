"""
What one job puts on each channel in each step: the constants of the fixed point, compiled.

Import through `netsim.kernelcache`. Constants passed on, such as 0, would have the callee compiled
for them once more: ``int(np.int64(0))`` is none.
"""

import numpy as np
from numba import boolean, float64, from_dtype, int64

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY, RECORD, STEP, Fabric, Flows, Places, Scratch
from netsim.contention.drawn_kernels import count_drawn, meet_own
from netsim.contention.filling_kernels import hold_back
from netsim.contention.link_kernels import divisor, place_fill, stage_of, weight_exponent
from netsim.contention.port_kernels import weigh_by_ports
from netsim.contention.queueing_kernels import queue_up, sort_by_key
from netsim.contention.traffic_kernels import FLOAT_ROWS, FLOATS, INT_ROWS, INTS, fits_together
from netsim.jit import njit

_FLOWS = (INTS, INTS, FLOATS, INTS, INTS, FLOATS)  # types of the fields of `Flows`
_FABRIC = (INT_ROWS, FLOAT_ROWS, int64, FLOATS)
_SCRATCH = (int64[::1], int64[::1], float64[::1])
_RECORDS, _ENTRIES, _STEPS = from_dtype(RECORD)[::1], from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]


@njit(cache=True, error_model="numpy")
def _drain(
    first: int,
    n_entries: int,
    per_flow: bool,
    flows: Flows,
    fabric: Fabric,
    scratch: Scratch,
    places: Places,
    entries: Table,
    steps: Table,
) -> tuple[int, int]:
    """
    Put the bytes of the step that begins with a flow on its channels: B, tau, lam and injection.

    Returns the first flow of the next step and how many entries there are now. `opened` holds how
    many flows each sender opens.
    """
    a = flows.step[first]
    base, last = n_entries, first
    latency_s, injection_s = 0.0, 0.0
    while last < flows.step.size and flows.step[last] == a:
        begin, end = flows.indptr[last], flows.indptr[last + 1]
        latency_s = max(latency_s, flows.latency_s[last])
        if end > begin:
            scratch.opened[last - first if per_flow else flows.sender[last]] += 1
        fill = place_fill(flows.nbytes[last], fabric.place_bytes)
        capacity, own_s = -1.0, 0.0  # most links of a path are alike: one division for all
        for hop in range(begin, end):
            c = fabric.channel[flows.links[hop]]
            k = scratch.entry[c]
            if k < 0:
                k = n_entries
                n_entries += 1
                scratch.entry[c] = k
                fresh = entries[k]
                fresh.step = a
                fresh.weight = fresh.senders = fresh.feed_s = fresh.end_s = fresh.presence_s = 0.0
                fresh.held, fresh.closed, fresh.queued, fresh.stage = 0.0, 0.0, 0.0, 0
                fresh.drawn = fresh.packet_s = fresh.slots = fresh.met_s = 0.0
                places.channel[k], places.link[k] = c, flows.links[hop]
                places.last_sender[k] = -1
                places.drain_s[k] = places.fill[k] = 0.0
            places.of_hop[hop] = k
            if fabric.capacity[c] != capacity:
                capacity = fabric.capacity[c]
                own_s = flows.nbytes[last] / capacity
            places.drain_s[k] += own_s
            places.fill[k] += own_s / fill
            if hop in (begin, end - 1):
                bundle = fabric.bundle[c]
                scratch.injected_s[bundle] += flows.nbytes[last] / fabric.bundle_capacity[c]
                injection_s = max(injection_s, scratch.injected_s[bundle])
        last += 1
    drain_s = 0.0
    for k in range(base, n_entries):
        drain_s = max(drain_s, places.drain_s[k])
        full_s = places.fill[k]
        places.fill[k] = places.drain_s[k] / full_s if full_s > 0.0 else 1.0
    steps[a].drain_s, steps[a].latency_s = drain_s, latency_s
    steps[a].injection_s = injection_s + latency_s
    return last, n_entries


@njit(cache=True)
def _finish(
    first: int,
    last: int,
    per_flow: bool,
    flows: Flows,
    fabric: Fabric,
    scratch: Scratch,
    places: Places,
    finish_s: Floats,
    order: Ints,
) -> int:
    """
    Find when the flows of a step end, and sort those that leave their node by sender.

    ``order[first:end]`` holds them, `end` is returned. `opened` turns from counts into -1 - the
    end of each sender's group; what was injected is forgotten.
    """
    place = first
    for f in range(first, last):
        longest_s = 0.0
        begin, end = flows.indptr[f], flows.indptr[f + 1]
        for hop in range(begin, end):
            longest_s = max(longest_s, places.drain_s[places.of_hop[hop]])
            if hop in (begin, end - 1):
                scratch.injected_s[fabric.bundle[fabric.channel[flows.links[hop]]]] = 0.0
        finish_s[f] = longest_s
        if flows.indptr[f + 1] > flows.indptr[f]:
            who = f - first if per_flow else flows.sender[f]
            if scratch.opened[who] > 0:
                count = scratch.opened[who]
                scratch.opened[who] = -(place + 1)
                place += count
            order[-scratch.opened[who] - 1] = f
            scratch.opened[who] -= 1
    return place


@njit(cache=True)
def _weigh(
    first: int,
    end: int,
    per_flow: bool,
    flows: Flows,
    scratch: Scratch,
    places: Places,
    entries: Table,
    finish_s: Floats,
    order: Ints,
    buffer_bytes: float,
    weights: Floats,
) -> None:
    """Find what the flows in ``order[first:end]`` weigh, sender by sender, add it up; e and v."""
    i = first
    while i < end:
        head = order[i]
        who = head - first if per_flow else flows.sender[head]
        group_end = -scratch.opened[who] - 1
        scratch.opened[who] = 0
        if group_end - i > 1:
            sort_by_key(order, i, group_end, finish_s)
        sent = 0.0
        for place in range(i, group_end):
            sent += flows.nbytes[order[place]]
        exponent = weight_exponent(sent / (group_end - i), buffer_bytes)
        weight = 1.0 / divisor(group_end - i, exponent)
        presence_s = 0.0  # integral of the weight of the flows still open
        before_s = 0.0
        for place in range(i, group_end):
            f = order[place]
            weights[f] = weight
            presence_s += (finish_s[f] - before_s) / divisor(group_end - place, exponent)
            before_s = finish_s[f]
            begin, n_links = flows.indptr[f], flows.indptr[f + 1] - flows.indptr[f]
            own_s = places.drain_s[places.of_hop[begin]]
            this_far_s = 0.0
            for hop in range(begin, begin + n_links):
                k = places.of_hop[hop]
                entry = entries[k]
                if buffer_bytes > 0.0:  # else nothing waits on the way
                    if this_far_s > 0.0:
                        entry.queued += flows.nbytes[f] / this_far_s
                    this_far_s = max(this_far_s, places.drain_s[k])
                    if this_far_s < finish_s[f]:
                        part = 1.0 - this_far_s / finish_s[f]
                        entry.held = max(entry.held, part)
                        entry.closed += part * flows.nbytes[f]
                entry.stage = max(entry.stage, stage_of(hop - begin, n_links))
                entry.weight += weight
                entry.feed_s += weight * own_s
                entry.end_s = max(entry.end_s, finish_s[f])
                entry.presence_s += presence_s
                if places.last_sender[k] != i:
                    places.last_sender[k] = i
                    entry.senders += 1.0
        i = group_end


@njit(cache=True, error_model="numpy")
def by_channel(
    n_entries: int, record_of: Ints, places: Places, entries: Table
) -> tuple[Table, Table]:
    """Return records and the entries grouped by them; `record_of` is -1 before and after."""
    n_records = 0
    size = np.zeros(n_entries, np.int64)
    for k in range(n_entries):
        c = places.channel[k]
        if record_of[c] < 0:
            record_of[c] = n_records
            n_records += 1
        size[record_of[c]] += 1
    records = np.zeros(n_records, RECORD)
    first = 0
    for r in range(n_records):
        records[r].first_entry = first
        records[r].slack = np.inf
        first += size[r]
    grouped = np.empty(n_entries, ENTRY)
    for k in range(n_entries):
        record, entry = records[record_of[places.channel[k]]], entries[k]
        record.channel, record.link = places.channel[k], places.link[k]
        grouped[record.first_entry + record.n_entries] = entry
        record.n_entries += 1
        record.drain_s += entry.drain_s
        record.presence_s += entry.presence_s
        record.slack = min(record.slack, entry.limit_s / entry.drain_s)
        record.per_weight = max(record.per_weight, 1.0 / entry.weight)
    for r in range(n_records):
        record_of[records[r].channel] = -1
    return records, grouped


@njit(cache=True)
def _empty_steps(flows: Flows) -> Table:
    """Return the steps of a job, still without times."""
    n_flows = flows.step.size
    return np.zeros(flows.step[n_flows - 1] + 1 if n_flows else 0, STEP)


@njit(cache=True)
def _places(n_hops: int) -> Places:
    """Return room for an entry of each hop."""
    rows = np.empty((4, n_hops), np.int64)
    return Places(rows[0], rows[1], rows[2], rows[3], np.empty(n_hops), np.empty(n_hops))


@njit(cache=True)
def fabric_of(channels: Ints, capacities: Floats, port: Floats) -> Fabric:
    """Return the fabric of rows of numbers: of channels and their bundles."""
    bundle, bundle_capacity, port_capacity = channels[1], capacities[1], capacities[2]
    ports = port_capacity, port[0], port[1], port[2]
    return Fabric(channels[0], capacities[0], bundle, bundle_capacity, *ports)


@njit((*_FLOWS, *_FABRIC, *_SCRATCH, boolean), cache=True, error_model="numpy")
def job_constants(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    latency_s: Floats,
    channels: Ints,
    capacities: Floats,
    n_senders: int,
    port: Floats,
    entry: Ints,
    opened: Ints,
    injected_s: Floats,
    per_flow: bool,
) -> tuple[Table, Table, Table]:
    """
    Return records (job, channel), entries (job, channel, step) and steps of one job.

    The tables are those of `JobConstants`, all empty where the flows do not fit together; the
    first arguments are the fields of `Traffic` and its routes. `channels` and `capacities` hold the
    channel of each link, its capacity, those of `Fabric.bundle`, and the capacity of a port; where
    switches choose a third row of `channels` has 1 for links that packets find by chance. `port`:
    bytes of its buffer, of a packet and of a place; `Scratch` follows. With `per_flow` each flow
    counts as a sender of its own.
    """
    flows = Flows(step, sender, nbytes, indptr, links, latency_s)
    fabric, buffer_bytes = fabric_of(channels, capacities, port), port[0]
    scratch = Scratch(entry, opened, injected_s)
    if not fits_together(
        step, sender, nbytes, indptr, links, latency_s, channels.shape[1], n_senders
    ):
        return np.zeros(0, RECORD), np.zeros(0, ENTRY), np.zeros(0, STEP)
    n_flows = step.size
    steps, entries, places = _empty_steps(flows), np.empty(links.size, ENTRY), _places(links.size)
    finish_s, weights = np.empty(n_flows), np.zeros(n_flows)
    order = np.empty(n_flows, np.int64)
    first, n_entries = int(np.int64(0)), int(np.int64(0))
    while first < n_flows:
        base = n_entries
        last, n_entries = _drain(
            first, base, per_flow, flows, fabric, scratch, places, entries, steps
        )
        end = _finish(first, last, per_flow, flows, fabric, scratch, places, finish_s, order)
        _weigh(
            first,
            end,
            per_flow,
            flows,
            scratch,
            places,
            entries,
            finish_s,
            order,
            buffer_bytes,
            weights,
        )
        if buffer_bytes > 0.0:
            queue_up(first, last, base, n_entries, flows, fabric, places, entries)
            hold_back(first, last, base, n_entries, flows, fabric, places, entries, finish_s)
            if channels.shape[0] > 2:  # noqa: PLR2004 (switches choose)
                count_drawn(
                    first, last, base, n_entries, channels[2], flows, fabric, places, entries
                )
        for k in range(base, n_entries):
            own = entries[k]
            own.drain_s = places.drain_s[k]
            own.feed_s /= own.weight
            c = places.channel[k]
            own.links = fabric.capacity[c] / fabric.port_capacity[c]
            own.queue_s = fabric.buffer_bytes / fabric.capacity[c]
            most_wait_s = fabric.buffer_bytes / fabric.port_capacity[c]
            own.limit_s = max(0.0, min(own.end_s, steps[own.step].drain_s - most_wait_s))
            scratch.entry[places.channel[k]] = -1
        if buffer_bytes > 0.0 and not per_flow:
            weigh_by_ports(first, last, base, n_entries, flows, fabric, places, entries, weights)
            for k in range(base, n_entries):
                entries[k].weight *= places.fill[k]
                entries[k].senders *= places.fill[k]
                entries[k].presence_s *= places.fill[k]
        if buffer_bytes > 0.0 and channels.shape[0] > 2:  # noqa: PLR2004 (switches choose)
            meet_own(base, n_entries, steps, entries)
        first = last
    records, grouped = by_channel(n_entries, scratch.entry, places, entries)
    return records, grouped, steps
