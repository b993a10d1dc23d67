"""What the commands `sweep` and `gather` do."""

import sys
import time
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from coupling.cli.do.estimate import print_json
from coupling.errors import ExperimentError, ResultError, Stopped
from coupling.inputs.files import write_whole
from coupling.report.columns import text_of
from coupling.report.sweep import sweep_page, sweep_parts, write_sweep_page
from coupling.report.terminal import ProgressDisplay
from coupling.results.formatting import counted, duration, volume
from coupling.sweep.array import cells_of_task, parse_task, spec_of, write_array
from coupling.sweep.comparison import POLICY, Comparison, compare_policies
from coupling.sweep.cost import CostEstimate, estimate, missing
from coupling.sweep.plan import Plan, make_plan
from coupling.sweep.remaining_time import CellTimes
from coupling.sweep.sweep import (
    METRICS,
    Sweep,
    check_folder,
    compute_cells,
    gather,
    run_sweep,
)
from coupling.terminal_text import remark, visible
from fabricsim.checking.outputs import PLAN

RESULTS = Path("results")
_TELL_S = 30.0


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked of the command `sweep`: its arguments, in their order."""

    experiment: Path
    changes: tuple[str, ...]
    out: Path | None
    workers: int
    dask: str | None
    plan: Path | None
    tasks: int | None
    task: str | None
    dry_run: bool
    as_json: bool


class Whole:
    """Tells how far a sweep is: a bar with the time left, or a line now and then."""

    def __init__(self, display: ProgressDisplay, job_rate: CellTimes | None = None) -> None:
        self._display = display
        self._rate = job_rate or CellTimes([])
        self._began: tuple[float, int] | None = None
        self._last: tuple[float, int] | None = None
        self._next_s = time.monotonic() + _TELL_S

    def __call__(self, what: str, done: int, total: int) -> None:
        """Take note of how many cells are done."""
        now_s = time.monotonic()
        if what == "computed":
            self._note(now_s, done)
        if self._display.live:
            self._display(f"cells {what}", done, total, self._left(done) if done < total else "")
            return
        if what != "computed":
            return
        self._began = self._began or (now_s, done)
        began_s, before = self._began
        if done > before and (done == total or now_s >= self._next_s):
            self._next_s = now_s + _TELL_S
            left = self._left(done) if done < total else ""
            left = f", {left}" if left else ""
            remark(f"{done:,} of {counted(total, 'cell')} in {duration(now_s - began_s)}{left}")

    def _note(self, now_s: float, done: int) -> None:
        """Note how long the last cell took; several at once were there before."""
        if self._last is not None and done == self._last[1] + 1:
            self._rate.add(done - 1, now_s - self._last[0])
        self._last = (now_s, done)

    def _left(self, done: int) -> str:
        """Say how long the rest takes."""
        left_s = self._rate.left_s(done)
        return "" if left_s is None else f"about {duration(left_s)} left"


def run(request: Request) -> None:
    """
    Plan, estimate or compute a sweep, as asked.

    Parameters
    ----------
    request : Request
        What was asked for.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If the input is wrong, or cells cannot be computed.
    """
    _refuse_together(request)
    if request.task is not None:
        _run_task(request.experiment, request.task, as_json=request.as_json)
        return
    spec = spec_of(request.experiment, list(request.changes))
    planned = request.experiment if request.experiment.is_dir() else None
    folder = request.plan or request.out or planned or RESULTS / spec.name
    with ProgressDisplay(unit="cells") as display:
        told = Whole(display, CellTimes.of([spec]))
        if request.dry_run:
            plan = make_plan(spec, lambda done, total: told("checked", done, total))
            found = estimate(plan, folder)
        elif request.plan is not None:
            check_folder(folder)
            plan = make_plan(spec, lambda done, total: told("checked", done, total))
            path = write_array(plan, folder, request.tasks)
        else:
            try:
                sweep = run_sweep(
                    spec, folder, workers=request.workers, dask=request.dask, progress=told
                )
            except Stopped as stop:
                stop.add_note("finished cells are kept; the same command goes on from there")
                raise
    if request.dry_run:
        _show_estimate(found, as_json=request.as_json)
    elif request.plan is not None:
        remark(f"{counted(len(plan.cells), 'cell')} are planned; hand in {path}")
        if request.as_json:
            print_json({"cells": len(plan.cells), "script": str(path)})
    else:
        _show(sweep, folder, as_json=request.as_json)


def _refuse_together(request: Request) -> None:
    """Refuse options that exclude each other."""
    ways = {
        "--task": request.task is not None,
        "--plan": request.plan is not None,
        "--dask": request.dask is not None,
        "--dry-run": request.dry_run,
    }
    said = [name for name, asked in ways.items() if asked]
    if len(said) > 1:
        raise ExperimentError(f"sweep: expected one of {' and '.join(said)}, got both.")
    if request.tasks is not None and request.plan is None:
        raise ExperimentError("sweep: expected --plan DIR beside --tasks, it is missing.")
    if request.plan is not None and request.out is not None:
        raise ExperimentError("sweep: expected one of --plan and --out, got both.")


def _run_task(folder: Path, text: str, *, as_json: bool) -> None:
    """Compute the cells of one task of an array; others write beside it, each its own files."""
    task, tasks = parse_task(text)
    plan = Plan.load(folder)
    pending = missing(plan, folder, cells_of_task(len(plan.cells), task, tasks))
    compute_cells(plan, folder, pending)
    remark(f"task {text}: {counted(len(pending), 'cell')} computed in {folder}")
    if as_json:
        print_json({"task": text, "computed": len(pending)})


def run_gather(folder: Path, *, as_json: bool) -> None:
    """
    Collect the cells of a sweep.

    Parameters
    ----------
    folder : Path
        Its directory.
    as_json : bool
        Print JSON instead of the table.
    """
    _show(gather(Plan.load(folder), folder), folder, as_json=as_json)


def _show_estimate(found: CostEstimate, *, as_json: bool) -> None:
    """Print what a sweep will cost."""
    if as_json:
        print_json(
            {
                "cells": found.cells,
                "finished": found.finished,
                "cpu_s": found.cpu_s,
                "disk_bytes": found.disk_bytes,
                "measured_cells": found.measured,
            }
        )
        return
    basis = (
        f"from {counted(found.measured, 'finished cell')}"
        if found.measured
        else "from the first 200 jobs of each policy, which may be a few times off"
    )
    sys.stdout.write(
        f"{counted(found.cells, 'cell')}, {found.finished:,} finished; the others need about "
        f"{duration(found.cpu_s)} of CPU time and {volume(found.disk_bytes)} of disk, {basis}.\n"
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a finished sweep."""

    baseline: str | None = None
    metrics: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    over: str | None = None
    heat: str | None = None

    def refuse_beside_runs(self) -> None:
        """Refuse what is asked of sweeps alone."""
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
        return compare_policies(
            sweep,
            baseline=self.baseline,
            metrics=self.metrics or METRICS,
            by=self.by,
            over=self.over or "seeds",
        )

    def axes(self, sweep: Sweep) -> tuple[str, str] | None:
        """Return the factors of the map."""
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
    """Say whether a directory is that of a sweep."""
    return (folder / PLAN).is_file()


