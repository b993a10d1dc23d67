"""What a report says about assumptions and provenance."""

from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from coupling.pace.assumed import ASSUMED
from coupling.report.page import (
    Html,
    bullets,
    definitions,
    details,
    heading,
    paragraph,
    table,
    verbatim,
)
from coupling.report.plots.jobs import SILENT, communicating
from coupling.results import readable as units
from coupling.results.comparison import dropped_lines, finished, node_seconds, remark_lines
from coupling.results.result import Result

# Mean error of the slowdown against packet-level simulations (CODES, 128 nodes; evidence),
# for fabrics that state the buffers of their ports, in brackets for those that do not: jobs that
# always communicate; with compute phases. Excess: sum of predicted (slowdown - 1) / sum of true
# ones, over the same two sets.
_PACKET_ERRORS: Mapping[str, tuple[str, str, str]] = {
    "fast": ("3.9 % (4.6 %)", "3.4 % (4.4 %)", "0.70 to 0.93 (0.56 to 0.83)"),
    "accurate": ("3.7 % (4.4 %)", "2.7 % (3.4 %)", "0.86 to 1.03 (0.69 to 0.93)"),
}
_PACKET_ERRORS_OF_NULL = ("15.6 %", "9.4 %")
_RUNTIME_MEANS = {
    "isolated": "The run time in the log is taken as that of the job alone on an ideal placement; "
    "placement and interference can only lengthen it.",
    "baseline": "The run time in the log is taken as that of an ordinary run: it is divided by "
    "the mean slowdown of the job in one pass under Baseline (first-free placement, D-mod-k), "
    "which is not iterated.",
}
_ESTIMATES = {
    "runtime": "Backfilling knows run times (of the log), as if users guessed them exactly; the "
    "network can still make a job later than announced.",
    "requested": "Backfilling knows the requested times of the log.",
}


