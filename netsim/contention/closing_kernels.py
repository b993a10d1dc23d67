"""
How much of its time a job loses before pools that others' hot spots close, compiled.

Where switches choose the way of each packet, the packets of a hot spot wait for all links that lead
to it: see `filling_kernels.hold_back` for how long such a pool is closed in a step. Import through
`netsim.kernelcache`.
"""

import math

from numba import float64

from netsim.arrays import Floats, Table
from netsim.jit import njit

MOST_CLOSED = 0.99  # share of the time for which one job closes a pool
LEAST = 1e-9  # of `closed`, to be more than what rounding leaves
# what `note` adds up of the steps of a job that cross a pool
BUSY, IDLE_SQUARE, FIRST, LAST, SPARE, SQUARE, N_NOTED = 0, 1, 2, 3, 4, 5, 6

_NOTED = float64[::1]


@njit("float64(float64)", cache=True)
def closing(share: float) -> float:
    """
    Return how much a job that closes a pool for a share of the time adds to what others do.

    Jobs close it independently of each other, so the shares for which it is open multiply, and
    their logarithms add up.
    """
    return -math.log(1.0 - min(MOST_CLOSED, share))


@njit(cache=True, error_model="numpy")
def spare_time(tau_s: float, entries: Table, k: int) -> float:
    """
    Return how long the flows of a step on a link can be held up without making it longer.

    Their senders need G m / q for them alone, and the link B.
    """
    entry = entries[k]
    alone_s = max(entry.drain_s, entry.feed_s * entry.weight / entry.senders)
    return max(0.0, float(tau_s - alone_s))


@njit((_NOTED, float64, float64, float64, float64), cache=True)
def note(noted: Floats, begin_s: float, length_s: float, tau_s: float, spare_s: float) -> None:
    """
    Add a step that crosses a pool; steps come in the order of the iteration.

    `noted`: FIRST below 0 before the first of them. `begin_s`, `length_s`, `tau_s`: when it begins
    in the iteration alone, how long it takes, and without latency; `spare_s`: from `spare_time`.
    """
    if noted[FIRST] < 0.0:
        noted[FIRST] = begin_s
    else:
        noted[IDLE_SQUARE] += (begin_s - noted[LAST]) ** 2
    noted[LAST] = begin_s + length_s
    noted[BUSY] += length_s
    noted[SPARE] += spare_s * tau_s
    noted[SQUARE] += tau_s * tau_s


@njit((_NOTED, float64, float64, float64, float64), cache=True, error_model="numpy")
def lost_share(
    noted: Floats, drained_s: float, period_s: float, closed: float, length_s: float
) -> float:
    """
    Return the share of its time that a job loses before a pool that others close.

    Parameters
    ----------
    noted : (N_NOTED,) float array
        Of its steps that cross the pool, from `note`.
    drained_s : float
        Sum of their times without latency.
    period_s : float
        Time T of an iteration alone.
    closed : float
        Sum of `closing` over the others.
    length_s : float
        D, for how long the pool is closed each time, in the mean over `closed`.

    Returns
    -------
    float
        0 to below 1.

    Notes
    -----
    The pool is closed for the share v = 1 - exp(-closed). A job that is in such a step when it
    closes, or comes to one, waits until it opens. If it closes in a gap between these steps, at a
    moment that is random as iterations of several jobs are, the job loses D less the rest of the
    gap: D - g / 2, or D^2 / 2 g of a gap longer than D, with g the mean length of the gap that a
    random moment meets. Flows that can be held up for a while without making their step longer
    spare that each time; where the step is longer than the D / v after which the pool closes again,
    its share of it.
    """
    share = 1.0 - math.exp(-closed)
    if share <= 0.0 or length_s <= 0.0:
        return 0.0
    idle_s = max(0.0, period_s - noted[BUSY])
    unmet = 0.0  # part of D that passes while it is busy with something else
    if idle_s > 0.0:
        square = noted[IDLE_SQUARE] + (period_s - noted[LAST] + noted[FIRST]) ** 2
        gap_s = square / idle_s
        met_s = length_s - 0.5 * gap_s if length_s > gap_s else 0.5 * length_s**2 / gap_s
        unmet = idle_s / period_s * (1.0 - met_s / length_s)
    spare_s = 0.0
    if drained_s > 0.0:
        longest_s = noted[SQUARE] / drained_s
        spare_s = noted[SPARE] / drained_s * min(1.0, length_s / share / longest_s)
    return share * (1.0 - unmet) * max(0.0, 1.0 - spare_s / length_s)
