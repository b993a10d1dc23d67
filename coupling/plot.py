"""
Pictures of results, fabrics and moments, as ordinary Matplotlib axes to be changed further.

``plot(what)`` draws what suits: a run as `gantt`, several runs as `speedups`, a fabric, a snapshot
or an estimate as `fabric`.
"""

import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from coupling.errors import CouplingError
from coupling.inputs.snapshot import Snapshot
from coupling.results.result import Result
from coupling.runs.campaign import Campaign
from coupling.site.estimate import Estimate
from fabricsim.checking import choice, wrong
from fabricsim.checking.errors import public
from netsim.topology.base import Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["blame", "fabric", "gantt", "link_load", "speedups"]


@public
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
    from coupling.report.plots.gantt import draw_gantt, gantt_of
    from coupling.report.plots.style import Clock
    from coupling.results.picture_values import begin_of, slowdown_scale, zone_of

    found = gantt_of(result, topology)
    if found is None:
        raise CouplingError("gantt: expected jobs that ran on nodes of the fabric, got none.")
    axes = _axes_for(ax)
    clock = Clock(float(found.time_edges[-1]), begin_of([result]), zone_of([result]))
    draw_gantt(axes, found, clock, slowdown_scale([result]))
    axes.set_title(result.name, parse_math=False)
    return axes


@public
def link_load(*results: Result | Campaign | Sequence[Result], ax: "Axes | None" = None) -> "Axes":
    """
    Draw the load of links by class.

    Parameters
    ----------
    *results : Result, Campaign or sequence of Result
        A run, or several beside each other.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        To be changed further.
    """
    from coupling.report.plots.links import draw_load
    from coupling.report.plots.style import palette

    runs = _runs_given("link_load", results)
    axes = _axes_for(ax)
    draw_load(axes, runs)
    _draw_key(axes, palette([run.name for run in runs]))
    return axes


@public
def blame(what: Result | Estimate, *, most: int = 20, ax: "Axes | None" = None) -> "Axes":
    """
    Draw how much jobs delay each other: victims and culprits as a matrix.

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
    import pandas as pd

    from coupling.report.pictures import blame_rows
    from coupling.report.plots.blame import blame_matrix, draw_blame, named_most, run_blame

    if isinstance(what, Result):
        matrix, unit = run_blame(what, most), "node-hours lost"
    else:
        rows = pd.DataFrame(blame_rows(what.jobs), columns=["victim", "culprit", "lost"])
        rows["lost"] *= 1e3
        matrix, unit = blame_matrix(rows, most), "ms per iteration"
    if matrix.empty:
        raise CouplingError("blame: expected jobs that cost others time, got none.")
    axes = _axes_for(ax)
    draw_blame(axes, matrix, named_most(matrix), unit)
    return axes


@public
def fabric(
    what: Result | Topology | Snapshot | Estimate,
    topology: Topology | None = None,
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw a fabric: bare, with the load of a run, or with the load and the jobs of a moment.

    Parameters
    ----------
    what : Result, Topology, Snapshot or Estimate
        What is drawn.
    topology : Topology, optional
        Fabric of a result; without it the fabric is found from the names of the links.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        To be changed further.

    Raises
    ------
    CouplingError
        If the links of a result do not fit the fabric, or its wiring cannot be found from them.
    """
    from coupling.report.pictures import moment_scene
    from coupling.report.plots.fabric import FabricScene, draw_fabric
    from coupling.report.plots.layout import wiring_of

    scene = FabricScene(what) if isinstance(what, Topology) else None
    if isinstance(what, Estimate):
        scene = moment_scene(what.snapshot, what)
    elif isinstance(what, Snapshot):
        scene = moment_scene(what)
    elif isinstance(what, Result):
        wiring = topology or wiring_of(what.links)
        if wiring is None or wiring.n_links != len(what.links):
            raise CouplingError(
                f"fabric: expected a topology of {len(what.links)} links, as the result has, got "
                f"{'none' if wiring is None else wiring.n_links}."
            )
        scene = FabricScene(
            wiring, what.links["busy_fraction"].to_numpy(dtype=float), title=what.name
        )
    if scene is None:
        raise wrong(
            "fabric", "a Result, a Topology, a Snapshot or an Estimate", what, CouplingError
        )
    axes = _axes_for(ax)
    draw_fabric(axes, scene)
    return axes


