"""
What jobs do and lose between two changes of their rate, and to whom, compiled.

`members` and `losses` are tables with the columns of `coupling.rates.accounts`. Losses are
found by victim, culprit and class of link in `table`, which holds their rows by open addressing,
-1 where nothing is; its size is a power of two, at least four times the rows. `state` holds the
first free row of `losses`, how many are free, and how many places of `table` are taken.

Import through `netsim.common.jit`.
"""

import numpy as np
from numba import float64, from_dtype, int64, types

from coupling.rates.accounts import LOSS, MEMBER
from netsim.common.arrays import Floats, Ints, Table
from netsim.common.jit import njit

_INTS, _FLOATS = int64[::1], float64[::1]
_MEMBERS, _LOSSES = from_dtype(MEMBER)[::1], from_dtype(LOSS)[::1]
_READ_INTS = types.Array(int64, 1, "C", readonly=True)
_READ_FLOATS = types.Array(float64, 1, "C", readonly=True)
_ROWS = types.Tuple((int64[:, ::1], float64[::1]))
FREE, N_FREE, TAKEN = range(3)  # of `state`
_GONE, _UNTOLD, _UNLISTED = -2, -1, -2  # class of a free row; no culprit; no cause now


@njit(cache=True)
def _place(victim: int, culprit: int, kind: int, losses: Table, table: Ints) -> int:
    """Return the place of a loss in the table, or the empty one where it belongs."""
    mixed = victim * 0x2545F4914F6CDD1D + culprit * 0x1D8AF066C7D6C5B5 + kind * 0x5851F42D4C957F2D
    place = (mixed ^ (mixed >> 29)) & (table.size - 1)
    while table[place] >= 0:
        loss = losses[table[place]]
        if loss.victim == victim and loss.culprit == culprit and loss.kind == kind:
            break
        place = (place + 1) & (table.size - 1)
    return place


@njit(cache=True)
def _make_room(n_new: int, losses: Table, table: Ints, state: Ints) -> None:
    """Forget the places of losses that are closed before the table gets full."""
    if 2 * (state[TAKEN] + n_new) <= table.size:
        return
    for place in range(table.size):
        table[place] = -1
    state[TAKEN] = 0
    for row in range(losses.size):
        loss = losses[row]
        if loss.kind != _GONE:
            table[_place(loss.victim, loss.culprit, loss.kind, losses, table)] = row
            state[TAKEN] += 1


@njit(cache=True)
def _loss(
    slot: int, culprit: int, kind: int, members: Table, losses: Table, table: Ints, state: Ints
) -> int:
    """Return the row of what a job loses to another, a new one where it lost nothing yet."""
    member = members[slot]
    place = _place(member.job, culprit, kind, losses, table)
    if table[place] >= 0:
        return int(table[place])
    row = int(state[FREE])
    loss = losses[row]
    state[FREE] = loss.following
    state[N_FREE] -= 1
    state[TAKEN] += 1
    table[place] = row
    loss.victim, loss.culprit, loss.kind = member.job, culprit, kind
    loss.interference_delay_node_s, loss.following, loss.cause = 0.0, -1, _UNLISTED
    if member.first_loss < 0:
        member.first_loss = row
    else:
        losses[member.last_loss].following = row
    member.last_loss = row
    return row


@njit(cache=True)
def _advance(
    slot: int,
    now_s: float,
    members: Table,
    losses: Table,
    table: Ints,
    state: Ints,
    lost_of_link: Floats,
) -> None:
    """Account for the time since a job's last change."""
    member = members[slot]
    elapsed_s = now_s - member.since_s
    member.since_s = now_s
    member.work_s += elapsed_s / member.network_slowdown
    if member.interference == 1.0:
        return
    interference_delay_node_s = elapsed_s * (1.0 - 1.0 / member.interference) * member.n_nodes
    if member.worst_link >= 0:
        lost_of_link[member.worst_link] += interference_delay_node_s
    if member.first_cause < 0:
        row = _loss(slot, _UNTOLD, _UNTOLD, members, losses, table, state)
        losses[row].share, losses[row].cause = 1.0, -1
        member.first_cause = row
    row = member.first_cause
    while row >= 0:
        losses[row].interference_delay_node_s += interference_delay_node_s * losses[row].share
        row = losses[row].cause


