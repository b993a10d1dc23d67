"""The report of an experiment: one self-contained HTML file of sections, pictures, tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from coupling.rates.rate_models import rate_model
from coupling.report.figures import FigureSection, run_figures
from coupling.report.page import Html, bullets, details, figures, page, paragraph
from coupling.report.plots.jobs import speedups_to
from coupling.report.plots.style import palette
from coupling.report.provenance import assumptions, provenance, subtitle
from coupling.report.summary_text import headlines, network_matters
from coupling.report.tables import (
    Colours,
    failure_section,
    hottest_links,
    infinite_table,
    interference_table,
    run_table,
    speedup_table,
    waiting_table,
)
from coupling.results.columns import finished
from coupling.results.comparison import comparable, find_baseline
from coupling.results.formatting import listing
from coupling.results.notes import accuracy_lines
from coupling.results.result import Result
from netsim.topology.base import Topology

_EMERGENT = "these numbers are not put in, they follow from placement, routing and sharing"
_ASSUMED = "what the scenario of model assumed states"


def report_html(
    results: Sequence[Result],
    experiment_tables: Mapping[str, Any],
    manifest: Mapping[str, Any],
    *,
    baseline: str | None = None,
    notes: Sequence[str] = (),
    fabrics: Mapping[str, Topology] | None = None,
) -> str:
    """Return the report as HTML; parameters as for `write_report`."""
    colours = palette([result.name for result in results])
    found = find_baseline(results, baseline)
    against = "Baseline" if found is None else found.name
    kind, origin = _speedup_origin(results, experiment_tables.get("network", {}).get("model"))
    drawn = run_figures(results, fabrics, baseline)
    over_time = drawn["link-time"]
    sections = [
        ("Runs compared" if len(results) > 1 else "The run", run_table(results, colours, baseline)),
        ("Over time", _section_pictures(drawn["time"])),
        ("Nodes over time", _noted_pictures(drawn["gantt"])),
        ("Interference and slowdown of jobs", _jobs_section(results, colours, drawn["jobs"])),
        ("Delay by victim and culprit", _noted_pictures(drawn["blame"])),
        (
            f"{kind} against {against}",
            _speedup_section(results, colours, baseline, origin, drawn["speedups"]),
        ),
        ("Price of waiting", _wait_section(results, colours)),
        *([("Failures", failure_section(results, colours))] if _has_failures(results) else []),
        ("Links", _link_section(results, colours, drawn)),
        *([("Links over time", _noted_pictures(over_time))] if over_time.figures else []),
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


def _has_failures(results: Sequence[Result]) -> bool:
    """Say whether something happened to the machine of a run."""
    return any("failures" in result.extras for result in results)


def _speedup_origin(results: Sequence[Result], model: object) -> tuple[str, str]:
    """Say whether speed-ups emerge or are assumed, run by run where that differs."""
    assumed = [
        result.name
        for result in results
        if not rate_model(
            str((result.summary.get("network") or {"model": model}).get("model"))
        ).emergent
    ]
    if not assumed:
        return "Speed-up", _EMERGENT
    if len(assumed) == len(results):
        return "Assumed speed-up", f"these numbers are {_ASSUMED}"
    return "Speed-up", f"{_EMERGENT}, but run times under {listing(assumed)} are {_ASSUMED}"


def _section_pictures(section: FigureSection) -> Html:
    """Return the pictures of a section with their captions."""
    return figures((drawn.picture.html(), drawn.caption) for drawn in section.figures)


def _noted_pictures(section: FigureSection) -> Html:
    """Return the pictures of a section below the sentence on all of them."""
    return (
        paragraph(section.note, "soft") + _section_pictures(section) if section.figures else Html()
    )


def _jobs_section(results: Sequence[Result], colours: Colours, section: FigureSection) -> Html:
    """Return the section of interference and slowdown."""
    if not section.figures:
        return paragraph("No job communicates, and none is slowed.")
    note = paragraph("Jobs that communicate or are slowed; all others have exactly 1.", "soft")
    return note + _section_pictures(section) + interference_table(results, colours)


def _speedup_section(
    results: Sequence[Result],
    colours: Colours,
    name: str | None,
    origin: str,
    section: FigureSection,
) -> Html:
    """Return the section of speed-ups."""
    baseline = comparable(results, name)
    if baseline is None or not section.figures:
        return Html()
    speedups = {name: table for name, table in speedups_to(results, baseline).items() if len(table)}
    note = paragraph(
        f"Run time of a job under {baseline.name} / run time here: {origin}. Above 1 the job runs "
        f"faster than under {baseline.name}.",
        "soft",
    )
    table = speedup_table(speedups, colours)
    return note + _section_pictures(section) + details("Counts, weights and numbers", table)


def _wait_section(results: Sequence[Result], colours: Colours) -> Html:
    """Return the section of what jobs waited for."""
    rows = waiting_table(results, colours)
    if not rows:
        return Html()
    note = paragraph(
        "Waiting by the first reason for which the scheduler passed a job over. Isolation itself: "
        "enough nodes were free, but no isolated partition. Behind such a job: others that waited "
        "while isolation delayed the job in front; some of them would have waited for nodes "
        "anyway. The whole price of isolation is the difference between runs.",
        "soft",
    )
    return note + rows


def _link_section(
    results: Sequence[Result], colours: Colours, drawn: Mapping[str, FigureSection]
) -> Html:
    if not drawn["links"].figures:
        return paragraph("No link carried anything.")
    maps = _noted_pictures(drawn["maps"]) or paragraph(drawn["maps"].note, "soft")
    return _section_pictures(drawn["links"]) + hottest_links(results, colours) + maps


def _self_check(results: Sequence[Result], colours: Colours) -> Html:
    """Return the section of the check against an infinite network."""
    rows = infinite_table(results, colours)
    if not rows:
        ran = any(len(finished(result.jobs)) for result in results)
        why = "the experiment has self_check = false" if ran else "no job ran"
        if ran and all(
            (result.summary.get("network") or {}).get("model") == "null" for result in results
        ):
            why = "model null is the infinite network itself"
        return paragraph(f"Not checked: {why}.")
    note = paragraph(
        "The same jobs, allocator and queue on a network of infinite capacity, where every "
        "slowdown is 1. The difference is all that topology, routing and contention cost here.",
        "soft",
    )
    return note + rows + bullets(network_matters(results))
