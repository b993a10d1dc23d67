"""The figures of the network: the fabric at a moment, and every link over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, PanTool, Range1d, Span, WheelZoomTool
from bokeh.plotting import figure

from coupling.explorer.address import Address
from coupling.explorer.colours import JobColours, points_of
from coupling.explorer.figures import Figure, TimeAxis, points_along, time_figure
from coupling.explorer.run_view import ViewedRun
from coupling.report.plots.layout import Layout, cables_of, layout_of, segments
from coupling.report.plots.style import LOAD
from coupling.results.picture_values import heat, in_order
from netsim.common.arrays import Floats, Ints
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service

_MOST_CABLES = 20_000  # that are drawn; of more the busiest
_MOST_NODES = 20_000
_STEPS = 64  # colours of load
_FAINT = "#9aa4ae"
_NEAR = 0.02  # of the picture: how far from a cable a click may be
_WIDEST, _TALLEST = 2400, 1200


def ramp_of(colours: tuple[str, ...], steps: int) -> list[str]:
    """
    Return colours between colours.

    >>> ramp_of(("#000000", "#ffffff"), 3)
    ['#000000', '#808080', '#ffffff']
    """
    rgb = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours])
    place = np.linspace(0, len(colours) - 1, steps)
    parts = [np.interp(place, np.arange(len(colours)), rgb[:, part]) for part in range(3)]
    return ["#" + "".join(f"{round(part):02x}" for part in own) for own in zip(*parts, strict=True)]


RAMP = ramp_of(LOAD, _STEPS)


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A fabric at a moment."""

    name: str  # Of what is looked at: under one name the wiring stays the same
    topology: Topology | None  # The fabric; None where it is unknown
    load: Floats  # (E,): load of each directed link
    most: float  # Load at the end of the colours
    whole: Floats  # (E,): load over all time, by which the cables of a large fabric are chosen
    colours: Sequence[str]  # Of each node
    chosen: Ints  # Nodes of the chosen job
    cable: int | None  # The chosen link
    words: str  # What moment it is


