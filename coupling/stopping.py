"""A long run: ended by signals where compiled code allows it, with few garbage collections."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from coupling.errors import CouplingError, Stopped

Progress = Callable[[str, int, int], None]
SIGNALLED = 128  # plus the number of the signal: what shells report


class _Shield:
    """How many blocks hold signals back, and which signal waits for their end."""

    depth = 0
    signum = 0


def stop(signum: int, _frame: FrameType | None) -> None:
    """Let what is being done clean up after itself: a handler of signals."""
    if not _Shield.depth:
        raise Stopped(signum)
    if _Shield.signum:  # asked for twice
        os._exit(SIGNALLED + signum)
    _Shield.signum = signum


def require_callable(progress: object) -> None:
    """Refuse a progress that cannot be called, before anything is computed."""
    if progress is not None and not callable(progress):
        from fabricsim.checking import wrong  # noqa: PLC0415 (loads numpy; --help is instant)

        raise wrong("progress", "what can be called, or None", progress, CouplingError)


@contextmanager
def shielded(progress: Progress | None) -> Iterator[Progress]:
    """Hold signals back but while progress is reported."""
    # Compiled code calls the interpreter here and there and does not look for exceptions: one that
    # a signal raises there is a SystemError, or the end of the process.

    def report(what: str, done: int, total: int) -> None:
        if _Shield.signum:
            _raise_pending()
        if progress is not None:
            progress(what, done, total)

    _Shield.depth += 1
    try:
        yield report
    finally:
        _Shield.depth -= 1
    if _Shield.signum:
        _raise_pending()


def _raise_pending() -> NoReturn:
    """Raise what waits."""
    signum, _Shield.signum = _Shield.signum, 0
    raise Stopped(signum)


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
