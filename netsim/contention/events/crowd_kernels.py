"""
What jobs put on channels in each state, kept up to date with the fixed point of `fast`, compiled.

`own` holds for each record, at the row of its first entry, what its job puts on the channel: the
weight N_i in each state, and D, the mean of weight x length of its steps. `crowd` holds the sums
over the jobs of a channel. Both have rows of 16 numbers of 4 bytes, a line of the cache; the
constants below name their columns. Arguments named as tables of
`netsim.contention.events.readingpool.ReadingPool` are these. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float32, float64, from_dtype, int32, int64, njit, uint8, void

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY as OWN_ENTRY
from netsim.contention.columns import RECORD as OWN_RECORD
from netsim.contention.columns import STEP as OWN_STEP
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, READING, RECORD, STEP
from netsim.contention.link_kernels import queue_wait, stays_within
from netsim.contention.window_kernels import presence

STATES = 8
LASTING, SEEN, PRESENCE, DRAIN = 8, 9, 10, 11  # of `own`: D, W as put down, E, sum of B
EFFECT = 12  # of `own`: how much a slowdown moves with N
CHANNEL_AT, COUNT_AT, LINK_AT = 0, 1, 2  # of `place`
MOVED, RISEN = 9, 10  # of `crowd`: since its jobs were last read, since all its records were tested
REFRESH = 4.0  # tolerances that a slowdown may move before its job is put down anew
WEIGHTS = 8.0  # the same of the weights of a job, together
TOLD = 4.0  # the same of what is on a channel before the jobs that feel it are told
STALE = 4.0  # what these changes may do to a slowdown before its job is read anew
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
    reading.worst_link, reading.stale = -1, 0.0
    for a in range(own_steps.size):
        latency_s[job.first_step + a] = own_steps[a].latency_s
    for k in range(own_entries.size):
        own[job.first_entry + k, :] = 0.0
        own[job.first_entry + k, PRESENCE] = own_entries[k].presence_s
        felt[job.first_entry + k] = False
    for r in range(own_records.size):
        at = job.first_entry + own_records[r].first_entry
        own[at, DRAIN] = own_records[r].drain_s
        place[at, CHANNEL_AT], place[at, LINK_AT] = own_records[r].channel, own_records[r].link
        place[at, COUNT_AT] = own_records[r].n_entries
        for k in range(at, at + own_records[r].n_entries):
            entry = own_entries[k - job.first_entry]
            own[at, EFFECT] += entry.drain_s / (entry.weight * job.alone_s)
    for row in range(job.first_record, job.first_record + job.n_shared):
        felt[job.first_entry + records[row].first_entry] = True
        if channels[records[row].channel].n_jobs == 2:  # noqa: PLR2004 (the other was alone)
            other = listed[row].following if listed[row].following >= 0 else listed[row].previous
            owner = listed[other].slot
            felt[jobs[owner].first_entry + records[other].first_entry] = True
            readings[owner].pending = True


@njit(
    void(int64, float64, _RECORDS, _LISTED, _JOBS, _CHANNELS, _ROWS, _ROWS, _FLAGS, _READINGS),
    cache=True,
)
def depart(
    slot: int,
    most_stale: float,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    own: Floats,
    crowd: Floats,
    felt: Ints,
    readings: Table,
) -> None:
    """Take what a job put on channels off them, while it is still on their lists; wake the rest."""
    job = jobs[slot]
    for row in range(job.first_record, job.first_record + job.n_shared):
        c, at = records[row].channel, job.first_entry + records[row].first_entry
        left = channels[c].n_jobs - 1
        gone = float32(0.0)
        for i in range(LASTING):
            gone += own[at, i] / STATES
        for i in range(LASTING + 1):
            crowd[c, i] -= own[at, i]
        if left < 2:  # noqa: PLR2004 (nobody is met)
            crowd[c, :] = 0.0
        other = channels[c].first_record
        while other >= 0:
            owner = listed[other].slot
            at = jobs[owner].first_entry + records[other].first_entry
            if owner != slot and felt[at]:
                readings[owner].stale += gone * own[at, EFFECT]
                readings[owner].waking |= left < 2 or readings[owner].stale > most_stale  # noqa: PLR2004
            if owner != slot and left < 2:  # noqa: PLR2004
                felt[at] = False
                own[at, : LASTING + 2] = 0.0
            other = listed[other].following
    readings[slot].pending = readings[slot].waking = False
    readings[slot].said = readings[slot].value


@njit(void(_RECORDS, _JOBS, _ROWS, _ROWS, int64[::1]), cache=True)
def recount_crowd(records: Table, jobs: Table, own: Floats, crowd: Floats, slots: Ints) -> None:
    """Sum what is on channels anew, for the jobs in `slots`: it takes off rounding."""
    crowd[:, : LASTING + 1] = 0.0
    for slot in slots:
        job = jobs[slot]
        for row in range(job.first_record, job.first_record + job.n_shared):
            at = job.first_entry + records[row].first_entry
            for i in range(LASTING + 1):
                crowd[records[row].channel, i] += own[at, i]


@njit(
    void(
        int64, int64, float64, _RECORDS, _LISTED, _JOBS, _CHANNELS, _ROWS, _ROWS, _FLAGS, _READINGS
    ),
    cache=True,
)
def _tell(
    c: int,
    mover: int,
    most_stale: float,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    own: Floats,
    crowd: Floats,
    felt: Ints,
    readings: Table,
) -> None:
    """Let jobs that feel a channel, by enough, be read anew; test the others after a rise."""
    test, moved = crowd[c, RISEN] > RETEST, crowd[c, MOVED]
    crowd[c, MOVED] = 0.0
    if test:
        crowd[c, RISEN] = 0.0
    row = channels[c].first_record
    while row >= 0:
        slot = listed[row].slot
        at = jobs[slot].first_entry + records[row].first_entry
        if test and not felt[at]:
            total, most = 0.0, 0.0
            for i in range(STATES):
                n = float64(crowd[c, i] - own[at, i])
                total, most = total + n, max(most, n)
            use = max(0.0, channels[c].use - own[at, DRAIN] * jobs[slot].rate)
            use *= STATES * (most + MARGIN) / max(total, NOISE)
            weight = (most + MARGIN) * listed[row].per_weight
            felt[at] = not stays_within(listed[row].slack, 1.0, 1.0, weight, use + MARGIN_R)
            readings[slot].waking |= felt[at] != 0
        if felt[at] and slot != mover:
            readings[slot].stale += moved * own[at, EFFECT]
            readings[slot].waking |= readings[slot].stale > most_stale
        row = listed[row].following


@njit(boolean(int64, float64, _RECORDS, _JOBS, _ROWS, _READINGS), cache=True)
def has_moved(
    slot: int, tolerance: float, records: Table, jobs: Table, own: Floats, readings: Table
) -> bool:
    """Return whether a job is to be put down anew."""
    job, reading = jobs[slot], readings[slot]
    if reading.pending or abs(job.slowdown - reading.slowdown) > REFRESH * tolerance:
        return True
    moved, lingering_s = 0.0, 0.0
    for row in range(job.first_record, job.first_record + job.n_active):
        at = job.first_entry + records[row].first_entry
        moved += abs(records[row].weight_s - own[at, SEEN])
        lingering_s += records[row].weight_s - records[row].presence_s
    moved = max(moved, abs(lingering_s - reading.lingering_s))  # records can cease to be active
    return bool(moved * job.rate > WEIGHTS * tolerance)


@njit(
    void(
        int64,
        int64[::1],
        float64,
        _RECORDS,
        _LISTED,
        _ENTRIES,
        _STEPS,
        float64[::1],
        _JOBS,
        _CHANNELS,
        _ROWS,
        _ROWS,
        _FLAGS,
        _READINGS,
    ),
    cache=True,
    error_model="numpy",
)
def refresh(
    slot: int,
    cells: Ints,
    tolerance: float,
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    latency_s: Floats,
    jobs: Table,
    channels: Table,
    own: Floats,
    crowd: Floats,
    felt: Ints,
    readings: Table,
) -> None:
    """Put down anew what a job has on its channels in each state."""
    job = jobs[slot]
    cycle_s = job.alone_s * job.slowdown
    share = np.empty((job.n_steps, STATES), np.float32)
    length_s = np.empty(job.n_steps)
    since_s = 0.0
    for a in range(job.n_steps):
        length_s[a] = steps[job.first_step + a].time_s + latency_s[job.first_step + a]
        for i in range(STATES):
            share[a, i] = presence(since_s, since_s + length_s[a], cycle_s / STATES, cells[i])
        since_s += length_s[a]
    fresh = np.empty(LASTING + 1, np.float32)
    lingering_s = 0.0
    for row in range(job.first_record, job.first_record + job.n_shared):
        record = records[row]
        at = job.first_entry + record.first_entry
        is_active = row < job.first_record + job.n_active
        fresh[:] = 0.0
        for k in range(at, at + record.n_entries):
            entry = entries[k]
            weight_s = own[k, PRESENCE]
            if is_active and record.others_weight >= 0.0:
                taken = entry.time_s - queue_wait(entry.queue_s, record.others_weight)
                weight_s += max(0.0, taken - entry.end_s) * entry.senders
            per = float32(weight_s / length_s[entry.step])
            for i in range(STATES):
                fresh[i] += share[entry.step, i] * per
            fresh[LASTING] += weight_s * length_s[entry.step] / cycle_s
        own[at, SEEN] = record.weight_s
        lingering_s += record.weight_s - record.presence_s
        c = record.channel
        moved, risen = float32(0.0), float32(0.0)
        for i in range(LASTING):
            by = fresh[i] - own[at, i]
            moved += abs(by)
            risen = max(risen, by)
            crowd[c, i] += by
            own[at, i] = fresh[i]
        crowd[c, LASTING] += fresh[LASTING] - own[at, LASTING]
        own[at, LASTING] = fresh[LASTING]
        crowd[c, MOVED] += moved / STATES
        crowd[c, RISEN] += risen
        if crowd[c, MOVED] > TOLD * tolerance:
            _tell(
                c,
                slot,
                STALE * tolerance,
                records,
                listed,
                jobs,
                channels,
                own,
                crowd,
                felt,
                readings,
            )
    reading = readings[slot]
    reading.slowdown, reading.lingering_s = job.slowdown, lingering_s
    reading.pending, reading.waking = False, True
