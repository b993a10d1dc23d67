"""Read and print quantities with units; inside, everything is bytes, seconds, bytes per second."""

import re
from collections.abc import Callable, Iterable
from math import inf
from numbers import Real
from typing import NamedTuple

from netsim.errors import UnitError


class Stated(float):
    """A quantity in SI units that was read before: no reader doubts that it is meant."""


Quantity = str | float
"""A number in SI units, or a text with a unit such as ``"100 Gb/s"``."""
Bandwidth = Quantity | Iterable[Quantity]
"""A bandwidth, or one for each level or kind of link."""

_SHOWN = 60  # characters of a wrong value in a message
_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/\u00b5\u03bc]*)\s*")
_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_TIME = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "\u00b5s": 1e-6,  # the micro sign
    "\u03bcs": 1e-6,  # the Greek letter
    "ns": 1e-9,
    "min": 60.0,
    "h": 3600.0,
}
_AMOUNT = re.compile(r"(.*?)(bits|bit|b|bytes|byte|B)")
_PER_SECOND = re.compile(r"(.*?)(?:/s|ps)")


class _Kind(NamedTuple):
    """A kind of quantity; bare numbers out of its range, 0 apart, were meant in another unit."""

    expected: str
    unit: str
    likely: str  # unit that was meant
    least: float = 0.0
    most: float = inf


_SIZE = _Kind("a size in bytes such as '64 KiB'", "B", "MB", least=1.0)
# a port buffers at least a packet
_BUFFER = _Kind("an amount of data such as '64 KiB'", "B", "KiB", least=1024.0)
_RATE = _Kind("a bandwidth such as '100 Gb/s'", "B/s", "Gb/s", least=1e6)
_DURATION = _Kind("a duration such as '315 ns'", "s", "ms")
_LATENCY = _Kind("a duration such as '315 ns'", "s", "ns", most=1.0)  # a quarter to a satellite


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
    return _read(value, _SIZE, _bytes_in)


def parse_buffer(value: Quantity) -> float:
    """
    Read what a port buffers, such as ``"64 KiB"``.

    Parameters
    ----------
    value : str or float
        As for `parse_size`.

    Returns
    -------
    float
        The size in bytes.

    Raises
    ------
    UnitError
        If the text is no such quantity, or negative; or less than a packet without a unit.

    Examples
    --------
    >>> parse_buffer("64 KiB"), parse_buffer(65536)
    (65536.0, 65536.0)
    """
    return _read(value, _BUFFER, _bytes_in)


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
    return _read(value, _RATE, _bytes_per_second_in)


def parse_rates(value: Bandwidth) -> tuple[float, ...]:
    """
    Read a bandwidth, or a list of them.

    Parameters
    ----------
    value : str, float or iterable of them
        As for `parse_rate`.

    Returns
    -------
    tuple of float
        Bytes per second, above 0; one value where no list is given.

    Raises
    ------
    UnitError
        If one is no bandwidth, or 0.

    Examples
    --------
    >>> parse_rates("8 Gb/s"), parse_rates(["8 Gb/s", 2e9])
    ((1000000000.0,), (1000000000.0, 2000000000.0))
    """
    one = isinstance(value, str) or not isinstance(value, Iterable)
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
    return _read(value, _DURATION, _TIME.get)


def parse_latency(value: Quantity) -> float:
    """
    Read the latency of a path or link such as ``"315 ns"``.

    Parameters
    ----------
    value : str or float
        As for `parse_time`.

    Returns
    -------
    float
        The latency in seconds.

    Raises
    ------
    UnitError
        If the text is no such quantity, or negative; or a second or more without a unit.

    Examples
    --------
    >>> parse_latency("315 ns"), parse_latency(1e-6)
    (3.15e-07, 1e-06)
    """
    return _read(value, _LATENCY, _TIME.get)


def is_bare(value: object) -> bool:
    """
    Say whether a quantity has no unit.

    Parameters
    ----------
    value : object
        As it was read.

    Returns
    -------
    bool
        True for numbers and texts of numbers.

    Examples
    --------
    >>> is_bare("1e9"), is_bare("1 GB/s")
    (True, False)
    """
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        return match is not None and not match[2]
    return isinstance(value, Real)


def format_size(n_bytes: float) -> str:
    """
    Print a size with the largest binary unit that keeps it at or above 1.

    Parameters
    ----------
    n_bytes : float
        Size in bytes.

    Returns
    -------
    str
        The size, three significant digits.

    Examples
    --------
    >>> format_size(1536)
    '1.5 KiB'
    """
    for unit in reversed(_BINARY):
        if n_bytes >= _BINARY[unit]:
            return f"{n_bytes / _BINARY[unit]:.3g} {unit}B"
    return f"{n_bytes:.3g} B"


def _read(value: Quantity, kind: _Kind, factor_of: Callable[[str], float | None]) -> Stated:
    """Read a quantity whose units have factors to SI."""
    if isinstance(value, Stated):
        return value
    number, unit = _split(value, kind)
    factor = factor_of(unit) if unit else 1.0
    if factor is None or not 0 <= number * factor < inf:
        raise _unread(value, kind)
    if not unit and number and not kind.least <= number < kind.most:
        raise UnitError(
            f"expected {kind.expected}, got {number:g}, which is {number:g} {kind.unit}: write "
            f"'{number:g} {kind.likely}' or '{number:g} {kind.unit}'."
        )
    return Stated(number * factor)


def _split(value: Quantity, kind: _Kind) -> tuple[float, str]:
    """Part a quantity into number and unit."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        if match is None:
            raise _unread(value, kind)
        return float(match[1]), match[2]
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _unread(value, kind)
    try:
        return float(value), ""
    except OverflowError:
        raise UnitError(f"expected {kind.expected}, got a number beyond all range.") from None


def _bytes_in(unit: str) -> float | None:
    """Return the bytes in a unit such as ``KiB`` or ``Gbit``, None where it is none."""
    amount = _AMOUNT.fullmatch(unit)
    factor = {**_PREFIX, **_BINARY}.get(amount[1]) if amount else None
    if amount is None or factor is None:
        return None
    return factor / 8 if amount[2] in {"b", "bit", "bits"} else float(factor)


def _bytes_per_second_in(unit: str) -> float | None:
    """Return the bytes per second in a unit such as ``Gb/s`` or ``Gbps``, None where it is none."""
    amount = _PER_SECOND.fullmatch(unit)
    return _bytes_in(amount[1]) if amount else None


def _unread(value: object, kind: _Kind) -> UnitError:
    """Make the error of what is no such quantity."""
    text = repr(value)
    text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    return UnitError(f"expected {kind.expected}, got {text}.")
