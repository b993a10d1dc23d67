"""
Jobs enter and leave channels, and which of their records there can matter, compiled.

Arguments named as tables of `netsim.contention.events.pool.Pool` are these. Import through
`netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, from_dtype, int64, uint64, void

from netsim.arrays import Bits, Ints, Table
from netsim.contention.columns import ENTRY as OWN_ENTRY
from netsim.contention.columns import RECORD as OWN_RECORD
from netsim.contention.columns import STEP as OWN_STEP
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, RECORD, STEP
from netsim.contention.link_kernels import stays_within
from netsim.jit import njit

RETEST_N, RETEST_R = 0.05, 0.02  # a channel that moved by more has all its records tested

_RECORDS, _LISTED, _ENTRIES = (
    from_dtype(RECORD)[::1],
    from_dtype(LISTED)[::1],
    from_dtype(ENTRY)[::1],
)
_STEPS, _JOBS, _CHANNELS = from_dtype(STEP)[::1], from_dtype(JOB)[::1], from_dtype(CHANNEL)[::1]
_OWN_RECORDS, _OWN_STEPS = from_dtype(OWN_RECORD)[::1], from_dtype(OWN_STEP)[::1]
_OWN_ENTRIES = from_dtype(OWN_ENTRY)[::1]
_STATE = _JOBS, _CHANNELS, uint64[:, ::1], uint64[::1]
_ONE = np.uint64(1)


@njit(boolean(int64, _LISTED, _JOBS), cache=True)
def _is_active(row: int, listed: Table, jobs: Table) -> bool:
    """Return whether a job may be held up on the channel of a record, as of its last test."""
    job = jobs[listed[row].slot]
    return bool(row - job.first_record < job.n_active)


@njit(void(int64, _RECORDS, _LISTED, _CHANNELS), cache=True)
def _relink(row: int, records: Table, listed: Table, channels: Table) -> None:
    """Let the list of a channel know where a record stands now."""
    before, after = listed[row].previous, listed[row].following
    if before >= 0:
        listed[before].following = row
    else:
        channels[records[row].channel].first_record = row
    if after >= 0:
        listed[after].previous = row


@njit(int64(int64, int64, _RECORDS, _LISTED, _CHANNELS), cache=True)
def _swap(row: int, edge: int, records: Table, listed: Table, channels: Table) -> int:
    """Let two records of a job change places; return where the first one stands now."""
    if row != edge:
        spare = records.size - 1  # no job's
        records[spare], listed[spare] = records[row], listed[row]
        records[row], listed[row] = records[edge], listed[edge]
        records[edge], listed[edge] = records[spare], listed[spare]
        _relink(row, records, listed, channels)
        _relink(edge, records, listed, channels)
    return edge


@njit(int64(int64, int64, _RECORDS, _LISTED, _JOBS, _CHANNELS), cache=True)
def _count_active(
    row: int, by: int, records: Table, listed: Table, jobs: Table, channels: Table
) -> int:
    """Add a record to its job's active ones (by = 1), or take it out (-1); say where it stands."""
    job = jobs[listed[row].slot]
    edge = job.first_record + job.n_active + min(by, 0)
    job.n_active += by
    return int(_swap(row, edge, records, listed, channels))


@njit(int64(int64, int64, _RECORDS, _LISTED, _JOBS, _CHANNELS), cache=True)
def _count_shared(
    row: int, by: int, records: Table, listed: Table, jobs: Table, channels: Table
) -> int:
    """Add a record to its job's shared ones (by = 1), or take it out (-1); say where it stands."""
    job = jobs[listed[row].slot]
    edge = job.first_record + job.n_shared + min(by, 0)
    job.n_shared += by
    return int(_swap(row, edge, records, listed, channels))


