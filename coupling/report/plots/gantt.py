"""Pictures over time: which nodes were busy, and how slowed; load of links; lines of a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from coupling.report.plots.style import (
    HALF_WIDTH,
    Clock,
    Picture,
    add_bar,
    chart,
    grid_parts,
    hint,
    name_ticks,
    palette,
    percent_axis,
)
from coupling.results.columns import finished
from coupling.results.formatting import number, percent, ratio
from coupling.results.over_time import binned
from coupling.results.picture_values import (
    TIMELINE,
    heat,
    hosts_of,
    in_order,
    load_of,
    node_names,
    slowdown_scale,
    zone_of,
)
from coupling.results.result import Result
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology

_TIMES, _ROWS = 480, 240  # cells of the map at most: about what a screen and an eye tell apart
_TICKS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Gantt:
    """A map of nodes and time."""

    # (R, T): mean slowdown of the jobs in each cell, weighted by node time; NaN where all is idle
    network_slowdown: Floats
    busy: Floats  # (R, T): share of the cell's node time in which jobs ran
    # node_edges, time_edges: bounds of rows, in nodes, and of columns, in seconds
    node_edges: Floats
    time_edges: Floats
    names: tuple[str, ...]  # Name of every node, in the order of the rows
    # (R, T): share of the cell's node time in runs that failed; None where no run did
    failed: Floats | None = None

    def table(self) -> pd.DataFrame:
        """Return first node, begin, busy share and slowdown of each used cell."""
        used = self.busy if self.failed is None else self.busy + self.failed
        row, column = np.nonzero(used > 0)
        lost = {} if self.failed is None else {"failed": self.failed[row, column].round(6)}
        first = np.floor(self.node_edges[row]).astype(np.int64)
        return pd.DataFrame(
            {
                "first_node": [self.names[node] for node in first],
                "time_s": self.time_edges[column].round(3),
                "busy": self.busy[row, column].round(6),
                "network_slowdown": self.network_slowdown[row, column].round(6),
                **lost,
            }
        )


def gantt_of(
    result: Result, topology: Topology | None = None, end_s: float | None = None
) -> Gantt | None:
    """Sum jobs up by nodes and time; None where none ran, or nodes are not of the fabric."""
    names = node_names(result, topology)
    jobs = finished(result.jobs)
    jobs = jobs.loc[
        np.isfinite(jobs[["start_s", "end_s", "network_slowdown"]].to_numpy(dtype=float)).all(
            axis=1
        )
    ]
    end_s = float(jobs["end_s"].max()) if end_s is None else end_s
    if jobs.empty or not names or not end_s > 0:
        return None
    rows, columns = min(_ROWS, len(names)), _TIMES
    try:
        busy, slowed = _cells(jobs, names, end_s, ("", "network_slowdown"))
        failures = result.extras.get("failures")
        lost = None
        if failures is not None and len(failures):
            (lost,) = _cells(failures, names, end_s, ("",))
    except TopologyError:
        return None
    per_row = np.bincount(np.arange(len(names)) * rows // len(names), minlength=rows)
    mean = np.full(busy.shape, np.nan)
    np.divide(slowed, busy, out=mean, where=busy > 1e-9)  # noqa: PLR2004 (rounding)
    return Gantt(
        mean,
        np.clip(busy / per_row[:, None], 0.0, 1.0) * (busy > 1e-9),  # noqa: PLR2004
        np.ceil(np.arange(rows + 1) * len(names) / rows),
        np.linspace(0.0, end_s, columns + 1),
        tuple(names),
        None if lost is None else np.clip(lost / per_row[:, None], 0.0, 1.0) * (lost > 1e-9),  # noqa: PLR2004
    )


def _cells(
    runs: pd.DataFrame, names: Sequence[str], end_s: float, weights: Sequence[str]
) -> list[Floats]:
    """Return node time of runs by cell, each weighted by a column, or by 1 for no name."""
    run, node = hosts_of(runs["nodes"], names)
    rows, cell_s = min(_ROWS, len(names)), end_s / _TIMES
    start, end = (runs[name].to_numpy(dtype=float)[run] / cell_s for name in ("start_s", "end_s"))
    fill = partial(_fill_cells, node * rows // len(names), start, end, (rows, _TIMES))
    return [
        fill(runs[name].to_numpy(dtype=float)[run] if name else np.ones(run.size))
        for name in weights
    ]


def _fill_cells(
    row: Ints, start: Floats, end: Floats, shape: tuple[int, int], weight: Floats
) -> Floats:
    """Sum weights over cells, each by the part of the cell's time between start and end."""
    rows, columns = shape
    change = np.zeros(rows * (columns + 2))
    for edge, sign in ((start, 1.0), (end, -1.0)):
        cell = np.clip(np.floor(edge), 0, columns).astype(np.int64)
        part = np.clip(edge - cell, 0.0, 1.0)
        at = row * (columns + 2) + cell
        change += np.bincount(at, sign * weight * (1.0 - part), minlength=change.size)
        change += np.bincount(at + 1, sign * weight * part, minlength=change.size)
    filled: Floats = np.cumsum(change.reshape(rows, columns + 2), axis=1)[:, :columns]
    return filled