class Fabric:
    """The fabric at a moment, drawn as people draw it."""

    def __init__(self, name: str = "fabric", height: int = 400) -> None:
        self.plot: Figure = figure(
            toolbar_location=None, tools="", height=height, sizing_mode="stretch_width", name=name,
            background_fill_color=None, border_fill_color=None, outline_line_color=None,
            title="fabric",
        )  # fmt: skip
        self.plot.axis.visible = self.plot.grid.visible = False
        pan, wheel = PanTool(), WheelZoomTool()
        self.plot.add_tools(pan, wheel)
        self.plot.toolbar.active_drag, self.plot.toolbar.active_scroll = pan, wheel
        self.failed = ColumnDataSource({"xs": [], "ys": []})
        self.cut = ColumnDataSource({"x": [], "y": []})
        self.cables = ColumnDataSource({"xs": [], "ys": [], "colour": [], "width": []})
        self.chosen = ColumnDataSource({"xs": [], "ys": []})
        self.nodes = ColumnDataSource({"x": [], "y": [], "w": [], "h": [], "colour": []})
        self.own = ColumnDataSource({"x": [], "y": [], "w": [], "h": []})
        self.switches = ColumnDataSource({"x": [], "y": []})
        draw = self.plot
        draw.multi_line("xs", "ys", source=self.failed, line_color=_FAINT, line_dash="dashed")
        draw.multi_line(
            "xs", "ys", source=self.cables, line_color="colour", line_width="width", line_alpha=0.9
        )
        draw.scatter("x", "y", source=self.cut, marker="x", size=9, line_width=2.2, name="cut")
        draw.multi_line("xs", "ys", source=self.chosen, line_width=5, line_alpha=0.9, name="chosen")
        draw.rect("x", "y", "w", "h", source=self.nodes, fill_color="colour", line_color=None)
        draw.rect(
            "x", "y", "w", "h", source=self.own, fill_color=None, line_width=1.6, name="chosen"
        )
        draw.scatter(
            "x", "y", source=self.switches, marker="square", size=5, name="switches",
            line_color=None,
        )  # fmt: skip
        self._drawn = ""
        self.topology: Topology | None = None
        self.layout: Layout | None = None
        self._links = np.zeros(0, dtype=np.int64)
        self._bokeh_lines: list[Floats] = []
        self._wires: dict[str, Any] = {}
        self._boxes: dict[str, Any] = {"x": []}

    def draw(self, look: Look) -> str:
        """Draw a moment. Result: what the picture cannot show; empty where it shows all."""
        if self._drawn != look.name:
            self._place_fabric(look)
        topology, layout = self.topology, self.layout
        if topology is None or layout is None:
            return "The fabric of this result does not follow from its links."
        both = np.maximum(look.load, look.load[topology.reverse])[self._links]
        share = np.clip(both / look.most, 0.0, 1.0)
        order = np.argsort(share, kind="stable")  # the busiest on top
        self.cables.data = {
            **{side: [lines[place] for place in order] for side, lines in self._wires.items()},
            "colour": [RAMP[i] for i in np.rint(share[order] * (_STEPS - 1)).astype(int)],
            "width": (0.6 + 2.6 * share[order]).tolist(),
        }
        cable = look.cable
        own = [] if cable is None else segments(topology, layout, np.array([cable]))
        if own or self.chosen.data["xs"]:
            self.chosen.data = _bokeh_lines(own)
        n_drawn = len(self._boxes["x"])
        self.nodes.data = self._boxes | {"colour": list(look.colours[:n_drawn])}
        marked = look.chosen[look.chosen < n_drawn]
        if marked.size or self.own.data["x"]:
            self.own.data = {
                side: [values[node] for node in marked] for side, values in self._boxes.items()
            }
        what = ", ".join(topology.summary.split(", ")[:2])  # all of it is wider than the picture
        self.plot.title.text = f"{what}: {look.words}"
        return ""

    def _place_fabric(self, look: Look) -> None:
        """Place everything, once for a fabric."""
        self._drawn, self.topology = look.name, look.topology
        if look.topology is None:
            return
        topology = look.topology
        layout = self.layout = layout_of(topology)
        cables = cables_of(topology)
        works = links_in_service(topology)[cables]
        gone = segments(topology, layout, cables[~works][:_MOST_CABLES])
        self.failed.data = _bokeh_lines(gone)
        middles = np.array([_line_middle(line) for line in gone]).reshape(-1, 2)
        self.cut.data = {"x": middles[:, 0].tolist(), "y": middles[:, 1].tolist()}
        cables = cables[works]
        if cables.size > _MOST_CABLES:
            busy = np.maximum(look.whole, look.whole[topology.reverse])[cables]
            cables = np.sort(cables[np.argsort(-busy, kind="stable")[:_MOST_CABLES]])
        self._links, self._bokeh_lines = cables, segments(topology, layout, cables)
        self._wires = _bokeh_lines(self._bokeh_lines)
        at = layout.place[: topology.n_nodes][:_MOST_NODES]
        self._boxes = {
            "x": at[:, 0].tolist(), "y": at[:, 1].tolist(), "w": [layout.cell[0] * 0.92] * len(at),
            "h": [layout.cell[1]] * len(at),
        }  # fmt: skip
        above = layout.place[topology.n_nodes :]
        self.switches.data = {"x": above[:, 0], "y": above[:, 1]}
        self.plot.match_aspect = layout.kind != "levels"

    def cable_at(self, x: float, y: float) -> str:
        """Return the name of the cable at a place, empty where there is none near."""
        if self.topology is None or self.layout is None or not self._bokeh_lines:
            return ""
        place = self.layout.place[np.isfinite(self.layout.place).all(axis=1)]
        size = np.maximum(np.ptp(place, axis=0), 1e-9)
        far = [_line_distance(line / size, np.array([x, y]) / size) for line in self._bokeh_lines]
        nearest = int(np.argmin(far))
        return self.topology.link_name(int(self._links[nearest])) if far[nearest] < _NEAR else ""

    def node_at(self, x: float, y: float) -> int | None:
        """Return the node at a place."""
        if self.topology is None or self.layout is None:
            return None
        away = np.abs(self.layout.place[: self.topology.n_nodes] - (x, y))
        found = np.flatnonzero((away <= np.array(self.layout.cell) / 2).all(axis=1))
        return int(found[0]) if found.size else None


