"""Delay by victim and culprit, as a matrix."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from coupling.report.plots.style import FAINT, HALF_WIDTH, Picture, add_bar, chart, hint, name_ticks
from coupling.results.formatting import number
from coupling.results.result import Result

MOST = 20
"""Victims, and culprits, that a matrix names."""
_ROOM = 0.17  # inches of a row
_LONG = 16  # letters of a name
_MIDDLE = 0.179  # luminance on which black and white have equal contrast
_NUMBERED = 8  # rows and columns up to which each cell holds its number


def blame_matrix(blame: pd.DataFrame, most: int = MOST) -> pd.DataFrame:
    """Return loss by victim (rows) and culprit, largest first; the rest is ``others``."""
    lost = blame[blame["lost"] > 0]
    if lost.empty:
        return pd.DataFrame()
    names = {}
    for side in ("victim", "culprit"):
        total = (
            lost.groupby(side, sort=False)["lost"].sum().sort_values(ascending=False, kind="stable")
        )
        kept = [str(name) for name in total.index[:most]]
        names[side] = kept + (["others"] if total.size > most else [])
    table = pd.DataFrame(
        {side: lost[side].astype(str).where(lost[side].astype(str).isin(own), "others")
         for side, own in names.items()}
    ).assign(lost=lost["lost"])  # fmt: skip
    matrix = table.pivot_table(
        index="victim", columns="culprit", values="lost", aggfunc="sum", fill_value=0.0
    )
    return matrix.reindex(index=names["victim"], columns=names["culprit"], fill_value=0.0)


def blame_pictures(results: Sequence[Result]) -> dict[str, Picture]:
    """Draw delay by victim and culprit of each run that has any."""
    matrices = {result.name: run_blame(result) for result in results}
    found = {name: own for name, own in matrices.items() if not own.empty}
    scale = max((named_most(own) for own in found.values()), default=0.0)
    return {
        name: blame_picture(f"blame-{place}", own, scale, title=name, unit="node-hours lost")
        for place, (name, own) in enumerate(found.items())
    }


def run_blame(result: Result, most: int = MOST) -> pd.DataFrame:
    """Return the matrix of node-hours that jobs lost to jobs in a run."""
    known = result.blame[result.blame["culprit"] != -1]
    return blame_matrix(
        pd.DataFrame(
            {
                "victim": known["victim"],
                "culprit": known["culprit"],
                "lost": known["interference_delay_node_s"] / 3600.0,
            }
        ),
        most,
    )


def named_most(matrix: pd.DataFrame) -> float:
    """Return the largest loss of one named job to another; the largest of all without names."""
    named = matrix.drop(index="others", columns="others", errors="ignore").to_numpy(dtype=float)
    return float(named.max(initial=0.0)) or float(matrix.to_numpy().max())


def blame_picture(
    name: str, matrix: pd.DataFrame, scale: float, *, title: str, unit: str
) -> Picture:
    """Return the picture of a matrix. `matrix`: as from `blame_matrix`."""
    height = 1.5 + _ROOM * max(6, len(matrix))
    return chart(
        name,
        f"Delay by victim and culprit: {title}",
        partial(draw_blame, matrix=matrix, scale=scale, unit=unit),
        matrix.rename_axis(index="victim", columns=None).reset_index,
        title=title,
        size=(HALF_WIDTH[0], height),
    )


def cell_ink(colour: Sequence[float]) -> str:
    """Return black or white, with a contrast of at least 4.5 by WCAG 2, for an sRGB colour."""
    light = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in colour]  # noqa: PLR2004 (sRGB)
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return "black" if luminance > _MIDDLE else "white"


def draw_blame(axes: Axes, matrix: pd.DataFrame, scale: float, unit: str) -> None:
    """Draw a matrix of victims and culprits. `matrix`: as from `blame_matrix`."""
    values = matrix.to_numpy(dtype=float)
    rest = (matrix.index == "others")[:, None] | (matrix.columns == "others")[None, :]
    named = np.where((values > 0) & (~rest | rest.all()), values, np.nan)
    image = axes.imshow(
        named, aspect="auto", interpolation="nearest", cmap="cividis", vmin=0.0, vmax=scale
    )
    if rest.any() and not rest.all():  # sums of many jobs, beyond the scale of single ones
        grey = np.zeros((*values.shape, 4))
        grey[..., :3] = to_rgb(FAINT)
        sums = np.where(rest, values, 0.0)
        most = np.sort(sums, axis=None)[-2]  # all to all others is many times any other sum
        grey[..., 3] = np.minimum(sums / max(most, 1e-300), 1.0)
        axes.imshow(grey, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    for row, column in zip(*np.nonzero(values > 0), strict=True):
        words = (
            f"{matrix.index[row]} loses {number(values[row, column])} {unit.removesuffix(' lost')}"
        )
        cell = (column - 0.5, column + 0.5), (row - 0.5, row + 0.5)
        hint(axes, f"{words}\nto {matrix.columns[column]}", *cell)
    if max(values.shape) <= _NUMBERED:
        colours = np.asarray(image.to_rgba(values))
        for row, column in zip(*np.nonzero(values > 0), strict=True):
            value = float(values[row, column])
            ink = cell_ink(colours[row, column, :3].tolist())
            axes.text(column, row, f"{value:.3g}", ha="center", va="center", color=ink, fontsize=7)
    labels: Mapping[str, Sequence[str]] = {
        "x": [str(name)[:_LONG] for name in matrix.columns],
        "y": [str(name)[:_LONG] for name in matrix.index],
    }
    for axis in (axes.xaxis, axes.yaxis):
        names = labels[axis.axis_name]
        name_ticks(axis, range(len(names)), names)
    axes.tick_params(labelsize="small", length=0)
    axes.tick_params(axis="x", labelrotation=90)
    axes.set_xlabel("culprit")
    axes.set_ylabel("victim")
    add_bar(image, [axes], unit, more=True)