def gantt_pictures(
    results: Sequence[Result],
    fabrics: Mapping[str, Topology],
    begin_unix_s: float | None = None,
) -> dict[str, Picture]:
    """Draw nodes and time of each run. `begin_unix_s`: moment of second 0 in the log."""
    ends = [float(finished(result.jobs)["end_s"].max()) for result in results]
    end_s = max((end for end in ends if end > 0), default=0.0)
    maps = {result.name: gantt_of(result, fabrics.get(result.name), end_s) for result in results}
    found = {name: own for name, own in maps.items() if own is not None}
    if not found:
        return {}
    scale = slowdown_scale(results)
    clock = Clock(end_s, begin_unix_s, zone_of(results))
    return {
        name: chart(
            f"gantt-{place}",
            f"Nodes over time under {name}, by slowdown"
            + ("" if own.failed is None else "; runs that failed in red"),
            partial(draw_gantt, gantt=own, clock=clock, scale=scale),
            own.table,
            title=name,
            size=(HALF_WIDTH[0], 3.6),
        )
        for place, (name, own) in enumerate(found.items())
    }


def _hint_parts(axes: Axes, gantt: Gantt, clock: Clock) -> None:
    """Say of parts of the map how busy and how slowed they are."""
    slowed = np.nan_to_num(gantt.network_slowdown) * gantt.busy
    for low, high, left, right in grid_parts(gantt.busy.shape):
        nodes = float(gantt.node_edges[low]), float(gantt.node_edges[high])
        first, last = gantt.names[int(nodes[0])], gantt.names[int(nodes[1]) - 1]
        busy = float(gantt.busy[low:high, left:right].sum())
        begin, end = float(gantt.time_edges[left]), float(gantt.time_edges[right])
        where = f"{first} to {last}\n{clock.words(begin)} to {clock.words(end)}\n"
        share = percent(busy / ((high - low) * (right - left)))
        slow = float(slowed[low:high, left:right].sum()) / busy if busy else None
        words = f"{where}busy {share}, mean slowdown {ratio(slow)}"
        if gantt.failed is not None:
            lost = float(gantt.failed[low:high, left:right].sum())
            words += f"\nfailed runs {percent(lost / ((high - low) * (right - left)))}"
        hint(axes, words, (clock.at(begin), clock.at(end)), nodes)


def draw_gantt(axes: Axes, gantt: Gantt, clock: Clock, scale: float) -> None:
    """Draw a map of nodes and time."""
    last_s = float(clock.at(float(gantt.time_edges[-1])))
    place: dict[str, Any] = {
        "extent": (float(clock.at(0.0)), last_s, 0.0, float(gantt.node_edges[-1])),
        "aspect": "auto",
        "origin": "lower",
        "interpolation": "nearest",
    }
    image = axes.imshow(
        gantt.network_slowdown, cmap="cividis",
        vmin=1.0, vmax=scale, alpha=0.25 + 0.75 * gantt.busy, **place,
    )  # fmt: skip
    if gantt.failed is not None:  # runs that failed, in red
        shown = np.where(gantt.failed > 0, 1.0, np.nan)
        axes.imshow(shown, cmap="Reds", vmin=0.0, vmax=1.3, alpha=0.3 + 0.7 * gantt.failed, **place)
    _hint_parts(axes, gantt, clock)
    clock.label(axes)
    axes.grid(visible=False)
    ticks = np.unique(np.linspace(0, len(gantt.names) - 1, _TICKS).astype(np.int64))
    name_ticks(axes.yaxis, (ticks + 0.5).tolist(), [gantt.names[tick][:14] for tick in ticks])
    axes.tick_params(axis="y", labelsize="small")
    axes.set_ylabel("node")
    add_bar(image, [axes], "slowdown", more=True)


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
        pictures[result.name] = chart(
            f"link-time-{place}",
            f"Load of every link over time under {result.name}",
            partial(draw_link_times, found=found, clock=clock, scale=scale),
            found.table,
            title=result.name,
            size=(HALF_WIDTH[0], 3.6),
        )
    return pictures


def _hint_links(axes: Axes, found: LinkTimes, clock: Clock) -> None:
    """Say of parts of the picture how loaded their busiest link is."""
    names = found.links["link"].to_numpy()
    for low, high, left, right in grid_parts(found.load.shape):
        most = float(np.nan_to_num(found.load[low:high, left:right]).max())
        begin, end = (side * found.end_s / found.load.shape[1] for side in (left, right))
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
    _hint_links(axes, found, clock)
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
