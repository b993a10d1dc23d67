"""Pictures of a calibration: predicted against measured load of links."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from coupling.report.plots.sheet import hint, percent_axis
from coupling.report.plots.style import FAINT, INK, Picture
from coupling.results.formatting import percent
from netsim.common.arrays import Floats

_EDGE = 1.05


def predicted_measured(key: str, predicted: Floats, measured: Floats) -> Picture:
    """Draw predicted against measured load, as shares of the capacity of each link."""
    return Picture(
        key,
        "Predicted against measured load of cables",
        partial(_paint_fit, predicted=predicted, measured=measured),
        partial(pd.DataFrame, {"predicted": predicted, "measured": measured}),
    )


def _paint_fit(figure: Figure, predicted: Floats, measured: Floats) -> None:
    """Draw a dot for each link, and the line on which both agree."""
    axes = figure.add_subplot()
    most = _EDGE * max(float(predicted.max()), float(measured.max()), 0.01)
    axes.plot([0, most], [0, most], color=FAINT, linewidth=0.8)
    axes.plot(predicted, measured, linestyle="", marker="o", markersize=3, color=INK, alpha=0.5)
    near = most / 100
    for x, y in zip(predicted.tolist(), measured.tolist(), strict=True):
        words = f"predicted {percent(x)}\nmeasured {percent(y)}"
        hint(axes, words, (x - near, x + near), (y - near, y + near))
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)
    axes.set_title("Load of cables")
    axes.set_xlabel("predicted")
    axes.set_ylabel("measured")
