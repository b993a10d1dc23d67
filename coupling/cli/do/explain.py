"""What the command `explain` does."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.errors import ResultError
from coupling.report.columns import text_lines, text_of
from coupling.results.explained import explain_job, explain_run, why, words_of
from coupling.results.formatting import ratio
from coupling.results.waiting import HOUR_S
from coupling.runs.stored import Stored
from fabricsim.checking import choice


def run_explain(folder: Path, job: int | None, run: str | None, *, as_json: bool) -> None:
    """
    Say why a job waited and was slow, or what all waiting of a run was for.

    Parameters
    ----------
    folder : Path
        Result directory.
    job : int or None
        Its id; None: the whole run.
    run : str or None
        Allocator of the run; None: all.
    as_json : bool
        Print JSON instead of lines.

    Raises
    ------
    CouplingError
        If there is no complete result, no such run or job, or it has no reasons of waiting.
    """
    results = Stored.open(folder).results()
    if run is not None:
        choice("--run", run, [result.name for result in results], error=ResultError)
        results = [result for result in results if result.name == run]
    place = str(folder)
    told = [
        explain_run(result, place) if job is None else explain_job(result, job, place)
        for result in results
    ]
    if as_json:
        print_json({"runs": told})
        return
    lines = [line for one in told for line in (_of_run(one) if job is None else _of_job(one))]
    sys.stdout.write(text_of(text_lines(*lines)))


def _of_run(told: Mapping[str, Any]) -> list[str]:
    """Say what all waiting of a run was for."""
    hours, price = told["wait_node_hours"], told["price_of_isolation"]
    total = sum(hours.values())
    if not total:
        return [f"{told['run']}: nobody waited."]
    job_hours = sum(told["wait_job_hours"].values())
    lines = [f"{told['run']}: jobs waited {total:,.0f} node-hours ({job_hours:,.0f} job-hours):"]
    lines += [
        f"  {part / total:6.1%}  {words_of(reason)}"
        for reason, part in sorted(hours.items(), key=lambda pair: -pair[1])
        if part
    ]
    lines.append(
        f"  Price of isolation: {price['direct_share_of_node_hours']:.1%} of it at the moment, and "
        f"{price['behind_share_of_node_hours']:.1%} behind jobs that isolation held up just then."
    )
    longest = ", ".join(f"{one['job']} ({_hours(one['wait_s'])})" for one in told["longest"])
    return [*lines, *([f"  Held up longest by isolation: jobs {longest}."] if longest else [])]


def _of_job(told: Mapping[str, Any]) -> list[str]:
    """Say why a job waited, and who slowed it."""
    job = told["job"]
    lines = [
        f"{told['run']}: job {job['id']} on {job['n_nodes']} nodes waited {_hours(job['wait_s'])}"
        + (":" if told["waited"] else ".")
    ]
    for row in told["waited"]:
        when = f"between {_hours(row['first_s'])} and {_hours(row['last_s'])}"
        lines.append(f"  {_hours(row['wait_s'])}: {why(row, job['id'])}, {when}")
    slowdown, met, placed = (
        ratio(job[name]) for name in ("network_slowdown", "interference", "placement_factor")
    )
    lines.append(
        f"  It ran {_hours(job['end_s'] - job['start_s'])}, {slowdown} times as long as ideally: "
        f"interference {met}, placement {placed}."
    )
    for row in told["slowed"]:
        who = "others" if row["culprit"] is None else f"job {row['culprit']}"
        where = f" on {row['link_class']} links" if row["link_class"] else ""
        when = f"both ran from {_hours(row['from_s'])} to {_hours(row['to_s'])}"
        lines.append(
            f"  {row['share']:6.1%} of what it lost: {who}{where}, "
            f"{row['interference_delay_node_s'] / HOUR_S:.3g} node-hours; {when}"
        )
    return lines


def _hours(time_s: float) -> str:
    """Write a time in hours, or seconds where it is short."""
    return f"{time_s / HOUR_S:.2f} h" if time_s >= HOUR_S else f"{time_s:.4g} s"
