"""Capacities, latencies and buffers with which times still make sense, at every door alike."""

from fabricsim.checking import wrong
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology

LEAST_PACKET, MOST_PACKET, MOST_BUFFER = 64.0, 2.0**24, 2.0**30
_QUANTITIES = "latency_base_s", "latency_per_link_s", "buffer_bytes", "packet_bytes"
_LEAST_RATE, _MOST_RATE, _MOST_LATENCY_S = 1.0, 1e18, 1e3


def require_sane(topology: Topology) -> Topology:
    """Return a fabric whose quantities are in range; refuse what is beyond any machine."""
    slowest = float(topology.capacity.min(initial=_MOST_RATE))
    fastest = float(topology.capacity.max(initial=_LEAST_RATE))
    if not _LEAST_RATE <= slowest <= fastest <= _MOST_RATE:
        beyond = slowest if slowest < _LEAST_RATE else fastest
        range_ = f"{_LEAST_RATE:g} to {_MOST_RATE:g} bytes/s"
        raise TopologyError(f"bandwidth: expected links of {range_}, got {beyond:g}.")
    for name in _QUANTITIES:
        value = getattr(topology, name)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (number and 0.0 <= value < float("inf")):
            raise TopologyError(f"{name}: expected a finite number from 0 on, got {value!r}.")
    for name in _QUANTITIES[:2]:
        latency_s = getattr(topology, name)
        if latency_s > _MOST_LATENCY_S:
            most = f"{_MOST_LATENCY_S:g} s"
            raise TopologyError(f"{name}: expected latencies of at most {most}, got {latency_s:g}.")
    if topology.buffer_bytes > MOST_BUFFER:
        raise TopologyError(
            f"buffer: expected a buffer of at most 1 GiB, got {topology.buffer_bytes:g}."
        )
    if topology.packet_bytes and not LEAST_PACKET <= topology.packet_bytes <= MOST_PACKET:
        expected = f"from {LEAST_PACKET:.12g} to {MOST_PACKET:.0f} bytes, or 0"
        raise TopologyError(f"packet: expected {expected}, got {topology.packet_bytes:.12g}.")
    if topology.packet_bytes > topology.buffer_bytes > 0.0:
        expected = f"room for a packet of {topology.packet_bytes:.12g} bytes, or 0"
        raise TopologyError(f"buffer: expected {expected}, got {topology.buffer_bytes:.12g}.")
    return topology


def require_topology(topology: object, error: type[ValueError]) -> None:
    """Refuse what is no fabric, such as its name, or has quantities that make no sense."""
    if not isinstance(topology, Topology):
        raise wrong("topology", "a Topology (see make_topology)", topology, error)
    try:
        require_sane(topology)
    except TopologyError as wrong_quantity:
        raise error(f"topology: {wrong_quantity}") from None
