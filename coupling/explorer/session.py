"""What happens in one open page: it follows the address, and the address follows it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from bokeh.events import MouseMove, SelectionGeometry, Tap
from bokeh.models import FixedTicker, Range1d, Span
from bokeh.palettes import Cividis256

from coupling.explorer.address import Address
from coupling.explorer.bars import Window, spans
from coupling.explorer.channel import Follower
from coupling.explorer.colours import JobColours, communicating_nodes, picture_of, shades_of
from coupling.explorer.figures import (
    INKS,
    Figure,
    GanttFigure,
    TimeAxis,
    draw_strips,
    dress,
    gantt,
    points_along,
    rate_figure,
    strips,
)
from coupling.explorer.network import Fabric, Heat, look_at
from coupling.explorer.run_view import OnReady, RunView, ViewedRun
from coupling.explorer.side_panel import duration, job_line, key_of, run_panel, waiting_panel
from coupling.runs.job_history import JobHistory

_WIDEST, _TALLEST = 2400, 1200  # points of a picture
_LEAST_S, _LEAST_NODES = 1e-3, 1.0  # that can be shown
_TICKS = 6
_MOST_INTERFERERS = 150  # bars of jobs that interfered with the chosen one


class Session(Follower):
    """One open page. `exhibit`: What can be looked at."""

    def __init__(self, exhibit: RunView) -> None:
        super().__init__(exhibit.names)
        self.exhibit = exhibit
        self.axis = TimeAxis(exhibit.begin_unix_s, exhibit.zone)
        self.runs = exhibit.names
        self.address = Address(run=self.runs[0])
        begin, end = float(self.axis.place(0.0)), float(self.axis.place(exhibit.end_s))
        self.time = Range1d(begin, end, bounds=(begin, end), name="time")
        self.nodes = Range1d(0.0, 1.0, name="nodes")
        self.strips = strips(self.axis, Range1d(begin, end))
        self.brushes = [plot.center[-1] for plot in self.strips.values()]
        self.gantts = [gantt(self.axis, self.time, self.nodes, f"gantt-{i}") for i in (0, 1)]
        self.fabrics = [Fabric(), Fabric("fabric-1")]
        self.heat = Heat(self.axis, self.time)
        self.job_rate = rate_figure(self.axis, self.time)
        self.moments = [
            Span(dimension="height", line_width=2, visible=False)
            for _ in (*self.gantts, self.heat, self.job_rate)
        ]
        self._shades: dict[tuple[str, str], JobColours] = {}
        self._moving = self._later = False
        self._strips: Sequence[str] = ()
        self._wanted: Address | None = None
        self._network: Address | None = None
        self._missing = ""
        self._connect_events()

    def _connect_events(self) -> None:
        """Hear what happens in the page."""
        for axis in (self.time, self.nodes):
            for edge in ("start", "end"):
                axis.on_change(edge, lambda _attr, _old, _new: self._on_range())
        for number, own in enumerate(self.gantts):
            own.plot.on_event(Tap, partial(self._on_gantt_tap, number))
            own.plot.on_event(MouseMove, partial(self._on_gantt_move, number))
            for side in ("inner_width", "inner_height"):
                own.plot.on_change(side, lambda _attr, _old, _new: self.soon())
        for plot in self.strips.values():
            plot.on_event(SelectionGeometry, self._on_brush)
        over_time = [*(own.plot for own in self.gantts), self.heat.plot, self.job_rate.plot]
        for plot, moment in zip(over_time, self.moments, strict=True):
            plot.add_layout(moment)
        self.heat.plot.on_event(Tap, self._tapped_heat)
        self.job_rate.plot.on_event(Tap, self._tapped_rate)
        for number, fabric in enumerate(self.fabrics):
            fabric.plot.on_event(Tap, partial(self._tapped_fabric, number))
        if self.ready:
            self._draw_strips()

    @property
    def plots(self) -> list[Figure]:
        """Return all figures."""
        gantts = [own.plot for own in self.gantts]
        over = [*self.strips.values(), *gantts, self.job_rate.plot]
        return [*over, *(own.plot for own in self.fabrics), self.heat.plot]

    def follow(self, address: Address) -> None:
        """Show what an address says."""
        address = address if address.run else replace(address, run=self.runs[0])
        names, self._wanted = [address.run, address.beside], address
        awaited = self.exhibit.ready(names, self._notify(self._go_on))
        if awaited:
            self._show_waiting(awaited, address)
            return
        self.address, self._wanted = address, None
        run, end_s = self.exhibit.run(self.address.run), self.exhibit.end_s
        asked = self.address
        self._moving = True
        begin = min(max(asked.begin_s or 0.0, 0.0), end_s - _LEAST_S)
        end = min(end_s if asked.end_s is None else asked.end_s, end_s)
        self.time.start, self.time.end = (
            float(self.axis.place(begin)), float(self.axis.place(max(end, begin + _LEAST_S))),
        )  # fmt: skip
        n = len(run.names)
        low = min(max(asked.low or 0.0, 0.0), n - _LEAST_NODES)
        high = min(n if asked.high is None else asked.high, n)
        self.nodes.bounds = (0.0, float(n))
        self.nodes.start, self.nodes.end = low, float(max(high, low + _LEAST_NODES))
        self._moving = False
        self._draw_strips()
        self.soon()

    def _show_waiting(self, words: str, address: Address) -> None:
        """Say what has to be awaited."""
        self.dress()
        self.channel.shown, self.channel.details = address.written(), waiting_panel(words)
        self.channel.drawn += 1

    def _notify(self, draw: Callable[[], None]) -> OnReady:
        """Return what another thread calls when more is known, to have it drawn."""
        return lambda: self.document.add_next_tick_callback(lambda: self.together(draw))

    def _go_on(self) -> None:
        """Show what was awaited."""
        if self._wanted is not None:
            self.follow(self._wanted)

    def _on_range(self) -> None:
        """Take over what was panned, zoomed or brushed."""
        if self._moving or not self.ready:
            return
        run, end_s = self.exhibit.run(self.address.run), self.exhibit.end_s
        window = self._shown_window(run)
        whole = window.begin_s <= end_s * 1e-9 and window.end_s >= end_s * (1 - 1e-9)
        all_ = window.low <= 0 and window.high >= len(run.names)
        self.address = replace(
            self.address,
            begin_s=None if whole else round(window.begin_s, 3),
            end_s=None if whole else round(window.end_s, 3),
            low=None if all_ else round(window.low, 2),
            high=None if all_ else round(window.high, 2),
        )
        self.soon()

    def _on_brush(self, event: SelectionGeometry) -> None:
        """Show the time that was brushed."""
        begin, end = (float(event.geometry[edge]) for edge in ("x0", "x1"))
        least, most = (float(self.axis.place(t)) for t in (0.0, self.exhibit.end_s))
        begin, end = max(begin, least), min(end, most)
        if event.final and begin < end:
            self.time.update(start=begin, end=end)

    @property
    def ready(self) -> bool:
        """Say whether the run of the address can be shown."""
        return self.address.run in self.exhibit.results

    def draw(self) -> None:
        """Draw every picture."""
        if not self.ready:
            return
        for brush in self.brushes:
            brush.update(left=self.time.start, right=self.time.end)
        names = [self.address.run, self.address.beside]
        for own, name in zip(self.gantts, names, strict=True):
            own.plot.visible = bool(name)
            if name:
                self._draw_gantt(own, self.exhibit.run(name))
        run = self.exhibit.run(self.address.run)
        if not self._later:  # the jobs first: they must not wait for the network
            self._later = True
            self.document.add_timeout_callback(lambda: self.together(self._draw_network), 1)
        self.channel.shown = self.address.written()
        self.channel.key = key_of(
            self.exhibit, self.address.by, self._shades_of(run), Cividis256[::32]
        )
        self._update_panel()
        self.channel.drawn += 1

    def _shown_window(self, run: ViewedRun) -> Window:
        """Return what is shown of the plane of time and nodes."""
        begin, end = (self.axis.seconds(place) for place in (self.time.start, self.time.end))
        low, high = max(0.0, self.nodes.start), min(float(len(run.names)), self.nodes.end)
        begin = max(0.0, begin)
        return Window(
            begin, max(end, begin + _LEAST_S), min(low, len(run.names) - 1.0), max(high, low + 0.1)
        )

    def _draw_gantt(self, own: GanttFigure, run: ViewedRun) -> None:
        """Draw nodes over time."""
        window = self._shown_window(run)
        low, high = float(np.floor(window.low)), float(np.ceil(window.high))
        window = Window(window.begin_s, window.end_s, low, high)
        columns = points_along(own.plot, "inner_width", 300, _WIDEST)
        rows = int(min(points_along(own.plot, "inner_height", 200, _TALLEST), high - low))
        shades = self._shades_of(run)
        cells = run.bars.cells(window, rows, columns, communicating_nodes(shades))
        mean = self.address.by == "slowdown"
        image = picture_of(cells, shades, mean=mean)
        x, last = (float(self.axis.place(t)) for t in (window.begin_s, window.end_s))
        own.image.data = {"image": [image], "x": [x], "y": [low], "dw": [last - x],
                          "dh": [high - low]}  # fmt: skip
        own.plot.title.text = run.name
        _label_nodes(own.plot, run, window)
        row = run.row.get(int(self.address.job)) if self.address.job.isdecimal() else None
        bars = marks_of(run, [] if row is None else [row], self.axis)
        if bars != own.marks.data:
            own.marks.data = bars
            others = marks_of(run, [] if row is None else top_interferers(run, row), self.axis)
            few = len(others["left"]) <= _MOST_INTERFERERS  # more would hide the picture
            own.others.data = others if few else marks_of(run, [], self.axis)

    def _update_panel(self) -> None:
        """Say all that is known of what was chosen."""
        run = self.exhibit.run(self.address.run)
        self.channel.details = run_panel(
            self.exhibit, run, self.address, self._notify(self._update_panel)
        )
        self._draw_rate([self.address.run, self.address.beside])

    def _draw_rate(self, names: list[str]) -> None:
        """Draw how slow the chosen job ran when, as far as it is known."""
        lines = rate_lines(
            self.exhibit, names, self.address.job, self.axis, self._notify(self._update_panel)
        )
        if lines != self.job_rate.lines.data:
            self.job_rate.lines.data = lines
        self.job_rate.plot.title.text = f"slowdown of job {self.address.job}"
        self.job_rate.plot.visible = bool(lines["xs"])

    def _draw_network(self) -> None:
        """Draw the fabric and the links over time, and where the moment lies."""
        self._later = False
        run = self.exhibit.run(self.address.run)
        at_s, window = self.address.at_s, self._shown_window(run)
        for moment in self.moments:
            moment.visible = at_s is not None
            if at_s is not None:
                moment.location = float(self.axis.place(at_s))
        over_time = self._load_over_time(at_s is not None)
        run = self.exhibit.run(self.address.run)
        key = replace(self.address, begin_s=None, end_s=None, low=None, high=None)
        if key != self._network:
            self._network = key
            self._draw_fabrics()
        self.heat.draw(run, self.address, (window.begin_s, window.end_s))
        self.channel.missing = " ".join(text for text in (self._missing, over_time) if text)
        self.channel.moment = (
            "the whole run" if at_s is None else self._moment_words(max(at_s, 0.0))
        )

    def _load_over_time(self, wanted: bool) -> str:
        """Say what is missing of the load over time; compute it where a moment is looked at."""
        names = [name for name in (self.address.run, self.address.beside) if name]
        before = [self.exhibit.run(name).load for name in names]
        if wanted:
            said = [
                self.exhibit.load_over_time(name, self._notify(self._draw_network))
                for name in names
            ]
        else:
            said = [self.exhibit.how_to_load(name) for name in names]
        if [self.exhibit.run(name).load for name in names] != before:
            self._network = None
        return next((text for text in said if text), "")

    def _draw_fabrics(self) -> None:
        """Draw the fabric of each run, on one scale."""
        names = [self.address.run, self.address.beside]
        runs = [self.exhibit.run(name) if name else None for name in names]
        most = max(run.load.most for run in runs if run is not None)
        for fabric, run in zip(self.fabrics, runs, strict=True):
            fabric.plot.visible = run is not None
            if run is not None:
                look = look_at(run, self.address, self._shades_of(run), most)
                missing = fabric.draw(look)
                if fabric is self.fabrics[0]:
                    self._missing = missing
                if self.address.beside and not missing:
                    fabric.plot.title.text = f"{run.name}: {look.words}"

    def _moment_words(self, at_s: float) -> str:
        date = self.axis.date(at_s)
        return f"{duration(at_s)} from the begin" + (f", {date}" if date else "")

    def _shades_of(self, run: ViewedRun) -> JobColours:
        key = (run.name, self.address.by)
        if key not in self._shades:
            self._shades[key] = shades_of(
                run.jobs, self.address.by, run.name, Cividis256, self.exhibit.scale
            )
        return self._shades[key]

    def _draw_strips(self) -> None:
        """Draw the overview, once for the runs in it."""
        names = self.exhibit.overview([self.address.run, self.address.beside])
        if names == self._strips:
            return
        self._strips = names
        edges = self.exhibit.edges
        series = {name: self.exhibit.series(name) for name in names}
        place = self.axis.place((edges[:-1] + edges[1:]) / 2)
        draw_strips(self.strips, place, series, self.exhibit.colours)
        if self.channel.theme in INKS:
            dress(self.plots, self.channel.theme)

    def step(self, by: int) -> None:
        """Choose the next job that starts in what is shown, or the one before."""
        if not self.ready:
            return
        run = self.exhibit.run(self.address.run)
        window = self._shown_window(run)
        start = run.bars.start_s
        order = np.argsort(start, kind="stable")
        shown = order[(start[order] >= window.begin_s) & (start[order] < window.end_s)]
        if not shown.size:
            return
        row = run.row.get(int(self.address.job)) if self.address.job.isdecimal() else None
        place = np.flatnonzero(shown == row) if row is not None else np.zeros(0)
        at = (int(place[0]) + by) % shown.size if place.size else (0 if by > 0 else -1)
        self.address = replace(self.address, job=str(run.jobs["id"].iloc[shown[at]]))
        self.soon()

    def _on_gantt_tap(self, number: int, event: Tap) -> None:
        """Choose the job that was clicked."""
        found = self._job_at(number, event)
        chosen = "" if found is None else str(found[0].jobs["id"].iloc[found[1]])
        self.address = replace(self.address, job=chosen)
        self.soon()

    def _on_gantt_move(self, number: int, event: MouseMove) -> None:
        """Say what is under the pointer."""
        found = self._job_at(number, event)
        self.channel.pointed = "" if found is None else job_line(*found)

    def _tapped_rate(self, event: Tap) -> None:
        """Choose the moment that was clicked."""
        if event.x is not None:
            at_s = round(self.axis.seconds(event.x), 3)
            self.address = replace(self.address, at_s=at_s)
            self.soon()

    def _tapped_heat(self, event: Tap) -> None:
        """Choose the link and the moment that were clicked."""
        if event.x is not None and event.y is not None and self.ready:
            run = self.exhibit.run(self.address.run)
            at_s = round(self.axis.seconds(event.x), 3)
            cable = self.heat.cable_at(run, event.y)
            self.address = replace(self.address, cable=cable, at_s=at_s)
            self.soon()

    def _tapped_fabric(self, number: int, event: Tap) -> None:
        """Choose the cable that was clicked, or the job on the node."""
        if event.x is None or event.y is None:
            return
        fabric = self.fabrics[number]
        node = fabric.node_at(event.x, event.y)
        if node is None:
            cable = fabric.cable_at(event.x, event.y)
            self.address = replace(self.address, cable=cable)
        elif self.address.at_s is not None:
            run = self.exhibit.run((self.address.run, self.address.beside)[number])
            rows = run.bars.at(node, self.address.at_s)
            job = str(run.jobs["id"].iloc[rows[-1]]) if rows.size else ""
            self.address = replace(self.address, job=job)
        self.soon()

    def _job_at(self, number: int, event: Any) -> tuple[ViewedRun, int] | None:  # noqa: ANN401 (has x, y)
        """Return run and row of the job at a place."""
        name = (self.address.run, self.address.beside)[number]
        if name not in self.exhibit.results or event.x is None or event.y is None:
            return None
        run = self.exhibit.run(name)
        rows = run.bars.at(int(np.floor(event.y)), self.axis.seconds(event.x))
        return (run, int(rows[-1])) if rows.size else None


def _label_nodes(plot: Figure, run: ViewedRun, window: Window) -> None:
    """Name some of the nodes that are shown."""
    first, last = int(window.low), int(window.high)
    step = max(1, (last - first) // _TICKS)
    ticks = list(range(-(-first // step) * step, last, step))
    names = {tick + 0.5: run.names[tick][:12] for tick in ticks}
    if names == plot.yaxis[0].major_label_overrides:
        return
    plot.yaxis.major_label_overrides = names
    plot.yaxis.ticker = FixedTicker(ticks=[tick + 0.5 for tick in ticks])


_MOST_BARS = 2000  # of chosen jobs; more are no bars but an area
_MOST_NAMED = 3  # jobs that it lost most to, and that it cost most
_DASHES = ("solid", "dashed")  # of the run, and of the one beside it


def rate_lines(
    exhibit: RunView, names: Sequence[str], job: str, axis: TimeAxis, on_ready: OnReady
) -> dict[str, list[object]]:
    """Return the slowdown of a job over time in each run, as far as it is known by now."""
    lines: dict[str, list[object]] = {"xs": [], "ys": [], "colour": [], "dash": []}
    for name, dash in zip(names, _DASHES, strict=True):
        if not (name and job.isdecimal() and int(job) in exhibit.run(name).row):
            continue
        life = exhibit.life(name, int(job), on_ready)
        if isinstance(life, JobHistory):
            times = [time_s for own in life.stretches for time_s in (own.begin_s, own.end_s)]
            job_rates = [own.interference * life.placement_factor for own in life.stretches]
            lines["xs"].append([float(axis.place(time_s)) for time_s in times])
            lines["ys"].append([job_rate for job_rate in job_rates for _ in range(2)])
            lines["colour"].append(exhibit.colours[name])
            lines["dash"].append(dash)
    return lines


def top_interferers(run: ViewedRun, row: int) -> list[int]:
    """Return the jobs that a job lost most to, or cost most."""
    blame, job = run.result.blame, int(run.jobs["id"].iloc[row])
    found = list[int]()
    for own, other in (("victim", "culprit"), ("culprit", "victim")):
        lost = blame[blame[own] == job].groupby(other)["interference_delay_node_s"].sum()
        found += [
            run.row[int(id_)] for id_ in lost.nlargest(_MOST_NAMED).index if int(id_) in run.row
        ]
    return found


def marks_of(run: ViewedRun, rows: Sequence[int], axis: TimeAxis) -> dict[str, list[float]]:
    """Return the bars of jobs, nodes beside each other as one."""
    bars: dict[str, list[float]] = {"left": [], "right": [], "bottom": [], "top": []}
    for row in rows:
        own = spans(run.nodes_of(row))[: _MOST_BARS - len(bars["left"])]
        left, right = (float(axis.place(run.jobs[name].iloc[row])) for name in ("start_s", "end_s"))
        for first, last in own:
            for side, value in (("left", left), ("right", right), ("bottom", float(first)),
                                ("top", last + 1.0)):  # fmt: skip
                bars[side].append(value)
    return bars
