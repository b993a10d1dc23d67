"""The numbers that compare runs: one row per run, the same for terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from coupling.results import formatting as units
from coupling.results.columns import finished
from coupling.results.framed import nodes_used
from coupling.results.result import Result
from coupling.results.summary import compare, node_seconds_lost, speedup

if TYPE_CHECKING:
    import pandas as pd

BASELINE_NAMES = ("first-free", "baseline")
Row = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Column:
    """A number of the comparison."""

    key: str  # Its name in a row
    title: str  # Heading
    narrow: str  # Heading over several lines
    kind: str  # How it is written: a key of `WRITERS`
    group: str  # What stays in one table where not all columns fit
    hint: str  # What it means


COLUMNS = (
    Column("utilization_steady", "steady utilisation", "steady\nutilisation", "percent",
           "schedule", "requested node time / (nodes * time) from time 0 to the last start"),
    Column("makespan_s", "makespan", "makespan", "duration",
           "schedule", "time of the last end"),
    Column("mean_wait_s", "mean wait", "mean\nwait", "duration",
           "schedule", "start - submission"),
    Column("mean_turnaround_s", "mean turnaround", "mean\nturnaround", "duration",
           "schedule", "end - submission"),
    Column("infinite_utilization", "∞ utilisation", "utilisation,\ninfinite\nnetwork", "percent",
           "infinite network", "utilisation of the same jobs if the network were infinite"),
    Column("infinite_makespan_s", "∞ makespan", "makespan,\ninfinite\nnetwork", "duration",
           "infinite network", "makespan of the same jobs if the network were infinite"),
    Column("infinite_turnaround_s", "∞ turnaround", "turnaround,\ninfinite\nnetwork", "duration",
           "infinite network", "mean turnaround of the same jobs if the network were infinite"),
    Column("mean_network_slowdown", "mean slowdown", "mean\nslowdown", "ratio",
           "network", "interference * placement factor (together / ideal), mean over jobs"),
    Column("mean_interference", "mean interference", "mean\ninterference", "ratio",
           "network", "iteration time together / alone on the same nodes, mean over jobs"),
    Column("max_interference", "max interference", "largest\ninterference", "ratio",
           "network", "interference of the worst job"),
    Column("mean_placement_factor", "mean placement factor", "mean\nplacement\nfactor", "ratio",
           "network", "iteration time alone on these nodes / ideal, mean over jobs"),
    Column("node_hours_lost", "node-hours lost", "node hours\nlost", "count",
           "node time", "node-hours by which interference and placement made jobs run longer"),
    Column("share_lost", "node time lost", "node time\nlost", "percent",
           "node time", "node-hours lost / node-hours of all jobs"),
    Column("share_lost_to_interference", "lost to interference", "of it to\ninterference",
           "percent", "node time", "the part of it that other jobs cost"),
    Column("share_lost_to_placement", "lost to placement", "of it to\nplacement", "percent",
           "node time", "the part of it that the job's own nodes and routes cost"),
    Column("speedup_mean", "speed-up", "speedup,\nmean", "ratio",
           "Baseline", "run time under Baseline / run time here, mean over jobs"),
    Column("speedup_weighted", "weighted speed-up", "speedup,\nnode time\nweighted", "ratio",
           "Baseline", "the same, weighted by node time under Baseline"),
    Column("makespan_ratio", "makespan ratio", "makespan\nratio", "ratio",
           "Baseline", "makespan / makespan under Baseline, below 1 is better"),
    Column("turnaround_ratio", "turnaround ratio", "turnaround\nratio", "ratio",
           "Baseline", "mean turnaround / that under Baseline, below 1 is better"),
)  # fmt: skip


FIRST = {
    "utilization_steady": "utilisation",
    "mean_turnaround_s": "mean\nturnaround",
    "share_lost": "node time\nlost",
    "share_lost_to_interference": "of it to\ninterference",
    "mean_interference": "interference,\nmean",
    "max_interference": "largest",
}
"""Columns of the first table that a reader sees, with their headings."""


def find_baseline(results: Sequence[Result], name: str | None = None) -> Result | None:
    """Return the named run, or by default ``first-free`` or ``baseline``; None if absent."""
    names = BASELINE_NAMES if name is None else (name,)
    return next((result for result in results if result.name in names), None)


def unlike(results: Sequence[Result]) -> str:
    """Say in what the jobs of runs differ; empty where all ran the same work."""
    first, *others = (_job_work(result.jobs) for result in results)
    if not all(first["n_nodes"].equals(other["n_nodes"]) for other in others):
        return "jobs"
    work = first["runtime_reference_s"].to_numpy()
    same = (np.allclose(work, other["runtime_reference_s"], rtol=1e-9) for other in others)
    return "" if all(same) else "run times of the jobs alone"


def _job_work(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return size and reference run time of the jobs that ran, by id."""
    return finished(jobs).set_index("id")[["n_nodes", "runtime_reference_s"]].sort_index()


