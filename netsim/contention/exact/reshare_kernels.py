"""
Compiled re-sharing: levels are brought up to date where flows came, went or changed weight.

Rates stay max-min fair through *re-sharing*: after flows have started, ended or changed
their weight, only the part of the network whose fair shares move is filled again. Rates
change upwards and downwards along chains of bottlenecks, so the filling sweeps fair levels
(rate / weight) from below, as progressive filling does, but visits only *dirty* channels:

* a channel is dirty once a flow on it has changed; its flows' old levels are void when the
  sweep passes the channel's old level without the channel being full (*release*);
* released flows may rise, which makes their other channels dirty;
* a dirty channel that fills at a level *freezes* its flows there; those whose level has
  changed make their other channels dirty; those that keep it touch nobody.

A channel nobody touches keeps its flows, exactly, and costs nothing. What the flows on a channel
take together is kept up as they change, so that most dirty channels are put in order without a look
at their flows; before a channel freezes its level is found from these, exactly.
"""

from typing import NamedTuple

import numpy as np

from netsim.arrays import Floats, Ints, Table
from netsim.contention.exact.columns import ENTRY, FLOW, LIST, SEAT
from netsim.flows.maxmin_kernels import Heap, heap_remove, heap_set, new_heap
from netsim.jit import njit
from netsim.uncounted_kernels import uncounted

_TIE = 1e-12  # levels closer than this (relative) are equal


class Dirty(NamedTuple):
    """Channels to look at."""

    heap: Heap  # by level; after all channels, those to release
    listed: Ints  # whose level is to be found
    numbers: Ints  # how many are listed; the last sweep; how many flows it has visited


@njit(cache=True)
def new_dirty(n_channels: int) -> Dirty:
    """Return no channels to look at."""
    return Dirty(new_heap(2 * n_channels), np.empty(n_channels, np.int64), np.zeros(3, np.int64))


@njit(cache=True)
def new_tables(indptr: Ints, list_of: Ints, capacity: Floats) -> tuple[Table, Table, Table, Table]:
    """
    Return flows, entries, seats and lists of a network on which no flow runs.

    Flow f crosses the channels ``list_of[indptr[f]:indptr[f + 1] - 1]`` of the C there are; the
    last entry of its row is C + its sender.
    """
    flows, entries = np.zeros(indptr.size - 1, FLOW), np.zeros(list_of.size, ENTRY)
    lists, seats = np.zeros(list_of.max() + 1, LIST), np.zeros(list_of.size, SEAT)
    for number in range(flows.size):
        flow = flows[number]
        flow.first_entry, flow.sender_entry = indptr[number], indptr[number + 1] - 1
        flow.end_entry = flow.sender_entry
        flow.weight, flow.bottleneck, flow.first_rate = 1.0, -1, -1.0
    for number in range(entries.size):
        entries[number].list, entries[number].seat = list_of[number], -1
        if list_of[number] + 1 < lists.size:
            lists[list_of[number] + 1].first += 1
    for number in range(1, lists.size):
        lists[number].first += lists[number - 1].first
    for channel in range(capacity.size):
        lists[channel].capacity, lists[channel].filled = capacity[channel], np.inf
    return flows, entries, seats, lists


@uncounted(dissolved=True)
def _fair_level(channel: int, sweep: int, flows: Table, seats: Table, lists: Table) -> float:
    """
    Return the level at which a channel fills, inf if its flows leave room.

    Flows that are final, or whose bottleneck is another channel, take no more than their
    level; the rest rise until the channel is full.
    """
    own = lists[channel]
    room = own.capacity
    begin, end = own.first, own.first + own.length
    fixed, rising, held, top = 0.0, 0.0, 0.0, 0.0
    n_rising = 0
    for seat in range(begin, end):
        flow = flows[seats[seat].flow]
        if flow.final:
            fixed += flow.weight * flow.level
        elif flow.bottleneck < 0 or flow.bottleneck == channel:
            rising += flow.weight
            n_rising += 1
        else:
            held += flow.weight * flow.level
            top = max(top, flow.level)
    own.held, own.rising, own.top, own.n_rising = fixed + held, rising, top, n_rising
    own.known = own.froze != sweep
    left = room - fixed - held
    if n_rising == 0:
        if left >= -_TIE * room:
            return np.inf
    elif left / rising >= top * (1.0 - _TIE):
        return float(max(left, 0.0) / rising)
    share = 0.0  # some held flows reach less than their level here: raise the share from below
    while True:
        taken, open_weight = fixed, rising
        for seat in range(begin, end):
            flow = flows[seats[seat].flow]
            if flow.final or flow.bottleneck < 0 or flow.bottleneck == channel:
                continue
            if flow.level <= share:
                taken += flow.weight * flow.level
            else:
                open_weight += flow.weight
        if open_weight == 0.0:
            return np.inf
        risen = max(room - taken, 0.0) / open_weight
        if risen <= share * (1.0 + _TIE):
            return float(risen)
        share = risen


