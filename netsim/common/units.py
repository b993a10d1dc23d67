"""Read quantities with units; inside, everything is bytes, seconds, bytes per second."""

from collections.abc import Iterable, Mapping

from fabricsim.checking.units import (
    BUFFER,
    DURATION,
    LATENCY,
    RATE,
    SIZE,
    Bandwidth,
    Quantity,
    Stated,
    is_bare,
    quantity,
)
from netsim.common.errors import ContentionError, UnitError

__all__ = [
    "ROUNDING",
    "Bandwidth",
    "Quantity",
    "Stated",
    "is_bare",
    "parse_buffer",
    "parse_latency",
    "parse_rate",
    "parse_rates",
    "parse_size",
    "parse_time",
]

ROUNDING = 1e-12  # of a size: what the sum of its parts may be off


def parse_size(value: Quantity) -> float:
    """
    Read a size such as ``"1 MiB"``.

    Parameters
    ----------
    value : str or float
        A number of bytes, or a number with ``B`` (or ``b`` for bits; also ``bytes``, ``bit``)
        and a decimal (k, M, G, T, P) or binary (Ki, Mi, ...) prefix.

    Returns
    -------
    float
        The size in bytes.

    Raises
    ------
    UnitError
        If the text is no such quantity, or negative; or a part of a byte without a unit.

    Examples
    --------
    >>> parse_size("1 MiB"), parse_size("8 kbit"), parse_size(512)
    (1048576.0, 1000.0, 512.0)
    """
    return quantity(value, SIZE, UnitError)


def parse_buffer(value: Quantity) -> float:
    """Read what a port buffers, such as ``"64 KiB"``, in bytes; less than a packet needs a unit."""
    return quantity(value, BUFFER, UnitError)


def parse_rate(value: Quantity) -> float:
    """
    Read a bandwidth such as ``"100 Gb/s"``.

    Parameters
    ----------
    value : str or float
        A number of bytes per second, or a number with a unit: ``Gb/s`` and ``Gbit/s`` count
        bits, ``GB/s`` bytes; ``Gbps`` is read as ``Gb/s``.

    Returns
    -------
    float
        The bandwidth in bytes per second.

    Raises
    ------
    UnitError
        If the text is no such quantity, or negative; or no network's without a unit.

    Examples
    --------
    >>> parse_rate("100 Gb/s"), parse_rate("400Gbps"), parse_rate("5 GB/s"), parse_rate(5e9)
    (12500000000.0, 50000000000.0, 5000000000.0, 5000000000.0)
    """
    return quantity(value, RATE, UnitError)


def parse_rates(value: Bandwidth) -> tuple[float, ...]:
    """Read one or more bandwidths above 0, in bytes per second."""
    one = isinstance(value, (str, Mapping)) or not isinstance(value, Iterable)
    entries = [value] if one else list(value)  # type: ignore[arg-type]
    rates = tuple(parse_rate(entry) for entry in entries)  # type: ignore[arg-type]
    if not rates or min(rates) <= 0:
        raise UnitError(f"expected bandwidths above 0 such as '100 Gb/s', got {value!r}.")
    return rates


def parse_time(value: Quantity) -> float:
    """
    Read a duration such as ``"315 ns"``.

    Parameters
    ----------
    value : str or float
        A number of seconds, or a number with one of s, ms, us, ns, min, h.

    Returns
    -------
    float
        The duration in seconds.

    Raises
    ------
    UnitError
        If the text is no such quantity, or negative.

    Examples
    --------
    >>> parse_time("2 min"), parse_time(0.5)
    (120.0, 0.5)
    """
    return quantity(value, DURATION, UnitError)


def parse_latency(value: Quantity) -> float:
    """Read a latency such as ``"315 ns"`` in seconds; a second or more needs a unit."""
    return quantity(value, LATENCY, UnitError)


LONGEST_S = 86400.0


def require_within_a_day(forecast: str, cpu_s: float, advice: str) -> None:
    """Refuse what would take more than a day of CPU time, with its forecast and what takes less."""
    if cpu_s > LONGEST_S:
        raise ContentionError(f"{forecast}; at most a day is allowed: {advice}.")


def duration_text(seconds: float) -> str:
    """Write a duration."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"
