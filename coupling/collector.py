"""The garbage collector during a run: tables of jobs live long, and little is in cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 500_000  # that come to be between two looks; Python's own number is some hundred
_WITHIN: list[None] = []  # one for each run inside which this is


@contextmanager
def few_collections() -> Iterator[None]:
    """
    Look for garbage in cycles seldom, and never among what is there already.

    What nobody refers to goes at once all the same. Afterwards all is as before.
    """
    before = gc.get_threshold()
    frozen = bool(_WITHIN) or gc.get_freeze_count() > 0  # to count takes long where there are many
    _WITHIN.append(None)
    gc.freeze()
    gc.set_threshold(max(_OBJECTS, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        _WITHIN.pop()
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
