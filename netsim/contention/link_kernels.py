"""
What a link does to one step of a job among its neighbours: the formulas of the model, compiled.

Import through `netsim.kernelcache`.
"""

import math

from netsim.jit import njit
from netsim.units import ROUNDING

BUNCHING = 0.2  # share of the time in which the others' use of a link comes all at once
WINDOWS = 2.0  # buffers that a message fills before its sender's others wait for it
HELD = 0.25  # what the exponent of the weight loses where messages are much longer
LEAST_FILL = 1e-4  # of a packet: for shorter messages a place counts as full as that
FIRST = 0.5  # of a buffer, what a message sends before others get what they weigh
STAGES = 8  # places of links on paths that are told apart


@njit("float64(float64, float64)", cache=True, error_model="numpy")
def weight_exponent(message_bytes: float, buffer_bytes: float) -> float:
    """
    Return c of the weight o^-c that a flow has on links, where its sender has o open flows.

    Parameters
    ----------
    message_bytes : float
        Bytes of a message of the sender, mean over those that it opens in the step.
    buffer_bytes : float
        Buffer of a port; 0 where none is stated.

    Returns
    -------
    float
        From 3/4 to 1; 1 without a stated buffer.

    Notes
    -----
    A network card takes its open messages in turn, so a flow offers 1/o of a link, and weighs that
    as long as the others go on. Packets that wait for a link keep their places in the card's
    window: once a window is full of them, the others go no faster than the flow that is held up,
    and that has the whole window, as a lone flow has: weight 1 if it is the only one, 1/o if all
    are held up alike. So long messages weigh something between the two, short ones never fill a
    window. Both constants are fitted (docs/model-studies.md names the cases).
    """
    if buffer_bytes <= 0.0:
        return 1.0
    return 1.0 - HELD * max(0.0, 1.0 - WINDOWS * buffer_bytes / message_bytes)


@njit("float64(float64, float64)", cache=True, error_model="numpy")
def place_fill(message_bytes: float, place_bytes: float) -> float:
    """
    Return how full the places of buffers are that the packets of a message take.

    Parameters
    ----------
    message_bytes : float
        Bytes of the message.
    place_bytes : float
        Bytes of a packet; 0 where none is stated.

    Returns
    -------
    float
        From LEAST_FILL to 1; 1 where no packet is stated.

    Notes
    -----
    A place takes one packet, however short. So a buffer of short packets holds fewer bytes, and a
    link that takes packets in turn moves fewer bytes of a flow of them. What is longer than whole
    packets by rounding alone is no packet more.
    """
    if place_bytes <= 0.0:
        return 1.0
    packets = message_bytes / place_bytes
    return min(1.0, max(LEAST_FILL, packets / math.ceil(packets * (1.0 - ROUNDING))))


@njit("float64(int64, float64)", cache=True, error_model="numpy")
def divisor(n_open: int, exponent: float) -> float:
    """Return o^c, by which a flow's weight of 1 is divided, to the bit where c is 1."""
    return float(n_open) if exponent == 1.0 else n_open**exponent


@njit("int64(int64, int64)", cache=True)
def stage_of(place: int, n_links: int) -> int:
    """Return the stage of a link on a path: counted from the nearer end, even before the middle."""
    after = n_links - 1 - place
    if 2 * place < n_links:
        return 2 * min(place, STAGES // 2 - 1)
    return 2 * min(after, STAGES // 2 - 1) + 1


@njit("boolean(float64, float64, float64, float64, float64)", cache=True)
def stays_within(limit: float, b: float, m: float, n: float, r: float) -> bool:
    """
    Return whether `link_time` surely is no longer than a limit, whatever the lingering.

    Parameters
    ----------
    limit : float
        In the unit of b.
    b, m, n, r : float
        As for `link_time`.

    Returns
    -------
    bool
        Found without a division, since it is asked far more often than the time itself.
    """
    most = b * (m + n)
    return most <= limit * m or most <= limit * (
        (1.0 - BUNCHING) * (1.0 - r) * (m + n) + BUNCHING * m
    )


@njit(
    "float64(float64, float64, float64, float64, float64, float64)", cache=True, error_model="numpy"
)
def link_time(b: float, m: float, q: float, g: float, n: float, r: float) -> float:
    """
    Return the time y = beta B that a link takes for one step among its neighbours.

    Parameters
    ----------
    b, m, q, g : float
        B, m, q, G of the entry; g = inf leaves out the lingering of the job's own flows.
    n, r : float
        Weight N and utilisation R of the other jobs on the link, at least 0.

    Returns
    -------
    float
        Seconds, at least B; exactly B where n = r = 0.

    Notes
    -----
    The share bound h is 1 + N/m until G, and 1 + N/q after it, when the senders' other flows
    are done: the others get no more than their weight. Nor do they take more than they send:
    coming evenly they leave the rate 1 - R. Where that is more than 1/h, the truth lies
    between the two, since 1 / (1 - R) is convex in R (Jensen's inequality): then the rate is
    (1 - BUNCHING) (1 - R) + BUNCHING / h. Without bunching, jobs that never compute could split
    a link at will, as 1/s_1 + 1/s_2 = 1 is all that their uses demand.
    """
    late = g + max(0.0, b - g * m / (m + n)) * (1.0 + n / q)
    bound = max(b, min(b * (1.0 + n / m), late))
    even = max(b, bound * (1.0 - r))
    return max(b, min(bound, b * bound / ((1.0 - BUNCHING) * even + BUNCHING * b)))


@njit("float64(float64, float64, float64)", cache=True, error_model="numpy")
def early_part(b: float, w: float, links: float) -> float:
    """
    Return which part of its bytes a step has sent before all on a link get what they weigh.

    Parameters
    ----------
    b, w : float
        B of the entry, and the time in which the link empties a buffer.
    links : float
        Links that the channel stands for.

    Returns
    -------
    float
        0 to 1; 0 where no buffer is stated, and for pools of links.

    Notes
    -----
    A link serves who came first. What fits into buffers comes as fast as its sender sends, and
    meanwhile others bring no more than the link carries. What is sent after that comes as places
    become free. `FIRST` of a buffer is fitted (docs/model-studies.md names the cases).
    """
    return 0.0 if links > 1.0 else min(1.0, FIRST * w / b)


@njit("float64(float64, float64)", cache=True)
def felt_weight(n: float, early: float) -> float:
    """
    Return what of the others' weight divides a link with a step, in the mean over its bytes.

    `n`: weight N of the others; `early`: from `early_part`: beside that N counts as 1 at most.
    """
    return n - early * max(0.0, n - 1.0)


@njit("float64(float64, float64)", cache=True)
def queue_wait(w: float, n: float) -> float:
    """
    Return how long the last packet of a step waits behind the packets of other jobs.

    Parameters
    ----------
    w : float
        Time in which the link empties the buffer of its port, in seconds.
    n : float
        Weight N of the other jobs on the link.

    Returns
    -------
    float
        Seconds, at most w.

    Notes
    -----
    N is what the others offer, in links' worth: from N = 1 on they keep the buffer full,
    below it is full for that share of the time. A flow model has no such term, and without it
    misses most of the slowdown of jobs with steps of a few microseconds (docs/model.md).
    """
    return w * min(1.0, n)
