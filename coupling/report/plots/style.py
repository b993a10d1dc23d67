"""How pictures of a report look: colours, axes, keys and hints; and how they become SVG."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import partial
from html import escape
from io import BytesIO
from itertools import pairwise
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from coupling.results.formatting import duration_unit, number
from netsim.common.arrays import Floats

POINTS = 72  # to the inch, in which SVG and PDF measure
Box = tuple[float, float, float, float]
"""Left, top, width and height in points."""
Span = tuple[float, float] | None
"""Begin and end in data coordinates; None: all of the axes."""


class Sheet(Figure):
    """A figure of a report, with texts that a page shows where a part of a chart is pointed at."""

    def __init__(self, size: tuple[float, float]) -> None:
        super().__init__(figsize=size, dpi=POINTS, layout="constrained")
        self.hints = list[tuple[Axes, Span, Span, str]]()

    def hint_boxes(self) -> Iterator[tuple[str, Box]]:
        """Yield text and box of the hints (points from the top left), once all is drawn."""
        points, high = POINTS / self.dpi, self.get_figheight() * POINTS
        for axes, x, y, text in self.hints:
            own = axes.bbox
            across, up = np.array([[own.x0, own.x1], [own.y0, own.y1]])
            if x is not None:
                across = np.clip(
                    axes.transData.transform([(v, axes.get_ylim()[0]) for v in x])[:, 0], *across
                )
            if y is not None:
                up = np.clip(
                    axes.transData.transform([(axes.get_xlim()[0], v) for v in y])[:, 1], *up
                )
            left, right = sorted(across * points)
            low, top = sorted(up * points)
            yield text, (left, high - top, right - left, top - low)


def add_bar(
    image: ScalarMappable, axes: Sequence[Axes], label: str, *, percent: bool = False,
    more: bool = False,
) -> None:  # fmt: skip
    """Put a bar of the colours of an image beside axes; with `more` the last has all above."""
    bar: Any = axes[0].figure.colorbar(
        image, ax=list(axes), pad=0.02, aspect=30, extend="max" if more else "neither"
    )
    bar.outline.set_visible(False)
    bar.set_label(label, fontsize="small")
    if percent:
        percent_axis(bar.ax.yaxis)


def hint(axes: Axes, text: str, x: Span = None, y: Span = None) -> None:
    """Add the values that a page shows at a part of a chart; not on a user's own figure."""
    if isinstance(axes.figure, Sheet):
        axes.figure.hints.append((axes, x, y, text))


def percent_axis(axis: Axis) -> None:
    """Label an axis of fractions in per cent."""
    axis.set_major_formatter(lambda value, _: f"{value * 100:.3g} %")


def name_ticks(axis: Axis, places: Sequence[float], names: Sequence[str]) -> None:
    """Put ticks with names on an axis; names are texts, never formulas."""
    axis.set_ticks(places, names)
    for label in axis.get_ticklabels():
        label.set_parse_math(False)


_NAMED = {  # Okabe & Ito: tells apart for the colour-blind; one allocator, one colour, always
    "first-free": "#7a7f85",
    "baseline": "#7a7f85",
    "random": "#d55e00",
    "ta": "#009e73",
    "ta, whole leaves": "#b59b00",
    "laas": "#cc79a7",
    "jigsaw": "#0072b2",
    "lc": "#56b4e9",
    "lc+s": "#e69f00",
}
_OTHERS = ("#e69f00", "#56b4e9", "#cc79a7", "#b59b00", "#7a4fa3", "#a0522d", "#2f4858", "#4c9f38")
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", *_OTHERS[3:])
"""Of things without a colour of their own, such as jobs."""
LOAD = ("#a9b5c0", "#f0b040", "#d55e00", "#c2255c")
"""From an idle cable to a full one."""


def palette(names: Sequence[str]) -> dict[str, str]:
    """Return the colour of each run: the same for an allocator in every report."""
    chosen: dict[str, str] = {}
    for name in names:
        used = set(chosen.values())
        free = [colour for colour in _OTHERS if colour not in used] or list(_OTHERS)
        own = _NAMED.get(name)
        chosen[name] = own if own is not None and own not in used else free[0]
    return chosen


