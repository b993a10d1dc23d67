"""
What jobs put on the virtual channels of links, and what that does to each other, compiled.

A *lane* is a virtual channel of a link, with a buffer of its own. Import through
`netsim.kernelchoice`.
"""

import numpy as np
from numba import boolean, float64, from_dtype, int64, njit

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY, RECORD
from netsim.contention.link_kernels import divisor, link_time, weight_exponent
from netsim.contention.window_kernels import MOST, late_wait, left_over, queue_ahead, time_behind

LANES = 4  # of a link that are told apart; the last takes all further ones
SHARE, HELD = 0, LANES  # columns of an entry: share of the weight, v, of each lane
WEIGHTS, HOLDS, QUEUES = 0, LANES, 2 * LANES  # columns of sums: mean weight, V and Z of each lane
N_SUMS = 3 * LANES

_RECORDS, _ENTRIES = from_dtype(RECORD)[::1], from_dtype(ENTRY)[::1]
_INTS = int64[::1]


@njit(
    float64[:, ::1](
        _INTS,
        _INTS,
        float64[::1],
        _INTS,
        _INTS,
        _INTS,
        _INTS,
        _RECORDS,
        _ENTRIES,
        int64,
        float64,
        boolean,
    ),
    cache=True,
    error_model="numpy",
)
def lanes_of(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    channels: Ints,
    lanes: Ints,
    entry_of: Ints,
    records: Table,
    entries: Table,
    n_senders: int,
    buffer_bytes: float,
    per_flow: bool,
) -> Floats:
    """
    Return what the flows of a job have on each lane of its channels.

    Parameters
    ----------
    step, sender, nbytes, indptr : arrays
        Fields of `Traffic` and its routes.
    channels, lanes : (H,) int arrays
        Channel and lane of each hop of each flow.
    entry_of : (C,) int array
        Scratch, of each channel.
    records, entries : tables
        Of the job, as in `JobConstants`.
    n_senders : int
        Senders of the fabric.
    buffer_bytes : float
        Buffer of a port.
    per_flow : bool
        Whether each flow counts as a sender of its own.

    Returns
    -------
    (K, 2 LANES) float array
        Of each entry and lane: its share of the weight of the flows; and v, the same for all lanes
        on which flows wait for slower links ahead.
    """
    on = np.zeros((entries.size, 2 * LANES))
    opened, sent = np.zeros(n_senders, np.int64), np.zeros(n_senders)
    for r in range(records.size):
        entry_of[records[r].channel] = records[r].first_entry
    first = 0
    while first < step.size:
        a, last = step[first], first
        while last < step.size and step[last] == a:
            if indptr[last + 1] > indptr[last]:
                opened[sender[last]] += 1
                sent[sender[last]] += nbytes[last]
            for hop in range(indptr[last], indptr[last + 1]):
                while entries[entry_of[channels[hop]]].step < a:
                    entry_of[channels[hop]] += 1
            last += 1
        for f in range(first, last):
            n_open = 1 if per_flow else opened[sender[f]]
            if indptr[f + 1] == indptr[f]:
                continue
            mean_bytes = nbytes[f] if per_flow else sent[sender[f]] / n_open
            weight = 1.0 / divisor(n_open, weight_exponent(mean_bytes, buffer_bytes))
            finish_s, this_far_s = 0.0, 0.0
            for hop in range(indptr[f], indptr[f + 1]):
                finish_s = max(finish_s, entries[entry_of[channels[hop]]].drain_s)
            for hop in range(indptr[f], indptr[f + 1]):
                k, lane = entry_of[channels[hop]], min(lanes[hop], LANES - 1)
                this_far_s = max(this_far_s, entries[k].drain_s)
                on[k, SHARE + lane] += weight
                if this_far_s < finish_s:
                    on[k, HELD + lane] = entries[k].held
        for f in range(first, last):
            opened[sender[f]], sent[sender[f]] = 0, 0.0
        first = last
    for k in range(entries.size):
        total = 0.0
        for lane in range(LANES):
            total += on[k, SHARE + lane]
        for lane in range(LANES):
            on[k, SHARE + lane] /= total
    return on


@njit(cache=True)
def take_lanes(p: int, sums: Floats, c: int, all_sums: Floats, at: int) -> None:
    """Take what a job has on the lanes of a channel off these; arguments as for `met_lanes`."""
    for i in range(at, at + N_SUMS):
        all_sums[c, i] -= sums[p, i]
        sums[p, i] = 0.0


@njit(cache=True)
def add_lanes(p: int, sums: Floats, c: int, all_sums: Floats, at: int) -> None:
    """Put it on them; arguments as for `met_lanes`."""
    for i in range(at, at + N_SUMS):
        all_sums[c, i] += sums[p, i]


@njit(cache=True)
def put_lanes(
    k: int, per: tuple[float, float, float], on: Floats, p: int, sums: Floats, at: int
) -> None:
    """
    Add what an entry has on each lane to what its job has on those of the channel.

    `per`: its mean weight, the share of the time in which its step runs, and z over the iteration;
    the other arguments are as for `met_lanes`.
    """
    weight, running, queued_s = per
    for lane in range(at, at + LANES):
        sums[p, WEIGHTS + lane] += on[k, SHARE + lane] * weight
        sums[p, HOLDS + lane] += on[k, HELD + lane] * running
        sums[p, QUEUES + lane] += on[k, SHARE + lane] * queued_s


