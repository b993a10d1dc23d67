"""
The fixed point of the model `fluid`, kept up to date from event to event, compiled.

What runs is in one `tables.State`; every formula has the symbols of the page on the model.

* `enter` and `leave` change the lists of records on links and mark jobs dirty.
* `settle` evaluates dirty jobs until none is left: their delays on links whose totals have changed,
  the durations of their steps, and, where these have moved by more than the tolerance, what they
  add to the totals of their links, which marks the jobs that share these links dirty.
* `attribute` shares out what the deciding links cost.

Records on links with a single job take no part: they are not in the totals, so a job that shares no
link keeps an interference of exactly 1.
"""

from typing import Any

import numpy as np
from numba import float64, int64, typeof, types, void

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit
from netsim.fluid.tables import (
    CHANNELS,
    COMMITTED,
    DIRTY,
    ENTRY,
    JOB,
    LATE,
    LINK,
    MOVED,
    RECORD,
    SHARED,
    STATES,
    STEP,
    SUMS,
    Float32s,
    State,
)

Scratch = tuple[
    Float32s, Float32s, Float32s, Float32s, Float32s, Float32s, Float32s, Float32s
]  # by state

QUEUE_BUFFERS = 3.0  # W: buffers that a full queue stands in, here and on the links before it
_SOME = np.float32(1e-5)  # weight below which rounding is all there is on a link
_STALE = 30.0  # tolerances by which a link's totals may change before its delays are found anew
_MOST_ROUNDS = 200  # evaluations of a job in one `settle`
_DAMPING, _LEAST_DAMPING = 0.8, 0.2
_UNDAMPED = 4
_OWN_CHANGE = 10.0  # tolerances by which a job's own iteration may move before it is asked anew
_NEVER = np.float32(-1e30)
_DIFFERENT = np.float32(1.001)  # delays whose ratio is less are equal: the first link is the worst

_F4 = types.float32
STATE = types.NamedTuple(
    (
        *(typeof(np.zeros(1, kind)) for kind in (JOB, STEP, RECORD, np.uint8, ENTRY, LINK)),
        _F4[:, ::1],
        _F4[:, ::1],
        typeof(np.zeros(1, SUMS)),
        typeof(np.zeros(1, SUMS)),
        _F4[:, ::1],
        _F4[:, ::1],
        types.int8[:, ::1],
        _F4[:, ::1],
        _F4[::1],
        int64[::1],
    ),
    State,
)


@njit()
def _enqueue(state: State, slot: int, cursor: Ints) -> None:
    """Put a job at the end of the queue of dirty jobs; `cursor`: its first place and length."""
    if not state.jobs[slot].queued:
        state.jobs[slot].queued = True
        state.queue[(cursor[0] + cursor[1]) % state.queue.size] = slot
        cursor[1] += 1


@njit()
def _mark_others(state: State, link: int, slot: int, cursor: Ints) -> None:
    """Mark the records of other jobs on a link dirty."""
    r = state.links[link].first_record
    while r >= 0:
        if state.records[r].job != slot:
            state.marks[r] |= DIRTY
            _enqueue(state, state.records[r].job, cursor)
        r = state.records[r].following


