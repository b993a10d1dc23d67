"""Latency of messages: what their last byte takes in addition to the slowest link."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.topology.base import Topology
from netsim.topology.routes import Routes

_LINKS = 64  # of a path, below which what depends on their number is looked up
_TURNS = 200  # of the search for a scale, many more than it takes


@dataclass(frozen=True, slots=True, eq=False)
class MessageLatency:
    """
    Latency of F messages as a function of their lengths.

    A switch that stores and forwards sends a packet on when all of it is there. So the last byte of
    a message needs, with the drain time of the slowest link, the time of one packet on each other
    link; of a message shorter than a packet, the time of the message:

        base + (hops - 1) * per_link + min(bytes, packet) * waits
    """

    # (F,): seconds whatever the length: base + per_link * (hops - 1); 0 inside a node
    fixed_s: Floats
    # (F,): seconds for each byte of a packet: sum of 1 / capacity over the links of the path,
    # without the slowest; None where packets are not stated
    waits_s: Floats | None
    packet_bytes: float
    # (F,): messages, one after the other, over which the bytes of each flow are even
    rounds: Ints | int = 1

    def of(self, nbytes: Floats) -> Floats:
        """Return the latency, (F,) in seconds, of one message of flows of so many bytes."""
        if self.waits_s is None:
            return self.fixed_s
        longest = np.minimum(nbytes / self.rounds, self.packet_bytes)
        latency_s: Floats = self.fixed_s + longest * self.waits_s
        return latency_s


class LatencyOf:
    """
    Latency of messages on one fabric.

    Parameters
    ----------
    topology : Topology
        The fabric: its latencies, packets and the capacities of its links. Where switches choose
        among links, a packet takes the time of those; the slowest is what the drain time has, of
        link groups or of what each link of the paths carries.
    """

    def __init__(self, topology: Topology) -> None:
        hops = np.arange(_LINKS)
        self._topology, self._per_link_s = topology, topology.latency_per_link_s
        self._packet_bytes = topology.packet_bytes
        self._fixed = topology.path_latency_s(hops, 0.0)
        capacity = topology.capacity if topology.multipath is None else topology.multipath.capacity
        self._byte_s: Floats = 1.0 / capacity
        self._drain_byte_s: Floats = 1.0 / topology.capacity
        self._is_even = bool(capacity.size) and bool((capacity == capacity[0]).all())

    def __repr__(self) -> str:
        each = f"{self._per_link_s:g} s a link, packets of {self._packet_bytes:g} bytes"
        return f"<LatencyOf: {self._topology.latency_base_s:g} s, {each}>"

    def __call__(
        self,
        routes: Routes,
        step: Ints | None = None,
        nonminimal: Floats | None = None,
        rounds: Ints | int = 1,
    ) -> MessageLatency:
        """
        Return the latency of messages on such routes, by their lengths.

        `nonminimal` (F,): part of the packets of each that goes by non-minimal paths, where packets
        are spread over paths that may; `step` (F,) then says which messages start together. A step
        that ends with a packet that went round has the latency of its way: with the chance that of
        the last packets of its messages one did. `rounds`: as in `MessageLatency`.
        """
        hops = routes.hops
        try:
            fixed_s = self._fixed[hops]
        except IndexError:
            fixed_s = self._topology.path_latency_s(hops, 0.0)
        waits_s = self._waits_s(routes, hops) if self._packet_bytes > 0.0 else None
        if routes.path_sets is not None and step is not None and nonminimal is not None:
            chance = _one_goes_round(step, nonminimal)
            links = routes.path_sets.longer_by(np.ones(routes.n_links))
            fixed_s = fixed_s + chance * self._per_link_s * links
            if waits_s is not None:
                waits_s = waits_s + chance * routes.path_sets.longer_by(self._byte_s)
        return MessageLatency(fixed_s, waits_s, self._packet_bytes, rounds)

    def _waits_s(self, routes: Routes, hops: Ints) -> Floats:
        """Return what each byte of a packet takes on the links of a path but the slowest."""
        if self._is_even:
            return np.maximum(hops - 1, 0) * float(self._byte_s[0])
        waits_s, outside = np.zeros(hops.size), hops > 0
        if outside.any():
            first, links = routes.indptr[:-1][outside], routes.links
            all_s = np.add.reduceat(self._byte_s[links], first)
            if routes.path_sets is None:
                slowest_s = np.maximum.reduceat(self._drain_byte_s[links], first)
            else:
                ends = (
                    self._byte_s[links[first]],
                    self._byte_s[links[routes.indptr[1:][outside] - 1]],
                )
                between = routes.path_sets.slowest(self._byte_s)[outside]
                slowest_s = np.maximum(np.maximum(*ends), between)
            waits_s[outside] = all_s - slowest_s
        return waits_s


def _one_goes_round(step: Ints, nonminimal: Floats) -> Floats:
    """Return the chance, (F,), that a last packet of each flow's step goes non-minimally."""
    stays = np.ones(int(step.max(initial=-1)) + 1)
    np.multiply.at(stays, step, 1.0 - nonminimal)
    return 1.0 - stays[step]


def scale_to(
    wanted_s: float,
    alone_s: tuple[float, float],
    step: Ints,
    nbytes: Floats,
    latency: MessageLatency,
) -> float:
    """
    Return by how much to scale messages so that steps take a given time in all.

    `alone_s`: sums over the steps of drain time and, of each round, longest latency, as they are. 0
    or less where latency alone takes as long.
    """
    drain_s, latency_s = alone_s
    least = float((nbytes / latency.rounds).min())
    if latency.waits_s is None or least >= latency.packet_bytes:
        whole = (wanted_s - latency_s) / drain_s  # exact where no message is below a packet then
        if latency.waits_s is None or whole * least >= latency.packet_bytes:
            return whole
    first = np.flatnonzero(np.diff(step, prepend=-1))

    def beyond_s(scale: float) -> float:
        """Return by how much steps of messages of this scale take longer than wanted."""
        longest_s = np.maximum.reduceat(latency.of(scale * nbytes) * latency.rounds, first)
        return float(scale * drain_s + longest_s.sum() - wanted_s)

    low, below_s = 0.0, beyond_s(0.0)
    if below_s >= 0.0:
        return -below_s / drain_s
    high = -below_s / drain_s
    above_s = beyond_s(high)
    # what grows from piece to piece is straight within each: the secant ends on the last of them
    for turn in range(_TURNS):
        if above_s <= 0.0 or high - low <= 1e-15 * high:
            break
        between = low - below_s * (high - low) / (above_s - below_s)
        if turn % 3 == 2:  # noqa: PLR2004 (a secant from a far end may creep)
            between = (low + high) / 2.0
        found_s = beyond_s(between)
        if found_s > 0.0:
            high, above_s = between, found_s
        else:
            low, below_s = between, found_s
        if abs(found_s) <= 1e-14 * wanted_s:
            return between
    return high
