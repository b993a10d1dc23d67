"""Pictures of jobs: interference, slowdown and speed-up by size and by pattern."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import compress, pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coupling.report.plots.style import (
    FAINT,
    Picture,
    box_numbers,
    boxes,
    hint,
    label_classes,
    legend,
    lost_bars,
    lost_numbers,
    marks,
    palette,
    places,
)
from coupling.results.columns import finished
from coupling.results.formatting import percent, ratio
from coupling.results.framed import nodes_used
from coupling.results.result import Result
from coupling.results.summary import size_class, size_class_names, speedup
from netsim.common.arrays import Floats, Ints

SILENT = "no traffic"
_TAIL_POINTS = 200
_TAIL_HINTS = 40


def classes(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return ``size`` and ``pattern`` class of each job; `SILENT` without a pattern."""
    return pd.DataFrame(
        {
            "size": size_class(jobs["n_nodes"]).astype(str),
            "pattern": jobs["pattern"].where(jobs["pattern"] != "", SILENT),
        }
    )


def class_names(columns: Iterable[pd.Series], by: str) -> list[str]:
    """Return the classes that occur: sizes ascending, or patterns by name, `SILENT` last."""
    present = {str(name) for column in columns for name in column.unique()}
    if by == "size":
        return [name for name in size_class_names() if name in present]
    return [*sorted(present - {SILENT}), *sorted(present & {SILENT})]


def communicating(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs that ran with a communication fraction above 0."""
    done = finished(jobs)
    return done[done["comm_fraction"] > 0]


def affected(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs that ran and that the network, or what is assumed of it, could slow."""
    done = finished(jobs)
    return done[(done["comm_fraction"] > 0) | (done["network_slowdown"] != 1)]


def speedups_to(results: Sequence[Result], baseline: Result | None) -> dict[str, pd.DataFrame]:
    """Return the speed-ups of every run but Baseline by name; empty without Baseline."""
    if baseline is None:
        return {}
    return {
        result.name: speedup(result.jobs, baseline.jobs)
        for result in results
        if result is not baseline
    }


def slowdown_plots(results: Sequence[Result]) -> dict[str, Picture]:
    """Draw interference, slowdown, tail and loss of the jobs that communicate, or are slowed."""
    tables = {result.name: affected(result.jobs) for result in results}
    if all(table.empty for table in tables.values()):
        return {}
    plots: dict[str, Picture] = {}
    colours = palette(list(tables))
    groups = {name: classes(table)["size"] for name, table in tables.items()}
    for quantity, title in (("interference", "Interference"), ("network_slowdown", "Slowdown")):
        for by, words in (("size", "nodes of the job"), ("pattern", "pattern")):
            name = f"{title.lower()}-{by}"
            plots[name] = Picture(
                name,
                f"{title} of jobs by {words}",
                partial(
                    _paint_boxes,
                    tables=tables,
                    colours=colours,
                    quantity=quantity,
                    by=by,
                    title=f"{title} by {words}",
                ),
                partial(_box_data, tables, quantity, by),
            )
    if all((table["interference"] == 1).all() for table in tables.values()):
        return plots
    interference_delay_s = {
        name: (nodes_used(table) * table["interference_delay_s"]).groupby(groups[name]).sum()
        for name, table in tables.items()
    }
    sizes = class_names(groups.values(), "size")
    return plots | {
        "tail": Picture(
            "tail",
            "Share of jobs above each interference",
            partial(_paint_tail, tables=tables, colours=colours),
            partial(_tail_data, tables),
        ),
        "lost": Picture(
            "lost",
            "Node-hours lost to interference by size of the job",
            partial(
                lost_bars,
                interference_delay_s=interference_delay_s,
                labels=sizes,
                colours=colours,
                by="nodes of the job",
            ),
            partial(lost_numbers, interference_delay_s, sizes, "size"),
        ),
    }


def speedup_plots(
    speedups: Mapping[str, pd.DataFrame], colours: Mapping[str, str]
) -> dict[str, Picture]:
    """Draw the speed-up of each class of jobs, by size and by pattern."""
    return {
        f"speedup-{by}": Picture(
            f"speedup-{by}",
            f"Speed-up by {words}",
            partial(
                _paint_boxes,
                tables=speedups,
                colours=colours,
                quantity="speedup",
                by=by,
                title=f"Speed-up by {words}",
            ),
            partial(_box_data, speedups, "speedup", by),
        )
        for by, words in (("size", "nodes of the job"), ("pattern", "pattern"))
    }


def _paint_tail(
    figure: Figure, tables: Mapping[str, pd.DataFrame], colours: Mapping[str, str]
) -> None:
    """Draw the share of jobs above each interference."""
    axes = figure.add_subplot()
    least = min([0.1, *(1.0 / len(table) for table in tables.values() if len(table))])
    axes.set_ylim(least, 1.0)
    axes.set_yscale("log")
    worst = max(float(table["interference"].max()) for table in tables.values() if len(table))
    for name, table in tables.items():
        if len(table):
            axes.step(*_tail_shares(table), where="post", color=colours[name])
    end = max(worst, 1.01)
    axes.set_xlim(1.0, end)
    _hint_tail(axes, tables, end)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share * 100:g} %")
    axes.yaxis.set_minor_formatter("")  # else formulas where the shares span less than a decade
    axes.set_title("Jobs above an interference")
    axes.set_xlabel("interference")
    axes.set_ylabel("share of these jobs")
    legend(figure, colours)


