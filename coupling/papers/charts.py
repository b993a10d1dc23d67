"""Figures of papers: ours as bars, the paper's values drawn over them in ink."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullFormatter

from coupling.papers.claims import chosen_rows, published_value
from coupling.papers.paper import Axis, Chart, Frames, Paper
from coupling.report.figures import DrawnFigure
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
from netsim.common.arrays import Floats

_WIDE = 8  # letters and more from which labels of classes are turned
_KEYS = 4  # entries of a key beside each other; one less where a name is long
_LONG = 13  # letters


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
