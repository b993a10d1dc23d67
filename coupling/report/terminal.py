"""What people see in a terminal: the comparison of runs, and progress while they run."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import isfinite
from types import TracebackType
from typing import Self, TextIO

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from coupling.report.sketches import NUMBER, PLACEMENT, Bar, SlowdownBars, blocks, fitted, width_of
from coupling.report.summary_text import reading
from coupling.results.comparison import (
    FIRST,
    Column,
    Row,
    comparable,
    comparison_rows,
    present_columns,
    write_column,
)
from coupling.results.formatting import EXACT_ONE, counted, duration, percent
from coupling.results.notes import accuracy_lines, dropped_lines, remark_lines
from coupling.results.over_time import binned
from coupling.results.result import Result
from coupling.terminal_text import visible
from netsim.common.arrays import Floats

_REDRAW_S = 0.2
_TELL_S = 30.0  # between lines where there is no terminal
_WIDE = 90  # columns of a terminal in which six numbers and a name have room
_UNBOUNDED = 10_000  # columns: more than any table needs


_LEVELS = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS = "_.-:=+*#"


class UtilizationLines:
    """The utilisation of runs over time, a line each, on one axis of time. `results`: The runs."""

    def __init__(self, results: Sequence[Result]) -> None:
        ends = [float(run.timeline["time_s"].max()) for run in results if len(run.timeline)]
        self._end_s = max((end for end in ends if isfinite(end)), default=0.0)
        self._results = results

    def __bool__(self) -> bool:
        """Say whether any time passed."""
        return self._end_s > 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a line per run."""
        wide = max(width_of(run.name) for run in self._results)
        room = max(4, options.max_width - wide - 1 - NUMBER)
        edges = np.linspace(0.0, self._end_s, room + 1)
        yield Text(f"utilisation from 0 to {duration(self._end_s)}", "dim")
        for run in self._results:
            line = Text(fitted(run.name, wide) + " ")
            means = binned(run.timeline, "utilization", edges)
            line.append(sparkline(means, plain=not blocks(console)), PLACEMENT)
            yield line.append(f" {percent(run.summary.get('utilization_steady'))}")


def sparkline(shares: Floats, *, plain: bool = False) -> str:
    """
    Draw shares as letters of growing height. `shares` (n,): from 0 to 1; nan: a blank.

    >>> import numpy as np
    >>> sparkline(np.array([0.0, 0.5, 1.0, np.nan]))
    '▁▅█ '
    """
    levels = _ASCII_LEVELS if plain else _LEVELS
    return "".join(
        levels[min(int(share * len(levels)), len(levels) - 1)] if isfinite(share) else " "
        for share in shares.tolist()
    )


