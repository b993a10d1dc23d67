"""A sweep as a job array: plain processes that share nothing but a directory."""

import shlex
from pathlib import Path

from coupling.errors import ExperimentError, ResultError
from coupling.inputs.files import write_whole
from coupling.runs.result_directory import claimed
from coupling.sweep.plan import Plan
from coupling.sweep.spec import Spec

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
