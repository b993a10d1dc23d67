"""What a sweep says, for people: lines in a terminal, and a page."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from coupling.inputs.files import write_whole
from coupling.report.answer import Answer, Pictures, Section
from coupling.report.plots.style import Picture
from coupling.report.plots.sweeps import forest_picture, heat_picture
from coupling.results.formatting import counted, duration, number, percent
from coupling.sweep.comparison import POLICY, REST, better
from coupling.sweep.factors import is_seed
from coupling.sweep.intervals import FEW
from coupling.sweep.sweep import ALL, Comparison, Sweep

PAGE = "sweep.html"
FORMS = ("svg", "png")
_HEADS = ("policy", "metric", "{0}", "mean", "difference", "95 % interval", "samples")
_RANK_HEADS = ("policy", "better in", "best of all in")
_SHARE_HEADS = ("outcome", "depends on", "share")
_MOST_ROWS = 60  # of a table by class, of the first metric


def sweep_answer(
    found: Comparison, sweep: Sweep | None = None, heat: tuple[str, str] | None = None
) -> Answer:
    """Return what policies differ in; with the `sweep`, for a page: pictures, classes, factors."""
    pictures = {} if sweep is None else sweep_pictures(found, heat)

    def drawn(name: str) -> Pictures:
        return [(pictures[name].html(), "")] if name in pictures else []

    heads = [head.format(found.baseline) for head in _HEADS]
    shown = len(heads) if sweep is not None else -1  # as wide as a terminal
    differences = [row[:shown] for row in _difference_rows(found, ALL)]
    sections = [
        Section(
            "Differences", heads[:shown], differences, left=(0, 1), pictures=lambda: drawn("forest")
        ),
        Section("How often each policy wins", _RANK_HEADS, _rank_rows(found)),
        Section("What it depends on", _SHARE_HEADS, _variance_shares(found), left=(0, 1)),
    ]
    sentences = _result_sentences(found)
    if sweep is None:
        return Answer("", [], sections, sentences)
    sections.append(Section("Over two factors", pictures=lambda: drawn("heat")))
    sections += [
        Section(
            f"By {by}",
            ["class", *heads],
            _class_rows(found, by),
            pictures=partial(drawn, f"forest-{by}"),
            on_demand="The numbers",
        )
        for by in ("size", "pattern")
        if len(found.differences[found.differences["by"] == by])
    ]
    spec = sweep.plan.spec
    factors = [
        (name, f"{len(values):,}", _first_values([str(label) for label in values.values()]))
        for name, values in spec.labels.items()
    ]
    sections.append(Section("What was varied", ("factor", "values", ""), factors))
    lead = f"{counted(len(sweep.cells), 'cell')}; {found.baseline} is the baseline"
    return Answer(f"Sweep {spec.name}", [lead, *sentences], sections)


def write_sweep_page(
    sweep: Sweep, found: Comparison, folder: Path, heat: tuple[str, str] | None = None
) -> Path:
    """Write `PAGE` into a folder, and each picture in `FORMS`; return the page."""
    for name, picture in sweep_pictures(found, heat).items():
        for form in FORMS:
            write_whole(folder / f"{name}.{form}", picture.file(form))
    write_whole(folder / PAGE, sweep_answer(found, sweep, heat).html())
    return folder / PAGE


def sweep_pictures(found: Comparison, heat: tuple[str, str] | None = None) -> dict[str, Picture]:
    """Return forest plots over metrics, sizes and patterns, and a map over two factors."""
    table = found.differences
    over_all = table[table["by"] == ALL]
    named = over_all.assign(metric=over_all["metric"].map(metric_words))
    pictures = {"forest": forest_picture("forest", named, found.baseline, "metric")}
    for by in ("size", "pattern"):
        own = table[(table["by"] == by) & (table["metric"] == found.metrics[0])]
        if len(own):
            pictures[f"forest-{by}"] = forest_picture(f"forest-{by}", own, found.baseline, "class")
    map_of = _map_section(found, heat)
    if map_of is not None:
        pictures["heat"] = map_of
    return pictures


def _map_section(found: Comparison, heat: tuple[str, str] | None) -> Picture | None:
    """Return the map over two factors: those asked for, else the first ones that are no seeds."""
    policies = list(found.ranks[POLICY])
    metric = found.metrics[0]
    known = [str(name) for name in found.pairs if name not in (*policies, ALL)]
    free = [name for name in known if not is_seed(name) and len(found.pairs[name].unique()) > 1]
    long = found.pairs.melt(known, policies, var_name=POLICY, value_name="difference")
    pair = heat or tuple([*free, POLICY][:2])
    if len(pair) < 2 or long.empty:  # noqa: PLR2004 (two axes)
        return None
    row, column = pair
    cells = long.pivot_table(index=row, columns=column, values="difference", sort=False)
    title = f"{metric_words(metric)} against {found.baseline}"
    if POLICY not in pair:
        title = f"{title}, mean of {counted(len(policies), 'other')}"
    return heat_picture("heat", cells, title)


def _difference_rows(found: Comparison, by: str) -> list[tuple[str, ...]]:
    """Write the differences of all jobs."""
    own = found.differences[found.differences["by"] == by]
    return [_difference_row(row) for row in own.to_dict("records")]


def _class_rows(found: Comparison, by: str) -> list[tuple[str, ...]]:
    """Write the differences by class."""
    own = found.differences[found.differences["by"] == by]
    return [
        (str(row["class"]), *_difference_row(row)) for row in own[:_MOST_ROWS].to_dict("records")
    ]


def _difference_row(row: Mapping[Hashable, Any]) -> tuple[str, ...]:
    """Write a difference."""
    known = row["low"] == row["low"]  # no NaN
    return (
        str(row[POLICY]),
        metric_words(str(row["metric"])),
        metric_value(str(row["metric"]), row["baseline"]),
        metric_value(str(row["metric"]), row["mean"]),
        _signed_text(row["difference"]),
        f"{_signed_text(row['low'])} to {_signed_text(row['high'])}" if known else "-",
        f"{row['samples']:,}",
    )


def _rank_rows(found: Comparison) -> list[tuple[str, ...]]:
    """Write how often each policy wins."""
    return [
        (
            str(row[POLICY]),
            f"{row['wins']:,} of {counted(row['samples'], 'sample')}"
            + (f", {row['ties']:,} tied" if row["ties"] else ""),
            f"{row['first']:,}",
        )
        for row in found.ranks.to_dict("records")
    ]


def _variance_shares(found: Comparison) -> list[tuple[str, ...]]:
    """Write the shares of variance."""
    return [
        (
            _outcome_words(found, str(row["outcome"])),
            str(row["factor"]),
            "-" if row["share"] != row["share"] else f"{row['share']:.0%}",
        )
        for row in found.variance.to_dict("records")
    ]


def _outcome_words(found: Comparison, outcome: str) -> str:
    """Write what varies: the metric, or the difference of a policy."""
    return metric_words(outcome) if outcome == found.metrics[0] else outcome


def metric_words(metric: str) -> str:
    """
    Return what people call a number of the summary.

    >>> metric_words("mean_wait_s"), metric_words("utilization_steady")
    ('mean wait', 'steady utilisation')
    >>> metric_words("node_seconds_lost_to_placement")
    'node-hours lost to placement'
    """
    head = metric.removesuffix("_by_node_seconds")
    weighted = ", weighted by node time" if head != metric else ""
    if head.startswith("utilization_"):
        head = f"{head.removeprefix('utilization_')}_utilisation"
    for before, after in (("node_seconds", "node-hours"), ("node_hours", "node-hours")):
        head = head.replace(before, after)
    words = head.removesuffix("_s").replace("_", " ").replace("aph", "hops between nodes")
    return f"{words}{weighted}"


def metric_value(metric: str, value: float) -> str:
    """Write a number of the summary in a unit that people use."""
    if metric.endswith("_s"):
        return duration(value)
    if metric.startswith(("utilization", "share")):
        return percent(value)
    return number(value / 3600.0 if metric.startswith("node_seconds") else value)


def _result_sentences(found: Comparison) -> list[str]:
    """Say in words what was found, and how far that can be trusted."""
    metric, ranks = found.metrics[0], found.ranks
    way = "more" if better(metric) > 0 else "less"
    lines = [
        f"{row[POLICY]} beats {found.baseline} in {row['wins']:,} of "
        f"{counted(row['samples'], 'sample')} ({metric_words(metric)}, {way} is better)."
        for row in ranks.to_dict("records")
    ]
    if found.unlike:
        counts = ", ".join(f"{name} in {counted(n, 'sample')}" for name, n in found.unlike.items())
        lines.append(
            f"Other numbers of jobs ran or were killed than under {found.baseline}: {counts}; "
            "times compare workloads as much as policies."
        )
    tau = float(ranks["tau"].iloc[0])
    if tau == tau:  # noqa: PLR0124 (not NaN)
        lines.append(
            f"Kendall's tau between a sample's order and the mean one: {tau:.2f} (1: always)."
        )
    lines += list(_most_important(found))
    over_all = found.differences[found.differences["by"] == ALL]
    if (over_all["difference"].isna() & over_all["mean"].notna()).any():
        lines.append(f"No difference (-) where {found.baseline} has 0 in a sample, others more.")
    first = over_all.sort_values("low", kind="stable", key=pd.isna).iloc[0]
    if found.over == "days":
        lines.append(f"Intervals: {counted(int(first['samples']), 'day')} of the log, in blocks.")
    elif pd.isna(first["low"]):
        lines.append("No intervals: they need three seeds or samples, or --over days.")
    elif first["samples"] < FEW:
        samples = counted(int(first["samples"]), "sample")
        lines.append(
            f"Intervals: Student's, from {samples}; so few are taken to be normal (of times "
            "the logarithms), cut off where a value is impossible."
        )
    else:
        lines.append(f"Intervals: bootstrap over {counted(int(first['samples']), 'sample')}.")
    return lines


def _most_important(found: Comparison) -> Iterator[str]:
    """Say which factor a difference depends on most."""
    for outcome, rows in found.variance.groupby("outcome", sort=False):
        known = rows[(rows["factor"] != REST) & (rows["share"] > 0)]  # and no NaN
        if str(outcome).startswith("difference of") and len(known):
            at = int(known["share"].to_numpy().argmax())
            factor, share = known["factor"].iloc[at], known["share"].iloc[at]
            yield f"The {outcome} depends most on {factor} ({share:.0%} of its variance)."


def _signed_text(value: float) -> str:
    """Write a relative difference."""
    return f"{value:+.1%}" if value == value else "-"  # noqa: PLR0124 (not NaN)


def _first_values(labels: Sequence[str]) -> str:
    """Write the values of a factor, the first few."""
    most = 12
    return ", ".join(labels[:most]) + (", ..." if len(labels) > most else "")
