"""Runs beside another simulator's jobs, for people."""

from collections.abc import Sequence

from rich.console import RenderableType

from coupling.report.columns import seconds, table, text_lines
from coupling.results.external_schedule import Agreement

_ROWS = {
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
            [told, seconds(one.here[key]), seconds(one.there[key]), _more(one, key)]
            for key, told in _ROWS.items()
        ]
        parts.append(table(("", one.run, name, "difference"), rows))
        parts.append(text_lines(*_lines(one, name)))
    return [*parts, text_lines(*notes)] if notes else parts


def _more(one: Agreement, key: str) -> str:
    """Write how much more the other simulator has, relative to ours."""
    here, there = one.here[key], one.there[key]
    return f"{there / here - 1.0:+.2%}" if here > 0.0 else "-"


def _lines(one: Agreement, name: str) -> list[str]:
    """Say how single jobs differ."""
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
