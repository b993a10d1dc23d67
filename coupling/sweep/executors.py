"""Where cells of a sweep are computed: in processes of this machine, on Dask, in job arrays."""

import logging
import multiprocessing
import os
import resource
import shlex
import signal
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from coupling.errors import ExperimentError, ResultError
from coupling.inputs.files import write_whole
from coupling.runs.result_directory import claimed
from coupling.runs.workers import end_processes, quiet_copies, worker_context
from coupling.sweep.plan import CellRunner, Plan, cell_name, digest_of
from coupling.sweep.spec import Spec
from coupling.sweep.store import Store

_KEPT = "finished cells are kept; the same command goes on from there"
_PATIENCE_S = "30 s"
_FAILURES = 3  # workers that may die over one cell, before it is taken to be its fault
_KIB = 1024
_ONE_AT_A_TIME = Lock()  # threads of a Dask worker share a desk
Computed = Callable[[int], None]
"""Called with the place of a cell as it is finished."""


class _WorkerContext:
    """What a process needs to compute cells of one plan."""

    def __init__(self, folder: Path) -> None:
        self.plan, self.store, self.bench = Plan.load(folder), Store(folder), CellRunner()


@lru_cache(maxsize=1)
def _context_of(folder: str, digest: str) -> _WorkerContext:
    """Return the desk of a process; another plan is another desk."""
    del digest
    return _WorkerContext(Path(folder))


def compute(folder: str, digest: str, index: int) -> int:
    """Compute a cell and store it; `digest`: of the plan, by `digest_of`."""
    with _ONE_AT_A_TIME:
        _compute(_context_of(folder, digest), folder, index)
    return index


def _compute(desk: _WorkerContext, folder: str, index: int) -> None:
    """Compute a cell at a desk, and keep it."""
    cell, experiment = desk.plan.cells[index], desk.plan.experiment(index)
    found = desk.bench.inputs(experiment)
    if set(found.values()) != set(cell.inputs):
        changed = [path for path, own in sorted(found.items()) if own not in cell.inputs]
        raise ResultError(
            f"{', '.join(changed) or folder}: the input has changed since the sweep was planned."
        )
    if cell_name(experiment, found) != cell.name:
        raise ResultError(
            f"{folder}: another version of fabricsim planned the sweep, whose cells may have had "
            f"other defaults; plan it anew with fabricsim sweep {shlex.quote(str(folder))}."
        )
    began_s, cpu_s = time.monotonic(), time.process_time()
    try:
        result = desk.bench.run(replace(experiment, attribution=False))  # no table of it is kept
    except MemoryError:
        raise ExperimentError(
            f"{folder}: cell {cell.name} needs more memory than there is."
        ) from None
    cost = {
        "cpu_s": time.process_time() - cpu_s,
        "elapsed_s": time.monotonic() - began_s,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB,
        "scheduling_ms_per_job": result.cost["scheduling_ms_per_job"],
    }
    desk.store.add(cell, result, cost, jobs=desk.plan.spec.design.jobs)


def compute_here(folder: Path, pending: Sequence[int], computed: Computed) -> None:
    """Compute cells in this process."""
    digest = digest_of(folder)
    for index in pending:
        computed(compute(str(folder), digest, index))


def compute_in_processes(
    folder: Path, pending: Sequence[int], workers: int, computed: Computed
) -> None:
    """Compute cells in processes of this machine; `computed` is called after each."""
    with _process_pool(workers) as pool:
        try:
            _compute_with(pool, folder, pending, computed)
        except BrokenProcessPool as error:
            raise ResultError(
                f"{folder}: a worker process was killed (out of memory?); {_KEPT}."
            ) from error