@uncounted(dissolved=True)
def _about_level(channel: int, sweep: int, flows: Table, seats: Table, lists: Table) -> float:
    """Return the fair level of a channel, to rounding if that saves looking at its flows."""
    own = lists[channel]
    if own.known:
        own.fresh = False
        left = own.capacity - own.held
        if own.n_rising == 0:
            if left >= -_TIE * own.capacity:
                return np.inf
        elif left >= own.top * (1.0 - _TIE) * own.rising:
            return float(max(left, 0.0) / own.rising)
    own.fresh = True
    return _fair_level(channel, sweep, flows, seats, lists)


@uncounted(dissolved=True)
def _list(channel: int, lists: Table, dirty: Dirty) -> None:
    """Have the level of a channel found before the sweep goes on."""
    if not lists[channel].listed:
        lists[channel].listed = True
        dirty.listed[dirty.numbers[0]] = channel
        dirty.numbers[0] += 1


@uncounted(dissolved=True)
def _schedule_release(channel: int, lists: Table, dirty: Dirty) -> None:
    """Release the flows of a channel that was full, at its old level."""
    filled = lists[channel].filled
    if filled < np.inf:  # the second half of the heap's items are releases
        heap_set(dirty.heap, dirty.listed.size + channel, filled * (1.0 + 2.0 * _TIE))
        lists[channel].filled = np.inf


@uncounted(dissolved=True)
def _disturb(channel: int, lists: Table, dirty: Dirty) -> None:
    """Make a channel dirty that a flow has left, or on which its level has changed, if full."""
    lists[channel].fresh = False
    if lists[channel].length == 0:
        lists[channel].filled = np.inf
    elif dirty.heap.place[channel] < 0 and lists[channel].filled < np.inf:
        _list(channel, lists, dirty)
        _schedule_release(channel, lists, dirty)


@uncounted(dissolved=True)
def loosen(
    number: int, weight: float, flows: Table, entries: Table, lists: Table, dirty: Dirty
) -> None:
    """Give a flow, perhaps a new one, a weight, and make its channels dirty."""
    flow = flows[number]
    before, old, rate = flow.bottleneck, flow.weight, flow.weight * flow.level
    flow.bottleneck, flow.weight = -1, weight
    for entry in range(flow.first_entry, flow.end_entry):
        channel = entries[entry].list
        own = lists[channel]
        if channel == before and weight == old:  # it rose there already
            continue
        if own.known:
            if before < 0 or before == channel:
                own.rising += weight - old
            else:
                own.held -= rate
                own.rising += weight
                own.n_rising += 1
        _list(channel, lists, dirty)
        _schedule_release(channel, lists, dirty)


@uncounted(dissolved=True)
def vacate(number: int, flows: Table, entries: Table, lists: Table, dirty: Dirty) -> None:
    """Make the full channels that a flow has left dirty."""
    for entry in range(flows[number].first_entry, flows[number].end_entry):
        _disturb(entries[entry].list, lists, dirty)


@uncounted(dissolved=True)
def _release(
    channel: int, flows: Table, entries: Table, seats: Table, lists: Table, dirty: Dirty
) -> None:
    """Void the levels of the flows that a channel held: they may rise."""
    for seat in range(lists[channel].first, lists[channel].first + lists[channel].length):
        number = seats[seat].flow
        if flows[number].bottleneck == channel and not flows[number].final:
            loosen(number, flows[number].weight, flows, entries, lists, dirty)


@uncounted(dissolved=True)
def _place(channel: int, level: float, sweep: int, lists: Table, dirty: Dirty) -> None:
    """Put a dirty channel on the heap, or take it off if it has room."""
    if level < np.inf:
        heap_set(dirty.heap, channel, level)
        return
    if dirty.heap.place[channel] >= 0:
        heap_remove(dirty.heap, channel)
    if lists[channel].froze == sweep:  # it is full still
        lists[channel].filled = lists[channel].froze_at


@uncounted(dissolved=True)
def _note_level(
    channel: int,
    number: int,
    before: int,
    old: float,
    sweep: int,
    flows: Table,
    lists: Table,
    dirty: Dirty,
) -> None:
    """Tell a channel that a flow on it has a new level, and what held it before, at which one."""
    own, flow = lists[channel], flows[number]
    if own.known:
        own.top = max(own.top, flow.level)
        if before < 0 or before == channel:
            own.held += flow.weight * flow.level
            own.rising -= flow.weight
            own.n_rising -= 1
        else:
            own.held += flow.weight * (flow.level - old)
        has_room = own.n_rising == 0 and own.held <= own.capacity
        if has_room and dirty.heap.place[channel] >= 0:
            _place(channel, np.inf, sweep, lists, dirty)
            return
    _disturb(channel, lists, dirty)