@njit(error_model="numpy", inline="always")
def _contribution(
    state: State, slot: int, r: int, begin_s: Floats, rows: Float32s, sums: Float32s
) -> None:
    """
    Find what a record adds to its link: `rows` (4 STATES,) as in `State`, `sums` (8,) as `SUMS`.

    A step is on the link for L = min(d, max(e, y)) from its begin on, with the mean weight w / L,
    use B / L, and offered load min(o, w / L). While it is held up, y > e, its senders have nothing
    else open and weigh 1, or earlier, once a sender's window of one buffer is closed.

    What blocks has the weight that it has alone: jobs that block each other on a link would else
    each wait for as long as the other does, which has no fixed point.
    """
    job, record = state.jobs[slot], state.records[r]
    buffer_s = float(state.buffer_s[record.link])
    period_s = job.period_s
    cell_s = period_s / STATES
    rows[:] = 0.0
    sums[:] = 0.0
    all_weight_s, all_length_s = 0.0, 0.0
    for k in range(
        job.first_entry + record.first_entry,
        job.first_entry + record.first_entry + record.n_entries,
    ):
        entry = state.entries[k]
        drain_s, end_s, y = entry.drain_s, entry.end_s, entry.time_s
        weight_s = entry.weight_s + max(0.0, y - end_s) * entry.senders
        if buffer_s > 0.0 and y > end_s and entry.weight > drain_s / y:
            closing_s = entry.senders * buffer_s / (entry.weight - drain_s / y)
            if closing_s < end_s:
                weight_s = entry.weight_s / end_s * closing_s + (y - closing_s) * entry.senders
        length_s = max(
            1e-15, min(state.steps[job.first_step + entry.step].duration_s, max(end_s, y))
        )
        weight, use = weight_s / length_s, drain_s / length_s
        offered = min(entry.offered, weight)
        burst_s = min(length_s, drain_s / max(1e-12, entry.offered))
        present = length_s / period_s
        all_weight_s, all_length_s = all_weight_s + weight_s, all_length_s + length_s
        sums[0] += use * present
        sums[1] += weight * present
        sums[2] += weight * present * burst_s
        sums[3] += entry.blocked * use * present
        sums[4] += entry.blocked * entry.weight_s / length_s * present
        sums[7] += entry.blocked * present
        t0 = begin_s[entry.step]
        t1 = t0 + length_s
        for cell in range(int(t0 / cell_s), min(STATES - 1, int(t1 / cell_s)) + 1):
            part = (min(t1, (cell + 1) * cell_s) - max(t0, cell * cell_s)) / cell_s
            if part > 0.0:
                i = state.phase[slot, cell]
                rows[i] += part * weight
                rows[STATES + i] += part * use
                rows[2 * STATES + i] += part * offered
                rows[3 * STATES + i] += part * entry.blocked
    mean = all_weight_s / all_length_s
    present = min(1.0, all_length_s / period_s)
    sums[5] = mean * mean * present * (1.0 - present)
    sums[6] = sums[5] * all_length_s * (1.0 - present)


@njit(inline="always")
def _move_sums(state: State, r: int, sums: Float32s) -> None:
    """Put other sums of a record in place of those that its link's totals hold."""
    total, own = state.total_sums[state.records[r].link], state.own_sums[r]
    total.use += sums[0] - own.use
    total.weight += sums[1] - own.weight
    total.burst += sums[2] - own.burst
    total.blocked_use += sums[3] - own.blocked_use
    total.blocked_weight += sums[4] - own.blocked_weight
    total.variance += sums[5] - own.variance
    total.memory += sums[6] - own.memory
    own.use, own.weight, own.burst = sums[0], sums[1], sums[2]
    own.blocked_use, own.blocked_weight, own.variance, own.memory = (
        sums[3],
        sums[4],
        sums[5],
        sums[6],
    )
    for c in range(CHANNELS):
        blocked = sums[7] * state.channel[r, c]
        total.blocked[c] += blocked - own.blocked[c]
        own.blocked[c] = blocked


@njit(inline="always")
def _move_rows(state: State, r: int, rows: Float32s) -> np.float32:
    """Put other rows of a record in place of those in its link's totals; return their change."""
    link, total, own = state.records[r].link, state.total, state.own
    moved, there = np.float32(0.0), np.float32(1e-6)
    for i in range(STATES):
        moved += abs(rows[i] - own[r, i])
    for i in range(4 * STATES):
        total[link, i] += rows[i] - own[r, i]
        own[r, i] = rows[i]
    for i in range(STATES):
        there += total[link, i]
    return moved / there


@njit()
def _remove_own(state: State, r: int, rows: Float32s, sums: Float32s) -> None:
    """Take what a record adds off its link's totals; `rows` and `sums` are scratch."""
    rows[:] = 0.0
    sums[:] = 0.0
    _move_rows(state, r, rows)
    _move_sums(state, r, sums)
    state.marks[r] &= ~COMMITTED


@njit(error_model="numpy", inline="always")
def _commit(
    state: State,
    slot: int,
    r: int,
    stale: float,
    scratch: tuple[Floats, Float32s, Float32s],
    cursor: Ints,
) -> None:
    """Bring what a record adds to its link up to date, and mark others dirty where that matters."""
    begin_s, rows, sums = scratch
    record = state.records[r]
    link = state.links[record.link]
    _contribution(state, slot, r, begin_s, rows, sums)
    state.marks[r] |= COMMITTED
    link.change += _move_rows(state, r, rows)
    _move_sums(state, r, sums)
    if link.change > stale:
        link.change = 0.0
        _mark_others(state, record.link, slot, cursor)


