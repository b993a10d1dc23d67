"""Tables of a report: runs, classes of jobs, links, and the check against an infinite network."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from coupling.report.page import Html, details, label, paragraph, table
from coupling.report.plots.jobs import affected, class_names, classes
from coupling.results import formatting as units
from coupling.results.comparison import comparison_rows, present_columns, write_column
from coupling.results.framed import nodes_used
from coupling.results.result import Result
from scheduler.reasons import REASONS

HOTTEST = 6
Colours = Mapping[str, str]


_MOST_FAILED = 20  # runs that failed, in the list


def failure_section(results: Sequence[Result], colours: Colours) -> Html:
    """Write how many runs failed, what was lost, and the failed runs that lost most."""
    heads = ["run", "events", "runs that failed", "jobs queued again", "node-hours lost"]
    rows, lists = [], Html()
    for result in results:
        failed, own = result.extras.get("failures"), result.summary
        if failed is None:
            continue
        name = label(result.name, colours[result.name])
        keys = ("events", "failed_runs", "jobs_requeued")
        lost = float(own.get("node_seconds_lost_to_failures") or 0.0) / 3600.0
        rows.append([name, *(f"{own.get(key, 0):,}" for key in keys), units.number(lost)])
        worst = failed.assign(lost=failed["lost_s"] * failed["n_nodes"])
        worst = worst.sort_values("lost", ascending=False, kind="stable").head(_MOST_FAILED)
        lists += table(
            ["job", "nodes", "started", "failed", "node-hours lost", "what went down"],
            [
                [
                    str(row["id"]),
                    str(row["nodes"]),
                    *(units.duration(float(row[key])) for key in ("start_s", "end_s")),
                    units.number(float(row["lost"]) / 3600.0),
                    str(row["cause"]),
                ]
                for row in worst.to_dict("records")
            ],
            caption=f"Runs that failed under {result.name}"
            + (f", the {_MOST_FAILED} that lost most" if len(failed) > _MOST_FAILED else ""),
        )
    return table(heads, rows, caption="Failures and what they cost") + lists


def run_table(results: Sequence[Result], colours: Colours, baseline: str | None = None) -> Html:
    """Write the comparison of runs, and what its columns mean."""
    rows = comparison_rows(results, baseline)
    names = [label(result.name, colours[result.name]) for result in results]
    present = present_columns(rows)
    content = Html()
    for caption, groups in (
        ("Schedule", ("schedule", "Baseline")),
        ("What the network does to jobs", ("network",)),
    ):
        columns = [column for column in present if column.group in groups]
        cells = [write_column(column, [row[column.key] for row in rows]) for column in columns]
        heads = ["run", *(column.title for column in columns)]
        if columns:
            content += table(heads, zip(names, *cells, strict=True), caption=caption)
    meanings = [
        [column.title, column.hint] for column in present if column.group != "infinite network"
    ]
    note = paragraph(units.EXACT_ONE, "soft")
    return content + note + details("What the columns mean", table([], meanings, kind="text"))


def interference_table(results: Sequence[Result], colours: Colours) -> Html:
    """Write interference and losses by size class and by pattern."""
    tables = {result.name: affected(result.jobs) for result in results}
    heads = ("jobs", "mean", "95 %", "max", "mean slowdown", "node-hours lost to it")
    caption = "Interference by {}, of jobs that communicate or are slowed"
    content = _class_tables(tables, colours, heads, _interference_cells, caption)
    return details("The numbers behind these pictures", content)


def _interference_cells(jobs: pd.DataFrame) -> list[str]:
    """Return the numbers of one class of one run."""
    value = jobs["interference"].to_numpy(dtype=float)
    interference_delay_s = float((nodes_used(jobs) * jobs["interference_delay_s"]).sum())
    return [
        f"{value.size:,}",
        units.ratio(float(value.mean())),
        units.ratio(float(np.quantile(value, 0.95))),
        units.ratio(float(value.max())),
        units.ratio(float(jobs["network_slowdown"].mean())),
        units.number(interference_delay_s / 3600.0),
    ]


def speedup_table(speedups: Mapping[str, pd.DataFrame], colours: Colours) -> Html:
    """Write speed-ups by size class and by pattern."""
    heads = ("jobs", "node-hours", "mean", "weighted", "5 %", "median", "95 %")
    return _class_tables(speedups, colours, heads, _speedup_cells, "Speed-up by {}")


def _class_tables(
    tables: Mapping[str, pd.DataFrame],
    colours: Colours,
    heads: Sequence[str],
    cells: Callable[[pd.DataFrame], list[str]],
    caption: str,
) -> Html:
    """Write a row for each class and run, by size and by pattern."""
    groups = {name: classes(jobs) for name, jobs in tables.items()}
    content = Html()
    for by in ("size", "pattern"):
        rows = [
            [kind, label(name, colours[name]), *cells(part)]
            for kind in class_names((group[by] for group in groups.values()), by)
            for name, jobs in tables.items()
            if len(part := jobs[groups[name][by] == kind])
        ]
        content += table(["", "run", *heads], rows, caption=caption.format(by))
    return content


def _speedup_cells(jobs: pd.DataFrame) -> list[str]:
    """Return the numbers of one class of one run."""
    value, weight = (jobs[name].to_numpy(dtype=float) for name in ("speedup", "node_seconds"))
    low, median, high = np.quantile(value, (0.05, 0.5, 0.95))
    return [
        f"{value.size:,}",
        units.number(float(weight.sum()) / 3600.0),
        *(units.ratio(float(x)) for x in (value.mean(), np.average(value, weights=weight))),
        *(units.ratio(float(x)) for x in (low, median, high)),
    ]


def hottest_links(results: Sequence[Result], colours: Colours) -> Html:
    """Write the links where most is lost, or the busiest ones where nothing is."""
    rows = []
    for result in results:
        links = result.links
        total = float(links["interference_delay_node_s"].sum())
        order = links.sort_values(
            ["interference_delay_node_s", "busy_fraction"], ascending=False, kind="stable"
        ).head(HOTTEST if total > 0 else 3)
        rows += [
            [
                label(result.name, colours[result.name]),
                str(link["link"]),
                str(link["class"]),
                units.percent(float(link["busy_fraction"])),
                units.volume(float(link["bytes"])),
                units.number(float(link["interference_delay_node_s"]) / 3600.0),
                units.percent(link["interference_delay_node_s"] / total)
                if total > 0
                else units.MISSING,
            ]
            for _, link in order[order["bytes"] > 0].iterrows()
        ]
    if not rows:
        return Html()
    heads = ["run", "link", "class", "busy", "carried", "node-hours lost", "of all lost"]
    caption = "Links where most is lost to interference, and the busiest ones of runs without loss"
    return table(heads, rows, caption=caption)


def waiting_table(results: Sequence[Result], colours: Colours) -> Html:
    """Write the reasons of all waiting; empty where no job waited or reasons are unknown."""
    waits = [
        (
            result,
            dict(result.summary["wait_node_hours"]),
            dict(result.summary["price_of_isolation"]),
        )
        for result in results
        if "price_of_isolation" in result.summary
    ]
    waits = [(result, hours, price) for result, hours, price in waits if sum(hours.values())]
    if not waits:
        return Html()
    reasons = [name for name in REASONS if any(hours.get(name) for _, hours, _ in waits)]
    rows = []
    for result, hours, price in waits:
        total = sum(hours.values())
        rows.append(
            [
                label(result.name, colours[result.name]),
                f"{total:,.0f}",
                *(units.percent(hours.get(name, 0.0) / total) for name in reasons),
                units.percent(price["direct_share_of_node_hours"]),
                units.percent(price["behind_share_of_node_hours"]),
            ]
        )
    heads = ["run", "node-hours", *reasons, "isolation itself", "behind such a job"]
    return table(heads, rows, caption="What jobs waited for, by node-hours of waiting")


def infinite_table(results: Sequence[Result], colours: Colours) -> Html:
    """Write each run against an infinite network; empty where no run made the check."""
    pairs = {
        "utilization_steady": "utilisation",
        "makespan_s": "makespan",
        "mean_wait_s": "mean wait",
        "mean_turnaround_s": "mean turnaround",
    }
    rows = []
    for result in results:
        infinite = result.summary.get("infinite_network") or {}
        if infinite:
            name = label(result.name, colours[result.name])
            rows += [
                [name, word, *_against_free(key, result.summary.get(key), infinite.get(key))]
                for key, word in pairs.items()
            ]
    heads = ["run", "metric", "this network", "infinite network", "change"]
    return table(heads, rows) if rows else Html()


def _against_free(key: str, here: float | None, there: float | None) -> list[str]:
    """Return a number, the same on an infinite network, and the change."""
    points = ratio = None
    if here is not None and there is not None:
        points, ratio = here - there, here / there if there else None
    if key == "utilization_steady":
        return [units.percent(here), units.percent(there), units.points(points)]
    return [units.duration(here), units.duration(there), units.change(ratio)]
