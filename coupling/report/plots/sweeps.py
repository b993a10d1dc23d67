"""Pictures of a sweep: differences with their intervals, and a map over two factors."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coupling.report.plots.blame import cell_ink
from coupling.report.plots.style import (
    FAINT,
    Picture,
    chart,
    hint,
    name_ticks,
    palette,
    percent_axis,
)

_ROW_INCHES = 0.26
_WIDTH = 5.2
_MOST_SHOWN = 20  # letters of a label below a map


def forest_picture(name: str, differences: pd.DataFrame, baseline: str, by: str) -> Picture:
    """Draw the difference of each policy to the baseline by class or metric, as fractions."""
    differences = differences.dropna(subset="difference")
    n_rows = len(differences) + differences[by].nunique()
    return chart(
        name,
        f"Difference to {baseline} with 95 % intervals",
        partial(_draw_forest, differences=differences, baseline=baseline, by=by),
        lambda: differences.reset_index(drop=True),
        key=palette(list(dict.fromkeys(differences["policy"]))),
        size=(_WIDTH, 1.1 + _ROW_INCHES * n_rows),
    )


def _draw_forest(axes: Axes, differences: pd.DataFrame, baseline: str, by: str) -> None:
    """Draw a line from end to end of each interval, and a dot at the mean."""
    colours = palette(list(dict.fromkeys(differences["policy"])))
    y, ticks, labels = 0.0, [], []
    for group, rows in differences.groupby(by, sort=False):
        ticks.append(y - (len(rows) - 1) / 2)
        labels.append(str(group))
        ends = rows[["low", "high", "difference"]].to_numpy(dtype=np.float64)
        for policy, (low, high, mean) in zip(rows["policy"], ends, strict=True):
            axes.hlines(y, low, high, color=colours[policy], linewidth=2.0)
            axes.plot([mean], [y], "o", color=colours[policy], markersize=4)
            ends_of = f"\n95 % interval: {low:+.1%} to {high:+.1%}" if low == low else ""  # noqa: PLR0124 (nan)
            hint(axes, f"{policy}, {group}: {mean:+.1%}{ends_of}", y=(y - 0.5, y + 0.5))
            y -= 1.0
        y -= 1.0
    axes.axvline(0.0, color=FAINT, linewidth=0.8)
    axes.locator_params(axis="x", nbins=6)
    name_ticks(axes.yaxis, ticks, labels)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.tick_params(axis="y", length=0)
    percent_axis(axes.xaxis)
    axes.set_xlabel(f"difference to {baseline}, 95 % interval")


def heat_picture(name: str, table: pd.DataFrame, title: str) -> Picture:
    """Draw fractions over two factors, which are index and columns of the table."""
    size = _WIDTH, 1.9 + 0.32 * len(table)
    return chart(
        name, title, partial(_draw_heat, table=table), table.reset_index, title=title, size=size
    )


def _draw_heat(axes: Axes, table: pd.DataFrame) -> None:
    """Draw a field of colours with the numbers in it; white is no difference."""
    values = table.to_numpy(dtype=np.float64)
    most = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0
    image = axes.imshow(values, cmap="PuOr_r", vmin=-(most or 1.0), vmax=most or 1.0, aspect="auto")
    colours = np.asarray(image.to_rgba(values))
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        value = values[row, column]
        colour = cell_ink(colours[row, column, :3].tolist())
        factors = (
            f"{table.index.name} = {table.index[row]}",
            f"{table.columns.name} = {table.columns[column]}",
        )
        cell = (column - 0.5, column + 0.5), (row - 0.5, row + 0.5)
        hint(axes, "\n".join([*factors, f"{value:+.1%}"]), *cell)
        axes.text(column, row, f"{value:+.1%}", ha="center", va="center", color=colour, fontsize=7)
    for axis, names in ((axes.xaxis, table.columns), (axes.yaxis, table.index)):
        name_ticks(axis, range(len(names)), [_short_value(one) for one in names])
    axes.set_xlabel(str(table.columns.name).rpartition(".")[2])
    axes.set_ylabel(str(table.index.name).rpartition(".")[2])
    axes.tick_params(length=0, labelsize="small")
    axes.grid(visible=False)


def _short_value(value: object) -> str:
    """Write the value of a factor below a map."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