@uncounted(dissolved=True)
def _freeze(
    channel: int,
    now: float,
    sweep: int,
    flows: Table,
    entries: Table,
    seats: Table,
    lists: Table,
    dirty: Dirty,
    done: Ints,
) -> None:
    """Fix the flows of a channel that fills at level `now`."""
    own = lists[channel]
    own.filled = own.froze_at = now
    own.froze, own.known = sweep, False
    for seat in range(own.first, own.first + own.length):
        number = seats[seat].flow
        flow = flows[number]
        if flow.final:
            continue
        old, before = flow.level, flow.bottleneck
        if before >= 0 and before != channel and old <= now * (1.0 + _TIE):
            continue
        flow.final = True
        done[dirty.numbers[2]] = number
        dirty.numbers[2] += 1
        flow.bottleneck = channel
        if before >= 0 and abs(now - old) <= _TIE * old:
            continue
        flow.level = now
        for entry in range(flow.first_entry, flow.end_entry):
            if entries[entry].list != channel:
                _note_level(entries[entry].list, number, before, old, sweep, flows, lists, dirty)


@uncounted(dissolved=True)
def _look(sweep: int, flows: Table, seats: Table, lists: Table, dirty: Dirty) -> None:
    """Find the levels of the listed channels."""
    for i in range(dirty.numbers[0]):
        channel = dirty.listed[i]
        lists[channel].listed = False
        level = _about_level(channel, sweep, flows, seats, lists)
        _place(channel, level, sweep, lists, dirty)
    dirty.numbers[0] = 0


@uncounted(dissolved=True)
def reshare(
    flows: Table, entries: Table, seats: Table, lists: Table, dirty: Dirty, done: Ints
) -> int:
    """
    Make levels max-min fair again.

    Returns how many flows were visited, listed in `done`; all others keep their level.
    """
    heap, n_channels = dirty.heap, dirty.listed.size
    dirty.numbers[1] += 1
    dirty.numbers[2] = 0
    sweep = dirty.numbers[1]
    _look(sweep, flows, seats, lists, dirty)
    while heap.size[0] > 0:
        channel = heap.items[0]
        now = heap.key[channel]
        if channel < n_channels and not lists[channel].fresh:
            level = _about_level(channel, sweep, flows, seats, lists)
            if level <= now and not lists[channel].fresh:
                level = _fair_level(channel, sweep, flows, seats, lists)
                lists[channel].fresh = True
            _place(channel, level, sweep, lists, dirty)
            continue
        heap_remove(heap, channel)
        if channel < n_channels:
            _freeze(channel, now, sweep, flows, entries, seats, lists, dirty, done)
        else:
            _release(channel - n_channels, flows, entries, seats, lists, dirty)
            if heap.size[0] > 0 and heap.items[0] >= n_channels and heap.key[heap.items[0]] <= now:
                continue
        _look(sweep, flows, seats, lists, dirty)
    for i in range(dirty.numbers[2]):
        flows[done[i]].final = False
    return int(dirty.numbers[2])


@uncounted(dissolved=True)
def take_seat(number: int, entry: int, entries: Table, seats: Table, lists: Table) -> None:
    """Put a flow on the list of one of its entries."""
    which = lists[entries[entry].list]
    seat = which.first + which.length
    seats[seat].flow, seats[seat].entry = number, entry
    entries[entry].seat = seat
    which.length += 1
    which.known = False


@uncounted(dissolved=True)
def _give_seat(entry: int, entries: Table, seats: Table, lists: Table) -> None:
    """Take a flow from the list of one of its entries; the last one fills the gap."""
    which = lists[entries[entry].list]
    which.length -= 1
    which.known = False
    last, seat = which.first + which.length, entries[entry].seat
    seats[seat].flow, seats[seat].entry = seats[last].flow, seats[last].entry
    entries[seats[seat].entry].seat = seat
    entries[entry].seat = -1


@uncounted(dissolved=True)
def add_flow(number: int, flows: Table, entries: Table, seats: Table, lists: Table) -> None:
    """Put a flow on the lists of its channels and its sender."""
    flows[number].bottleneck = -1
    for entry in range(flows[number].first_entry, flows[number].end_entry):
        take_seat(number, entry, entries, seats, lists)
    take_seat(number, flows[number].sender_entry, entries, seats, lists)


@uncounted(dissolved=True)
def remove_flow(number: int, flows: Table, entries: Table, seats: Table, lists: Table) -> None:
    """Take a flow from the lists of its channels and its sender."""
    for entry in range(flows[number].first_entry, flows[number].end_entry):
        _give_seat(entry, entries, seats, lists)
    _give_seat(flows[number].sender_entry, entries, seats, lists)
