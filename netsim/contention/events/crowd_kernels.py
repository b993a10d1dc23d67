"""
What jobs put on channels in each state, kept up to date with the fixed point of `fast`, compiled.

`own` holds for each record, at the row of its first entry, what its job puts on the channel: the
weight N_i in each state, D, the mean of weight x length of its steps, and V, what they hold while
they wait for other links. `crowd` holds the sums over the jobs of a channel. Both have rows of 16
numbers of 4 bytes, a line of the cache; the constants below name their columns. Arguments named
as tables of `netsim.contention.events.readingpool.ReadingPool` are these. Import through
`netsim.kernelchoice`.
"""

import numpy as np
from numba import boolean, float32, float64, from_dtype, int32, int64, njit, uint8, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY as OWN_ENTRY
from netsim.contention.columns import RECORD as OWN_RECORD
from netsim.contention.columns import STEP as OWN_STEP
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, READING, RECORD, STEP
from netsim.contention.link_kernels import STAGES, queue_wait
from netsim.contention.window_kernels import burst_length, presence

STATES = 8
LASTING, SEEN, PRESENCE, USE = 8, 9, 10, 11  # of `own`: D, W as put down, E, R
EFFECT, STALENESS = 12, 13  # how much a slowdown moves with N, the most in `crowd`; it has moved
HELD, HOLDS, CALLED = 14, 15, 13  # V, of `crowd` too; v, of entries; of `crowd`: is to be told
WAIT, CLOSES = 8, 9  # of `late`: in the mean over the states; for how much of it a pool is closed
CHANNEL_AT, COUNT_AT, LINK_AT, STEP_AT = 0, 1, 2, 3  # of `place`; the last: each entry's stage
MOVED, RISEN = 9, 10  # of `crowd`: since its jobs were last read, since all its records were tested
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
_READINGS = from_dtype(READING)[::1]
_ROWS, _PLACES, _FLAGS = float32[:, ::1], int32[:, ::1], uint8[::1]
_OWN_RECORDS, _OWN_ENTRIES = from_dtype(OWN_RECORD)[::1], from_dtype(OWN_ENTRY)[::1]
_OWN_STEPS = from_dtype(OWN_STEP)[::1]
_POOL = _RECORDS, _LISTED, _JOBS, _CHANNELS
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
        _ROWS,
        _PLACES,
        _FLAGS,
        _READINGS,
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
        own[job.first_entry + k, HOLDS] = own_entries[k].held
        place[job.first_entry + k, STEP_AT] = own_entries[k].step * STAGES + own_entries[k].stage
        felt[job.first_entry + k] = UNFELT
    for r in range(own_records.size):
        at = job.first_entry + own_records[r].first_entry
        place[at, CHANNEL_AT], place[at, LINK_AT] = own_records[r].channel, own_records[r].link
        place[at, COUNT_AT] = own_records[r].n_entries
        for k in range(at, at + own_records[r].n_entries):
            entry = own_entries[k - job.first_entry]
            own[at, EFFECT] += entry.drain_s / (entry.weight * job.alone_s)
    for row in range(job.first_record, job.first_record + job.n_shared):
        felt[job.first_entry + records[row].first_entry] = TOUCHED
        if channels[records[row].channel].n_jobs == 2:  # noqa: PLR2004 (the other was alone)
            other = listed[row].following if listed[row].following >= 0 else listed[row].previous
            owner = listed[other].slot
            felt[jobs[owner].first_entry + records[other].first_entry] = TOUCHED
            readings[owner].pending = True


@njit(boolean(int64, float64, _ROWS), cache=True)
def _is_to_be_told(c: int, tolerance: float, crowd: Floats) -> bool:
    """Return whether by now enough has moved on a channel to matter to a job on it."""
    by = float64(crowd[c, MOVED]) * float64(crowd[c, EFFECT])
    if crowd[c, CALLED] > 0.0 or (by <= TOLD * tolerance and crowd[c, RISEN] <= RETEST):
        return False
    crowd[c, CALLED] = 1.0
    return True


@njit(
    int64(int64, float64, *_POOL, _ROWS, _ROWS, _FLAGS, _READINGS, int64[::1], int64),
    cache=True,
)
def depart(
    slot: int,
    tolerance: float,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    own: Floats,
    crowd: Floats,
    felt: Ints,
    readings: Table,
    moved_channels: Ints,
    n_moved: int,
) -> int:
    """
    Take what a job put on channels off them, while it is still on their lists; list the channels.

    `moved_channels`: channels of which jobs are to be told; returned: how many there are now.
    """
    job = jobs[slot]
    for row in range(job.first_record, job.first_record + job.n_shared):
        c, at = records[row].channel, job.first_entry + records[row].first_entry
        gone = float32(0.0)
        for i in range(LASTING):
            gone += own[at, i] / STATES
        for i in range(LASTING + 1):
            crowd[c, i] -= own[at, i]
        crowd[c, USE] -= own[at, USE]
        crowd[c, HELD] -= own[at, HELD]
        if channels[c].n_jobs > 2:  # noqa: PLR2004 (others are left who meet)
            crowd[c, MOVED] += gone
            if _is_to_be_told(c, tolerance, crowd):
                moved_channels[n_moved] = c
                n_moved += 1
            continue
        for i in range(crowd.shape[1]):
            crowd[c, i] = 0.0
        other = channels[c].first_record
        while other >= 0:
            owner = listed[other].slot
            at = jobs[owner].first_entry + listed[other].first_entry
            readings[owner].waking |= felt[at] != UNFELT
            felt[at] = UNFELT
            for i in range(LASTING + 2):
                own[at, i] = 0.0
            own[at, USE] = own[at, HELD] = 0.0
            other = listed[other].following
    readings[slot].pending = readings[slot].waking = False
    readings[slot].said, readings[slot].closed = readings[slot].value, 0.0
    return n_moved


