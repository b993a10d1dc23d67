"""What the numbers say, in words: number first, then what it means."""

from collections.abc import Mapping, Sequence
from math import isfinite

import pandas as pd

from coupling.rates.rate_models import rate_model
from coupling.results import formatting as units
from coupling.results.columns import finished
from coupling.results.comparison import (
    Row,
    comparable,
    comparison_rows,
    unlike,
)
from coupling.results.result import Result
from coupling.results.summary import node_seconds_lost

NOTICEABLE = 0.001  # relative differences below a thousandth are called small
_LOST = ("share_lost", "share_lost_to_interference", "share_lost_to_placement")


def reading(results: Sequence[Result], baseline: str | None = None) -> list[str]:
    """Return sentences on what the network costs in each run, and which run is best."""
    rows = dict(zip([one.name for one in results], comparison_rows(results, baseline), strict=True))
    ran = [result for result in results if len(finished(result.jobs))]
    if not ran:
        return ["No job ran."]
    idle = [result.name for result in results if finished(result.jobs).empty]
    sentences = [f"No job ran under {units.listing(idle)}."] if idle else []
    sentences.append(_loss_sentence(ran, rows))
    reference = comparable(results, baseline)
    if reference is not None:
        sentences += [_gain_sentence(reference.name, rows), _killed_sentence(results)]
    elif what := unlike(results):
        sentences.append(
            f"The runs differ in their {what}: there are no speed-ups or ratios to Baseline, and "
            "times compare workloads as much as runs."
        )
    return [sentence for sentence in sentences if sentence]


def _loss_sentence(ran: Sequence[Result], rows: Mapping[str, Row]) -> str:
    """Say what share of node time the network costs, worst first."""
    shares = {result.name: _loss_shares(rows[result.name]) for result in ran}
    models = {_model_of(result) for result in ran}
    names = {
        result.name: result.name if len(models) == 1 else _with_model(result) for result in ran
    }
    worst_first = sorted(shares, key=lambda name: -shares[name][0])
    losers = [name for name in worst_first if any(shares[name])]
    none = units.listing([names[name] for name in worst_first if not any(shares[name])])
    if not losers:
        if all(rows[name][_LOST[0]] is None for name in shares):
            return "No job counts as a part of a node, so there is no node time to lose."
        return f"No node time is lost to the network under {none}."
    parts = [f"{_loss_parts(*shares[name])} under {names[name]}" for name in losers]
    first = parts[0].replace(" (", " of node time is lost to the network (", 1)
    return f"{'; '.join([first, *parts[1:], *([f'none under {none}'] if none else [])])}."


def _loss_shares(row: Row) -> tuple[float, float, float]:
    """Return the shares of node time that are lost: all, to interference, to placement."""
    lost, interference, placement = (row[key] or 0.0 for key in _LOST)
    return lost, interference, placement


def _loss_parts(lost: float, interference: float, placement: float) -> str:
    """Write a loss with its two parts."""
    total = units.percent(lost)
    if not placement:
        return f"{total} (all to interference)"
    if not interference:
        return f"{total} (all to placement)"
    parts = (units.percent(interference), units.percent(placement))
    return f"{total} ({parts[0]} to interference, {parts[1]} to placement)"


def _model_of(result: Result) -> str:
    """Return the contention model of a run; empty where it is not known."""
    return str((result.summary.get("network") or {}).get("model", ""))


def _with_model(result: Result) -> str:
    """Return the name of a run among runs of other models."""
    qualifier = rate_model(_model_of(result)).qualifier
    return f"{result.name} ({qualifier})" if qualifier else result.name


def _gain_sentence(baseline: str, rows: Mapping[str, Row]) -> str:
    """Return which run has the shortest mean turnaround, against the baseline, and by how much."""
    ratios = {
        name: ratio
        for name, row in rows.items()
        if name != baseline and isfinite(ratio := _number_or_nan(row.get("turnaround_ratio")))
    }
    if not ratios:
        return ""
    least = min(ratios.values())
    best = [name for name, ratio in ratios.items() if ratio == least]
    head = _compared_time(least, "mean turnaround", units.listing(best), baseline)
    clauses = [head + _rank_text(least, len(ratios) + 1, baseline)]
    if len(best) == 1:
        row = rows[best[0]]
        makespan, speed = (
            _number_or_nan(row.get(key)) for key in ("makespan_ratio", "speedup_weighted")
        )
        clauses += _difference_clause(
            makespan, "makespan {}", "the same makespan", ("shorter", "longer")
        )
        clauses += _difference_clause(
            speed, "jobs {} by node time", "jobs equally fast by node time", ("slower", "faster")
        )
    return f"{'; '.join(clauses)}."


def _number_or_nan(value: float | None) -> float:
    """Return a number; NaN where there is none."""
    return float("nan") if value is None else value


def _compared_time(ratio: float, what: str, here: str, there: str) -> str:
    """Say that a time is so much shorter or longer here than there."""
    if ratio == 1:
        return f"The same {what} under {here} as under {there}"
    text = f"{units.difference(ratio, 'shorter', 'longer')} {what} under {here} than under {there}"
    return text[0].upper() + text[1:]


def _rank_text(least: float, n_runs: int, baseline: str) -> str:
    """Say what the best of several alternatives is among all runs."""
    if n_runs == 2:  # noqa: PLR2004 (two runs need no rank)
        return ""
    owner = f"and {baseline} has " if least > 1 else ""
    return f", {owner}the shortest of {n_runs} runs"


