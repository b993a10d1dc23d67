"""The papers; what their runs found, as a record; and the page that is made of it."""

import hashlib
import json
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullFormatter

from coupling.errors import ResultError
from coupling.inputs.files import Table, sheet_of, write_whole
from coupling.papers.claims import (
    Decision,
    chosen_rows,
    claim_table,
    decide,
    number_table,
    published_value,
)
from coupling.papers.mishra20 import MISHRA20
from coupling.papers.paper import Axis, Chart, Frames, Paper
from coupling.papers.pollard18 import POLLARD18
from coupling.papers.runs import Runs, from_json, to_json, words_of
from coupling.papers.smith21 import SMITH21
from coupling.papers.stoltzfus13 import STOLTZFUS13
from coupling.papers.yang import YANG
from coupling.report.figures import DrawnFigure, FigureSection, write_figures
from coupling.report.plots.style import (
    FAINT,
    HALF_WIDTH,
    INK,
    Picture,
    label_classes,
    palette,
    places,
    put_key,
)
from coupling.results.manifest import read_object, write_file
from netsim.common.arrays import Floats

_WIDE = 8  # letters and more from which labels of classes are turned
_KEYS = 4  # entries of a key beside each other; one less where a name is long
_LONG = 13  # letters
PAPERS: Mapping[str, Paper] = {
    paper.name: paper for paper in (POLLARD18, SMITH21, STOLTZFUS13, MISHRA20, YANG)
}
_VERSION = 2  # 1: before columns were renamed


def drawn_charts(paper: Paper, tables: Frames) -> list[DrawnFigure]:
    """Return the figures of a paper, in their order."""
    return [one for chart in paper.charts for one in _figures_of(paper.name, chart, tables)]


def _figures_of(paper: str, chart: Chart, tables: Frames) -> Iterator[DrawnFigure]:
    """Yield a figure for each of the values of the columns `each`."""
    table = chosen_rows(tables[chart.table], chart.rows)
    parts = table.groupby(list(chart.each), sort=False) if chart.each else [((), table)]
    for cells, own in parts:
        words = dict(zip(chart.each, map(str, cells), strict=True))
        name = re.sub(r"( on |, | )", "-", chart.name.format_map(words).lower().replace(" %", ""))
        numbers = _chart_numbers(own, chart, tuple(words.values()))
        title = chart.title.format_map(words)
        painter = partial(_paint_bars, table=numbers, axis=chart.axis, title=title)
        picture = Picture(
            f"{paper}-{name}", f"{title}; marks: the paper", painter, partial(_same_table, numbers),
            HALF_WIDTH,
        )  # fmt: skip
        yield DrawnFigure(name, picture, chart.caption.format_map(words))


