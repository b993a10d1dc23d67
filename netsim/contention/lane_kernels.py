"""
What jobs put on the virtual channels of links, and what that does to each other, compiled.

A *lane* is a virtual channel of a link, with a buffer of its own. Import through
`netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, float64, from_dtype, int64

from netsim.arrays import Floats, Ints, Table
from netsim.contention.columns import ENTRY, RECORD
from netsim.contention.link_kernels import divisor, link_time, weight_exponent
from netsim.contention.traffic_kernels import FLOATS
from netsim.contention.window_kernels import late_wait, left_over, room_before, time_behind
from netsim.jit import njit

LANES = 4  # of a link that are told apart; the last takes all further ones
SHARE, HELD = 0, LANES  # columns of an entry: share of the weight, v, of each lane
# and where it is known for how long lanes are closed: that part s of the step, s W and s D of each
# lane; how many steps use the link, and T
CLOSED, AHEAD, FULL, TIMES, ALONE = 2 * LANES, 3 * LANES, 4 * LANES, 5 * LANES, 5 * LANES + 1
N_OWN = 5 * LANES + 2

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
        FLOATS,
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
    port: Floats,
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
    port : (3,) float array
        Bytes of the buffer of a port, of a packet, and of a place of a buffer.
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
            weight = 1.0 / divisor(n_open, weight_exponent(mean_bytes, port[0]))
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
    if alike == 1.0:
        return n
    same = alike * n
    return min(n, same + max(1.0, m + same))


@njit(
    "float64(float64, float64, float64, float64, float64, float64, float64, float64)",
    cache=True,
    error_model="numpy",
)
def time_beside(
    b: float, m: float, q: float, g: float, n: float, use: float, beside: float, held: float
) -> float:
    """
    Return the time that a link takes for a step among others.

    `b`, `m`, `q`, `g`, `n`: as for `link_kernels.link_time`; `use`: R per weight; `beside`: what of
    N counts in the share bound, from `weight_beside` or `link_kernels.felt_weight`; `held`: from
    `lane_sum_kernels.met_lanes`, or V per weight where a link has a single lane.
    """
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
    return max(0.0, min(room_before(alike * n) * w, same_s) + min(w, other_s) - max(0.0, spare_s))


@njit("float64(float64, float64, float64)", cache=True)
def there_for(length_s: float, end_s: float, taken_s: float) -> float:
    """
    Return for how much of a step, from its begin, its flows are on a link.

    `length_s`: of the step; `end_s`: e; `taken_s`: y.
    """
    return min(length_s, max(end_s, taken_s))
