"""
What jobs do and lose between two changes of their rate, and which jobs delay them, compiled.

    members   a row per slot      job, rate, what it did;  first_loss -.      first_cause -.
    losses    rows in lists       .. <- following <- following <- row <-'   cause <- row <-'
    places    row of a loss       by victim, culprit and class of link: open addressing

A job has two lists of losses: all since it started, and those that go on now, each with its share
of what the job loses. Rows of jobs that ended form a list of free rows.

Import through `netsim.common.jit`.
"""

import numpy as np
from numba import float64, from_dtype, int64, types

from coupling.rates.accounts import LOSS, MEMBER, STATE, Causes, Ledger, NewRates
from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit

_INTS, _FLOATS = int64[::1], float64[::1]
# plain tuples, which numba takes apart in half the time of named ones
_LEDGER = types.Tuple(
    (from_dtype(MEMBER)[::1], from_dtype(LOSS)[::1], _INTS, from_dtype(STATE)[::1])
)
_RATES = types.Tuple((_INTS, _FLOATS, _FLOATS, _INTS))
_CAUSES = types.Tuple((_INTS, _INTS, _INTS, _FLOATS))
_GONE, _UNKNOWN, _UNLISTED = -2, -1, -2  # class of a free row; no culprit; no cause now


@njit(allocates=False)
def _loss_slot(victim: int, culprit: int, kind: int, ledger: Ledger) -> int:
    """Return the place of a loss among the places, or the empty one where it belongs."""
    losses, places = ledger.losses, ledger.places
    mixed = victim * 0x2545F4914F6CDD1D + culprit * 0x1D8AF066C7D6C5B5 + kind * 0x5851F42D4C957F2D
    place = (mixed ^ (mixed >> 29)) & (places.size - 1)
    while places[place] >= 0:
        loss = losses[places[place]]
        if loss.victim == victim and loss.culprit == culprit and loss.kind == kind:
            break
        place = (place + 1) & (places.size - 1)
    return place


@njit(allocates=False)
def _make_room(n_new: int, ledger: Ledger) -> None:
    """Forget the places of losses that are closed before the places get full."""
    losses, places, state = ledger.losses, ledger.places, ledger.state[0]
    if 2 * (state.taken + n_new) <= places.size:
        return
    for place in range(places.size):
        places[place] = -1
    state.taken = 0
    for row in range(losses.size):
        loss = losses[row]
        if loss.kind != _GONE:
            places[_loss_slot(loss.victim, loss.culprit, loss.kind, ledger)] = row
            state.taken += 1


@njit(allocates=False)
def _loss_row(slot: int, culprit: int, kind: int, ledger: Ledger) -> int:
    """Return the row of what a job loses to another, a new one where it lost nothing yet."""
    losses, places, state = ledger.losses, ledger.places, ledger.state[0]
    member = ledger.members[slot]
    place = _loss_slot(member.job, culprit, kind, ledger)
    if places[place] >= 0:
        return int(places[place])
    row = int(state.free)
    loss = losses[row]
    state.free = loss.following
    state.n_free -= 1
    state.taken += 1
    places[place] = row
    loss.victim, loss.culprit, loss.kind = member.job, culprit, kind
    loss.interference_delay_node_s, loss.following, loss.cause = 0.0, -1, _UNLISTED
    if member.first_loss < 0:
        member.first_loss = row
    else:
        losses[member.last_loss].following = row
    member.last_loss = row
    return row


@njit(allocates=False)
def _advance_job(slot: int, now_s: float, ledger: Ledger, delay_at_link: Floats) -> None:
    """Account for the time since a job's last change."""
    losses, member = ledger.losses, ledger.members[slot]
    elapsed_s = now_s - member.since_s
    member.since_s = now_s
    member.work_s += elapsed_s / member.network_slowdown
    if member.interference == 1.0:
        return
    delay_node_s = elapsed_s * (1.0 - 1.0 / member.interference) * member.n_nodes
    if member.worst_link >= 0:
        delay_at_link[member.worst_link] += delay_node_s
    if member.first_cause < 0:
        unknown = int(np.int64(_UNKNOWN))  # of the type of other culprits: compiled once
        row = _loss_row(slot, unknown, unknown, ledger)
        losses[row].share, losses[row].cause = 1.0, -1
        member.first_cause = row
    row = member.first_cause
    while row >= 0:
        losses[row].interference_delay_node_s += delay_node_s * losses[row].share
        row = losses[row].cause


