"""The figures of a report, section by section: for the page, for papers, and as numbers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coupling.errors import ResultError
from coupling.inputs.files import sheet_of, write_whole
from coupling.report.plots.blame import MOST, blame_pictures
from coupling.report.plots.gantt import gantt_pictures, link_time_pictures, time_plots
from coupling.report.plots.jobs import slowdown_plots, speedup_plots, speedups_to
from coupling.report.plots.layout import wiring_of
from coupling.report.plots.links import link_maps, load_plots
from coupling.report.plots.style import Picture, palette
from coupling.results.comparison import comparable
from coupling.results.picture_values import begin_of
from coupling.results.result import Result
from netsim.topology.base import Topology

_UNSAFE = re.compile(r"[^A-Za-z0-9_+.-]")  # in names of files
_BOX = "Box: quartiles, line in it: median, whiskers: 5 to 95 %, diamond: mean"
_TIME = {
    "utilization": "Nodes asked for by running jobs. Look for the level and for gaps; a "
    "triangle marks the last start of each run, after which the machine only drains.",
    "running": "Jobs that run.",
    "queued": "Jobs that wait. A queue that stays longer means later starts for all.",
    "mean_interference": "Mean over running jobs, weighted by nodes. Where a line is at 1, no "
    "running job disturbs another.",
}
_JOBS = {
    "tail": "How many jobs are hit how hard: the further right a line reaches, the worse the "
    "worst jobs. A run in which no job disturbs another has no line.",
    "lost": "Losses by size: the sizes that lose most to interference need not be slowed most.",
    "interference-size": f"Together / alone on the same nodes. {_BOX}; number of jobs below.",
    "interference-pattern": "The same by communication pattern.",
    "slowdown-size": "Together / ideal: interference and the price of the placement itself.",
    "slowdown-pattern": "The same by communication pattern.",
}
_LINKS = {
    "load": "Bytes carried / (capacity * length of the run). Box: quartiles, whiskers: 5 to "
    "95 %, dot: the busiest link. A dot far above its box is a hot spot.",
    "lost": "Where jobs lose: each job's loss is booked at the link that holds it up most.",
}
_GANTT = (
    "Every node in the order of the fabric, over time. Colour: mean slowdown of the jobs in a "
    "cell; pale: idle for a part of it; empty: idle. One scale for all runs."
)
_LINK_TIME = (
    "Every link over time, by class in the order of the fabric, the nodes' own at the bottom. "
    "Colour: the largest load that a cell holds. One scale for all runs."
)
_BLAME = (
    f"Node-hours that each victim lost to interference, by the job that caused it: the {MOST} "
    "victims and culprits of most loss, all others summed up. One scale for all "
    "runs; sums over others in grey, the largest darkest."
)


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A picture with its name, and a caption, which may be empty."""

    name: str
    picture: Picture
    caption: str = ""


@dataclass(frozen=True, slots=True)
class FigureSection:
    """Pictures that belong together, with a sentence on all of them."""

    figures: tuple[DrawnFigure, ...] = ()
    note: str = ""


def run_figures(
    results: Sequence[Result],
    fabrics: Mapping[str, Topology] | None = None,
    baseline: str | None = None,
) -> dict[str, FigureSection]:
    """Return all figures of runs by section; those with nothing to draw are empty."""
    known = dict(fabrics or {})
    for result in results:
        if result.name not in known and (found := wiring_of(result.links)) is not None:
            known[result.name] = found
    begin = begin_of(results)
    colours = palette([result.name for result in results])
    reference = comparable(results, baseline)
    speedups = {k: table for k, table in speedups_to(results, reference).items() if len(table)}
    sped = speedup_plots(speedups, colours) if speedups else {}
    against = reference.name if reference is not None else ""
    ring = f"{_BOX}, ring: mean weighted by node time under {against}."
    maps, words = link_maps(results, known)
    note = (
        f"The load of every link between switches. {words} One scale for all runs."
        if maps
        else "No map: the names of links do not show the wiring."
    )
    return {
        "time": _captioned_section(time_plots(results, begin), _TIME),
        "gantt": _captioned_section(gantt_pictures(results, known, begin), {}, _GANTT),
        "jobs": _captioned_section(slowdown_plots(results), _JOBS),
        "blame": _captioned_section(blame_pictures(results), {}, _BLAME),
        "speedups": _captioned_section(
            sped,
            {"speedup-size": ring, "speedup-pattern": "The same by communication pattern."},
        ),
        "links": _captioned_section(load_plots(results), _LINKS),
        "maps": _captioned_section(maps, {}, note),
        "link-time": _captioned_section(link_time_pictures(results, begin), {}, _LINK_TIME),
    }


def write_figures(sections: Mapping[str, FigureSection], folder: Path) -> list[Path]:
    """Write every figure for a paper: PDF and SVG one column wide, and its numbers as CSV."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{folder}: cannot be used for figures: {error.strerror}.") from error
    written, taken = list[Path](), set[str]()
    for group, section in sections.items():
        for drawn in section.figures:
            stem = _free_name(f"{group}{'-' if group else ''}{_UNSAFE.sub('_', drawn.name)}", taken)
            files = {form: drawn.picture.file(form) for form in ("pdf", "svg")}
            if drawn.picture.data is not None:
                files["csv"] = sheet_of(drawn.picture.data()).encode("utf-8")
            for form, data in files.items():
                written.append(folder / f"{stem}.{form}")
                write_whole(written[-1], data)
    return written


def _free_name(stem: str, taken: set[str]) -> str:
    """Return a name that no other figure has, also where case does not count; remember it."""
    name, number = stem, 1
    while name.lower() in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name.lower())
    return name


def _captioned_section(
    pictures: Mapping[str, Picture], captions: Mapping[str, str], note: str = ""
) -> FigureSection:
    """Put captions to pictures."""
    drawn = (
        DrawnFigure(name, picture, captions.get(name, "")) for name, picture in pictures.items()
    )
    return FigureSection(tuple(drawn), note)