@njit(error_model="numpy")
def _shared_times(
    entry: Any,  # noqa: ANN401 (a row of a table)
    buffer_s: np.float32,
    weight: Float32s,
    use: Float32s,
    times: Float32s,
) -> None:
    """
    Find how long a step's bytes take on a link beside others of some weight and use, by state.

    They get m / (m + N) until the senders have nothing else open, at G, or one's window is closed,
    and q / (q + N) from then on; and never less than what the others leave idle. First packets are
    in the queue of the link at once: they only wait there.
    """
    one, least = np.float32(1.0), np.float32(1e-12)
    own, senders = np.float32(entry.weight), np.float32(entry.senders)
    drain_s, feed_s = np.float32(entry.drain_s), np.float32(entry.feed_s)
    delayed = np.float32(entry.part * max(0.0, 1.0 - entry.first_s / entry.drain_s))
    window_s = np.float32(senders * buffer_s)
    has_window, more, some = buffer_s > 0.0, senders > own, np.float32(1e-6)
    per_own, per_sender = one / own, one / senders
    for i in range(times.size):  # of a length that is not known: compilers unroll what is
        n = weight[i]
        longer = one + n * per_own
        until_s = feed_s
        if has_window:
            apart = own * (own + n - one)
            closing_s = window_s * (own + n) / apart if apart > least else feed_s
            until_s = min(feed_s, closing_s)
        shared_s = drain_s * longer
        later_s = until_s + (drain_s - until_s / longer) * (one + n * per_sender)
        time_s = later_s if more and until_s < shared_s else shared_s
        idle = one - use[i]
        idle_s = drain_s / idle if idle > some else time_s
        time_s = min(time_s, idle_s)
        times[i] = drain_s + delayed * (time_s - drain_s)