def compute_on_dask(folder: Path, pending: Sequence[int], address: str, computed: Computed) -> None:
    """Compute cells on the workers of a Dask scheduler, which see the same files."""
    try:
        import distributed  # noqa: PLC0415 (optional)
    except ImportError:
        raise ExperimentError(
            "--dask: expected the package distributed, it is missing; "
            "install it with: pip install 'fabricsim[dask]'."
        ) from None
    _silence_libraries("distributed")
    connect: Callable[..., Any] = distributed.Client
    with ExitStack() as stack:
        try:
            client = connect(address, timeout=_PATIENCE_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise ResultError(
                f"--dask {address}: expected the address of a Dask scheduler that answers, "
                f"got: {str(error).splitlines()[0] or type(error).__name__}."
            ) from None
        stack.callback(client.close, timeout=1)
        pool = client.get_executor(pure=False, retries=_FAILURES)
        try:
            _compute_with(pool, folder, pending, computed)
        except (ResultError, ExperimentError):
            raise
        except distributed.KilledWorker as error:
            raise ResultError(
                f"--dask {address}: workers died over one cell (out of memory?); {_KEPT}."
            ) from error
        except (OSError, RuntimeError, distributed.CancelledError) as error:
            raise ResultError(f"--dask {address}: the scheduler has gone; {_KEPT}.") from error


def _silence_libraries(library: str) -> None:
    """Silence what a library says at length and we in one line."""
    for name in [library, *logging.root.manager.loggerDict]:
        if name.split(".")[0] == library:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _compute_with(pool: Executor, folder: Path, pending: Sequence[int], computed: Computed) -> None:
    """Hand out cells, and report each that is finished; a failure ends the rest."""
    digest = digest_of(folder)
    futures: list[Future[int]] = [
        pool.submit(compute, str(folder), digest, index) for index in pending
    ]
    try:
        for future in as_completed(futures):
            computed(future.result())
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def _process_pool(workers: int) -> Generator[Executor]:
    """Keep a pool of processes, which end at once when this block is left by an error."""
    context = worker_context()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker)
    complete = False
    try:
        with quiet_copies():
            yield pool
        complete = True
    finally:
        pool.shutdown(wait=complete, cancel_futures=True)
        if not complete:
            end_processes(set(multiprocessing.active_children()) - others)


def _begin_worker() -> None:
    """Begin a worker: signals are for its parent, with which it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process, whatever it does, as soon as its parent has gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


SCRIPT = "array.sh"


def parse_task(text: str) -> tuple[int, int]:
    """
    Read which task of an array this is, from 1, and how many there are.

    >>> parse_task("3/40")
    (3, 40)
    """
    own, _, total = text.partition("/")
    fine = own.isascii() and total.isascii() and own.isdigit() and total.isdigit()
    if not fine or not 1 <= int(own) <= int(total):
        raise ExperimentError(
            f"--task: expected TASK/TASKS such as 3/40, from 1 on, got {text[:40]!r}."
        )
    return int(own), int(total)


def cells_of_task(n_cells: int, task: int, tasks: int) -> range:
    """Return the cells of a task, from 1: neighbours, which share inputs."""
    return range(n_cells * (task - 1) // tasks, n_cells * task // tasks)


def script(folder: Path, n_cells: int, tasks: int) -> str:
    """Write a script for Slurm, which says how PBS takes it."""
    place = shlex.quote(str(folder))
    return f"""#!/bin/sh
# {n_cells} cells in {tasks} tasks, each with one core. Hand it in again: finished cells are kept.
#   Slurm:  sbatch {SCRIPT}       PBS:  qsub -J 1-{tasks} {SCRIPT}
# When all tasks have ended:  fabricsim gather {place}
#SBATCH --job-name=fabricsim
#SBATCH --array=1-{tasks}
#SBATCH --cpus-per-task=1
task="${{SLURM_ARRAY_TASK_ID:-${{PBS_ARRAY_INDEX:-1}}}}"
exec fabricsim sweep {place} --task "$task/{tasks}"
"""


def write_array(plan: Plan, folder: Path, tasks: int | None) -> Path:
    """Write plan and script of an array. `tasks`: tasks; None: one for each cell."""
    count = len(plan.cells)
    tasks = count if tasks is None else tasks
    if tasks > count:
        raise ResultError(f"--tasks: expected at most one for each of {count} cells, got {tasks}.")
    path = folder / SCRIPT
    with claimed(folder):
        plan.save(folder)
        write_whole(path, script(folder.resolve(), count, tasks))
    return path


def spec_of(path: Path, changes: list[str]) -> Spec:
    """Read a sweep from an experiment file with ``[sweep]``, or from its directory."""
    if not path.is_dir():
        return Spec.read(path, changes)
    if changes:
        raise ExperimentError(f"--set {changes[0]}: {path} is planned; set it in the file.")
    return Plan.load(path).spec
