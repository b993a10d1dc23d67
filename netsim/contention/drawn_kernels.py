"""
What steps wait before links that packets do not choose by their queues, compiled.

Import through `netsim.kernelchoice`.
"""

import math

from numba import njit

from netsim.arrays import Ints, Table
from netsim.contention.columns import PACKET_BYTES, Fabric, Flows, Places

_MOST = 0.99  # utilisation; beyond, a buffer is full in any case
_PRECISE = 1e-9


@njit(cache=True)
def count_drawn(
    first: int,
    last: int,
    base: int,
    n_entries: int,
    by_chance: Ints,
    flows: Flows,
    fabric: Fabric,
    places: Places,
    entries: Table,
) -> None:
    """
    Count the packets of a step on pools where chance decides on which link each of them goes.

    `by_chance` (E,): 1 for links of such pools. `drawn` and `packet_s` of the entries from `base`
    on are written.
    """
    for f in range(first, last):
        for hop in range(flows.indptr[f], flows.indptr[f + 1]):
            if by_chance[flows.links[hop]]:
                entries[places.of_hop[hop]].drawn += max(1.0, flows.nbytes[f] / PACKET_BYTES)
    for k in range(base, n_entries):
        c = places.channel[k]
        entries[k].drawn *= fabric.capacity[c] > fabric.port_capacity[c]
        entries[k].packet_s = PACKET_BYTES / fabric.port_capacity[c]


@njit("float64(float64)", cache=True, error_model="numpy")
def _decay(r: float) -> float:
    """Return the t above 0 for which r (e^t - 1) = t, with r above 0 and below 1."""
    t = -2.0 * math.log(r)  # never less: 1 / r - r >= -2 log r; Newton's steps stay above t
    step = t
    while step > _PRECISE * t:
        grown = r * math.exp(t)
        step = (grown - r - t) / (grown - 1.0)
        t -= step
    return t


@njit("float64(float64, float64, float64, float64)", cache=True, error_model="numpy")
def drawn_wait(buffer_s: float, packet_s: float, packets: float, r: float) -> float:
    """
    Return how long the unluckiest packet of a step waits on its link of a pool.

    Parameters
    ----------
    buffer_s : float
        Time in which a link of the pool empties the buffer of its port: the most.
    packet_s : float
        Time that it takes for a packet.
    packets : float
        Packets of the step on the pool.
    r : float
        Utilisation of the pool by the other jobs.

    Notes
    -----
    Packets of others come to each link at random, one after another of the same size (M/D/1). One
    waits for longer than x packets with the probability C e^(-t x), for large x, with t from
    r (e^t - 1) = t and C = (1 - r) / (r e^t - 1) (the tail of M/G/1 queues; H. C. Tijms, *A first
    course in stochastic models*, 2003, chapter 9), and never more often than it waits at all, r.
    Of n, one waits for as long as 1 in n does.
    """
    if packets * r <= 1.0:  # also where r is too small for its decay to be a number
        return 0.0
    r = min(_MOST, r)
    t = _decay(r)
    beyond = packets * min(r, (1.0 - r) / (r + t - 1.0))
    if beyond <= 1.0:
        return 0.0
    return min(buffer_s, packet_s * math.log(beyond) / t)
