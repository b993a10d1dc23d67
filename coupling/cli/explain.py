"""The command `explain`: why a job waited and which jobs slowed it."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_lines
from coupling.errors import ResultError

HOUR_S = 3600.0


def explain(
    result: of.ResultFolder,
    job: Annotated[int | None, typer.Option(help="Id of a job; by default the whole run.")] = None,
    run: of.RunName = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Why a job waited and which jobs slowed it.

    Example:

      fabricsim explain results/try --job 2316
    """
    from coupling.results.explained import explain_job, explain_run
    from coupling.runs.stored import Stored
    from fabricsim.checking import choice

    results = Stored.open(result).results()
    if run is not None:
        choice("--run", run, [own.name for own in results], error=ResultError)
        results = [own for own in results if own.name == run]
    place = str(result)
    if job is None:
        found = [explain_run(own, place) for own in results]
    else:
        found = [explain_job(own, job, place) for own in results]
    if as_json:
        print_json({"runs": found})
        return
    lines_of = _run_lines if job is None else _job_lines
    print_lines(*(line for one in found for line in lines_of(one)))


def _run_lines(found: Mapping[str, Any]) -> list[str]:
    """Return what all waiting of a run was for."""
    from coupling.results.explained import words_of

    hours, price = found["wait_node_hours"], found["price_of_isolation"]
    total = sum(hours.values())
    if not total:
        return [f"{found['run']}: no job waited."]
    job_hours = sum(found["wait_job_hours"].values())
    lines = [f"{found['run']}: jobs waited {total:,.0f} node-hours ({job_hours:,.0f} job-hours):"]
    lines += [
        f"  {part / total:6.1%}  {words_of(reason)}"
        for reason, part in sorted(hours.items(), key=lambda pair: -pair[1])
        if part
    ]
    lines.append(
        f"  Price of isolation: {price['direct_share_of_node_hours']:.1%} of it at the moment, and "
        f"{price['behind_share_of_node_hours']:.1%} behind jobs that isolation held up just then."
    )
    longest = ", ".join(f"{one['job']} ({_hours_text(one['wait_s'])})" for one in found["longest"])
    return [*lines, *([f"  Held up longest by isolation: jobs {longest}."] if longest else [])]


def _job_lines(found: Mapping[str, Any]) -> list[str]:
    """Return why a job waited, and which jobs slowed it."""
    from coupling.results.explained import why
    from coupling.results.formatting import ratio

    job = found["job"]
    lines = [
        f"{found['run']}: job {job['id']} on {job['n_nodes']} nodes waited "
        f"{_hours_text(job['wait_s'])}" + (":" if found["waited"] else ".")
    ]
    for row in found["waited"]:
        when = f"between {_hours_text(row['first_s'])} and {_hours_text(row['last_s'])}"
        lines.append(f"  {_hours_text(row['wait_s'])}: {why(row, job['id'])}, {when}")
    slowdown, interference, placement = (
        ratio(job[name]) for name in ("network_slowdown", "interference", "placement_factor")
    )
    lines.append(
        f"  It ran {_hours_text(job['end_s'] - job['start_s'])}, "
        + (
            "at ideal speed."
            if slowdown == "1"
            else f"{slowdown} times as long as ideally: interference {interference}, placement "
            f"{placement}."
        )
    )
    for row in found["slowed"]:
        culprit = "others" if row["culprit"] is None else f"job {row['culprit']}"
        where = f" on {row['link_class']} links" if row["link_class"] else ""
        when = f"both ran from {_hours_text(row['from_s'])} to {_hours_text(row['to_s'])}"
        lines.append(
            f"  {row['share']:6.1%} of what it lost: {culprit}{where}, "
            f"{row['interference_delay_node_s'] / HOUR_S:.3g} node-hours; {when}"
        )
    return lines


def _hours_text(time_s: float) -> str:
    """Write a time in hours, or seconds where it is short."""
    return f"{time_s / HOUR_S:.2f} h" if time_s >= HOUR_S else f"{time_s:.4g} s"
