"""Check the options of a pattern at the door: one clear error for each wrong value."""

from collections.abc import Iterable
from contextlib import suppress
from math import isfinite
from numbers import Integral, Real

from patterns.errors import PatternError

DEFAULT_NBYTES = 2.0**20
"""Bytes of a message where a pattern is not told: 1 MiB."""


def settle(pattern: object, **values: object) -> None:
    """
    Store checked values in a frozen dataclass, from its ``__post_init__``.

    Parameters
    ----------
    pattern : object
        The dataclass under construction.
    **values : object
        Checked value of each field.
    """
    for name, value in values.items():
        object.__setattr__(pattern, name, value)


def positive(name: str, value: object) -> float:
    """
    Return a positive finite number.

    Parameters
    ----------
    name : str
        Name of the option, for the error.
    value : object
        What came.

    Returns
    -------
    float
        The number.

    Raises
    ------
    PatternError
        If it is no number, or not positive and finite.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # a whole number beyond all floats
            number = float(value)
            if isfinite(number) and number > 0:
                return number
    raise PatternError(f"{name} must be a positive number, got {value!r}.")


def integer(name: str, value: object, low: int | None = None, high: int | None = None) -> int:
    """
    Return a whole number within bounds.

    Parameters
    ----------
    name : str
        Name of the option, for the error.
    value : object
        What came.
    low, high : int, optional
        Least and greatest allowed value; no bound when absent.

    Returns
    -------
    int
        The number.

    Raises
    ------
    PatternError
        If it is no whole number, or out of bounds.
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if (low is None or number >= low) and (high is None or number <= high):
            return number
    bounds = "" if low is None else f" from {low}" if high is None else f" in {low}..{high}"
    raise PatternError(f"{name} must be a whole number{bounds}, got {value!r}.")


def integers(name: str, value: object, low: int, high: int | None = None) -> tuple[int, ...]:
    """
    Return a non-empty tuple of whole numbers within bounds.

    Parameters
    ----------
    name : str
        Name of the option, for the error.
    value : object
        What came.
    low : int
        Least allowed value.
    high : int, optional
        Greatest allowed value; no bound when absent.

    Returns
    -------
    tuple of int
        The numbers.

    Raises
    ------
    PatternError
        If it is no list, empty, or an entry is no whole number within bounds.
    """
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise PatternError(f"{name} must be a list of whole numbers, got {value!r}.")
    numbers = tuple(integer(f"each entry of {name}", entry, low, high) for entry in value)
    if not numbers:
        raise PatternError(f"{name} must not be empty.")
    return numbers


def choice(name: str, value: object, choices: Iterable[str]) -> str:
    """
    Return one of the known words.

    Parameters
    ----------
    name : str
        Name of the option, for the error.
    value : object
        What came.
    choices : iterable of str
        The known words.

    Returns
    -------
    str
        The word.

    Raises
    ------
    PatternError
        If it is none of them.
    """
    known = tuple(choices)
    if isinstance(value, str) and value in known:
        return value
    raise PatternError(f"{name} must be one of {', '.join(known)}; got {value!r}.")


def flag(name: str, value: object) -> bool:
    """
    Return true or false.

    Parameters
    ----------
    name : str
        Name of the option, for the error.
    value : object
        What came.

    Returns
    -------
    bool
        The value.

    Raises
    ------
    PatternError
        If it is neither.
    """
    if isinstance(value, bool):
        return value
    raise PatternError(f"{name} must be true or false, got {value!r}.")
