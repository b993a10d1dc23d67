"""What builders of fabrics are told in numbers or with units: bandwidths and latencies."""

from netsim.common.errors import TopologyError, UnitError
from netsim.common.units import Bandwidth, Quantity, parse_latency, parse_rates


def cable_rates(bandwidth: Bandwidth) -> tuple[float, ...]:
    """
    Read the bandwidths of a fabric.

    Result: bytes per second, as many as were given.
    """
    try:
        return parse_rates(bandwidth)
    except UnitError as error:
        raise TopologyError(f"bandwidth: {error}") from None


def latency_seconds(latency: Quantity) -> float:
    """
    Read a latency of a fabric.

    Result: seconds.
    """
    try:
        return parse_latency(latency)
    except UnitError as error:
        raise TopologyError(f"latency: {error}") from None
