"""Numbers of results that are tables of their own: by size, at events, gains in distance."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from rich.console import RenderableType

from coupling.inputs.files import sheet_of
from coupling.report.columns import seconds, table, text_lines
from coupling.results.external_schedule import Agreement
from coupling.results.formatting import duration, number, percent
from coupling.results.over_time import instantaneous_utilization, utilization_per_minute
from coupling.results.result import Result
from coupling.results.summary import MindGain, hops_by_size, mind_gain_of, wait_by_size
from fabricsim.checking.documents import json_fields, json_value


def metrics_document(results: Sequence[Result], baseline: str) -> dict[str, Any]:
    """Return the numbers of runs for programs."""
    gains = _mind_gains(results, baseline)
    return {
        "baseline": baseline or None,
        "runs": [_run_document(result, gains.get(result.name)) for result in results],
    }


def metrics_parts(results: Sequence[Result], baseline: str) -> list[RenderableType]:
    """Return tables of runs for the terminal."""
    parts = [_events_table(results), _size_table(results)]
    if gains := _mind_gains(results, baseline):
        parts.append(_gain_table(gains, baseline))
    return parts


def minutes_sheet(results: Sequence[Result]) -> str:
    """Return the utilisation of every minute of all runs, as CSV."""
    frames = [
        utilization_per_minute(result.jobs, int(result.summary["nodes"])).assign(run=result.name)
        for result in results
    ]
    return sheet_of(pd.concat(frames)[["run", "time_s", "utilization"]])


def _mind_gains(results: Sequence[Result], baseline: str) -> dict[str, MindGain]:
    """Return what runs change in MIND against the baseline, by name."""
    reference = next((result for result in results if result.name == baseline), None)
    if reference is None:
        return {}
    return {
        result.name: mind_gain_of(result.jobs, reference.jobs)
        for result in results
        if result is not reference
    }


def _run_document(result: Result, gain: MindGain | None) -> dict[str, Any]:
    """Return the numbers of a run for programs."""
    events = instantaneous_utilization(result.jobs, int(result.summary["nodes"]))
    return {
        "name": result.name,
        "instantaneous_utilization": {str(name): float(part) for name, part in events.items()},
        "wait_by_size": _size_records(wait_by_size(result.jobs)),
        "hops_by_size": _size_records(hops_by_size(result.jobs)),
        "mind_gain": json_value(gain),
    }


def _size_records(frame: pd.DataFrame) -> list[Mapping[str, Any]]:
    """Return the rows of a table by size; None for numbers that do not exist."""
    return [
        {"n_nodes": str(size)}
        | {str(key): None if pd.isna(value) else value for key, value in row.items()}
        for size, row in frame.to_dict(orient="index").items()
    ]


def _events_table(results: Sequence[Result]) -> RenderableType:
    """Return how often each run's machine is how full."""
    found = {
        result.name: instantaneous_utilization(result.jobs, int(result.summary["nodes"]))
        for result in results
    }
    bins = [f"{name} %" for name in next(iter(found.values())).index]
    rows = [[name, *(percent(float(part)) for part in parts)] for name, parts in found.items()]
    return table(["utilisation at starts and ends", *bins], rows)


def _size_table(results: Sequence[Result]) -> RenderableType:
    """Return wait and distance by size of the jobs."""
    heads = ["run", "nodes", "jobs", "mean wait", "95 %", "longest", "mean APH", "by node time"]
    rows = []
    for result in results:
        wait, hops = wait_by_size(result.jobs), hops_by_size(result.jobs)
        for size in wait.index[wait["jobs"] > 0]:
            times = [_finite_value(wait.loc[size, name]) for name in ("mean_s", "p95_s", "max_s")]
            far = [_finite_value(hops.loc[size, name]) for name in ("mean_aph", "weighted_aph")]
            rows.append(
                [result.name, str(size), f"{int(wait.loc[size, 'jobs']):,}"]
                + [duration(value) for value in times]
                + [number(value) for value in far]
            )
    return table(heads, rows, left=(0, 1))


def _gain_table(gains: Mapping[str, MindGain], baseline: str) -> RenderableType:
    """Return how much closer runs place jobs than the baseline."""
    heads = ["MIND lower than under", "jobs", "by size", "2-10", "larger", "by node time", "t", "p"]
    heads[0] += f" {baseline}"
    rows = []
    for name, gain in gains.items():
        known = json_fields(gain)
        parts = [percent(known[key]) for key in ("overall", "small", "large", "by_node_time")]
        p = known["p"]
        test = [number(known["t"]), "-" if p is None else f"{p:.1g}"]
        rows.append([name, f"{gain.jobs:,}", *parts, *test])
    return table(heads, rows)


def _finite_value(value: Any) -> float | None:  # noqa: ANN401 (a cell of a table)
    """Return a number of a table; None for NaN."""
    return None if pd.isna(value) else float(value)


_AGREEMENT = {
    "makespan_s": "makespan",
    "mean_wait_s": "mean wait",
    "mean_turnaround_s": "mean turnaround",
    "mean_run_s": "mean run time",
}


def agreement_parts(
    found: Sequence[Agreement], name: str, notes: Sequence[str]
) -> list[RenderableType]:
    """Return what a terminal shows, for `coupling.report.columns.text_of`."""
    parts: list[RenderableType] = []
    for one in found:
        rows = [
            [label, seconds(one.here[key]), seconds(one.there[key]), _relative_difference(one, key)]
            for key, label in _AGREEMENT.items()
        ]
        parts.append(table(("", one.run, name, "difference"), rows))
        parts.append(text_lines(*_agreement_lines(one, name)))
    return [*parts, text_lines(*notes)] if notes else parts


def _relative_difference(one: Agreement, key: str) -> str:
    """Write how much more the other simulator has, relative to ours."""
    here, there = one.here[key], one.there[key]
    return f"{there / here - 1.0:+.2%}" if here > 0.0 else "-"


def _agreement_lines(one: Agreement, name: str) -> list[str]:
    """Return how single jobs differ."""
    run, start, end = (one.differences[key] for key in ("run", "start_s", "end_s"))
    missing = [
        f"{count:,} only in {where}"
        for count, where in ((one.only_here, one.run), (one.only_there, name))
        if count
    ]
    apart = [
        f"{what} by {seconds(own['mean'])} in the mean, at most by {seconds(own['most'])} "
        f"(job {own['job']:.0f})"
        for what, own in (("Starts differ", start), ("ends", end))
    ]
    longer = f"{run['mean']:.2%} in the mean, at most by {run['most']:.2%} (job {run['job']:.0f})"
    return [
        f"{one.jobs:,} jobs in both{''.join(f', {text}' for text in missing)}.",
        f"Run times differ by {longer}.",
        f"{'; '.join(apart)}.",
    ]
