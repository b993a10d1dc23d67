"""Pictures over time: utilisation, queue and interference of each run."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from coupling.report.plots.style import Clock, Picture, chart, hint, palette, percent_axis
from coupling.results.formatting import number, percent, ratio
from coupling.results.over_time import binned
from coupling.results.picture_values import zone_of
from coupling.results.result import Result
from netsim.common.arrays import Floats

N_BINS = 150
_WRITERS: Mapping[str, Callable[[float], str]] = {
    "utilization": percent,
    "mean_interference": ratio,
}


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
    colours = palette([result.name for result in results])

    def picture(column: str, title: str, unit: str) -> Picture:
        means = {result.name: binned(result.timeline, column, edges) for result in results}
        return chart(
            f"time-{column}",
            f"{title} over time for each run",
            lambda axes: _draw_quantity(axes, results, means, (edges, clock), (column, unit)),
            lambda: pd.DataFrame({"time_s": edges[:-1], **means}),
            title=title,
            key=colours,
        )

    return {column: picture(column, *words) for column, words in titles.items()}


def _draw_quantity(
    axes: Axes,
    results: Sequence[Result],
    means: Mapping[str, Floats],
    times: tuple[Floats, Clock],
    what: tuple[str, str],
) -> None:
    """Draw one quantity of every run: its column, and what the axis says."""
    (edges, clock), (column, unit) = times, what
    colours = palette([result.name for result in results])
    for name, own in means.items():
        axes.stairs(own, clock.at(edges), baseline=None, color=colours[name])
    write = _WRITERS.get(column, number)
    for place, (begin, end) in enumerate(pairwise(edges.tolist())):
        rows = [f"{name}: {write(float(own[place]))}" for name, own in means.items()]
        words = "\n".join([f"{clock.words(begin)} to {clock.words(end)}", *rows])
        hint(axes, words, (clock.at(begin), clock.at(end)))
    axes.set_ylabel(unit)
    clock.label(axes)
    if column == "utilization":
        axes.set_ylim(0, 1.02)
        percent_axis(axes.yaxis)
        for result in results:  # where its steady phase ends
            last = clock.at(float(result.jobs["start_s"].max()))
            axes.plot(last, 0.025, marker="v", color=colours[result.name], clip_on=False)
    elif column != "mean_interference":
        axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
        axes.yaxis.set_major_locator(MaxNLocator("auto", steps=(1, 2, 2.5, 5, 10), integer=True))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    else:
        axes.set_ylim(bottom=1)
