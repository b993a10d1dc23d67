"""What a report says about assumptions and provenance."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import tomli_w

from coupling.rates.rate_models import rate_model
from coupling.report.page import (
    Html,
    bullets,
    definitions,
    details,
    heading,
    lines,
    paragraph,
    table,
    verbatim,
)
from coupling.report.plots.jobs import SILENT, communicating
from coupling.results import formatting as units
from coupling.results.columns import finished
from coupling.results.comparison import node_seconds
from coupling.results.notes import accuracy_lines, dropped_lines, remark_lines
from coupling.results.result import Result

_RUNTIME_MEANS = {
    "isolated": "The run time in the log is taken as that of the job alone on an ideal placement; "
    "placement and interference come on top of it.",
    "baseline": "The run time in the log is taken as that of an ordinary run: it is divided by "
    "the mean slowdown of the job in one pass under Baseline (first-free placement, D-mod-k), "
    "which is not iterated.",
    "alone": "The run time in the log is taken as that of the job alone where it is placed: only "
    "interference comes on top of it, and no placement is better than another.",
}
_ESTIMATES = {
    "runtime": "Backfilling knows run times (of the log), as if users guessed them exactly; the "
    "network can still make a job end later than announced.",
    "requested": "Backfilling knows the requested times of the log.",
}
_DRAWN = ("id", "n_nodes", "runtime_reference_s", "pattern", "comm_fraction")
_KILL_AT_LIMIT = {True: "Jobs are ended at the requested time.", False: ""}


def assumptions(
    results: Sequence[Result], tables: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Html:
    """Say what had to be assumed. `tables`: as from `Experiment.tables`."""
    entries = {
        "How jobs communicate": _communication_lines(results, tables),
        "What a run time means": _setting_meaning(tables, "run", "runtime_means", _RUNTIME_MEANS),
        "What the scheduler knows": " ".join(
            text
            for text in (
                _setting_meaning({"": manifest}, "", "estimates", _ESTIMATES),
                _setting_meaning(tables, "scheduler", "kill_at_limit", _KILL_AT_LIMIT),
            )
            if text
        ),
        "How links are shared": _model_lines(results, tables.get("network", {})),
        "How far off that is": " ".join(accuracy_lines(results)),
        "How jobs slow each other": "Remaining work advances at 1 / slowdown, slowdown = placement "
        "factor (alone on its nodes / ideal) times interference (together / alone). Every start "
        "and end re-evaluates the jobs that it touches.",
        "What happened besides": " ".join(f"{line}." for line in remark_lines(results)),
    }
    known = [(term, text) for term, text in entries.items() if text]
    return definitions(known) + _pattern_table(results)


def _communication_lines(results: Sequence[Result], tables: Mapping[str, Any]) -> str:
    """Say where patterns and communication fractions come from."""
    if all(communicating(result.jobs).empty for result in results):
        return "No job communicates."
    profile = tables.get("communication")
    source = "the default profile" if profile is None else "the profile of the experiment"
    if profile is not None and "profile" in profile:
        source = f"the profile {profile['profile']}"
    groups = _workload_lines(results)
    parts = [
        f"{_share_lines(jobs)}{'' if len(groups) == 1 else f' ({units.listing(names)})'}."
        for names, jobs in groups
    ]
    return (
        "Job logs do not say it; patterns and communication fractions are drawn from "
        f"{source}, with the seed. {' '.join(parts)}"
    )


def _workload_lines(results: Sequence[Result]) -> list[tuple[list[str], pd.DataFrame]]:
    """Return the different workloads that ran, with the names of their runs."""
    groups: list[tuple[list[str], pd.DataFrame]] = []
    for result in results:
        jobs = finished(result.jobs)[list(_DRAWN)].reset_index(drop=True)
        same = next((names for names, other in groups if other.equals(jobs)), None)
        if same is None:
            groups.append(([result.name], jobs))
        else:
            same.append(result.name)
    return groups


def _share_lines(jobs: pd.DataFrame) -> str:
    """Say how many jobs communicate, and how much."""
    fraction = jobs.loc[jobs["comm_fraction"] > 0, "comm_fraction"]
    if fraction.empty:
        return "No job communicates"
    low, high = (units.percent(value, 0) for value in (fraction.min(), fraction.max()))
    span = low if low == high else f"{low} to {high}"
    return (
        f"{units.percent(len(fraction) / len(jobs))} of the jobs communicate; communication takes "
        f"{span} of their ideal run time, {units.percent(fraction.mean(), 0)} on average"
    )


def _setting_meaning(
    tables: Mapping[str, Any], table: str, key: str, words: Mapping[Any, str]
) -> str:
    """Say what a setting means; where campaigns differ in it, which has which."""
    value = tables.get(table, {}).get(key)
    if value is None or value in words:
        return words.get(value, "")
    return f"The results differ in {key}: {value}."


def _model_lines(results: Sequence[Result], network: Mapping[str, Any]) -> str:
    """Say what the contention model of each run is."""
    models: dict[str, list[str]] = {}
    for result in results:
        models.setdefault(_one_model(result.summary.get("network"), network), []).append(
            result.name
        )
    if len(models) == 1:
        return next(iter(models))
    return " ".join(f"{units.listing(names)}: {words}" for words, names in models.items())


def _one_model(known: Mapping[str, Any] | None, network: Mapping[str, Any]) -> str:
    """Return the contention model of one run, as far as its result or its tables name it."""
    known = known or network
    name = str(known.get("model", ""))
    routings = known.get("routings") or [str(network.get("routing", "the usual"))]
    fairness, options = known.get("fairness", ""), network.get("model_options", {})
    return rate_model(name).described(name, routings, fairness, options)


def _pattern_table(results: Sequence[Result]) -> Html:
    """Write how many jobs have each pattern, workload by workload."""
    heads = ["pattern", "jobs", "share of node time", "mean communication fraction", "mean nodes"]
    groups = _workload_lines(results)
    content = Html()
    for names, jobs in groups:
        runs = "" if len(groups) == 1 else f": {units.listing(names)}"
        if len(jobs):
            content += table(heads, _pattern_rows(jobs), caption=f"Jobs by pattern, as drawn{runs}")
    return content


def _pattern_rows(jobs: pd.DataFrame) -> list[list[str]]:
    """Return a row per pattern of one workload."""
    weight = jobs["n_nodes"] * jobs["runtime_reference_s"]
    patterns = jobs["pattern"].where(jobs["pattern"] != "", SILENT)
    return [
        [
            str(name),
            f"{len(part):,}",
            units.percent(float(weight[part.index].sum() / weight.sum())),
            units.percent(float(part["comm_fraction"].mean()), 0),
            units.number(float(part["n_nodes"].mean())),
        ]
        for name, part in jobs.groupby(patterns)
    ]


def provenance(
    results: Sequence[Result], tables: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Html:
    """Say where the result comes from. `tables`: as from `Experiment.tables`."""
    apart = ("cost", "dropped", "complete", "files")
    known = {name: value for name, value in manifest.items() if name not in apart}
    nested = {name: value for name, value in known.items() if _is_nested(value)}
    rows = [
        [name.replace("_", " "), _plain_text(value)]
        for name, value in known.items()
        if name not in nested and value not in ({}, "")
    ]
    left_out = dropped_lines(results)
    dropped = bullets(left_out) if left_out else paragraph("No job was dropped, none was killed.")
    return (
        table([], rows, kind="text")
        + heading("Jobs left out or killed")
        + dropped
        + _cost_table(results)
        + _nested_tables(nested)
        + details(
            "The experiment with every default written out",
            verbatim(tomli_w.dumps(dict(tables))),
        )
    )


def _is_nested(value: object) -> bool:
    """Say whether a value of the manifest is more than a value, or values by name."""
    parts = value.values() if isinstance(value, Mapping) else [value]
    return any(isinstance(part, (Mapping, list, tuple)) for part in parts)


def _plain_text(value: object) -> str:
    """Write a value of the manifest, or values by name, a line each."""
    if isinstance(value, Mapping):
        return lines(f"{key}: {_value_word(part)}" for key, part in value.items())
    return _value_word(value)


def _value_word(value: object) -> str:
    """Write one value as people do."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _nested_tables(values: Mapping[str, Any]) -> Html:
    """Write what the manifest says in tables, as an experiment file has it."""
    content = Html()
    for name, value in values.items():
        text = tomli_w.dumps({name: _without_none(value)})
        content += details(f"{name.replace('_', ' ').capitalize()}, in full", verbatim(text))
    return content