def assumptions(
    results: Sequence[Result], tables: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Html:
    """
    Say what had to be assumed.

    Parameters
    ----------
    results : sequence of Result
        The runs.
    tables : mapping
        As from `Experiment.tables`.
    manifest : mapping
        Where the result comes from.

    Returns
    -------
    HTML
        A definition list, and the jobs by pattern.
    """
    network, run = tables.get("network", {}), tables.get("run", {})
    scheduler = tables.get("scheduler", {})
    entries = {
        "How jobs communicate": _communication(results, tables),
        "What a run time means": _RUNTIME_MEANS.get(run.get("runtime_means", ""), ""),
        "What the scheduler knows": _ESTIMATES.get(manifest.get("estimates", ""), "")
        + (" Jobs are ended at the requested time." if scheduler.get("kill_at_limit") else ""),
        "How links are shared": _model(network),
        "How jobs slow each other": "Remaining work advances at 1 / slowdown, slowdown = placement "
        "factor (alone on its nodes / ideal) times interference (together / alone). Every start "
        "and end re-evaluates the jobs that it touches.",
        "What happened besides": " ".join(f"{line}." for line in remark_lines(results)),
    }
    told = [(term, text) for term, text in entries.items() if text]
    return definitions(told) + _pattern_table(results)


def _communication(results: Sequence[Result], tables: Mapping[str, Any]) -> str:
    """Say where patterns and communication fractions come from."""
    jobs = communicating(results[0].jobs)
    if jobs.empty:
        return "No job communicates."
    profile = tables.get("communication")
    source = "the default profile" if profile is None else "the profile of the experiment"
    if profile is not None and "profile" in profile:
        source = f"the profile {profile['profile']}"
    share = units.percent(len(jobs) / len(finished(results[0].jobs)))
    low, high = jobs["comm_fraction"].min(), jobs["comm_fraction"].max()
    return (
        f"Job logs do not say it; patterns and communication fractions are drawn from {source}, "
        f"with the seed. {share} of the jobs communicate; communication takes "
        f"{units.percent(low, 0)} to {units.percent(high, 0)} of their ideal run time, "
        f"{units.percent(jobs['comm_fraction'].mean(), 0)} on average."
    )


def _model(network: Mapping[str, Any]) -> str:
    """Say what the contention model is, and how far it is known to be off."""
    name = network.get("model", "")
    if name == "null":
        return "Contention model null: an infinite network, on which nothing slows a job."
    if name == ASSUMED:
        options = network.get("options", {})
        given = ", ".join(f"{key} {value}" for key, value in options.items()) or "default options"
        return (
            f"Contention model assumed ({given}): no network is simulated; jobs that are not "
            "isolated are said to run longer by the amounts of the papers' scenarios."
        )
    words = f"Contention model {name}, routing {network.get('routing', 'as usual')}, fairness "
    words += f"{network.get('fairness', '')}."
    if name not in _PACKET_ERRORS:
        return f"{words} No error against packet-level simulation is on record for this model."
    always, duty, excess = _PACKET_ERRORS[name]
    none = _PACKET_ERRORS_OF_NULL
    return (
        f"{words} Mean error of the slowdown against packet-level simulation: {always} where jobs "
        f"always communicate, {duty} with compute phases, on 128 nodes (in brackets where the "
        f"fabric states no port buffers; predicting no interference at all: {none[0]}, {none[1]}). "
        f"It finds {excess} of the true excess slowdown, so it rather understates what isolation "
        "gains. Single jobs can be off by 20 to 50 %: read distributions. Adaptive routing, "
        "tapered trees, tori and dragonflies have not "
        "been compared with packets."
    )


def _pattern_table(results: Sequence[Result]) -> Html:
    """Write how many jobs have each pattern."""
    jobs = finished(results[0].jobs)
    if jobs.empty:
        return Html()
    weight = jobs["n_nodes"] * jobs["runtime_reference_s"]
    names = jobs["pattern"].where(jobs["pattern"] != "", SILENT)
    rows = [
        [
            str(name),
            f"{len(part):,}",
            units.percent(float(weight[part.index].sum() / weight.sum())),
            units.percent(float(part["comm_fraction"].mean()), 0),
            units.number(float(part["n_nodes"].mean())),
        ]
        for name, part in jobs.groupby(names)
    ]
    heads = ["pattern", "jobs", "share of node time", "mean communication fraction", "mean nodes"]
    return table(heads, rows, caption="Jobs by pattern, as drawn")


def provenance(
    results: Sequence[Result], tables: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Html:
    """
    Say where the result comes from.

    Parameters
    ----------
    results : sequence of Result
        The runs.
    tables : mapping
        As from `Experiment.tables`.
    manifest : mapping
        Seed, versions, hashes and the like; nested mappings are listed with their parts.

    Returns
    -------
    HTML
        Tables, dropped jobs with reasons, the experiment file.
    """
    apart = ("cost", "dropped", "complete", "files")
    rows = [
        [name.replace("_", " "), _plain(value)]
        for name, value in manifest.items()
        if name not in apart and value not in ({}, "")
    ]
    lines = dropped_lines(results)
    dropped = bullets(lines) if lines else paragraph("No job was dropped, none was killed.")
    return (
        table([], rows, kind="text")
        + heading("Jobs left out")
        + dropped
        + _cost_table(results)
        + details(
            "The experiment with every default written out",
            verbatim(tomli_w.dumps(dict(tables))),
        )
    )


def _plain(value: object) -> str:
    """Write a value of the manifest."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {part}" for key, part in value.items())
    return str(value)


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
    """
    Say in a line what was run.

    Parameters
    ----------
    results : sequence of Result
        The runs.
    manifest : mapping
        Where the result comes from.

    Returns
    -------
    str
        The line.
    """
    summary = results[0].summary
    parts = [
        f"{int(summary.get('jobs') or 0):,} jobs",
        f"{int(summary.get('nodes') or 0):,} nodes",
        str(manifest.get("fabric", "")),
        f"{units.number(node_seconds(results[0].jobs) / 3600)} node-hours",
        units.listing([result.name for result in results]),
    ]
    return " · ".join(part for part in parts if part)
