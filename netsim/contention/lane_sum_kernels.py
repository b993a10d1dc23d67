"""
What is on the lanes of channels, of each job and of all, and what a step meets of it, compiled.

`netsim.contention.lane_kernels` says what a lane is. Import through `netsim.kernelcache`.
"""

from numba import float64

from netsim.arrays import Floats
from netsim.contention.lane_kernels import (
    AHEAD,
    ALONE,
    CLOSED,
    FULL,
    HELD,
    LANES,
    SHARE,
    TIMES,
    late_by_lane,
    time_beside,
    weight_beside,
)
from netsim.contention.stalling_kernels import mean_stall, stall_wait
from netsim.contention.window_kernels import queue_ahead
from netsim.jit import njit

WEIGHTS, HOLDS, QUEUES = 0, LANES, 2 * LANES  # columns of sums: mean weight, V and Z of each lane
N_SUMS = 3 * LANES
SHUT, AHEADS, FULLS = 3 * LANES, 4 * LANES, 5 * LANES  # the same over time of s, s W and s D
N_ALL_SUMS = 6 * LANES
NOISE = 1e-6  # of s, which rounding leaves


@njit(cache=True)
def _n_sums(sums: Floats, at: int) -> int:
    """Return how many sums there are; arguments as for `met_lanes`."""
    return N_ALL_SUMS if sums.shape[1] >= at + N_ALL_SUMS else N_SUMS


@njit(cache=True)
def _closed(p: int, sums: Floats, at: int) -> int:
    """Return which lanes of a channel a job closes, a bit each; arguments as for `met_lanes`."""
    found = 0
    if _n_sums(sums, at) > N_SUMS:
        for lane in range(LANES):
            if sums[p, at + SHUT + lane] > NOISE:
                found |= 1 << lane
    return found


@njit(cache=True)
def meets_closed(p: int, sums: Floats, c: int, all_sums: Floats, at: int) -> bool:
    """Say whether others close a lane on which a job is; arguments as for `met_lanes`."""
    if _n_sums(sums, at) > N_SUMS:
        for lane in range(at, at + LANES):
            s = all_sums[c, SHUT + lane] - sums[p, SHUT + lane]
            if sums[p, WEIGHTS + lane] > 0.0 and s > NOISE:
                return True
    return False


@njit(cache=True)
def take_lanes(p: int, sums: Floats, c: int, all_sums: Floats, at: int) -> int:
    """Take what a job has on lanes of a channel off them; return which it closes, a bit each."""
    closed = _closed(p, sums, at)
    for i in range(at, at + N_SUMS):
        all_sums[c, i] -= sums[p, i]
        sums[p, i] = 0.0
    for i in range(at + N_SUMS, at + _n_sums(sums, at)):
        all_sums[c, i] -= sums[p, i]
        sums[p, i] = 0.0
    return closed


@njit(cache=True)
def add_lanes(p: int, sums: Floats, c: int, all_sums: Floats, at: int) -> int:
    """Put it on them; return which it closes. Arguments of both as for `met_lanes`."""
    for i in range(at, at + N_SUMS):
        all_sums[c, i] += sums[p, i]
    for i in range(at + N_SUMS, at + _n_sums(sums, at)):
        all_sums[c, i] += sums[p, i]
    return _closed(p, sums, at)


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
    if _n_sums(sums, at) > N_SUMS:
        for lane in range(at, at + LANES):
            sums[p, SHUT + lane] += on[k, CLOSED + lane] * running
            sums[p, AHEADS + lane] += on[k, AHEAD + lane] * running
            sums[p, FULLS + lane] += on[k, FULL + lane] * running


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


@njit(cache=True, error_model="numpy")
def met_closed(
    k: int, on: Floats, p: int, sums: Floats, c: int, all_sums: Floats, at: int, mean: float
) -> tuple[float, float]:
    """
    Return what an entry meets of lanes that others close, of those of its own flows.

    Arguments as for `met_lanes`.

    Returns
    -------
    stall_s : float
        How long a packet waits in the mean that comes to a closed one.
    shut : float
        For how much of the time it is closed, per weight.
    """
    shut, ahead_s, full_s = 0.0, 0.0, 0.0
    if _n_sums(sums, at) == N_SUMS:
        return 0.0, 0.0
    for lane in range(at, at + LANES):
        s = float64(all_sums[c, SHUT + lane] - sums[p, SHUT + lane])
        if on[k, SHARE + lane] > 0.0 and s > NOISE:
            shut = max(shut, s)
            ahead_s = max(ahead_s, float64(all_sums[c, AHEADS + lane] - sums[p, AHEADS + lane]) / s)
            full_s = max(full_s, float64(all_sums[c, FULLS + lane] - sums[p, FULLS + lane]) / s)
    if shut <= 0.0:
        return 0.0, 0.0
    times, alone_s = float64(on[k, at + TIMES]), float64(on[k, at + ALONE])
    return mean_stall(ahead_s, full_s, max(1.0, times * min(1.0, full_s / alone_s))), shut / mean


@njit(cache=True, error_model="numpy")
def times_by_lane(
    times: Floats,
    link: tuple[float, float, float, float, float, float],
    others: tuple[float, float, float, float],
    met: tuple[float, float, float, float, float],
    tau: float,
) -> float:
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
        From `met_lanes` and `met_closed`.
    tau : float
        The own bottleneck.

    Returns
    -------
    float
        Seconds by which closed lanes make it late, per weight.
    """
    drain, weight, senders, feed, end, queue = link
    use, grown_s, queued_s, standing = others
    alike, held, alike_s, stall_s, shut = met
    for i in range(times.shape[1]):
        n = times[0, i]
        beside = weight_beside(n, weight, alike)
        taken = time_beside(drain, weight, senders, feed, n, use, beside, held)
        r, spare_s = use * n, end - taken
        times[1, i] = end / max(end, taken)
        wait = late_by_lane(queue, grown_s, queued_s, alike, alike_s, n, r, spare_s)
        if standing > 0.0:
            wait = max(wait, queue_ahead(queue, standing, n, spare_s))
        if stall_s > 0.0:
            free = time_beside(drain, weight, senders, feed, n, use, beside, 0.0)
            wait = max(wait, stall_wait(stall_s, shut * n, taken, free, end))
        times[2, i] = wait - tau
    return stall_s * shut
