"""The garbage collector during a run: tables of jobs live long, and little is in cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 500_000  # that are made between two collections; Python's own number is some hundred


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect garbage in cycles seldom inside the block."""
    before = gc.get_threshold()
    gc.set_threshold(max(_OBJECTS, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
