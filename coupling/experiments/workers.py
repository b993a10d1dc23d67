"""Run the variants of an experiment in several processes, and watch how far they are."""

import os
import pickle
import time
from collections.abc import Iterator, MutableSequence, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from tempfile import TemporaryDirectory
from typing import Any

from coupling.errors import ResultError
from coupling.experiments.assembly import Parts
from coupling.experiments.engine import Progress, phases, run_parts
from coupling.experiments.experiment import Experiment
from coupling.results.readable import listing
from coupling.results.result import Result
from netsim.wholefile import replace_file

_LOOK_S = 0.2
_PHASE = 2**40  # a place of the board holds phase * this + jobs ended, so that one write tells both
_IDLE = -1
_TASKS = "tasks.pickle"
Board = MutableSequence[int]
"""How far each variant is; shared memory without a lock, which a killed worker could hold."""


def run_in_workers(
    pending: Sequence[Experiment], parts: Parts, workers: int, progress: Progress | None
) -> Iterator[tuple[Experiment, Result]]:
    """
    Run variants of an experiment at the same time.

    Parameters
    ----------
    pending : sequence of Experiment
        What to run.
    parts : Parts
        Fabric and workload of all of them.
    workers : int
        Processes.
    progress : callable or None
        Called now and then for each variant that runs.

    Yields
    ------
    (Experiment, Result)
        Each variant as it finishes; results do not depend on the order.

    Raises
    ------
    ResultError
        If a worker was killed; those that had finished were yielded before.

    Notes
    -----
    Close the generator when it is not used to its end: that ends the workers.
    """
    context = get_context("spawn")  # a forked child would share numba's and pyarrow's threads
    board: Board = context.RawArray("q", [_IDLE] * len(pending))
    watch = _Watch(pending, len(parts.workload.jobs), board, progress)
    others = set(active_children())
    with TemporaryDirectory(prefix="fabricsim-") as desk:
        _dump((tuple(pending), parts), Path(desk) / _TASKS)
        pool = ProcessPoolExecutor(
            min(workers, len(pending)),
            mp_context=context,
            initializer=_join,
            initargs=(board, desk, os.getpid()),
        )
        complete = False
        try:
            futures = _submit(pool, len(pending))
            while futures:
                done, _ = wait(futures, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=_is_broken):
                    index = futures[future]
                    _raise(future, [pending[left].label for left in futures.values()])
                    del futures[future]
                    watch.finish(index)
                    yield pending[index], _load(_result_file(desk, index))
                watch.look()
            complete = True
        finally:
            pool.shutdown(wait=complete, cancel_futures=True)
            if not complete:
                _end(set(active_children()) - others)


def _submit(pool: ProcessPoolExecutor, n_tasks: int) -> dict[Future[None], int]:
    """Start the workers, deaf to Ctrl-C, which is for the parent alone, and hand out tasks."""
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})  # processes inherit it
    try:
        return {pool.submit(_work, index): index for index in range(n_tasks)}
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def _end(workers: set[BaseProcess]) -> None:
    """End workers and wait for them, so that nobody uses their files any more."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()


def _is_broken(future: Future[None]) -> bool:
    """Say whether a future failed with its pool, so that results come before the failure."""
    return isinstance(future.exception(), BrokenProcessPool)


def _raise(future: Future[None], unfinished: Sequence[str]) -> None:
    """Raise what went wrong in a worker, or with it."""
    try:
        future.result()
    except BrokenProcessPool as error:
        raise ResultError(
            f"a worker process was killed (out of memory?) before {listing(unfinished)} "
            "had ended; finished runs are kept, go on with --resume."
        ) from error


def _result_file(desk: str, index: int) -> Path:
    """Return where a worker leaves a result."""
    return Path(desk) / f"{index}.pickle"


def _dump(value: object, path: Path) -> None:
    """Write an object; pipes between processes carry small things only, see `_Worker`."""
    replace_file(path, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


def _load(path: Path) -> Any:  # noqa: ANN401 (what `_dump` wrote)
    """Read an object back."""
    return pickle.loads(path.read_bytes())  # noqa: S301 (written by this run, in its own folder)


class _Watch:
    """Tells a progress display what the board says."""

    def __init__(
        self, pending: Sequence[Experiment], total: int, board: Board, progress: Progress | None
    ) -> None:
        self._labels = [phases(variant) for variant in pending]
        self._total, self._board, self._progress = total, board, progress
        self._phase = [0] * len(pending)
        self._finished: set[int] = set()

    def look(self) -> None:
        """Tell how far each variant is."""
        for index in range(len(self._labels)):
            if index not in self._finished and (said := self._board[index]) != _IDLE:
                self._tell(index, *divmod(said, _PHASE))

    def finish(self, index: int) -> None:
        """Tell that a variant has ended."""
        self._tell(index, len(self._labels[index]) - 1, self._total)
        self._finished.add(index)

    def _tell(self, index: int, phase: int, done: int) -> None:
        """Tell the phases that ended since the last look, and the present one."""
        if self._progress is None:
            return
        labels = self._labels[index]
        for label in labels[self._phase[index] : phase]:
            self._progress(label, self._total, self._total)
        self._phase[index] = phase
        self._progress(labels[phase], done, self._total)


class _Worker:
    """
    What a worker process has been given.

    Workload and results travel in files: a parent that writes a pipe to a killed worker, or
    reads one that it had begun to write, would wait for ever.
    """

    board: Board
    desk: str
    parent: int


def _join(board: Board, desk: str, parent: int) -> None:
    """Begin a worker process."""
    _Worker.board, _Worker.desk, _Worker.parent = board, desk, parent


def _work(index: int) -> None:
    """Run a variant in a worker process."""
    pending, parts = _load(Path(_Worker.desk) / _TASKS)
    variant = pending[index]
    labels = phases(variant)
    next_s = 0.0

    def note(what: str, done: int, _total: int) -> None:
        """Write on the board; end where there is no parent left to read it."""
        nonlocal next_s
        now_s = time.monotonic()
        if now_s < next_s:
            return
        next_s = now_s + _LOOK_S / 2
        if os.getppid() != _Worker.parent:
            os._exit(1)
        _Worker.board[index] = labels.index(what) * _PHASE + done

    _dump(run_parts(variant, parts, note), _result_file(_Worker.desk, index))
