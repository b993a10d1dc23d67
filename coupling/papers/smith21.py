"""Smith21: Jigsaw against LaaS, TA and LC+S; utilisation, makespan, turnaround, time."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from coupling.papers.paper import ATLAS, THUNDER, Frames, Paper
from coupling.papers.runs import Runs
from coupling.papers.smith21_page import BASELINE, LARGE, SPED_UP, STRICT, claims, figures, sheets
from coupling.results.columns import finished
from coupling.results.over_time import instantaneous_utilization


def trace_of(row: Mapping[str, object]) -> str:
    """Return what a trace is called."""
    path = row.get("workload.path")
    if isinstance(path, str):
        return Path(path).name.split("-")[1].lower()
    mean = row.get("workload.mean_nodes")
    return f"synth-{16 if mean is None or mean != mean else mean:g}"  # noqa: PLR0124 (NaN)


def _named(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with columns ``trace``, ``policy``, ``scenario`` and ``seed``."""
    rows = cells.to_dict("records")
    model = cells.get("network.model", pd.Series("null", index=cells.index))
    return cells.assign(
        trace=[trace_of({str(key): one for key, one in row.items()}) for row in rows],
        policy=cells.get("scheduler.allocator", pd.Series("lc+s", index=cells.index)).fillna(
            "lc+s"
        ),
        scenario=model.replace({"null": "none"}),
        seed=cells.get("run.seed", pd.Series(1, index=cells.index)).fillna(1),
    )


def study(runs: Runs) -> Frames:
    """Find utilisation, makespan, turnaround and time in the runs."""
    dense = _named(runs.cells("utilisation", "synth", "synth-search", "logs"))
    keys = ["trace", "policy"]
    means = dense.groupby(keys, sort=False, as_index=False)[
        ["utilization_steady", "internal_fragmentation", "scheduling_ms_per_job"]
    ].mean()
    return {
        "utilisation": means,
        "makespan": _ratios(dense, "makespan_s", ["trace"]),
        "speedups": _ratios(_named(runs.cells("speedups")), "makespan_s", ["trace", "scenario"]),
        "turnaround": _turnaround(runs),
        "instants": _instants(runs, dense),
        "traces": _traces(runs, dense),
    }


def _ratios(cells: pd.DataFrame, value: str, keys: list[str]) -> pd.DataFrame:
    """Return a number over that of Baseline in the same draw without speed-ups, in the mean."""
    plain = (cells["policy"] == BASELINE) & cells["scenario"].isin(["none"])
    own = (cells["policy"] == BASELINE) & (cells["scenario"] == "emergent")
    base = cells[plain].set_index(["trace", "seed"])[value]
    network = cells[own].set_index(["trace", "seed"])[value]
    found = []
    for row in cells[cells["policy"] != BASELINE].to_dict("records"):
        place = (row["trace"], row["seed"])
        below = network if row["scenario"] == "emergent" else base
        if place in below.index:
            found.append({**{key: row[key] for key in keys}, "policy": row["policy"],
                          "ratio": row[value] / below[place]})  # fmt: skip
    return (
        pd.DataFrame(found, columns=[*keys, "policy", "ratio"])
        .groupby([*keys, "policy"], sort=False, as_index=False)
        .mean()
    )


def _turnaround(runs: Runs) -> pd.DataFrame:
    """Return mean turnaround over Baseline's, of all jobs and of large ones (Figure 7)."""
    name = "arrivals" if "arrivals" in runs.sweeps else "speedups"
    cells = _named(runs.cells(name))
    large = []
    for row in cells.to_dict("records"):
        jobs = runs.jobs(name, row["cell"])
        own = jobs[(jobs["dropped"] == "") & (jobs["n_nodes"] > LARGE)]["turnaround_s"]
        large.append(float(own.mean()) if len(own) else float("nan"))
    keys = ["trace", "scenario"]
    both = {
        "all": _ratios(cells, "mean_turnaround_s", keys),
        "large": _ratios(cells.assign(large=large), "large", keys),
    }
    return pd.concat([one.assign(jobs=which) for which, one in both.items()], ignore_index=True)


def _traces(runs: Runs, dense: pd.DataFrame) -> pd.DataFrame:
    """Return what the traces are like (Table 1), the first draw of each."""
    rows = []
    for trace, own in dense.groupby("trace", sort=False):
        first = own.iloc[0]
        jobs = runs.jobs(str(first["file"]), str(first["cell"]))
        jobs = finished(jobs)
        times = jobs["runtime_reference_s"]
        rows.append(
            {"trace": trace, "nodes": first["nodes"], "jobs": len(jobs),
             "largest": jobs["n_nodes"].max(), "single": (jobs["n_nodes"] == 1).sum(),
             "shortest": times.min(), "longest": times.max()}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _instants(runs: Runs, dense: pd.DataFrame) -> pd.DataFrame:
    """Return the share of events by utilisation after them, in per cent (Table 2)."""
    trace = "thunder" if "thunder" in set(dense["trace"]) else "synth-16"
    own = dense[(dense["trace"] == trace) & dense["policy"].isin([*SPED_UP, STRICT])]
    rows = []
    for row in own.to_dict("records"):
        jobs = runs.jobs(row["file"], row["cell"])
        shares = 100.0 * instantaneous_utilization(jobs, int(row["nodes"]))
        rows += [
            {"trace": trace, "policy": row["policy"], "bin": name, "percent": share}
            for name, share in shares.items()
        ]
    table = pd.DataFrame(rows)
    return table.groupby(["trace", "policy", "bin"], sort=False, as_index=False).mean()


SMITH21 = Paper(
    "smith21",
    "Smith21",
    "Jigsaw, LaaS, TA and LC+S (Smith & Lowenthal, HPDC'21)",
    (THUNDER, ATLAS),
    study,
    claims,
    sheets,
    figures,
    (("utilisation", "synth", "synth-search", "logs"), ("speedups",)),
)
