"""
Compiled max-min sharing that is brought up to date; import through `netsim.common.jit`.

After flows have started, ended or changed their weight, only the part of the network whose fair
levels (rate / weight) move is filled again: SimGrid's selective update, but within one component.
Levels change upwards and downwards along chains of bottlenecks, so a *sweep* goes through levels
from below, as progressive filling does (Bertsekas & Gallager, *Data Networks*, 2nd ed., 6.5.2),
but visits only channels of the heap `dirty`:

* a channel whose flows have changed joins the modified set; if it was saturated, its flows are
  *released* when the sweep passes its old level without its being saturated;
* released flows may rise, which modifies their other channels;
* a dirty channel that saturates at a level fixes its flows there; those whose level has changed
  modify their other channels; those that keep it leave the others alone.

Any other channel keeps its flows, exactly, and costs nothing. Sums over the members of a channel
are kept up as flows change, so that most dirty channels are ordered without a look at their
members; before a channel saturates its level is found from these, exactly.
"""

import numpy as np

from netsim.common.jit import njit
from netsim.flows.maxmin_kernels import heap_remove, heap_set
from netsim.flowsim.state import State

TIE = 1e-12  # levels, rates and times closer than this (relative) are equal


@njit(allocates=False)
def _exact_level(channel: int, state: State) -> float:
    """
    Return the level at which a channel saturates, inf if its flows leave room.

    Flows that are final, or have another bottleneck, take no more than their level; the others
    rise until the channel is saturated.
    """
    flows, members = state.flows, state.members
    own = state.constraints[channel]
    room = own.capacity
    begin, end = own.first_member, own.first_member + own.n_members
    final, rising, fixed, top = 0.0, 0.0, 0.0, 0.0
    n_rising = 0
    for member in range(begin, end):
        flow = flows[members[member].flow]
        if flow.final:
            final += flow.weight * flow.level
        elif flow.bottleneck < 0 or flow.bottleneck == channel:
            rising += flow.weight
            n_rising += 1
        else:
            fixed += flow.weight * flow.level
            top = max(top, flow.level)
    own.fixed_rate, own.rising_weight = final + fixed, rising
    own.top_level, own.n_rising = top, n_rising
    own.sums_known = own.sweep != state.counts[0].sweep
    left = room - final - fixed
    if n_rising == 0:
        if left >= -TIE * room:
            return np.inf
    elif left / rising >= top * (1.0 - TIE):
        return float(max(left, 0.0) / rising)
    share = 0.0  # flows with another bottleneck reach less than their level here: raise from below
    while True:
        taken, open_weight = final, rising
        for member in range(begin, end):
            flow = flows[members[member].flow]
            if flow.final or flow.bottleneck < 0 or flow.bottleneck == channel:
                continue
            if flow.level <= share:
                taken += flow.weight * flow.level
            else:
                open_weight += flow.weight
        if open_weight == 0.0:
            return np.inf
        risen = max(room - taken, 0.0) / open_weight
        if risen <= share * (1.0 + TIE):
            return float(risen)
        share = risen


@njit(allocates=False)
def _quick_level(channel: int, state: State) -> float:
    """Return the level of a channel, to rounding where its sums give it without its members."""
    own = state.constraints[channel]
    if own.sums_known:
        own.key_exact = False
        left = own.capacity - own.fixed_rate
        if own.n_rising == 0:
            if left >= -TIE * own.capacity:
                return np.inf
        elif left >= own.top_level * (1.0 - TIE) * own.rising_weight:
            return float(max(left, 0.0) / own.rising_weight)
    own.key_exact = True
    return _exact_level(channel, state)


@njit(allocates=False)
def _modify_channel(channel: int, state: State) -> None:
    """Put a channel into the modified set; if it was saturated, its flows are to be released."""
    own, counts = state.constraints[channel], state.counts[0]
    if not own.modified:
        own.modified = True
        state.modified[counts.n_modified] = channel
        counts.n_modified += 1
    if own.saturated_at < np.inf:
        heap_set(state.dirty, counts.n_channels + channel, own.saturated_at * (1.0 + 2.0 * TIE))
        own.saturated_at = np.inf


