"""Pictures of links: load by class, and maps of a fat-tree."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from coupling.report.plots.style import (
    INK,
    box,
    label_classes,
    legend,
    lost_bars,
    palette,
    percent_axis,
    places,
    svg,
)
from coupling.results.result import Result

_SCALE_QUANTILE = 0.998  # a few hot links must not hide the differences among the others
_TREE_LINK = r"^s(?P<l1>\d+)\.(?P<p1>\d+)>s(?P<l2>\d+)\.(?P<p2>\d+)(?:#(?P<cable>\d+))?$"


def link_classes(results: Sequence[Result]) -> list[str]:
    """
    Return the classes of links in the order of the table.

    Parameters
    ----------
    results : sequence of Result
        The runs.

    Returns
    -------
    list of str
        Classes that occur.
    """
    return list(dict.fromkeys(name for result in results for name in result.links["class"]))


def load_plots(results: Sequence[Result]) -> dict[str, Markup]:
    """
    Draw the load of each class of links, and the time lost there.

    Parameters
    ----------
    results : sequence of Result
        The runs.

    Returns
    -------
    dict of str to HTML
        SVG of ``load`` and, where any is lost, ``lost``; empty when no link carried anything.
    """
    if not any(result.links["busy_fraction"].any() for result in results):
        return {}
    plots = {
        "load": svg(
            "link-load", "Busy fraction of links by class", partial(_paint_load, results=results)
        )
    }
    if any(result.links["lost_node_s"].any() for result in results):
        plots["lost"] = svg(
            "link-lost",
            "Node-hours lost by class of link",
            partial(
                lost_bars,
                lost_s={
                    result.name: result.links.groupby("class", sort=False)["lost_node_s"].sum()
                    for result in results
                },
                labels=link_classes(results),
                colours=palette([result.name for result in results]),
                by="link class",
            ),
        )
    return plots


def _paint_load(figure: Figure, results: Sequence[Result]) -> None:
    """Draw a box per class and run, with the busiest link as a dot."""
    colours = palette([result.name for result in results])
    labels = link_classes(results)
    axes = figure.add_subplot()
    places_of, width = places(len(labels), len(results))
    for row, result in zip(places_of, results, strict=True):
        for x, label in zip(row, labels, strict=True):
            part = result.links[result.links["class"] == label]
            if len(part):
                busy = part["busy_fraction"].to_numpy(dtype=float)
                box(axes, x, width, busy, colours[result.name])
                axes.plot(x, busy.max(), marker="o", markersize=3, color=INK, markeredgewidth=0)
    label_classes(axes, labels)
    axes.set_ylim(bottom=0)
    percent_axis(axes.yaxis)
    axes.set_title("Link load by class")
    axes.set_ylabel("busy fraction of the run")
    legend(figure, colours)


def tree_links(links: pd.DataFrame) -> pd.DataFrame:
    """
    Return where the links between switches of a fat-tree lie, read from their names.

    Parameters
    ----------
    links : DataFrame
        Link table of a result; names such as ``s1.3>s2.0`` or ``s2.7>s1.3#1``.

    Returns
    -------
    DataFrame
        ``level`` and ``switch`` of the lower end, ``up`` (direction), ``port`` of the lower
        end (by cable, then by position of the upper end) and ``busy_fraction``; empty where
        links have other names.
    """
    parts = links["link"].str.extract(_TREE_LINK)
    inside = parts["l1"].notna()
    ends = parts[inside].fillna("0").astype("int64")
    up = ends["l1"] < ends["l2"]
    table = pd.DataFrame(
        {
            "level": ends["l1"].where(up, ends["l2"]),
            "switch": ends["p1"].where(up, ends["p2"]),
            "up": up,
            "above": ends["p2"].where(up, ends["p1"]),
            "cable": ends["cable"],
            "busy_fraction": links.loc[inside, "busy_fraction"],
        }
    )
    table = table.sort_values(["level", "up", "switch", "cable", "above"], kind="stable")
    table["port"] = table.groupby(["level", "up", "switch"]).cumcount()
    return table.drop(columns=["above", "cable"])


def tree_maps(results: Sequence[Result]) -> dict[str, Markup]:
    """
    Draw a map of the link load of a fat-tree for each run.

    Parameters
    ----------
    results : sequence of Result
        The runs.

    Returns
    -------
    dict of str to HTML
        SVG by name of the run, all on one scale; empty on other fabrics or without traffic.
    """
    tables = {result.name: tree_links(result.links) for result in results}
    busy = np.concatenate([table["busy_fraction"].to_numpy() for table in tables.values()])
    if not busy.any():
        return {}
    scale = float(np.quantile(busy, _SCALE_QUANTILE)) or float(busy.max())
    return {
        name: svg(
            f"map-{name}",
            f"Busy fraction of each link of the tree under {name}",
            partial(_paint_map, table=table, scale=scale, title=name),
            size=_map_size(table),
        )
        for name, table in tables.items()
        if len(table)
    }


def _strips(table: pd.DataFrame) -> list[tuple[tuple[int, bool], pd.DataFrame]]:
    """Return the links of each level and direction, the top of the tree first."""
    levels = sorted(table["level"].unique().tolist(), reverse=True)
    keys = [(level, up) for level in levels for up in (True, False)]
    parts = [(key, table[(table["level"] == key[0]) & (table["up"] == key[1])]) for key in keys]
    return [(key, part) for key, part in parts if len(part)]


def _map_size(table: pd.DataFrame) -> tuple[float, float]:
    """Return the size of a map: more height for more ports."""
    ports = sum(int(part["port"].max()) + 1 for _, part in _strips(table))
    return 5.2, min(0.9 + 0.36 * table.groupby(["level", "up"]).ngroups + 0.025 * ports, 6.0)


def _paint_map(figure: Figure, table: pd.DataFrame, scale: float, title: str) -> None:
    """Draw a strip per level and direction: a column per switch, a row per port."""
    strips = _strips(table)
    axes = figure.subplots(len(strips), 1, squeeze=False)[:, 0]
    last = strips[-1][1]["switch"].max()
    for ax, ((level, up), part) in zip(axes, strips, strict=True):
        grid = np.full((int(part["port"].max()) + 1, int(part["switch"].max()) + 1), np.nan)
        grid[part["port"], part["switch"]] = part["busy_fraction"]
        image = ax.imshow(
            grid, aspect="auto", cmap="cividis", vmin=0, vmax=scale,
            interpolation="nearest", origin="lower",
        )  # fmt: skip
        ax.grid(visible=False)
        ax.set_yticks([])
        ax.set_ylabel("port", fontsize=8)
        ax.tick_params(labelsize=8)
        if ax is not axes[-1] and part["switch"].max() == last:
            ax.set_xticklabels([])
        words = "up from each" if up else "down to each"
        ax.set_title(f"{words} {_switch_word(level)}", fontsize=8, fontweight="normal")
    axes[-1].set_xlabel("switch, in the order of the tree", fontsize=8)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    beyond = "max" if float(table["busy_fraction"].max()) > scale else "neither"
    bar = figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02, aspect=30, extend=beyond)
    percent_axis(bar.ax.yaxis)
    bar.set_label("busy fraction", fontsize=8)
    bar.outline.set_visible(False)


def _switch_word(level: int) -> str:
    """Return what a switch of a level is called."""
    return {1: "leaf", 2: "L2 switch"}.get(level, f"level-{level} switch")
