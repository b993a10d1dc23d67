"""The report of an experiment: one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coupling.errors import ResultError
from coupling.pace.rate_models import rate_model
from coupling.report.page import Html, bullets, details, figures, page, paragraph
from coupling.report.plots.jobs import slowdown_plots, speedup_plots, speedups_to
from coupling.report.plots.links import load_plots, tree_maps
from coupling.report.plots.over_time import time_plots
from coupling.report.plots.style import palette
from coupling.report.provenance import assumptions, provenance, subtitle
from coupling.report.tables import (
    Colours,
    hottest_links,
    infinite_table,
    interference_table,
    run_table,
    speedup_table,
)
from coupling.report.words import headlines, network_matters
from coupling.results.comparison import comparable, finished
from coupling.results.readable import listing
from coupling.results.remarks import accuracy_lines
from coupling.results.result import Result
from fabricsim.checking import choice, path_of
from netsim.wholefile import replace_file

_BOX = "Box: quartiles, line in it: median, whiskers: 5 to 95 %, diamond: mean"
_EMERGENT = "these numbers are not put in, they follow from placement, routing and sharing"
_ASSUMED = "what the scenario of model assumed states"


def write_report(
    results: Sequence[Result],
    experiment_tables: Mapping[str, Any],
    manifest: Mapping[str, Any],
    path: Path,
    *,
    baseline: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """
    Write a report of one or more runs of an experiment.

    Parameters
    ----------
    results : sequence of Result
        The runs, at least one, each with its own name.
    experiment_tables : mapping
        As from `coupling.experiments.experiment.Experiment.tables`.
    manifest : mapping
        Where the results come from; the only source of dates.
    path : Path
        The HTML file; replaced if it exists.
    baseline : str, optional
        Name of the run to compare with, empty for none; by default as for `find_baseline`.
    notes : sequence of str, optional
        Said first: what a reader must know about these runs.

    Raises
    ------
    ResultError
        If there is no run, none of the baseline's name, or the file cannot be written.

    Notes
    -----
    The file needs no other one and no network. Equal input gives equal bytes.
    """
    if not results:
        raise ResultError(f"{path}: expected at least one run to report, got none.")
    path = path_of("path", path, error=ResultError)
    if baseline:
        choice("baseline", baseline, [result.name for result in results], error=ResultError)
    text = report_html(results, experiment_tables, manifest, baseline=baseline, notes=notes)
    try:
        replace_file(path, text)
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror}.") from error


def report_html(
    results: Sequence[Result],
    experiment_tables: Mapping[str, Any],
    manifest: Mapping[str, Any],
    *,
    baseline: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """
    Return the report as HTML.

    Parameters
    ----------
    results : sequence of Result
        The runs, at least one, each with its own name.
    experiment_tables, manifest : mapping
        As for `write_report`.
    baseline : str, optional
        As for `write_report`.
    notes : sequence of str, optional
        As for `write_report`.

    Returns
    -------
    str
        The document.
    """
    colours = palette([result.name for result in results])
    kind, origin = _origin(results, experiment_tables.get("network", {}).get("model"))
    sections = [
        ("Runs compared" if len(results) > 1 else "The run", run_table(results, colours, baseline)),
        ("Over time", _over_time(results)),
        ("Interference and slowdown of jobs", _jobs(results, colours)),
        (
            f"{kind} against Baseline",
            _speedups(results, colours, baseline, origin),
        ),
        ("Links", _links(results, colours)),
        ("Does my topology matter?", _self_check(results, colours)),
        ("What had to be assumed", assumptions(results, experiment_tables, manifest)),
        ("Where this comes from", provenance(results, experiment_tables, manifest)),
    ]
    title = f"{manifest.get('name', 'experiment')}: what jobs do to each other"
    return page(
        title,
        subtitle(results, manifest),
        bullets([*notes, *headlines(results, baseline), *accuracy_lines(results)]),
        sections,
    )


def _origin(results: Sequence[Result], model: object) -> tuple[str, str]:
    """Say whether speed-ups emerge or are assumed, run by run where that differs."""
    assumed = [
        result.name
        for result in results
        if not rate_model(
            str((result.summary.get("network") or {"model": model}).get("model"))
        ).emergent
    ]
    if not assumed:
        return "Emergent speed-up", _EMERGENT
    if len(assumed) == len(results):
        return "Assumed speed-up", f"these numbers are {_ASSUMED}"
    return "Speed-up", f"{_EMERGENT}, but run times under {listing(assumed)} are {_ASSUMED}"


def _over_time(results: Sequence[Result]) -> Html:
    """Return the section of what happens over time."""
    plots = time_plots(results)
    captions = {
        "utilization": "Nodes asked for by running jobs. Look for the level and for gaps; a "
        "triangle marks the last start of each run, after which the machine only drains.",
        "running": "Jobs that run.",
        "queued": "Jobs that wait. A queue that stays longer means later starts for all.",
        "mean_interference": "Mean over running jobs, weighted by nodes. Where a line is at 1, no "
        "running job disturbs another.",
    }
    return figures((plot, captions[name]) for name, plot in plots.items())


def _jobs(results: Sequence[Result], colours: Colours) -> Html:
    """Return the section of interference and slowdown."""
    plots = slowdown_plots(results)
    if not plots:
        return paragraph("No job communicates, and none is slowed.")
    captions = {
        "tail": "How many jobs are hit how hard: the further right a line reaches, the worse the "
        "worst jobs. A run in which no job disturbs another has no line.",
        "lost": "Who pays: the sizes that lose most to interference need not be slowed most.",
        "interference-size": f"Together / alone on the same nodes. {_BOX}; number of jobs below.",
        "interference-pattern": "The same by communication pattern.",
        "slowdown-size": "Together / ideal: interference and the price of the placement itself.",
        "slowdown-pattern": "The same by communication pattern.",
    }
    pictures = figures((plot, captions[name]) for name, plot in plots.items())
    note = paragraph("Jobs that communicate or are slowed; all others have exactly 1.", "soft")
    return note + pictures + interference_table(results, colours)


def _speedups(results: Sequence[Result], colours: Colours, name: str | None, origin: str) -> Html:
    """Return the section of speed-ups."""
    baseline = comparable(results, name)
    speedups = {name: table for name, table in speedups_to(results, baseline).items() if len(table)}
    if baseline is None or not speedups:
        return Html()
    plots = speedup_plots(speedups, colours)
    note = paragraph(
        f"Run time of a job under {baseline.name} / run time here: {origin}. Above 1 the job runs "
        f"faster than under {baseline.name}.",
        "soft",
    )
    captions = {
        "speedup-size": f"{_BOX}, ring: mean weighted by node-seconds under {baseline.name}.",
        "speedup-pattern": "The same by communication pattern.",
    }
    pictures = figures((plot, captions[name]) for name, plot in plots.items())
    return (
        note + pictures + details("Counts, weights and numbers", speedup_table(speedups, colours))
    )


def _links(results: Sequence[Result], colours: Colours) -> Html:
    """Return the section of links."""
    plots = load_plots(results)
    if not plots:
        return paragraph("No link carried anything.")
    captions = {
        "load": "Bytes carried / (capacity * length of the run). Box: quartiles, whiskers: 5 to "
        "95 %, dot: the busiest link. A dot far above its box is a hot spot.",
        "lost": "Where jobs lose: each job's loss is booked at the link that holds it up most.",
    }
    maps = tree_maps(results)
    note = (
        "The load of every link between switches. A column per switch in the order of the tree, a "
        "row per port: bright columns are busy switches, bright spots single hot links. One scale "
        "for all runs."
        if maps
        else "No map: the links are not named as those of a fat-tree."
    )
    return (
        figures((plot, captions[name]) for name, plot in plots.items())
        + hottest_links(results, colours)
        + paragraph(note, "soft")
        + figures((picture, "") for picture in maps.values())
    )


def _self_check(results: Sequence[Result], colours: Colours) -> Html:
    """Return the section of the check against an infinite network."""
    rows = infinite_table(results, colours)
    if not rows:
        ran = any(len(finished(result.jobs)) for result in results)
        why = "the experiment has self_check = false" if ran else "no job ran"
        return paragraph(f"Not checked: {why}.")
    note = paragraph(
        "The same jobs, allocator and queue on a network of infinite capacity, where every "
        "slowdown is 1. The difference is all that topology, routing and contention cost here.",
        "soft",
    )
    return note + rows + bullets(network_matters(results))
