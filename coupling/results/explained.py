"""Why a job waited and was slow, and what all waiting of a run was for."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from coupling.errors import ResultError
from coupling.results.columns import finished
from coupling.results.result import Result
from scheduler.reasons import REASONS

_TIMES = ("submit_s", "start_s", "end_s", "wait_s", "interference_delay_s")
_RATIOS = ("network_slowdown", "interference", "placement_factor")
_MOST_CULPRITS = 10
_FAILED = "failed"
_WORDS = REASONS | {_FAILED: "runs that failed, and the delay after each"}


def waits_of(result: Result, place: str) -> pd.DataFrame:
    """Return why the jobs of a result waited. `place`: what errors call the result."""
    if "waits" not in result.extras:
        raise ResultError(
            f"{place}: expected waits.parquet, found none: an older version wrote the result; run "
            "its experiment.resolved.toml again."
        )
    return result.extras["waits"].astype({"reason": str, "root": str})


def explain_job(result: Result, number: int, place: str) -> dict[str, Any]:
    """Return a job's times, why it waited, and which jobs slowed it where and when, worst first."""
    waits = waits_of(result, place)
    found = result.jobs[result.jobs["id"] == number]
    if found.empty:
        known = result.jobs["id"]
        ids = f"ids from {known.min()} to {known.max()}" if len(known) else "no jobs"
        raise ResultError(f"--job: expected a job of {place}, which has {ids}, got {number}.")
    job = found.iloc[0]
    if job["dropped"]:
        raise ResultError(f"--job: job {number} of {place} was not run: {job['dropped']}.")
    return {
        "run": result.name,
        "job": {"id": number, "n_nodes": int(job["n_nodes"]), "pattern": str(job["pattern"])}
        | {name: float(job[name]) for name in (*_TIMES, *_RATIOS)},
        "waited": waited(waits, result, number),
        "slowed": _slowed_by(result, number),
    }


def waited(waits: pd.DataFrame, result: Result, number: int) -> list[dict[str, Any]]:
    """Return a row per reason why a job waited, the longest first, then its runs that failed."""
    own = waits[waits["id"] == number].sort_values("wait_s", ascending=False, kind="stable")
    rows = [
        {
            "reason": row["reason"],
            "holder": None if row["holder"] < 0 else int(row["holder"]),
            "root": row["root"] or None,
            "wait_s": float(row["wait_s"]),
            "first_s": float(row["first_s"]),
            "last_s": float(row["last_s"]),
        }
        for row in own.to_dict("records")
    ]
    job, failed = result.jobs[result.jobs["id"] == number].iloc[0], _failed(result)
    failed = failed[(failed["id"] == number) & (failed["start_s"] < job["start_s"])]
    if len(failed):
        spent_s = float(job["wait_s"]) - sum(row["wait_s"] for row in rows)
        delay_s = (spent_s - float((failed["end_s"] - failed["start_s"]).sum())) / len(failed)
        first_s, last_s = float(failed["start_s"].min()), float(failed["end_s"].max()) + delay_s
        row = {"reason": _FAILED, "holder": None, "root": None, "wait_s": spent_s}
        rows.append(row | {"first_s": first_s, "last_s": last_s})
    return rows


def why(row: Mapping[str, Any], job: int) -> str:
    """Say why a job waited, with whose reservation it was. `row`: as from `waited`."""
    words = words_of(row["reason"])
    if row["holder"] == job:
        words += " (as head of the queue)"
    elif row["holder"] is not None:
        words += f" of job {row['holder']}"
    return words + (
        f"; the job in front waited since {words_of(row['root'])}" if row["root"] else ""
    )


def _slowed_by(result: Result, number: int) -> list[dict[str, Any]]:
    """Return the jobs that slowed a job, and when that can have been."""
    blame = result.blame[result.blame["victim"] == number]
    blame = blame.sort_values("interference_delay_node_s", ascending=False, kind="stable")
    runs = pd.concat([finished(result.jobs), _failed(result)])[["id", "start_s", "end_s"]]
    own = runs[runs["id"] == number]
    total = float(blame["interference_delay_node_s"].sum())
    rows = []
    for row in blame.head(_MOST_CULPRITS).to_dict("records"):
        theirs = runs[runs["id"] == int(row["culprit"])]
        both = own.merge(own if theirs.empty else theirs, how="cross")
        begin_s = both[["start_s_x", "start_s_y"]].max(axis=1)
        end_s = both[["end_s_x", "end_s_y"]].min(axis=1)
        rows.append(
            {
                "culprit": None if theirs.empty else int(row["culprit"]),
                "link_class": str(row["link_class"]) or None,
                "interference_delay_node_s": float(row["interference_delay_node_s"]),
                "share": float(row["interference_delay_node_s"]) / total if total > 0.0 else 0.0,
                "from_s": float(begin_s[begin_s < end_s].min()),
                "to_s": float(end_s[begin_s < end_s].max()),
            }
        )
    return rows


def _failed(result: Result) -> pd.DataFrame:
    """Return the runs of jobs that a failure ended."""
    return result.extras.get("failures", result.jobs.iloc[:0])


def explain_run(result: Result, place: str) -> dict[str, Any]:
    """Return the summary's waiting, and the five jobs that isolation held up longest."""
    waits = waits_of(result, place)
    held = waits[waits["reason"] == "isolation"].groupby("id")["wait_s"].sum()
    names = ("wait_node_hours", "wait_job_hours", "price_of_isolation")
    return (
        {"run": result.name}
        | {name: dict(result.summary[name]) for name in names}
        | {
            "longest": [
                {"job": int(str(job)), "wait_s": float(wait_s)}
                for job, wait_s in held.nlargest(5).items()
            ]
        }
    )


def words_of(reason: str) -> str:
    """Return a reason in words."""
    return _WORDS.get(reason, reason)
