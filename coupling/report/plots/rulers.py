"""What is written along the sides of axes: ticks, words, a name; measured without being drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, radians, sin
from typing import Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT, TICKRIGHT
from matplotlib.text import Text

from coupling.report.plots.vector import text_size
from netsim.common.arrays import Floats

POINTS = 72  # to the inch, in which SVG and PDF measure
_RC: Mapping[str, Any] = cast("Mapping[str, Any]", mpl.rcParams)
_LINE = 1.2  # of the size of letters: from line to line
_NAME_GAP = 4.0  # points between words and the name of an axis
_NEAR = 1e-9  # of an axis: how far beyond its end a tick still stands


@cache
def extent(words: str, size: float, turned: float = 0.0) -> tuple[float, float]:
    """Return width and height of a text in points."""
    font, lines = FontProperties(size=size), words.split("\n")
    wide = max(text_size(line, font)[0] if line else 0.0 for line in lines)
    high = size if len(lines) == 1 else _LINE * size * len(lines)
    if not turned:
        return wide, high
    across, along = abs(cos(radians(turned))), abs(sin(radians(turned)))
    return wide * across + high * along, wide * along + high * across


def points(size: float | str) -> float:
    """Return a size of letters in points, where Matplotlib has a word for it, too."""
    return _points(size, _RC["font.size"])


@cache
def _points(size: float | str, usual: float) -> float:
    """Return a size of letters where they usually have another, to which words refer."""
    del usual
    return float(FontProperties(size=size).get_size_in_points())


@dataclass(frozen=True, slots=True)
class LabelSpace:
    """Points around axes for labels: outwards, and beyond the two ends of the side."""

    across: float = 0.0
    before: float = 0.0
    after: float = 0.0


class Ruler:
    """A side of axes as it is for one size of them. `length`: of the side, in points."""

    def __init__(self, axis: XAxis | YAxis, length: float) -> None:
        self._axis, self._length = axis, length
        self._look = axis.get_tick_params()
        shown = axis.get_visible() and axis.axes.axison
        self.places, words = self._ticks(major=True) if shown else ([], [])
        self._short, few = self._ticks(major=False) if shown else ([], [])
        self._words = [
            (place, word)
            for place, word in zip([*self.places, *self._short], [*words, *few], strict=True)
            if word
        ]
        self._power = axis.get_major_formatter().get_offset() if self._words else ""

    def _ticks(self, *, major: bool) -> tuple[list[float], list[str]]:
        """Return the places of ticks inside the axes, and their words."""
        axis = self._axis
        found = np.asarray(axis.get_majorticklocs() if major else axis.get_minorticklocs())
        if not found.size:
            return [], []
        form = axis.get_major_formatter() if major else axis.get_minor_formatter()
        words = form.format_ticks(found.tolist())
        at = self._share(found)
        kept = np.flatnonzero((at >= -_NEAR) & (at <= 1.0 + _NEAR)).tolist()
        return [float(found[one]) for one in kept], [words[one] for one in kept]

    def _share(self, places: Sequence[float] | Floats) -> Floats:
        """Return which share of the side lies before each place."""
        turn = self._axis.get_transform()
        low, high = turn.transform(np.asarray(self._axis.get_view_interval(), dtype=float))
        found: Floats = (turn.transform(np.asarray(places, dtype=float)) - low) / (high - low)
        return found

    @property
    def _across(self) -> bool:
        """Say whether the side is one from left to right."""
        return self._axis.axis_name == "x"

    @property
    def _far(self) -> bool:
        """Say whether words stand on the right."""
        return bool(self._look.get("labelright"))

    def _of(self, key: str, name: str) -> float:
        """Return a measure of ticks in points."""
        kind = f"{self._axis.axis_name}tick"
        return float(self._look.get(key, _RC[f"{kind}.major.{name}"]))

    @property
    def _size(self) -> float:
        """Return the size of words in points."""
        return points(self._look.get("labelsize", _RC[f"{self._axis.axis_name}tick.labelsize"]))

    @property
    def _turned(self) -> float:
        """Return by how many degrees words are turned."""
        return float(self._look.get("rotation", 0.0))

    @property
    def _reach(self) -> float:
        """Return points from the axes to the words."""
        tick = self._of("length", "size") if self.places else 0.0
        return tick + self._of("pad", "pad") if self._words else tick

    def _deep(self) -> float:
        """Return points from the axes to the end of the words."""
        sizes = [extent(word, self._size, self._turned) for _, word in self._words]
        return self._reach + max((size[self._across] for size in sizes), default=0.0)

    def room(self) -> LabelSpace:
        """Return the room that the side needs."""
        sizes = [extent(word, self._size, self._turned) for _, word in self._words]
        half = [size[not self._across] / 2.0 for size in sizes]
        at = self._share([place for place, _ in self._words]) * self._length
        before = max((own - one for own, one in zip(half, at, strict=True)), default=0.0)
        after = max((one + own for own, one in zip(half, at, strict=True)), default=0.0)
        across = self._deep()
        name = self._axis.label.get_text()
        if name or (self._power and self._across):
            across += _NAME_GAP + extent(name or self._power, self._axis.label.get_fontsize())[1]
        high = extent(self._power, self._size)[1] if self._power and not self._across else 0.0
        return LabelSpace(across, max(0.0, before), max(after - self._length, high, 0.0))

    def draw(self, axes: Axes, side: tuple[float, float, float, float]) -> None:
        """Write a side of axes, in place of what Matplotlib would measure and draw tick by tick."""
        self._draw_ticks(axes)
        self._draw_words(axes)
        self._draw_names(axes, side)
        self._axis.set_visible(False)

    def _draw_ticks(self, axes: Axes) -> None:
        """Draw the lines across the axes, and the ticks."""
        rc, kind = _RC, f"{self._axis.axis_name}tick"
        along = axes.get_xaxis_transform() if self._across else axes.get_yaxis_transform()
        if self._look.get("gridOn") and self.places:
            at = np.repeat(self.places, 3)
            ends = np.tile([0.0, 1.0, np.nan], len(self.places))
            axes.add_artist(
                Line2D(
                    *((at, ends) if self._across else (ends, at)),
                    transform=along, zorder=0.5, color=rc["grid.color"],
                    linewidth=rc["grid.linewidth"], alpha=rc["grid.alpha"],
                )
            )  # fmt: skip
        marker: Any = TICKDOWN if self._across else (TICKRIGHT if self._far else TICKLEFT)
        for places, length, level in (
            (self.places, self._of("length", "size"), "major"),
            (self._short, rc[f"{kind}.minor.size"], "minor"),
        ):
            if not places or not length:
                continue
            ends = np.full(len(places), float(self._far))
            axes.add_artist(
                Line2D(
                    *((places, ends) if self._across else (ends, places)),
                    transform=along, zorder=0.5, linestyle="none", marker=marker,
                    markersize=length, markeredgewidth=rc[f"{kind}.{level}.width"],
                    color=rc[f"{kind}.color"], clip_on=False,
                )
            )  # fmt: skip

    def _draw_words(self, axes: Axes) -> None:
        """Write the words at the ticks."""
        if self._across:
            place, va, ha = axes.get_xaxis_text1_transform(self._reach)
        elif self._far:
            place, va, ha = axes.get_yaxis_text2_transform(self._reach)
        else:
            place, va, ha = axes.get_yaxis_text1_transform(self._reach)
        look: dict[str, Any] = {
            "transform": place, "va": va, "ha": ha, "fontsize": self._size,
            "color": _RC[f"{self._axis.axis_name}tick.color"],
            "rotation": self._turned, "zorder": 0.5, "clip_on": False,
        }  # fmt: skip
        side = float(self._far)
        for at, word in self._words:
            axes.add_artist(Text(*((at, 0.0) if self._across else (side, at)), word, **look))

    def _draw_names(self, axes: Axes, side: tuple[float, float, float, float]) -> None:
        """Write the name of the axis, and the power or the year that its words leave out."""
        figure, (left, low, width, height) = axes.figure, side
        inches: dict[str, Any] = {"transform": figure.dpi_scale_trans}
        deep = self._deep() + _NAME_GAP
        label = self._axis.label
        if self._power:
            x, y = (left + width, low - deep) if self._across else (left, low + height + 2.0)
            figure.text(
                x / POINTS, y / POINTS, self._power, fontsize=self._size, **inches,
                ha="right" if self._across or self._far else "left",
                va="top" if self._across else "bottom",
            )  # fmt: skip
        if label.get_text():
            if self._across:
                x, y, va = left + width / 2, low - deep, "top"
            elif self._far:
                x, y, va = left + width + deep, low + height / 2, "top"
            else:
                x, y, va = left - deep, low + height / 2, "bottom"
            figure.text(
                x / POINTS, y / POINTS, label.get_text(), ha="center", va=va, **inches,
                fontproperties=label.get_fontproperties(), color=label.get_color(),
                rotation=label.get_rotation(), rotation_mode="anchor",
            )  # fmt: skip
