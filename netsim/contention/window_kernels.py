"""
How long a link takes for a step while its neighbours come and go, compiled.

Import through `netsim.kernelcache`.
"""

import math

from netsim.arrays import Floats
from netsim.contention.link_kernels import link_time
from netsim.contention.queueing_kernels import mean_queue
from netsim.jit import njit

# fitted constants; docs/model-studies.md names the scenes
MOST = 2.0  # buffers that are waited for at a link
ADDED = 1.0 / 3.0  # of the waits at other stages of the path than that of the longest

BEFORE = 3.0  # buffers up to a link between groups: of a node link, of a local one, and its own


@njit("float64(float64, float64, float64, int64)", cache=True, error_model="numpy")
def presence(begin_s: float, end_s: float, cell_s: float, cell: int) -> float:
    """
    Return the share of a cell of its job's iteration in which a step runs.

    Parameters
    ----------
    begin_s, end_s : float
        When the step runs, from the start of the iteration.
    cell_s : float
        Length of a cell.
    cell : int
        Number of the cell, 0, 1, ...
    """
    low = cell * cell_s
    return max(0.0, min(end_s, low + cell_s) - max(begin_s, low)) / cell_s


@njit("float64(float64, float64)", cache=True, error_model="numpy")
def window_lag(burst_s: float, window_s: float) -> float:
    """
    Return which part of the neighbours' ups and downs a step feels.

    Parameters
    ----------
    burst_s : float
        Length of the neighbours' steps, in the mean over what they put on the link.
    window_s : float
        Length of the step.

    Returns
    -------
    float
        From 1, for a step much shorter than the bursts, which meets a single state, to 0 for one
        that meets many bursts.

    Notes
    -----
    The root of burst / (burst + window / 2). The share of a random window of length d_a that rare
    bursts of length d_b cover has the variance mu m^2 (L - m / 3) / (d_a^2 d_b), with m and L the
    smaller and the larger of the two, where that of a single moment is mu. Their ratio is 2/3 for
    equal lengths and 1 for the shortest window, as here; between and up to d_a = 4 d_b this is
    within 0.11 of it. The half is geometry, not a fit.
    """
    return math.sqrt(burst_s / (burst_s + 0.5 * window_s))


@njit("float64(float64, float64, float64, float64)", cache=True, error_model="numpy")
def window_time(end_s: float, speed: float, mean_speed: float, lag: float) -> float:
    """
    Return how long a link takes in one state: its speed lies between the state's and the mean.

    A step that lasts as long as several bursts advances at their mean speed.
    """
    return end_s / (mean_speed + lag * (speed - mean_speed))


@njit("float64(float64, float64, float64, float64)", cache=True)
def grown_queue(w: float, r: float, lasting: float, crossed: float) -> float:
    """
    Return how long the queue is, in the mean, while a neighbour sends that fills the link alone.

    Parameters
    ----------
    w : float
        Time in which the link empties the buffer of its port, in seconds.
    r : float
        Utilisation R of all jobs, the own one too.
    lasting, crossed : float
        Sums over the others of D, the mean of weight x length of their steps, and of D R, both per
        weight.

    Returns
    -------
    float
        Seconds, at most w.

    Notes
    -----
    A link that one neighbour keeps busy has no time left for what others send meanwhile: their
    share of the time, R without the neighbour's own, is what its queue grows by in each second
    until the burst is over, so it is half of that in the mean.
    """
    return min(w, 0.5 * max(0.0, r * lasting - crossed))


@njit("float64(float64)", cache=True)
def room_before(n: float) -> float:
    """
    Return for how many buffers a packet waits at most at a link, besides others of weight N.

    That of the port, and half of one for each of those who send at once: on the links that lead to
    it their packets have a buffer each, but their bursts do not begin together. At least MOST.
    """
    return max(MOST, 1.0 + 0.5 * n)


@njit("float64(float64, float64, float64, float64)", cache=True)
def wait_further(w: float, queued_s: float, standing: float, n: float) -> float:
    """
    Return for how much longer than a buffer lasts a packet waits at most, by any law.

    `w`, `queued_s`, `standing`, `n`: as for `late_wait` and `queue_ahead`. On virtual channels it
    is the room of the own one and a buffer of the others; BEFORE is a buffer more than MOST.
    """
    return min(room_before(n) * w, max(queued_s, standing * w) * n)


@njit("float64(float64, float64, float64, float64, float64, float64)", cache=True)
def late_wait(
    w: float, grown_s: float, queued_s: float, n: float, r: float, spare_s: float
) -> float:
    """
    Return by how much the last packet of a step is later than its link is done, or would be alone.

    Parameters
    ----------
    w : float
        Time in which the link empties the buffer of its port, in seconds.
    grown_s : float
        From `grown_queue`.
    queued_s : float
        Queue that neighbours' own packets make, per weight: see `queueing_kernels.queue_up`.
    n, r : float
        Weight N and utilisation R of the other jobs on the link.
    spare_s : float
        How long before the end that it has alone the link is done.

    Notes
    -----
    A link is kept busy, so that its queue grows, as far as the others offer that (N) and send it
    (R). Where several jobs queue, no more is waited for than `room_before`.
    """
    wait = grown_s * min(1.0, n) * min(1.0, r) + queued_s * n
    return max(0.0, min(room_before(n) * w, wait) - max(0.0, spare_s))


