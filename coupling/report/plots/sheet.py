"""Figures with hints, and the parts that charts share: bars of colours, named ticks, percent."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

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
