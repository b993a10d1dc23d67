"""Pictures of jobs: interference, slowdown and speed-up by size and by pattern."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coupling.report.plots.style import (
    FAINT,
    Picture,
    box_numbers,
    chart,
    class_boxes,
    hint,
    label_classes,
    lost_picture,
    marks,
    palette,
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
_LONG = 9  # letters of a class that is broken where it has a hyphen


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
            alt, over = f"{title} of jobs by {words}", f"{title} by {words}"
            plots[f"{title.lower()}-{by}"] = _box_picture(
                alt, over, tables, colours, (quantity, by)
            )
    if all((table["interference"] == 1).all() for table in tables.values()):
        return plots
    interference_delay_s = {
        name: (nodes_used(table) * table["interference_delay_s"]).groupby(groups[name]).sum()
        for name, table in tables.items()
    }
    sizes = class_names(groups.values(), "size")
    return plots | {
        "tail": chart(
            "tail",
            "Share of jobs above each interference",
            partial(_draw_tail, tables=tables, colours=colours),
            partial(_tail_data, tables),
            title="Jobs above an interference",
            key=colours,
        ),
        "lost": lost_picture(
            "lost",
            "Node-hours lost to interference by size of the job",
            interference_delay_s,
            sizes,
            ("nodes of the job", "size"),
        ),
    }


def speedup_plots(
    speedups: Mapping[str, pd.DataFrame], colours: Mapping[str, str]
) -> dict[str, Picture]:
    """Draw the speed-up of each class of jobs, by size and by pattern."""
    return {
        f"speedup-{by}": _box_picture(
            f"Speed-up by {words}", f"Speed-up by {words}", speedups, colours, ("speedup", by)
        )
        for by, words in (("size", "nodes of the job"), ("pattern", "pattern"))
    }


def _box_picture(
    alt: str,
    title: str,
    tables: Mapping[str, pd.DataFrame],
    colours: Mapping[str, str],
    what: tuple[str, str],
) -> Picture:
    """Return a picture of boxes; `what`: the quantity, and by what it is classed."""
    quantity, by = what
    name = "slowdown" if quantity == "network_slowdown" else quantity
    return chart(
        f"{name}-{by}",
        alt,
        partial(draw_boxes, tables=tables, colours=colours, quantity=quantity, by=by),
        lambda: box_numbers(_class_values(tables, quantity, by), by),
        title=title,
        key={name: colours[name] for name in tables},
    )


def _draw_tail(axes: Axes, tables: Mapping[str, pd.DataFrame], colours: Mapping[str, str]) -> None:
    """Draw the share of jobs above each interference."""
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
    axes.set_xlabel("interference")
    axes.set_ylabel("share of these jobs")


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


def _class_values(
    tables: Mapping[str, pd.DataFrame], quantity: str, by: str
) -> dict[str, dict[str, Floats]]:
    """Return a quantity of jobs by run and class."""
    groups = {name: classes(table)[by] for name, table in tables.items()}
    return {
        name: {
            label: table.loc[groups[name] == label, quantity].to_numpy(dtype=float)
            for label in class_names(groups.values(), by)
        }
        for name, table in tables.items()
    }


def _thin_positions(n: int) -> Ints:
    """Return positions in sorted values that keep the shape of a logarithmic tail."""
    from_end = np.unique(np.geomspace(1, n, min(n, _TAIL_POINTS)).astype(np.int64))
    return (n - from_end)[::-1]


def draw_boxes(
    axes: Axes,
    tables: Mapping[str, pd.DataFrame],
    colours: Mapping[str, str],
    quantity: str,
    by: str,
) -> None:
    """Draw a box per class and run, with the mean and, for speed-ups, the weighted mean."""
    values = _class_values(tables, quantity, by)
    for name, x in class_boxes(axes, values, colours, ratio):
        there = {label: own for label, own in values[name].items() if own.size}
        means = [own.mean() for own in there.values()]
        marks(axes, x, means, marker="D", markersize=3.2)
        if "node_seconds" in tables[name]:
            weights = _class_values(tables, "node_seconds", by)[name]
            means = [np.average(own, weights=weights[label]) for label, own in there.items()]
            marks(axes, x, means, marker="o", markersize=4.5, hollow=True)
    labels = next(iter(values.values()), {})
    counts = [sum(own[label].size for own in values.values()) / len(tables) for label in labels]
    names = (label if len(label) < _LONG else label.replace("-", "-\n", 1) for label in labels)
    label_classes(
        axes, [f"{name}\n({count:,.0f})" for name, count in zip(names, counts, strict=True)]
    )
    axes.axhline(1.0, color=FAINT, linewidth=0.8, zorder=0.5)
    axes.set_ylabel(
        quantity.replace("_", " ") if quantity != "speedup" else "run time, baseline / here"
    )