@njit(error_model="numpy", inline="always")
def _evaluate_record(state: State, slot: int, r: int, stale: float, scratch: Scratch) -> None:
    """
    Find the delay of each entry of a record in each state, and y, its mean.

    `scratch`: arrays (STATES,).
    """
    job, record = state.jobs[slot], state.records[r]
    link = record.link
    state.marks[r] &= ~(DIRTY | LATE | MOVED)
    zero, half, one = np.float32(0.0), np.float32(0.5), np.float32(1.0)
    buffer_s = state.buffer_s[link]
    weights, uses, offered, blocked, times, waiting_times, full_use, behind = scratch
    total_rows, own_rows, delays, shares = state.total, state.own, state.delay, state.share
    for i in range(weights.size):
        weights[i] = total_rows[link, i] - own_rows[r, i]
        uses[i] = total_rows[link, STATES + i] - own_rows[r, STATES + i]
        offered[i] = total_rows[link, 2 * STATES + i] - own_rows[r, 2 * STATES + i]
        blocked[i] = total_rows[link, 3 * STATES + i] - own_rows[r, 3 * STATES + i]
    most, fullest = zero, zero
    for i in range(times.size):
        weights[i] = weights[i] if weights[i] > _SOME else zero
        most, fullest = max(most, weights[i]), max(fullest, blocked[i])
    total, own = state.total_sums[link], state.own_sums[r]
    weight = total.weight - own.weight
    first = job.first_entry + record.first_entry
    if weight <= _SOME:
        times_s = 0.0
        for k in range(first, first + record.n_entries):
            state.delay[k] = _NEVER
            state.entries[k].time_s = state.entries[k].end_s
            times_s += state.entries[k].end_s
        if abs(times_s - record.times_s) > stale * record.times_s:
            state.marks[r] |= MOVED
        return
    burst_s = np.float32((total.burst - own.burst) / weight)
    variance = total.variance - own.variance
    memory_s = (total.memory - own.memory) / variance if variance > _SOME * _SOME else zero
    behind_weight = zero
    if fullest > _SOME:
        blocked_use = total.blocked_use - own.blocked_use
        if blocked_use > _SOME:
            behind_weight = (total.blocked_weight - own.blocked_weight) / blocked_use
        on_channel, on_all = zero, zero
        for c in range(CHANNELS):
            part = total.blocked[c] - own.blocked[c]
            on_all += part
            if state.channel[r, c] > 0.0:
                on_channel = max(on_channel, part)
        on_channel = min(one, on_channel / on_all) if on_all > _SOME else zero
        for i in range(times.size):
            full_use[i] = one
            blocked[i] = min(one, max(zero, blocked[i]) * on_channel)
    queue_s = np.float32(QUEUE_BUFFERS) * buffer_s
    surplus, least_s = own.use - one, np.float32(1e-15)
    greatest, times_s = zero, 0.0
    for k in range(first, first + record.n_entries):
        entry = state.entries[k]
        end_s, part = np.float32(entry.end_s), np.float32(entry.part)
        longest_s = entry.drain_s * (1.0 + most / entry.weight) + part * queue_s
        if longest_s <= entry.end_s and behind_weight == zero:  # ends as alone whatever others do
            state.delay[k] = _NEVER
            entry.time_s = entry.end_s
            times_s += entry.end_s
            continue
        step = state.steps[job.first_step + entry.step]
        _shared_times(entry, buffer_s, weights, uses, times)
        if behind_weight > zero:
            own_weight = np.float32(entry.weight)
            for i in range(times.size):
                behind[i] = max(weights[i], behind_weight - own_weight)
            _shared_times(entry, buffer_s, behind, full_use, waiting_times)
            for i in range(times.size):
                slow = one / (
                    (one - blocked[i]) / times[i] + blocked[i] / max(times[i], waiting_times[i])
                )
                times[i] = slow if weights[i] > zero else times[i]
        mean_speed = zero
        for i in range(times.size):
            behind[i] = end_s / (max(end_s, times[i]))
        for i in range(times.size):
            mean_speed += behind[i]
        mean_speed /= np.float32(STATES)
        rho = one
        if memory_s > zero:
            ratio = np.float32(step.duration_s) / memory_s
            rho = one / np.sqrt(one + ratio * ratio / np.float32(3.0))
        drain_s, y = np.float32(step.drain_s), zero
        some_s = end_s * np.float32(1.0 + 1e-6)
        for i in range(times.size):
            time_s = times[i]
            later_s = max(end_s, time_s)
            stretched_s = end_s / (mean_speed + rho * (end_s / later_s - mean_speed))
            stretched_s = time_s if time_s < end_s and stretched_s <= some_s else stretched_s
            over = offered[i] + surplus
            grown_s = over * burst_s if over > zero else zero
            full_s = queue_s * (one - queue_s / (grown_s + grown_s + least_s))
            wait_s = half * grown_s if grown_s <= queue_s else full_s
            wait_s = part * wait_s - (later_s - time_s)
            wait_s = wait_s if wait_s > zero and weights[i] > zero else zero
            behind[i] = stretched_s
            delays[k, i] = stretched_s + wait_s - drain_s
        for i in range(times.size):
            y += shares[slot, i] * behind[i]
        for i in range(times.size):
            greatest = max(greatest, delays[k, i])
        entry.time_s = max(entry.end_s, float(y))
        times_s += entry.time_s
    if greatest > zero:
        state.marks[r] |= LATE
    if abs(times_s - record.times_s) > stale * record.times_s:
        state.marks[r] |= MOVED