INK = "#24292f"  # in the page: the colour of its text, so that dark pages work
BACK = "#fefefe"  # in the page: its background, under what has to be read
FAINT = "#8c959f"
HALF_WIDTH = (5.2, 3.0)  # inches; two beside each other on a wide page, one on a phone
COLUMN_WIDTH = 3.4  # inches: one of two columns of a paper
_DPI = 144  # of what is drawn as dots: maps, and fabrics of many cables
_NOTHING: dict[str, dict[str, None]] = {  # dates and versions, which would change the bytes
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    "png": {"Software": None},
}
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "font.size": 9,
    "grid.alpha": 0.35,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.4,
    "path.simplify": True,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,  # labels are texts of inputs, such as a pattern named "$_{$"
    "xtick.color": INK,
    "ytick.color": INK,
}
_PAPER: dict[Any, Any] = {
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "font.size": 7,
    "legend.fontsize": 7,
    "lines.linewidth": 1.0,
    "pdf.fonttype": 42,  # letters stay letters; publishers refuse type 3
    "svg.fonttype": "path",  # the same in every program, whatever fonts it has
}
_HINTS = 12, 24  # parts of a map with a hint, across rows and time
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def legend(figure: Figure, colours: Mapping[str, str]) -> None:
    """Put the key of runs above a picture; a single run needs none."""
    if len(colours) < 2:  # noqa: PLR2004 (one run needs no key)
        return
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    put_key(figure, handles, min(len(colours), 4))


def put_key(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """Put a key above a picture."""
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=columns,
        handlelength=1.0,
        borderaxespad=0.3,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture: in a page, in a paper, or as numbers."""

    name: str  # Unique among the pictures of a page; makes the ids in the SVG so
    alt: str  # What the picture shows, for readers that cannot see it
    paint: Callable[[Figure], None]  # Draws on a figure
    data: Callable[[], pd.DataFrame] | None = None  # Returns the numbers behind it as a table
    size: tuple[float, float] = HALF_WIDTH  # (width, height): in inches; the page scales it

    def html(self) -> Markup:
        """Return the picture as an ``svg`` element, the same bytes for the same picture."""
        sheet, drawn = self._drawn("svg", self.size, {})
        return Markup(_add_titles(_tidy_svg(drawn.decode(), self.alt), sheet))  # noqa: S704 (texts are escaped)

    def file(self, form: str) -> bytes:
        """Return the picture as svg, pdf or png, for a column of a paper."""
        width, height = self.size
        return self._drawn(form, (COLUMN_WIDTH, COLUMN_WIDTH * height / width), _PAPER)[1]

    def _drawn(
        self, form: str, size: tuple[float, float], style: Mapping[Any, Any]
    ) -> tuple[Sheet, bytes]:
        """Draw the picture in a style of its own, whatever the user has set."""
        written = BytesIO()
        with mpl.rc_context(), warnings.catch_warnings():
            # letters that the font lacks are those of inputs
            warnings.filterwarnings("ignore", "Glyph", UserWarning)
            mpl.rcdefaults()
            mpl.rcParams.update({**_STYLE, **style, "svg.hashsalt": self.name})
            sheet = Sheet(size)
            self.paint(sheet)
            sheet.savefig(written, format=form, transparent=True, dpi=_DPI, metadata=_NOTHING[form])
        return sheet, written.getvalue()


def chart(
    name: str,
    alt: str,
    draw: Callable[[Axes], None],
    data: Callable[[], pd.DataFrame] | None = None,
    *,
    title: str = "",
    key: Mapping[str, str] | None = None,
    size: tuple[float, float] = HALF_WIDTH,
) -> Picture:
    """Return a picture of one pair of axes, with a title and a key of colours."""

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        draw(axes)
        if title:
            axes.set_title(title)
        legend(figure, key or {})

    return Picture(name, alt, paint, data, size)


def grid_parts(shape: tuple[int, int]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the bounds of rows and columns of the parts of a map that have a hint."""
    sizes = [min(own, most) for own, most in zip(shape, _HINTS, strict=True)]
    rows, columns = (
        np.unique(np.linspace(0, own, size + 1).astype(np.int64)).tolist()
        for own, size in zip(shape, sizes, strict=True)
    )
    for low, high in pairwise(rows):
        for left, right in pairwise(columns):
            yield low, high, left, right


def _tidy_svg(text: str, alt: str) -> str:
    """Keep the drawing alone: the page's font and ink, no fixed size, no ids without use."""
    box = text[text.index("viewBox=") :].split('"')[1]
    text = text[text.index(">", text.index("<svg")) + 1 :].rstrip()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*<!--.*?-->", "", text, flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)
    text = re.sub(r"(font: (?:[a-z0-9]+ )*[0-9.]+px) [^;\"]+", r"\1 sans-serif", text)
    text = text.replace(INK, "currentColor").replace(BACK, "var(--back, transparent)")
    return f'<svg viewBox="{box}" role="img" aria-label="{escape(alt)}">{text}'


def _add_titles(text: str, sheet: Sheet) -> str:
    """Lay an invisible rectangle with a title over each part of a drawing that has a hint."""
    marks = [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}">'
        f"<title>{escape(words)}</title></rect>\n"
        for words, (x, y, wide, high) in sheet.hint_boxes()
    ]
    if not marks:
        return text
    head, end = text[: text.rindex("</svg>")], text[text.rindex("</svg>") :]
    group = '<g class="hints" fill="none" pointer-events="all">'
    return f"{head}{group}\n{''.join(marks)}</g>\n{end}"


