"""A figure that lays itself out: all that stands around its axes is measured once, drawn once."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick, XAxis, YAxis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator
from matplotlib.transforms import Bbox

from coupling.report.plots.rulers import POINTS, Ruler, extent

_PAD = 3.0  # points between a picture and its edge
_GAP = 6.0  # between a title and its axes, and below axes that others follow
_WIDE, _BESIDE = 7.0, 8.0  # points: a bar of colours, and from the axes to it
_TIP = 6.0  # points: of a bar whose last colour holds all above
_SHADES, _SOME = 128, 6  # colours, and most numbers, of a bar
_TIMES = 3  # another size may have other ticks, and these need another room
Box = tuple[float, float, float, float]
"""Left, bottom, width and height in points."""
Span = tuple[float, float] | None
"""Begin and end in data coordinates; None: all of the axes."""


class _Across(XAxis):
    """An axis whose ticks a ruler draws: of each, Matplotlib makes five artists to clear it."""

    majorTicks: list[Tick] = []  # noqa: N815, RUF012 (Matplotlib's name; stays empty)
    minorTicks: list[Tick] = []  # noqa: N815, RUF012


class _Upwards(YAxis):
    """The same for the other side."""

    majorTicks: list[Tick] = []  # noqa: N815, RUF012 (Matplotlib's name; stays empty)
    minorTicks: list[Tick] = []  # noqa: N815, RUF012


class _Field(Axes):
    """Axes of a sheet."""

    def _init_axis(self) -> None:
        """Make both sides, as every projection may its own."""
        self.xaxis, self.yaxis = _Across(self, clear=False), _Upwards(self, clear=False)
        for name, spine in self.spines.items():
            spine.register_axis(self.yaxis if name in {"left", "right"} else self.xaxis)


class Sheet(Figure):
    """A figure of one or several fields, and at most one bar of colours; `lay_out` comes last."""

    bar: Axes | None = None
    tip: float = 0.0

    def __init__(self, *size: Any, **look: Any) -> None:  # noqa: ANN401 (as Matplotlib has it)
        """Make an empty sheet."""
        super().__init__(*size, **look)
        self.hints = list[tuple[Axes, Span, Span, str]]()

    def hint_boxes(self) -> Iterator[tuple[str, Box]]:
        """Yield text and box of the hints (points from the top left), once all is laid out."""
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

    def add_subplot(self, *place: Any, **look: Any) -> Any:  # noqa: ANN401 (as Matplotlib has it)
        """Add a field."""
        return super().add_subplot(*place, **{"axes_class": _Field, **look})

    def lay_out(self) -> None:
        """Place the fields, and write what stands around them."""
        fields = [axes for axes in self.axes if axes is not self.bar]
        top = self._top()
        boxes = [self._box(axes) for axes in fields]
        bar = self._box(self.bar) if self.bar is not None else (0.0, 0.0, 0.0, 0.0)
        ticks: list[Any] = []
        for _ in range(_TIMES):
            rulers = [_rulers(axes, box) for axes, box in zip(fields, boxes, strict=True)]
            beside = Ruler(self.bar.yaxis, bar[3]) if self.bar is not None else None
            now = [ruler.places for pair in rulers for ruler in pair]
            if now == ticks:
                break
            ticks = now
            boxes = self._stacked(fields, rulers, beside, top)
            for axes, box in zip(fields, boxes, strict=True):
                self._put(axes, box)
            bar = self._bar_box([self._box(axes) for axes in fields])
        for axes, pair, box in zip(fields, rulers, boxes, strict=True):
            for ruler in pair:
                ruler.draw(axes, box)
        if self.bar is not None and beside is not None:
            self._put(self.bar, bar)
            beside.draw(self.bar, bar)
            self._point(bar)

    def _box(self, axes: Axes) -> Box:
        """Return where axes are; those of a fixed aspect are smaller than their place."""
        axes.apply_aspect()
        width, height = self.get_size_inches() * POINTS
        x0, y0, w, h = axes.get_position().bounds
        return x0 * width, y0 * height, w * width, h * height

    def _put(self, axes: Axes, box: Box) -> None:
        """Place axes."""
        width, height = self.get_size_inches() * POINTS
        axes.set_position((box[0] / width, box[1] / height, box[2] / width, box[3] / height))

    def _top(self) -> float:
        """Return up to where there is room below the key and what is written at the top."""
        above = [own.get_window_extent().y0 for own in (*self.legends, *self.texts)]
        return (min(above) * POINTS / self.dpi if above else self.get_figheight() * POINTS) - _PAD

    def _stacked(
        self,
        fields: Sequence[Axes],
        rulers: Sequence[tuple[Ruler, Ruler]],
        beside: Ruler | None,
        top: float,
    ) -> list[Box]:
        """Return places of fields above each other, of one width and height."""
        rooms = [tuple(ruler.room() for ruler in pair) for pair in rulers]
        left = _PAD + max(max(y.across, x.before) for x, y in rooms)
        spilt = [_spilt(axes) for axes in fields]
        left = max(left, _PAD + max(own[0] for own in spilt))
        right = max(*(x.after for x, _ in rooms), *(own[2] for own in spilt))
        if beside is not None:
            right = max(right, _BESIDE + _WIDE + beside.room().across)
        width = max(1.0, self.get_figwidth() * POINTS - _PAD - right - left)
        heads = [
            max(_title(axes), y.after, over[3])
            for axes, (_, y), over in zip(fields, rooms, spilt, strict=True)
        ]
        feet = [max(x.across, y.before, over[1]) for (x, y), over in zip(rooms, spilt, strict=True)]
        gaps = _GAP * (len(fields) - 1)
        height = max(1.0, (top - _PAD - gaps - sum(heads) - sum(feet)) / len(fields))
        boxes = list[Box]()
        for head, foot in zip(heads, feet, strict=True):
            top -= head + height
            boxes.append((left, top, width, height))
            top -= foot + _GAP
        return boxes

    def _bar_box(self, boxes: Sequence[Box]) -> Box:
        """Return the place of the bar: beside all fields."""
        left, low = max(box[0] + box[2] for box in boxes), min(box[1] for box in boxes)
        high = max(box[1] + box[3] for box in boxes)
        return left + _BESIDE, low, _WIDE, max(1.0, high - low - self.tip)

    def _point(self, box: Box) -> None:
        """Draw the tip of the bar, in its last colour."""
        if self.bar is not None and self.tip:
            tip = 1.0 + self.tip / box[3]
            self.bar.add_artist(
                Polygon(
                    [(0.0, 1.0), (0.5, tip), (1.0, 1.0)], transform=self.bar.transAxes,
                    color=self.bar.images[0].cmap(1.0), linewidth=0, clip_on=False,
                )
            )  # fmt: skip


def _rulers(axes: Axes, box: Box) -> tuple[Ruler, Ruler]:
    """Return the two sides of axes."""
    return Ruler(axes.xaxis, box[2]), Ruler(axes.yaxis, box[3])


def _spilt(axes: Axes) -> Box:
    """Return how far texts of axes stand out to the left, below, to the right and above."""
    if not axes.texts:
        return 0.0, 0.0, 0.0, 0.0
    own = axes.get_window_extent()
    found = Bbox.union([text.get_window_extent() for text in axes.texts])
    points = POINTS / axes.figure.dpi
    ends = (own.x0 - found.x0, own.y0 - found.y0, found.x1 - own.x1, found.y1 - own.y1)
    left, low, right, high = (max(0.0, end * points) for end in ends)
    return left, low, right, high


def _title(axes: Axes) -> float:
    """Return the room above axes that their title needs, in points."""
    texts = [own for own in axes.get_children() if isinstance(own, Text) and own.get_text()]
    titles = [own for own in texts if own not in axes.texts]
    return max((extent(own.get_text(), own.get_fontsize())[1] + _GAP for own in titles), default=0)


def add_bar(
    image: ScalarMappable, axes: Sequence[Axes], label: str, *, percent: bool = False,
    more: bool = False,
) -> None:  # fmt: skip
    """Put a bar of the colours of an image beside axes; with `more` the last has all above."""
    figure = axes[0].figure
    if isinstance(figure, Sheet):
        bar = figure.bar = figure.add_axes((0.9, 0.1, 0.02, 0.8), axes_class=_Field)
        figure.tip = _TIP if more else 0.0
        bar.imshow(
            np.linspace(0.0, 1.0, _SHADES)[:, None], cmap=image.cmap, aspect="auto",
            extent=(0.0, 1.0, 0.0, 1.0), transform=bar.transAxes, origin="lower",
        )  # fmt: skip
        if isinstance(image.norm, LogNorm):
            bar.set_yscale("log")
        else:
            bar.yaxis.set_major_locator(MaxNLocator(_SOME))
        bar.set_ylim(cast("float", image.norm.vmin), cast("float", image.norm.vmax))
        bar.xaxis.set_visible(False)
        bar.grid(visible=False)
        bar.spines[:].set_visible(False)
        bar.tick_params(axis="y", left=False, right=True, labelleft=False, labelright=True)
    else:  # a user's own
        extend = "max" if more else "neither"
        beside = figure.colorbar(image, ax=list(axes), pad=0.02, aspect=30, extend=extend)
        beside.outline.set_visible(False)
        bar = beside.ax
    bar.set_ylabel(label, fontsize="small")
    if percent:
        percent_axis(bar.yaxis)


def hint(axes: Axes, text: str, x: Span = None, y: Span = None) -> None:
    """Add the values that a page shows at a part of a chart; not on a user's own figure."""
    if isinstance(axes.figure, Sheet):
        axes.figure.hints.append((axes, x, y, text))


def percent_axis(axis: Axis) -> None:
    """Label an axis of fractions in per cent."""
    axis.set_major_formatter(lambda value, _: f"{value * 100:.3g} %")


def name_ticks(axis: Axis, places: Sequence[float], names: Sequence[str]) -> None:
    """Put ticks with names on an axis; names are texts, never formulas."""
    if isinstance(axis.figure, Sheet):
        axis.set_major_locator(FixedLocator(list(places)))
        axis.set_major_formatter(FixedFormatter(list(names)))
        return
    axis.set_ticks(places, names)
    for label in axis.get_ticklabels():
        label.set_parse_math(False)
