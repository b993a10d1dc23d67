"""Pictures of results, fabrics and moments, as ordinary Matplotlib axes to be changed further."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.patches import Patch

from coupling.errors import CouplingError
from coupling.report.moments import blame_rows, moment_scene
from coupling.report.plots.blame import blame_matrix, draw_blame, named_most, run_blame
from coupling.report.plots.clock import Clock
from coupling.report.plots.colours import palette
from coupling.report.plots.fabric import Scene, draw_fabric
from coupling.report.plots.gantt import draw_gantt, gantt_of
from coupling.report.plots.jobs import draw_boxes, speedups_to
from coupling.report.plots.links import draw_load
from coupling.report.plots.wiring import wiring_of
from coupling.results.comparison import comparable
from coupling.results.pictured import begin_of, slowdown_scale, zone_of
from coupling.results.result import Result
from coupling.snapshots.estimate import Estimate
from coupling.snapshots.snapshot import Snapshot
from fabricsim.checking import choice
from netsim.topology.base import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["blame", "fabric", "gantt", "link_load", "speedups"]


def gantt(result: Result, *, topology: Topology | None = None, ax: "Axes | None" = None) -> "Axes":
    """
    Draw nodes over time, in the colour of the slowdown of the jobs on them.

    Parameters
    ----------
    result : Result
        A run.
    topology : Topology, optional
        Its fabric, for the order of the nodes; by default that of the links.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        To be changed further.

    Raises
    ------
    CouplingError
        If no job ran, or its nodes are not those of the fabric.
    """
    found = gantt_of(result, topology)
    if found is None:
        raise CouplingError("gantt: expected jobs that ran on nodes of the fabric, got none.")
    axes = _axes(ax)
    clock = Clock(float(found.time_edges[-1]), begin_of([result]), zone_of([result]))
    draw_gantt(axes, found, clock, slowdown_scale([result]))
    axes.set_title(result.name, parse_math=False)
    return axes


def link_load(results: Result | Sequence[Result], *, ax: "Axes | None" = None) -> "Axes":
    """
    Draw the load of links by class.

    Parameters
    ----------
    results : Result or sequence of Result
        A run, or several beside each other.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        To be changed further.
    """
    runs = [results] if isinstance(results, Result) else list(results)
    axes = _axes(ax)
    draw_load(axes, runs)
    _key(axes, palette([run.name for run in runs]))
    return axes


def blame(what: Result | Estimate, *, most: int = 20, ax: "Axes | None" = None) -> "Axes":
    """
    Draw who costs whom how much: victims and culprits as a matrix.

    Parameters
    ----------
    what : Result or Estimate
        A run, in node-hours; or an estimate, in milliseconds per iteration.
    most : int, default 20
        Victims and culprits that are named.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        To be changed further.

    Raises
    ------
    CouplingError
        If no job costs another anything.
    """
    if isinstance(what, Result):
        matrix, unit = run_blame(what, most), "node-hours lost"
    else:
        rows = pd.DataFrame(blame_rows(what.jobs), columns=["victim", "culprit", "lost"])
        rows["lost"] *= 1e3
        matrix, unit = blame_matrix(rows, most), "ms per iteration"
    if matrix.empty:
        raise CouplingError("blame: expected jobs that cost others time, got none.")
    axes = _axes(ax)
    draw_blame(axes, matrix, named_most(matrix), unit)
    return axes


def fabric(
    what: Result | Topology | Snapshot,
    topology: Topology | None = None,
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw a fabric: bare, with the load of a run, or with the load and the jobs of a moment.

    Parameters
    ----------
    what : Result, Topology or Snapshot
        What is drawn.
    topology : Topology, optional
        Fabric of a result; without it the names of the links tell what they can.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        To be changed further.

    Raises
    ------
    CouplingError
        If the links of a result do not fit the fabric, or do not tell how it is wired.
    """
    scene = Scene(what) if isinstance(what, Topology) else None
    if isinstance(what, Snapshot):
        scene = moment_scene(what)
    elif isinstance(what, Result):
        wiring = topology or wiring_of(what.links)
        if wiring is None or wiring.n_links != len(what.links):
            raise CouplingError(
                f"fabric: expected a topology of {len(what.links)} links, as the result has, got "
                f"{'none' if wiring is None else wiring.n_links}."
            )
        scene = Scene(wiring, what.links["busy_fraction"].to_numpy(dtype=float), title=what.name)
    if scene is None:
        raise CouplingError("fabric: expected a Result, a Topology or a Snapshot.")
    axes = _axes(ax)
    draw_fabric(axes, scene)
    return axes


def speedups(
    results: Sequence[Result],
    baseline: str | None = None,
    *,
    by: str = "size",
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw how much faster jobs run than under Baseline.

    Parameters
    ----------
    results : sequence of Result
        Runs of the same jobs, Baseline among them.
    baseline : str, optional
        Name of the run to compare with; by default ``first-free`` or ``baseline``.
    by : {"size", "pattern"}
        Classes of jobs.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        To be changed further.

    Raises
    ------
    CouplingError
        If there is no Baseline to compare with.
    """
    choice("by", by, ("size", "pattern"), error=CouplingError)
    tables = {
        name: table
        for name, table in speedups_to(results, comparable(results, baseline)).items()
        if len(table)
    }
    if not tables:
        raise CouplingError("speedups: expected runs of the same jobs and a Baseline, got none.")
    colours = palette([run.name for run in results])
    axes = _axes(ax)
    draw_boxes(axes, tables, colours, "speedup", by)
    _key(axes, {name: colours[name] for name in tables})
    return axes


def _axes(ax: "Axes | None") -> "Axes":
    """Return the axes to draw on."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt  # noqa: PLC0415 (chooses a window system)

    return plt.subplots(layout="constrained")[1]


def _key(axes: "Axes", colours: Mapping[str, str]) -> None:
    """Name the runs, where there are several."""
    if len(colours) > 1:
        found = axes.legend(handles=[Patch(color=c, label=name) for name, c in colours.items()])
        for text in found.get_texts():
            text.set_parse_math(False)
