"""Pictures of a fabric: cables coloured by load, nodes by job, some links marked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from coupling.report.plots.layout import Layout, bundles, cables_of, layout_of, segments
from coupling.report.plots.style import (
    BACK,
    COLOURS,
    FAINT,
    HALF_WIDTH,
    INK,
    Picture,
    add_bar,
    hint,
    put_key,
)
from coupling.report.plots.style import LOAD as LOAD_COLOURS
from coupling.results.formatting import percent
from netsim.common.arrays import Floats, Ints
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service, vertex_levels

LOAD = LinearSegmentedColormap.from_list("load", list(LOAD_COLOURS))
MARKED = "#d1242f"
_THIN, _THICK = 0.35, 1.9  # points: an idle cable, and one at the end of the scale
_AS_LINES = 1500  # cables that are drawn one by one; more become dots, so that pages stay small
_MOST = 60_000  # cables that are drawn; more take memory and show nothing
_MANY = 500  # cables from which on they are drawn thinner
_NAMED = 48  # nodes and switches up to which all are named
_LONG = 10  # letters of such a name
_LANE = 0.035  # how far a flow is drawn beside its cable
_HINTED = 800  # nodes and switches up to which each has a hint
_KEYED = 10  # jobs that the key names
_LOWEST, _HIGHEST = 0.35, 1.1  # height / width


@dataclass(frozen=True, slots=True, eq=False)
class FabricScene:
    """A fabric and what is on it."""

    topology: Topology  # The fabric
    load: Floats | None = None  # (E,): share of the capacity of each directed link that is taken
    scale: float | None = None  # Load at the end of the colours; by default the largest
    # Nodes of jobs, by what the job is called
    jobs: Mapping[str, Ints] = field(default_factory=dict)
    # Colour of the first job, by its place in `COLOURS`; the others have the next ones
    first_colour: int = 0
    marked: Ints | None = None  # Links drawn in red
    # Links in the colour of a job of `jobs`, such as those that it owns
    owned: Mapping[str, Ints] = field(default_factory=dict)
    # Links of flows, each drawn in a colour of its own; the two directions of a cable lie beside
    # each other
    paths: Sequence[Ints] = ()
    title: str = ""  # Above the picture

    def table(self) -> pd.DataFrame:
        """Return name, ends and load of each directed link; whether it is marked; its owner."""
        topology = self.topology
        links = np.arange(topology.n_links)
        columns: dict[str, object] = {"link": [topology.link_name(int(e)) for e in links]}
        if self.load is not None:
            columns["load"] = self.load
        if self.marked is not None:
            columns["marked"] = np.isin(links, self.marked)
        if self.owned:
            owner = {int(link): job for job, own in self.owned.items() for link in own}
            columns["owner"] = [owner.get(link, "") for link in links.tolist()]
        if self.paths:
            flow = {int(link): place for place, path in enumerate(self.paths) for link in path}
            columns["flow"] = [flow.get(link, -1) for link in range(topology.n_links)]
        return pd.DataFrame(columns)


def fabric_picture(name: str, scene: FabricScene, alt: str) -> Picture:
    """Return the picture of a fabric."""
    layout = layout_of(scene.topology)
    width = HALF_WIDTH[0]
    height = width * min(max(layout.height, _LOWEST), _HIGHEST)
    height += 0.35 + (0.3 if scene.jobs else 0.0)
    return Picture(
        name, alt, partial(_paint_fabric, scene=scene, layout=layout), scene.table, (width, height)
    )


def job_colours(names: Sequence[str], first: int = 0) -> dict[str, str]:
    """Return the colour of each job; `first`: place of the first one's in `COLOURS`."""
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names, first)}


def _paint_fabric(figure: Figure, scene: FabricScene, layout: Layout) -> None:
    """Draw the fabric on a figure, with the key of the jobs."""
    axes = figure.add_subplot()
    draw_fabric(axes, scene, layout)
    colours = job_colours(list(scene.jobs), scene.first_colour)
    if colours:
        shown = list(colours.items())[:_KEYED]
        handles = [Patch(color=colour, label=name[:18]) for name, colour in shown]
        if len(colours) > _KEYED:
            handles.append(Patch(color="none", label=f"and {len(colours) - _KEYED} more"))
        put_key(figure, handles, 5)