@njit(void(int64, int64, _RECORDS, _LISTED, *_STATE), cache=True)
def test_channel(
    number: int,
    mover: int,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    active: Bits,
    wake: Bits,
) -> None:
    """
    Test which records of a channel can matter; wake those jobs.

    `number` is that of the channel, `mover` the slot of the job that moved: it is not woken, unless
    others weigh less by the test than it has seen. A record can be skipped while
    y stays within the limit of all its entries; the others are *active*. That is tested with a
    margin of twice what a channel may move before all its records are tested again.
    """
    channel = channels[number]
    row = channel.first_record
    while row >= 0:
        record, place = records[row], listed[row]
        slot = place.slot
        word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
        rate = jobs[slot].rate
        weight = max(0.0, channel.weight - record.weight_s * rate) + 2.0 * RETEST_N
        use = max(0.0, channel.use - record.drain_s * rate) + 2.0 * RETEST_R
        listed_active = _is_active(row, listed, jobs)
        following = place.following  # a record may change places below
        if listed_active and slot != mover:
            wake[word] |= bit
        if stays_within(place.slack, 1.0, 1.0, weight * place.per_weight, use):
            if listed_active:
                row = _count_active(row, -1, records, listed, jobs, channels)
                active[number, word] &= ~bit
                idle = records[row]
                if idle.weight_s != idle.presence_s and slot != mover:
                    wake[mover >> 6] |= active[number, mover >> 6] & (_ONE << np.uint64(mover & 63))
                channel.weight += (idle.presence_s - idle.weight_s) * rate
                idle.weight_s = idle.presence_s
        elif not listed_active:
            row = _count_active(row, 1, records, listed, jobs, channels)
            records[row].others_weight = -1.0  # not evaluated yet
            active[number, word] |= bit
            wake[word] |= bit
        row = following
    channel.weight_woken = channel.weight_tested = channel.weight
    channel.use_woken = channel.use_tested = channel.use


@njit(void(int64, _OWN_ENTRIES, _OWN_STEPS, _ENTRIES, _STEPS, _JOBS), cache=True)
def _copy_constants(
    slot: int,
    own_entries: Table,
    own_steps: Table,
    entries: Table,
    steps: Table,
    jobs: Table,
) -> None:
    """Fill a new job's rows of entries and steps."""
    job = jobs[slot]
    for k in range(own_entries.size):
        entry, own = entries[job.first_entry + k], own_entries[k]
        entry.drain_s, entry.weight, entry.senders = own.drain_s, own.weight, own.senders
        entry.feed_s, entry.end_s, entry.queue_s = own.feed_s, own.end_s, own.queue_s
        entry.step = own.step
    for a in range(own_steps.size):
        steps[job.first_step + a].drain_s = own_steps[a].drain_s


@njit(int64(int64, _OWN_RECORDS, _RECORDS, _LISTED, _JOBS, _CHANNELS), cache=True)
def _join_channels(
    slot: int,
    own_records: Table,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
) -> int:
    """Put a new job at the head of its channels' lists; return on how many it meets others."""
    first = jobs[slot].first_record
    n_shared, n_alone = 0, 0
    for i in range(own_records.size):
        own = own_records[i]
        channel = channels[own.channel]
        other = channel.first_record
        if other >= 0:
            row = first + n_shared
            n_shared += 1
            if channel.n_jobs == 1:
                other = _count_shared(other, 1, records, listed, jobs, channels)
                rate = jobs[listed[other].slot].rate
                channel.weight = records[other].weight_s * rate
                channel.use = records[other].drain_s * rate
            listed[other].previous = row
        else:
            n_alone += 1
            row = first + own_records.size - n_alone
        record, place = records[row], listed[row]
        record.channel, record.link = own.channel, own.link
        record.first_entry, record.n_entries = own.first_entry, own.n_entries
        record.drain_s, record.presence_s = own.drain_s, own.presence_s
        record.weight_s = own.presence_s
        place.slack, place.per_weight = own.slack, own.per_weight
        place.slot, place.following, place.previous = slot, other, -1
        place.first_entry = own.first_entry
        channel.first_record = row
        channel.n_jobs += 1
    return n_shared