@njit(
    "float64(float64, float64, float64, float64, float64, float64)", cache=True, error_model="numpy"
)
def pool_wait(w: float, links: float, burst_s: float, n: float, r: float, spare_s: float) -> float:
    """
    Return by how much the last packet of a step is later for a pool that others fill together.

    Parameters
    ----------
    w : float
        Time in which the pool empties the buffer of one port, in seconds.
    links : float
        Links of the pool.
    burst_s : float
        Length of the neighbours' steps, in the mean over what they put on the pool.
    n, r, spare_s : float
        As for `late_wait`.

    Notes
    -----
    As long as the others offer less than all links of the pool can carry, N links' worth, a packet
    finds one of them free. What they offer beyond queues until the burst is over, before all links
    alike, so there is room for a buffer of each. That is so as far as they send it (R).
    """
    offered = n / links
    if offered <= 1.0:
        return 0.0
    queue_s = mean_queue((offered - 1.0) * burst_s, links * w)
    return max(0.0, queue_s * min(1.0, r) - max(0.0, spare_s))


@njit("float64(float64, float64, float64)", cache=True, error_model="numpy")
def standing_queue(drain_s: float, feed_s: float, buffer_s: float) -> float:
    """
    Return how many buffers of a step's own packets wait before a link between groups.

    Parameters
    ----------
    drain_s, feed_s : float
        B and G of the entry: how long the link takes, and how long the senders do.
    buffer_s : float
        Time in which the link empties one buffer.

    Notes
    -----
    UGAL keeps the queues of all ways equal, so that no packet avoids them. They grow until all is
    sent, to B - G, and then shrink: half of that in the mean. And a sender has no more than a
    buffer in the network (its window): at the rate 1 / B each of its packets is there for no longer
    than B / G times the time in which a node link empties that (J. D. C. Little, *A proof for the
    queuing formula L = lambda W*, 1961).
    """
    return min(0.5 * max(0.0, drain_s - feed_s) / buffer_s, drain_s / feed_s)


@njit("float64(float64, float64, float64, float64)", cache=True)
def queue_ahead(w: float, standing: float, n: float, spare_s: float) -> float:
    """
    Return by how much the last packet of a step is later for queues that stand before its link.

    Parameters
    ----------
    w, n, spare_s : float
        As for `late_wait`.
    standing : float
        Buffers that neighbours keep full, per weight.
    """
    return max(0.0, w * min(BEFORE, standing * n) - max(0.0, spare_s))


@njit("float64(float64, float64)", cache=True)
def left_over(held: float, n: float) -> float:
    """
    Return the share of the time in which a link is not full of packets that wait for links ahead.

    Parameters
    ----------
    held : float
        For how much of it neighbours fill it, per weight: see `filling_kernels.hold_back`.
    n : float
        Weight N of the other jobs on the link.
    """
    return 1.0 - min(1.0, held * n)


@njit(
    "float64(float64, float64, float64, float64, float64, float64, float64, float64)",
    cache=True,
    error_model="numpy",
)
def time_behind(
    taken_s: float, b: float, m: float, q: float, g: float, n: float, use: float, left: float
) -> float:
    """
    Return the time that a link takes which is full for a part of it of packets that wait.

    Parameters
    ----------
    taken_s : float
        Time y that it takes where it is not.
    b, m, q, g, n : float
        As for `link_kernels.link_time`.
    use : float
        Utilisation R of the other jobs, per weight.
    left : float
        Share of the time in which it is not full, from `left_over`.

    Notes
    -----
    The places of a full link become free as the packets in them go on, and are taken in turn. So
    each weight moves at the rate at which those who wait do: R / N, as if others weighed N / R - m.
    """
    if left >= 1.0 or use <= 0.0:
        return taken_s
    full_s = link_time(b, m, q, g, max(n, 1.0 / use - m), 1.0)
    return taken_s * full_s / (left * full_s + (1.0 - left) * taken_s)


@njit("float64(float64, float64, float64)", cache=True, error_model="numpy")
def by_iterations(alone_s: float, late_s: float, rate: float) -> float:
    """
    Return by how much an iteration is late in the mean over iterations, not over time.

    Parameters
    ----------
    alone_s : float
        Time T of an iteration alone.
    late_s : float
        By how much it is late in the mean over time.
    rate : float
        Iterations in a second, mean over the states.

    Returns
    -------
    float
        Seconds, at most `late_s`; exactly 0 where that is 0.

    Notes
    -----
    While the neighbours are away a job does more iterations than while they are there, so states
    count by the iterations that are done in them: the harmonic mean of their times.
    """
    if late_s <= 0.0:
        return 0.0
    return max(0.0, min(late_s, 1.0 / rate - alone_s))


@njit("float64(float64[:, ::1], int64)", cache=True)
def further_waits(waits: Floats, first: int) -> float:
    """
    Return what the waits at other stages of a path than that of the longest add to steps.

    `waits`: a row for each step, with the longest at each stage, as far as it makes the step late,
    from column `first` on. A packet waits at each link of its path, but seldom as long as the
    unluckiest at each.
    """
    further = 0.0
    for a in range(waits.shape[0]):
        total, most = 0.0, 0.0
        for stage in range(first, waits.shape[1]):
            total += waits[a, stage]
            most = max(most, waits[a, stage])
        further += total - most
    return ADDED * further