def _without_none(value: object) -> object:
    """Leave out what TOML cannot hold."""
    if isinstance(value, Mapping):
        parts = ((str(key), _without_none(part)) for key, part in value.items())
        return {key: part for key, part in parts if part is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(part) for part in value if part is not None]
    return value


def _cost_table(results: Sequence[Result]) -> Html:
    """Write what the runs cost."""
    keys = list(dict.fromkeys(key for result in results for key in result.cost))
    if not keys:
        return Html()
    rows = [
        [result.name, *(units.number(result.cost.get(key)) for key in keys)] for result in results
    ]
    return details(
        "What the runs cost", table(["run", *(key.replace("_", " ") for key in keys)], rows)
    )


def subtitle(results: Sequence[Result], manifest: Mapping[str, Any]) -> str:
    """Say in a line what was run."""
    jobs = _span_text(int(result.summary.get("jobs") or 0) for result in results)
    parts = [
        f"{jobs} job{'' if jobs == '1' else 's'}",
        f"{_span_text(int(result.summary.get('nodes') or 0) for result in results)} nodes",
        str(manifest.get("fabric", "")),
        f"{_span_text(node_seconds(result.jobs) / 3600 for result in results)} node-hours",
        units.listing([result.name for result in results]),
    ]
    return " · ".join(part for part in parts if part)


def _span_text(values: Iterable[float]) -> str:
    """Write the least and the greatest of some numbers."""
    ordered = sorted(values)
    low, high = (
        f"{value:,}" if isinstance(value, int) else units.number(value)
        for value in (ordered[0], ordered[-1])
    )
    return low if low == high else f"{low} to {high}"
