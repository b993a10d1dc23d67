"""A run for other programs: the jobset CSV that evalys reads, and a workload for Batsim."""

import json
import re
from collections.abc import Callable, Sequence

import pandas as pd

from coupling.errors import ResultError
from coupling.report.perfetto import trace_events
from coupling.results.columns import finished
from coupling.results.formatting import listing
from coupling.results.framed import folded
from coupling.results.result import Result
from fabricsim.checking.sheets import sheet
from netsim.common.hostlist import expand_hostlist

_OWN_NAME = re.compile(r"n(\d+)")


def jobset_csv(results: Sequence[Result]) -> str:
    """Write a run as Batsim's ``_jobs.csv``, which evalys reads; resources are node numbers."""
    result = _only_run(results, "evalys")
    jobs = finished(result.jobs)
    run_s = jobs["end_s"] - jobs["start_s"]
    table = pd.DataFrame(
        {
            "job_id": jobs["id"],
            "workload_name": "w0",
            "profile": jobs["pattern"].replace("", "silent"),
            "submission_time": jobs["submit_s"],
            "requested_number_of_resources": jobs["n_nodes"],
            "requested_time": -1.0,
            "success": (~jobs["killed"]).astype(int),
            "final_state": jobs["killed"].map(
                {False: "COMPLETED_SUCCESSFULLY", True: "COMPLETED_WALLTIME_REACHED"}
            ),
            "starting_time": jobs["start_s"],
            "execution_time": run_s,
            "finish_time": jobs["end_s"],
            "waiting_time": jobs["wait_s"],
            "turnaround_time": jobs["turnaround_s"],
            "stretch": (jobs["turnaround_s"] / run_s).where(run_s > 0.0, 1.0),
            "allocated_resources": _node_intervals(jobs["nodes"].tolist()),
        }
    )
    return sheet(list(table.columns), zip(*(table[name] for name in table.columns), strict=True))


def batsim_json(results: Sequence[Result]) -> str:
    """Write the workload of a run for Batsim; each job is a ``delay`` of its reference time."""
    result = _only_run(results, "batsim")
    jobs = finished(result.jobs).sort_values(["submit_s", "id"], kind="stable")
    columns = ("id", "submit_s", "n_nodes", "runtime_reference_s")
    rows = list(zip(*(jobs[name].tolist() for name in columns), strict=True))
    document = {
        "nb_res": int(result.summary["nodes"]),
        "jobs": [
            {"id": str(number), "subtime": submit_s, "res": size, "profile": f"p{number}"}
            for number, submit_s, size, _ in rows
        ],
        "profiles": {
            f"p{number}": {"type": "delay", "delay": run_s} for number, _, _, run_s in rows
        },
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _only_run(results: Sequence[Result], viewer: str) -> Result:
    """Return the only run; these files hold one."""
    if len(results) != 1:
        names = listing([result.name for result in results])
        raise ResultError(f"--to {viewer}: expected one run, by --run, got {names}.")
    return results[0]


def _node_intervals(hosts: Sequence[str]) -> list[str]:
    """Write the nodes of jobs as intervals of numbers."""
    expanded = [sorted(set(expand_hostlist(text))) for text in hosts]
    names = sorted({name for nodes in expanded for name in nodes})
    own = {name: _OWN_NAME.fullmatch(name) for name in names}
    number = {
        name: index if not all(own.values()) or match is None else int(match[1])
        for index, (name, match) in enumerate(own.items())
    }
    return [folded(sorted(number[name] for name in nodes)).replace(",", " ") for nodes in expanded]


VIEWERS: dict[str, Callable[[Sequence[Result]], str]] = {
    "batsim": batsim_json,
    "evalys": jobset_csv,
    "perfetto": trace_events,
}
"""Writers of runs for other programs."""
