"""Every link over time, ordered by the fabric: which were busy when."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coupling.report.plots.style import HALF_WIDTH, Clock, Picture, add_bar, hint, name_ticks
from coupling.results.formatting import percent
from coupling.results.picture_values import TIMELINE, heat, in_order, load_of, zone_of
from coupling.results.result import Result
from netsim.common.arrays import Floats, Ints

_HINTS = 12, 24  # parts with a hint, across links and time
_TIMES, _ROWS = 480, 240  # cells at most: about what a screen and an eye tell apart


@dataclass(frozen=True, slots=True, eq=False)
class LinkTimes:
    """Load of links in cells of the picture."""

    load: Floats  # (R, T): the largest load in each cell; NaN after the run
    first: Ints  # (R,): first link of each row, as a row of the table of links
    end_s: float  # Where the cells end
    links: pd.DataFrame  # The table of links

    def table(self) -> pd.DataFrame:
        """Return first link, begin and load of each used cell."""
        row, column = np.nonzero(np.nan_to_num(self.load) > 0)
        names = self.links["link"].to_numpy()[self.first]
        return pd.DataFrame(
            {
                "first_link": names[row],
                "time_s": (column * self.end_s / self.load.shape[1]).round(3),
                "busy_fraction": self.load[row, column].round(6),
            }
        )


def link_time_pictures(
    results: Sequence[Result], begin_unix_s: float | None = None
) -> dict[str, Picture]:
    """Draw the load of links over time, on one scale, of runs that recorded it."""
    loads = {
        result.name: load_of(result.links, result.extras[TIMELINE])
        for result in results
        if TIMELINE in result.extras
    }
    loads = {name: load for name, load in loads.items() if not load.why_not}
    if not loads:
        return {}
    end_s = max(float(load.edges[-1]) for load in loads.values())
    scale = max(load.most for load in loads.values())
    clock = Clock(end_s, begin_unix_s, zone_of(results))
    pictures = {}
    for place, result in enumerate(result for result in results if result.name in loads):
        order = in_order(result.links)
        shape = (min(_ROWS, order.size), _TIMES)
        cells = heat(loads[result.name], order, (0.0, end_s), shape)
        starts = -(-np.arange(shape[0]) * order.size // shape[0])  # of rows, as `heat` puts them
        found = LinkTimes(cells, order[starts], end_s, result.links)
        pictures[result.name] = Picture(
            f"link-time-{place}",
            f"Load of every link over time under {result.name}",
            partial(_paint_run, found=found, clock=clock, scale=scale, title=result.name),
            found.table,
            (HALF_WIDTH[0], 3.6),
        )
    return pictures


def _paint_run(figure: Figure, found: LinkTimes, clock: Clock, scale: float, title: str) -> None:
    """Draw one run."""
    axes = figure.add_subplot()
    draw_link_times(axes, found, clock, scale)
    axes.set_title(title)


def _hint_parts(axes: Axes, found: LinkTimes, clock: Clock) -> None:
    """Say of parts of the picture how loaded their busiest link is."""
    n_rows, n_columns = found.load.shape
    names = found.links["link"].to_numpy()
    rows = np.unique(np.linspace(0, n_rows, min(_HINTS[0], n_rows) + 1).astype(np.int64))
    columns = np.linspace(0, n_columns, _HINTS[1] + 1).astype(np.int64)
    for low, high in pairwise(rows.tolist()):
        for left, right in pairwise(columns.tolist()):
            most = float(np.nan_to_num(found.load[low:high, left:right]).max())
            begin, end = (side * found.end_s / n_columns for side in (left, right))
            words = (
                f"from {names[found.first[low]]}\n{clock.words(begin)} to {clock.words(end)}\n"
                f"busiest link {percent(most)}"
            )
            hint(axes, words, (clock.at(begin), clock.at(end)), (low, high))


def draw_link_times(axes: Axes, found: LinkTimes, clock: Clock, scale: float) -> None:
    """Draw links over time, classes of links below each other."""
    height = found.load.shape[0]
    image = axes.imshow(
        found.load,
        extent=(float(clock.at(0.0)), float(clock.at(found.end_s)), 0.0, float(height)),
        aspect="auto", origin="lower", interpolation="nearest", cmap="cividis",
        vmin=0.0, vmax=scale,
    )  # fmt: skip
    _hint_parts(axes, found, clock)
    clock.label(axes)
    axes.grid(visible=False)
    classes = found.links["class"].astype(str).to_numpy()[found.first]
    names = list(dict.fromkeys(classes))
    middles = [float(np.flatnonzero(classes == name).mean()) + 0.5 for name in names]
    name_ticks(axes.yaxis, middles, [name[:14] for name in names])
    axes.tick_params(axis="y", labelsize="small", length=0)
    for name in names[1:]:
        axes.axhline(float(np.flatnonzero(classes == name)[0]), color="white", linewidth=0.8)
    add_bar(image, [axes], "busy fraction", percent=True)