def places(n_classes: int, n_runs: int) -> tuple[Floats, float]:
    """Return middle and width of boxes; class i spans i - 0.4 to i + 0.4."""
    width = 0.8 / n_runs
    offsets: Floats = (np.arange(n_runs, dtype=np.float64) - (n_runs - 1) / 2) * width
    return offsets[:, None] + np.arange(n_classes), width * 0.84


def label_classes(axes: Axes, labels: Sequence[str]) -> None:
    """Write the classes below an axis."""
    name_ticks(axes.xaxis, range(len(labels)), labels)
    axes.tick_params(axis="x", length=0, labelsize="small")
    axes.set_xlim(-0.6, len(labels) - 0.4)


def boxes(
    axes: Axes,
    x: Floats,
    width: float,
    values: Sequence[Floats],
    colour: str,
    *,
    names: Sequence[str],
    write: Callable[[float], str],
) -> None:
    """Draw boxes of a colour: quartiles, median, whiskers from 5 to 95 %."""
    if not values:
        return
    quantiles = np.array([np.quantile(own, _QUANTILES) for own in values])
    for place, name, own, five in zip(x, names, values, quantiles.tolist(), strict=True):
        low, first, median, third, high = map(write, five)
        hint(
            axes,
            f"{name} ({own.size:,})\nmedian {median}, quartiles {first} to {third}\n"
            f"5 to 95 %: {low} to {high}\n"
            f"mean {write(float(own.mean()))}, largest {write(float(own.max()))}",
            (place - width / 2, place + width / 2),
        )
    low, first, median, third, high = quantiles.T
    axes.vlines(x, low, high, color=colour, linewidth=1.0)
    axes.bar(x, third - first, width, bottom=first, color=colour, alpha=0.45, edgecolor=colour)
    axes.hlines(median, x - width / 2, x + width / 2, color=colour, linewidth=1.6)


def marks(
    axes: Axes,
    x: Floats,
    y: Sequence[float],
    *,
    marker: str,
    markersize: float,
    hollow: bool = False,
) -> None:
    """Mark points in ink, full ones without an edge."""
    look: dict[str, Any] = {"markerfacecolor": "none"} if hollow else {"markeredgewidth": 0}
    axes.plot(x, y, marker, markersize=markersize, color=INK, **look)


def class_boxes(
    axes: Axes,
    values: Mapping[str, Mapping[str, Floats]],
    colours: Mapping[str, str],
    write: Callable[[float], str],
) -> Iterator[tuple[str, Floats]]:
    """Draw a box per class and run; yield each run with the places of its boxes."""
    n_classes = len(next(iter(values.values()), {}))
    rows, width = places(n_classes, len(values))
    for row, (name, by_class) in zip(rows, values.items(), strict=True):
        there = {label: own for label, own in by_class.items() if own.size}
        x = row[[label in there for label in by_class]]
        words = [f"{name}, {label}" for label in there]
        boxes(axes, x, width, list(there.values()), colours[name], names=words, write=write)
        yield name, x


