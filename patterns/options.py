"""Check the options of a pattern at the door: one clear error for each wrong value."""

from functools import partial

from fabricsim import checking
from fabricsim.checking.units import SIZE, quantity
from patterns.errors import PatternError

DEFAULT_NBYTES = 2.0**20
"""Bytes of a message where a pattern does not state them: 1 MiB."""

LEAST_BYTES, MOST_BYTES = 1e-3, 1e18
"""Of a message; beyond, sums of bytes and times leave the range of numbers."""


def settle(pattern: object, **values: object) -> None:
    """Store checked values in a frozen dataclass, from its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(pattern, name, value)


def size(name: str, value: object) -> float:
    """Return the bytes of a number, or of a text such as ``"1 MiB"``."""
    nbytes = quantity(value, SIZE, PatternError, name)
    if not nbytes:
        raise checking.wrong(name, f"{SIZE.expected}, above 0", value, PatternError)
    if not LEAST_BYTES <= nbytes <= MOST_BYTES:
        expected = f"{SIZE.expected}, from {LEAST_BYTES:g} to {MOST_BYTES:g} bytes"
        raise checking.wrong(name, expected, value, PatternError)
    return nbytes


positive = partial(checking.number, positive=True, error=PatternError)
integer = partial(checking.whole, error=PatternError)
integers = partial(checking.wholes, error=PatternError)
choice = partial(checking.choice, error=PatternError)
flag = partial(checking.flag, error=PatternError)