@njit(
    void(
        int64, _OWN_RECORDS, _OWN_ENTRIES, _OWN_STEPS, _RECORDS, _LISTED, _ENTRIES, _STEPS, *_STATE
    ),
    cache=True,
)
def enter(
    slot: int,
    own_records: Table,
    own_entries: Table,
    own_steps: Table,
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    jobs: Table,
    channels: Table,
    active: Bits,
    wake: Bits,
) -> None:
    """
    Copy a new job's constants, put it on its channels and wake the jobs that may feel it.

    The rows of its slot are reserved; `own_*` are the tables of `JobConstants`.
    """
    _copy_constants(slot, own_entries, own_steps, entries, steps, jobs)
    n_shared = _join_channels(slot, own_records, records, listed, jobs, channels)
    job = jobs[slot]
    job.n_shared = n_shared
    for row in range(job.first_record, job.first_record + n_shared):
        number = records[row].channel
        channels[number].weight += records[row].weight_s * job.rate
        channels[number].use += records[row].drain_s * job.rate
        test_channel(number, slot, records, listed, jobs, channels, active, wake)
    wake[slot >> 6] |= _ONE << np.uint64(slot & 63)


@njit(void(int64, _RECORDS, _LISTED, *_STATE), cache=True)
def _leave_alone(
    row: int,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    active: Bits,
    wake: Bits,
) -> None:
    """Let a record be the only one on its channel: nobody holds its job up there."""
    slot = listed[row].slot
    word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
    if _is_active(row, listed, jobs):
        row = _count_active(row, -1, records, listed, jobs, channels)
        active[records[row].channel, word] &= ~bit
        records[row].weight_s = records[row].presence_s
        wake[word] |= bit
    _count_shared(row, -1, records, listed, jobs, channels)


@njit(void(int64, _RECORDS, _LISTED, *_STATE), cache=True)
def leave(
    slot: int,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    active: Bits,
    wake: Bits,
) -> None:
    """Take a job off its channels and wake the jobs that may feel it."""
    word, bit = slot >> 6, _ONE << np.uint64(slot & 63)
    job = jobs[slot]
    for row in range(job.first_record, job.first_record + job.n_records):
        number = records[row].channel
        channel = channels[number]
        if row >= job.first_record + job.n_shared:  # its totals are 0
            channel.first_record, channel.n_jobs = -1, 0
            continue
        before, after = listed[row].previous, listed[row].following
        if before >= 0:
            listed[before].following = after
        else:
            channel.first_record = after
        if after >= 0:
            listed[after].previous = before
        if row < job.first_record + job.n_active:
            active[number, word] &= ~bit
        channel.n_jobs -= 1
        if channel.n_jobs > 1:
            channel.weight -= records[row].weight_s * job.rate
            channel.use -= records[row].drain_s * job.rate
            test_channel(number, slot, records, listed, jobs, channels, active, wake)
            continue
        channel.weight = channel.weight_woken = channel.weight_tested = 0.0
        channel.use = channel.use_woken = channel.use_tested = 0.0
        if channel.n_jobs > 0:
            _leave_alone(channel.first_record, records, listed, jobs, channels, active, wake)
    wake[word] &= ~bit


@njit(void(_RECORDS, _LISTED, _JOBS, _CHANNELS, int64[::1]), cache=True)
def recount(records: Table, listed: Table, jobs: Table, channels: Table, slots: Ints) -> None:
    """
    Sum the totals and link the records of all channels anew, for the jobs in `slots`.

    It takes off the rounding of many updates, and is needed after records have moved.
    """
    for number in range(channels.size):
        channels[number].weight = channels[number].use = 0.0
        channels[number].first_record = -1
    for slot in slots:
        job = jobs[slot]
        for row in range(job.first_record, job.first_record + job.n_records):
            channel = channels[records[row].channel]
            after = channel.first_record
            listed[row].following, listed[row].previous = after, -1
            if after >= 0:
                listed[after].previous = row
            channel.first_record = row
            if channel.n_jobs > 1:
                channel.weight += records[row].weight_s * job.rate
                channel.use += records[row].drain_s * job.rate
