"""Read and print quantities with units; inside, everything is bytes, seconds, bytes per second."""

import re

from netsim.errors import UnitError

_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/µ]*)\s*")
_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}


def parse_size(value: str | float) -> float:
    """
    Read a size such as ``"1 MiB"``.

    Parameters
    ----------
    value : str or float
        A number of bytes, or a number with ``B`` (or ``b`` for bits) and a decimal
        (k, M, G, T, P) or binary (Ki, Mi, ...) prefix.

    Returns
    -------
    float
        The size in bytes.

    Raises
    ------
    UnitError
        If the text is no such quantity, or negative.

    Examples
    --------
    >>> parse_size("1 MiB"), parse_size("8 kb"), parse_size(512)
    (1048576.0, 1000.0, 512.0)
    """
    return _scaled(value, "a size in bytes such as '64 KiB'", suffix="")


def parse_rate(value: str | float) -> float:
    """
    Read a bandwidth such as ``"100 Gb/s"``.

    Parameters
    ----------
    value : str or float
        A number of bytes per second, or a number with a unit: ``Gb/s`` counts bits,
        ``GB/s`` bytes; ``Gbps`` is read as ``Gb/s``.

    Returns
    -------
    float
        The bandwidth in bytes per second.

    Raises
    ------
    UnitError
        If the text is no such quantity, or negative.

    Examples
    --------
    >>> parse_rate("100 Gb/s"), parse_rate("5 GB/s")
    (12500000000.0, 5000000000.0)
    """
    if isinstance(value, str):
        value = re.sub(r"bps\s*$", "b/s", value)
    return _scaled(value, "a bandwidth such as '100 Gb/s'", suffix="/s")


def parse_time(value: str | float) -> float:
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
    expected = "a duration such as '315 ns'"
    number, unit = _split(value, expected)
    if unit and unit not in _TIME:
        raise UnitError(f"expected {expected}, got {value!r}.")
    return number * (_TIME[unit] if unit else 1.0)


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


def _split(value: str | float, expected: str) -> tuple[float, str]:
    """Part a quantity into number and unit."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UnitError(f"expected {expected}, got {value!r}.")
    if not isinstance(value, str):
        number, unit = float(value), ""
    else:
        match = _NUMBER.fullmatch(value)
        if match is None:
            raise UnitError(f"expected {expected}, got {value!r}.")
        number, unit = float(match[1]), match[2]
    if not 0 <= number < float("inf"):
        raise UnitError(f"expected {expected}, got {value!r}.")
    return number, unit


def _scaled(value: str | float, expected: str, suffix: str) -> float:
    """Apply prefix and bits or bytes to the number of a quantity."""
    number, unit = _split(value, expected)
    if not unit:
        return number
    if not unit.endswith(suffix):
        raise UnitError(f"expected {expected}, got {value!r}.")
    unit = unit[: len(unit) - len(suffix)]
    prefix, base = unit[:-1], unit[-1:]
    factor = {**_PREFIX, **_BINARY}.get(prefix)
    if factor is None or base not in {"b", "B"}:
        raise UnitError(f"expected {expected}, got {value!r}.")
    return number * factor / (8 if base == "b" else 1)
