"""The commands `sweep` and `gather`: parameter sweeps, here or as a job array."""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupling.cli import options as of
from coupling.cli.outputs import RESULTS, print_json, print_parts
from coupling.errors import ExperimentError, ResultError, Stopped
from coupling.terminal_text import remark
from fabricsim.checking.outputs import PLAN

if TYPE_CHECKING:
    import pandas as pd

    from coupling.report.terminal import ProgressDisplay
    from coupling.sweep.cost import CellTimes
    from coupling.sweep.spec import Spec
    from coupling.sweep.sweep import Comparison, Sweep

_REPORT_EVERY_S = 30.0


def sweep(
    experiment: Annotated[
        Path, typer.Argument(help="Experiment file with a table \\[sweep], or a sweep's directory.")
    ],
    changes: of.Changes = None,
    out: Annotated[Path | None, typer.Option(help="Directory; default results/NAME.")] = None,
    workers: of.Workers = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, e.g. tcp://host:8786.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Only write cells and a job-array script, here.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="Tasks of the array; default: one per cell.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Compute the cells of one task of an array, e.g. 3/40.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all cells and estimate time and disk.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="No effect: finished cells are always kept.")
    ] = False,
    as_json: of.AsJson = False,
) -> None:
    """
    Parameter sweep: paired differences with intervals.

    Example:

      fabricsim sweep examples/sweep.toml --workers 2
    """
    del resume
    from coupling.report.terminal import ProgressDisplay
    from coupling.sweep.cost import CellTimes
    from coupling.sweep.executors import spec_of
    from coupling.sweep.sweep import run_sweep

    _refuse_together({"--task": task, "--plan": plan, "--dask": dask, "--dry-run": dry_run or None})
    if tasks is not None and plan is None:
        raise ExperimentError("sweep: expected --plan DIR beside --tasks, it is missing.")
    _refuse_together({"--plan": plan, "--out": out})
    if task is not None:
        _run_task(experiment, task, as_json=as_json)
        return
    spec = spec_of(experiment, list(changes or ()))
    planned = experiment if experiment.is_dir() else None
    folder = plan or out or planned or RESULTS / spec.name
    with ProgressDisplay(unit="cells") as display:
        progress = SweepProgress(display, CellTimes.of([spec]))
        if dry_run:
            _estimate_cost(spec, folder, progress, as_json=as_json)
            return
        if plan is not None:
            _write_array(spec, folder, tasks, progress, as_json=as_json)
            return
        try:
            found = run_sweep(spec, folder, workers=workers, dask=dask, progress=progress)
        except Stopped as stop:
            stop.add_note("finished cells are kept; the same command goes on from there")
            raise
    _show_results(found, folder, as_json=as_json)


def gather(
    folder: Annotated[Path, typer.Argument(help="Directory of the sweep.")],
    as_json: of.AsJson = False,
) -> None:
    """
    Collect the cells of a sweep that ran as a job array.

    Example:

      fabricsim gather results/sweep
    """
    from coupling.sweep import sweep as sweeping
    from coupling.sweep.plan import Plan

    _show_results(sweeping.gather(Plan.load(folder), folder), folder, as_json=as_json)


class SweepProgress:
    """Reports how far a sweep is: a bar with the time left, or a line now and then."""

    def __init__(self, display: ProgressDisplay, cell_times: CellTimes) -> None:
        self._display = display
        self._times = cell_times
        self._began: tuple[float, int] | None = None
        self._last: tuple[float, int] | None = None
        self._next_s = time.monotonic() + _REPORT_EVERY_S

    def __call__(self, what: str, done: int, total: int) -> None:
        """Take note of how many cells are done."""
        from coupling.results.formatting import counted, duration

        now_s = time.monotonic()
        if what == "computed":
            self._note_cell(now_s, done)
        if self._display.live:
            self._display(
                f"cells {what}", done, total, self._time_left(done) if done < total else ""
            )
            return
        if what != "computed":
            return
        self._began = self._began or (now_s, done)
        began_s, before = self._began
        if done > before and (done == total or now_s >= self._next_s):
            self._next_s = now_s + _REPORT_EVERY_S
            left = self._time_left(done) if done < total else ""
            left = f", {left}" if left else ""
            remark(f"{done:,} of {counted(total, 'cell')} in {duration(now_s - began_s, 2)}{left}")

    def _note_cell(self, now_s: float, done: int) -> None:
        """Note how long the last cell took; several at once were there before."""
        if self._last is not None and done == self._last[1] + 1:
            self._times.add(done - 1, now_s - self._last[0])
        self._last = (now_s, done)

    def _time_left(self, done: int) -> str:
        """Return how long the rest takes."""
        from coupling.results.formatting import duration

        left_s = self._times.left_s(done)
        return "" if left_s is None else f"about {duration(left_s, 2)} left"


def _refuse_together(options: dict[str, object]) -> None:
    """Refuse options that exclude each other."""
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise ExperimentError(f"sweep: expected one of {' and '.join(given)}, got both.")


