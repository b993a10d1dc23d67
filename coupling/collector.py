"""The garbage collector during a run: tables of jobs live long, and little is in cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 500_000  # that come to be between two looks; Python's own number is some hundred


@contextmanager
def few_collections() -> Iterator[None]:
    """
    Look for garbage in cycles seldom, and never among what is there already.

    What nobody refers to goes at once all the same. Afterwards all is as before.
    """
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(max(_OBJECTS, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
