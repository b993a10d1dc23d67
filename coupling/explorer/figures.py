"""The figures of a page: made once, filled and coloured as people move; colours of bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import MISSING_RENDERERS
from bokeh.models import (
    BoxAnnotation,
    BoxSelectTool,
    ColumnDataSource,
    DatetimeTickFormatter,
    FixedTicker,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    ResetTool,
    Span,
    TimedeltaTicker,
    TimedeltaTickFormatter,
    WheelZoomTool,
)
from bokeh.plotting import figure
from numpy.typing import NDArray

from coupling.explorer.raster_kernels import Cells
from coupling.explorer.run_view import TITLES
from coupling.report.plots.style import COLOURS, palette, zone_named
from netsim.common.arrays import Floats, Ints

silence(MISSING_RENDERERS)  # a page is made before what it shows is known
Figure = Any
"""A figure of Bokeh, whose attributes are made when it runs."""
INKS: Mapping[str, Mapping[str, str]] = {
    "light": {"ink": "#24292f", "line": "#57606a", "grid": "#d0d7de", "chosen": "#b00020"},
    "dark": {"ink": "#e6edf3", "line": "#9da7b1", "grid": "#3d444d", "chosen": "#ff7b72"},
}
_INK_OF: Mapping[str, Mapping[str, str]] = {  # of marks, by their name: side and ink
    "switches": {"fill_color": "ink"},
    "cut": {"line_color": "ink"},
    "chosen": {"line_color": "chosen"},
    "marks": {"line_color": "chosen", "hatch_color": "chosen"},
    "others": {"line_color": "chosen", "hatch_color": "chosen"},
}
_STRIP = 74  # pixels of a figure of the overview
_BRUSH = "#0072b2"
_MILLI = 1e3  # Bokeh counts time in milliseconds


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """
    Time as figures count it.

    Bokeh writes dates in UTC alone, so places are shifted by what the clock of the zone is ahead at
    the begin: through a change to summer time an axis keeps its hours.
    """

    begin_unix_s: float | None  # Date of second 0; None: time is counted from the begin of the run
    zone: str = "UTC"  # Time zone of dates; what is none is the clock of the log, taken as UTC

    @property
    def _begin_s(self) -> float:
        """Return second 0 on the clock of the axis."""
        return (
            0.0
            if self.begin_unix_s is None
            else self.begin_unix_s + self._zone_offset.total_seconds()
        )

    @property
    def _zone_offset(self) -> timedelta:
        """Return what the clock of the zone is ahead of UTC at the begin."""
        begin = datetime.fromtimestamp(self.begin_unix_s or 0.0, zone_named(self.zone))
        return begin.utcoffset() or timedelta(0)

    @property
    def words(self) -> str:
        """Say how dates are written; empty where there are none."""
        if self.begin_unix_s is None:
            return ""
        begin = datetime.fromtimestamp(self.begin_unix_s, zone_named(self.zone))
        shift = "" if self.zone == "UTC" else f" (UTC{begin:%z}, as at the begin)"
        return f"Dates are in {self.zone}{shift}."

    def date(self, seconds: float) -> str:
        """Write a time as a date, empty where there are none."""
        if self.begin_unix_s is None:
            return ""
        at_s = self.begin_unix_s + seconds
        return f"{datetime.fromtimestamp(at_s, zone_named(self.zone)):%Y-%m-%d %H:%M}"

    def place(self, seconds: Any) -> Any:  # noqa: ANN401 (a number or an array)
        """Return where a time of the run lies."""
        return (seconds + self._begin_s) * _MILLI

    def seconds(self, place: float) -> float:
        """Return the time of the run at a place."""
        return place / _MILLI - self._begin_s

    def dress(self, plot: Figure) -> None:
        """Let the ticks be dates, or hours and days."""
        if self.begin_unix_s is not None:
            plot.xaxis.formatter = DatetimeTickFormatter()
            return
        plot.xaxis.ticker = TimedeltaTicker()
        plot.xaxis.formatter = TimedeltaTickFormatter(
            days="%d d", hours="%h h", hourmin="%h:%M h", minutes="%h:%M h",
            minsec="%h:%M:%S", seconds="%h:%M:%S",
        )  # fmt: skip


def time_figure(axis: TimeAxis, x_range: Range1d, **options: Any) -> Figure:  # noqa: ANN401
    """Return an empty figure over time."""
    kind = "datetime" if axis.begin_unix_s is not None else "auto"
    plot = figure(
        x_range=x_range, x_axis_type=kind, toolbar_location=None, tools="",
        sizing_mode="stretch_width", background_fill_color=None, border_fill_color=None,
        outline_line_color=None, min_border_left=72, min_border_right=12, **options,
    )  # fmt: skip
    axis.dress(plot)
    plot.toolbar.logo = None
    return plot


def strips(axis: TimeAxis, whole: Range1d) -> dict[str, Figure]:
    """Return the figures of the overview, each with the time that is shown as its last mark."""
    found = {}
    for name, title in TITLES.items():
        last = name == list(TITLES)[-1]
        plot = time_figure(
            axis, whole, height=_STRIP + (26 if last else 0), name=f"over-{name}", title=title
        )
        plot.title.text_font_size = "12px"
        plot.title.text_font_style = "normal"
        plot.title.standoff = 1
        plot.xaxis.visible = last
        plot.yaxis.ticker.desired_num_ticks = 2
        plot.yaxis.ticker.num_minor_ticks = 0
        if name in ("utilization", "lost"):
            plot.yaxis.formatter = NumeralTickFormatter(format="0.[0]%")
        if name == "queued":
            plot.yaxis.formatter = NumeralTickFormatter(format="0.[0]a")
        if name == "utilization":
            plot.y_range = Range1d(0, 1.05)
        tool = BoxSelectTool(dimensions="width")
        tool.overlay.fill_color = tool.overlay.line_color = _BRUSH
        plot.add_tools(tool)
        plot.toolbar.active_drag = tool
        plot.add_layout(
            BoxAnnotation(
                fill_color=_BRUSH,
                fill_alpha=0.13,
                line_color=_BRUSH,
                line_alpha=0.6,
                level="underlay",
            )
        )
        found[name] = plot
    return found


def draw_strips(
    plots: Mapping[str, Figure],
    place: Any,  # noqa: ANN401 (an array, in the units of the axis)
    series: Mapping[str, Mapping[str, Any]],
    colours: Mapping[str, str],
) -> None:
    """Draw the numbers of runs, each a line in its colour."""
    for name, plot in plots.items():
        plot.renderers = []
        for number, (run, values) in enumerate(series.items()):
            if name in values:
                source = ColumnDataSource({"x": place, "y": values[name]})
                plot.line(
                    "x", "y", source=source, line_color=colours[run], line_width=1.6,
                    line_dash=("solid", "dashed", "dotted", "dotdash")[number % 4],
                    name=run,
                )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class GanttFigure:
    """The picture of nodes over time."""

    plot: Figure  # The figure
    # image, marks, others: the picture; the bars of the chosen job; those of jobs that it
    # interfered with
    image: ColumnDataSource
    marks: ColumnDataSource
    others: ColumnDataSource


def gantt(axis: TimeAxis, shown: Range1d, nodes: Range1d, name: str) -> GanttFigure:
    """Return an empty picture of nodes over time."""
    plot = time_figure(
        axis, shown, y_range=nodes, height=430, name=name, output_backend="canvas",
    )  # fmt: skip
    plot.height_policy = "fixed"
    plot.grid.visible = False
    plot.yaxis.ticker = FixedTicker(ticks=[])
    pan, wheel = PanTool(), WheelZoomTool(maintain_focus=False)
    plot.add_tools(pan, wheel, ResetTool())
    plot.toolbar.active_drag, plot.toolbar.active_scroll = pan, wheel
    image = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})
    plot.image_rgba("image", "x", "y", "dw", "dh", source=image)
    bars: dict[str, list[float]] = {"left": [], "right": [], "bottom": [], "top": []}
    others, marks = ColumnDataSource(dict(bars)), ColumnDataSource(dict(bars))
    plot.quad(
        "left", "right", "top", "bottom", source=others, fill_alpha=0.0, line_width=1.2,
        hatch_pattern="/", hatch_alpha=0.7, hatch_scale=8, name="others",
    )  # fmt: skip
    plot.quad(
        "left", "right", "top", "bottom", source=marks, fill_alpha=0.0, line_width=2.2, name="marks"
    )
    return GanttFigure(plot, image, marks, others)


@dataclass(frozen=True, slots=True, eq=False)
class SlowdownFigure:
    """The slowdown of the chosen job over time."""

    plot: Figure  # The figure
    lines: ColumnDataSource  # A line for each run that is shown


def rate_figure(axis: TimeAxis, shown: Range1d) -> SlowdownFigure:
    """Return an empty figure of a job's slowdown."""
    plot = time_figure(axis, shown, height=130, name="rate", title="slowdown", visible=False)
    plot.yaxis.ticker.desired_num_ticks = 3
    plot.yaxis.ticker.num_minor_ticks = 0
    lines = ColumnDataSource({"xs": [], "ys": [], "colour": [], "dash": []})
    plot.multi_line("xs", "ys", source=lines, line_color="colour", line_dash="dash", line_width=2)
    return SlowdownFigure(plot, lines)


