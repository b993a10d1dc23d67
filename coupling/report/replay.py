"""A replayed record, for people: tables in a terminal, and a page."""

from collections.abc import Callable
from dataclasses import replace
from math import exp

import pandas as pd
from rich.console import RenderableType

from coupling.replay.answers import Gain, Replay, Waits
from coupling.report import page as pages
from coupling.report.columns import assumptions, table, text_lines
from coupling.results import formatting as units
from coupling.results.picture_values import begin_of
from coupling.results.result import Result

_JOBS = ("job", "nodes", "node-h", "slowed", "together / alone", "lost node-h")
_WAITS = ("wait", "recorded", "simulated", "bias")
_GAINS = ("of the jobs started since", "as now", "then", "difference", "95 %")
_TRIED = ("window", "estimates", "switches", "off by a factor")
_SHOWN = 100
_READ = (
    "slowed: together / ideal, mean over the run; lost node-h: node-hours lost to its own "
    "placement and to others."
)


def replay_parts(found: Replay, top: int, *, why: bool = True) -> list[RenderableType]:
    """
    Return what a terminal shows of a replay.

    Result: for `coupling.report.columns.text_of`; totals first, fits 80 columns.
    """
    parts: list[RenderableType] = [text_lines(*_totals(found.recorded)), _worst(found, top)]
    if found.waits is not None:
        rows = _wait_rows(found.waits)
        parts += [text_lines(_nearest(found.waits, found.free_from)), table(_WAITS, rows)]
    if found.gains:
        rows = [_gain(gain) for gain in found.gains]
        parts += [text_lines(_changed(found)), table(_GAINS, rows)]
    parts.append(text_lines(_READ, *_told(found, why=why)))
    return parts


def replay_html(found: Replay) -> str:
    """Return a page about a replay: nodes over dates, waits, settings that were tried, gains."""
    first, *rest = _totals(found.recorded)
    sections = [
        ("Nodes over time, by slowdown", _drawn(found)),
        ("Jobs that lost most", pages.table(_JOBS, map(_row, _losers(found, _SHOWN)))),
    ]
    if found.waits is not None:
        tried = [
            (
                "default" if own.window is None else str(own.window),
                own.estimates,
                own.switches or "as the jobs ask",
                f"{exp(own.error):.2f}",
            )
            for own in found.waits.tried
        ]
        near = pages.paragraph(_nearest(found.waits, found.free_from))
        waits = near + pages.table(_WAITS, _wait_rows(found.waits))
        sections.append(("Recorded against simulated waits", waits))
        sections.append(("Settings of the queue that were tried", pages.table(_TRIED, tried)))
    if found.gains:
        gains = pages.table(_GAINS, [_gain(gain) for gain in found.gains])
        sections.append(("What another scheduler gains", pages.paragraph(_changed(found)) + gains))
    sections.append(("How to read this", pages.bullets([_READ, *_told(found)])))
    return pages.page("What ran, and what might have run", first, pages.bullets(rest), sections)


def _drawn(found: Replay) -> pages.Html:
    """Draw each run: nodes over dates."""
    from coupling.report.plots.gantt import gantt_pictures  # noqa: PLC0415 (matplotlib)

    named = {"as recorded": found.recorded, "freed": found.freed, "then": found.then}
    runs = [replace(run, name=name) for name, run in named.items() if run is not None]
    pictures = gantt_pictures(runs, {}, begin_of(runs))
    return pages.figures((picture.html(), "") for picture in pictures.values())


def _changed(found: Replay) -> str:
    """Say what is compared with what."""
    return (
        f"{', '.join(found.changes)} from {found.free_from} on, "
        f"{units.counted(found.seeds, 'draw')} of how jobs communicate:"
    )


def _totals(recorded: Result) -> list[str]:
    """Sum a record up."""
    summary = recorded.summary
    lost = [
        float(summary[f"node_seconds_lost_to_{cause}"] or 0.0) / 3600.0
        for cause in ("placement", "interference")
    ]
    hours = float(summary["node_hours"])
    share = units.percent(sum(lost) / hours)
    return [
        (
            f"{units.counted(int(summary['jobs']), 'job')} on {int(summary['nodes']):,} nodes "
            f"in {units.duration(float(summary['makespan_s']))}: {units.number(hours)} node-hours, "
            f"of which the network cost {units.number(sum(lost))} ({share}): "
        ),
        (
            f"{units.number(lost[0])} by where jobs ran, {units.number(lost[1])} by what others "
            "sent."
        ),
    ]


