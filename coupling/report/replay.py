"""A replayed record, for people."""

from collections.abc import Callable
from dataclasses import replace
from math import exp

import pandas as pd

from coupling.replay.answers import Gain, Replay, Waits, with_hours
from coupling.report.answer import Answer, Pictures, Section
from coupling.report.columns import assumptions
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


def replay_answer(found: Replay, top: int | None = None, *, why: bool = True) -> Answer:
    """Return what ran, waits against recorded ones, and what another scheduler gains."""
    sections = [
        Section("Nodes over time, by slowdown", pictures=lambda: _run_pictures(found)),
        Section(
            "Jobs that lost most",
            _JOBS,
            [_job_row(row) for row in _loser_section(found, top or _SHOWN)],
        ),
    ]
    if found.waits is not None:
        near = [_nearest_line(found.waits, found.free_from)]
        rows = _wait_rows(found.waits)
        sections.append(Section("Recorded against simulated waits", _WAITS, rows, above=near))
        if top is None:
            tried = [
                (
                    "default" if own.window is None else str(own.window),
                    own.estimates,
                    own.switches or "as the jobs ask",
                    f"{exp(own.error):.2f}",
                )
                for own in found.waits.tried
            ]
            sections.append(Section("Settings of the queue that were tried", _TRIED, tried))
    if found.gains:
        rows = [_gain_row(gain) for gain in found.gains]
        above = [
            (
                f"{', '.join(found.changes)} from {found.free_from} on, "
                f"{units.counted(found.seeds, 'sample')} of how jobs communicate:"
            )
        ]
        sections.append(Section("What another scheduler gains", _GAINS, rows, above=above))
    closing = [_READ, *_note_lines(found, why=why)]
    title = "What ran, and what might have run"
    return Answer(title, _total_lines(found.recorded), sections, closing)


def _run_pictures(found: Replay) -> Pictures:
    """Draw each run: nodes over dates."""
    from coupling.report.plots.gantt import gantt_pictures  # noqa: PLC0415 (matplotlib)

    named = {"as recorded": found.recorded, "freed": found.freed, "then": found.then}
    runs = [replace(run, name=name) for name, run in named.items() if run is not None]
    pictures = gantt_pictures(runs, {}, begin_of(runs))
    return [(picture.html(), "") for picture in pictures.values()]


def _total_lines(recorded: Result) -> list[str]:
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


def _loser_section(found: Replay, top: int) -> list[pd.Series]:
    """Return the jobs that lost most."""
    jobs = with_hours(found.recorded.jobs)
    ordered = jobs.sort_values(["lost", "id"], ascending=[False, True]).head(top)
    return [row for _, row in ordered.iterrows()]


def _job_row(row: pd.Series) -> tuple[str, ...]:
    """Return the row of a job."""
    return (
        str(row["id"]),
        f"{row['n_nodes']:,}",
        units.number(row["hours"]),
        units.ratio(row["network_slowdown"]),
        units.ratio(row["interference"]),
        units.number(row["lost"]),
    )


def _nearest_line(waits: Waits, free_from: str) -> str:
    """Return the settings under which simulated waits come nearest to recorded ones."""
    best = waits.best
    tried = f"{units.counted(len(waits.tried), 'setting')} of the queue tried"
    window = "default" if best.window is None else best.window
    return (
        f"Waits of the {units.counted(waits.jobs, 'job')} started since {free_from}; {tried}, "
        f"nearest: window {window}, estimates {best.estimates}, switches "
        f"{best.switches or 'as the jobs ask'} (mean ratio off by a factor {exp(best.error):.2f}):"
    )


def _wait_rows(waits: Waits) -> list[tuple[str, ...]]:
    """Show how near simulated waits come to recorded ones."""
    rows: list[tuple[str, ...]] = [
        (f"{share:.0%} below", _span_text(recorded), _span_text(simulated), "")
        for share, (recorded, simulated) in waits.quantiles.items()
    ]
    rows.append(("mean", *map(_span_text, waits.mean_s), _wait_difference(*waits.mean_s)))
    for own in waits.bias:
        name = f"{own.of} {own.group} ({own.jobs:,})"
        rows.append(
            (
                name,
                _span_text(own.recorded_s),
                _span_text(own.simulated_s),
                _wait_difference(own.recorded_s, own.simulated_s),
            )
        )
    return rows


def _wait_difference(recorded: float, simulated: float) -> str:
    """Write by how much simulated waits are longer."""
    return _signed_text(simulated - recorded, _span_text)


def _signed_text(value: float, write: Callable[[float], str]) -> str:
    """Write a number with its sign."""
    return f"{'-' if value < 0 else '+'}{write(abs(value))}"


def _span_text(seconds: float) -> str:
    """Write a time."""
    return f"-{units.duration(-seconds)}" if seconds < 0 else units.duration(seconds)


def _gain_row(gain: Gain) -> tuple[str, ...]:
    """Return the row of a quantity."""
    what, write = _WRITTEN[gain.what]
    interval = units.MISSING
    if gain.low is not None and gain.high is not None:
        interval = f"{_signed_text(gain.low, write)} to {_signed_text(gain.high, write)}"
    return (
        what,
        write(gain.before),
        write(gain.after),
        _signed_text(gain.difference, write),
        interval,
    )


def _note_lines(found: Replay, *, why: bool = True) -> list[str]:
    """Return what is odd and what was assumed."""
    lines = assumptions(found.assumed, why=why)
    for what, count in found.notes.items():
        share = what.startswith("share")
        lines.append(f"{what}: {units.percent(count) if share else f'{int(count):,}'}.")
    if any(what.startswith("hosts that") for what in found.notes):
        lines.append("Hosts that are not in the fabric: is its file older than the record?")
    return lines


_WRITTEN: dict[str, tuple[str, Callable[[float], str]]] = {
    "mean_wait_s": ("mean wait", _span_text),
    "mean_turnaround_s": ("mean turnaround", _span_text),
    "mean_network_slowdown": ("mean slowdown", "{:.4f}".format),
    "mean_interference": ("mean interference", "{:.4f}".format),
    "lost_node_hours": ("node-hours lost", units.number),
}
"""What a line calls a quantity, and how it writes its values."""
