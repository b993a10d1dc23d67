"""
What steps wait before links that packets do not choose by their queues, compiled.

Import through `netsim.kernelcache`.
"""

import math

from netsim.arrays import Ints, Table
from netsim.contention.columns import Fabric, Flows, Places
from netsim.jit import njit

_MOST = 0.99  # utilisation; beyond, a buffer is full in any case
_PRECISE = 1e-9
_HARDLY = 1e-12  # utilisation; below, nobody meets anybody
_MANY, _STEPS, _GREATEST = 50.0, 200, 600.0  # senders; of Newton's method; t whose e^t is a number


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
                entries[places.of_hop[hop]].drawn += max(1.0, flows.nbytes[f] / fabric.packet_bytes)
    for k in range(base, n_entries):
        c = places.channel[k]
        entries[k].drawn *= fabric.capacity[c] > fabric.port_capacity[c]
        entries[k].packet_s = fabric.packet_bytes / fabric.port_capacity[c]


@njit("float64(float64, float64)", cache=True, error_model="numpy")
def _decay(r: float, n: float) -> float:
    """Return the t above 0 for which n log(1 + r / n (e^t - 1)) = t; r below 1, n above 1."""
    t = n / (n - 1.0) * math.log(n / r)  # never less; the steps of Newton's method stay above t
    if n > _MANY:  # where that is far too much; more than with any number of senders
        t = min(t, 2.0 - 2.0 * math.log(r))
    if t > _GREATEST:  # there it is t, to a rounding
        return t
    for _ in range(_STEPS):
        odds = r / n * math.exp(t)
        inner = 1.0 - r / n + odds
        step = (n * math.log(inner) - t) / (n * odds / inner - 1.0)
        t -= step
        if abs(step) <= _PRECISE * t:
            break
    return t


@njit("float64(float64, float64, float64, float64)", cache=True, error_model="numpy")
def longest_met(packets: float, r: float, n: float, slots: float) -> float:
    """Return how many others the unluckiest of so many packets waits for."""
    if n <= 1.0 or r <= _HARDLY:
        return 0.0
    walked = math.sqrt(2.0 * slots * r * (1.0 - r / n) * math.log(1.0 + packets * r))
    r = min(_MOST, r)
    t = _decay(r, n)
    odds = r / n * math.exp(min(t, _GREATEST))
    likely = min(r, (1.0 - r) / (n / (1.0 + (1.0 - r / n) / odds) - 1.0))
    return min(walked, math.log(1.0 + packets * likely) / t)


@njit("float64(float64, float64, float64, float64, float64, float64)", cache=True)
def drawn_wait(
    buffer_s: float, packet_s: float, packets: float, r: float, n: float, slots: float
) -> float:
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
        Utilisation of the pool, by the job itself and by others.
    n : float
        Senders, of the job and of others, that keep it so busy.
    slots : float
        Length of the step, in times of a packet.

    Notes
    -----
    Each of n senders has a packet for this link with the probability r / n in a packet's time. One
    waits for longer than x packets with the probability C e^(-t x), for large x, with t from
    n log(1 + r (e^t - 1) / n) = t and C the drift of the queue over that of the same queue under
    arrivals that are e^t times as likely (as in the tail of M/G/1 queues; H. C. Tijms, *A first
    course in stochastic models*, 2003, chapter 9), and never more often than it waits at all, r.
    The longest of k such waits is log(1 + k C) / t in the mean. In a step of D packet times the
    queue gets no longer than a random walk of as many steps: sqrt(2 D r (1 - r / n) log(1 + k r)).
    Who waits delays the step only if it comes at its end, in the last such wait.
    """
    longest = longest_met(packets, r, n, slots)
    late = packets * min(1.0, max(1.0, longest) / slots)
    return min(buffer_s, packet_s * longest_met(late, r, n, slots))


@njit(cache=True)
def meet_own(base: int, n_entries: int, steps: Table, entries: Table) -> None:
    """
    Find what the unluckiest packet of a step waits for others of its own job.

    `slots` and `met_s` of the entries of the step, from `base` on, are written.
    """
    longest_s = 0.0
    for k in range(base, n_entries):
        own = entries[k]
        tau = steps[own.step].drain_s
        if tau <= 0.0:  # so few bytes that they take no time that is a number
            own.drawn = 0.0
        if own.drawn > 0.0:
            own.slots = tau / own.packet_s
            longest_s = max(
                longest_s,
                drawn_wait(
                    own.queue_s * own.links,
                    own.packet_s,
                    own.drawn,
                    own.drain_s / tau,
                    own.senders,
                    own.slots,
                ),
            )
    for k in range(base, n_entries):
        entries[k].met_s = longest_s
