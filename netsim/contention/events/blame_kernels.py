"""
Who holds a job up in fast mode: the excess of its steps, shared out among neighbours, compiled.

Arguments named as tables of `netsim.contention.events.pool.Pool` are these. Import through
`netsim.kernelcache`.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, uint64, void

from netsim.arrays import Bits, Bools, Floats, Ints, Table
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, RECORD, STEP
from netsim.contention.link_kernels import link_time, queue_wait
from netsim.jit import njit

_RECORDS, _LISTED, _ENTRIES = (
    from_dtype(RECORD)[::1],
    from_dtype(LISTED)[::1],
    from_dtype(ENTRY)[::1],
)
_WORD, _ONE = 64, np.uint64(1)
_STEPS, _JOBS, _CHANNELS = from_dtype(STEP)[::1], from_dtype(JOB)[::1], from_dtype(CHANNEL)[::1]


class Longest(NamedTuple):
    """For each step of a job, the link that takes longest: time, without waits, row, bound."""

    time_s: Floats
    taken_s: Floats
    row: Ints  # of the record, -1: none
    by_share: Bools  # whether the share bound decides, not the bound 1 / (1 - R)


@njit(
    void(
        int64,
        int64,
        int64,
        float64,
        float64,
        _RECORDS,
        _LISTED,
        _JOBS,
        _CHANNELS,
        float64[:, ::1],
        uint64[::1],
    ),
    cache=True,
)
def _share_out(
    number: int,
    victim: int,
    kind: int,
    by_use: float,
    by_weight: float,
    records: Table,
    listed: Table,
    jobs: Table,
    channels: Table,
    blame: Floats,
    met: Bits,
) -> None:
    """Share out seconds among the other jobs on a channel, by their use and by their weight."""
    all_use, all_weight = 0.0, 0.0
    for turn in range(2):
        row = channels[number].first_record
        while row >= 0:
            slot = listed[row].slot
            if slot != victim:
                use = records[row].drain_s * jobs[slot].rate
                weight = records[row].weight_s * jobs[slot].rate
                if turn == 0:
                    all_use, all_weight = all_use + use, all_weight + weight
                else:
                    blame[slot, kind] += by_use * use / all_use + by_weight * weight / all_weight
                    met[slot // _WORD] |= _ONE << np.uint64(slot % _WORD)
            row = listed[row].following


@njit((int64, _RECORDS, _ENTRIES, _STEPS, _JOBS, _CHANNELS), cache=True, error_model="numpy")
def _longest(
    slot: int, records: Table, entries: Table, steps: Table, jobs: Table, channels: Table
) -> Longest:
    """Return the link that takes longest for each step of a job."""
    job = jobs[slot]
    found = Longest(
        np.empty(job.n_steps),
        np.zeros(job.n_steps),
        np.full(job.n_steps, -1, np.int64),
        np.zeros(job.n_steps, np.bool_),
    )
    for a in range(job.n_steps):
        found.time_s[a] = steps[job.first_step + a].drain_s
    for row in range(job.first_record, job.first_record + job.n_active):
        record = records[row]
        weight = channels[record.channel].weight - record.weight_s * job.rate
        use = max(0.0, channels[record.channel].use - record.drain_s * job.rate)
        if weight <= 0.0:
            continue
        first = job.first_entry + record.first_entry
        for k in range(first, first + record.n_entries):
            own = entries[k]
            taken = link_time(own.drain_s, own.weight, own.senders, own.feed_s, weight, use)
            late = taken + queue_wait(own.queue_s, weight)
            a = own.step
            if late > found.time_s[a]:
                found.time_s[a], found.row[a], found.taken_s[a] = late, row, taken
                bound = link_time(own.drain_s, own.weight, own.senders, own.feed_s, weight, 1.0)
                found.by_share[a] = taken >= bound
    return found


@njit(
    float64(
        int64,
        int64[::1],
        _RECORDS,
        _LISTED,
        _ENTRIES,
        _STEPS,
        _JOBS,
        _CHANNELS,
        float64[:, ::1],
        uint64[::1],
    ),
    cache=True,
    error_model="numpy",
)
def _blame_one(
    slot: int,
    kinds: Ints,
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    jobs: Table,
    channels: Table,
    blame: Floats,
    met: Bits,
) -> float:
    """Add the seconds that others hold a job up to `blame`, and note who; return their sum."""
    job = jobs[slot]
    longest = _longest(slot, records, entries, steps, jobs, channels)
    total = 0.0
    for a in range(job.n_steps):
        if longest.row[a] < 0:
            continue
        record = records[longest.row[a]]
        alone = steps[job.first_step + a].drain_s
        by_use = 0.0 if longest.by_share[a] else max(0.0, longest.taken_s[a] - alone)
        by_weight = longest.time_s[a] - alone - by_use
        _share_out(
            record.channel,
            slot,
            kinds[record.link],
            by_use,
            by_weight,
            records,
            listed,
            jobs,
            channels,
            blame,
            met,
        )
        total += longest.time_s[a] - alone
    if total <= 0.0:
        for row in range(job.first_record, job.first_record + job.n_shared):
            number, kind = records[row].channel, kinds[records[row].link]
            weight = channels[number].weight - records[row].weight_s * job.rate
            if weight > 0.0:
                _share_out(
                    number, slot, kind, 0.0, weight, records, listed, jobs, channels, blame, met
                )
                total += weight
    return total


@njit(
    int64(
        int64[::1],
        int64[::1],
        int64[::1],
        _RECORDS,
        _LISTED,
        _ENTRIES,
        _STEPS,
        _JOBS,
        _CHANNELS,
        float64[:, ::1],
        int64[:, ::1],
        float64[::1],
    ),
    cache=True,
    error_model="numpy",
)
def culprits(
    victims: Ints,
    kinds: Ints,
    job_of: Ints,
    records: Table,
    listed: Table,
    entries: Table,
    steps: Table,
    jobs: Table,
    channels: Table,
    blame: Floats,
    rows: Ints,
    shares: Floats,
) -> int:
    """
    Share out what each step of some jobs takes longer than alone.

    Parameters
    ----------
    victims : (V,) int array
        Slots of the jobs.
    kinds : (E,) int array
        Class of each link, 0..K-1.
    job_of : (S,) int array
        Identity of the job in each slot.
    records, listed, entries, steps, jobs, channels : arrays
        The pool.
    blame : (S, K) float array
        Scratch, all 0 before and after.
    rows : (3, Z) int array
        Written: victim, culprit, class of the link.
    shares : (Z,) float array
        Written: share of the victim's excess; the shares of a victim add up to 1.

    Returns
    -------
    int
        Rows there are; those beyond Z are not written.

    Notes
    -----
    A step's excess is that of the link that takes longest. Where the bound 1/(1 - R) decides
    its time, the others share in proportion to their use R_k; where the share bound does, and
    for the wait behind buffered packets, in proportion to their weight N_k. A job that is
    held up by less than the tolerance blames all it meets, by N_k.
    """
    n_rows = 0
    met = np.zeros(blame.shape[0] // _WORD + 1, np.uint64)
    for v in range(victims.size):
        total = _blame_one(
            victims[v], kinds, records, listed, entries, steps, jobs, channels, blame, met
        )
        for word in range(met.size):
            others, other = met[word], word * _WORD
            met[word] = 0
            while others:
                for kind in range(blame.shape[1] if others & _ONE else 0):
                    if blame[other, kind] > 0.0:
                        if n_rows < shares.size:
                            rows[0, n_rows] = job_of[victims[v]]
                            rows[1, n_rows], rows[2, n_rows] = job_of[other], kind
                            shares[n_rows] = blame[other, kind] / total
                        n_rows += 1
                    blame[other, kind] = 0.0
                others >>= _ONE
                other += 1
    return n_rows
