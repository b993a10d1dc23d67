"""Pictures of a job log: sizes, run times, requests, arrivals and load."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import NullLocator

from coupling.report.plots.style import (
    FAINT,
    Picture,
    add_bar,
    chart,
    hint,
    label_classes,
    name_ticks,
    percent_axis,
    places,
)
from coupling.results.formatting import counted, duration, duration_unit, number, percent
from netsim.common.arrays import Floats
from scheduler.workload.statistics import Numbers, busy_steps

_COLOURS = {"jobs": "#0072b2", "node time": "#e69f00"}
_ONE = "#0072b2"
_OVER = "#d55e00"
_BINS = 150
_PER_DECADE = 6
_TICKS = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36_000: "10 h"}
_TICKS |= {86_400 * days: f"{days} d" for days in (1, 10, 100, 1000)}
_SLANTED, _UPRIGHT = 6, 10  # classes beyond which labels are turned
_FAINTEST = 1e-3  # of the brightest: what a map does not tell from nothing


def trace_plots(jobs: pd.DataFrame, numbers: Numbers) -> dict[str, Picture]:
    """Draw what a job log holds, as far as it has requests and times."""
    each, both = "Jobs and node time by", "Node time by size and run time"
    charts: dict[str, tuple[str, str, Callable[[Axes], None]]] = {
        "size": (f"{each} size", "Size", partial(_draw_sizes, numbers=numbers)),
        "runtime": (f"{each} run time", "Run time", partial(_draw_runtimes, jobs=jobs)),
        "both": (both, "Where the node time is", partial(_draw_both, jobs=jobs)),
    }
    if (jobs["runtime_s"] != jobs["requested_s"])[jobs["requested_s"] > 0].any():
        name = "Run time / requested time"
        charts["requested"] = (name, name, partial(_draw_requested, jobs=jobs))
    if numbers["arrivals"]["span_s"] > 0:
        machine = numbers["load"]["machine_nodes"]
        draw = partial(_draw_load, jobs=jobs, machine=machine)
        charts["load"] = ("Load over time", "Load: every job starts when it comes", draw)
        charts["arrivals"] = ("Arrivals over time", "Arrivals", partial(_draw_arrivals, jobs=jobs))
    keyed = ("size", "runtime")
    return {
        name: chart(f"trace-{name}", alt, draw, title=title, key=_COLOURS if name in keyed else {})
        for name, (alt, title, draw) in charts.items()
    }


def _draw_sizes(axes: Axes, numbers: Numbers) -> None:
    """Draw the share of jobs and of node time in each size class."""
    classes = numbers["size_classes"]
    x, width = places(len(classes), len(_COLOURS))
    keys = ("job_share", "node_time_share")
    for row, key, colour in zip(x, keys, _COLOURS.values(), strict=True):
        axes.bar(row, [part[key] for part in classes], width, color=colour)
    for place, part in enumerate(classes):
        shares = (
            f"{percent(part['job_share'])} of jobs, {percent(part['node_time_share'])} of node time"
        )
        hint(axes, f"{part['nodes']} nodes\n{shares}", (place - 0.5, place + 0.5))
    label_classes(axes, [part["nodes"] for part in classes])
    if len(classes) > _SLANTED:
        axes.tick_params(axis="x", labelrotation=90 if len(classes) > _UPRIGHT else 45)
    percent_axis(axes.yaxis)
    axes.set_xlabel("nodes of the job")
    axes.set_ylabel("share")


def _draw_runtimes(axes: Axes, jobs: pd.DataFrame) -> None:
    """Draw how jobs and node time spread over run times."""
    runtime = jobs["runtime_s"].to_numpy()
    edges = _log_edges(runtime)
    weights = (np.ones(len(jobs)), jobs["node_s"].to_numpy())
    both = [np.histogram(runtime, edges, weights=own)[0] / own.sum() for own in weights]
    for shares, colour in zip(both, _COLOURS.values(), strict=True):
        axes.stairs(shares, edges, color=colour, fill=True, alpha=0.25)
        axes.stairs(shares, edges, color=colour)
    for place, (low, high) in enumerate(pairwise(edges.tolist())):
        jobs_, time = (percent(float(own[place])) for own in both)
        words = f"{duration(low)} to {duration(high)}\n{jobs_} of jobs, {time} of node time"
        hint(axes, words, (low, high))
    _time_axis(axes, edges)
    axes.set_ylim(bottom=0)
    percent_axis(axes.yaxis)
    axes.set_xlabel("run time")
    axes.set_ylabel("share")


def _draw_both(axes: Axes, jobs: pd.DataFrame) -> None:
    """Draw where the node time is: a map over size and run time."""
    runtime, size = jobs["runtime_s"].to_numpy(), jobs["n_nodes"].to_numpy()
    edges = _log_edges(runtime)
    rows = int(np.ceil(np.log2(size.max()))) + 1
    power = np.ceil(np.log2(size))
    grid, _, _ = np.histogram2d(
        power, np.log10(runtime), [np.arange(rows + 1) - 0.5, np.log10(edges)],
        weights=jobs["node_s"].to_numpy(),
    )  # fmt: skip
    shares = np.where(grid > 0, grid / grid.sum(), np.nan)
    most = float(np.nanmax(shares))
    image = axes.pcolormesh(
        edges, np.arange(rows + 1) - 0.5, shares, cmap="cividis",
        norm=LogNorm(most * _FAINTEST, most, clip=True), rasterized=True,
    )  # fmt: skip
    axes.grid(visible=False)
    _time_axis(axes, edges)
    step = max(1, rows // 7)
    shown = range(0, rows, step)
    name_ticks(axes.yaxis, shown, [f"{2**k:,}" for k in shown])
    axes.set_xlabel("run time")
    axes.set_ylabel("nodes, up to")
    add_bar(image, [axes], "share of node time", percent=True)


def _draw_requested(axes: Axes, jobs: pd.DataFrame) -> None:
    """Draw the share of the requested time that jobs use; over-runs in another colour."""
    differing = jobs[jobs["runtime_s"] != jobs["requested_s"]]
    used = (differing["runtime_s"] / differing["requested_s"]).to_numpy()
    edges = np.linspace(0.0, 1.0, 21)
    counts = np.histogram(used[used < 1], edges)[0]
    axes.stairs(counts, edges, color=_COLOURS["jobs"], fill=True, alpha=0.75)
    over = int(np.count_nonzero(used > 1))
    axes.bar(1.08, over, 0.06, color=_OVER)
    shares = ["0 %", "25 %", "50 %", "75 %", "", "more"]
    name_ticks(axes.xaxis, [0, 0.25, 0.5, 0.75, 1.0, 1.08], shares)
    axes.set_xlim(0, 1.14)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("share of the requested time that the job ran")
    axes.set_ylabel("jobs")


def _draw_load(axes: Axes, jobs: pd.DataFrame, machine: int) -> None:
    """Draw the nodes in use if every job started when it was submitted."""
    times, busy = busy_steps(jobs)
    unit, length = duration_unit([float(times[-1])])
    edges = np.linspace(0.0, float(times[-1]), _BINS + 1)
    work = np.concatenate([[0.0], np.cumsum(busy[:-1] * np.diff(times))])
    means = np.diff(np.interp(edges, times, work)) / np.diff(edges)
    axes.stairs(means, edges / length, color=_ONE, fill=True, alpha=0.25)
    axes.stairs(means, edges / length, color=_ONE)
    for mean, (low, high) in zip(means.tolist(), pairwise((edges / length).tolist()), strict=True):
        hint(axes, f"{low:.4g} to {high:.4g} {unit}\n{number(mean)} nodes", (low, high))
    axes.axhline(machine, color=FAINT, linewidth=1.0, linestyle="--")
    axes.annotate(
        f"{machine:,} nodes", (1, machine), xycoords=("axes fraction", "data"),
        xytext=(0, 2), textcoords="offset points", ha="right", va="bottom", fontsize="small",
    )  # fmt: skip
    axes.set_xlim(0, edges[-1] / length)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"time [{unit}]")
    axes.set_ylabel("nodes in use")


def _draw_arrivals(axes: Axes, jobs: pd.DataFrame) -> None:
    """Draw how many jobs come when."""
    submit = jobs["submit_s"].to_numpy()
    unit, length = duration_unit([float(submit.max())])
    counts, edges = np.histogram(submit / length, _BINS)
    axes.stairs(counts, edges, color=_ONE, fill=True, alpha=0.75)
    for count, (low, high) in zip(counts.tolist(), pairwise(edges.tolist()), strict=True):
        hint(axes, f"{low:.4g} to {high:.4g} {unit}\n{counted(int(count), 'job')}", (low, high))
    axes.set_xlim(0, edges[-1])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"time of submission [{unit}]")
    axes.set_ylabel(f"jobs in {edges[1] - edges[0]:.2g} {unit}")


def _log_edges(values: Floats) -> Floats:
    """Return bounds of bins of equal width on a log scale."""
    low, high = np.floor(np.log10(values.min()) * 2) / 2, np.log10(values.max())
    n_bins = max(1, int(np.floor((high - low) * _PER_DECADE)) + 1)
    edges: Floats = 10.0 ** (low + np.arange(n_bins + 1) / _PER_DECADE)
    return edges


def _time_axis(axes: Axes, edges: Floats) -> None:
    """Label a log axis of times in seconds, minutes, hours and days."""
    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    inside = {s: name for s, name in _TICKS.items() if edges[0] <= s <= edges[-1]}
    name_ticks(axes.xaxis, list(inside), list(inside.values()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize="small")
