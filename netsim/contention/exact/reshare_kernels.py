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

A channel nobody touches keeps its flows, exactly, and costs nothing.
"""

import numpy as np
from numba import njit

from netsim.arrays import Floats, Ints, Table
from netsim.contention.exact.columns import ENTRY, FLOW, LIST, SEAT
from netsim.flows.maxmin_kernels import Heap, heap_remove, heap_set
from netsim.uncounted_kernels import uncounted

_TIE = 1e-12  # levels closer than this (relative) are equal


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


@uncounted()
def _fair_level(channel: int, flows: Table, seats: Table, lists: Table) -> float:
    """
    Return the level at which a channel fills, inf if its flows leave room.

    Flows that are final, or whose bottleneck is another channel, take no more than their
    level; the rest rise until the channel is full.
    """
    room = lists[channel].capacity
    begin, end = lists[channel].first, lists[channel].first + lists[channel].length
    fixed, rising, held, top = 0.0, 0.0, 0.0, 0.0
    for seat in range(begin, end):
        flow = flows[seats[seat].flow]
        if flow.final:
            fixed += flow.weight * flow.level
        elif flow.bottleneck < 0 or flow.bottleneck == channel:
            rising += flow.weight
        else:
            held += flow.weight * flow.level
            top = max(top, flow.level)
    left = room - fixed - held
    if rising == 0.0:
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


@uncounted()
def _lower_key(channel: int, now: float, lists: Table, dirty: Heap) -> None:
    """Have a channel looked at again at level `now` at the latest."""
    lists[channel].fresh = False
    if dirty.place[channel] < 0 or dirty.key[channel] > now:
        heap_set(dirty, channel, now)


@uncounted()
def _schedule_release(channel: int, lists: Table, dirty: Heap) -> None:
    """Release the flows of a channel that was full, at its old level."""
    filled = lists[channel].filled
    if filled < np.inf:  # the second half of the heap's items are releases
        heap_set(dirty, dirty.key.size // 2 + channel, filled * (1.0 + 2.0 * _TIE))
        lists[channel].filled = np.inf


@uncounted()
def _disturb(channel: int, now: float, lists: Table, dirty: Heap) -> None:
    """Make a channel dirty that a flow has left, or on which its level has changed, if full."""
    lists[channel].fresh = False
    if lists[channel].length == 0:
        lists[channel].filled = np.inf
    elif dirty.place[channel] < 0 and lists[channel].filled < np.inf:
        heap_set(dirty, channel, now)
        _schedule_release(channel, lists, dirty)


@uncounted()
def loosen(number: int, flows: Table, entries: Table, lists: Table, dirty: Heap) -> None:
    """Make the channels of a new or re-weighted flow dirty."""
    flow = flows[number]
    flow.bottleneck = -1
    for entry in range(flow.first_entry, flow.end_entry):
        _lower_key(entries[entry].list, 0.0, lists, dirty)
        _schedule_release(entries[entry].list, lists, dirty)


@uncounted()
def vacate(number: int, flows: Table, entries: Table, lists: Table, dirty: Heap) -> None:
    """Make the full channels that a flow has left dirty."""
    for entry in range(flows[number].first_entry, flows[number].end_entry):
        _disturb(entries[entry].list, 0.0, lists, dirty)


@uncounted()
def _release(
    channel: int,
    now: float,
    flows: Table,
    entries: Table,
    seats: Table,
    lists: Table,
    dirty: Heap,
) -> None:
    """Void the levels of the flows that a channel held: they may rise."""
    for seat in range(lists[channel].first, lists[channel].first + lists[channel].length):
        flow = flows[seats[seat].flow]
        if flow.bottleneck == channel and not flow.final:
            flow.bottleneck = -1
            for entry in range(flow.first_entry, flow.end_entry):
                other = entries[entry].list
                if other != channel:
                    _lower_key(other, now, lists, dirty)
                    _schedule_release(other, lists, dirty)


@uncounted()
def _freeze(
    channel: int,
    now: float,
    flows: Table,
    entries: Table,
    seats: Table,
    lists: Table,
    dirty: Heap,
    done: Ints,
    n_done: int,
) -> int:
    """Fix the flows of a channel that fills at level `now`; return how many are done."""
    lists[channel].filled = now
    for seat in range(lists[channel].first, lists[channel].first + lists[channel].length):
        flow = flows[seats[seat].flow]
        if flow.final:
            continue
        old, held = flow.level, flow.bottleneck >= 0
        if held and flow.bottleneck != channel and old <= now * (1.0 + _TIE):
            continue
        flow.final = True
        done[n_done] = seats[seat].flow
        n_done += 1
        flow.bottleneck = channel
        if held and abs(now - old) <= _TIE * old:
            continue
        flow.level = now
        for entry in range(flow.first_entry, flow.end_entry):
            if entries[entry].list != channel:
                _disturb(entries[entry].list, now, lists, dirty)
    return n_done


@uncounted()
def reshare(
    flows: Table, entries: Table, seats: Table, lists: Table, dirty: Heap, done: Ints
) -> int:
    """
    Make levels max-min fair again; the heap holds the dirty channels at key 0.

    Returns how many flows were visited, listed in `done`; all others keep their level.
    """
    n_channels, n_done = dirty.key.size // 2, 0
    while dirty.size[0] > 0:
        channel = dirty.items[0]
        now = dirty.key[channel]
        heap_remove(dirty, channel)
        if channel >= n_channels:
            _release(channel - n_channels, now, flows, entries, seats, lists, dirty)
            continue
        if not lists[channel].fresh:
            now = _fair_level(channel, flows, seats, lists)
            lists[channel].fresh = True
            if now == np.inf:  # perhaps full at a level that it froze at in this sweep
                first = lists[channel].first
                for seat in range(first, first + lists[channel].length):
                    flow = flows[seats[seat].flow]
                    if flow.final and flow.bottleneck == channel:
                        lists[channel].filled = flow.level
                continue
            if dirty.size[0] > 0 and now > dirty.key[dirty.items[0]]:
                heap_set(dirty, channel, now)
                continue
        n_done = _freeze(channel, now, flows, entries, seats, lists, dirty, done, n_done)
    for i in range(n_done):
        flows[done[i]].final = False
    return n_done


@uncounted()
def take_seat(number: int, entry: int, entries: Table, seats: Table, lists: Table) -> None:
    """Put a flow on the list of one of its entries."""
    which = lists[entries[entry].list]
    seat = which.first + which.length
    seats[seat].flow, seats[seat].entry = number, entry
    entries[entry].seat = seat
    which.length += 1


@uncounted()
def _give_seat(entry: int, entries: Table, seats: Table, lists: Table) -> None:
    """Take a flow from the list of one of its entries; the last one fills the gap."""
    which = lists[entries[entry].list]
    which.length -= 1
    last, seat = which.first + which.length, entries[entry].seat
    seats[seat].flow, seats[seat].entry = seats[last].flow, seats[last].entry
    entries[seats[seat].entry].seat = seat
    entries[entry].seat = -1


@uncounted()
def add_flow(number: int, flows: Table, entries: Table, seats: Table, lists: Table) -> None:
    """Put a flow on the lists of its channels and its sender."""
    for entry in range(flows[number].first_entry, flows[number].end_entry):
        take_seat(number, entry, entries, seats, lists)
    take_seat(number, flows[number].sender_entry, entries, seats, lists)


@uncounted()
def remove_flow(number: int, flows: Table, entries: Table, seats: Table, lists: Table) -> None:
    """Take a flow from the lists of its channels and its sender."""
    for entry in range(flows[number].first_entry, flows[number].end_entry):
        _give_seat(entry, entries, seats, lists)
    _give_seat(flows[number].sender_entry, entries, seats, lists)
