"""What the numbers say, in words."""

from collections.abc import Sequence

from coupling.results import readable as units
from coupling.results.comparison import Row, comparison_rows, find_baseline, finished
from coupling.results.result import Result

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


def headlines(results: Sequence[Result], baseline: str | None = None) -> list[str]:
    """
    Say in a few lines what came out.

    Parameters
    ----------
    results : sequence of Result
        The runs.
    baseline : str, optional
        As for `find_baseline`.

    Returns
    -------
    list of str
        The reading, the job that suffered most, the link where most is lost, and where the
        network matters most.
    """
    lines = [
        reading(results, baseline),
        _worst_job(results),
        _worst_link(results),
        _most_changed(results),
    ]
    return [line for line in lines if line] or ["No job ran."]


def _worst_job(results: Sequence[Result]) -> str:
    """Say which job suffered most from others."""
    ran = [result for result in results if len(finished(result.jobs))]
    if not ran:
        return ""
    worst = max(ran, key=lambda result: float(finished(result.jobs)["interference"].max()))
    done = finished(worst.jobs)
    job = done.iloc[int(done["interference"].to_numpy().argmax())]
    if job["interference"] == 1:
        return ""
    return (
        f"The job that suffered most: {job['id']} ({job['n_nodes']} nodes, {job['pattern']}) under "
        f"{worst.name}, {units.ratio(job['interference'])} times as long as alone on its nodes."
    )


def _worst_link(results: Sequence[Result]) -> str:
    """Say where most node-hours are lost."""
    worst = max(results, key=lambda result: float(result.links["lost_node_s"].max()))
    lost_s = float(worst.links["lost_node_s"].max())
    if not lost_s > 0:
        return ""
    link = worst.links.iloc[int(worst.links["lost_node_s"].to_numpy().argmax())]
    return (
        f"The link where most is lost: {link['link']} ({link['class']}) under {worst.name}, "
        f"{units.number(lost_s / 3600.0)} node-hours, busy "
        f"{units.percent(float(link['busy_fraction']))} of the time."
    )


def _most_changed(results: Sequence[Result]) -> str:
    """Say under which run the schedule differs most from that on an infinite network."""
    changes = {
        result.name: ratio
        for result, row in zip(results, comparison_rows(results), strict=True)
        if (ratio := _over(row["mean_turnaround_s"], row["infinite_turnaround_s"])) is not None
    }
    if not changes:
        return ""
    most = max(changes, key=lambda name: abs(changes[name] - 1))
    return (
        f"Does the network matter? Compared with an infinite one it changes mean turnaround by "
        f"{units.change(changes[most])} under {most}"
        + (", where it matters most." if len(changes) > 1 else ".")
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
    if turnaround is None or makespan is None:
        return f"{result.name}: no job ran."
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


def _over(here: float | None, there: float | None) -> float | None:
    """Return a ratio; None where it does not exist."""
    return here / there if here is not None and there else None
