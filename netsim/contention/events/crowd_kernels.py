"""
What jobs put on channels in each state, kept up to date with the fixed point of `fast`, compiled.

`own` holds for each record, at the row of its first entry, what its job puts on the channel: the
weight N_i in each state, D, the mean of weight x length of its steps, V, what they hold while they
wait for other links, and Z, how long its own packets queue. `crowd` holds the sums over the jobs of
a channel. Both have rows of 16 numbers of 4 bytes, a line of the cache; the constants below name
their columns. Where virtual channels are told apart rows have 16 more, 32 where it is known for how
long they are closed: from LANES_AT on the sums of `lane_sum_kernels`, in `late` what each entry has
on them. Arguments named as tables of `netsim.contention.events.readingpool.ReadingPool` are these.
Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float32, float64, from_dtype, int32, int64, uint8, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY as OWN_ENTRY
from netsim.contention.columns import RECORD as OWN_RECORD
from netsim.contention.columns import STEP as OWN_STEP
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, READING, RECORD, STEP
from netsim.contention.lane_kernels import there_for
from netsim.contention.lane_sum_kernels import add_lanes, put_lanes, take_lanes
from netsim.contention.link_kernels import STAGES, queue_wait
from netsim.contention.window_kernels import presence
from netsim.jit import njit

STATES = 8
LASTING, SEEN, PRESENCE, USE = 8, 9, 10, 11  # of `own`: D, W as put down, E, R
EFFECT, STALENESS = 12, 13  # how much a slowdown moves with N, the most in `crowd`; it has moved
HELD, QUEUED, CROSSED = 14, 15, 13  # V and Z, of `crowd` too; of `crowd`: the sum of D R
LENGTH, BEGIN = 8, 9  # of the times of steps, after the states
WAIT, HOLDS, QUEUES = 8, 9, 10  # of `late`: in the mean over the states; v and z, of entries
CLOSES, LINKS = 11, 12  # of `late`: for how much of the step a pool is closed; its links
DRAWN, PACKET = 13, 14  # of `late`: packets that find theirs by chance, and its time for one
MET = 15  # of `late`: what the unluckiest of them waits for others of its own job
CHANNEL_AT, COUNT_AT, LINK_AT, STEP_AT = 0, 1, 2, 3  # of `place`; the last: each entry's stage
LANES_AT = 16  # of `own`, `crowd` and `late`, if they have so many columns
QUEUED_AT = -1  # of `late` then, the last: z of each entry
MOVED, RISEN = (
    9,
    10,
)  # of `crowd`: since its jobs were last read (below 0 once they are to be told), since
# all its records were tested
UNFELT, FELT, TOUCHED = 0, 1, 2  # a record: of no matter; its times are kept; they are to be found
REFRESH = 2.0  # tolerances that a slowdown may move before its job is put down anew
WEIGHTS = 5.0  # the same of the weight of a job on a channel
LEAST = 1.0  # of these weights, those that moved by more are put down with it
TOLD = 5.0  # what moves on a channel may do to any slowdown before the jobs that feel it are told
STALE = 6.0  # what these changes may do to a slowdown before its link is timed anew
AFRESH = 20.0  # the same of a slowdown before all its links are, as its steps last longer
NOTHING, WEIGHTS_ALONE, EVERYTHING = 0, 1, 2  # of a job is to be put down anew
NOISE = 1e-5  # weight left on a channel by rounding, over the states
RETEST, MARGIN = 0.04, 0.08  # rise of N_i after which all records are tested; with twice as much
MARGIN_R = 0.04  # the same of R_i, tested with it

_RECORDS, _LISTED, _ENTRIES = (
    from_dtype(RECORD)[::1],
    from_dtype(LISTED)[::1],
    from_dtype(ENTRY)[::1],
)
_STEPS, _JOBS, _CHANNELS = from_dtype(STEP)[::1], from_dtype(JOB)[::1], from_dtype(CHANNEL)[::1]
READINGS = from_dtype(READING)[::1]
ROWS, _PLACES, FLAGS = float32[:, ::1], int32[:, ::1], uint8[::1]
_OWN_RECORDS, _OWN_ENTRIES = from_dtype(OWN_RECORD)[::1], from_dtype(OWN_ENTRY)[::1]
_OWN_STEPS = from_dtype(OWN_STEP)[::1]
POOL = _RECORDS, _LISTED, _JOBS, _CHANNELS
_ONE = np.uint64(1)


@njit(
    void(
        int64,
        _OWN_RECORDS,
        _OWN_ENTRIES,
        _OWN_STEPS,
        _RECORDS,
        _LISTED,
        _JOBS,
        _CHANNELS,
        ROWS,
        _PLACES,
        FLAGS,
        READINGS,
        ROWS,
        float64[::1],
    ),
    cache=True,
)
def arrive(
    slot: int,
    own_records: Table,
    own_entries: Table,
    own_steps: Table,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    own: Floats,
    place: Ints,
    felt: Ints,
    readings: Table,
    late: Floats,
    latency_s: Floats,
) -> None:
    """Prepare the rows of a job that is on its channels already; it is to be put down."""
    job = jobs[slot]
    reading = readings[slot]
    reading.pending, reading.value, reading.said = True, 1.0, np.nan
    reading.worst_link, reading.met = -1, 1.0
    for a in range(own_steps.size):
        latency_s[job.first_step + a] = own_steps[a].latency_s
    for k in range(own_entries.size):
        for i in range(own.shape[1]):
            own[job.first_entry + k, i] = 0.0
        own[job.first_entry + k, PRESENCE] = own_entries[k].presence_s
        late[job.first_entry + k, HOLDS] = own_entries[k].held
        place[job.first_entry + k, STEP_AT] = own_entries[k].step * STAGES + own_entries[k].stage
        felt[job.first_entry + k] = UNFELT
    for r in range(own_records.size):
        at = job.first_entry + own_records[r].first_entry
        place[at, CHANNEL_AT], place[at, LINK_AT] = own_records[r].channel, own_records[r].link
        place[at, COUNT_AT], queued = own_records[r].n_entries, 0.0
        for k in range(at, at + own_records[r].n_entries):
            entry = own_entries[k - job.first_entry]
            own[at, EFFECT] += entry.drain_s / (entry.weight * job.alone_s)
            queued += entry.queued
        late[at, QUEUES] = queued
    for row in range(job.first_record, job.first_record + job.n_shared):
        felt[job.first_entry + records[row].first_entry] = TOUCHED
        if channels[records[row].channel].n_jobs == 2:  # noqa: PLR2004 (the other was alone)
            other = listed[row].following if listed[row].following >= 0 else listed[row].previous
            owner = listed[other].slot
            felt[jobs[owner].first_entry + records[other].first_entry] = TOUCHED
            readings[owner].pending = True


@njit(boolean(int64, float64, float64, ROWS), cache=True)
def is_to_be_told(c: int, by: float, tolerance: float, crowd: Floats) -> bool:
    """Note what moved on a channel; return whether by now it matters to a job on it."""
    if crowd[c, MOVED] < 0.0:
        crowd[c, MOVED] -= float32(by)
        return False
    crowd[c, MOVED] += float32(by)
    felt = float64(crowd[c, MOVED]) * float64(crowd[c, EFFECT])
    if crowd[c, MOVED] == 0.0 or (felt <= TOLD * tolerance and crowd[c, RISEN] <= RETEST):
        return False
    crowd[c, MOVED] = -crowd[c, MOVED]
    return True


@njit(int64(int64, float64, _RECORDS, _JOBS, ROWS, READINGS), cache=True)
def what_moved(
    slot: int, tolerance: float, records: Table, jobs: Table, own: Floats, readings: Table
) -> int:
    """Return what of a job is to be put down anew."""
    job, reading = jobs[slot], readings[slot]
    if reading.pending or abs(job.slowdown - reading.slowdown) > REFRESH * tolerance:
        return EVERYTHING
    most, lingering_s = 0.0, -reading.lingering_s
    for row in range(job.first_record, job.first_record + job.n_active):
        at = job.first_entry + records[row].first_entry
        most = max(most, abs(records[row].weight_s - own[at, SEEN]))
        lingering_s += own[at, SEEN] - records[row].presence_s
    if abs(lingering_s) * job.rate > WEIGHTS * tolerance:  # records ceased to be active
        return EVERYTHING
    return WEIGHTS_ALONE if most * job.rate > WEIGHTS * tolerance else NOTHING


@njit(
    float64[:, ::1](int64, int64[:, ::1], _STEPS, float64[::1], _JOBS),
    cache=True,
    error_model="numpy",
)
def _times(slot: int, cells: Ints, steps: Table, latency_s: Floats, jobs: Table) -> Floats:
    """Return for each step of a job its share of its cell in each state, and its length."""
    job = jobs[slot]
    times = np.empty((job.n_steps, STATES + 2))
    cell_s, since_s = job.alone_s * job.slowdown / STATES, 0.0
    for a in range(job.n_steps):
        length_s = steps[job.first_step + a].time_s + latency_s[job.first_step + a]
        for i in range(STATES):
            times[a, i] = presence(since_s, since_s + length_s, cell_s, cells[slot, i])
        times[a, LENGTH], times[a, BEGIN] = length_s, since_s
        since_s += length_s
    return times


@njit(
    int64(
        int64,
        int64,
        float64[:, ::1],
        int64[:, ::1],
        float64,
        _RECORDS,
        _ENTRIES,
        _JOBS,
        ROWS,
        ROWS,
        ROWS,
        READINGS,
        int64[::1],
        int64,
    ),
    cache=True,
    error_model="numpy",
)
def refresh(
    slot: int,
    what: int,
    times: Floats,
    cells: Ints,
    tolerance: float,
    records: Table,
    entries: Table,
    jobs: Table,
    own: Floats,
    crowd: Floats,
    late: Floats,
    readings: Table,
    moved_channels: Ints,
    n_moved: int,
) -> int:
    """
    Put down anew what a job has on its channels in each state, all or where its weight moved.

    `times`: from `_times`; `cells`: as for `put_down`.
    `moved_channels`: channels of which jobs are to be told; returned: how many there are now.
    """
    job = jobs[slot]
    cycle_s = job.alone_s * job.slowdown
    fresh = np.empty(STATES, np.float32)
    reading = readings[slot]
    n_rows, has_lanes, closed = job.n_shared, crowd.shape[1] > LANES_AT, 0
    if what == EVERYTHING:
        reading.slowdown, reading.lingering_s = job.slowdown, 0.0
    else:
        n_rows = job.n_active
    for row in range(job.first_record, job.first_record + n_rows):
        record = records[row]
        at = job.first_entry + record.first_entry
        if what == EVERYTHING:
            reading.lingering_s += record.weight_s - record.presence_s
        elif abs(record.weight_s - own[at, SEEN]) * job.rate > LEAST * tolerance:
            reading.lingering_s += record.weight_s - own[at, SEEN]
        else:
            continue
        is_active = row < job.first_record + job.n_active
        for i in range(STATES):
            fresh[i] = 0.0
        lasting_s, held_s = 0.0, 0.0
        if has_lanes:
            closed = take_lanes(at, own, record.channel, crowd, LANES_AT)
        for k in range(at, at + record.n_entries):
            entry = entries[k]
            weight_s, taken = own[k, PRESENCE], entry.end_s
            if is_active and record.others_weight >= 0.0:
                taken = entry.time_s - queue_wait(entry.queue_s, record.others_weight)
                weight_s += max(0.0, taken - entry.end_s) * entry.senders
            length_s = times[entry.step, LENGTH]
            held_s += float64(late[k, HOLDS]) * length_s
            if not has_lanes:
                per = weight_s / length_s
                for i in range(STATES):
                    fresh[i] += float32(times[entry.step, i] * per)
                lasting_s += weight_s * length_s
            else:
                there_s = there_for(length_s, entry.end_s, taken)
                begin_s, per = times[entry.step, BEGIN], weight_s / there_s
                for i in range(STATES):
                    cell = cells[slot, i]
                    share = presence(begin_s, begin_s + there_s, cycle_s / STATES, cell)
                    fresh[i] += float32(share * per)
                lasting_s += weight_s * there_s
                shares = (
                    weight_s / cycle_s,
                    length_s / cycle_s,
                    float64(late[k, QUEUED_AT]) / cycle_s,
                )
                put_lanes(k, shares, late, at, own, LANES_AT)
        own[at, SEEN], c = record.weight_s, record.channel
        moved, risen = float32(0.0), float32(0.0)
        for i in range(STATES):
            by = float32(fresh[i] - own[at, i])
            moved = float32(moved + abs(by))
            risen = max(risen, by)
            crowd[c, i] += by
            own[at, i] = fresh[i]
        lasting, use = float32(lasting_s / cycle_s), float32(record.drain_s / cycle_s)
        held, queued = float32(held_s / cycle_s), float32(float64(late[at, QUEUES]) / cycle_s)
        crossed = float32(own[at, LASTING] * own[at, USE])
        crowd[c, CROSSED] += float32(float32(lasting * use) - crossed)
        crowd[c, LASTING] += float32(lasting - own[at, LASTING])
        crowd[c, USE] += float32(use - own[at, USE])
        crowd[c, HELD] += float32(held - own[at, HELD])
        crowd[c, QUEUED] += float32(queued - own[at, QUEUED])
        own[at, LASTING], own[at, USE], own[at, HELD], own[at, QUEUED] = lasting, use, held, queued
        if has_lanes and add_lanes(at, own, c, crowd, LANES_AT) & ~closed:
            risen = float32(2.0 * RETEST)  # who had slack may have none
        crowd[c, RISEN] += risen
        if is_to_be_told(c, float64(moved / STATES), tolerance, crowd):
            moved_channels[n_moved] = c
            n_moved += 1
    reading.waking |= reading.pending or abs(job.slowdown - reading.met) > AFRESH * tolerance
    reading.pending = False
    return n_moved


@njit(
    int64(
        int64[:, ::1],
        _RECORDS,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        ROWS,
        ROWS,
        ROWS,
        READINGS,
        int64[::1],
        int64,
        float64,
    ),
    cache=True,
    error_model="numpy",
)
def put_down(
    cells: Ints,
    records: Table,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    own: Floats,
    crowd: Floats,
    late: Floats,
    readings: Table,
    moved: Ints,
    n_moved: int,
    tolerance: float,
) -> int:
    """
    Put down anew what has moved of what jobs have on channels.

    Parameters
    ----------
    cells : (S, M) int array
        The cell in which the job of each slot is in each state.
    records, entries, steps, latency_s, jobs, own, crowd, late, readings
        The pool.
    moved : (2 C,) int array
        Written: channels whose jobs are to be told.
    n_moved : int
        How many are in it already.
    tolerance : float
        Of the fixed point; the constants above say how much of it moves what.

    Returns
    -------
    int
        How many channels are in `moved`.
    """
    for slot in range(jobs.size):
        if not jobs[slot].n_steps:
            continue
        what = what_moved(slot, tolerance, records, jobs, own, readings)
        if what != NOTHING:
            n_moved = refresh(
                slot,
                what,
                _times(slot, cells, steps, latency_s, jobs),
                cells,
                tolerance,
                records,
                entries,
                jobs,
                own,
                crowd,
                late,
                readings,
                moved,
                n_moved,
            )
    return n_moved
