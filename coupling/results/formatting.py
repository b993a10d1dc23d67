"""Numbers as people read them: hours and days, per cent, thousands."""

from collections.abc import Iterable, Sequence
from typing import Self

MISSING = "-"
EXACT_ONE = "1 is exact; 1.000 is rounded."
"""What the reader of a `ratio` must know."""
_DURATIONS = ((172_800.0, "d", 86_400.0), (5_400.0, "h", 3_600.0), (120.0, "min", 60.0))
_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Number(str):
    """Text of a number with its value, by which a page sorts its tables."""

    __slots__ = ("value",)
    value: float

    def __new__(cls, text: str, value: float) -> Self:
        """Keep the value."""
        made = super().__new__(cls, text)
        made.value = value
        return made


def duration_unit(seconds: Iterable[float | None]) -> tuple[str, float]:
    """Return name and seconds of a unit: ``d`` from two days, ``h`` from 90 min, ``min`` from 2."""
    longest = max((value for value in seconds if value is not None), default=0.0)
    for least, name, length in _DURATIONS:
        if longest >= least:
            return name, length
    return "s", 1.0


def number(value: float | None, digits: int = 3) -> str:
    """Write so many significant digits, thousands apart, never as a power of ten."""
    if value is None or value != value:  # noqa: PLR0124 (nan)
        return MISSING
    if value == 0:
        return Number("0", 0.0)
    magnitude = int(f"{value:.{digits - 1}e}".split("e")[1])  # after rounding: 9.999 counts as 10
    return Number(f"{value:,.{max(digits - 1 - magnitude, 0)}f}", value)


def percent(fraction: float | None, digits: int = 1) -> str:
    """Write a fraction in per cent; "<" or ">" where it is too small for the digits."""
    if fraction is None or fraction != fraction:  # noqa: PLR0124 (nan)
        return MISSING
    if fraction == 0:
        return Number("0 %", 0.0)
    least = 10.0**-digits
    if abs(fraction) * 100 < least / 2:
        text = f"< {least:.{digits}f} %" if fraction > 0 else f"> -{least:.{digits}f} %"
        return Number(text, fraction)
    return Number(f"{fraction * 100:.{digits}f} %", fraction)


def change(ratio: float | None, digits: int = 1) -> str:
    """Write a ratio as the change in per cent."""
    if ratio is None or ratio != ratio:  # noqa: PLR0124 (nan)
        return MISSING
    if ratio == 1:
        return Number("±0 %", 1.0)
    text = f"{(ratio - 1) * 100:+.{digits}f} %"
    return Number(f"±{text[1:]}" if float(text[:-2]) == 0 else text, ratio)


def difference(ratio: float, less: str, more: str) -> str:
    """Say by how much a ratio differs from 1, with the words for below and above."""
    size = f"{abs(ratio - 1) * 100:,.1f}"
    word = more if ratio > 1 else less
    return f"less than 0.1 % {word}" if size == "0.0" else f"{size} % {word}"


def points(difference: float | None) -> str:
    """Write a difference of fractions in percentage points."""
    if difference is None:
        return MISSING
    return Number(f"{difference * 100:+.1f} points", difference)


def ratio(value: float | None) -> str:
    """
    Write a ratio with three decimals, and exactly 1 as 1.

    >>> ratio(1.0), ratio(1.0000001), ratio(1.04321)
    ('1', '1.000', '1.043')
    """
    if value is None or value != value:  # noqa: PLR0124 (nan)
        return MISSING
    return Number("1" if value == 1 else f"{value:.3f}", value)


def duration(seconds: float | None, digits: int = 3) -> str:
    """
    Write a duration in the unit that suits it; forecasts have two digits.

    >>> duration(42.0), duration(600.0), duration(7200.0), duration(172362.0), duration(33.6, 2)
    ('42.0 s', '10.0 min', '2.00 h', '47.9 h', '34 s')
    """
    if seconds is None or seconds != seconds:  # noqa: PLR0124 (nan)
        return MISSING
    unit, length = duration_unit([seconds])
    return Number(f"{number(seconds / length, digits)} {unit}", seconds)


def volume(nbytes: float) -> str:
    """Write an amount of data in powers of 1000."""
    for size, unit in _BYTES:
        if nbytes >= size:
            return Number(f"{number(nbytes / size)} {unit}", nbytes)
    return Number(f"{nbytes:.0f} B", nbytes)


def counted(count: int, what: str) -> str:
    """
    Write how many there are of something.

    >>> counted(1, "job"), counted(1200, "job"), counted(2, "switch")
    ('1 job', '1,200 jobs', '2 switches')
    """
    several = "es" if what.endswith("ch") else "s"
    return f"{count:,} {what}{several if count != 1 else ''}"


def counted_remark(count: int, what: str) -> str:
    """
    Write how often a remark holds; what it is about comes first, in the plural.

    >>> counted_remark(1, "jobs whose id is no plain number")
    '1 job whose id is no plain number'
    """
    word, _, rest = what.partition(" ")
    return (
        f"{counted(count, word.removesuffix('s'))} {rest}"
        if word.endswith("s")
        else f"{count:,} {what}"
    )


def listing(parts: Sequence[str]) -> str:
    """
    Join names as in a sentence.

    >>> listing(["ta"]), listing(["ta", "laas", "jigsaw"])
    ('ta', 'ta, laas and jigsaw')
    """
    return " and ".join([*([", ".join(parts[:-1])] if parts[:-1] else []), *parts[-1:]])
