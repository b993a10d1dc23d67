"""What builders of fabrics are told in numbers or with units: bandwidths and latencies."""

from netsim.errors import TopologyError, UnitError
from netsim.units import Bandwidth, Quantity, parse_latency, parse_rates


def cable_rates(bandwidth: Bandwidth) -> tuple[float, ...]:
    """
    Read the bandwidths of a fabric.

    Parameters
    ----------
    bandwidth : Bandwidth
        One, or one for each level or kind of cable.

    Returns
    -------
    tuple of float
        Bytes per second, as many as were given.

    Raises
    ------
    TopologyError
        If one is no bandwidth above 0, or a number that cannot be meant.
    """
    try:
        return parse_rates(bandwidth)
    except UnitError as error:
        raise TopologyError(f"bandwidth: {error}") from None


def latency_seconds(latency: Quantity) -> float:
    """
    Read a latency of a fabric.

    Parameters
    ----------
    latency : Quantity
        Of every path, or of each link after the first.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    TopologyError
        If it is no duration, or a number that cannot be meant.
    """
    try:
        return parse_latency(latency)
    except UnitError as error:
        raise TopologyError(f"latency: {error}") from None
