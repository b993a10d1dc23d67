"""How worker processes begin: as copies of this one where that is safe, else from nothing."""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from time import sleep

_PATIENCE = 1000  # looks at a process that has ended


def worker_context() -> ForkContext | SpawnContext:
    """
    Return how workers begin.

    A copy has loaded already what this process has, which takes a second of CPU time from nothing.
    It has none of its threads, so that a lock that one of them held would stay shut: there are
    copies only on Linux, from a process whose only thread of Python's asks for them. Threads of
    OpenBLAS and of Arrow's allocators are no obstacle: these provide for copies.
    """
    alone = threading.active_count() == 1 and threading.current_thread() is threading.main_thread()
    return get_context("fork") if sys.platform == "linux" and alone else get_context("spawn")


def end_processes(workers: set[BaseProcess]) -> None:
    """End workers and wait for them, so that their files are free."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join()
        for _ in range(_PATIENCE):  # a thread of the pool may have its status and not noted it yet
            if not worker.is_alive():
                break
            sleep(0.001)


@contextmanager
def quiet_copies() -> Iterator[None]:
    """Start workers without the warning of Python 3.12 about any thread, whosever it is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
        yield
