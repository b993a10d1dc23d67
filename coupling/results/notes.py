"""What a reader must know about runs: jobs left out, odd ways they came about, known errors."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from coupling.results.result import Result
from netsim.registries.accuracy import (
    OWNED,
    Setting,
    accuracy_line,
    known_accuracy,
    nearest_comparisons,
)

REMARKS = {
    "failed_runs": "runs of jobs were ended by failures (failures.parquet)",
    "latency_bound": "jobs run as if they did not communicate: the latency of their messages alone "
    "takes longer than the communication time that the profile gives them",
    "exposed": "jobs have collectives that take longer than the computation beside them: the rest "
    "is exposed",
    "out_of_steps": "searches for a place were given up after so many steps as the allocator's "
    "option says: jobs may have waited although there was room",
}
"""What counts of a summary mean to a reader."""


def dropped_lines(results: Sequence[Result]) -> list[str]:
    """Return a line per reason why jobs were left out or ended early."""
    return _lines_once({result.name: _dropped_lines(result.jobs) for result in results})


def remark_lines(results: Sequence[Result]) -> list[str]:
    """Return a line per remark whose count is not 0, once where all runs agree."""
    return _lines_once(
        {
            result.name: [
                *(f"Assumed: {what}" for what in _assumed_lines(result)),
                *(
                    f"{count:,} {text}"
                    for key, text in REMARKS.items()
                    if (count := result.summary.get(key))
                ),
            ]
            + [f"{count:,} {what}" for what, count in result.summary.get("log_remarks", {}).items()]
            for result in results
        }
    )


def accuracy_of(result: Result) -> dict[str, Any] | None:
    """Return the known error of a run; None for results that do not state their network."""
    known = result.summary.get("network")
    if known is None:
        return None
    setting = Setting.from_dict(known)
    return known_accuracy(setting) | {"accuracy": _accuracy_sentence(result, setting)}


def accuracy_lines(results: Sequence[Result]) -> list[str]:
    """Return a line per kind of network on how far off runs may be."""
    return _lines_once(
        {
            result.name: [_accuracy_sentence(result, Setting.from_dict(known))]
            if (known := result.summary.get("network"))
            else ["No error is known: the result does not say on what network it was computed."]
            for result in results
        }
    )


def _accuracy_sentence(result: Result, setting: Setting) -> str:
    """Return what is known of the error of a run, in one sentence."""
    if _keeps_jobs_apart(result.summary, setting):
        return (
            "Jobs share no link, so interference is exactly 1 under any model: what is computed is "
            "how long they take alone where they are placed."
        )
    line = accuracy_line(setting)
    if setting.model == "flow-level" and nearest_comparisons(setting):
        line = f"{line.removesuffix('.')}; states were compared, not whole runs."
    return line


def _keeps_jobs_apart(summary: Mapping[str, Any], setting: Setting) -> bool:
    """Return whether jobs owned links, all stayed on theirs, and none was slowed."""
    slowest, mean = (summary.get(key) for key in ("max_interference", "mean_interference"))
    apart = OWNED in setting.routings and not summary.get("on_common_links")
    return apart and slowest == mean == 1.0


def _assumed_lines(result: Result) -> list[str]:
    """Return what was assumed of the fabric of a run, and what its routing does not do."""
    keys = ("assumed_fabric", "assumed_switch", "routing_limits")
    texts = (result.summary.get(key) for key in keys)
    return [text for text in texts if text]


def _lines_once(accounts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the lines of all runs, by name of the run; each once, with the names of its runs."""
    lines: dict[str, list[str]] = {}
    for name, account in accounts.items():
        for line in account:
            lines.setdefault(line, []).append(name)
    return [
        line if len(names) == len(accounts) else f"{', '.join(names)}: {line}"
        for line, names in lines.items()
    ]


def _dropped_lines(jobs: pd.DataFrame) -> list[str]:
    """Return a line per reason for which jobs of a run were dropped or killed."""
    reasons = jobs.loc[jobs["dropped"] != "", "dropped"].value_counts(sort=False)
    lines = [f"{count:,} dropped: {reason}" for reason, count in reasons.items()]
    killed = int(jobs["killed"].sum())
    return [*lines, f"{killed:,} killed at the requested time"] if killed else lines
