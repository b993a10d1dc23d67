"""
What one job puts on each channel in each step: the constants of the fixed point, compiled.

Import through `netsim.kernelcache`. Constants passed on, such as 0, would have the callee compiled
for them once more: ``int(np.int64(0))`` is none.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, from_dtype, int64, njit, types, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY, RECORD, STEP
from netsim.contention.link_kernels import divisor, weight_exponent

# lists that are only read; kernels take arrays, not tuples of them, which numba unpacks slowly
_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
_INT_ROWS = types.Array(int64, 2, "C", readonly=True)
_FLOAT_ROWS = types.Array(float64, 2, "C", readonly=True)
_FLOWS = (_INTS, _INTS, _FLOATS, _INTS, _INTS, _FLOATS)  # types of the fields of `Flows`
_FABRIC = (_INT_ROWS, _FLOAT_ROWS, float64)
_SCRATCH = (int64[::1], int64[::1], float64[::1])
_SUMS = types.Tuple((int64[::1], float64[::1]))  # type: ignore[no-untyped-call]
_RECORDS, _ENTRIES, _STEPS = from_dtype(RECORD)[::1], from_dtype(ENTRY)[::1], from_dtype(STEP)[::1]


class Flows(NamedTuple):
    """The flows of a job, `Traffic` and its routes; steps ascend."""

    step: Ints
    sender: Ints
    nbytes: Floats
    indptr: Ints
    links: Ints
    latency_s: Floats


class Fabric(NamedTuple):
    """Channel of each link, capacity of each channel, bundles of channels, buffer of a port."""

    channel: Ints
    capacity: Floats
    bundle: Ints  # of each channel, from `netsim.topology.rails.node_bundles`
    bundle_capacity: Floats
    buffer_bytes: float


class Scratch(NamedTuple):
    """Marks that are as they were after every job."""

    entry: Ints  # of each channel in this step, all -1
    opened: Ints  # flows of each sender, all 0; longer than senders and flows
    injected_s: Floats  # of each bundle, all 0


class Places(NamedTuple):
    """Where the entries lie while the steps are gone through: ordered by step."""

    channel: Ints
    link: Ints
    last_sender: Ints  # first flow of the sender counted last
    of_hop: Ints  # entry of each hop of each flow


@njit(void(int64[::1], int64, int64, float64[::1]), cache=True)
def _sort_by_key(order: Ints, first: int, last: int, key: Floats) -> None:
    """Sort order[first:last] by ascending key[order[i]] in place (Shell sort, short lists)."""
    gap = (last - first) // 2
    while gap > 0:
        for i in range(first + gap, last):
            item = order[i]
            value = key[item]
            j = i
            while j >= first + gap and key[order[j - gap]] > value:
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 2


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
        for hop in range(begin, end):
            c = fabric.channel[flows.links[hop]]
            k = scratch.entry[c]
            if k < 0:
                k = n_entries
                n_entries += 1
                scratch.entry[c] = k
                entries[k].step = a
                places.channel[k], places.link[k] = c, flows.links[hop]
                places.last_sender[k] = -1
            places.of_hop[hop] = k
            entries[k].drain_s += flows.nbytes[last] / fabric.capacity[c]
            if hop in (begin, end - 1):
                bundle = fabric.bundle[c]
                scratch.injected_s[bundle] += flows.nbytes[last] / fabric.bundle_capacity[c]
                injection_s = max(injection_s, scratch.injected_s[bundle])
        last += 1
    drain_s = 0.0
    for k in range(base, n_entries):
        drain_s = max(drain_s, entries[k].drain_s)
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
    entries: Table,
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
        for hop in range(flows.indptr[f], flows.indptr[f + 1]):
            longest_s = max(longest_s, entries[places.of_hop[hop]].drain_s)
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
) -> None:
    """Add up what the flows in ``order[first:end]``, sender by sender, weigh: m, q, m G, e, E."""
    i = first
    while i < end:
        head = order[i]
        who = head - first if per_flow else flows.sender[head]
        group_end = -scratch.opened[who] - 1
        scratch.opened[who] = 0
        if group_end - i > 1:
            _sort_by_key(order, i, group_end, finish_s)
        sent = 0.0
        for place in range(i, group_end):
            sent += flows.nbytes[order[place]]
        exponent = weight_exponent(sent / (group_end - i), buffer_bytes)
        weight = 1.0 / divisor(group_end - i, exponent)
        presence_s = 0.0  # integral of the weight of the flows still open
        before_s = 0.0
        for place in range(i, group_end):
            f = order[place]
            presence_s += (finish_s[f] - before_s) / divisor(group_end - place, exponent)
            before_s = finish_s[f]
            own_s = entries[places.of_hop[flows.indptr[f]]].drain_s
            for hop in range(flows.indptr[f], flows.indptr[f + 1]):
                k = places.of_hop[hop]
                entry = entries[k]
                entry.weight += weight
                entry.feed_s += weight * own_s
                entry.end_s = max(entry.end_s, finish_s[f])
                entry.presence_s += presence_s
                if places.last_sender[k] != i:
                    places.last_sender[k] = i
                    entry.senders += 1.0
        i = group_end


@njit(cache=True, error_model="numpy")
def _by_channel(
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
def _empty_tables(flows: Flows) -> tuple[Table, Table, Places]:
    """Return the steps of a job, and room for an entry of each hop."""
    n_flows = flows.step.size
    n_hops = flows.indptr[n_flows]
    rows = np.empty((4, n_hops), np.int64)
    places = Places(rows[0], rows[1], rows[2], rows[3])
    steps = np.zeros(flows.step[n_flows - 1] + 1 if n_flows else 0, STEP)
    return steps, np.zeros(n_hops, ENTRY), places


@njit(cache=True)
def _fabric(channels: Ints, capacities: Floats, buffer_bytes: float) -> Fabric:
    """Return the fabric of rows of numbers: of channels and their bundles."""
    return Fabric(channels[0], capacities[0], channels[1], capacities[1], buffer_bytes)


@njit((*_FLOWS, *_FABRIC, *_SCRATCH), cache=True, error_model="numpy")
def step_times(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    latency_s: Floats,
    channels: Ints,
    capacities: Floats,
    buffer_bytes: float,
    entry: Ints,
    opened: Ints,
    injected_s: Floats,
) -> Table:
    """Return the steps of one job, as `job_constants` does."""
    flows = Flows(step, sender, nbytes, indptr, links, latency_s)
    fabric = _fabric(channels, capacities, buffer_bytes)
    scratch = Scratch(entry, opened, injected_s)
    steps, entries, places = _empty_tables(flows)
    first, n_entries, per_flow = int(np.int64(0)), int(np.int64(0)), bool(np.bool_(False))
    while first < flows.step.size:
        base = n_entries
        last, n_entries = _drain(
            first, base, per_flow, flows, fabric, scratch, places, entries, steps
        )
        for f in range(first, last):
            scratch.opened[flows.sender[f]] = 0
            for hop in range(flows.indptr[f], flows.indptr[f + 1]):
                scratch.injected_s[fabric.bundle[fabric.channel[flows.links[hop]]]] = 0.0
        for k in range(base, n_entries):
            scratch.entry[places.channel[k]] = -1
        first = last
    return steps


@njit((*_FLOWS, boolean, *_FABRIC, *_SCRATCH), cache=True, error_model="numpy")
def job_constants(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    latency_s: Floats,
    per_flow: bool,
    channels: Ints,
    capacities: Floats,
    buffer_bytes: float,
    entry: Ints,
    opened: Ints,
    injected_s: Floats,
) -> tuple[Table, Table, Table]:
    """
    Return records (job, channel), entries (job, channel, step) and steps of one job.

    The tables are those of `JobConstants`, the first arguments the fields of `Traffic` and its
    routes. With `per_flow` each flow counts as a sender of its own. `channels` and `capacities`
    hold the channel of each link and its capacity, then those of `Fabric.bundle`; the last
    arguments are `Scratch`.
    """
    flows = Flows(step, sender, nbytes, indptr, links, latency_s)
    fabric = _fabric(channels, capacities, buffer_bytes)
    scratch = Scratch(entry, opened, injected_s)
    n_flows = flows.step.size
    steps, entries, places = _empty_tables(flows)
    finish_s = np.empty(n_flows)
    order = np.empty(n_flows, np.int64)
    first, n_entries = int(np.int64(0)), int(np.int64(0))
    while first < n_flows:
        base = n_entries
        last, n_entries = _drain(
            first, base, per_flow, flows, fabric, scratch, places, entries, steps
        )
        end = _finish(
            first, last, per_flow, flows, fabric, scratch, places, entries, finish_s, order
        )
        _weigh(first, end, per_flow, flows, scratch, places, entries, finish_s, order, buffer_bytes)
        for k in range(base, n_entries):
            own = entries[k]
            own.feed_s /= own.weight
            own.queue_s = fabric.buffer_bytes / fabric.capacity[places.channel[k]]
            own.limit_s = max(0.0, min(own.end_s, steps[own.step].drain_s - own.queue_s))
            scratch.entry[places.channel[k]] = -1
        first = last
    records, grouped = _by_channel(n_entries, scratch.entry, places, entries)
    return records, grouped, steps


@njit(boolean(*_FLOWS, int64, int64), cache=True)
def fits_together(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    latency_s: Floats,
    n_links: int,
    n_senders: int,
) -> bool:
    """Say whether the flows of a job are what `netsim.contention.constants` demands of them."""
    n_flows = step.size
    sizes = sender.size == n_flows and nbytes.size == n_flows and latency_s.size == n_flows
    if not sizes or indptr.size != n_flows + 1 or indptr[0] != 0 or indptr[n_flows] != links.size:
        return False
    before = 0
    for f in range(n_flows):
        if indptr[f + 1] < indptr[f] or step[f] < before or not 0 <= sender[f] < n_senders:
            return False
        if not (0.0 < nbytes[f] < np.inf and 0.0 <= latency_s[f] < np.inf):
            return False
        before = step[f]
    outside = 0
    for link in links:
        outside += link < 0 or link >= n_links
    return outside == 0


@njit(_SUMS(_FLOATS, _INTS, _INTS, int64), cache=True)
def link_bytes(nbytes: Floats, indptr: Ints, links: Ints, n_links: int) -> tuple[Ints, Floats]:
    """Return the links that flows use, ascending, and the bytes on each."""
    total = np.zeros(n_links)
    for f in range(nbytes.size):
        for hop in range(indptr[f], indptr[f + 1]):
            total[links[hop]] += nbytes[f]
    used = np.flatnonzero(total)
    return used, total[used]
