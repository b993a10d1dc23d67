"""What is being looked at, as the part of the page's address after ``#``."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from math import isfinite
from urllib.parse import parse_qsl, quote

BY = ("slowdown", "pattern", "user", "allocator", "job")
"""By what bars are coloured."""
_MOST_LETTERS = 4000  # of an address


@dataclass(frozen=True, slots=True)
class Address:
    """What is being looked at."""

    # run, beside: names of the run, and of a second one below it; empty for the first, and for
    # none
    run: str = ""
    beside: str = ""
    by: str = BY[0]  # One of `BY`
    # begin_s, end_s: time that is shown; by default all
    begin_s: float | None = None
    end_s: float | None = None
    # low, high: nodes that are shown; by default all
    low: float | None = None
    high: float | None = None
    job: str = ""  # Id of the chosen job
    cable: str = ""  # Name of the chosen link
    at_s: float | None = None  # Moment at which the fabric is shown; by default the whole run

    def written(self) -> str:
        """
        Write the address.

        >>> Address(run="a b", begin_s=0.5, job="7").written()
        'run=a%20b&from=0.5&job=7'
        """
        return "&".join(
            f"{key}={quote(_value_text(value), safe='>.:,')}"
            for key, value in zip(_KEYS, astuple(self), strict=True)
            if value not in ("", None) and (key, value) != ("by", BY[0])
        )


_KEYS = ("run", "beside", "by", "from", "to", "low", "high", "job", "cable", "at")
_NAMES = tuple(field.name for field in fields(Address))
_NUMBERS = ("begin_s", "end_s", "low", "high", "at_s")


def _value_text(value: str | float) -> str:
    """Write a value: numbers as short as they are the same when they are read back."""
    # a moment rounded down may be one before its job began
    return value if isinstance(value, str) else repr(float(value)).removesuffix(".0")


def read_address(text: str, runs: Iterable[str] | None = None) -> Address:
    """Read an address as typed; what is missing, unknown or no number is left out."""
    given = dict(parse_qsl(text[:_MOST_LETTERS].removeprefix("#"), max_num_fields=50))
    known = None if runs is None else set(runs)
    found: dict[str, str | float] = {}
    for key, name in zip(_KEYS, _NAMES, strict=True):
        value = given.get(key, "")
        if name in _NUMBERS:
            number = _read_number(value)
            if number is not None:
                found[name] = number
        elif value and _value_fits(name, value, known):
            found[name] = value
    return _ordered_parts(Address(**found))  # type: ignore[arg-type]  # each by its name


def changed(address: Address, changes: Mapping[str, str], runs: Iterable[str]) -> Address:
    """Return an address with some parts changed; an empty text takes a part out."""
    given = dict(parse_qsl(address.written())) | {
        key: value for key, value in changes.items() if isinstance(value, str)
    }
    text = "&".join(f"{key}={quote(value)}" for key, value in given.items() if value)
    return read_address(text, runs)


def _value_fits(name: str, value: str, runs: set[str] | None) -> bool:
    """Say whether a field can have a value."""
    if name in ("run", "beside"):
        return runs is None or value in runs
    return name != "by" or value in BY


def _read_number(text: str) -> float | None:
    """Read a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _ordered_parts(address: Address) -> Address:
    """Leave out parts that end before they begin."""
    begin_s, end_s, low, high = address.begin_s, address.end_s, address.low, address.high
    if begin_s is not None and end_s is not None and not begin_s < end_s:
        address = replace(address, begin_s=None, end_s=None)
    if low is not None and high is not None and not low < high:
        address = replace(address, low=None, high=None)
    return address