@njit(
    int64(float64, _INTS, _RATES, _LEDGER, _FLOATS, int64[:, ::1], _FLOATS),
    cache=True,
    error_model="numpy",
    allocates=False,
)
def account(
    now_s: float,
    ended: Ints,
    rates: NewRates,
    ledger: Ledger,
    delay_at_link: Floats,
    keys: Ints,
    delay_node_s: Floats,
) -> int:
    """
    Close the accounts of ended jobs and go on with others; return how many losses were closed.

    `delay_at_link` (E,) is added to. `keys` (3, R), `delay_node_s` (R,), with room for all losses:
    written, their victim, culprit and class of link, and node-seconds.
    """
    rates, ledger = NewRates(*rates), Ledger(*ledger)
    members, losses, state = ledger.members, ledger.losses, ledger.state[0]
    n_ended, n_closed = ended.size, 0
    _make_room(n_ended + rates.slot.size, ledger)
    for i in range(n_ended + rates.slot.size):
        slot = ended[i] if i < n_ended else rates.slot[i - n_ended]
        _advance_job(slot, now_s, ledger, delay_at_link)
    for slot in ended:  # rows are freed
        row = members[slot].first_loss
        while row >= 0:
            loss = losses[row]
            keys[0, n_closed], keys[1, n_closed] = loss.victim, loss.culprit
            keys[2, n_closed] = loss.kind
            delay_node_s[n_closed] = loss.interference_delay_node_s
            following = loss.following
            loss.kind, loss.following = _GONE, state.free
            state.free = row
            n_closed += 1
            row = following
    state.n_free += n_closed
    for i in range(rates.slot.size):
        member = members[rates.slot[i]]
        member.interference = rates.interference[i]
        member.network_slowdown = rates.interference[i] * rates.placement_factor[i]
        if rates.worst_link[i] >= 0:
            member.worst_link = rates.worst_link[i]
    return n_closed


@njit(allocates=False)
def _index_of(wanted: int, numbers: Ints, first: int) -> int:
    """Return the index of a number, searched from an index on and round; -1: it is not there."""
    for i in range(numbers.size):
        place = (first + i) % numbers.size
        if numbers[place] == wanted:
            return place
    return -1


@njit(int64(_INTS, _INTS, _CAUSES, _LEDGER), cache=True, allocates=False)
def blame(asked: Ints, slots: Ints, causes: Causes, ledger: Ledger) -> int:
    """Note which jobs delay others from now on; return the row of an unknown victim, or -1."""
    causes, ledger = Causes(*causes), Ledger(*ledger)
    members, losses = ledger.members, ledger.losses
    victim = causes.victim
    _make_room(victim.size, ledger)
    place, last = int(np.int64(0)), -1
    for i in range(victim.size):
        if i == 0 or victim[i] != victim[i - 1]:
            place = _index_of(victim[i], asked, place)
            if place < 0:
                return i
            row = members[slots[place]].first_cause
            while row >= 0:
                following = losses[row].cause
                losses[row].cause = _UNLISTED
                row = following
            members[slots[place]].first_cause = last = -1
        row = _loss_row(slots[place], causes.culprit[i], causes.kind[i], ledger)
        if losses[row].cause != _UNLISTED:  # a second row of the same culprit and class
            losses[row].share += causes.share[i]
            continue
        losses[row].share, losses[row].cause = causes.share[i], -1
        if last < 0:
            members[slots[place]].first_cause = row
        else:
            losses[last].cause = row
        last = row
    return -1