def box_numbers(values: Mapping[str, Mapping[str, Floats]], by: str) -> pd.DataFrame:
    """Return the numbers behind boxes, of the classes of each run."""
    heads = ["run", by, "n", "p5", "p25", "median", "p75", "p95", "mean", "max"]
    rows = [
        [run, label, own.size, *np.quantile(own, _QUANTILES), own.mean(), own.max()]
        for label in next(iter(values.values()), {})
        for run in values
        if (own := values[run][label]).size
    ]
    return pd.DataFrame(rows, columns=heads)


def _lost_numbers(
    interference_delay_s: Mapping[str, pd.Series], labels: Sequence[str], by: str
) -> pd.DataFrame:
    """Return the node-hours lost by run and class."""
    rows = [
        [run, label, float(value) / 3600.0]
        for run, lost in interference_delay_s.items()
        for label, value in lost.reindex(list(labels), fill_value=0.0).items()
    ]
    return pd.DataFrame(rows, columns=["run", by, "node_hours_lost"])


def lost_picture(
    name: str,
    alt: str,
    interference_delay_s: Mapping[str, pd.Series],
    labels: Sequence[str],
    by: tuple[str, str],
) -> Picture:
    """Return a picture of the node-hours lost in each class; `by`: in words, and as a column."""
    colours = palette(list(interference_delay_s))
    draw = partial(
        _draw_lost, interference_delay_s=interference_delay_s, labels=labels, colours=colours,
        by=by[0],
    )  # fmt: skip
    numbers = partial(_lost_numbers, interference_delay_s, labels, by[1])
    return chart(name, alt, draw, numbers, title=f"Node-hours lost by {by[0]}", key=colours)


def _draw_lost(
    axes: Axes,
    interference_delay_s: Mapping[str, pd.Series],
    labels: Sequence[str],
    colours: Mapping[str, str],
    by: str,
) -> None:
    """Draw the node-hours lost in each class, a bar per run; 0 where a run lacks the class."""
    x, width = places(len(labels), len(interference_delay_s))
    for row, (name, lost) in zip(x, interference_delay_s.items(), strict=True):
        hours = lost.reindex(list(labels), fill_value=0.0).to_numpy(dtype=float) / 3600.0
        axes.bar(row, hours, width, color=colours[name])
        for place, label, value in zip(row, labels, hours, strict=True):
            words = f"{name}, {by} {label}\n{number(value)} node-hours lost"
            hint(axes, words, (place - width / 2, place + width / 2))
    label_classes(axes, labels)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.set_ylabel("node-hours lost")


_DAY_S = 86_400.0
Time = TypeVar("Time", float, Floats)


def zone_named(name: str) -> tzinfo:
    """Return a time zone by its name; UTC for what is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns seconds of a run into places on an axis."""

    end_s: float  # End of the axis; it begins at 0
    # Moment of second 0 in the log, seconds since 1970; None where it is not known
    begin_unix_s: float | None = None
    # Time zone in which dates are written; what is none is the clock of the log, taken as UTC
    zone: str = "UTC"

    def at(self, seconds: Time) -> Time:
        """Return places on the axis."""
        if self.begin_unix_s is not None:
            return (self.begin_unix_s + seconds) / _DAY_S
        return seconds / duration_unit([self.end_s])[1]

    def words(self, seconds: float) -> str:
        """Write a moment."""
        if self.begin_unix_s is None:
            unit, length = duration_unit([self.end_s])
            return f"{seconds / length:.4g} {unit}"
        moment = datetime.fromtimestamp(self.begin_unix_s + seconds, zone_named(self.zone))
        return f"{moment:%Y-%m-%d %H:%M}"

    def label(self, axes: Axes) -> None:
        """Label the axis."""
        axes.set_xlim(self.at(0.0), self.at(self.end_s))
        if self.begin_unix_s is None:
            axes.set_xlabel(f"time [{duration_unit([self.end_s])[0]}]")
            return
        zone = zone_named(self.zone)
        locator = AutoDateLocator(tz=zone, minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        form = ConciseDateFormatter(locator, tz=zone)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(form)
        axes.set_xlabel(f"date [{self.zone}]")