def _worst(found: Replay, top: int) -> RenderableType:
    """Show the jobs that lost most."""
    return table(_JOBS, [_row(row) for row in _losers(found, top)])


def _losers(found: Replay, top: int) -> "list[pd.Series]":
    """Return the jobs that lost most."""
    jobs = found.recorded.jobs
    hours = jobs["n_nodes"] * (jobs["end_s"] - jobs["start_s"]) / 3600.0
    jobs = jobs.assign(hours=hours, lost=hours * (1.0 - 1.0 / jobs["network_slowdown"]))
    ordered = jobs.sort_values(["lost", "id"], ascending=[False, True]).head(top)
    return [row for _, row in ordered.iterrows()]


def _row(row: "pd.Series") -> tuple[str, ...]:
    """Return what a line says of a job."""
    return (
        str(row["id"]),
        f"{row['n_nodes']:,}",
        units.number(row["hours"]),
        units.ratio(row["network_slowdown"]),
        units.ratio(row["interference"]),
        units.number(row["lost"]),
    )


def _nearest(waits: Waits, free_from: str) -> str:
    """Say under which settings simulated waits come nearest to recorded ones."""
    best = waits.best
    tried = f"{units.counted(len(waits.tried), 'setting')} of the queue tried"
    window = "default" if best.window is None else best.window
    return (
        f"Waits of the {units.counted(waits.jobs, 'job')} started since {free_from}; {tried}, "
        f"nearest: window {window}, estimates {best.estimates}, switches "
        f"{best.switches or 'as the jobs ask'} (mean ratio off by {_times(best.error)}):"
    )


def _wait_rows(waits: Waits) -> list[tuple[str, ...]]:
    """Show how near simulated waits come to recorded ones."""
    rows: list[tuple[str, ...]] = [
        (f"{share:.0%} below", _span(recorded), _span(simulated), "")
        for share, (recorded, simulated) in waits.quantiles.items()
    ]
    rows.append(("mean", *map(_span, waits.mean_s), _difference(*waits.mean_s)))
    for own in waits.bias:
        name = f"{own.of} {own.group} ({own.jobs:,})"
        rows.append(
            (
                name,
                _span(own.recorded_s),
                _span(own.simulated_s),
                _difference(own.recorded_s, own.simulated_s),
            )
        )
    return rows


def _times(error: float) -> str:
    """Write a mean logarithm of ratios as a factor."""
    return f"a factor {exp(error):.2f}"


def _difference(recorded: float, simulated: float) -> str:
    """Write by how much simulated waits are longer."""
    return _signed(simulated - recorded, _span)


def _signed(value: float, write: Callable[[float], str]) -> str:
    """Write a number with its sign."""
    return f"{'-' if value < 0 else '+'}{write(abs(value))}"


def _span(seconds: float) -> str:
    """Write a time."""
    return f"-{units.duration(-seconds)}" if seconds < 0 else units.duration(seconds)


def _gain(gain: Gain) -> tuple[str, ...]:
    """Return what a line says of a quantity."""
    what, write = _WRITTEN[gain.what]
    interval = units.MISSING
    if gain.low is not None and gain.high is not None:
        interval = f"{_signed(gain.low, write)} to {_signed(gain.high, write)}"
    return what, write(gain.before), write(gain.after), _signed(gain.difference, write), interval


def _told(found: Replay, *, why: bool = True) -> list[str]:
    """Say what is odd and what was assumed."""
    lines = assumptions(found.assumed, why=why)
    for what, count in found.notes.items():
        share = what.startswith("share")
        lines.append(f"{what}: {units.percent(count) if share else f'{int(count):,}'}.")
    if any(what.startswith("hosts that") for what in found.notes):
        lines.append("Hosts that are not in the fabric: is its file older than the record?")
    return lines


_WRITTEN: dict[str, tuple[str, Callable[[float], str]]] = {
    "mean_wait_s": ("mean wait", _span),
    "mean_turnaround_s": ("mean turnaround", _span),
    "mean_network_slowdown": ("mean slowdown", "{:.4f}".format),
    "mean_interference": ("mean interference", "{:.4f}".format),
    "lost_node_hours": ("node-hours lost", units.number),
}
"""What a line calls a quantity, and how it writes its values."""
