"""The fixed point of the model `fluid`, compiled; long because its kernels call each other.

It is kept up to date from event to event.

A job has a *slot*. It has a record on each link that it uses, and an entry for each step on it::

    jobs ──┬─ steps    tau, lam | d
           └─ records ──── entries    B, m, q, e, E, G, o, g, p, v | y ── delay, by state
                 │
                 ├─ loads    contribution: N, R, O, g, by state and in the mean
                 │
    links ── totals    sums of the contributions of their records

What stands before a bar is a constant of the job, from its `Demand`; all else is computed from it:

* `enter` and `leave` change the lists of records on links.
* A job is *dirty* if the totals of one of its links have changed by more than a tolerance, and
  then so is its record there. A record that is FREE is not: as long as the others' weight is at
  most `free_weight` it ends as alone, and `free_weight` is a constant.
* `converge` evaluates dirty jobs until none is left: t + wait of their dirty records, hence y, d
  and P. If P or some y has moved by more than a tolerance, the contributions that follow from it
  are *committed* to the totals, which makes other jobs dirty.
* A step's longest delay on any link is kept. It is sought again among the records that are LATE,
  which are on a list of their job, when one that had it has been evaluated.

Records on links with a single job are in no totals and have no delay, so a job that shares no link
keeps an interference of exactly 1.
"""

from typing import Any

import numpy as np
from numba import float64, int8, int64, typeof, types, void
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints, Table
from netsim.common.jit import njit
from netsim.fluid.tables import (
    CHANNELS,
    COMMITTED,
    DIRTY,
    ENTRY,
    FREE,
    JOB,
    LATE,
    LINK,
    LISTED,
    LOAD,
    MOVED,
    RECORD,
    SHARED,
    STATES,
    STEP,
    UNCHANGED,
    WORK,
    Demand,
    Float32s,
    Scratch,
    State,
)

