"""Invariants of the answers of each command."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz import oracles_files as files
from fuzz.cases import Case
from fuzz.texts import unpacked
from netsim.common.hostlist import expand_hostlist

_SLACK = 1e-6
_LEAST = {
    "flow-level": 0.0,
    "packets": 0.95,
}  # interference: jobs of one start; draws of few packets
_LOADS_MAY_PASS_ONE = ("hop-cost", "null", "assumed")


def answer_faults(case: Case, document: Any, folder: Path) -> str:
    """Return the first thing that is wrong with an answer; empty where nothing is."""
    words = case.argv[:2] if case.argv[0] in {"lft", "topology", "trace"} else case.argv[:1]
    check = _CHECKS.get(" ".join(words))
    if check is None or files.FORGED in case.notes:
        return ""
    fault = next(check(case, document, folder), "")
    return f"nonsense: {' '.join(words)}: {fault}" if fault else ""


def _below(value: float | None, bound: float) -> bool:
    """Say whether a number that is known is below a bound or no number at all."""
    return value is not None and not value >= bound - _SLACK * max(1.0, abs(bound))


def _estimate(case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check jobs and candidates, shares of blame, loads of links and ranks."""
    model = _model(case)
    for row in (*document["jobs"], *document["candidates"]):
        yield from _job_estimate(row, _LEAST.get(model, 1.0))
    for row in document["jobs"]:
        shares = [entry["share"] for entry in row["blame"]]
        if shares and (not math.isclose(sum(shares), 1.0, rel_tol=1e-6) or min(shares) < 0):
            yield "blame does not add up to 1"
        if any(entry["job"] == row["id"] for entry in row["blame"]):
            yield "a job is blamed for its own loss"
    # Under `flow-level` a share is that of the job's own time, and others may have ended before.
    bounded = model not in {*_LOADS_MAY_PASS_ONE, "flow-level"}
    yield from _loads(document["links"], bounded=bounded)
    yield from _owners(case)
    ranked = sorted(c for entry in document["ranking"] for c in entry["candidates"])
    if ranked != list(range(len(document["candidates"]))):
        yield "ranking leaves candidates out"


def _owners(case: Case) -> Iterator[str]:
    """Check that no node, as its jobs write it, is in two jobs where nobody speaks of sharing."""
    text = unpacked(case.files.get("s.json", b""))
    if b"shared" in text or not text:
        return
    seen: set[str] = set()
    for job in json.loads(text)["jobs"]:
        entries = job["nodes"] if isinstance(job["nodes"], list) else [job["nodes"]]
        mine = {name for entry in entries for name in expand_hostlist(str(entry))}
        if mine & seen:
            yield "a node in two jobs"
        seen |= mine


def _job_estimate(row: Mapping[str, Any], least: float) -> Iterator[str]:
    """Check ratios at least 1 (0 where neighbours may clear the way) and what they are of."""
    for name in ("placement_factor", "network_slowdown", "interference", "others_network_slowdown"):
        value = row.get(name, 1.0)
        if not math.isfinite(value) or _below(value, least):
            yield f"{name} below {least:g} or infinite"
    product = row["interference"] * row["placement_factor"]
    if not math.isclose(row["network_slowdown"], product, rel_tol=1e-6):
        yield "slowdown is no product"
    alone, together = row["alone_s"], row["together_s"]
    if _below(alone, 0.0) or _below(together, 0.0) or (alone is None) != (together is None):
        yield "a time that is negative or half known"
    ratio = together / alone if together and alone else row["interference"]
    if not math.isclose(ratio, row["interference"], rel_tol=1e-6):
        yield "interference is not together / alone"


def _model(case: Case) -> str:
    """Return the model of a snapshot, as far as its text tells."""
    text = unpacked(case.files.get("s.json", b"")) + " ".join(case.argv).encode()
    found = [name for name in (*_LOADS_MAY_PASS_ONE, "flow-level") if name.encode() in text]
    return found[0] if found else "fluid"