def draw_fabric(axes: Axes, scene: FabricScene, layout: Layout | None = None) -> None:
    """Draw a fabric."""
    topology = scene.topology
    layout = layout or layout_of(topology)
    axes.set_axis_off()
    n_cables = cables_of(topology).size
    some = f" ({_MOST:,} of {n_cables:,} cables drawn)" if n_cables > _MOST else ""
    named = topology.n_nodes + topology.n_switches <= _NAMED
    if scene.title or some:  # names of switches stand between the title and the picture
        axes.set_title(f"{scene.title}{some}", parse_math=False, pad=12.0 if named else 6.0)
    if layout.kind != "levels":
        axes.set_aspect("equal")
    _draw_cables(axes, scene, layout)
    _draw_nodes(axes, scene, layout)
    at = layout.place[topology.n_nodes :]
    most = 14.0 if layout.kind == "levels" else 6.0
    size = float(np.clip(160.0 / np.sqrt(max(1, len(at))), 1.0, most))
    axes.scatter(at[:, 0], at[:, 1], s=size, color=INK, zorder=3, linewidths=0, marker="s")
    _draw_paths(axes, scene, layout)
    if named:
        _draw_names(axes, topology, layout)
    _hint_parts(axes, scene, layout)
    axes.margins(0.02, 0.04)
    axes.autoscale_view()


def _hint_parts(axes: Axes, scene: FabricScene, layout: Layout) -> None:
    """Name nodes, with their job, and switches, with the load of their busiest cable."""
    topology = scene.topology
    if topology.n_nodes + topology.n_switches > _HINTED:
        return
    job = {int(node): name for name, nodes in scene.jobs.items() for node in nodes}
    busiest = np.zeros(topology.n_nodes + topology.n_switches)
    if scene.load is not None:
        np.maximum.at(busiest, topology.link_tail, scene.load)
        np.maximum.at(busiest, topology.link_head, scene.load)
    wide, high = (side / 2 for side in layout.cell)
    apart = 0.08 if layout.kind == "levels" else min(wide, high)
    for vertex, (x, y) in enumerate(layout.place.tolist()):
        node = vertex < topology.n_nodes
        words = topology.vertex_name(vertex)
        words += f": {job[vertex]}" if vertex in job else ""
        words += (
            f"\nbusiest link {percent(float(busiest[vertex]))}" if scene.load is not None else ""
        )
        across, up = (wide, high) if node else (max(wide, apart), apart)
        hint(axes, words, (x - across, x + across), (y - up, y + up))


def _draw_cables(axes: Axes, scene: FabricScene, layout: Layout) -> None:
    """Draw the cables between switches, the busiest on top."""
    topology = scene.topology
    cables = cables_of(topology)
    works = links_in_service(topology)[cables]
    dots = cables.size > _AS_LINES
    if not works.all():
        lines = segments(topology, layout, _drawn_cables(cables[~works], scene))
        _add_lines(axes, lines, 1.6, dots, colors=FAINT, linewidths=0.6, linestyles=":")
    cables = _drawn_cables(cables[works], scene)
    bundled, bundle = bundles(topology, layout, cables)
    alone = cables[bundle < 0]
    if scene.load is None:
        lines = segments(topology, layout, alone)
        wide, alpha = (0.9, 1.0) if layout.kind == "slices" else (0.5, 0.6)
        if bundled:
            wide, alpha = 0.3, 0.15  # or a group is a disc
            _add_lines(axes, bundled, 1.0, False, colors=FAINT, linewidths=1.0)
        _add_lines(axes, lines, 1.0, dots, colors=FAINT, linewidths=wide, alpha=alpha)
    else:
        busy = np.maximum(scene.load[cables], scene.load[topology.reverse[cables]])
        of_bundle = np.zeros(len(bundled))
        np.maximum.at(of_bundle, bundle[bundle >= 0], busy[bundle >= 0])
        busy = busy[bundle < 0]
        order = np.argsort(busy, kind="stable")
        lines, busy = segments(topology, layout, alone[order]), busy[order]
        most = max(float(busy.max(initial=0.0)), float(of_bundle.max(initial=0.0)))
        norm = Normalize(0.0, scene.scale or most or 1.0)
        thick = max(_THIN, _THICK * min(1.0, float(np.sqrt(_MANY / max(1, busy.size)))))
        width = _THIN + (thick - _THIN) * np.clip(norm(busy), 0.0, 1.0)
        drawn = _add_lines(
            axes, lines, 1.0, dots, array=busy, cmap=LOAD, norm=norm, linewidths=width
        )
        look = {"array": of_bundle, "cmap": LOAD, "norm": norm, "linewidths": 1.4}
        if bundled:
            _add_lines(axes, bundled, 1.1, False, **look)
        add_bar(drawn, [axes], "load of the busier direction", percent=True, more=True)
    colours = job_colours(list(scene.jobs), scene.first_colour)
    chosen = [(own, colours.get(job, INK), 1.3, 1.7) for job, own in scene.owned.items()]
    if scene.marked is not None:
        chosen.append((scene.marked, MARKED, 2.2, 1.8))
    for links, colour, width_of, order_of in chosen:
        one = np.unique(np.minimum(links, topology.reverse[links]))
        one = one[np.isin(one, cables_of(topology))]
        lines = segments(topology, layout, one)
        _add_lines(axes, lines, order_of, False, colors=colour, linewidths=width_of)