def _hint_tail(axes: Axes, tables: Mapping[str, pd.DataFrame], end: float) -> None:
    """Say what share of jobs each run has above an interference."""
    edges = np.linspace(1.0, end, _TAIL_HINTS + 1)
    for left, right in pairwise(edges.tolist()):
        above = (left + right) / 2
        shares = [
            f"{name}: {percent(float((table['interference'] > above).mean()), 2)}"
            for name, table in tables.items()
            if len(table)
        ]
        hint(axes, "\n".join([f"above {above:.3f}", *shares]), (left, right))


def _tail_shares(table: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return interferences, and the share of jobs above each."""
    value = np.sort(table["interference"].to_numpy())
    above = 1.0 - np.arange(1, value.size + 1) / value.size
    keep = _thin_positions(value.size)
    return (
        np.concatenate([[1.0], value[keep]]),
        np.concatenate([[float((value > 1).mean())], above[keep]]),
    )


def _tail_data(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what the curves show."""
    parts = [
        pd.DataFrame(
            dict(zip(("interference", "share_above"), _tail_shares(table), strict=True))
        ).assign(run=name)
        for name, table in tables.items()
        if len(table)
    ]
    return pd.concat(parts, ignore_index=True)[["run", "interference", "share_above"]]


def _box_data(tables: Mapping[str, pd.DataFrame], quantity: str, by: str) -> pd.DataFrame:
    """Return what the boxes of each class and run show."""
    groups = {name: classes(table)[by] for name, table in tables.items()}
    return box_numbers(
        {
            (name, label): table.loc[groups[name] == label, quantity].to_numpy(dtype=float)
            for label in class_names(groups.values(), by)
            for name, table in tables.items()
        },
        by,
    )


def _thin_positions(n: int) -> Ints:
    """Return positions in sorted values that keep the shape of a logarithmic tail."""
    from_end = np.unique(np.geomspace(1, n, min(n, _TAIL_POINTS)).astype(np.int64))
    return (n - from_end)[::-1]


def _paint_boxes(
    figure: Figure,
    *,
    tables: Mapping[str, pd.DataFrame],
    colours: Mapping[str, str],
    quantity: str,
    by: str,
    title: str,
) -> None:
    """Draw boxes on a figure."""
    draw_boxes(figure.add_subplot(), tables, colours, quantity, by)
    figure.axes[0].set_title(title)
    legend(figure, {name: colours[name] for name in tables})


def draw_boxes(
    axes: Axes,
    tables: Mapping[str, pd.DataFrame],
    colours: Mapping[str, str],
    quantity: str,
    by: str,
) -> None:
    """Draw a box per class and run, with the mean and, for speed-ups, the weighted mean."""
    groups = {name: classes(table)[by] for name, table in tables.items()}
    labels = class_names(groups.values(), by)
    places_of, width = places(len(labels), len(tables))
    for row, (name, table) in zip(places_of, tables.items(), strict=True):
        parts = [table[groups[name] == label] for label in labels]
        there = [len(part) > 0 for part in parts]
        x, words = row[there], [f"{name}, {label}" for label in compress(labels, there)]
        parts = [part for part in parts if len(part)]
        values = [part[quantity].to_numpy(dtype=float) for part in parts]
        boxes(axes, x, width, values, colours[name], names=words, write=ratio)
        marks(axes, x, [part[quantity].mean() for part in parts], marker="D", markersize=3.2)
        if "node_seconds" in table:
            weighted = [np.average(part[quantity], weights=part["node_seconds"]) for part in parts]
            marks(axes, x, weighted, marker="o", markersize=4.5, hollow=True)
    counts = pd.concat(groups.values()).value_counts() / len(tables)
    label_classes(axes, [f"{_break_name(label)}\n({counts[label]:,.0f})" for label in labels])
    axes.axhline(1.0, color=FAINT, linewidth=0.8, zorder=0.5)
    axes.set_ylabel(
        quantity.replace("_", " ") if quantity != "speedup" else "run time, baseline / here"
    )


def _break_name(label: str) -> str:
    """Break a long name where it has a hyphen."""
    return label if len(label) < 9 else label.replace("-", "-\n", 1)  # noqa: PLR2004 (fits)