def comparable(results: Sequence[Result], baseline: str | None = None) -> Result | None:
    """Return the baseline if it ran jobs, and there are other runs of the same jobs; else None."""
    reference = find_baseline(results, baseline)
    if len(results) == 1 or reference is None or finished(reference.jobs).empty:
        return None
    return None if unlike(results) else reference


def comparison_rows(results: Sequence[Result], baseline: str | None = None) -> list[Row]:
    """Return the value of each of `COLUMNS` per run; None where it does not exist."""
    reference = comparable(results, baseline)
    return [_run_row(result, reference) for result in results]


def _run_row(result: Result, baseline: Result | None) -> Row:
    """Return the numbers of one run."""
    summary = result.summary
    infinite = summary.get("infinite_network") or {}
    numbers = {column.key: summary.get(column.key) for column in COLUMNS} | {
        "infinite_utilization": infinite.get("utilization_steady"),
        "infinite_makespan_s": infinite.get("makespan_s"),
        "infinite_turnaround_s": infinite.get("mean_turnaround_s"),
        **_loss_columns(result.jobs),
    }
    if baseline is not None:
        speedups = speedup(result.jobs, baseline.jobs)
        ratios = compare(summary, baseline.summary, speedups)
        numbers |= {key: None if isnan(ratio) else ratio for key, ratio in ratios.items()}
    return numbers


def _loss_columns(jobs: pd.DataFrame) -> dict[str, float | None]:
    """Return what the network cost: node-hours, and shares of the node time of all jobs."""
    spent_s = node_seconds(jobs)
    keys = ("node_hours_lost", "share_lost", "share_lost_to_interference")
    if not spent_s > 0:
        return dict.fromkeys((*keys, "share_lost_to_placement"))
    interference_s, placement_s = node_seconds_lost(jobs).values()
    return {
        "node_hours_lost": (interference_s + placement_s) / 3600.0,
        "share_lost": (interference_s + placement_s) / spent_s,
        "share_lost_to_interference": interference_s / spent_s,
        "share_lost_to_placement": placement_s / spent_s,
    }


def node_seconds(jobs: pd.DataFrame) -> float:
    """Return the node-seconds that jobs held."""
    done = finished(jobs)
    return float((nodes_used(done) * (done["end_s"] - done["start_s"])).sum())


def write_column(column: Column, values: Sequence[float | None]) -> list[str]:
    """Write the values of a column."""
    return WRITERS[column.kind](values)


def present_columns(rows: Sequence[Row]) -> list[Column]:
    """Return the columns of `COLUMNS` in which any run has a value."""
    return [column for column in COLUMNS if any(row.get(column.key) is not None for row in rows)]


def _duration_texts(values: Sequence[float | None]) -> list[str]:
    """Write durations in the unit of the longest."""
    unit, length = units.duration_unit(values)
    return [
        units.MISSING
        if value is None
        else units.Number(f"{units.number(value / length)} {unit}", value)
        for value in values
    ]


WRITERS: Mapping[str, Callable[[Sequence[float | None]], list[str]]] = {
    "percent": lambda values: [units.percent(value) for value in values],
    "ratio": lambda values: [units.ratio(value) for value in values],
    "count": lambda values: [units.number(value) for value in values],
    "duration": _duration_texts,
}