@njit(error_model="numpy")
def _evaluate(state: State, slot: int, stale: float, scratch: Scratch, times: Floats) -> float:
    """Bring a job's delays and the durations of its steps up to date; return how far P moved."""
    job = state.jobs[slot]
    for r in range(job.first_record, job.first_record + job.n_records):
        if state.marks[r] & DIRTY:
            _evaluate_record(state, slot, r, stale, scratch)
    late_s = np.zeros((job.n_steps, STATES), np.float32)
    job.worst_record, longest_s = -1, np.float32(0.0)
    for r in range(job.first_record, job.first_record + job.n_records):
        if not state.marks[r] & LATE:
            continue
        first = job.first_entry + state.records[r].first_entry
        for k in range(first, first + state.records[r].n_entries):
            a, on_link_s = state.entries[k].step, np.float32(0.0)
            for i in range(STATES):
                late_s[a, i] = max(late_s[a, i], state.delay[k, i])
                on_link_s += max(np.float32(0.0), state.delay[k, i])
            if on_link_s > longest_s * _DIFFERENT:
                job.worst_record, longest_s = r - job.first_record, on_link_s
    all_shares = 0.0
    for i in range(STATES):
        all_late_s = 0.0
        for a in range(job.n_steps):
            all_late_s += late_s[a, i]
        times[i] = 1.0 / (1.0 + all_late_s / job.alone_s)
        all_shares += times[i]
    period_s, delayed = job.compute_s, False
    for i in range(STATES):
        state.share[slot, i] = times[i] / all_shares
    for a in range(job.n_steps):
        step = state.steps[job.first_step + a]
        mean_s = 0.0
        for i in range(STATES):
            mean_s += state.share[slot, i] * late_s[a, i]
        if mean_s < 1e-6 * step.drain_s:
            mean_s = 0.0  # rounding
        step.duration_s += job.damping * (step.drain_s + step.latency_s + mean_s - step.duration_s)
        if mean_s == 0.0:
            step.duration_s = step.drain_s + step.latency_s
        else:
            delayed = True
        period_s += step.duration_s
    if not delayed:
        period_s = job.alone_s  # which was summed in another order
    moved: float = period_s / job.period_s - 1.0
    job.period_s = period_s
    return moved


@njit(void(STATE, int64, int64[::1]), cache=True)
def enter(state: State, slot: int, cursor: Ints) -> None:
    """Put a job's records on the lists of their links, and mark what shares them dirty."""
    job = state.jobs[slot]
    for r in range(job.first_record, job.first_record + job.n_records):
        record = state.records[r]
        link = state.links[record.link]
        record.following = link.first_record
        link.first_record = r
        link.n_records += 1
        if link.n_records == 2:  # noqa: PLR2004 (it was alone before)
            _enqueue(state, state.records[record.following].job, cursor)
            state.marks[record.following] |= DIRTY | SHARED
        if link.n_records > 1:
            state.marks[r] |= DIRTY | SHARED
    _enqueue(state, slot, cursor)


@njit(void(STATE, int64, int64[::1]), cache=True)
def leave(state: State, slot: int, cursor: Ints) -> None:
    """Take a job's records off their links, and mark what shares them dirty."""
    job = state.jobs[slot]
    rows, sums = np.empty(4 * STATES, np.float32), np.empty(8, np.float32)
    for r in range(job.first_record, job.first_record + job.n_records):
        record = state.records[r]
        link = state.links[record.link]
        before, at = -1, link.first_record
        while at != r:
            before, at = at, state.records[at].following
        if before < 0:
            link.first_record = record.following
        else:
            state.records[before].following = record.following
        link.n_records -= 1
        if state.marks[r] & COMMITTED:
            _remove_own(state, r, rows, sums)
        if link.n_records == 1:
            if state.marks[link.first_record] & COMMITTED:
                _remove_own(state, link.first_record, rows, sums)
            state.total[record.link] = 0.0
            state.own[link.first_record] = 0.0
            state.marks[link.first_record] &= ~SHARED
            link.change = 0.0
        if link.n_records > 0:
            _mark_others(state, record.link, slot, cursor)
    if job.queued:  # take it out of the queue
        kept = 0
        for place in range(cursor[1]):
            other = state.queue[(cursor[0] + place) % state.queue.size]
            if other != slot:
                state.queue[(cursor[0] + kept) % state.queue.size] = other
                kept += 1
        cursor[1] = kept
        job.queued = False


@njit(error_model="numpy")
def _commit_job(
    state: State,
    slot: int,
    tolerance: float,
    scratch: tuple[Floats, Float32s, Float32s],
    cursor: Ints,
) -> None:
    """
    Bring what a job adds to shared links up to date.

    All of it if its iteration has moved by more than the tolerance, else where it is on a link for
    a longer or shorter time than the totals know.
    """
    job = state.jobs[slot]
    begin_s = scratch[0]
    all_moved = abs(job.period_s / job.committed_s - 1.0) > 5.0 * tolerance
    at_s = job.compute_s
    for a in range(job.n_steps):
        begin_s[a] = at_s
        at_s += state.steps[job.first_step + a].duration_s
    if all_moved:
        job.committed_s = job.period_s
    for r in range(job.first_record, job.first_record + job.n_records):
        mark = state.marks[r]
        if mark & SHARED and (all_moved or mark & MOVED or not mark & COMMITTED):
            record = state.records[r]
            state.marks[r] &= ~MOVED
            record.times_s = 0.0
            first = job.first_entry + record.first_entry
            for k in range(first, first + record.n_entries):
                record.times_s += state.entries[k].time_s
            _commit(state, slot, r, _STALE * tolerance, scratch, cursor)