def run_compare_sweep(folder: Path, question: Question, *, as_json: bool) -> None:
    """Print the differences that a sweep found; write its page where a map is asked for."""
    sweep = Sweep.open(folder)
    found = question.answer(sweep)
    if question.heat is not None:
        page = write_sweep_page(sweep, found, folder, question.axes(sweep))
        remark(f"{page.name} is in {folder}")
    _print(found, as_json=as_json)


def run_report_sweep(
    folder: Path, out: Path | None, baseline: str | None, figures: Path | None, *, as_json: bool
) -> None:
    """
    Write the page of a sweep: into its folder, with its pictures beside it, or to another file.

    `out`: the file. `figures`: refused: it is for results.
    """
    if figures is not None:
        raise ResultError(
            f"--figures: expected results, got the sweep {folder}, whose pictures are beside its "
            "page."
        )
    sweep = Sweep.open(folder)
    found = Question(baseline).answer(sweep)
    if out is None:
        page = write_sweep_page(sweep, found, folder)
    else:
        write_whole(out, sweep_page(sweep, found))
        page = out
    if as_json:
        print_json({"file": str(page), "cells": len(sweep.cells)})
    else:
        sys.stdout.write(f"{visible(str(page))}\n")


def _show(sweep: Sweep, folder: Path, *, as_json: bool) -> None:
    """Print what a finished sweep found, and write its page where there is something to compare."""
    try:
        found = compare_policies(sweep)
    except ResultError:  # nothing to compare: the cells are what was wanted
        if as_json:
            print_json({"cells": _cells(sweep.cells)})
        else:
            sys.stdout.write(f"{sweep!r}\n")
    else:
        write_sweep_page(sweep, found, folder)
        _print(found, as_json=as_json)
    remark(f"Results are in {folder}")


def _print(found: Comparison, *, as_json: bool) -> None:
    """Print a comparison."""
    if not as_json:
        sys.stdout.write(text_of(*sweep_parts(found)))
        return
    tables = {
        "differences": found.differences,
        "ranks": found.ranks,
        "variance": found.variance,
        "draws": found.pairs,
    }
    document = {name: _cells(table) for name, table in tables.items()}
    print_json({"baseline": found.baseline, "over": found.over, **document})


def _cells(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return a table for programs; null for what is not known."""
    return table.astype(object).where(table.notna(), None).to_dict("records")
