"""
What steps wait before pools of links, event by event, compiled.

Import through `netsim.kernelchoice`.
"""

from numba import njit

from netsim.arrays import Floats, Table
from netsim.contention.drawn_kernels import drawn_wait
from netsim.contention.link_kernels import link_time
from netsim.contention.window_kernels import pool_wait


@njit(cache=True, error_model="numpy")
def wait_for_pool(
    entries: Table, k: int, tau: float, links: float, burst_s: float, use: float, times: Floats
) -> float:
    """Raise waits to those before a full pool; return by how much for each weight more."""
    own = entries[k]
    for i in range(times.shape[1]):
        n = times[0, i]
        taken = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, use * n)
        wait_s = pool_wait(own.queue_s, links, burst_s, n, use * n, own.end_s - taken)
        times[2, i] = max(times[2, i], wait_s - tau)
    return float(0.5 * burst_s / links)


@njit(cache=True, error_model="numpy")
def wait_by_chance(
    buffer_s: float, packet_s: float, drawn: float, tau: float, use: float, times: Floats
) -> float:
    """Raise waits to those of the unluckiest packet; return by how much for each weight more."""
    effect_s = 0.0
    for i in range(times.shape[1]):
        n = times[0, i]
        wait_s = drawn_wait(buffer_s, packet_s, drawn, use * n)
        times[2, i] = max(times[2, i], wait_s - tau)
        if wait_s > 0.0:
            effect_s = max(effect_s, wait_s / n)
    return effect_s
