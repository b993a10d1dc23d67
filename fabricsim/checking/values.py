"""Checks of one value."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf, isfinite
from numbers import Integral, Real
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

import numpy as np

_BRIEF = 80  # characters of a wrong value that an error shows
MOST_WHOLE = 2**63
"""Whole numbers are below; those below 0 are not below its negative."""
WHOLE = "a whole number of 64 bits"
MOST_DEPTH = 50
"""Tables and lists inside each other."""
MISSING = object()
"""Stands for a value that did not come at all."""


def shortened(words: str, most: int = 50) -> str:
    """Return a text in one line, cut where it is long."""
    line = " ".join(words.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def first_names(names: Sequence[str], most: int) -> str:
    """Join the first names, and count the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def brief(value: object) -> str:
    """Write a value for an error message: on one line, and not all of a long one."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 3]}..."


def meant(name: object, choices: Iterable[str]) -> str:
    """
    Return the question after the choice that a wrong name is closest to; or empty.

    >>> meant("alltoall", ["all-to-all", "ring"])
    " (did you mean 'all-to-all'?)"
    """
    if not isinstance(name, str):
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 (for errors alone)

    bare: dict[str, str] = {}
    for choice_ in choices:
        bare.setdefault(_bare_name(choice_), choice_)
    close = get_close_matches(_bare_name(name), bare, n=1, cutoff=0.7)
    close = close or [own for own in bare if _bare_name(name) and own.startswith(_bare_name(name))]
    return f" (did you mean {bare[close[0]]!r}?)" if close else ""


def unknown(kind: str, name: object, choices: Collection[str]) -> str:
    """Write the sentence about an unknown name, with the closest one and all choices."""
    return f"unknown {kind} {brief(name)}{meant(name, choices)}; choose from {', '.join(choices)}."


def _bare_name(name: str) -> str:
    """Return the letters and digits of a name, which people write with other dashes."""
    return "".join(letter for letter in name[:100].lower() if letter.isalnum())


def plain(value: Any, place: str, error: type[ValueError]) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Turn arrays, tuples, ranges, paths and numpy's numbers into what a file can hold."""
    try:
        return _plain_item(value, 0)
    except RecursionError:
        raise too_deep(place, error) from None


def too_deep(place: str, error: type[ValueError]) -> ValueError:
    """Make the error for lists and tables inside each other without end."""
    return error(
        f"{place}: expected values at most {MOST_DEPTH} levels inside each other, got more."
    )


def _plain_item(value: Any, depth: int) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Turn a value at some depth into what a file can hold."""
    if depth > MOST_DEPTH:
        raise RecursionError
    if isinstance(value, Mapping):
        return {key: _plain_item(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [_plain_item(entry, depth + 1) for entry in value]
    return str(value) if isinstance(value, PurePath) else value


def wrong(place: str, expected: str, value: object, error: type[ValueError]) -> ValueError:
    """Make the error for a value at a place."""
    got = "it is missing" if value is MISSING else f"got {brief(value)}"
    return error(f"{place}: expected {expected}, {got}.")


def whole(
    place: str,
    value: object,
    least: int | None = None,
    most: int | None = None,
    *,
    error: type[ValueError],
) -> int:
    """Return a whole number of 64 bits; true and false are none."""
    # plain ones are found at once, those of an abstract class are not
    if type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool)):
        found = int(value)
        if (least is None or least <= found) and (most is None or found <= most):
            if -MOST_WHOLE <= found < MOST_WHOLE:
                return found
            raise wrong(place, WHOLE, value, error)
    raise wrong(place, f"a whole number{_limit_text(least, most)}", value, error)


def number(
    place: str,
    value: object,
    least: float | None = None,
    most: float | None = None,
    *,
    positive: bool = False,
    error: type[ValueError],
) -> float:
    """Return a finite number."""
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # a whole number beyond all floats
            found = float(value)
            fits = (-inf if least is None else least) <= found <= (inf if most is None else most)
            if isfinite(found) and fits and (found > 0 or not positive):
                return found
    kind = "a positive number" if positive else "a number"
    raise wrong(place, f"{kind}{_limit_text(least, most)}", value, error)


def _limit_text(least: float | None, most: float | None) -> str:
    """Write the limits of a number; whole ones with all their digits."""
    low, high = (
        f"{end}" if isinstance(end, int) else f"{end:g}" for end in (least or 0, most or 0)
    )
    if most is None:
        return "" if least is None else f" from {low}"
    return f" up to {high}" if least is None else f" from {low} to {high}"


def flag(place: str, value: object, *, error: type[ValueError]) -> bool:
    """Return true or false; numbers are neither."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise wrong(place, "true or false", value, error)


def text(place: str, value: object, *, error: type[ValueError]) -> str:
    """Return a text."""
    if isinstance(value, str):
        return value
    raise wrong(place, "a text", value, error)


def choice(place: str, value: object, choices: Collection[str], *, error: type[ValueError]) -> str:
    """Return one of several words."""
    if isinstance(value, str) and value in choices:
        return value
    close = meant(value, choices)
    if not close:
        raise wrong(place, f"one of {', '.join(choices)}", value, error)
    raise error(f"{place}: expected one of {', '.join(choices)}, got {brief(value)}{close}.")


def wholes(
    place: str,
    value: object,
    least: int | None = None,
    most: int | None = None,
    *,
    error: type[ValueError],
) -> tuple[int, ...]:
    """Return a list of whole numbers that is not empty."""
    expected = f"a list of whole numbers{_limit_text(least, most)}"
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise wrong(place, expected, value, error)
    entries = tuple(value)
    try:
        found = tuple(whole(place, entry, least, most, error=error) for entry in entries)
    except error:
        raise wrong(place, expected, value, error) from None
    if not found:
        raise wrong(place, expected, value, error)
    return found


def path_of(place: str, value: object, *, error: type[ValueError]) -> Path:
    """Return a path, given as text or `Path`."""
    if isinstance(value, (str, PathLike)):
        return Path(value)
    raise wrong(place, "a path", value, error)
