"""What the numbers say, in words."""

from collections.abc import Sequence

from coupling import report_units as units
from coupling.report_numbers import Row, comparison_rows, find_baseline
from coupling.result import Result

NOTICEABLE = 0.001  # relative differences below a thousandth are called none


def reading(results: Sequence[Result], baseline: str | None = None) -> str:
    """
    Say in a line what interference costs under each allocator.

    Parameters
    ----------
    results : sequence of Result
        The runs.
    baseline : str, optional
        As for `find_baseline`.

    Returns
    -------
    str
        One or two sentences; empty when no job ran.
    """
    rows = comparison_rows(results, baseline)
    names = [result.name for result in results]
    sentences = [_loss_sentence(names, rows)]
    reference = find_baseline(results, baseline)
    if reference is not None:
        sentences.append(_gain_sentence(names, rows, reference.name))
    return " ".join(sentence for sentence in sentences if sentence)


def _loss_sentence(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Say what share of node time is lost to interference, worst first."""
    shares = {
        name: share
        for name, row in zip(names, rows, strict=True)
        if (share := row["lost_share"]) is not None
    }
    if not shares:
        return ""
    worst_first = sorted(shares, key=lambda name: -shares[name])
    losers = [name for name in worst_first if shares[name] > 0]
    none = [name for name in worst_first if shares[name] == 0]
    if not losers:
        return f"No job slows another under {units.listing(none)}."
    parts = [f"{name} {units.percent(shares[name])}" for name in losers]
    first = parts[0].replace(losers[0], f"{losers[0]} loses", 1)
    text = units.listing([f"{first} of node time to interference", *parts[1:]])
    return f"{text}; {units.listing(none)} none." if none else f"{text}."


def _gain_sentence(names: Sequence[str], rows: Sequence[Row], baseline: str) -> str:
    """Say what allocator has the best turnaround, and what jobs gain there."""
    ratios = {
        name: (ratio, row)
        for name, row in zip(names, rows, strict=True)
        if name != baseline and (ratio := row.get("turnaround_ratio")) is not None
    }
    if not ratios:
        return ""
    best = min(ratios, key=lambda name: ratios[name][0])
    ratio, row = ratios[best]
    gain = units.ratio(row["speedup_weighted"])
    return (
        f"Against {baseline}, {best} does best: mean turnaround {units.change(ratio)}, "
        f"makespan {units.change(row['makespan_ratio'])}, jobs {gain} times as fast by node time."
    )


def network_matters(results: Sequence[Result]) -> list[str]:
    """
    Say for each run whether the network changes the schedule, and why not where it does not.

    Parameters
    ----------
    results : sequence of Result
        The runs; those without self-check are left out.

    Returns
    -------
    list of str
        A sentence per run.
    """
    rows = comparison_rows(results)
    return [
        _matter(result, row)
        for result, row in zip(results, rows, strict=True)
        if row["infinite_makespan_s"] is not None and row["makespan_s"] is not None
    ]


def _matter(result: Result, row: Row) -> str:
    """Return the sentence of one run."""
    turnaround = _over(row["mean_turnaround_s"], row["infinite_turnaround_s"])
    makespan = _over(row["makespan_s"], row["infinite_makespan_s"])
    if max(abs(turnaround - 1), abs(makespan - 1)) >= NOTICEABLE:
        return (
            f"{result.name}: the network changes mean turnaround by {units.change(turnaround)} "
            f"and makespan by {units.change(makespan)}."
        )
    return f"{result.name}: the network changes next to nothing, because {_why_not(result, row)}."


def _why_not(result: Result, row: Row) -> str:
    """Return the reason why a network leaves a schedule as it was."""
    talking = float((result.jobs["comm_fraction"] > 0).mean()) if len(result.jobs) else 0.0
    if talking == 0:
        return "no job communicates"
    if (row["mean_slowdown"] or 1.0) - 1.0 >= NOTICEABLE:
        return "the slowed jobs do not hold up the others"
    if row["max_interference"] == 1:
        return "no two jobs share a link and placements are as good as ideal"
    return "links are seldom shared by jobs that need them at the same time"


def _over(here: float | None, there: float | None) -> float:
    """Return a ratio; 1 where it does not exist."""
    return here / there if here is not None and there else 1.0