def _same_table(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers behind a picture."""
    return numbers


def _chart_numbers(own: pd.DataFrame, chart: Chart, cells: tuple[str, ...]) -> pd.DataFrame:
    """Return the numbers behind a figure; a value of the paper has two equal ends."""
    rows = []
    for kind, run, value in own[[chart.kind, chart.run, chart.value]].itertuples(index=False):
        said = published_value(chart.paper, (*cells, str(kind), str(run)))
        ends = said if isinstance(said, tuple) else (said, said)
        rows.append([kind, run, value, *ends])
    table = pd.DataFrame(rows, columns=["class", "run", "ours", "paper_low", "paper_high"])
    return table.astype({"paper_low": "float64", "paper_high": "float64"})


def _paint_bars(figure: Figure, table: pd.DataFrame, axis: Axis, title: str) -> None:
    """Draw the bars on a figure."""
    axes = figure.add_subplot()
    classes = list(dict.fromkeys(table["class"]))
    runs = list(dict.fromkeys(table["run"]))
    colours = palette(runs)
    x, width = places(len(classes), len(runs))
    foot = next((own for own in (axis.line, axis.least) if own is not None), 0.0)
    for row, run in zip(x, runs, strict=True):
        own = table[table["run"] == run].set_index("class").reindex(classes)
        ours = own["ours"].to_numpy(dtype=np.float64)
        if axis.log:
            axes.bar(row, ours, width, color=colours[run])
        else:
            axes.bar(row, ours - foot, width, bottom=foot, color=colours[run])
        _draw_marks(axes, row, width, own)
    _label_axes(axes, axis, classes, title)
    marked = bool(table["paper_low"].notna().any())
    _draw_key(figure, colours, ranges=_has_ranges(table), marked=marked)


def _draw_marks(axes: Axes, x: Floats, width: float, own: pd.DataFrame) -> None:
    """Draw the paper's values: a diamond, or a line from end to end of a range."""
    for at, (kind, low, high) in zip(
        x, own[["paper_low", "paper_high"]].itertuples(name=None), strict=True
    ):
        if np.isnan(low):
            continue
        if low == high:
            (mark,) = axes.plot([at], [low], "D", color=INK, markersize=3.2, markeredgecolor="w",
                                markeredgewidth=0.4, zorder=4)  # fmt: skip
        else:
            half = width * 0.3
            (mark,) = axes.plot(
                [at - half, at + half, at, at, at - half, at + half],
                [low, low, low, high, high, high],
                color=INK, linewidth=0.9, zorder=4, solid_capstyle="butt",
            )  # fmt: skip
            mark.set_path_effects([withStroke(linewidth=2.0, foreground="w")])
        mark.set_gid(f"paper {kind} {low:g} {high:g}")


def _has_ranges(table: pd.DataFrame) -> bool:
    """Say whether the paper gives ranges."""
    both = table[["paper_low", "paper_high"]].dropna()
    return bool((both["paper_low"] != both["paper_high"]).any())


def _label_axes(axes: Axes, axis: Axis, classes: Sequence[str], title: str) -> None:
    """Label the axes."""
    label_classes(axes, classes)
    if sum(map(len, classes)) + len(classes) > 5 * _WIDE:
        axes.tick_params(axis="x", labelrotation=20)
    if axis.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(axis.least, axis.most)
    if axis.line is not None:
        axes.axhline(axis.line, color=FAINT, linewidth=0.8, zorder=0.9)
    axes.set_ylabel(axis.label)
    axes.set_title(title)


def _draw_key(
    figure: Figure, colours: Mapping[str, str], *, ranges: bool = False, marked: bool = True
) -> None:
    """Put the key of runs above a figure, with the paper's mark."""
    handles: list[Patch | Line2D] = [
        Patch(color=colour, label=name) for name, colour in colours.items()
    ]
    if marked:
        shape = "_" if ranges else "D"
        handles.append(
            Line2D([], [], color=INK, marker=shape, markersize=4, linestyle="", label="paper")
        )
    longest = max((len(name) for name in colours), default=0)
    columns = min(len(handles), _KEYS - (longest > _LONG))
    put_key(figure, handles, columns)


@dataclass(frozen=True, slots=True, eq=False)
class PaperRecord:
    """What was found, and from what."""

    paper: Paper  # The paper
    quick: bool  # Whether the quick mode ran
    changes: tuple[str, ...]  # Fields that were set over those of the experiment files
    only: tuple[str, ...]  # Experiment files that ran, where not all did
    made: str  # Date and versions
    frames: Mapping[str, pd.DataFrame]  # What was found

    @property
    def command(self) -> str:
        """What to type to find it again."""
        logs = " --logs DIR" if self.paper.logs else ""
        mode = " --quick" if self.quick else logs
        words = [f" --only {name}" for name in self.only]
        words += [f" --set '{change}'" for change in self.changes]
        return f"fabricsim paper {self.paper.name}{mode}" + "".join(words)

    def save(self, path: Path) -> None:
        """Write the record."""
        frames = {name: to_json(table) for name, table in self.frames.items()}
        document = {
            "version": _VERSION,
            "paper": self.paper.name,
            "quick": self.quick,
            "changes": list(self.changes),
            "only": list(self.only),
            "made": self.made,
            "sha256": _frames_hash(frames),
            "frames": frames,
        }
        write_file(path, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path, paper: Paper) -> "PaperRecord":
        """Read a record of a paper."""
        table = Table(read_object(path), f"{path}:", ResultError)
        table.integer("version", least=_VERSION, most=_VERSION)
        if table.text("paper") != paper.name:
            raise table.error("paper", paper.name)
        if table.text("sha256") != _frames_hash(table.mapping("frames")):
            raise table.fault("frames", "they were changed since the record was written (sha256).")
        frames = {name: from_json(one) for name, one in table.mapping("frames").items()}
        return cls(
            paper,
            table.flag("quick", default=False),
            table.names("changes"),
            table.names("only") if table.raw("only", None) is not None else (),
            table.text("made"),
            frames,
        )


def _frames_hash(frames: Mapping[str, object]) -> str:
    """Return the SHA-256 of what was found, whatever the layout of the file."""
    return hashlib.sha256(json.dumps(frames, sort_keys=True).encode()).hexdigest()


def record_of(
    name: str, runs: Runs, changes: Sequence[str], only: Sequence[str] = ()
) -> PaperRecord:
    """Find the numbers of a paper in its runs."""
    paper = PAPERS[name]
    versions = ", ".join(f"{one} {version(one)}" for one in ("fabricsim", "numpy", "numba"))
    today = datetime.now(UTC).date().isoformat()
    made = f"{today}, Python {platform.python_version()}, {versions}"
    found = {key: from_json(to_json(table)) for key, table in paper.study(runs).items()}
    return PaperRecord(paper, runs.quick, tuple(changes), tuple(only), made, found)


def decisions_of(record: PaperRecord) -> list[Decision]:
    """Return the claims of a paper with the numbers of a record."""
    tables = record.paper.tables(record.frames)
    return [decide(claim, tables, quick=record.quick) for claim in record.paper.claims]


def page_text(record: PaperRecord) -> str:
    """Return the page of a record as Markdown; the same for the same record."""
    paper = record.paper
    remake = f"fabricsim paper {paper.name} --recorded {paper.name}.json --out DIR"
    drawn = drawn_charts(paper, paper.tables(record.frames))
    parts = [
        f"# {paper.title}",
        f"<!-- Written by `{remake}`: change the record or the code, not this page. -->",
        f"Made by `{record.command}` ({record.made}). Source: {paper.key}.",
        words_of(paper.name, "setup"),
        "## Claims",
        f"```{{csv-table}}\n:file: {paper.name}/claims.csv\n:header-rows: 1\n```",
        "## Numbers",
        f"One a row, with its 95 % interval over samples: [numbers.csv]({paper.name}/numbers.csv).",
        f"```{{csv-table}}\n:file: {paper.name}/numbers.csv\n:header-rows: 1\n```",
        "## Why they differ",
        words_of(paper.name, "reasons"),
        "## What quick mode decides",
        words_of(paper.name, "quick"),
        "## Figures",
        "Marks are the paper's values.",
        *(f"![{one.picture.alt.partition(';')[0]}]({paper.name}/{one.name}.svg)" for one in drawn),
    ]
    return "\n\n".join(parts) + "\n"


def write_page(record: PaperRecord, folder: Path) -> Path:
    """Write the page of a record, its tables as CSV, and its figures as PDF, SVG and CSV."""
    paper = record.paper
    inner = folder / paper.name
    try:
        inner.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
    tables = paper.tables(record.frames)
    write_figures({"": FigureSection(tuple(drawn_charts(paper, tables)))}, inner)
    decisions = decisions_of(record)
    written = {f"table-{name.replace(' ', '-')}": table for name, table in tables.items()}
    written |= {"claims": claim_table(decisions), "numbers": number_table(decisions)}
    for name, table in written.items():
        write_whole(inner / f"{name}.csv", sheet_of(table))
    page = folder / f"{paper.name}.md"
    write_whole(page, page_text(record))
    return page