QUEUE_BUFFERS = 3.0  # W: buffers that a full queue stands in, here and on the links before it
_SOME = np.float32(1e-5)  # weight below which rounding is all there is on a link
_STALE = 30.0  # tolerances by which the totals of a link may change before its jobs are dirty
_MOST_ROUNDS = 200  # evaluations of a job in one `converge`
_DAMPING, _LEAST_DAMPING = 0.8, 0.2
_UNDAMPED = 4
_OWN_CHANGE = 10.0  # tolerances of its iteration by which a job makes its own records dirty
_ALL_CHANGE = 5.0  # tolerances of its iteration that change all contributions of a job
_NO_DELAY = np.float32(-1e30)
_NO_LOAD = np.zeros(LOAD.itemsize // 4, np.float32)

Row = Any  # of a table
Bytes = NDArray[np.uint8]
Phases = NDArray[np.int8]
Dirty = tuple[Ints, Ints]  # queue and cursor of `State`
_F4 = types.float32
_TABLES = {kind: typeof(np.zeros(1, kind)) for kind in (JOB, STEP, RECORD, ENTRY, LINK, LOAD, WORK)}
# plain tuples, which numba takes apart in half the time of named ones
_STATE = types.Tuple(
    (
        *(_TABLES[kind] for kind in (JOB, STEP, RECORD)),
        types.uint8[::1],
        *(_TABLES[kind] for kind in (ENTRY, LINK, LOAD, LOAD)),
        *[_F4[:, ::1]] * 2,
        int64[::1],
        int64[::1],
    )
)
_SCRATCH = types.Tuple((*[int64[::1]] * 3, float64[::1], _TABLES[LOAD], _F4[:, ::1], _TABLES[WORK]))
_DEMAND = types.Tuple((*(_TABLES[kind] for kind in (STEP, RECORD, ENTRY)),))


@njit(fastmath={"nnan", "nsz"}, allocates=False)
def _greatest(values: Float32s) -> np.float32:
    """Return the greatest of some numbers above 0, or 0."""
    found = np.float32(0.0)
    for i in range(values.size):
        found = max(found, values[i])
    return found


@njit(allocates=False)
def _enqueue(job: Row, slot: int, dirty: Dirty) -> None:
    """Put a job at the end of the queue of dirty jobs."""
    if not job.queued:
        queue, cursor = dirty
        job.queued = True
        queue[(cursor[0] + cursor[1]) % queue.size] = slot
        cursor[1] += 1


@njit(allocates=False)
def _make_dirty(r: int, record: Row, marks: Bytes, job: Row) -> None:
    """Put a record on its job's list of dirty ones."""
    if not marks[r] & DIRTY:
        marks[r] |= DIRTY
        record.next_dirty = job.first_dirty
        job.first_dirty = r - job.first_record
        job.n_dirty += 1


@njit(allocates=False)
def _invalidate(
    link: Row, total: Row, slot: int, records: Table, marks: Bytes, jobs: Table, dirty: Dirty
) -> None:
    """Make the records of other jobs on a link dirty, but those that it cannot delay."""
    r = link.first_record
    most = _greatest(total.weight) if total.blocked_use <= _SOME else np.float32(np.inf)
    while r >= 0:
        record = records[r]
        if record.job != slot and not (marks[r] & FREE and most <= record.free_weight):
            job = jobs[record.job]
            _make_dirty(r, record, marks, job)
            _enqueue(job, record.job, dirty)
        r = record.next_record


@njit(error_model="numpy", allocates=False)
def _contribution(
    job: Row,
    record: Row,
    buffer_s: float,
    steps: Table,
    entries: Table,
    begin_s: Floats,
    fresh: Row,
) -> None:
    """
    Compute what a record adds to its link, `fresh`, a row of `LOAD`; `begin_s`: of each step.

    A round is on the link for L = min(d, max(e, y)) from its begin on, with the mean weight w / L,
    use B / L, and offered load min(o, w / L). Several rounds are spread evenly over their step.
    While it is late, y > e, its senders have nothing
    else open and weigh 1, or earlier, once the window of the card is closed.

    What blocks has the weight that it has alone: jobs that block each other on a link would else
    each wait for as long as the other does, which has no fixed point.
    """
    per_period, per_cell = 1.0 / job.period_s, STATES / job.period_s
    all_weight_s, all_length_s = 0.0, 0.0
    mean_weight, mean_burst, mean_use = 0.0, 0.0, 0.0
    blocked, blocked_use, blocked_weight = 0.0, 0.0, 0.0
    for i in range(STATES):
        fresh.weight[i] = fresh.use[i] = fresh.offered[i] = fresh.blocked[i] = np.float32(0.0)
    first = job.first_entry + record.first_entry
    for k in range(first, first + record.n_entries):
        entry = entries[k]
        drain_s, end_s, y = entry.drain_s, entry.end_s, entry.time_s
        weight_s = entry.weight_s + max(0.0, y - end_s) * entry.senders
        if buffer_s > 0.0 and y > end_s and entry.weight > drain_s / y:
            closing_s = entry.senders * buffer_s / (entry.weight - drain_s / y)
            if closing_s < end_s:
                weight_s = entry.weight_s / end_s * closing_s + (y - closing_s) * entry.senders
        step = steps[job.first_step + entry.step]
        duration_s, rounds = step.duration_s, step.rounds
        length_s = max(1e-15, min(duration_s, max(end_s, y)))
        per_length = 1.0 / length_s
        weight, use = weight_s * per_length, drain_s * per_length
        offered = min(entry.offered, weight)
        burst_s = min(length_s, drain_s / max(1e-12, entry.offered))
        present = rounds * length_s * per_period
        all_weight_s += rounds * weight_s
        all_length_s += rounds * length_s
        mean_use += use * present
        mean_weight += weight * present
        mean_burst += weight * present * burst_s
        blocked += entry.blocked * present
        blocked_use += entry.blocked * use * present
        blocked_weight += rounds * entry.blocked * entry.weight_s * per_period
        begin = begin_s[entry.step] * per_cell
        span_s = length_s if rounds == 1 else max(1e-15, rounds * duration_s)
        end, thin = begin + span_s * per_cell, rounds * length_s / span_s
        for cell in range(int(begin), min(STATES - 1, int(end)) + 1):
            part = thin * (min(end, cell + 1.0) - max(begin, float(cell)))
            if part > 0.0:
                i = job.phase[cell]
                fresh.weight[i] += np.float32(part * weight)
                fresh.use[i] += np.float32(part * use)
                fresh.offered[i] += np.float32(part * offered)
                fresh.blocked[i] += np.float32(part * entry.blocked)
    mean, present = all_weight_s / all_length_s, min(1.0, all_length_s * per_period)
    fresh.mean_weight, fresh.mean_burst, fresh.mean_use = mean_weight, mean_burst, mean_use
    fresh.blocked_use, fresh.blocked_weight = blocked_use, blocked_weight
    fresh.variance = mean * mean * present * (1.0 - present)
    fresh.correlation = fresh.variance * all_length_s * (1.0 - present)
    for c in range(CHANNELS):
        fresh.blocked_on[c] = blocked * record.channel[c]


@njit(error_model="numpy", fastmath={"reassoc", "nsz"}, allocates=False)
def _replace(own: Float32s, total: Float32s, fresh: Float32s) -> np.float32:
    """Replace a contribution in its link's total; return the relative change of the weight."""
    moved, there = np.float32(0.0), np.float32(1e-6)
    for i in range(STATES):  # the weights come first
        moved += abs(fresh[i] - own[i])
    for value in range(own.size):
        total[value] += fresh[value] - own[value]
        own[value] = fresh[value]
    for i in range(STATES):
        there += total[i]
    return moved / there


@njit(error_model="numpy", allocates=False)
def _commit(
    state: State,
    slot: int,
    tolerance: float,
    evaluated: Ints,
    begin_s: Floats,
    contribution: tuple[Row, Float32s],
) -> None:
    """
    Bring a job's contributions up to date, and make other jobs dirty where the totals change.

    All of them if its iteration has moved by more than a tolerance, else those of records whose
    time on the link has changed, or that are new: these are among `evaluated`. `begin_s`: scratch,
    by step.
    """
    fresh, fresh_values = contribution
    job = state.jobs[slot]
    all_moved = abs(job.period_s / job.committed_s - 1.0) > _ALL_CHANGE * tolerance
    at_s = hidden_from_s = job.compute_s
    for a in range(job.n_steps):
        begin_s[a] = at_s
        step = state.steps[job.first_step + a]
        at_s += step.rounds * step.duration_s
        if step.hide_s >= 0.0:
            at_s = hidden_from_s = max(at_s, hidden_from_s + step.hide_s)
    if all_moved:
        job.committed_s = job.period_s
    for place in range(job.n_records if all_moved else evaluated.size):
        r = job.first_record + (place if all_moved else evaluated[place])
        mark = state.marks[r]
        if not (mark & SHARED and (all_moved or mark & MOVED or not mark & COMMITTED)):
            continue
        record = state.records[r]
        record.times_s = 0.0
        first = job.first_entry + record.first_entry
        for k in range(first, first + record.n_entries):
            record.times_s += state.entries[k].time_s
        link = state.links[record.link]
        _contribution(job, record, link.buffer_s, state.steps, state.entries, begin_s, fresh)
        state.marks[r] = (mark & ~(MOVED | UNCHANGED)) | COMMITTED
        own_values, total_values = state.load_values[r], state.total_values[record.link]
        link.change += _replace(own_values, total_values, fresh_values)
        if link.change > _STALE * tolerance:
            link.change = np.float32(0.0)
            total, dirty = state.totals[record.link], (state.queue, state.cursor)
            _invalidate(link, total, slot, state.records, state.marks, state.jobs, dirty)


@njit(error_model="numpy", allocates=False)
def _shared_times(
    entry: Row,
    buffer_s: np.float32,
    weight: Float32s,
    use: Float32s,
    times: Float32s,
) -> None:
    """
    Compute y, how long a step's bytes take on a link beside others, by state.

    They get m / (m + N) until the senders have nothing else open, at G, or the window of a card is
    closed, then q / (q + N); and never less than what the others leave idle. First packets are in
    the queue of the link at once: they only wait there.
    """
    one, least = np.float32(1.0), np.float32(1e-12)
    m, q = np.float32(entry.weight), np.float32(entry.senders)
    drain_s, injection_s = np.float32(entry.drain_s), np.float32(entry.injection_s)
    delayed = np.float32(entry.fraction * max(0.0, 1.0 - entry.first_packets_s / entry.drain_s))
    window_s = np.float32(q * buffer_s)
    has_window, more, some = buffer_s > 0.0, q > m, np.float32(1e-6)
    per_own, per_sender = one / m, one / q
    for i in range(times.size):
        n = weight[i]
        longer = one + n * per_own
        until_s = injection_s
        if has_window:
            apart = m * (m + n - one)
            closing_s = window_s * (m + n) / apart if apart > least else injection_s
            until_s = min(injection_s, closing_s)
        shared_s = drain_s * longer
        later_s = until_s + (drain_s - until_s / longer) * (one + n * per_sender)
        time_s = later_s if more and until_s < shared_s else shared_s
        idle = one - use[i]
        idle_s = drain_s / idle if idle > some else time_s
        time_s = min(time_s, idle_s)
        times[i] = drain_s + delayed * (time_s - drain_s)


@njit(error_model="numpy", allocates=False)
def _blocking_weight(record: Row, total: Row, own: Row, blocked: Float32s) -> np.float32:
    """
    Find how much of the time others block a link for a record, by state, and with what weight.

    `blocked` (STATES,): written unless the weight is 0. Only blocking on virtual channels that the
    job uses counts.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    blocked_use = total.blocked_use - own.blocked_use
    if blocked_use <= _SOME:
        return zero
    on_channel, on_all = zero, zero
    for c in range(CHANNELS):
        part = total.blocked_on[c] - own.blocked_on[c]
        on_all += part
        if record.channel[c] > zero:
            on_channel = max(on_channel, part)
    on_channel = min(one, on_channel / on_all) if on_all > _SOME else zero
    for i in range(STATES):
        blocked[i] = total.blocked[i] - own.blocked[i]
    if _greatest(blocked) <= _SOME:
        return zero
    for i in range(STATES):
        blocked[i] = min(one, max(zero, blocked[i]) * on_channel)
    return np.float32((total.blocked_weight - own.blocked_weight) / blocked_use)


@njit(error_model="numpy", fastmath={"reassoc", "nsz"}, allocates=False)
def _sum(values: Float32s) -> np.float32:
    """Return a sum; the order of its terms is open."""
    found = np.float32(0.0)
    for i in range(values.size):
        found += values[i]
    return found


@njit(error_model="numpy", allocates=False)
def _evaluate_record(
    job: Row,
    record: Row,
    buffer_s: np.float32,
    loads: tuple[Row, Row],
    steps: Table,
    entries: Table,
    was_free: bool,
    work: Row,
) -> tuple[int, float]:
    """
    Compute the delay of each entry of a record in each state, and y, its mean.

    `loads`: total of the link and contribution of the record. Result: FREE, LATE or neither, and
    the sum of y; -1.0: as before.
    """
    total, own = loads
    weight = total.mean_weight - own.mean_weight
    weights, times, stretched = work.weight, work.times_s, work.stretched_s
    zero, half, one = np.float32(0.0), np.float32(0.5), np.float32(1.0)
    for i in range(STATES):
        n = total.weight[i] - own.weight[i]
        weights[i] = n if n > _SOME else zero
    most = _greatest(weights)
    blocking_weight = _blocking_weight(record, total, own, work.blocked)
    first = job.first_entry + record.first_entry
    if weight <= _SOME or (most <= record.free_weight and blocking_weight == zero):
        if was_free:
            return FREE, -1.0
        times_s = 0.0
        for k in range(first, first + record.n_entries):
            entries[k].time_s = entries[k].end_s
            times_s += entries[k].end_s
        return FREE, times_s
    for i in range(STATES):
        work.use[i] = total.use[i] - own.use[i]
    burst_s = (total.mean_burst - own.mean_burst) / weight
    variance, theta_s = total.variance - own.variance, zero
    if variance > _SOME * _SOME:
        theta_s = (total.correlation - own.correlation) / variance
    queue_s, least_s = np.float32(QUEUE_BUFFERS) * buffer_s, np.float32(1e-15)
    surplus, greatest, times_s = own.mean_use - one, zero, 0.0
    for k in range(first, first + record.n_entries):
        entry = entries[k]
        end_s, fraction = np.float32(entry.end_s), np.float32(entry.fraction)
        longest_s = entry.drain_s * (1.0 + most / entry.weight) + fraction * queue_s
        if longest_s <= entry.end_s and blocking_weight == zero:
            for i in range(STATES):
                entry.delay_s[i] = _NO_DELAY
            entry.time_s = entry.end_s
            times_s += entry.end_s
            continue
        step = steps[job.first_step + entry.step]
        _shared_times(entry, buffer_s, weights, work.use, times)
        if blocking_weight > zero:
            least = blocking_weight - np.float32(entry.weight)
            for i in range(STATES):
                stretched[i] = max(weights[i], least)
            _shared_times(entry, buffer_s, stretched, work.full, work.blocked_s)
            for i in range(STATES):
                g, behind_s = work.blocked[i], max(times[i], work.blocked_s[i])
                slow_s = one / ((one - g) / times[i] + g / behind_s)
                times[i] = slow_s if weights[i] > zero else times[i]
        for i in range(STATES):
            work.speed[i] = end_s / max(end_s, times[i])
        mean_speed, rho = _sum(work.speed) / np.float32(STATES), one
        if theta_s > zero:
            ratio = np.float32(step.duration_s) / theta_s
            rho = one / np.sqrt(one + ratio * ratio / np.float32(3.0))
        tau_s, y = np.float32(step.drain_s), zero
        some_s = end_s * np.float32(1.0 + 1e-6)
        for i in range(STATES):
            time_s = times[i]
            later_s = max(end_s, time_s)
            t = end_s / (mean_speed + rho * (end_s / later_s - mean_speed))
            t = time_s if time_s < end_s and t <= some_s else t
            over = total.offered[i] - own.offered[i] + surplus
            grown_s = over * burst_s if over > zero else zero  # H
            full_s = queue_s * (one - queue_s / (grown_s + grown_s + least_s))
            wait_s = half * grown_s if grown_s <= queue_s else full_s
            wait_s = fraction * wait_s - (later_s - time_s)
            wait_s = wait_s if wait_s > zero and weights[i] > zero else zero
            times[i] = t + wait_s - tau_s
            stretched[i] = t * job.share[i]
        for i in range(STATES):
            entry.delay_s[i] = times[i]
        greatest = max(greatest, _greatest(times))
        y = _sum(stretched)
        entry.time_s = max(entry.end_s, float(y))
        times_s += entry.time_s
    return (LATE if greatest > zero else 0), times_s


@njit(allocates=False)
def _sort_dirty(job: Row, records: Table, marks: Bytes, found: Ints) -> int:
    """
    List the dirty records of a job in order, counted from its first; return where they begin.

    `found`: written from there to its end. Few are sorted, which takes at most as long as a look at
    all; the list is in falling order already where one other job has made them dirty.
    """
    begin, last = found.size, found.size - 1
    if job.n_dirty * job.n_dirty > 4 * job.n_records:
        for r in range(job.n_records - 1, -1, -1):
            if marks[job.first_record + r] & DIRTY:
                begin -= 1
                found[begin] = r
        return begin
    r = job.first_dirty
    while r >= 0:
        begin -= 1
        place = begin
        while place < last and found[place + 1] < r:
            found[place] = found[place + 1]
            place += 1
        found[place] = r
        r = records[job.first_record + r].next_dirty
    return begin


@njit(allocates=False)
def _find_latest(state: State, job: Row) -> None:
    """Find the longest delay in each step of a job, and take what is not late off its list."""
    zero = np.float32(0.0)
    for a in range(job.first_step, job.first_step + job.n_steps):
        for i in range(STATES):
            state.steps[a].late_s[i] = zero
    place, job.first_late = job.first_late, -1
    while place >= 0:
        r = job.first_record + place
        record, listed = state.records[r], place
        place = record.next_late
        if not state.marks[r] & LATE:
            state.marks[r] &= ~LISTED
            continue
        record.next_late, job.first_late = job.first_late, listed
        first = job.first_entry + record.first_entry
        for k in range(first, first + record.n_entries):
            entry = state.entries[k]
            step = state.steps[job.first_step + entry.step]
            for i in range(STATES):
                step.late_s[i] = max(step.late_s[i], entry.delay_s[i])


@njit(error_model="numpy", allocates=False)
def _evaluate(state: State, slot: int, stale: float, dirty: Ints, work: Row) -> float:
    """
    Bring a job's delays and the durations of its steps up to date; return how far P moved.

    `dirty`: its dirty records, in order, counted from its first. The longest delay of a step is
    sought among all only if a link that had it may not have it any more.
    """
    job = state.jobs[slot]
    zero, lowered = np.float32(0.0), False
    for place in dirty:
        r = job.first_record + place
        mark, record = state.marks[r], state.records[r]
        first = job.first_entry + record.first_entry
        if mark & LATE and not lowered:
            for k in range(first, first + record.n_entries):
                entry = state.entries[k]
                step = state.steps[job.first_step + entry.step]
                for i in range(STATES):
                    lowered |= entry.delay_s[i] > zero and entry.delay_s[i] >= step.late_s[i]
        found, times_s = _evaluate_record(
            job,
            record,
            state.links[record.link].buffer_s,
            (state.totals[record.link], state.loads[r]),
            state.steps,
            state.entries,
            bool(mark & FREE),
            work,
        )
        mark = (mark & (SHARED | COMMITTED | LISTED)) | found
        if times_s >= 0.0 and abs(times_s - record.times_s) > stale * record.times_s:
            mark |= MOVED
        if found == LATE:
            if not mark & LISTED:
                mark |= LISTED
                record.next_late, job.first_late = job.first_late, place
            for k in range(first, first + record.n_entries):
                entry = state.entries[k]
                step = state.steps[job.first_step + entry.step]
                for i in range(STATES):
                    step.late_s[i] = max(step.late_s[i], entry.delay_s[i])
        state.marks[r] = mark
    job.first_dirty, job.n_dirty = -1, 0
    if lowered:
        _find_latest(state, job)
    iterations, times = 0.0, work.times_s
    for i in range(STATES):
        all_late_s, group_late_s, group_s = 0.0, 0.0, 0.0
        for a in range(job.n_steps):
            step = state.steps[job.first_step + a]
            group_late_s += step.rounds * step.late_s[i]
            group_s += step.rounds * (step.drain_s + step.latency_s)
            if step.hide_s >= 0.0:  # what computation beside it outlasts costs nothing
                all_late_s += max(0.0, group_late_s - max(0.0, step.hide_s - group_s))
                group_late_s = group_s = 0.0
        times[i] = 1.0 / (1.0 + all_late_s / job.alone_s)
        iterations += times[i]
    for i in range(STATES):
        job.share[i] = times[i] / iterations
    period_s, group_s, delayed = job.compute_s, 0.0, False
    for a in range(job.n_steps):
        step = state.steps[job.first_step + a]
        mean_s = 0.0
        for i in range(STATES):
            mean_s += job.share[i] * step.late_s[i]
        if mean_s < 1e-6 * step.drain_s:  # rounding
            step.duration_s = step.drain_s + step.latency_s
        else:
            alone_s = step.drain_s + step.latency_s
            step.duration_s += job.damping * (alone_s + mean_s - step.duration_s)
            delayed = True
        group_s += step.rounds * step.duration_s
        if step.hide_s >= 0.0:
            period_s += max(group_s, step.hide_s)
            group_s = 0.0
    if not delayed:
        period_s = job.alone_s  # which was summed in another order
    moved: float = period_s / job.period_s - 1.0
    job.period_s = period_s
    return moved


@njit(allocates=False)
def _zero_load(state: State, r: int) -> None:
    """Take a contribution as none: it is the first time that other jobs are on the link."""
    for value in range(state.load_values.shape[1]):
        state.load_values[r, value] = 0.0


@njit(error_model="numpy", allocates=False)
def _enter_job(
    state: State,
    slot: int,
    demand: Demand,
    rows: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]],
    times_s: tuple[float, float],
    phase: Phases,
) -> None:
    """
    Fill a job's rows, put its records on the lists of their links, and make jobs dirty.

    `rows`: first record, entry and step of the job, the same in `demand`, and how many these are.
    Others as for `enter`.
    """
    first_row, (first_record, first_entry, first_step), sizes = rows
    job = state.jobs[slot]
    job.first_record, job.first_entry, job.first_step = first_row
    job.n_records, job.n_entries, job.n_steps = sizes
    job.compute_s, job.alone_s = times_s
    job.period_s = job.committed_s = job.alone_s
    job.reported, job.damping = np.nan, 1.0
    job.n_dirty, job.first_dirty, job.first_late = 0, -1, -1
    job.queued = False
    for i in range(STATES):
        job.share[i], job.phase[i] = 1.0 / STATES, phase[i]
    for a in range(job.n_steps):
        state.steps[job.first_step + a] = demand.steps[first_step + a]
    for k in range(job.n_entries):
        state.entries[job.first_entry + k] = demand.entries[first_entry + k]
    _enqueue(job, slot, (state.queue, state.cursor))
    for row in range(job.n_records):
        r = job.first_record + row
        state.records[r] = demand.records[first_record + row]
        record = state.records[r]
        record.job = slot
        queue_s = QUEUE_BUFFERS * state.links[record.link].buffer_s
        free_weight = np.inf
        first = job.first_entry + record.first_entry
        for k in range(first, first + record.n_entries):
            entry = state.entries[k]
            room_s = entry.end_s - entry.fraction * queue_s
            free_weight = min(free_weight, (room_s / entry.drain_s - 1.0) * entry.weight)
        record.free_weight = free_weight
        link = state.links[record.link]
        record.next_record = link.first_record
        link.first_record = r
        link.n_records += 1
        state.marks[r] = 0
        if link.n_records == 2:  # noqa: PLR2004 (it was alone before)
            neighbour = record.next_record
            other = state.records[neighbour].job
            _enqueue(state.jobs[other], other, (state.queue, state.cursor))
            state.marks[neighbour] |= SHARED
            _zero_load(state, neighbour)
            _make_dirty(neighbour, state.records[neighbour], state.marks, state.jobs[other])
        if link.n_records > 1:
            state.marks[r] |= SHARED
            _zero_load(state, r)
            _make_dirty(r, record, state.marks, job)


@njit(
    void(_STATE, int64, _DEMAND, types.UniTuple(int64, 3), types.UniTuple(float64, 2), int8[::1]),
    cache=True,
    allocates=False,
)
def enter(
    state: State,
    slot: int,
    demand: Demand,
    first_row: tuple[int, int, int],
    times_s: tuple[float, float],
    phase: Phases,
) -> None:
    """
    Let a job in.

    `first_row`: its first record, entry and step. `times_s`: of an iteration, computing and in all.
    `phase` (STATES,): state in which it is in each cell.
    """
    state, demand = State(*state), Demand(*demand)
    sizes = demand.records.size, demand.entries.size, demand.steps.size
    _enter_job(state, slot, demand, (first_row, (0, 0, 0), sizes), times_s, phase)


@njit(void(_STATE, int64), cache=True, error_model="numpy", allocates=False)
def leave(state: State, slot: int) -> None:
    """Take a job's records off their links, and make dirty what shares them."""
    state = State(*state)
    job = state.jobs[slot]
    for r in range(job.first_record, job.first_record + job.n_records):
        record = state.records[r]
        link = state.links[record.link]
        before, at = -1, link.first_record
        while at != r:
            before, at = at, state.records[at].next_record
        if before < 0:
            link.first_record = record.next_record
        else:
            state.records[before].next_record = record.next_record
        link.n_records -= 1
        total_values = state.total_values[record.link]
        if link.n_records > 1 and state.marks[r] & COMMITTED:
            _replace(state.load_values[r], total_values, _NO_LOAD)
        if link.n_records == 1:
            state.marks[link.first_record] &= ~(SHARED | COMMITTED)
            for value in range(total_values.size):
                total_values[value] = 0.0
                state.load_values[link.first_record, value] = 0.0
            link.change = 0.0
        total, dirty = state.totals[record.link], (state.queue, state.cursor)
        _invalidate(link, total, slot, state.records, state.marks, state.jobs, dirty)
    if job.queued:  # take it out of the queue
        kept, cursor, queue = 0, state.cursor, state.queue
        for place in range(cursor[1]):
            other = queue[(cursor[0] + place) % queue.size]
            if other != slot:
                queue[(cursor[0] + kept) % queue.size] = other
                kept += 1
        cursor[1] = kept
        job.queued = False
    job.n_records = job.n_entries = job.n_steps = 0


@njit(int64(_STATE, float64, _SCRATCH), cache=True, error_model="numpy", allocates=False)
def converge(state: State, tolerance: float, scratch: Scratch) -> int:
    """
    Evaluate dirty jobs until none is left.

    `tolerance`: relative change of a job's iteration that moves no other. Writes into the scratch
    the slots that were evaluated, of which there are `cursor[2]`; first those whose interference
    has moved. Result: how many moved.
    """
    state, scratch = State(*state), Scratch(*scratch)
    jobs, queue, cursor = state.jobs, state.queue, state.cursor
    rounds, changed, found, begin_s = scratch[:4]
    contribution, work = (scratch.fresh[0], scratch.fresh_values[0]), scratch.work[0]
    n_evaluated, stale = 0, _STALE * tolerance
    place = 0
    while place < cursor[1]:  # what is new is in the totals before any job is evaluated
        slot = queue[(cursor[0] + place) % queue.size]
        dirty = found[_sort_dirty(jobs[slot], state.records, state.marks, found) :]
        _commit(state, slot, tolerance, dirty, begin_s, contribution)
        place += 1
    while cursor[1] > 0:
        slot = queue[cursor[0]]
        cursor[0] = (cursor[0] + 1) % queue.size
        cursor[1] -= 1
        job = jobs[slot]
        job.queued = False
        if rounds[slot] == 0:
            changed[n_evaluated] = slot
            n_evaluated += 1
            job.damping = _DAMPING
        rounds[slot] += 1
        dirty = found[_sort_dirty(job, state.records, state.marks, found) :]
        moved = _evaluate(state, slot, stale, dirty, work)
        if rounds[slot] > _UNDAMPED:  # the fixed point is not near: smaller steps
            job.damping = max(_LEAST_DAMPING, 0.97 * min(_DAMPING, job.damping))
        if rounds[slot] >= _MOST_ROUNDS:
            job.committed_s = np.inf  # all of it, when something changes
            continue
        _commit(state, slot, tolerance, dirty, begin_s, contribution)
        if abs(moved) > _OWN_CHANGE * tolerance:
            for r in range(job.first_record, job.first_record + job.n_records):
                if state.marks[r] & (COMMITTED | FREE) == COMMITTED:
                    _make_dirty(r, state.records[r], state.marks, job)
            _enqueue(job, slot, (queue, cursor))
        elif abs(moved) > tolerance:  # damped: it has not yet gone all the way
            _enqueue(job, slot, (queue, cursor))
    n_changed = 0
    for place in range(n_evaluated):
        slot = changed[place]
        rounds[slot] = 0
        job = jobs[slot]
        value = job.period_s / job.alone_s if job.alone_s > 0.0 else 1.0
        if not abs(value - job.reported) <= tolerance * 0.1:
            job.reported = value
            changed[n_changed], changed[place] = slot, changed[n_changed]
            n_changed += 1
    cursor[2] = n_evaluated
    return n_changed


@njit(void(_STATE), cache=True, allocates=False)
def recount(state: State) -> None:
    """Add up the totals of all links anew, from each contribution: rounding goes."""
    state = State(*state)
    for link in range(state.links.size):
        total = state.total_values[link]
        for value in range(total.size):
            total[value] = 0.0
        r = state.links[link].first_record
        while r >= 0:
            if state.marks[r] & COMMITTED:
                for value in range(total.size):
                    total[value] += state.load_values[r, value]
            r = state.records[r].next_record


@njit(void(_STATE), cache=True, allocates=False)
def relink(state: State) -> None:
    """Make the lists of records on links anew, after rows have moved."""
    state = State(*state)
    for link in range(state.links.size):
        state.links[link].first_record = -1
    for slot in range(state.jobs.size):
        job = state.jobs[slot]
        for r in range(job.first_record, job.first_record + job.n_records):
            link = state.links[state.records[r].link]
            state.records[r].next_record = link.first_record
            link.first_record = r