class Heat:
    """Every link over time."""

    def __init__(self, axis: TimeAxis, shown: Range1d) -> None:
        self.axis = axis
        self.plot = time_figure(axis, shown, height=260, name="heat", title="links over time",
                                y_range=Range1d(0, 1))  # fmt: skip
        self.plot.grid.visible = False
        self.plot.yaxis.ticker = FixedTicker(ticks=[])
        self.image = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})
        self.plot.image_rgba("image", "x", "y", "dw", "dh", source=self.image)
        self.line = Span(dimension="width", line_width=2, visible=False)
        self.plot.add_layout(self.line)
        self._order = np.zeros(0, dtype=np.int64)
        self._drawn = ""

    def draw(self, run: ViewedRun, address: Address, window: tuple[float, float]) -> None:
        """Draw what is known; nothing where nothing is."""
        self.plot.visible = not run.load.why_not
        if run.load.why_not:
            return
        if self._drawn != run.name:
            self._drawn = run.name
            self._order = in_order(run.result.links)
            self.plot.y_range.update(start=0, end=float(self._order.size))
            self._label(run)
        columns = points_along(self.plot, "inner_width", 300, _WIDEST)
        rows = min(points_along(self.plot, "inner_height", 150, _TALLEST), self._order.size)
        cells = heat(run.load, self._order, window, (rows, columns))
        share = np.clip(np.nan_to_num(cells) / run.load.most, 0.0, 1.0)
        image = points_of(RAMP)[np.rint(share * (_STEPS - 1)).astype(np.int64)]
        image[np.isnan(cells)] = 0
        x, last = (float(self.axis.place(t)) for t in window)
        self.image.data = {"image": [image], "x": [x], "y": [0.0], "dw": [last - x],
                           "dh": [float(self._order.size)]}  # fmt: skip
        cable = run.link.get(address.cable)
        self.line.visible = cable is not None
        if cable is not None:
            self.line.location = float(np.flatnonzero(self._order == cable)[0]) + 0.5

    def _label(self, run: ViewedRun) -> None:
        """Name the classes of links, each at its middle."""
        names = run.result.links["class"].to_numpy()[self._order]
        middles = {str(name): float(np.flatnonzero(names == name).mean()) for name in set(names)}
        self.plot.yaxis.major_label_overrides = {at: name[:14] for name, at in middles.items()}
        self.plot.yaxis.ticker = FixedTicker(ticks=sorted(middles.values()))

    def cable_at(self, run: ViewedRun, y: float) -> str:
        """Return the name of the link at a height."""
        place = int(np.floor(y))
        if not 0 <= place < self._order.size:
            return ""
        return str(run.result.links["link"].iloc[self._order[place]])


def _bokeh_lines(lines: list[Floats]) -> dict[str, Any]:
    """Return lines as Bokeh keeps them."""
    # As lists: each array would be a message of its own.
    return {side: [line[:, at].tolist() for line in lines] for at, side in enumerate(("xs", "ys"))}


def look_at(run: ViewedRun, address: Address, shades: JobColours, most: float) -> Look:
    """Return the fabric of a run at the moment of an address; `most`: load at the last colour."""
    row = run.row.get(int(address.job)) if address.job.isdecimal() else None
    return Look(
        run.name,
        run.wired,
        run.load.at(address.at_s),
        most,
        run.load.whole,
        _node_colours(run, address, shades),
        np.zeros(0, dtype=np.int64) if row is None else run.nodes_of(row),
        run.link.get(address.cable),
        "load over the whole run" if address.at_s is None else "load at the moment",
    )


def _line_middle(line: Floats) -> Floats:
    """Return the middle of a line; of one with a gap the end of its first piece."""
    if np.isnan(line).any():
        return np.asarray(line[1])
    middle: Floats = line.mean(axis=0) if len(line) == 2 else line[len(line) // 2]  # noqa: PLR2004 (ends)
    return middle


def _node_colours(run: ViewedRun, address: Address, shades: JobColours) -> list[str]:
    """Return the colour of each node: of the job there at the moment, or of the chosen job."""
    colours = [_FAINT] * len(run.names)
    for row in _coloured_rows(run, address).tolist():
        point = int(shades.table[shades.place[row]])
        colour = f"#{point & 0xFF:02x}{point >> 8 & 0xFF:02x}{point >> 16 & 0xFF:02x}"
        for node in run.nodes_of(row).tolist():
            colours[node] = colour
    return colours


def _coloured_rows(run: ViewedRun, address: Address) -> Ints:
    """Return the jobs whose nodes are coloured."""
    if address.at_s is None:
        row = run.row.get(int(address.job)) if address.job.isdecimal() else None
        return np.array([] if row is None else [row], dtype=np.int64)
    start, end = run.bars.start_s, run.bars.end_s
    return np.flatnonzero((start <= address.at_s) & (address.at_s < end))


def _line_distance(line: Floats, point: Floats) -> float:
    """Return the distance of a point from a line of several pieces."""
    a, b = line[:-1], line[1:]
    kept = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    a, b = a[kept], b[kept]
    way = b - a
    length = np.maximum((way**2).sum(axis=1), 1e-18)
    share = np.clip(((point - a) * way).sum(axis=1) / length, 0.0, 1.0)
    away = np.hypot(*(a + share[:, None] * way - point).T)
    return float(away.min(initial=np.inf))
