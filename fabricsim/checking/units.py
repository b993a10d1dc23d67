"""Quantities with units: the grammar, and bare numbers beyond all sense."""

import re
from collections.abc import Callable, Iterable
from math import inf
from numbers import Real
from typing import NamedTuple

from fabricsim.checking.values import brief

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


class Stated(float):
    """A quantity in SI units that was read before: no reader doubts that it is meant."""


Quantity = str | float
"""A number in SI units, or a text with a unit such as ``"100 Gb/s"``."""
Bandwidth = Quantity | Iterable[Quantity]
"""A bandwidth, or one for each level or kind of link."""


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


class Kind(NamedTuple):
    """A kind of quantity; bare numbers out of its range, 0 apart, were meant in another unit."""

    expected: str  # What errors call it, with an example
    # unit, likely: unit of bare numbers, and the unit that was meant where they are out of range
    unit: str
    likely: str
    factor_of: Callable[[str], float | None]  # Factor of a unit to SI, None for what is none
    # least, most: range of bare numbers, the latter excluded
    least: float = 0.0
    most: float = inf


SIZE = Kind("a size in bytes such as '64 KiB'", "B", "MB", _bytes_in, least=1.0)
# a port buffers at least a packet
BUFFER = Kind("an amount of data such as '64 KiB'", "B", "KiB", _bytes_in, least=1024.0)
RATE = Kind("a bandwidth such as '100 Gb/s'", "B/s", "Gb/s", _bytes_per_second_in, least=1e6)
DURATION = Kind("a duration such as '1.5 s'", "s", "ms", _TIME.get)
# to a satellite it takes a quarter of a second
LATENCY = Kind("a duration such as '315 ns'", "s", "ns", _TIME.get, most=1.0)


def quantity(value: object, kind: Kind, error: type[ValueError], place: str = "") -> Stated:
    """
    Read a quantity. Result: in SI units; what is `Stated` already is taken as it is.

    >>> quantity("40 Gbit/s", RATE, ValueError)
    5000000000.0
    """
    if isinstance(value, Stated):
        return value
    where = f"{place}: expected" if place else "expected"
    number, unit = _split_quantity(value)
    factor = kind.factor_of(unit) if unit else 1.0
    if factor is None or not 0 <= number * factor < inf:
        raise error(f"{where} {kind.expected}, got {brief(value)}.")
    if not unit and number and not kind.least <= number < kind.most:
        raise error(
            f"{where} {kind.expected}, got {number:g}, which is {number:g} {kind.unit}: write "
            f"'{number:g} {kind.likely}' or '{number:g} {kind.unit}'."
        )
    return Stated(number * factor)


def is_bare(value: object) -> bool:
    """Say whether a quantity has no unit: a number, or a text of one such as ``"1e9"``."""
    number, unit = _split_quantity(value)
    return number >= 0 and not unit


def _split_quantity(value: object) -> tuple[float, str]:
    """Part a quantity into number and unit; -1 for what is none."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        return (float(match[1]), match[2]) if match else (-1.0, "")
    if isinstance(value, bool) or not isinstance(value, Real):
        return -1.0, ""
    try:
        return float(value), ""
    except OverflowError:
        return inf, ""