@njit(void(_RECORDS, _JOBS, _ROWS, _ROWS, int64[::1]), cache=True)
def recount_crowd(records: Table, jobs: Table, own: Floats, crowd: Floats, slots: Ints) -> None:
    """Sum what is on channels anew, for the jobs in `slots`: it takes off rounding."""
    for c in range(crowd.shape[0]):
        for i in range(LASTING + 1):
            crowd[c, i] = 0.0
        crowd[c, USE] = crowd[c, HELD] = 0.0
    for slot in slots:
        job = jobs[slot]
        for row in range(job.first_record, job.first_record + job.n_shared):
            at = job.first_entry + records[row].first_entry
            for i in range(LASTING + 1):
                crowd[records[row].channel, i] += own[at, i]
            crowd[records[row].channel, USE] += own[at, USE]
            crowd[records[row].channel, HELD] += own[at, HELD]


@njit(int64(int64, float64, _RECORDS, _JOBS, _ROWS, _READINGS), cache=True)
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
    int64(
        int64,
        int64,
        int64[:, ::1],
        float64,
        _RECORDS,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _ROWS,
        _ROWS,
        _READINGS,
        int64[::1],
        int64,
    ),
    cache=True,
    error_model="numpy",
)
def refresh(
    slot: int,
    what: int,
    cells: Ints,
    tolerance: float,
    records: Table,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    own: Floats,
    crowd: Floats,
    readings: Table,
    moved_channels: Ints,
    n_moved: int,
) -> int:
    """
    Put down anew what a job has on its channels in each state, all or where its weight moved.

    `moved_channels`: channels of which jobs are to be told; returned: how many there are now.
    """
    job = jobs[slot]
    cycle_s = job.alone_s * job.slowdown
    share = np.empty((job.n_steps, STATES), np.float32)
    length_s = np.empty(job.n_steps)
    since_s = 0.0
    for a in range(job.n_steps):
        length_s[a] = steps[job.first_step + a].time_s + latency_s[job.first_step + a]
        for i in range(STATES):
            share[a, i] = presence(since_s, since_s + length_s[a], cycle_s / STATES, cells[slot, i])
        since_s += length_s[a]
    fresh = np.empty(STATES, np.float32)
    reading = readings[slot]
    n_rows = job.n_shared
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
        for k in range(at, at + record.n_entries):
            entry = entries[k]
            weight_s = own[k, PRESENCE]
            if is_active and record.others_weight >= 0.0:
                taken = entry.time_s - queue_wait(entry.queue_s, record.others_weight)
                weight_s += max(0.0, taken - entry.end_s) * entry.senders
            per = float32(weight_s / length_s[entry.step])
            for i in range(STATES):
                fresh[i] += float32(share[entry.step, i] * per)
            lasting_s += weight_s * burst_length(length_s[entry.step], entry.drain_s) / cycle_s
            held_s += own[k, HOLDS] * length_s[entry.step]
        own[at, SEEN], c = record.weight_s, record.channel
        moved, risen = float32(0.0), float32(0.0)
        for i in range(STATES):
            by = float32(fresh[i] - own[at, i])
            moved = float32(moved + abs(by))
            risen = max(risen, by)
            crowd[c, i] += by
            own[at, i] = fresh[i]
        crowd[c, LASTING] += float32(float32(lasting_s) - own[at, LASTING])
        own[at, LASTING] = float32(lasting_s)
        use, held = float32(record.drain_s / cycle_s), float32(held_s / cycle_s)
        crowd[c, USE] += float32(use - own[at, USE])
        crowd[c, HELD] += float32(held - own[at, HELD])
        own[at, USE], own[at, HELD] = use, held
        crowd[c, MOVED] += moved / STATES
        crowd[c, RISEN] += risen
        if _is_to_be_told(c, tolerance, crowd):
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
        _ROWS,
        _ROWS,
        _READINGS,
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
    records, entries, steps, latency_s, jobs, own, crowd, readings
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
                cells,
                tolerance,
                records,
                entries,
                steps,
                latency_s,
                jobs,
                own,
                crowd,
                readings,
                moved,
                n_moved,
            )
    return n_moved
