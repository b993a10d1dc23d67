"""Small results, worked out by hand, for tests of what people see."""

import numpy as np
import pandas as pd

from coupling.results.result import Result
from coupling.results.summary import summarize

SIZES = (4, 2, 1)
PATTERNS = ("pairs", "stencil-3d", "")
N_NODES = 8


def sample(
    name,
    runtimes_s=(5400.0, 3600.0, 1800.0),
    interference_delay_s=(0.0, 0.0, 0.0),
    infinite_runtimes_s=(5000.0, 3500.0, 1800.0),
):
    """Return a run of three jobs of 4, 2 and 1 nodes that all start at time 0 on 8 nodes."""
    jobs = _jobs(runtimes_s, interference_delay_s)
    infinite = summarize(_jobs(infinite_runtimes_s, (0.0, 0.0, 0.0)), N_NODES)
    ends = sorted(runtimes_s)
    busy = [
        7,
        *(7 - sum(s for s, r in zip(SIZES, runtimes_s, strict=True) if r <= e) for e in ends),
    ]
    timeline = pd.DataFrame(
        {
            "time_s": [0.0, *ends],
            "running": [3, 2, 1, 0],
            "queued": 0,
            "utilization": np.array(busy) / N_NODES,
            "mean_interference": [1.2 if any(interference_delay_s) else 1.0, 1.0, 1.0, 1.0],
        }
    )
    summary = {"name": name, **summarize(jobs, N_NODES), "infinite_network": infinite}
    cost = {"events": 6, "cpu_coupled_s": 0.5}
    return Result(name, jobs, _links(jobs), timeline, _blame(jobs), summary, cost)


def _blame(jobs):
    """Return the blame table: the last job is to blame for all that the others lost."""
    lost = jobs["interference_delay_s"] * jobs["n_nodes"]
    return pd.DataFrame(
        {
            "victim": jobs["id"],
            "culprit": jobs["id"].iloc[-1],
            "link_class": "leaf-up",
            "interference_delay_node_s": lost,
        }
    )[lost > 0]


def _jobs(runtimes_s, interference_delay_s):
    """Return the job table."""
    run, lost = np.array(runtimes_s), np.array(interference_delay_s)
    interference = run / (run - lost)
    return pd.DataFrame(
        {
            "id": [11, 12, 13],
            "submit_s": 0.0,
            "start_s": 0.0,
            "end_s": run,
            "n_nodes": SIZES,
            "idle_nodes": 0,
            "runtime_reference_s": run - lost,
            "wait_s": 0.0,
            "turnaround_s": run,
            "network_slowdown": interference,
            "interference": interference,
            "placement_factor": 1.0,
            "interference_delay_s": lost,
            "pattern": PATTERNS,
            "comm_fraction": [0.4, 0.2, 0.0],
            "aph": 0.0,
            "communication_cost": 0.0,
            "nodes": ["n[0-3]", "n[4-5]", "n[6]"],
            "killed": False,
            "dropped": "",
        }
    )


def with_dropped(jobs, reasons):
    """Return a job table with dropped jobs at the end."""
    row = dict.fromkeys(jobs.columns, np.nan) | {
        "submit_s": 7.0,
        "n_nodes": 9999,
        "idle_nodes": 0,
        "runtime_reference_s": 1e9,
        "pattern": "",
        "nodes": "",
    }
    rows = [
        row | {"id": 900 + index, "killed": False, "dropped": reason}
        for index, reason in enumerate(reasons)
    ]
    dropped = pd.DataFrame(rows).astype(jobs.dtypes.to_dict())
    return pd.concat([jobs, dropped], ignore_index=True) if len(jobs) else dropped


def _links(jobs):
    """Return a link table of a tree of two leaves and two L2 switches, all lost at one link."""
    lost = float((jobs["n_nodes"] * jobs["interference_delay_s"]).sum())
    names = [f"s1.{leaf}>s2.{top}" for leaf in (0, 1) for top in (0, 1)]
    names += [f"s2.{top}>s1.{leaf}" for leaf in (0, 1) for top in (0, 1)]
    return pd.DataFrame(
        {
            "link": ["n0>s1.0", "s1.0>n0", *names],
            "class": ["injection", "ejection", *["leaf-up"] * 4, *["leaf-down"] * 4],
            "bytes": np.arange(10) * 1e9,
            "busy_fraction": np.arange(10) / 20,
            "interference_delay_node_s": [0.0, 0.0, lost, *[0.0] * 7],
        }
    )