@njit(int64(STATE, int64[::1], float64, int64[::1], int64[::1]), cache=True, error_model="numpy")
def settle(state: State, cursor: Ints, tolerance: float, rounds: Ints, changed: Ints) -> int:
    """
    Evaluate dirty jobs until none is left.

    `tolerance`: relative change of a job's iteration that moves no other. `rounds` (jobs,):
    scratch, all 0 before and after. `changed` (jobs,): written: slots whose interference has moved.
    Result: how many.
    """
    by_state = (
        np.empty(STATES, np.float32),
        np.empty(STATES, np.float32),
        np.empty(STATES, np.float32),
        np.empty(STATES, np.float32),
        np.empty(STATES, np.float32),
        np.empty(STATES, np.float32),
        np.empty(STATES, np.float32),
        np.empty(STATES, np.float32),
    )
    rows, times, sums = np.empty(4 * STATES, np.float32), np.empty(STATES), np.empty(8, np.float32)
    n_steps = 0
    for slot in range(state.jobs.size):
        n_steps = max(n_steps, state.jobs[slot].n_steps)
    scratch = np.empty(n_steps), rows, sums
    touched = np.empty(state.jobs.size, np.int64)
    n_touched = 0
    while cursor[1] > 0:
        slot = state.queue[cursor[0]]
        cursor[0] = (cursor[0] + 1) % state.queue.size
        cursor[1] -= 1
        job = state.jobs[slot]
        job.queued = False
        if rounds[slot] == 0:
            touched[n_touched] = slot
            n_touched += 1
            job.damping = _DAMPING
        rounds[slot] += 1
        if rounds[slot] == 1:  # links shared anew, to which it adds nothing yet
            _commit_job(state, slot, tolerance, scratch, cursor)
        moved = _evaluate(state, slot, _STALE * tolerance, by_state, times)
        if rounds[slot] > _UNDAMPED:  # the fixed point is not near: smaller steps
            job.damping = max(_LEAST_DAMPING, 0.97 * min(_DAMPING, job.damping))
        if rounds[slot] < _MOST_ROUNDS:
            _commit_job(state, slot, tolerance, scratch, cursor)
        if abs(moved) > _OWN_CHANGE * tolerance and rounds[slot] < _MOST_ROUNDS:
            for r in range(job.first_record, job.first_record + job.n_records):
                if state.marks[r] & COMMITTED:
                    state.marks[r] |= DIRTY
            _enqueue(state, slot, cursor)
        elif abs(moved) > tolerance and rounds[slot] < _MOST_ROUNDS:
            _enqueue(state, slot, cursor)  # damped: it has not yet gone all the way
    n_changed = 0
    for place in range(n_touched):
        slot = touched[place]
        rounds[slot] = 0
        job = state.jobs[slot]
        value = job.period_s / job.alone_s if job.alone_s > 0.0 else 1.0
        if not abs(value - job.reported) <= tolerance * 0.1:
            job.reported = value
            changed[n_changed] = slot
            n_changed += 1
    return n_changed


@njit(void(STATE), cache=True)
def recount(state: State) -> None:
    """Add up the totals of all links anew, from what each record adds: rounding goes."""
    state.total[:] = 0.0
    for link in range(state.links.size):
        sums = state.total_sums[link]
        sums.use, sums.weight, sums.burst = 0.0, 0.0, 0.0
        sums.blocked_use, sums.blocked_weight, sums.variance, sums.memory = 0.0, 0.0, 0.0, 0.0
        for c in range(CHANNELS):
            sums.blocked[c] = 0.0
        r = state.links[link].first_record
        while r >= 0:
            if state.marks[r] & COMMITTED:
                own = state.own_sums[r]
                state.total[link] += state.own[r]
                sums.use += own.use
                sums.weight += own.weight
                sums.burst += own.burst
                sums.blocked_use += own.blocked_use
                sums.blocked_weight += own.blocked_weight
                sums.variance += own.variance
                sums.memory += own.memory
                for c in range(CHANNELS):
                    sums.blocked[c] += own.blocked[c]
            r = state.records[r].following