class ComparisonTable:
    """
    Runs as columns, for `rich.console.Console.print`.

    Six columns; or all of them, in one table where the terminal is wide enough, otherwise in
    several, each with whole groups of columns. On a terminal utilisation and slowdowns are drawn;
    then dropped jobs with the reasons, remarks, what the numbers say in words, and how far off
    they may be.

    `results`: The runs, a row each. `baseline`: Name of the run to compare with; by default
    ``first-free`` or ``baseline``. `full`: Print all columns.
    """

    def __init__(
        self, results: Sequence[Result], baseline: str | None = None, *, full: bool = False
    ) -> None:
        self._full = full
        reference = comparable(results, baseline)
        self._baseline = "" if reference is None else reference.name
        self._names = [result.name for result in results]
        self._rows = comparison_rows(results, baseline)
        self._remarks = [*dropped_lines(results), *remark_lines(results)]
        self._reading = reading(results, baseline)
        self._accuracy = accuracy_lines(results)
        rows = zip(results, self._rows, strict=True)
        self._bars = SlowdownBars([_slowdown_bar(result.name, row) for result, row in rows])
        self._lines = UtilizationLines(results)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield what to print."""
        parts = self._column_parts(console, options) if self._full else [self._first_columns()]
        for columns in parts:
            yield self._column_table(columns, close=not self._full and options.max_width < _WIDE)
            yield Text()
        if console.is_terminal:
            for drawing in (self._lines, self._bars):
                if drawing:
                    yield drawing
                    yield Text()
        for line in self._note_lines():
            yield Text(visible(line), style="dim")
        for line in self._remarks:
            yield Text(visible(line), style="yellow")
        for line in self._reading:
            yield Text(visible(line), style="bold")
        for line in self._accuracy:
            yield Text(visible(line))

    def _first_columns(self) -> list[Column]:
        """Return the columns of the first table."""
        there = {column.key: column for column in present_columns(self._rows)}
        return [replace(there[key], narrow=head) for key, head in FIRST.items() if key in there]

    def _note_lines(self) -> list[str]:
        """Say which run is the baseline, and where more is."""
        notes = [f"* {self._baseline} is the baseline."] if self._baseline else []
        if self._full:
            better = " Better than the baseline: speedups above 1, ratios below 1."
            return [*notes, EXACT_ONE + (better if self._baseline else "")]
        return [*notes, f"{EXACT_ONE} More columns: --all."]

    def _column_parts(self, console: Console, options: ConsoleOptions) -> Iterator[list[Column]]:
        """Yield the columns of each table: as many whole groups as fit."""
        unbounded = options.update(max_width=_UNBOUNDED)
        chosen: list[Column] = []
        for _, columns in groupby(present_columns(self._rows), key=lambda column: column.group):
            more = [*chosen, *columns]
            if (
                chosen
                and Measurement.get(console, unbounded, self._column_table(more)).maximum
                > options.max_width
            ):
                yield chosen
                more = more[len(chosen) :]
            chosen = more
        if chosen:
            yield chosen

    def _column_table(self, columns: Sequence[Column], *, close: bool = False) -> Table:
        """Return a table of some columns, which may stand close to each other."""
        padding = (0, 0 if close else 1, 0, 0)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
        table.add_column("run", vertical="bottom", overflow="fold")
        for column in columns:
            table.add_column(column.narrow, justify="right", vertical="bottom", no_wrap=True)
        cells = [
            write_column(column, [row[column.key] for row in self._rows]) for column in columns
        ]
        for name, *line in zip(self._names, *cells, strict=True):
            mark = " *" if name == self._baseline else ""
            table.add_row(Text(visible(name) + mark), *line)
        return table


def _slowdown_bar(name: str, row: Row) -> Bar:
    """Return the mean slowdown of a run."""
    return Bar(name, row["mean_network_slowdown"] or 1.0, row["mean_placement_factor"] or 1.0)


def comparison_table(
    results: Sequence[Result],
    baseline: str | None = None,
    width: int | None = None,
    *,
    full: bool = False,
) -> str:
    """Write `ComparisonTable` as text, coloured only on a terminal."""
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(ComparisonTable(results, baseline, full=full))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


class ProgressDisplay:
    """
    Shows how far runs are, on stderr, also several at once; a context, called now and then.

    On a terminal a bar with the time left per run, and one for all of them; elsewhere a line per
    finished run, and one now and then. Calls between two redraws cost next to nothing.

    `stream`: Where to write; stderr by default. `unit`: What is counted. `plan`: All that will
    run, each once, as it is called when it does, and how long it takes beside the others; so the
    time left of all is known.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        unit: str = "jobs",
        plan: Mapping[str, float] | None = None,
    ) -> None:
        self._unit, self._plan = unit, plan or {}
        self._began_s = time.monotonic()
        self._tell_s = self._began_s + _TELL_S
        self._all: TaskID | None = None
        self._console = Console(file=stream or sys.stderr, highlight=False, markup=False)
        self._live = self._console.is_terminal
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[ended]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}")
            if unit == "cells"
            else TimeRemainingColumn(compact=True),
            console=self._console,
            refresh_per_second=1 / _REDRAW_S,
            expand=True,
        )
        self._shown: dict[str, _Shown] = {}

    @property
    def live(self) -> bool:
        """Whether bars are drawn, as on a terminal."""
        return self._live

    def __enter__(self) -> Self:
        """Start to draw."""
        if self._live:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop to draw; what was drawn stays."""
        if self._live:
            self._bars.stop()

    def __call__(self, what: str, done: int, total: int, left: str = "") -> None:
        """Note that `done` of `total` jobs have ended; fewer than before when a run starts anew."""
        now_s = time.monotonic()
        shown = self._shown.get(what)
        if shown is None or done < shown.done:
            name = visible(what)
            task = self._add_bar(name, total) if self._live else TaskID(-1)
            shown = self._shown[what] = _Shown(task, began_s=now_s, total=total)
            if self._live and self._all is None and len(self._plan) > 1:
                self._all = self._add_bar("all runs", 1.0)
        elif done == shown.done or (done < total and now_s < shown.next_s):
            return
        shown.done = done
        shown.next_s = now_s + _REDRAW_S
        if self._live:
            ended = f"{done:,}/{total:,} {self._unit}"
            self._bars.update(shown.task, completed=done, left=left, ended=ended)
            if self._all is not None:
                share = self._ended_share()
                self._bars.update(self._all, completed=share, ended=percent(share, 0))
        elif done == total:
            spent = duration(now_s - shown.began_s, 2)
            self._print_line(f"{visible(what)}: {counted(total, self._unit[:-1])} in {spent}")
        elif now_s >= self._tell_s:
            self._tell_s = now_s + _TELL_S
            self._print_line(
                f"{visible(what)}: {done:,} of {total:,} {self._unit}{self._left(now_s)}"
            )

    def _print_line(self, line: str) -> None:
        """Print a line."""
        self._console.print(line, soft_wrap=True)

    def _add_bar(self, name: str, total: float) -> TaskID:
        """Add a bar."""
        return self._bars.add_task(name, total=total, left="", ended="")

    def _ended_share(self) -> float:
        """Return how much of the plan has ended, 0 to 1."""
        weight = self._plan
        ended = [weight.get(name, 0.0) * own.done / own.total for name, own in self._shown.items()]
        return sum(ended) / (sum(weight.values()) or 1.0)

    def _left(self, now_s: float) -> str:
        """Return how far all of it is, and how long the rest takes; empty where it is unknown."""
        share = self._ended_share()
        if not share:
            return ""
        left = duration((now_s - self._began_s) * (1.0 / share - 1.0), 2)
        return f"; {percent(share, 0)} of all runs, about {left} left"


@dataclass(slots=True)
class _Shown:
    """What is shown of a run: its bar, jobs ended, when it began and when to redraw."""

    task: TaskID
    began_s: float
    total: int
    done: int = 0
    next_s: float = 0.0