def points_along(plot: Figure, side: str, least: int, most: int) -> int:
    """Return the width or height of a figure's picture in points, once the page knows it."""
    try:
        found = getattr(plot, side) or 0
    except UnsetValueError:
        found = 0
    return int(min(max(found, least), most))


def dress(plots: Sequence[Figure], theme: str) -> None:
    """Colour axes, titles and marks for a light or a dark page."""
    inks = INKS[theme]
    for plot in plots:
        plot.title.text_color = inks["ink"]
        for mark in plot.center:
            if isinstance(mark, Span):
                mark.line_color = inks["chosen"]
        for axis in plot.axis:
            axis.major_label_text_color = axis.axis_label_text_color = inks["ink"]
            axis.major_label_text_font_size = "13px"
            axis.axis_line_color = axis.major_tick_line_color = inks["line"]
            axis.minor_tick_line_color = None
        for grid in plot.grid:
            grid.grid_line_color = inks["grid"]
        for renderer in plot.renderers:
            for side, ink in _INK_OF.get(renderer.name or "", {}).items():
                setattr(renderer.glyph, side, inks[ink])


Points = NDArray[np.uint32]
"""Red, green, blue and opacity of each point, the red in the lowest byte."""
_NONE = "#9aa4ae"  # of what has no class: jobs without traffic, classes past the key
_FAINTEST = 0.35  # opacity of a cell that is hardly filled
_KEYED = 10  # classes that have a colour of their own
_STEPS = 256


