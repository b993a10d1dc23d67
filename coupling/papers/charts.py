"""Figures of papers: ours as bars or lines, the paper's values drawn over them in ink."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullFormatter

from coupling.report.plots.colours import palette
from coupling.report.plots.style import (
    FAINT,
    HALF_WIDTH,
    INK,
    Picture,
    label_classes,
    places,
    put_key,
)
from netsim.common.arrays import Floats

COLUMNS = ("class", "run", "ours", "paper_low", "paper_high")
"""Of the numbers behind a figure; a range of the paper has two ends, a value twice the same."""
_WIDE = 8  # letters and more from which labels of classes are turned
_KEYS = 4  # entries of a key beside each other; one less where a name is long
_LONG = 13  # letters


@dataclass(frozen=True, slots=True)
class Axis:
    """How values are drawn."""

    label: str  # What they are
    # least, most: ends of the axis; by default those that the values need
    least: float | None = None
    most: float | None = None
    log: bool = False  # Whether powers of ten are evenly apart
    line: float | None = None  # Value at which a line is drawn, and from which bars go up and down


def published(
    ours: pd.DataFrame, paper: Mapping[tuple[str, str], float | tuple[float, float]]
) -> pd.DataFrame:
    """Add published values by class (``*``: all) and run, each a value or a range, to ours."""
    rows = []
    for kind, run, value in ours[["class", "run", "ours"]].itertuples(index=False, name=None):
        said = paper.get((kind, run), paper.get(("*", run), float("nan")))
        low, high = said if isinstance(said, tuple) else (said, said)
        rows.append([kind, run, value, low, high])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def bars(name: str, title: str, table: pd.DataFrame, axis: Axis) -> Picture:
    """Draw a bar for each class and run, and the published values over them."""
    return Picture(
        name,
        f"{title}; marks: the paper",
        partial(_paint_bars, table=table, axis=axis, title=title),
        lambda: table,
        HALF_WIDTH,
    )


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
        _mark(axes, row, width, own)
    _finish(axes, axis, classes, title)
    marked = bool(table["paper_low"].notna().any())
    key(figure, colours, ranges=_has_ranges(table), marked=marked)


def _mark(axes: Axes, x: Floats, width: float, own: pd.DataFrame) -> None:
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


def _finish(axes: Axes, axis: Axis, classes: Sequence[str], title: str) -> None:
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


def key(
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
