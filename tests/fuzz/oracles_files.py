"""Invariants of what commands say about results and routing tables, and of what they write."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coupling.inputs.fabric import read_wiring
from coupling.inputs.snapshot import read_snapshot
from coupling.results.manifest import MANIFEST
from coupling.site.table_check import check_tables
from fuzz.cases import Case
from netsim.infiniband.dump import read_lft_dump, tables_of

_SLACK = 1e-9
FORGED = "with hashes"
"""Note of a case whose results were damaged and their hashes made to fit: any number may be in."""
_GRID = ("communication.rule.*.chance",)  # what a sweep replaces by each of its values
_SAMPLE = ("communication.rule.*.comm_fraction", "workload.mean_nodes", "network.model")
_UNREAD = {
    "result snapshot": ("/first-free/",),
    "result export to simgrid": ("/first-free/",),
    "result resume": ("/experiment.resolved.toml",),
    "sweep grid": _GRID,
    "sweep grid planned": _GRID,
    "sweep grid dry": _GRID,
    "sweep sample": _SAMPLE,
    "sweep sample planned": _SAMPLE,
    "sweep sample dry": _SAMPLE,
}


def changed(case: Case) -> bool:
    """Say whether a file of a result is other than its hash says; whoever reads it must refuse."""
    if not case.seed.name.startswith("result ") or FORGED in case.notes:
        return False
    told: set[str] = set()
    for name in case.seed.files:
        if name.endswith(MANIFEST):
            folder = name.removesuffix(MANIFEST)
            told |= {name, *(folder + own for own in json.loads(case.seed.files[name])["files"])}
    return any(
        not _same(name, case.files[name], case.seed.files[name])
        for name in told
        if not unread(case, name)
    )


def unread(case: Case, name: str) -> bool:
    """Say whether a command has no need of a file: of another run's, or what it replaces."""
    return any(part in name for part in _UNREAD.get(case.seed.name, ()))


def _same(name: str, one: bytes, other: bytes) -> bool:
    """Say whether a file is the same; a manifest, which holds its own hash, in any layout."""
    if one == other or not name.endswith(MANIFEST):
        return one == other
    try:
        return json.loads(one) == json.loads(other)
    except (ValueError, RecursionError):
        return False


def metrics(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check shares of time, numbers of jobs, and waits that are in order."""
    yield from _names(document)
    for run in document["runs"]:
        shares = run["instantaneous_utilization"].values()
        if min(shares) < 0 or not math.isclose(sum(shares), 1.0, rel_tol=1e-6):
            yield "shares of time that are no whole"
        for row in run["wait_by_size"]:
            steps = [row[name] for name in ("median_s", "p95_s", "max_s")]
            if row["jobs"] and not 0 <= steps[0] <= steps[1] <= steps[2]:
                yield "waits out of order"
            if not row["jobs"] and any(step is not None for step in steps):
                yield "a wait of no jobs"


def compare(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check that the baseline is compared with itself, and that ratios are ratios."""
    if "with" in document:
        yield from _beside(document)
        return
    yield from _names(document)
    for run in document["runs"]:
        low = [
            run[name] for name in ("mean_network_slowdown", "mean_interference", "max_interference")
        ]
        if any(value is not None and value < 1 - _SLACK for value in low):
            yield "a mean slowdown below 1"
        own = (run["makespan_ratio"], run["turnaround_ratio"], run["speedup_mean"])
        same = all(value is None or math.isclose(value, 1.0) for value in own)
        if run["name"] == document["baseline"] and not same:
            yield "a baseline that differs from itself"


def _beside(document: Mapping[str, Any]) -> Iterator[str]:
    """Check a run beside another simulator: jobs in both, no mean difference above the largest."""
    for run in document["runs"]:
        if run["jobs"] < 1 or min(run["only_here"], run["only_there"]) < 0:
            yield "no jobs beside each other"
        if any(not 0 <= one["mean"] <= one["most"] + _SLACK for one in run["differences"].values()):
            yield "a mean difference above the largest"


def _names(document: Mapping[str, Any]) -> Iterator[str]:
    """Check that every run has its own name, the baseline among them."""
    names = [run["name"] for run in document["runs"]]
    if len(set(names)) < len(names) or document["baseline"] not in {None, *names}:
        yield "runs with one name, or a baseline that is no run"


def moment(_case: Case, _document: Any, folder: Path) -> Iterator[str]:
    """Check that a snapshot of a run reads back, no node in two jobs."""
    found = folder / "s.json"
    if not found.is_file():  # elsewhere, as the arguments say
        return
    jobs = read_snapshot(found).jobs
    nodes = [int(node) for job in jobs for node in job.partition.nodes]
    if not jobs or len(set(nodes)) < len(nodes):
        yield "a moment without jobs, or with two on a node"


def export(case: Case, document: Any, folder: Path) -> Iterator[str]:
    """Check that what was exported connects all nodes, and has as many entries as it says."""
    found = folder / document["out"]
    if "fabric.txt" not in case.argv or not found.is_file():
        return
    wiring, _ = read_wiring(folder / "fabric.txt", None)
    dump = read_lft_dump(found.read_text(encoding="utf-8"), str(found))
    if sum(len(ports) for ports in dump.ports.values()) != document["entries"]:
        yield "other entries than it says"
    whole = case.files.get("tables.lft") == case.seed.files.get("tables.lft")
    if whole and check_tables(tables_of(dump, wiring), wiring).fault:
        yield "tables that do not connect all nodes"


def load(_case: Case, document: Any, _folder: Path) -> Iterator[str]:
    """Check that counts fit each other."""
    if document["pairs"] != document["nodes"] * (document["nodes"] - 1):
        yield "pairs that are counted otherwise than nodes"
    same = document["pairs_as_d_mod_k"]
    if same is not None and not 0 <= same <= document["pairs"]:
        yield "more pairs routed as by D-mod-k than there are"