@njit(allocates=False)
def _mark_dirty(channel: int, state: State) -> None:
    """Note that a flow has left a channel or has another level there."""
    own = state.constraints[channel]
    own.key_exact = False
    if own.n_members == 0:
        own.saturated_at = np.inf
    elif state.dirty.place[channel] < 0 and own.saturated_at < np.inf:
        _modify_channel(channel, state)


@njit(allocates=False)
def mark_left(number: int, state: State) -> None:
    """Mark the saturated channels that a flow has left dirty."""
    flow = state.flows[number]
    for element in range(flow.first_element, flow.end_element):
        _mark_dirty(state.elements[element].constraint, state)


@njit(allocates=False)
def release_flow(number: int, weight: float, state: State) -> None:
    """Give a flow, perhaps a new one, a weight, and let its level be found anew."""
    flow = state.flows[number]
    before, old, rate = flow.bottleneck, flow.weight, flow.weight * flow.level
    flow.bottleneck, flow.weight = -1, weight
    for element in range(flow.first_element, flow.end_element):
        channel = state.elements[element].constraint
        own = state.constraints[channel]
        if channel == before and weight == old:  # it rose there already
            continue
        if own.sums_known:
            if before < 0 or before == channel:
                own.rising_weight += weight - old
            else:
                own.fixed_rate -= rate
                own.rising_weight += weight
                own.n_rising += 1
        _modify_channel(channel, state)


@njit(allocates=False)
def _release_flows(channel: int, state: State) -> None:
    """Release the flows whose bottleneck a channel was."""
    own = state.constraints[channel]
    for member in range(own.first_member, own.first_member + own.n_members):
        number = state.members[member].flow
        flow = state.flows[number]
        if flow.bottleneck == channel and not flow.final:
            release_flow(number, flow.weight, state)


@njit(allocates=False)
def _set_key(channel: int, level: float, state: State) -> None:
    """Put a dirty channel on the heap, or take it off if it has room."""
    if level < np.inf:
        heap_set(state.dirty, channel, level)
        return
    if state.dirty.place[channel] >= 0:
        heap_remove(state.dirty, channel)
    own = state.constraints[channel]
    if own.sweep == state.counts[0].sweep:  # it is saturated still
        own.saturated_at = own.sweep_level


@njit(allocates=False)
def _note_level(channel: int, number: int, before: int, old: float, state: State) -> None:
    """Note on a channel that a flow has a new level, and its bottleneck and level before."""
    own, flow = state.constraints[channel], state.flows[number]
    if own.sums_known:
        own.top_level = max(own.top_level, flow.level)
        if before < 0 or before == channel:
            own.fixed_rate += flow.weight * flow.level
            own.rising_weight -= flow.weight
            own.n_rising -= 1
        else:
            own.fixed_rate += flow.weight * (flow.level - old)
        has_room = own.n_rising == 0 and own.fixed_rate <= own.capacity
        if has_room and state.dirty.place[channel] >= 0:
            _set_key(channel, np.inf, state)
            return
    _mark_dirty(channel, state)


@njit(allocates=False)
def _saturate_channel(channel: int, level: float, state: State) -> None:
    """Fix the flows of a channel that saturates at a level."""
    own, counts = state.constraints[channel], state.counts[0]
    own.saturated_at = own.sweep_level = level
    own.sweep, own.sums_known = counts.sweep, False
    for member in range(own.first_member, own.first_member + own.n_members):
        number = state.members[member].flow
        flow = state.flows[number]
        if flow.final:
            continue
        old, before = flow.level, flow.bottleneck
        if before >= 0 and before != channel and old <= level * (1.0 + TIE):
            continue
        flow.final = True
        state.visited[counts.n_visited] = number
        counts.n_visited += 1
        flow.bottleneck = channel
        if before >= 0 and abs(level - old) <= TIE * old:
            continue
        flow.level = level
        for element in range(flow.first_element, flow.end_element):
            if state.elements[element].constraint != channel:
                _note_level(state.elements[element].constraint, number, before, old, state)


@njit(allocates=False)
def _update_levels(state: State) -> None:
    """Find the levels of the modified channels."""
    counts = state.counts[0]
    for i in range(counts.n_modified):
        channel = state.modified[i]
        state.constraints[channel].modified = False
        _set_key(channel, _quick_level(channel, state), state)
    counts.n_modified = 0