def _loads(links: list[Mapping[str, Any]], *, bounded: bool) -> Iterator[str]:
    """Check that loads are positive, and together no more than the link."""
    total: dict[str, float] = {}
    for row in links:
        if not row["bytes"] > 0:
            yield "a load of no bytes"
        part = row["utilization"]
        if _below(part, 0.0):
            yield "a load that is negative"
        total[row["link"]] = total.get(row["link"], 0.0) + (part or 0.0)
    if bounded and max(total.values(), default=0.0) > 1.001:
        yield "a link that is more than full"


def _flows(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check that every flow has a rate, an end and a route that hangs together."""
    rates, ends = document["rates_bytes_per_s"], document["finish_s"]
    if not len(rates) == len(ends) == len(document["routes"]):
        yield "flows without an answer"
    for rate, end, route in zip(rates, ends, document["routes"], strict=False):
        if (rate is None) != (not route) or (rate is not None and not rate > 0):
            yield "a rate that is not positive"
        if not math.isfinite(end) or end < 0 or (route and end == 0):
            yield "an end before the start"
        for one, other in pairwise(route):
            if one.split("#")[0].split(">")[1] != other.split(">")[0]:
                yield "a route with a gap"
    for row in document["links"]:
        if not (row["bytes"] > 0 and row["flows"] > 0):
            yield "a link with no flow"


def _verify(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check that counts are counts, and that what is proved has its proof."""
    for row in document["jobs"]:
        table = row["static_table"]
        if table and not (
            0 <= table["shifts_clean"] <= table["shifts"]
            and 0 <= table["random_clean"] <= table["random"]
        ):
            yield "more clean permutations than were tried"
        proof = row["rearrangeable"]
        if proof["holds"] is False and "witness" not in proof:
            yield "blocked, and no witness"
        if row["isolated"] != (not row["shares"]):
            yield "isolated, and yet shares links"


def _ebb(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check that shares are shares, and that links come in order."""
    shares = [document["ebb"], *document["pairings"].values()]
    shares += [row["share"] for row in document["pairs"]]
    if not all(0.0 < share <= 1.0 + _SLACK for share in shares):
        yield "a share outside 0 to 1"
    offered = [row["offered"] for row in document["links"]]
    if offered != sorted(offered, reverse=True):
        yield "links out of order"
    if any(row["peak"] < row["offered"] - _SLACK for row in document["links"]):
        yield "a mean above the largest"


def _summary(summary: Mapping[str, Any], jobs: int) -> Iterator[str]:
    """Check the numbers of a run."""
    for name, value in summary.items():
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{name} is no number"
        share = any(word in name for word in ("utilization", "fragmentation", "capacity"))
        if share and value is not None and not -_SLACK <= value <= 1 + _SLACK:
            yield f"{name} outside 0 to 1"
        if name.startswith(
            ("mean_network_slowdown", "mean_interference", "max_inter", "mean_place")
        ) and (_below(value, 1.0)):
            yield f"{name} below 1"
    if summary["jobs"] != jobs:
        yield "jobs that are counted otherwise than listed"


def _run(case: Case, document: Any, folder: Path) -> Iterator[str]:
    """Check the tables of every run: times in order, ratios at least 1, links not over full."""
    out = folder / "out"
    if not out.is_dir():
        return
    names = [summary["name"] for summary in document]
    for summary in document:
        place = out if len(names) == 1 else out / summary["name"]
        jobs = pd.read_parquet(place / "jobs.parquet")
        ran = jobs[jobs["dropped"] == ""]
        yield from _summary(summary, len(ran))
        if summary["dropped"] != len(jobs) - len(ran):
            yield "dropped jobs that are counted otherwise than listed"
        text = unpacked(case.files.get("e.toml", b""))
        yield from _job_table(ran, exact=b"flow-level" in text)
        if b"[scheduler.node]" not in text:  # where jobs share nodes
            yield from _places(ran)
        links = pd.read_parquet(place / "links.parquet")
        yield from _link_table(links, case)
        timeline = pd.read_parquet(place / "timeline.parquet")
        yield from _timeline(timeline)
        blame = pd.read_parquet(place / "blame.parquet")
        lost = summary["node_seconds_lost_to_interference"]
        told = blame["interference_delay_node_s"].sum()
        if len(blame) and not math.isclose(told, lost, rel_tol=1e-6, abs_tol=1e-6):
            yield "blame that does not add up"


def _job_table(jobs: pd.DataFrame, *, exact: bool) -> Iterator[str]:
    """Check rows of jobs that ran."""
    times = jobs[["submit_s", "start_s", "end_s", "runtime_reference_s"]].to_numpy(dtype=float)
    if not np.isfinite(times).all():
        yield "a job without times"
    if (times[:, 1] < times[:, 0] - _SLACK).any() or (times[:, 2] < times[:, 1]).any():
        yield "a job that starts before it comes or ends before it starts"
    for name in ("network_slowdown", "interference", "placement_factor"):
        column = jobs[name].to_numpy(dtype=float)
        if not np.isfinite(column).all() or (not exact and (column < 1 - _SLACK).any()):
            yield f"{name} of a job below 1 or no number"
    if jobs["id"].duplicated().any():
        yield "a job twice"


def _places(jobs: pd.DataFrame) -> Iterator[str]:
    """Check that every job has its nodes, which nobody else has at the time."""
    rows = [
        (start_s, end_s, size, expand_hostlist(nodes))
        for start_s, end_s, size, nodes in zip(
            jobs["start_s"], jobs["end_s"], jobs["n_nodes"], jobs["nodes"], strict=True
        )
    ]
    for start_s, end_s, size, nodes in rows:
        if len(nodes) != size or len(set(nodes)) != size:
            yield "a job on other nodes than it asked for"
        for other_start_s, other_end_s, _, others in rows:
            meet = start_s < other_end_s and other_start_s < end_s and nodes is not others
            if meet and not set(nodes).isdisjoint(others):
                yield "two jobs on one node"


def _link_table(links: pd.DataFrame, case: Case) -> Iterator[str]:
    """Check rows of links."""
    busy = links["busy_fraction"].to_numpy(dtype=float)
    text = unpacked(case.files.get("e.toml", b"")).decode("utf-8", "replace") + " ".join(case.argv)
    bounded = not any(f'"{name}"' in text for name in _LOADS_MAY_PASS_ONE)
    if not (busy >= -_SLACK).all() or (bounded and (busy > 1 + 1e-3).any()):
        yield "a link busy less than never or more than always"
    if not (links["bytes"].to_numpy(dtype=float) >= 0).all():
        yield "a link with negative bytes"


def _timeline(timeline: pd.DataFrame) -> Iterator[str]:
    """Check the state of the machine over time."""
    used = timeline["utilization"].to_numpy(dtype=float)
    if not ((used >= 0) & (used <= 1 + _SLACK)).all():
        yield "a machine used by less than nothing or more than itself"
    if not (np.diff(timeline["time_s"].to_numpy(dtype=float)) >= 0).all():
        yield "time that goes back"
    if len(timeline) and int(timeline["running"].iloc[-1]) != 0:
        yield "jobs that never end"


def _trace_inspect(case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check that counts fit each other."""
    if sum(document["dropped_by_reason"].values()) != document["dropped"]:
        yield "dropped jobs without a reason"
    log = case.files.get("log.swf", b"\x1f")
    if case.seed.name == "trace inspect swf" and not log.startswith(b"\x1f"):
        text = log.removeprefix(b"\xef\xbb\xbf")
        lines = [line for line in text.split(b"\n") if line.strip() and not line.startswith(b";")]
        if len(lines) != document["jobs"] + document["dropped"]:
            yield "lines of a log that are neither kept nor dropped"
    if not document["jobs"]:  # then nothing else is told
        return
    if sum(row["jobs"] for row in document["size_classes"]) != document["jobs"]:
        yield "jobs of no size"
    for table in (document["nodes"], document["runtime_s"]):
        if not 0 < table["min"] <= table["median"] <= table["max"]:
            yield "sizes or times out of order"


def _trace_convert(case: Case, document: Any, folder: Path) -> Iterator[str]:
    """Check that what was written reads back as so many jobs."""
    from scheduler.workload import make_workload  # noqa: PLC0415

    path = folder / document["file"]
    name = path.name.removesuffix(".gz")
    form = {".swf": "swf", ".csv": "csv", ".parquet": "parquet"}[Path(name).suffix.lower()]
    again = make_workload({"path": str(path), "format": form})
    if len(again.jobs) != document["jobs"]:
        yield "a log that reads back with other jobs"
    if case.argv[1] == "generate" and any(
        job.n_nodes < 1 or not job.runtime_s > 0 for job in again.jobs
    ):
        yield "a drawn job without nodes or time"


def _inspect(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check that counts fit each other."""
    if not 0 <= document["usable_nodes"] <= document["nodes"]:
        yield "more nodes take jobs than there are"
    if document["absent_links"] > document["links"]:
        yield "more links are absent than there are"


def _convert(_case: Case, document: Any, folder: Path) -> Iterator[str]:
    """Check that what was written reads back."""
    from netsim.formats.importers.registry import read_topology  # noqa: PLC0415

    path = folder / document["out"]
    if document["format"] in {"graphml", "edge-csv"} and path.is_file():
        again = read_topology(path, document["format"])
        if again.capacity.size and not again.capacity.min() > 0:
            yield "a link without capacity"


def _now(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check what running jobs do to each other."""
    for job in document["jobs"]:
        if _below(job["low"], 1.0) or not job["low"] <= job["network_slowdown"] <= job["high"]:
            yield "a slowdown below 1, or outside its interval"
        if not (0.0 <= job["among_worst"] <= 1.0 and 0.0 <= job["culprit_share"] <= 1.0):
            yield "a share outside 0..1"
        if _below(job["lost_node_hours"], 0.0):
            yield "hours below 0"
    machine = document["machine"]
    lost = machine["lost_node_hours_per_day"]
    if not -_SLACK <= lost["low"] <= lost["median"] <= lost["high"] <= 24 * machine["nodes"] * 99:
        yield "lost hours outside their range"
    if any(not 0.0 < link["busy"] <= 1.0 + 0.01 for link in document["links"]):
        yield "a link that is idle or over full"


def _whatif(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check jobs before and after, or failures."""
    if "failures" in document:
        lost = [failure["lost_node_hours"] for failure in document["failures"]]
        if lost != sorted(lost, reverse=True):
            yield "failures out of order"
        return
    for job in document["jobs"]:
        runs_on = job["status"] in {"", "moved"}
        if runs_on != (job["after"] is not None) or _below(job["after"], 1.0):
            yield "a slowdown of a job that ended, or none of one that goes on"
        if job["status"] == "cut off" and not 0 < job["lost_nodes"] <= job["nodes"]:
            yield "cut off without losing a node"


_CHECKS: dict[str, Callable[[Case, Any, Path], Iterator[str]]] = {
    "estimate": _estimate,
    "flows": _flows,
    "verify": _verify,
    "ebb": _ebb,
    "now": _now,
    "whatif": _whatif,
    "run": _run,
    "trace inspect": _trace_inspect,
    "trace convert": _trace_convert,
    "trace generate": _trace_convert,
    "metrics": files.metrics,
    "compare": files.compare,
    "snapshot": files.moment,
    "lft export": files.export,
    "lft load": files.load,
    "topology inspect": _inspect,
    "topology convert": _convert,
}
