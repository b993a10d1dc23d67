"""Pictures over time: utilisation, queue and interference of each run."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from coupling.report.plots.style import Clock, Picture, hint, legend, palette, percent_axis
from coupling.results.formatting import number, percent, ratio
from coupling.results.over_time import binned
from coupling.results.picture_values import zone_of
from coupling.results.result import Result
from netsim.common.arrays import Floats

N_BINS = 150


def time_plots(results: Sequence[Result], begin_unix_s: float | None = None) -> dict[str, Picture]:
    """Draw utilisation, interference, queue and running jobs over time."""
    end_s = max((float(r.timeline["time_s"].max()) for r in results if len(r.timeline)), default=0)
    if not end_s > 0:
        return {}
    edges = np.linspace(0.0, end_s, N_BINS + 1)
    clock = Clock(end_s, begin_unix_s, zone_of(results))
    titles = {
        "utilization": ("Utilisation", "busy nodes"),
        "mean_interference": ("Interference", "mean interference"),
        "queued": ("Queue", "jobs waiting"),
        "running": ("Running", "jobs running"),
    }
    return {
        column: Picture(
            f"time-{column}",
            f"{title} over time for each run",
            partial(
                _paint_quantity,
                results=results,
                edges=edges,
                clock=clock,
                column=column,
                words=(title, unit),
            ),
            partial(_bin_means, results, edges, column),
        )
        for column, (title, unit) in titles.items()
    }


def _bin_means(results: Sequence[Result], edges: Floats, column: str) -> pd.DataFrame:
    """Return what is drawn: the begin of each bin, and the mean of every run in it."""
    means = {result.name: binned(result.timeline, column, edges) for result in results}
    return pd.DataFrame({"time_s": edges[:-1], **means})


def _paint_quantity(
    figure: Figure,
    *,
    results: Sequence[Result],
    edges: Floats,
    clock: Clock,
    column: str,
    words: tuple[str, str],
) -> None:
    """Draw one quantity of every run."""
    colours = palette([result.name for result in results])
    axes = figure.add_subplot()
    for result, colour in zip(results, colours.values(), strict=True):
        means = binned(result.timeline, column, edges)
        axes.stairs(means, clock.at(edges), baseline=None, color=colour)
    _hint_times(axes, results, edges, clock, column)
    axes.set_title(words[0])
    axes.set_ylabel(words[1])
    clock.label(axes)
    if column == "utilization":
        axes.set_ylim(0, 1.02)
        percent_axis(axes.yaxis)
        _mark_last_starts(axes, results, colours, clock)
    elif column != "mean_interference":
        axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
        axes.yaxis.set_major_locator(MaxNLocator("auto", steps=(1, 2, 2.5, 5, 10), integer=True))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    else:
        axes.set_ylim(bottom=1)
    legend(figure, colours)


def _hint_times(
    axes: Axes, results: Sequence[Result], edges: Floats, clock: Clock, column: str
) -> None:
    """Say what every run has at a time."""
    writers: dict[str, Callable[[float], str]]
    writers = {"utilization": percent, "mean_interference": ratio}
    write = writers.get(column, number)
    means = {result.name: binned(result.timeline, column, edges) for result in results}
    for place, (begin, end) in enumerate(pairwise(edges.tolist())):
        rows = [f"{name}: {write(float(own[place]))}" for name, own in means.items()]
        words = "\n".join([f"{clock.words(begin)} to {clock.words(end)}", *rows])
        hint(axes, words, (clock.at(begin), clock.at(end)))


def _mark_last_starts(
    axes: Axes, results: Sequence[Result], colours: Mapping[str, str], clock: Clock
) -> None:
    """Mark where the steady phase of each run ends."""
    for result, colour in zip(results, colours.values(), strict=True):
        last_s = float(result.jobs["start_s"].max())
        axes.plot(clock.at(last_s), 0.025, marker="v", color=colour, clip_on=False)
