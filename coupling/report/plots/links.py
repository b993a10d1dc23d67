"""Pictures of links: load by class, and a map of every link."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from coupling.report.plots.fabric import FabricScene, fabric_picture
from coupling.report.plots.layout import between_switches, cables_of, layout_of
from coupling.report.plots.style import (
    FAINT,
    INK,
    Picture,
    add_bar,
    box_numbers,
    chart,
    class_boxes,
    hint,
    label_classes,
    lost_picture,
    marks,
    palette,
    percent_axis,
)
from coupling.results.formatting import percent
from coupling.results.result import Result
from netsim.common.arrays import Floats
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service, vertex_levels

_SCALE_QUANTILE = 0.998  # a few hot links must not hide the differences among the others
_STRIPS = (
    "A column per switch in the order of the fabric, a row per port: bright columns are busy "
    "switches, bright spots single hot links."
)
_SWITCHES = {1: "leaf", 2: "L2 switch"}
_FEW = 600  # cables up to which a tree is drawn as people draw it


def link_classes(results: Sequence[Result]) -> list[str]:
    """Return the classes of links in the order of the table."""
    return list(dict.fromkeys(name for result in results for name in result.links["class"]))


def load_plots(results: Sequence[Result]) -> dict[str, Picture]:
    """Draw the load of each class of links, and the time lost there."""
    if not any(result.links["busy_fraction"].any() for result in results):
        return {}
    labels = link_classes(results)
    plots = {
        "load": chart(
            "link-load",
            "Busy fraction of links by class",
            partial(draw_load, results=results),
            lambda: box_numbers(_loads(results), "class"),
            key=palette([result.name for result in results]),
        )
    }
    if any(result.links["interference_delay_node_s"].any() for result in results):
        interference_delay_s = {
            result.name: result.links.groupby("class", sort=False)[
                "interference_delay_node_s"
            ].sum()
            for result in results
        }
        alt, by = "Node-hours lost by class of link", ("link class", "class")
        plots["lost"] = lost_picture("link-lost", alt, interference_delay_s, labels, by)
    return plots


def _loads(results: Sequence[Result]) -> dict[str, dict[str, Floats]]:
    """Return the load of links by run and class."""
    return {
        result.name: {
            label: result.links.loc[result.links["class"] == label, "busy_fraction"].to_numpy(
                dtype=float
            )
            for label in link_classes(results)
        }
        for result in results
    }


def draw_load(axes: Axes, results: Sequence[Result]) -> None:
    """Draw the load of links: a box per class and run, with the busiest link as a dot."""
    loads, colours = _loads(results), palette([result.name for result in results])
    for name, x in class_boxes(axes, loads, colours, percent):
        busiest = [own.max() for own in loads[name].values() if own.size]
        marks(axes, x, busiest, marker="o", markersize=3)
    label_classes(axes, link_classes(results))
    axes.set_ylim(bottom=0)
    percent_axis(axes.yaxis)
    axes.set_title("Link load by class")
    axes.set_ylabel("busy fraction of the run")


def level_links(topology: Topology, busy: Floats) -> pd.DataFrame:
    """Return level, switch, direction, port and load of links between levels."""
    level = vertex_levels(topology)
    place = np.zeros(level.size, dtype=np.int64)
    for height in np.unique(level):
        own = level == height
        place[own] = np.arange(np.count_nonzero(own))
    tail, head = topology.link_tail, topology.link_head
    ends = np.minimum(level[tail], level[head])
    links = np.flatnonzero((ends > 0) & (level[tail] != level[head]) & links_in_service(topology))
    up = level[tail[links]] < level[head[links]]
    upper = np.where(up, head[links], tail[links])
    lower = np.where(up, tail[links], head[links])
    table = pd.DataFrame(
        {
            "level": ends[links],
            "switch": place[lower],
            "up": up,
            "above": place[upper],
            "cable": topology.link_cable[links],
            "busy_fraction": busy[links],
        }
    )
    table = table.sort_values(["level", "up", "switch", "cable", "above"], kind="stable")
    table["port"] = table.groupby(["level", "up", "switch"]).cumcount()
    return table.drop(columns=["above", "cable"])


def link_maps(
    results: Sequence[Result], fabrics: Mapping[str, Topology]
) -> tuple[dict[str, Picture], str]:
    """Draw the load of every link between switches, on one scale; also how to read it."""
    busy = {
        result.name: result.links["busy_fraction"].to_numpy(dtype=float)
        for result in results
        if result.name in fabrics and len(result.links) == fabrics[result.name].n_links
    }
    inner = [own[between_switches(fabrics[name])] for name, own in busy.items()]
    values = np.concatenate([*inner, np.zeros(0)])
    if not values.any():
        return {}, ""
    scale = float(np.quantile(values, _SCALE_QUANTILE)) or float(values.max())
    pictures, words = dict[str, Picture](), dict[str, None]()
    for place, (name, own) in enumerate(busy.items()):
        topology, alt = fabrics[name], f"Busy fraction of each link of the fabric under {name}"
        layout = layout_of(topology)
        if layout.kind == "levels" and cables_of(topology).size > _FEW:
            table = level_links(topology, own)
            pictures[name] = Picture(
                f"map-{place}",
                alt,
                partial(_paint_map, table=table, scale=scale, title=name),
                FabricScene(topology, own).table,
                _map_size(table),
            )
            words[_STRIPS] = None
        else:
            scene = FabricScene(topology, own, scale, title=name)
            pictures[name] = fabric_picture(f"map-{place}", scene, alt)
            words[layout.words] = None
    return pictures, " ".join(words)


def _link_strips(table: pd.DataFrame) -> list[tuple[tuple[int, bool], pd.DataFrame]]:
    """Return the links of each level and direction, the top of the tree first."""
    levels = sorted(table["level"].unique().tolist(), reverse=True)
    keys = [(level, up) for level in levels for up in (True, False)]
    parts = [(key, table[(table["level"] == key[0]) & (table["up"] == key[1])]) for key in keys]
    return [(key, part) for key, part in parts if len(part)]


def _map_size(table: pd.DataFrame) -> tuple[float, float]:
    """Return the size of a map: more height for more ports."""
    ports = sum(int(part["port"].max()) + 1 for _, part in _link_strips(table))
    return 5.2, min(0.9 + 0.36 * table.groupby(["level", "up"]).ngroups + 0.025 * ports, 6.0)


def _paint_map(figure: Figure, table: pd.DataFrame, scale: float, title: str) -> None:
    """Draw a strip per level and direction: a column per switch, a row per port."""
    strips = _link_strips(table)
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
        ax.yaxis.set_major_locator(NullLocator())
        ax.set_ylabel("port", fontsize="small")
        ax.tick_params(labelsize="small")
        if ax is not axes[-1] and part["switch"].max() == last:
            ax.xaxis.set_major_formatter(NullFormatter())
        words = "up from each" if up else "down to each"
        ax.set_title(
            f"{words} {_SWITCHES.get(level, f'level-{level} switch')}",
            fontsize="small",
            fontweight="normal",
        )
    axes[-1].set_xlabel("switch, in the order of the fabric", fontsize="small")
    figure.suptitle(title, x=0.01, ha="left", fontsize="large", fontweight="bold")
    add_bar(image, list(axes), "busy fraction", percent=True, more=True)


_EDGE = 1.05


def predicted_measured(key: str, predicted: Floats, measured: Floats) -> Picture:
    """Draw predicted against measured load, as shares of the capacity of each link."""
    return chart(
        key,
        "Predicted against measured load of cables",
        partial(_draw_fit, predicted=predicted, measured=measured),
        partial(pd.DataFrame, {"predicted": predicted, "measured": measured}),
        title="Load of cables",
    )


def _draw_fit(axes: Axes, predicted: Floats, measured: Floats) -> None:
    """Draw a dot for each link, and the line on which both agree."""
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
    axes.set_xlabel("predicted")
    axes.set_ylabel("measured")