@njit(cache=True, error_model="numpy")
def met_lanes(
    k: int, on: Floats, p: int, sums: Floats, c: int, all_sums: Floats, at: int, mean: float
) -> tuple[float, float, float]:
    """
    Return what an entry meets of the others of its channel: those on the lanes of its own flows.

    Of several lanes the one on which most is counts.

    Parameters
    ----------
    k, on
        The entry, and what each has on lanes.
    p, sums, c, all_sums
        Row of its job and channel, and of the channel: what the job has there, and all have.
    at
        First column of all of these.
    mean
        The others' weight, in the mean over the states.

    Returns
    -------
    alike : float
        The part of the others' weight.
    held, queued_s : float
        Their V and Z, per weight.
    """
    total, most, held, queued_s = 0.0, 0.0, 0.0, 0.0
    for lane in range(at, at + LANES):
        weight = max(0.0, float64(all_sums[c, WEIGHTS + lane] - sums[p, WEIGHTS + lane]))
        total += weight
        if on[k, SHARE + lane] > 0.0:
            most = max(most, weight)
            held = max(held, float64(all_sums[c, HOLDS + lane] - sums[p, HOLDS + lane]))
            waits_s = float64(all_sums[c, QUEUES + lane] - sums[p, QUEUES + lane])
            queued_s = max(queued_s, waits_s)
    return (most / total if total > 0.0 else 1.0), held / mean, queued_s / mean


@njit("float64(float64, float64, float64)", cache=True)
def weight_beside(n: float, m: float, alike: float) -> float:
    """
    Return what others weigh beside the flows of a step, of which a part is on other lanes.

    Parameters
    ----------
    n : float
        Weight N of the other jobs on the link.
    m : float
        Weight of the step's own flows.
    alike : float
        The part of N on lanes of these.

    Notes
    -----
    A lane has but its places on the link, however many flows have packets in it. So other lanes
    weigh no more than that of the own flows, or no more than 1 where that is less.
    """
    same = alike * n
    return min(n, same + max(1.0, m + same))


@njit(
    "float64(float64, float64, float64, float64, float64, float64, float64, float64)",
    cache=True,
    error_model="numpy",
)
def time_beside(
    b: float, m: float, q: float, g: float, n: float, use: float, alike: float, held: float
) -> float:
    """
    Return the time that a link takes for a step among others, of which a part is on other lanes.

    `b`, `m`, `q`, `g`, `n`: as for `link_kernels.link_time`; `use`: R per weight; `alike` and
    `held`: from `met_lanes`, or 1 and V per weight where a link has a single lane.
    """
    beside = n if alike == 1.0 else weight_beside(n, m, alike)
    taken_s = link_time(b, m, q, g, beside, use * n)
    if held <= 0.0:
        return taken_s
    return time_behind(taken_s, b, m, q, g, n, use, left_over(held, n))


@njit(
    "float64(float64, float64, float64, float64, float64, float64, float64, float64)",
    cache=True,
    error_model="numpy",
)
def late_by_lane(
    w: float,
    grown_s: float,
    queued_s: float,
    alike: float,
    alike_s: float,
    n: float,
    r: float,
    spare_s: float,
) -> float:
    """
    Return what `window_kernels.late_wait` does where a part of the others is on other lanes.

    Parameters
    ----------
    w, grown_s, queued_s, n, r, spare_s : float
        As there.
    alike, alike_s : float
        The part of N, and of the queue, on lanes of the own flows.

    Notes
    -----
    Packets on other lanes take no places of the own lane: of theirs no more is ahead than what
    has been admitted to the link, a buffer.
    """
    if alike == 1.0:
        return late_wait(w, grown_s, queued_s, n, r, spare_s)
    grown_s *= min(1.0, n) * min(1.0, r)
    same_s = alike * grown_s + alike_s * n
    other_s = max(0.0, grown_s + queued_s * n - same_s)
    return max(0.0, min(MOST * w, same_s) + min(w, other_s) - max(0.0, spare_s))


@njit(cache=True, error_model="numpy")
def times_by_lane(
    times: Floats,
    link: tuple[float, float, float, float, float, float],
    others: tuple[float, float, float, float],
    met: tuple[float, float, float],
    tau: float,
) -> None:
    """
    Find what a link does to a step in each state.

    Parameters
    ----------
    times : (3, M) float array
        Row 0: the weights N_i of the others. Rows 1 and 2, written: speed, and wait less tau.
    link : tuple
        B, m, q, G, e and w of the entry.
    others : tuple
        Of the others on the link: R per weight, what `grown_queue` says, z per weight, and the
        buffers that they keep full, per weight.
    met : tuple
        From `met_lanes`.
    tau : float
        The own bottleneck.
    """
    drain, weight, senders, feed, end, queue = link
    use, grown_s, queued_s, standing = others
    alike, held, alike_s = met
    for i in range(times.shape[1]):
        n = times[0, i]
        taken = time_beside(drain, weight, senders, feed, n, use, alike, held)
        r, spare_s = use * n, end - taken
        times[1, i] = end / max(end, taken)
        wait = late_by_lane(queue, grown_s, queued_s, alike, alike_s, n, r, spare_s)
        if standing > 0.0:
            wait = max(wait, queue_ahead(queue, standing, n, spare_s))
        times[2, i] = wait - tau


@njit("float64(float64, float64, float64)", cache=True)
def there_for(length_s: float, end_s: float, taken_s: float) -> float:
    """
    Return for how much of a step, from its begin, its flows are on a link.

    `length_s`: of the step; `end_s`: e; `taken_s`: y.
    """
    return min(length_s, max(end_s, taken_s))
