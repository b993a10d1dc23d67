"""The picture of the finding: what jobs lose to neighbours, beside what papers assume."""

from collections.abc import Iterator
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.finding.page import MIXES, PRICE, losses
from benchmarks.finding.runs import BASELINE, LOGS, SCATTERED
from coupling.report.plots.style import FAINT, INK, Picture, legend, palette

_MARKS = dict(zip(MIXES, "vo^", strict=True))
_NAMES = {BASELINE: "first-free", SCATTERED: "random nodes"}
_LEAST, _MOST = 5e-4, 2.0
_CLOSE = 1.35  # ratio of losses whose names would lie over each other


def picture(found: pd.DataFrame) -> Picture:
    """Draw node time lost to neighbours by communication fraction, for each log."""
    table = losses(found[found["log"].isin(list(LOGS))])
    return Picture(
        "finding",
        "Node time lost to neighbours by communication fraction, and what isolation costs",
        partial(_paint, table=table),
        lambda: table,
        (3.4, 5.4),
    )


def _paint(figure: Figure, table: pd.DataFrame) -> None:
    """Paint a field for each log, one above the other."""
    fields = figure.subplots(len(LOGS), 1, sharex=True, squeeze=False)[:, 0]
    colours = palette(list(_NAMES.values()))
    for axes, log in zip(fields, LOGS, strict=True):
        _paint_log(axes, table[table["log"] == log], log, colours)
    handles = [
        Line2D([], [], color=INK, marker=mark, markersize=3.5, linewidth=0.0, label=mix)
        for mix, mark in _MARKS.items()
    ]
    fields[0].legend(handles=handles, loc="lower right")
    fields[-1].set_xlabel("communication fraction")
    legend(figure, colours)


def _paint_log(axes: Axes, table: pd.DataFrame, log: str, colours: dict[str, str]) -> None:
    """Paint losses of a log, the papers' as dotted lines, and the price of isolation as a band."""
    drawn = table[(table["scenario"] == "") & table["allocator"].isin(list(_NAMES))]
    for (allocator, mix), own in drawn.sort_values("fraction").groupby(["allocator", "mix"]):
        colour = colours[_NAMES[str(allocator)]]
        ends = own[["low", "high"]].clip(lower=_LEAST)
        axes.vlines(own["fraction"], ends["low"], ends["high"], color=colour, linewidth=0.6)
        axes.plot(
            own["fraction"], own["loss"], color=colour, marker=_MARKS[str(mix)], markersize=3.5,
            linewidth=1.2 if mix == "mixed" else 0.5,
        )  # fmt: skip
    assumed_rows = table[table["scenario"] != ""].sort_values("loss")
    for value in assumed_rows["loss"]:
        axes.axhline(value, color=FAINT, linewidth=0.6, linestyle=":")
    for names, value in _together(
        dict(zip(assumed_rows["scenario"], assumed_rows["loss"], strict=True))
    ):
        place = (1.05, value)
        axes.annotate(names, place, color=INK, fontsize=6, va="center", annotation_clip=False)
    low, high = min(PRICE[log].values()), max(PRICE[log].values())
    axes.axhspan(low, high, color=FAINT, alpha=0.3, linewidth=0)
    axes.annotate(
        "price of isolation", (0.72, (low * high) ** 0.5), color=INK, fontsize=6, va="center"
    )
    axes.set_yscale("log")
    axes.set_ylim(_LEAST, _MOST)
    axes.set_yticks([0.001, 0.01, 0.1, 1.0], ["0.1 %", "1 %", "10 %", "100 %"])
    axes.set_xlim(0.05, 1.03)
    axes.set_xticks([0.1, 0.3, 0.5, 1.0], ["0.1", "0.3", "0.5", "1"])
    axes.set_ylabel("node time lost to neighbours")
    axes.set_title(log)


def _together(losses: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the names of assumptions whose losses are close, and where they are written."""
    names, begin = list[str](), 0.0
    for name, loss in losses.items():
        if names and loss > _CLOSE * begin:
            yield ", ".join(names), begin
            names = []
        begin = begin if names else loss
        names.append(name)
    yield ", ".join(names), begin