@njit(allocates=False)
def sweep(state: State) -> None:
    """Make levels max-min fair again; flows that are not among `visited` keep theirs."""
    heap, counts = state.dirty, state.counts[0]
    counts.sweep += 1
    counts.n_visited = 0
    _update_levels(state)
    while heap.size[0] > 0:
        channel = heap.items[0]
        level = heap.key[channel]
        if channel < counts.n_channels and not state.constraints[channel].key_exact:
            found = _quick_level(channel, state)
            if found <= level and not state.constraints[channel].key_exact:
                found = _exact_level(channel, state)
                state.constraints[channel].key_exact = True
            _set_key(channel, found, state)
            continue
        heap_remove(heap, channel)
        if channel < counts.n_channels:
            _saturate_channel(channel, level, state)
        else:
            _release_flows(channel - counts.n_channels, state)
            releases = heap.size[0] > 0 and heap.items[0] >= counts.n_channels
            if releases and heap.key[heap.items[0]] <= level:
                continue
        _update_levels(state)
    for i in range(counts.n_visited):
        state.flows[state.visited[i]].final = False


@njit(allocates=False)
def add_member(number: int, element: int, state: State) -> None:
    """Make a flow a member of the constraint of one of its elements."""
    own = state.constraints[state.elements[element].constraint]
    member = own.first_member + own.n_members
    state.members[member].flow, state.members[member].element = number, element
    state.elements[element].member = member
    own.n_members += 1
    own.sums_known = False


@njit(allocates=False)
def _remove_member(element: int, state: State) -> None:
    """End a membership; the last member of the constraint fills the gap."""
    own = state.constraints[state.elements[element].constraint]
    own.n_members -= 1
    own.sums_known = False
    last, gap = own.first_member + own.n_members, state.elements[element].member
    state.members[gap].flow = state.members[last].flow
    state.members[gap].element = state.members[last].element
    state.elements[state.members[gap].element].member = gap
    state.elements[element].member = -1


@njit(allocates=False)
def add_flow(number: int, left: float, now: float, state: State) -> None:
    """Start a flow that has so many bytes to send."""
    flow = state.flows[number]
    flow.bottleneck = -1
    for element in range(flow.first_element, flow.end_element):
        add_member(number, element, state)
    add_member(number, flow.sender_element, state)
    flow.left, flow.since_s, flow.rate = left, now, 0.0
    release_flow(number, flow.weight, state)
    reweigh_later(number, state)


@njit(allocates=False)
def remove_flow(number: int, state: State) -> None:
    """End the memberships of a flow; `mark_left` follows when all flows of an instant have left."""
    flow = state.flows[number]
    for element in range(flow.first_element, flow.end_element):
        _remove_member(element, state)
    _remove_member(flow.sender_element, state)
    reweigh_later(number, state)


@njit(allocates=False)
def reweigh_later(number: int, state: State) -> None:
    """Have the flows of the sender of a flow weighed anew."""
    counts = state.counts[0]
    sender = state.elements[state.flows[number].sender_element].constraint
    if counts.per_sender and not state.constraints[sender].reweighed:
        state.constraints[sender].reweighed = True
        state.senders[counts.n_senders] = sender
        counts.n_senders += 1


@njit(allocates=False)
def reweigh(state: State) -> None:
    """Weigh flows of senders of which flows came or went, by how many are open now."""
    counts = state.counts[0]
    for i in range(counts.n_senders):
        sender = state.constraints[state.senders[i]]
        sender.reweighed = False
        for member in range(sender.first_member, sender.first_member + sender.n_members):
            number = state.members[member].flow
            flow = state.flows[number]
            n_open = sender.n_members
            open_ = float(n_open) if flow.exponent == 1.0 else n_open**flow.exponent
            if flow.weight != flow.fill / open_:
                release_flow(number, flow.fill / open_, state)
    counts.n_senders = 0


@njit(allocates=False)
def share(now: float, state: State) -> None:
    """Share the links anew among the flows that run, and put their new ends on the clock."""
    reweigh(state)
    sweep(state)
    for i in range(state.counts[0].n_visited):
        flow = state.flows[state.visited[i]]
        rate = flow.weight * flow.level
        if abs(rate - flow.rate) <= TIE * rate:
            continue
        flow.left = max(0.0, flow.left - flow.rate * (now - flow.since_s))
        flow.since_s, flow.rate = now, rate
        heap_set(state.clock, state.visited[i], now + flow.left / rate)