@njit(void(STATE), cache=True)
def relink(state: State) -> None:
    """Make the lists of records on links anew, after rows have moved."""
    for link in range(state.links.size):
        state.links[link].first_record = -1
    for slot in range(state.jobs.size):
        job = state.jobs[slot]
        for r in range(job.first_record, job.first_record + job.n_records):
            link = state.links[state.records[r].link]
            state.records[r].following = link.first_record
            link.first_record = r


@njit(error_model="numpy")
def _excess(state: State, slot: int, link_cost: Floats, record_of: Ints) -> int:
    """
    List the records that decide steps of a job, and what they cost in each state.

    `link_cost` (R, STATES), `record_of` (R,): written, R the steps x STATES at most. Result: how
    many. Where nothing is late the record with the greatest weight of others decides.
    """
    job = state.jobs[slot]
    worst = np.full((job.n_steps, STATES), -1, np.int64)
    late_s = np.zeros((job.n_steps, STATES), np.float32)
    for r in range(job.first_record, job.first_record + job.n_records):
        if not state.marks[r] & LATE:
            continue
        first = job.first_entry + state.records[r].first_entry
        for k in range(first, first + state.records[r].n_entries):
            a = state.entries[k].step
            for i in range(STATES):
                if state.delay[k, i] > late_s[a, i]:
                    late_s[a, i], worst[a, i] = state.delay[k, i], r
    n_found = 0
    for a in range(job.n_steps):
        for i in range(STATES):
            if worst[a, i] < 0:
                continue
            place = 0
            while place < n_found and record_of[place] != worst[a, i]:
                place += 1
            if place == n_found:
                record_of[place] = worst[a, i]
                link_cost[place] = 0.0
                n_found += 1
            link_cost[place, i] += state.share[slot, i] * late_s[a, i]
    return n_found


@njit(
    int64(STATE, int64[::1], int64[::1], int64[::1], float64[:, ::1], int64[:, ::1], float64[::1]),
    cache=True,
    error_model="numpy",
)
def attribute(
    state: State, victims: Ints, kinds: Ints, job_of: Ints, lost: Floats, rows: Ints, shares: Floats
) -> int:
    """
    Share out what the steps of some jobs take longer than alone.

    In each state the link that takes longest decides a step; what it costs is shared among the
    other jobs in proportion to their weight on it in this state.

    `victims` (V,): slots. `kinds` (E,): class of each link, 0..K-1. `job_of` (jobs,): identity by
    slot. `lost` (jobs, K): scratch, all 0 before and after. `rows` (3, Z) and `shares` (Z,):
    written: victim, culprit, class of link and share; those of a victim add up to 1. Result:
    rows there are; those beyond Z are not written.
    """
    n_rows = 0
    for v in range(victims.size):
        slot = victims[v]
        job = state.jobs[slot]
        cost = np.empty((min(job.n_records, job.n_steps * STATES), STATES))
        record_of = np.empty(cost.shape[0], np.int64)
        n_found = _excess(state, slot, cost, record_of)
        total = 0.0
        culprits = [0]
        culprits.clear()
        for place in range(n_found):
            r = record_of[place]
            link = state.records[r].link
            kind = kinds[link]
            other = state.links[link].first_record
            while other >= 0:
                if other != r and state.marks[other] & COMMITTED:
                    part = 0.0
                    for i in range(STATES):
                        weight = state.total[link, i] - state.own[r, i]
                        if weight > _SOME and cost[place, i] > 0.0:
                            part += cost[place, i] * state.own[other, i] / weight
                    if part > 0.0:
                        by = state.records[other].job
                        culprits.append(by)
                        lost[by, kind] += part
                        total += part
                other = state.records[other].following
        for by in culprits:
            for kind in range(lost.shape[1]):
                if lost[by, kind] > 0.0:
                    if n_rows < shares.size:
                        rows[0, n_rows], rows[1, n_rows] = job_of[slot], job_of[by]
                        rows[2, n_rows], shares[n_rows] = kind, lost[by, kind] / total
                    n_rows += 1
                    lost[by, kind] = 0.0
    return n_rows
