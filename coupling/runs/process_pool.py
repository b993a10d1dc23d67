"""How worker processes begin: as copies of this one where that is safe, else from nothing."""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, SIGTERM, pthread_sigmask
from time import sleep
from typing import Any, TypeVar

Answer = TypeVar("Answer")
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


def spread(work: Callable[[int], Answer], count: int, workers: int) -> list[Answer]:
    """Return work(0) ... work(count - 1), by this process and copies where there can be any."""
    workers, context = min(workers, count), worker_context()
    if workers > 1 and isinstance(context, ForkContext):
        try:
            return _spread_work(work, count, workers, context)
        except BrokenProcessPool:
            pass
    return [work(number) for number in range(count)]


def _spread_work(
    work: Callable[[int], Answer], count: int, workers: int, context: ForkContext
) -> list[Answer]:
    """Do every so-manieth piece here, the others in copies; end these if anything goes wrong."""
    others, complete = set(active_children()), False
    _Copied.work = work
    pool = ProcessPoolExecutor(workers - 1, mp_context=context)
    try:
        before = pthread_sigmask(SIG_BLOCK, {SIGINT, SIGTERM})  # signals are for this process
        try:
            with quiet_copies():
                there = {n: pool.submit(_work_piece, n) for n in range(count) if n % workers}
        finally:
            pthread_sigmask(SIG_SETMASK, before)
        here = {n: work(n) for n in range(0, count, workers)}
        answers = [here[n] if n in here else there[n].result() for n in range(count)]
        complete = True
    finally:
        pool.shutdown(wait=complete, cancel_futures=True)
        if not complete:
            end_processes(set(active_children()) - others)
    return answers


class _Copied:
    """What a copy has been given: it has all that this process had."""

    work: Callable[[int], Any]


def _work_piece(number: int) -> Any:  # noqa: ANN401 (what the work comes to)
    """Do a piece of the work in a copy."""
    return _Copied.work(number)


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
