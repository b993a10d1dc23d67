"""
What steps wait before pools of links, event by event, compiled.

Import through `netsim.kernelcache`.
"""

from numba import float64

from netsim.arrays import Floats, Table
from netsim.contention.drawn_kernels import drawn_wait
from netsim.contention.events.crowd_kernels import DRAWN, LINKS, MET, PACKET
from netsim.contention.link_kernels import link_time
from netsim.contention.window_kernels import pool_wait
from netsim.jit import njit


@njit(cache=True, error_model="numpy")
def wait_for_pool(
    entries: Table, k: int, late: Floats, tau: float, burst_s: float, use: float, times: Floats
) -> float:
    """Raise waits to those before a pool; return by how much for each weight more."""
    own, effect_s = entries[k], 0.0
    links, packet_s = float64(late[k, LINKS]), float64(late[k, PACKET])
    for i in range(times.shape[1]):
        n = times[0, i]
        taken = link_time(own.drain_s, own.weight, own.senders, own.feed_s, n, use * n)
        wait_s = pool_wait(own.queue_s, links, burst_s, n, use * n, own.end_s - taken)
        drawn_s = 0.0
        if late[k, DRAWN] > 0.0 and n > 0.0:
            r, senders = min(1.0, use * n + own.drain_s / tau), n + own.senders
            buffer_s, packets = links * own.queue_s, float64(late[k, DRAWN])
            drawn_s = drawn_wait(buffer_s, packet_s, packets, r, senders, tau / packet_s)
            drawn_s = max(0.0, drawn_s - float64(late[k, MET]))
            effect_s = max(effect_s, drawn_s / n)
        times[2, i] = max(times[2, i], max(wait_s, drawn_s) - tau)
    return float(effect_s + 0.5 * burst_s / links)
