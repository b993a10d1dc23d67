"""Checks of one value."""

from collections.abc import Collection, Iterable, Mapping
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
    """
    Return a text in one line, cut where it is long.

    Parameters
    ----------
    words : str
        Such as the name of a fabric.
    most : int, default 50
        Letters at most.

    Returns
    -------
    str
        For the `repr` of what bears the name.
    """
    line = " ".join(words.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def brief(value: object) -> str:
    """
    Write a value for an error message: on one line, and not all of a long one.

    Parameters
    ----------
    value : object
        What came.

    Returns
    -------
    str
        Its representation, cut where it is long.
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 3]}..."


def meant(name: object, choices: Iterable[str]) -> str:
    """
    Name the choice that a wrong name is closest to, as errors append it.

    Parameters
    ----------
    name : object
        What came.
    choices : iterable of str
        The known names.

    Returns
    -------
    str
        `` (did you mean 'all-to-all'?)``; empty where none is close.

    Examples
    --------
    >>> meant("alltoall", ["all-to-all", "ring"])
    " (did you mean 'all-to-all'?)"
    """
    if not isinstance(name, str):
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 (for errors alone)

    bare: dict[str, str] = {}
    for choice_ in choices:
        bare.setdefault(_bare(choice_), choice_)
    close = get_close_matches(_bare(name), bare, n=1, cutoff=0.7)
    close = close or [own for own in bare if _bare(name) and own.startswith(_bare(name))]
    return f" (did you mean {bare[close[0]]!r}?)" if close else ""


def unknown(kind: str, name: object, choices: Collection[str]) -> str:
    """
    Write the sentence about a name that is not known.

    Parameters
    ----------
    kind : str
        What it would be the name of.
    name : object
        What came.
    choices : collection of str
        The known names, in the order in which they are listed.

    Returns
    -------
    str
        Such as ``unknown queue 'eazy' (did you mean 'easy'?); choose from easy, fcfs``.
    """
    return f"unknown {kind} {brief(name)}{meant(name, choices)}; choose from {', '.join(choices)}."


def _bare(name: str) -> str:
    """Return the letters and digits of a name, which people write with other dashes."""
    return "".join(letter for letter in name[:100].lower() if letter.isalnum())


def plain(value: Any, place: str, error: type[ValueError]) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """
    Turn what stands for lists, texts and numbers in Python into those that a file can hold.

    Parameters
    ----------
    value : any
        A table, or what stands in one.
    place : str
        Where it stands.
    error : type of ValueError
        Kind of the error.

    Returns
    -------
    any
        Lists for arrays, tuples and ranges, texts for paths, Python's numbers for numpy's, at any
        depth; anything else as it is.

    Raises
    ------
    ValueError
        Of that kind, if lists and tables are deeper inside each other than a file may hold them.
    """
    try:
        return _plain(value, 0)
    except RecursionError:
        raise too_deep(place, error) from None


def too_deep(place: str, error: type[ValueError]) -> ValueError:
    """Make the error for lists and tables inside each other without end."""
    return error(
        f"{place}: expected values at most {MOST_DEPTH} levels inside each other, got more."
    )


def _plain(value: Any, depth: int) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Turn a value at some depth into what a file can hold."""
    if depth > MOST_DEPTH:
        raise RecursionError
    if isinstance(value, Mapping):
        return {key: _plain(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [_plain(entry, depth + 1) for entry in value]
    return str(value) if isinstance(value, PurePath) else value


def wrong(place: str, expected: str, value: object, error: type[ValueError]) -> ValueError:
    """
    Make the error for a value.

    Parameters
    ----------
    place : str
        Where it stands: file, table and field, or the name of an argument.
    expected : str
        What it should be.
    value : object
        What came.
    error : type of ValueError
        Kind of the error.

    Returns
    -------
    ValueError
        Of that kind, to be raised by the caller.
    """
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
    """
    Return a whole number.

    Parameters
    ----------
    place : str
        Where it stands, for the error.
    value : object
        What came; numpy's whole numbers are some, true and false are none.
    least, most : int, optional
        Smallest and largest value allowed.
    error : type of ValueError
        Raised for anything else, and for numbers that 64 bits do not hold.

    Returns
    -------
    int
        The number.
    """
    # plain ones are found at once, those of an abstract class are not
    if type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool)):
        found = int(value)
        if (least is None or least <= found) and (most is None or found <= most):
            if -MOST_WHOLE <= found < MOST_WHOLE:
                return found
            raise wrong(place, WHOLE, value, error)
    raise wrong(place, f"a whole number{_limits(least, most)}", value, error)


def number(
    place: str,
    value: object,
    least: float | None = None,
    most: float | None = None,
    *,
    positive: bool = False,
    error: type[ValueError],
) -> float:
    """
    Return a finite number.

    Parameters
    ----------
    place : str
        Where it stands, for the error.
    value : object
        What came.
    least, most : float, optional
        Smallest and largest value allowed.
    positive : bool, default False
        Whether it must be above 0.
    error : type of ValueError
        Raised for anything else.

    Returns
    -------
    float
        The number.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # a whole number beyond all floats
            found = float(value)
            fits = (-inf if least is None else least) <= found <= (inf if most is None else most)
            if isfinite(found) and fits and (found > 0 or not positive):
                return found
    kind = "a positive number" if positive else "a number"
    raise wrong(place, f"{kind}{_limits(least, most)}", value, error)


def _limits(least: float | None, most: float | None) -> str:
    """Write the limits of a number; whole ones with all their digits."""
    low, high = (
        f"{end}" if isinstance(end, int) else f"{end:g}" for end in (least or 0, most or 0)
    )
    if most is None:
        return "" if least is None else f" from {low}"
    return f" up to {high}" if least is None else f" from {low} to {high}"


def flag(place: str, value: object, *, error: type[ValueError]) -> bool:
    """
    Return true or false.

    Parameters
    ----------
    place : str
        Where it stands, for the error.
    value : object
        What came; numbers are neither.
    error : type of ValueError
        Raised for anything else.

    Returns
    -------
    bool
        The value.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise wrong(place, "true or false", value, error)


def text(place: str, value: object, *, error: type[ValueError]) -> str:
    """
    Return a text.

    Parameters
    ----------
    place : str
        Where it stands, for the error.
    value : object
        What came.
    error : type of ValueError
        Raised for anything else.

    Returns
    -------
    str
        The text.
    """
    if isinstance(value, str):
        return value
    raise wrong(place, "a text", value, error)


def choice(place: str, value: object, choices: Collection[str], *, error: type[ValueError]) -> str:
    """
    Return one of several words.

    Parameters
    ----------
    place : str
        Where it stands, for the error.
    value : object
        What came.
    choices : collection of str
        The words.
    error : type of ValueError
        Raised for anything else.

    Returns
    -------
    str
        The word.
    """
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
    """
    Return a list of whole numbers that is not empty.

    Parameters
    ----------
    place : str
        Where it stands, for the error.
    value : object
        What came.
    least, most : int, optional
        Smallest and largest value allowed.
    error : type of ValueError
        Raised for anything else.

    Returns
    -------
    tuple of int
        The numbers.
    """
    expected = f"a list of whole numbers{_limits(least, most)}"
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
    """
    Return a path.

    Parameters
    ----------
    place : str
        Where it stands, for the error.
    value : object
        A text or a path.
    error : type of ValueError
        Raised for anything else.

    Returns
    -------
    Path
        The path.
    """
    if isinstance(value, (str, PathLike)):
        return Path(value)
    raise wrong(place, "a path", value, error)