@njit(cache=True)
def _written(ended: Ints, members: Table, losses: Table, state: Ints) -> tuple[Ints, Floats]:
    """Return the losses of jobs that ended, and give their rows back."""
    n_rows = 0
    for slot in ended:
        row = members[slot].first_loss
        while row >= 0:
            n_rows += 1
            row = losses[row].following
    keys, lost = np.empty((3, n_rows), np.int64), np.empty(n_rows)
    at = 0
    for slot in ended:
        row = members[slot].first_loss
        while row >= 0:
            loss = losses[row]
            keys[0, at], keys[1, at], keys[2, at] = loss.victim, loss.culprit, loss.kind
            lost[at] = loss.interference_delay_node_s
            following = loss.following
            loss.kind, loss.following = _GONE, state[FREE]
            state[FREE] = row
            at += 1
            row = following
    state[N_FREE] += n_rows
    return keys, lost


@njit(
    _ROWS(float64, _INTS, _INTS, _FLOATS, _FLOATS, _INTS, _MEMBERS, _LOSSES, _INTS, _INTS, _FLOATS),
    cache=True,
)
def account(
    now_s: float,
    ended: Ints,
    changed: Ints,
    interference: Floats,
    placement_factor: Floats,
    worst_link: Ints,
    members: Table,
    losses: Table,
    table: Ints,
    state: Ints,
    lost_of_link: Floats,
) -> tuple[Ints, Floats]:
    """
    Close the accounts of jobs that ended, and go on with others at their new rates.

    Parameters
    ----------
    now_s : float
        The instant, in seconds.
    ended : (D,) int array
        Slots of jobs that ended.
    changed : (C,) int array
        Slots of jobs with new rates.
    interference, placement_factor : (C,) float array
        The new rates.
    worst_link : (C,) int array
        Link that holds each of them up most; -1: it stays where it was.
    members, losses, table, state : arrays
        The ledger.
    lost_of_link : (E,) float array
        Node-seconds lost at each link; added to.

    Returns
    -------
    keys : (3, R) int array
        Victim, culprit and class of link of each loss of the jobs that ended.
    interference_delay_node_s : (R,) float array
        Node-seconds.
    """
    _make_room(ended.size + changed.size, losses, table, state)
    for slot in ended:
        _advance(slot, now_s, members, losses, table, state, lost_of_link)
    keys, lost = _written(ended, members, losses, state)
    for i in range(changed.size):
        slot = changed[i]
        _advance(slot, now_s, members, losses, table, state, lost_of_link)
        member = members[slot]
        member.interference = interference[i]
        member.network_slowdown = interference[i] * placement_factor[i]
        if worst_link[i] >= 0:
            member.worst_link = worst_link[i]
    return keys, lost


@njit(cache=True)
def _sought(wanted: int, numbers: Ints, first: int) -> int:
    """Return the place of a number, looked for from a place on and round; -1: it is not there."""
    for i in range(numbers.size):
        place = (first + i) % numbers.size
        if numbers[place] == wanted:
            return place
    return -1


@njit(
    int64(
        _INTS,
        _INTS,
        _READ_INTS,
        _READ_INTS,
        _READ_INTS,
        _READ_FLOATS,
        _MEMBERS,
        _LOSSES,
        _INTS,
        _INTS,
    ),
    cache=True,
)
def blame(
    asked: Ints,
    slots: Ints,
    victim: Ints,
    culprit: Ints,
    kind: Ints,
    share: Floats,
    members: Table,
    losses: Table,
    table: Ints,
    state: Ints,
) -> int:
    """
    Note who holds jobs up from now on.

    Parameters
    ----------
    asked, slots : (V,) int array
        Jobs, and their slots.
    victim, culprit, kind : (B,) int array
        `netsim.flows.contention.Culprits` of these jobs; those of whom it says nothing keep
        their culprits.
    share : (B,) float array
        Part of the victim's lost time.
    members, losses, table, state : arrays
        The ledger.

    Returns
    -------
    int
        Row of a victim of whom nobody asked, -1: there is none.
    """
    _make_room(victim.size, losses, table, state)
    place, last = 0, -1
    for i in range(victim.size):
        if i == 0 or victim[i] != victim[i - 1]:
            place = _sought(victim[i], asked, place)
            if place < 0:
                return i
            row = members[slots[place]].first_cause
            while row >= 0:
                following = losses[row].cause
                losses[row].cause = _UNLISTED
                row = following
            members[slots[place]].first_cause = last = -1
        row = _loss(slots[place], culprit[i], kind[i], members, losses, table, state)
        if losses[row].cause != _UNLISTED:  # told twice
            losses[row].share += share[i]
            continue
        losses[row].share, losses[row].cause = share[i], -1
        if last < 0:
            members[slots[place]].first_cause = row
        else:
            losses[last].cause = row
        last = row
    return -1