def _drawn_cables(cables: Ints, scene: FabricScene) -> Ints:
    """Return the cables that are drawn: all, or of too many the busiest, or some from all over."""
    if cables.size <= _MOST:
        return cables
    if scene.load is None:
        return cables[np.linspace(0, cables.size - 1, _MOST).astype(np.int64)]
    busy = np.maximum(scene.load[cables], scene.load[scene.topology.reverse[cables]])
    return np.sort(cables[np.argsort(-busy, kind="stable")[:_MOST]])


def _draw_paths(axes: Axes, scene: FabricScene, layout: Layout) -> None:
    """Draw flows, a little to the left of their way: both directions stay visible."""
    taken = Counter[int]()
    for place, path in enumerate(scene.paths):
        lines = []
        for link, line in zip(path.tolist(), segments(scene.topology, layout, path), strict=True):
            taken[link] += 1
            way = line[-1] - line[0]
            length = float(np.hypot(way[0], way[1])) or 1.0
            left = np.array([-way[1], way[0]]) / length
            lines.append(line + _LANE * min(1.0, length) * taken[link] * left)
        colour = COLOURS[place % len(COLOURS)]
        _add_lines(axes, lines, 1.9, False, colors=colour, linewidths=1.1)


def _draw_names(axes: Axes, topology: Topology, layout: Layout) -> None:
    """Name what there is, below nodes and leaves, above other switches."""
    vertex_level = vertex_levels(topology)
    for vertex, (x, y) in enumerate(layout.place):
        node = vertex < topology.n_nodes
        name = topology.vertex_name(vertex)
        # cables leave a leaf upwards only
        below = layout.kind == "levels" and vertex_level[vertex] == 1
        axes.annotate(
            name if len(name) <= _LONG else f"{name[: _LONG - 1]}…",
            (x, y - layout.cell[1] / 2 if node else y),
            xytext=(0, -2 if node or below else 5), textcoords="offset points", ha="center",
            va="top" if node or below else "bottom", fontsize=5.5, rotation=90 if node else 0,
            annotation_clip=False, bbox={"boxstyle": "square,pad=0.1", "fc": BACK, "ec": "none"},
        )  # fmt: skip


def _add_lines(
    axes: Axes, lines: Sequence[Floats], order: float, dots: bool, **look: object
) -> LineCollection:
    """Draw lines, as dots where they are many."""
    drawn = LineCollection(lines, zorder=order, capstyle="round", **look)
    drawn.set_rasterized(dots)
    axes.add_collection(drawn)
    return drawn


def _draw_nodes(axes: Axes, scene: FabricScene, layout: Layout) -> None:
    """Draw the nodes: in the colour of their job, faint where they have none."""
    topology = scene.topology
    colour = np.full(topology.n_nodes, len(COLOURS), dtype=np.int64)
    for place, nodes in enumerate(scene.jobs.values(), scene.first_colour):
        colour[nodes] = place % len(COLOURS)
    there = np.zeros(topology.n_nodes, dtype=np.bool_)
    there[topology.usable_nodes] = True
    width, height = layout.cell
    width *= 0.9 if topology.n_nodes <= 300 else 1.0  # noqa: PLR2004 (room for a gap)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * (width / 2, height / 2)
    for number, shade in enumerate([*COLOURS, FAINT]):
        own = np.flatnonzero(there & (colour == number))
        if own.size:
            busy = number < len(COLOURS)
            drawn = PolyCollection(
                list(layout.place[own][:, None, :] + corners),
                facecolors=shade, linewidths=0, alpha=1.0 if busy else 0.3, zorder=2,
            )  # fmt: skip
            drawn.set_rasterized(topology.n_nodes > _AS_LINES)
            axes.add_collection(drawn)
