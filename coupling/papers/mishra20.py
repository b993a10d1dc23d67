"""Mishra20: greedy, balanced and adaptive against Slurm's best fit, by its cost and by ours."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd

from coupling.papers.mishra20_individual import individual
from coupling.papers.mishra20_page import claims, figures, sheets
from coupling.papers.mishra20_reference import DEFAULT, PATTERNS, SYNTHETIC, means
from coupling.papers.paper import INTREPID, MIRA, THETA, Frames, Paper
from coupling.papers.runs import Runs
from coupling.results.columns import finished

COST_CLASSES = (2, 33, 129, 513, 10**9)
ONLY_LOG = "theta"  # of experiment files that do not vary it
_HOUR_S = 3600.0


def _log_of(row: Mapping[str, object], alone: str) -> str:
    """Return what the jobs of a cell are called; those of a file that has one log: as told."""
    path = row.get("workload.path")
    return Path(path).stem if isinstance(path, str) else alone


def _priced(runs: Runs) -> pd.DataFrame:
    """Return the cells of Table 3 with log, pattern, allocator and hours."""
    cells = runs.cells("rhvd", "rd-binomial")
    pattern = cells.get("communication.rule.0.pattern", pd.Series(index=cells.index, dtype=object))
    return _timed(runs, cells.assign(pattern=pattern.fillna("RHVD")))


def _timed(runs: Runs, cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with log, allocator, and hours that jobs ran and waited in all."""
    rows = [{str(key): value for key, value in row.items()} for row in cells.to_dict("records")]
    alone = SYNTHETIC if runs.quick else ONLY_LOG
    waited = cells["mean_wait_s"] * cells["jobs"]
    return cells.assign(
        log=[_log_of(row, alone) for row in rows],
        allocator=cells["scheduler.allocator"],
        execution_h=(cells["mean_turnaround_s"] * cells["jobs"] - waited) / _HOUR_S,
        wait_h=waited / _HOUR_S,
        turnaround_h=cells["mean_turnaround_s"] / _HOUR_S,
    )


def study(runs: Runs) -> Frames:
    """Find hours, costs and gains in the runs."""
    cells = _priced(runs)
    jobs = [
        finished(runs.jobs(file, cell))
        for file, cell in zip(cells["file"], cells["cell"], strict=True)
    ]
    cells = cells.assign(
        best=[100.0 * (1.0 - own["placement_factor"].min()) for own in jobs],
        saved=[
            100.0 * (1.0 - own[own["comm_fraction"] > 0]["placement_factor"].mean()) for own in jobs
        ],
    )
    places = {
        str(file): {
            number: (row["log"], row["pattern"], row["allocator"])
            for number, row in enumerate(own.to_dict("records"))
            if row["allocator"] != DEFAULT
        }
        for file, own in cells.groupby("file", sort=False)
    }
    hours = ("execution_h", "wait_h", "best", "saved", "turnaround_h")
    mixes = _timed(runs, runs.cells("mixes")).rename(
        columns={"communication.rule.0.pattern": "mix"}
    )
    shares = _timed(runs, runs.cells("shares"))
    shares["share"] = [f"{100 * one:.0f}%" for one in shares["communication.rule.0.chance"]]
    return {
        "continuous": means(cells, ("log", "pattern", "allocator"), hours),
        "costs": _costs(cells, jobs),
        "individual": individual(runs, places),
        "mixes": means(mixes, ("log", "mix", "allocator"), ("execution_h",)),
        "shares": means(shares, ("log", "share", "allocator"), ("turnaround_h", "node_hours")),
        "emergent": _emergent(runs),
    }


def _costs(cells: pd.DataFrame, jobs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean cost of a job by its size, binomial trees (Figure 8)."""
    rows = []
    for row, own in zip(cells.to_dict("records"), jobs, strict=True):
        if row["pattern"] != PATTERNS["binomial"]:
            continue
        talking = own[own["comm_fraction"] > 0]
        for first, beyond in pairwise(COST_CLASSES):
            size = talking["n_nodes"]
            cost = talking[(size >= first) & (size < beyond)]["communication_cost"]
            if len(cost):
                name = f"{first}-{beyond - 1}" if beyond < COST_CLASSES[-1] else f"{first}+"
                rows.append({"log": row["log"], "sizes": name, "allocator": row["allocator"],
                             "cost": float(cost.mean())})  # fmt: skip
    return means(pd.DataFrame(rows), ("log", "sizes", "allocator"), ("cost",))


def _emergent(runs: Runs) -> pd.DataFrame:
    """Return what the network makes of the same placements."""
    cells = _timed(runs, runs.cells("emergent"))
    cells = cells.assign(
        pattern=cells["communication.rule.0.pattern"],
        uplinks=cells["topology"],
        talk=[f"{100 * one:.0f}%" for one in cells["communication.rule.0.comm_fraction"]],
        network_slowdown=cells["mean_network_slowdown_by_node_seconds"],
        interference=cells["mean_interference_by_node_seconds"],
    )
    keys = ("log", "uplinks", "pattern", "talk", "allocator")
    return means(cells, keys, ("execution_h", "wait_h", "network_slowdown", "interference"))


MISHRA20 = Paper(
    "mishra20",
    "Mishra20",
    "Greedy, balanced and adaptive nodes on trees (Mishra et al., ICPPW'20)",
    (INTREPID, THETA, MIRA),
    study,
    claims,
    sheets,
    figures,
    (("rhvd",), ("rd-binomial",), ("mixes",), ("shares",), ("emergent",)),
)
