"""What events did to a run: failed runs, what happened when, and jobs that were left over."""

from dataclasses import replace
from typing import Any

import numpy as np

from coupling.results.framed import Table, TableColumns
from coupling.results.job_table import node_names
from netsim.topology.base import Topology
from scheduler.events import MachineEvents
from scheduler.simulator import Schedule
from scheduler.workload.base import DroppedJob, Workload

STAY_DOWN = "waits for nodes that stay down"
UNSATISFIED = "a job that it depends on has not ended as it has to"


def without_unfinished(workload: Workload, schedule: Schedule) -> Workload:
    """Return a workload with the jobs that never ran again among the dropped ones."""
    if not (schedule.unfinished or schedule.unsatisfied):
        return workload
    reasons = {job.id: STAY_DOWN for job in schedule.unfinished}
    reasons |= {job.id: UNSATISFIED for job in schedule.unsatisfied}
    gone = reasons.keys()
    dropped = [
        DroppedJob(job.id, reasons[job.id], job.n_nodes, job.submit_s, job.runtime_s)
        for job in (*schedule.unfinished, *schedule.unsatisfied)
    ]
    return replace(
        workload,
        jobs=tuple(job for job in workload.jobs if job.id not in gone),
        dropped_jobs=(*workload.dropped_jobs, *dropped),
    )


def failures_in_all(schedule: Schedule, events: MachineEvents) -> dict[str, Any]:
    """Return how many runs failed, and what was lost by it."""
    failed = schedule.failed
    return {
        "events": len(events.happened),
        "failed_runs": len(failed),
        "jobs_requeued": len({run.allocation.job.id for run in failed}),
        "node_seconds_lost_to_failures": sum(
            run.lost_s * run.allocation.job.n_nodes for run in failed
        ),
        "unfinished_jobs": len(schedule.unfinished),
    }


def event_table(events: MachineEvents) -> Table:
    """Return a row per event, in order."""
    happened = events.happened
    return TableColumns(
        {
            "time_s": np.array([event.time_s for event in happened], dtype=np.float64),
            "action": [event.action for event in happened],
            "what": [event.cause for event in happened],
            "n_nodes": np.array([len(event.nodes) for event in happened], dtype=np.int64),
        }
    )


def failure_table(schedule: Schedule, topology: Topology) -> Table:
    """Return a row per run that a failure ended, in order."""
    failed = schedule.failed
    nodes = [np.unique(run.allocation.nodes()) for run in failed]
    return TableColumns(
        {
            "id": np.array([run.allocation.job.id for run in failed], dtype=np.int64),
            "start_s": np.array([run.start_s for run in failed], dtype=np.float64),
            "end_s": np.array([run.end_s for run in failed], dtype=np.float64),
            "n_nodes": np.array([run.allocation.job.n_nodes for run in failed], dtype=np.int64),
            "lost_s": np.array([run.lost_s for run in failed], dtype=np.float64),
            "cause": [run.cause for run in failed],
            "nodes": node_names(nodes, topology) if nodes else [],
        }
    )