@public
def speedups(
    *results: Result | Campaign | Sequence[Result],
    baseline: str | None = None,
    by: str = "size",
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw how much faster jobs run than in another run.

    Parameters
    ----------
    *results : Result, Campaign or sequence of Result
        Runs of the same jobs.
    baseline : str, optional
        Name of the run to compare with; by default ``first-free`` or ``baseline``, else the first.
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
        If there is only one run, no run of that name, or the runs are of other jobs.
    """
    from coupling.report.plots.jobs import draw_boxes, speedups_to
    from coupling.report.plots.style import palette
    from coupling.results.comparison import BASELINE_NAMES, comparable

    choice("by", by, ("size", "pattern"), error=CouplingError)
    runs = _runs_given("speedups", results)
    names = [run.name for run in runs]
    if baseline is None:
        baseline = next((name for name in BASELINE_NAMES if name in names), names[0])
    choice("baseline", baseline, names, error=CouplingError)
    tables = {
        name: table
        for name, table in speedups_to(runs, comparable(runs, baseline)).items()
        if len(table)
    }
    if not tables:
        raise CouplingError(
            f"speedups: expected several runs of the same jobs, got {', '.join(names)}."
        )
    colours = palette(names)
    axes = _axes_for(ax)
    draw_boxes(axes, tables, colours, "speedup", by)
    axes.set_ylabel(f"run time under {baseline} / here", parse_math=False)
    _draw_key(axes, {name: colours[name] for name in tables})
    return axes


@public
def _draw_best(
    *what: Any,  # noqa: ANN401 (whatever can be drawn)
    **options: Any,  # noqa: ANN401 (of the picture)
) -> "Axes":
    """
    Draw what suits: a run over time, several runs as speed-ups, a fabric or a moment as a fabric.

    `options` are those of `gantt`, `speedups` or `fabric`.
    """
    if len(what) == 1 and isinstance(what[0], (Topology, Snapshot, Estimate)):
        return fabric(what[0], **options)
    if len(what) == 1 and not isinstance(what[0], (Result, Campaign, list, tuple)):
        expected = "a Result, a Campaign, a Topology, a Snapshot or an Estimate"
        raise wrong("plot", expected, what[0], CouplingError)
    runs = _runs_given("plot", what)
    return gantt(runs[0], **options) if len(runs) == 1 else speedups(*runs, **options)


def _runs_given(place: str, given: Sequence[Result | Campaign | Sequence[Result]]) -> list[Result]:
    """Return the runs that came one by one, as a list, or as a campaign."""
    runs: list[Result] = []
    for one in given:
        found = one.results if isinstance(one, Campaign) else one
        runs += found if isinstance(found, (list, tuple)) else [cast(Result, found)]
    if not runs or not all(isinstance(run, Result) for run in runs):
        raise wrong(place, "runs (Result)", given[0] if given else given, CouplingError)
    return runs


def _axes_for(ax: "Axes | None") -> "Axes":
    """Return the axes to draw on."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _draw_key(axes: "Axes", colours: Mapping[str, str]) -> None:
    """Name the runs, where there are several."""
    from matplotlib.patches import Patch

    if len(colours) > 1:
        found = axes.legend(handles=[Patch(color=c, label=name) for name, c in colours.items()])
        for text in found.get_texts():
            text.set_parse_math(False)


def __dir__() -> list[str]:
    """Return what is for users."""
    return sorted(__all__)


class Plot(ModuleType):
    """Type of the module, which draws what suits when it is called."""

    blame = staticmethod(blame)
    fabric = staticmethod(fabric)
    gantt = staticmethod(gantt)
    link_load = staticmethod(link_load)
    speedups = staticmethod(speedups)
    __call__ = staticmethod(_draw_best)


sys.modules[__name__].__class__ = Plot
plot = cast(Plot, sys.modules[__name__])