@dataclass(frozen=True, slots=True, eq=False)
class JobColours:
    """Colours of jobs."""

    key: Mapping[str, str]  # Colour of each class; empty where colours stand for a number
    place: Ints  # (J,): place of each job's colour in `table`
    table: Points  # (K,): colours
    missing: str = ""  # Text where the result lacks it; else empty


def shades_of(
    jobs: pd.DataFrame, by: str, run: str, ramp: Sequence[str], scale: float
) -> JobColours:
    """Return colours of jobs by one of `BY`; grey where it is not recorded."""
    if by == "slowdown":
        share = (jobs["network_slowdown"].to_numpy(dtype=float) - 1.0) / (scale - 1.0)
        place = np.rint(np.clip(share, 0.0, 1.0) * (len(ramp) - 1)).astype(np.int64)
        return JobColours({}, place, points_of(ramp))
    if by == "job":
        place = (jobs["id"].to_numpy(dtype=np.int64) % len(COLOURS)).astype(np.int64)
        return JobColours({}, place, points_of(COLOURS))
    if by == "user" and by not in jobs:
        none = np.zeros(len(jobs), dtype=np.int64)
        return JobColours({}, none, points_of([_NONE]), "Users are not recorded in this result.")
    classes = _job_classes(jobs, by, run)
    counts = classes.value_counts()
    names = [str(name) for name in counts.index if name][:_KEYED]
    own = palette(names) if by == "allocator" else dict(zip(names, COLOURS, strict=False))
    rest = set(counts.index) - set(names)
    key = own | ({"" if rest == {""} else "others": _NONE} if rest else {})
    number = {name: place for place, name in enumerate(names)}
    place = classes.map(lambda name: number.get(name, len(names))).to_numpy(dtype=np.int64)
    return JobColours(key, place, points_of([*own.values(), _NONE]))


def _job_classes(jobs: pd.DataFrame, by: str, run: str) -> pd.Series:
    """Return the class of each job as text."""
    if by in jobs:
        return jobs[by].astype(str).str.slice(0, 60)
    return pd.Series(run, index=jobs.index, dtype=str)  # one allocator placed them all


def points_of(colours: Sequence[str]) -> Points:
    """Return colours such as ``#0072b2`` as opaque points."""
    rgb = [int(colour[1:], 16) for colour in colours]
    return np.array(
        [0xFF000000 | (c & 0xFF) << 16 | c & 0xFF00 | c >> 16 for c in rgb], dtype=np.uint32
    )


def picture_of(cells: Cells, shades: JobColours, *, mean: bool) -> Points:
    """Colour cells by the mean place of their jobs on a ramp, or by the job that fills most."""
    there = cells.top >= 0
    if mean:
        value = np.zeros(cells.busy.shape)
        np.divide(cells.weight, cells.busy, out=value, where=there)
        place = np.rint(value).astype(np.int64)
    else:
        place = shades.place[np.maximum(cells.top, 0)]
    share = np.clip(cells.busy, 0.0, 1.0)
    opacity = np.rint((_FAINTEST + (1 - _FAINTEST) * share) * (_STEPS - 1)).astype(np.uint32)
    colour: Points = (shades.table[place] & np.uint32(0xFFFFFF)) | opacity << np.uint32(24)
    return np.where(there, colour, np.uint32(0))


def communicating_nodes(shades: JobColours) -> Floats:
    """Return the weight of each job, of which a cell's mean is taken."""
    return shades.place.astype(np.float64)