def _difference_clause(ratio: float, differs: str, same: str, words: tuple[str, str]) -> list[str]:
    """Say how a number differs; nothing where it does not exist."""
    if not isfinite(ratio):
        return []
    return [same if ratio == 1 else differs.format(units.difference(ratio, *words))]


def _killed_sentence(results: Sequence[Result]) -> str:
    """Say that runs did not do the same work, where other jobs were killed."""
    killed = {
        result.name: frozenset(result.jobs.loc[result.jobs["killed"].astype(bool), "id"])
        for result in results
    }
    if len(set(killed.values())) == 1:
        return ""
    counts = units.listing([f"{len(jobs):,} under {name}" for name, jobs in killed.items()])
    return f"Not the same work was done, since other jobs were killed at their limit: {counts}."


def headlines(results: Sequence[Result], baseline: str | None = None) -> list[str]:
    """Return the reading, the slowest job, the costliest link, and where the network matters."""
    lines = [
        *reading(results, baseline),
        _worst_job(results),
        _worst_link(results),
        _most_changed(results),
    ]
    return [line for line in lines if line]


def _worst_job(results: Sequence[Result]) -> str:
    """Say which job is slowed most."""
    jobs = pd.concat([finished(result.jobs).assign(run=result.name) for result in results])
    worst = jobs[jobs["network_slowdown"] == jobs["network_slowdown"].max()]
    if worst.empty or worst["network_slowdown"].iloc[0] == 1:
        return ""
    job = worst.iloc[0]
    about = ", ".join(
        part for part in (units.counted(job["n_nodes"], "node"), job["pattern"]) if part
    )
    others = f", and of {len(worst) - 1:,} more" if len(worst) > 1 else ""
    return (
        f"{units.ratio(job['network_slowdown'])} is the largest slowdown, of job {job['id']} "
        f"({about}) under {job['run']}{others}: interference "
        f"{units.ratio(job['interference'])} times placement "
        f"{units.ratio(job['placement_factor'])}."
    )


def _worst_link(results: Sequence[Result]) -> str:
    """Say where most node-hours are lost."""
    links = pd.concat([result.links.assign(run=result.name) for result in results])
    interference_delay_s = links["interference_delay_node_s"].fillna(0.0).to_numpy()
    if not interference_delay_s.size or not interference_delay_s.max() > 0:
        return ""
    link = links.iloc[int(interference_delay_s.argmax())]
    run = next(result for result in results if result.name == link["run"])
    total = sum(node_seconds_lost(run.jobs).values())
    share = float(link["interference_delay_node_s"]) / total if total > 0 else None
    hours = units.number(float(link["interference_delay_node_s"]) / 3600.0)
    return (
        f"{hours} node-hours are lost to interference "
        f"at {link['link']} ({link['class']}) under {link['run']}, {units.percent(share)} of all "
        f"node time lost there; no link costs more. It carries "
        f"{units.percent(float(link['busy_fraction']))} of its capacity on average."
    )


def _most_changed(results: Sequence[Result]) -> str:
    """Say under which run the schedule differs most from that on an infinite network."""
    rows = zip(results, comparison_rows(results), strict=True)
    changes = {
        result.name: ratio
        for result, row in rows
        if (ratio := _ratio_or_none(row["mean_turnaround_s"], row["infinite_turnaround_s"]))
        is not None
    }
    if not changes:
        return ""
    ratio = max(changes.values(), key=lambda ratio: abs(ratio - 1))
    most = units.listing([name for name, own in changes.items() if own == ratio])
    text = _compared_time(ratio, "mean turnaround", most, "an infinite network")
    text = text.replace("under an infinite", "on an infinite")
    more = len(changes) > 1 and ratio != 1
    return f"{text}{f', the largest change of {len(changes)} runs' if more else ''}."


def network_matters(results: Sequence[Result]) -> list[str]:
    """Return a sentence per self-checked run on what the network changes in the schedule."""
    rows = comparison_rows(results)
    return [
        _run_sentence(result, row)
        for result, row in zip(results, rows, strict=True)
        if row["infinite_makespan_s"] is not None and row["makespan_s"] is not None
    ]


def _run_sentence(result: Result, row: Row) -> str:
    """Return the sentence of one run."""
    turnaround = _ratio_or_none(row["mean_turnaround_s"], row["infinite_turnaround_s"])
    makespan = _ratio_or_none(row["makespan_s"], row["infinite_makespan_s"])
    if turnaround is None or makespan is None:
        return f"{result.name}: no time to compare."
    words = ("shorter", "longer")
    clauses = [
        *_difference_clause(turnaround, "{} mean turnaround", "the same mean turnaround", words),
        *_difference_clause(makespan, "{} makespan", "the same makespan", words),
    ]
    text = f"{result.name}: {' and '.join(clauses)}, compared with an infinite network"
    if max(abs(turnaround - 1), abs(makespan - 1)) >= NOTICEABLE:
        return f"{text}."
    return f"{text}; {_why_not(result, row)}."


def _why_not(result: Result, row: Row) -> str:
    """Return what explains that a network leaves a schedule nearly as it was."""
    if _model_of(result) == "null":
        return "model null is an infinite network"
    done = finished(result.jobs)
    if not (done["network_slowdown"] != 1).any():
        return "no job is slowed" if (done["comm_fraction"] > 0).any() else "no job communicates"
    return f"the mean slowdown of jobs is {units.ratio(row['mean_network_slowdown'])}"


def _ratio_or_none(here: float | None, there: float | None) -> float | None:
    """Return a ratio; None where it does not exist."""
    return here / there if here is not None and there else None
