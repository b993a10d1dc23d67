"""The figures of a page: made once, filled and coloured as people move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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

from coupling.explorer.run_view import TITLES
from coupling.report.plots.style import zone_named

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
