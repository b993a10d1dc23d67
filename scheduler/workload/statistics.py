"""What a job log holds, in numbers: sizes, times, load, users, and what is missing or odd."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fabricsim.checking import whole
from netsim.common.arrays import Floats, Ints
from scheduler.errors import WorkloadError
from scheduler.workload import Workload, cancelled, running

TOP_USERS = 5
_LABELS = ("user", "group", "executable", "queue")
_QUANTILES = {"min": 0.0, "median": 0.5, "p95": 0.95, "max": 1.0}
Numbers = dict[str, Any]
"""Names to numbers, lists and further such tables, as JSON has them."""


def job_frame(workload: Workload) -> pd.DataFrame:
    """Return a row per job of a workload; labels as the log writes them, else empty."""
    jobs = workload.jobs
    names: list[dict[str, str]] = [dict(job.extra) for job in jobs]
    columns: dict[str, Sequence[object]] = {
        name: [getattr(job, name) for job in jobs]
        for name in ("id", "submit_s", "n_nodes", "runtime_s", "requested_s", "name")
    }
    for label in _LABELS:
        numbers = (getattr(job, label) for job in jobs)
        columns[label] = [
            extra.get(label, "" if number < 0 else str(number))
            for number, extra in zip(numbers, names, strict=True)
        ]
    table = pd.DataFrame(columns)
    table["node_s"] = table["n_nodes"] * table["runtime_s"]
    return table


def trace_numbers(workload: Workload, n_nodes: int | None = None) -> Numbers:
    """Return what a job log holds, as commands list it; fractions, not per cent."""
    if n_nodes is not None:
        whole("--nodes", n_nodes, 1, error=WorkloadError)
    jobs = job_frame(workload)
    numbers: Numbers = {
        "source": workload.source,
        "sha256": workload.sha256,
        "jobs": len(jobs),
        "dropped": len(workload.dropped_jobs),
        "dropped_by_reason": dict(workload.dropped),
        "not_in_order_of_submission": workload.n_unsorted,
        "repeated": int(jobs.drop(columns="id").duplicated().sum()) if len(jobs) else 0,
        "cancelled": len(cancelled(workload.jobs)),
        "running": len(running(workload.jobs)),
        "recorded": {
            "starts": sum(job.logged_start_s is not None for job in workload.jobs),
            "places": sum(bool(job.logged_hosts) for job in workload.jobs),
        },
        "missing": _missing_values(jobs, workload),
        "further_columns": _further_columns(workload),
        "remarks": dict(workload.remarks),
    }
    if jobs.empty:
        return numbers
    return numbers | {
        "nodes": spread(jobs["n_nodes"].to_numpy(dtype=float)) | _round_sizes(jobs["n_nodes"]),
        "runtime_s": spread(jobs["runtime_s"].to_numpy()),
        "requested_time": _request_quality(jobs, numbers["missing"]["requested time"]),
        "arrivals": _arrival_facts(jobs["submit_s"].to_numpy()),
        "load": _offered_load(jobs, n_nodes),
        "size_classes": size_classes(jobs),
        "users": _user_facts(jobs),
    }


def spread(values: Floats) -> Numbers:
    """Sum up a quantity of jobs."""
    found = np.quantile(values, list(_QUANTILES.values())).tolist()
    return dict(zip(_QUANTILES, found, strict=True)) | {"mean": float(values.mean())}


def busy_steps(jobs: pd.DataFrame) -> tuple[Floats, Ints]:
    """Return instants, and the nodes in use from each, if every job started at submission."""
    submit = jobs["submit_s"].to_numpy()
    size = jobs["n_nodes"].to_numpy()
    times, place = np.unique(
        np.concatenate([submit, submit + jobs["runtime_s"].to_numpy()]), return_inverse=True
    )
    change = np.zeros(times.size, dtype=np.int64)
    np.add.at(change, place, np.concatenate([size, -size]))
    return times, np.cumsum(change)


def size_classes(jobs: pd.DataFrame) -> list[Numbers]:
    """Return jobs and their node time by size: up to 1, 2, 4, 8, ... nodes."""
    power = np.ceil(np.log2(jobs["n_nodes"].to_numpy())).astype(np.int64)
    total_s = float(jobs["node_s"].sum())
    return [
        {
            "nodes": _class_name(exponent),
            "jobs": len(part),
            "job_share": len(part) / len(jobs),
            "node_time_share": float(part["node_s"].sum()) / total_s,
            "mean_runtime_s": float(part["runtime_s"].mean()) if len(part) else None,
        }
        for exponent in range(int(power.min()), int(power.max()) + 1)
        for part in (jobs[power == exponent],)
    ]


def _class_name(exponent: int) -> str:
    """Name the sizes above 2^(exponent - 1) up to 2^exponent."""
    first, last = 2**exponent // 2 + 1, 2**exponent
    return str(last) if first >= last else f"{first}-{last}"


def _round_sizes(n_nodes: pd.Series) -> Numbers:
    """Return the shares of jobs of one node, and of a power of two."""
    sizes = n_nodes.to_numpy()
    return {
        "share_of_one": float(np.mean(sizes == 1)),
        "share_of_powers_of_two": float(np.mean(sizes & (sizes - 1) == 0)),
    }


def _request_quality(jobs: pd.DataFrame, n_without: int) -> Numbers:
    """Say how good the requested times are; a job without one carries its run time as one."""
    runtime, asked = (jobs[name].to_numpy() for name in ("runtime_s", "requested_s"))
    exact = np.flatnonzero(runtime == asked)
    rows = np.concatenate([np.flatnonzero(runtime != asked), exact[n_without:]])
    if not rows.size:
        return {"jobs": 0}
    used = runtime[rows] / asked[rows]
    return {
        "jobs": int(rows.size),
        "values": int(np.unique(asked[rows]).size),
        "exact": int(np.count_nonzero(used == 1)),
        "over_runs": int(np.count_nonzero(used > 1)),
        "longest_over_run_s": float(max(0.0, (runtime - asked).max())),
        "median_used": float(np.median(used)),
        "mean_used": float(used.mean()),
    }


def _arrival_facts(submit_s: Floats) -> Numbers:
    """Say when jobs come; the first is submitted at 0."""
    gaps = np.diff(submit_s)
    return {
        "span_s": float(submit_s[-1] - submit_s[0]),
        "mean_gap_s": float(gaps.mean()) if gaps.size else None,
        "median_gap_s": float(np.median(gaps)) if gaps.size else None,
        "with_the_job_before": int(np.count_nonzero(gaps == 0)),
    }


def _offered_load(jobs: pd.DataFrame, n_nodes: int | None) -> Numbers:
    """Say how much work comes, and how many nodes it would take at once."""
    machine = n_nodes or int(jobs["n_nodes"].max())
    work = float(jobs["node_s"].sum())
    span_s = float(jobs["submit_s"].max() - jobs["submit_s"].min())
    _, busy = busy_steps(jobs)
    return {
        "node_seconds": work,
        "machine_nodes": machine,
        "machine_nodes_from": "largest job" if n_nodes is None else "--nodes",
        "offered": work / (machine * span_s) if span_s > 0 else None,
        "peak_nodes": int(busy.max()),
        "larger_than_machine": int((jobs["n_nodes"] > machine).sum()),
    }


def _user_facts(jobs: pd.DataFrame) -> Numbers:
    """Say how many users there are, and which asks for most."""
    known = jobs[jobs["user"] != ""]
    total_s = float(jobs["node_s"].sum())
    groups = known.groupby("user", sort=False)["node_s"].agg(["size", "sum"])
    top = groups.sort_values("sum", ascending=False, kind="stable").head(TOP_USERS)
    return {
        "count": len(groups),
        "top": [
            {
                "user": str(user),
                "jobs": int(row["size"]),
                "job_share": float(row["size"]) / len(jobs),
                "node_time_share": float(row["sum"]) / total_s,
            }
            for user, row in top.iterrows()
        ],
    }


def _missing_values(jobs: pd.DataFrame, workload: Workload) -> Mapping[str, int]:
    """Count the kept jobs for which the log has no value."""
    asked = workload.n_without_request if workload.has_requested else len(jobs)
    return {"requested time": asked} | {
        name: int((jobs[name] == "").sum()) for name in (*_LABELS, "name")
    }


def _further_columns(workload: Workload) -> list[str]:
    """Return the names of columns that readers keep without using them."""
    names = dict.fromkeys(key for job in workload.jobs for key, _ in job.extra)
    return [name for name in names if name not in _LABELS]
