"""What the panel says about what was chosen, as HTML."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coupling.explorer.address import Address, replaced
from coupling.explorer.colours import JobColours
from coupling.explorer.grids import Cell
from coupling.explorer.run_view import OnReady, RunView, ViewedRun
from coupling.explorer.worker import Failed
from coupling.report.columns import seconds
from coupling.results.explained import waited, why
from coupling.results.formatting import number, percent, ratio
from coupling.runs.job_history import JobHistory

MOST = 12
"""Victims, culprits, cables that a list names."""
_MOST_LISTED = 60  # users of a link
_APART = 0.001  # of its run: how far what a job lost, worked out, may be from the result
_REASONS = 4  # of waiting that are shown, the longest
_HOT = 5  # busiest times of a cable
_LONG = 600  # letters of a list of nodes


@cache
def templates() -> Environment:
    """Return the templates: whatever is not marked as HTML is escaped."""
    return Environment(
        loader=PackageLoader("coupling.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def story_of(exhibit: RunView, run: ViewedRun, address: Address, on_ready: OnReady) -> str:
    """Return the panel. `on_ready`: called from another thread when more can be said."""
    job = _job(exhibit, run, address, on_ready)
    return (
        templates()
        .get_template("panel.html")
        .render(
            run=run.name,
            about=exhibit.about,
            facts=_summary(run) if job is None else [],
            wanted=address.job,
            job=job,
            cable=_cable(exhibit, run, address, on_ready),
            no_cable=bool(address.cable) and address.cable not in run.link,
            asked=address.cable,
        )
    )


def waiting(words: str) -> str:
    """Return a panel that says what has to be awaited."""
    return str(Markup('<p role="status">{}</p>').format(words))


def key_of(exhibit: RunView, by: str, shades: JobColours, ramp: Sequence[str]) -> str:
    """Return the key of colours."""
    return (
        templates()
        .get_template("key.html")
        .render(
            ramp=ramp if by == "slowdown" else (),
            end=ratio(exhibit.scale),
            key=shades.key,
            missing="A colour for each job." if by == "job" else shades.missing,
        )
    )


def job_line(run: ViewedRun, row: int) -> str:
    """Say what a job is, in a line."""
    job = run.jobs.iloc[row]
    return (
        f"job {job['id']}: {job['n_nodes']} nodes, {job['pattern'] or 'no traffic'}, runs "
        f"{duration(job['end_s'] - job['start_s'])}, slowdown {ratio(job['network_slowdown'])}"
    )


def duration(value: float) -> str:
    """
    Write a time as people say it.

    >>> duration(90061), duration(7322), duration(75.4), duration(0.25)
    ('1 d 1 h', '2 h 2 min', '1 min 15 s', '250 ms')
    """
    whole = int(value)
    if value < 60:  # noqa: PLR2004 (a minute)
        return seconds(value)
    for size, unit, small, smaller in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small} {smaller}"
    return seconds(value)


def _summary(run: ViewedRun) -> list[tuple[str, str]]:
    """Return what is said of a run as a whole."""
    summary = run.result.summary
    shares = ("utilization_steady",)
    shown = {
        "utilization_steady": "steady utilisation",
        "mean_wait_s": "mean wait",
        "mean_interference": "mean interference",
        "max_interference": "largest interference",
        "mean_network_slowdown": "mean slowdown",
        "makespan_s": "makespan",
    }
    found = []
    for key, name in shown.items():
        value = summary.get(key)
        if isinstance(value, (int, float)):
            text = f"{value:.1%}" if key in shares else ratio(value)
            found.append((name, duration(value) if key.endswith("_s") else text))
    return found


def _job(
    exhibit: RunView, run: ViewedRun, address: Address, on_ready: OnReady
) -> Mapping[str, Any] | None:
    """Return what is said of the chosen job; None where there is none."""
    row = run.row.get(int(address.job)) if address.job.isdecimal() else None
    if row is None:
        return None
    job = run.jobs.iloc[row]
    nodes = str(job["nodes"])
    return {
        "id": str(job["id"]),
        "facts": [
            ("pattern", str(job["pattern"]) or "does not communicate"),
            ("communicates", f"{job['comm_fraction']:.0%} of the time, alone"),
            ("nodes", str(job["n_nodes"])),
            ("submitted", duration(job["submit_s"])),
            ("waits", duration(job["wait_s"])),
            ("starts", duration(job["start_s"])),
            ("runs", duration(job["end_s"] - job["start_s"])),
            ("slowdown", ratio(job["network_slowdown"])),
            ("by other jobs", ratio(job["interference"])),
            ("by its placement", ratio(job["placement_factor"])),
            ("lost to others", duration(job["interference_delay_s"])),
        ],
        "nodes": nodes if len(nodes) <= _LONG else f"{nodes[:_LONG]} ...",
        "waited": _waited(run, address, int(job["id"])),
        "no_waits": run.waits is None,
        "pattern": _known(exhibit.flows(run.name, int(job["id"]), on_ready)),
        "life": _life(exhibit, run, address, row, on_ready),
        "culprits": _others(run, address, int(job["id"]), ("victim", "culprit")),
        "victims": _others(run, address, int(job["id"]), ("culprit", "victim")),
    }


def _known(found: Any) -> Mapping[str, Any]:  # noqa: ANN401 (an answer, or none yet)
    """Return an answer as templates take it: what is there, or why nothing is."""
    if found is None:
        return {"there": None, "why_not": "Working it out ..."}
    if isinstance(found, Failed):
        return {"there": None, "why_not": f"It cannot be worked out: {found.why}"}
    if isinstance(found, str):
        return {"there": None, "why_not": found}
    return {"there": found, "why_not": ""}


def _waited(run: ViewedRun, address: Address, job: int) -> list[list[Cell]]:
    """Return why a job waited, in the words of explain, the longest first."""
    if run.waits is None:
        return []
    rows, found = [], waited(run.waits, job)
    for row in found[:_REASONS]:
        holder, words = row["holder"], why(row, job)
        leads = holder is not None and holder != job and holder in run.row
        when = f"{words}, between {duration(row['first_s'])} and {duration(row['last_s'])}"
        cell = Cell(when, to_job(address, str(holder)).href if leads else "")
        rows.append([Cell(duration(row["wait_s"])), cell])
    rest_s = sum(row["wait_s"] for row in found[_REASONS:])
    if rest_s > 0:
        words = f"{len(found) - _REASONS} reasons more: fabricsim explain tells all"
        rows.append([Cell(duration(rest_s)), Cell(words)])
    return rows


def _life(
    exhibit: RunView, run: ViewedRun, address: Address, row: int, on_ready: OnReady
) -> Mapping[str, Any]:
    """Return when a job was slowed, on which link and by which jobs: its worst times, in order."""
    job = run.jobs.iloc[row]
    found = exhibit.life(run.name, int(job["id"]), on_ready)
    if not isinstance(found, JobHistory):
        return _known(found)
    held = [stretch for stretch in found.stretches if stretch.interference_delay_s > 0]
    dear = sorted(held, key=lambda stretch: -stretch.interference_delay_s)[:MOST]
    rows = [
        [
            Cell(duration(own.begin_s), f"#{replaced(address, {'at_s': own.begin_s}).written()}"),
            Cell(ratio(own.interference * found.placement_factor)),
            to_cable(address, own.cable) if own.cable else Cell("-"),
            to_job(address, str(next(iter(own.culprits)))) if own.culprits else Cell("-"),
        ]
        for own in sorted(dear, key=lambda stretch: stretch.begin_s)
    ]
    apart = abs(found.interference_delay_s - job["interference_delay_s"]) > _APART * (
        job["end_s"] - job["start_s"]
    )
    return {
        "there": True,
        "rows": rows,
        "more": len(held) - len(rows),
        "apart": f"Worked out, it lost {duration(found.interference_delay_s)}; the result says "
        f"{duration(job['interference_delay_s'])}."
        if apart
        else "",
    }


def _cable(
    exhibit: RunView, run: ViewedRun, address: Address, on_ready: OnReady
) -> Mapping[str, Any] | None:
    """Return what is said of the chosen link; None where there is none."""
    row = run.link.get(address.cable)
    if row is None:
        return None
    link, bins = run.result.links.iloc[row], run.load.bins[row]
    facts = [
        ("class", str(link["class"])),
        ("carried", f"{number(link['bytes'] / 1e9)} GB"),
        ("busy over the run", f"{link['busy_fraction']:.1%}"),
        (
            "cost jobs that it held up",
            f"{number(link['interference_delay_node_s'] / 3600)} node-hours",
        ),
    ]
    if address.at_s is not None and bins.size:
        facts.append(("busy at the moment", f"{run.load.at(address.at_s)[row]:.1%}"))
    hot = np.argsort(-bins, kind="stable")[:_HOT]
    return {
        "name": address.cable,
        "facts": facts,
        "hot": [
            [
                Cell(
                    duration(float(run.load.edges[place])),
                    f"#{replaced(address, {'at_s': float(run.load.edges[place])}).written()}",
                ),
                Cell(f"{bins[place]:.1%}"),
            ]
            for place in hot.tolist()
            if bins[place] > 0
        ],
        "why_not": run.load.why_not,
        **_users(exhibit, run, address, row, on_ready),
    }


def _users(
    exhibit: RunView, run: ViewedRun, address: Address, link: int, on_ready: OnReady
) -> dict[str, Any]:
    """Return the jobs that used a link at the moment, or in what is shown."""
    if address.at_s is None:
        window = (address.begin_s or 0.0, exhibit.end_s if address.end_s is None else address.end_s)
    else:
        window = (address.at_s, float(np.nextafter(address.at_s, np.inf)))
    found = _known(exhibit.users(run.name, link, window, on_ready))
    uses = found["there"] or []
    rows = [
        [
            to_job(address, str(use.job)),
            Cell(duration(use.begin_s)),
            Cell(duration(use.end_s - use.begin_s)),
            Cell(percent(use.share)),
        ]
        for use in uses[:_MOST_LISTED]
    ]
    return {
        "users": rows,
        "unknown": found["why_not"],
        "more": len(uses) - len(rows),
        "heading": "Jobs on it in what is shown" if address.at_s is None else "Jobs on it now",
    }


def _others(run: ViewedRun, address: Address, job: int, sides: tuple[str, str]) -> list[list[Cell]]:
    """Return the jobs that delayed a job, or that it delayed, the worst first."""
    blame = run.result.blame
    rows = blame[(blame[sides[0]] == job) & (blame["interference_delay_node_s"] > 0)]
    total = (
        rows.groupby(sides[1], sort=False)["interference_delay_node_s"]
        .sum()
        .sort_values(ascending=False)
    )
    found = []
    for other, lost in list(total.items())[:MOST]:
        own = rows[rows[sides[1]] == other].sort_values(
            "interference_delay_node_s", ascending=False
        )
        known = int(str(other)) in run.row
        found.append(
            [
                to_job(address, str(other)) if known else Cell("unknown"),
                Cell(f"{number(lost / 3600)} node-hours"),
                Cell(str(own["link_class"].iloc[0])),
            ]
        )
    return found


def to_job(address: Address, job: str) -> Cell:
    """Return a job that leads to its story."""
    return Cell(job, f"#{replaced(address, {'job': job}).written()}")


def to_cable(address: Address, cable: str) -> Cell:
    """Return a link that leads to its story."""
    return Cell(cable, f"#{replaced(address, {'cable': cable}).written()}")


def html(text: str) -> Markup:
    """Mark what templates here have written."""
    return Markup(text)  # noqa: S704 (escaped by the template)