def _estimate_cost(spec: Spec, folder: Path, progress: SweepProgress, *, as_json: bool) -> None:
    """Print what a sweep will cost."""
    from coupling.results.formatting import counted, duration, volume
    from coupling.sweep.cost import estimate
    from coupling.sweep.plan import make_plan
    from fabricsim.checking.documents import json_fields

    plan = make_plan(spec, lambda done, total: progress("checked", done, total))
    found = estimate(plan, folder)
    if as_json:
        print_json(json_fields(found))
        return
    basis = (
        f"from {counted(found.measured_cells, 'finished cell')}"
        if found.measured_cells
        else "from the first 200 jobs of each policy, which may be a few times off"
    )
    sys.stdout.write(
        f"{counted(found.cells, 'cell')}, {found.finished:,} finished; the others need about "
        f"{duration(found.cpu_s, 2)} of CPU time and {volume(found.disk_bytes)} of disk, {basis}.\n"
    )


def _write_array(
    spec: Spec, folder: Path, tasks: int | None, progress: SweepProgress, *, as_json: bool
) -> None:
    """Write the cells and the script of a job array."""
    from coupling.results.formatting import counted
    from coupling.sweep.executors import write_array
    from coupling.sweep.plan import make_plan
    from coupling.sweep.sweep import check_folder

    check_folder(folder)
    plan = make_plan(spec, lambda done, total: progress("checked", done, total))
    path = write_array(plan, folder, tasks)
    remark(f"{counted(len(plan.cells), 'cell')} are planned; hand in {path}")
    if as_json:
        print_json({"cells": len(plan.cells), "script": str(path)})


def _run_task(folder: Path, text: str, *, as_json: bool) -> None:
    """Compute the cells of one task of an array; the other tasks write files of their own."""
    from coupling.results.formatting import counted
    from coupling.sweep.cost import missing
    from coupling.sweep.executors import cells_of_task, parse_task
    from coupling.sweep.plan import Plan
    from coupling.sweep.sweep import compute_cells

    task, tasks = parse_task(text)
    plan = Plan.load(folder)
    pending = missing(plan, folder, cells_of_task(len(plan.cells), task, tasks))
    compute_cells(plan, folder, pending)
    remark(f"task {text}: {counted(len(pending), 'cell')} computed in {folder}")
    if as_json:
        print_json({"task": text, "computed": len(pending)})


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a finished sweep."""

    baseline: str | None = None
    metrics: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    over: str | None = None
    heat: str | None = None

    def refuse_for_runs(self) -> None:
        """Refuse what can be asked of sweeps alone."""
        asked = {
            "--metric": self.metrics,
            "--by": self.by,
            "--over": self.over,
            "--heat": self.heat,
        }
        for name, value in asked.items():
            if value:
                raise ResultError(f"{name}: expected one directory of a sweep beside it.")

    def answer(self, sweep: Sweep) -> Comparison:
        """Compare the policies of a sweep."""
        from coupling.sweep.comparison import compare_policies
        from coupling.sweep.sweep import METRICS

        return compare_policies(
            sweep,
            baseline=self.baseline,
            metrics=self.metrics or METRICS,
            by=self.by,
            over=self.over or "seeds",
        )

    def axes(self, sweep: Sweep) -> tuple[str, str] | None:
        """Return the factors of the map."""
        from coupling.sweep.comparison import POLICY

        if self.heat is None:
            return None
        known = [*sweep.plan.spec.design.factors, POLICY]
        names = [name.strip() for name in self.heat.split(",")]
        if len(set(names)) != 2 or len(names) != 2 or not set(names) <= set(known):  # noqa: PLR2004
            raise ResultError(
                f"--heat: expected two of {', '.join(known)}, with a comma between them, "
                f"got {self.heat!r}."
            )
        return names[0], names[1]


def is_sweep(folder: Path) -> bool:
    """Return whether a directory is that of a sweep."""
    return (folder / PLAN).is_file()


def _show_results(sweep: Sweep, folder: Path, *, as_json: bool) -> None:
    """Print what a finished sweep found, and write its page where there is something to compare."""
    from coupling.report.sweep import write_sweep_page
    from coupling.sweep.comparison import compare_policies

    try:
        found = compare_policies(sweep)
    except ResultError:  # nothing to compare: the cells are what was wanted
        if as_json:
            print_json({"cells": _json_records(sweep.cells)})
        else:
            sys.stdout.write(f"{sweep!r}\n")
    else:
        write_sweep_page(sweep, found, folder)
        print_comparison(found, as_json=as_json)
    remark(f"Results are in {folder}")


def print_comparison(found: Comparison, *, as_json: bool) -> None:
    """Print a comparison of policies."""
    from coupling.report.sweep import sweep_answer

    if not as_json:
        print_parts(*sweep_answer(found).parts())
        return
    tables = {
        "differences": found.differences,
        "ranks": found.ranks,
        "variance": found.variance,
        "samples": found.pairs,
    }
    document = {name: _json_records(table) for name, table in tables.items()}
    unlike = {"unlike": found.unlike} if found.unlike else {}
    print_json({"baseline": found.baseline, "over": found.over, **unlike, **document})


def _json_records(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return a table for programs; null for what is not known."""
    return table.astype(object).where(table.notna(), None).to_dict("records")
