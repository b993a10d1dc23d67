"""Run the variants of an experiment in several processes, and watch how far they are."""

import atexit
import gc
import os
import pickle
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, SIGTERM, pthread_sigmask
from threading import Thread
from time import sleep

from coupling.errors import ExperimentError, ResultError
from coupling.inputs.experiment import Experiment
from coupling.results.formatting import listing
from coupling.results.manifest import write_file
from coupling.results.result import Result
from coupling.runs.assembly import RunParts
from coupling.runs.engine import Progress, phases, run_parts
from coupling.stopping import shielded
from netsim.common.atomic_write import temporary_name

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


_LOOK_S = 0.2
_PHASE = 2**40  # a place of the board holds phase * this + jobs ended, so that one write tells both
_IDLE = -1
_TASKS = "tasks.pickle"
_UNSENDABLE = (
    "an object of the experiment cannot be sent to workers ({}); define its class at the top level "
    "of a file, or use 1 worker."
)
Board = MutableSequence[int]
"""How far each variant is; shared memory without a lock, which a killed worker could hold."""
Kept = tuple[str, dict[str, str]]
"""Name of the folder that a result was written into, and the hashes of its files."""
Keep = Callable[[Experiment, Result], Kept]


def require_sendable(experiment: Experiment) -> None:
    """Refuse an experiment that other processes cannot be given."""
    _pickle_bytes(experiment)
    made = type(experiment.topology)
    if made.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
        raise ExperimentError(_UNSENDABLE.format(f"{made.__qualname__} was typed at a prompt"))


def _pickle_bytes(tasks: object) -> bytes:
    """Return what is sent to workers as bytes."""
    try:
        return pickle.dumps(tasks, pickle.HIGHEST_PROTOCOL)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ExperimentError(_UNSENDABLE.format(" ".join(str(error).split()))) from None


def run_in_workers(
    pending: Sequence[Experiment],
    parts: RunParts,
    workers: int,
    keep: Keep,
    *,
    folder: Path,
    progress: Progress | None,
) -> Iterator[tuple[Experiment, Kept]]:
    """
    Run variants of an experiment at the same time.

    Yields (Experiment, Kept): each variant as it finishes, and what `keep` returned; the order is
    by chance.

    Close the generator when it is not used to its end: that ends the workers. They end by
    themselves when this process is killed.
    """
    context = worker_context()
    board: Board = context.RawArray("q", [_IDLE] * len(pending))
    watch = _Watch(pending, len(parts.workload.jobs), board, progress)
    others = set(active_children())
    desk = folder / temporary_name("tasks")
    pool = ProcessPoolExecutor(
        min(workers, len(pending)),
        mp_context=context,
        initializer=_join_worker,
        initargs=(board, desk),
    )
    complete = False
    try:
        desk.mkdir()
        tasks = _pickle_bytes((tuple(pending), parts, keep))
        write_file(desk / _TASKS, tasks)
        futures = _start_workers(pool, len(pending))
        while futures:
            done, _ = wait(futures, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=_is_broken):
                kept = _worker_outcome(future, [pending[left].label for left in futures.values()])
                index = futures.pop(future)
                watch.finish(index)
                yield pending[index], kept
            watch.look()
        complete = True
    finally:
        pool.shutdown(wait=complete, cancel_futures=True)
        if not complete:
            end_processes(set(active_children()) - others)
        shutil.rmtree(desk, ignore_errors=True)


def _start_workers(pool: ProcessPoolExecutor, n_tasks: int) -> dict[Future[Kept], int]:
    """Start the workers, deaf to what is for the parent alone, and hand out tasks."""
    before = pthread_sigmask(SIG_BLOCK, {SIGINT, SIGTERM})  # processes inherit it
    try:
        with (
            quiet_copies(),
            shielded(None),
        ):  # a worker that is left half-started complains; threads take signals
            return {pool.submit(_run_variant, index): index for index in range(n_tasks)}
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def _is_broken(future: Future[Kept]) -> bool:
    """Say whether a future failed with its pool, so that results come before the failure."""
    return isinstance(future.exception(), BrokenProcessPool)


def _worker_outcome(future: Future[Kept], unfinished: Sequence[str]) -> Kept:
    """Return what a worker has kept, or raise what went wrong in it or with it."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise ResultError(
            f"a worker process was killed (out of memory?) before {listing(unfinished)} "
            "had ended; finished runs are kept, go on with --resume."
        ) from error


class _Watch:
    """Reports what the board says."""

    def __init__(
        self, pending: Sequence[Experiment], total: int, board: Board, progress: Progress | None
    ) -> None:
        self._labels = [phases(variant) for variant in pending]
        self._total, self._board, self._progress = total, board, progress
        self._phase = [0] * len(pending)
        self._finished: set[int] = set()

    def look(self) -> None:
        """Report how far each variant is."""
        for index in range(len(self._labels)):
            if index not in self._finished and (said := self._board[index]) != _IDLE:
                self._report_phases(index, *divmod(said, _PHASE))

    def finish(self, index: int) -> None:
        """Report that a variant has ended."""
        self._report_phases(index, len(self._labels[index]) - 1, self._total)
        self._finished.add(index)

    def _report_phases(self, index: int, phase: int, done: int) -> None:
        """Report the phases that ended since the last look, and the present one."""
        if self._progress is None:
            return
        labels = self._labels[index]
        for label in labels[self._phase[index] : phase]:
            self._progress(label, self._total, self._total)
        self._phase[index] = phase
        self._progress(labels[phase], done, self._total)


class _Worker:
    """What a worker process has been given."""

    # Workload and results travel in files: a pipe to or from a killed worker would wait for ever.

    board: Board
    desk: Path


def _join_worker(board: Board, desk: Path) -> None:
    """Begin a worker process."""
    _Worker.board, _Worker.desk = board, desk
    atexit.register(gc.freeze)  # nothing is looked through for garbage at its end
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process, whatever it does, as soon as its parent has gone."""
    parent = parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _run_variant(index: int) -> Kept:
    """Run a variant in a worker process."""
    tasks = (_Worker.desk / _TASKS).read_bytes()
    try:  # what the parent wrote, for this run, into a folder of its own
        pending, parts, keep = pickle.loads(tasks)  # noqa: S301
    except (AttributeError, ImportError) as error:
        raise ExperimentError(_UNSENDABLE.format(error)) from None
    variant = pending[index]
    labels = phases(variant)
    next_s = 0.0

    def note(what: str, done: int, _total: int) -> None:
        """Write on the board."""
        nonlocal next_s
        now_s = time.monotonic()
        if now_s >= next_s:
            next_s = now_s + _LOOK_S / 2
            _Worker.board[index] = labels.index(what) * _PHASE + done

    kept: Kept = keep(variant, run_parts(variant, parts, note))
    return kept
