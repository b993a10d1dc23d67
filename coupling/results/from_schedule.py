"""Turn a schedule into the tables of a result."""

from dataclasses import replace
from typing import Any

import numpy as np

from coupling.rates.ledgers import BlameLedger, LinkLedger
from coupling.rates.link_timeline import LinkTimeline
from coupling.rates.wait_ledger import WaitLedger
from coupling.results.framed import (
    NODES_USED,
    Categorical,
    Table,
    TableColumns,
    folded_each,
    ran,
)
from coupling.results.job_table import node_names
from netsim.topology.base import Topology
from netsim.topology.names import link_names
from scheduler.events import MachineEvents
from scheduler.reasons import ISOLATION, REASONS, USER_LIMIT
from scheduler.simulator import Schedule
from scheduler.workload.base import DroppedJob, Workload

_HOUR_S = 3600.0

_AT_ONCE = 10_000  # jobs whose links are held as numbers


def partition_table(schedule: Schedule, workload: Workload) -> TableColumns:
    """Return ``id`` and folded ``links`` of jobs that owned links."""
    by_id = {record.job.id: record.allocation for record in schedule.records}
    ids, written = list[int](), list[str]()
    for first in range(0, len(workload.jobs), _AT_ONCE):
        some = [job.id for job in workload.jobs[first : first + _AT_ONCE]]
        owned = {job: links for job in some if (links := by_id[job].links()) is not None}
        ids += owned
        written += folded_each([np.sort(links) for links in owned.values()])
    return TableColumns({"id": np.array(ids, dtype=np.int64), "links": written})


def link_table(ledger: LinkLedger, topology: Topology, makespan_s: float) -> TableColumns:
    """Return a row per directed link: class, bytes, load, and node-seconds lost there."""
    classes, kind = topology.link_kinds(np.arange(topology.n_links))
    full = topology.capacity * makespan_s
    busy = np.divide(ledger.nbytes, full, out=np.zeros_like(full), where=full > 0)
    return TableColumns(
        {
            "link": link_names(topology),
            "class": [classes[number] for number in kind.tolist()],
            "bytes": ledger.nbytes,
            "busy_fraction": busy,
            "interference_delay_node_s": ledger.interference_delay_node_s,
        }
    )


def link_time_table(over_time: LinkTimeline, topology: Topology) -> TableColumns:
    """Return a row per bin and directed link that carried something then."""
    bins = over_time.bins()
    number, link = np.nonzero(bins)
    begin_s = number * over_time.width_s
    end_s = np.minimum(begin_s + over_time.width_s, over_time.end_s)
    nbytes = bins[number, link]
    return TableColumns(
        {
            "begin_s": begin_s,
            "end_s": end_s,
            "link": link.astype(np.int32),
            "bytes": nbytes,
            "busy_fraction": nbytes / (topology.capacity[link] * (end_s - begin_s)),
        }
    )


def wait_table(ledger: WaitLedger) -> TableColumns:
    """Return a row per job, reason and holder of a reservation, by start of the jobs."""
    names = ["", *REASONS]
    job, reason, holder, root = np.array(ledger.rows, dtype=np.int64).reshape(-1, 4).T
    wait_s, first_s, last_s = np.array(ledger.spans, dtype=np.float64).reshape(-1, 3).T
    return TableColumns(
        {
            "id": job,
            "reason": Categorical(reason, names),
            "holder": holder,
            "root": Categorical(root, names),
            "wait_s": wait_s,
            "first_s": first_s,
            "last_s": last_s,
        }
    )


def blame_table(ledger: BlameLedger) -> TableColumns:
    """Return node-seconds lost by victim, culprit (-1: unknown) and class of links."""
    names = [*ledger.classes, ""]  # -1 picks the last
    return TableColumns(
        {
            "victim": np.array(ledger.victim, dtype=np.int64),
            "culprit": np.array(ledger.culprit, dtype=np.int64),
            "link_class": Categorical(
                np.array(ledger.kind_of_row, dtype=np.int64) % len(names), names
            ),
            "interference_delay_node_s": np.array(
                ledger.interference_delay_node_s, dtype=np.float64
            ),
        }
    )


def time_table(schedule: Schedule, n_nodes: int) -> TableColumns:
    """Return a row per instant at which something changed; interference weighted by nodes."""
    line = schedule.timeline
    return TableColumns(
        {
            "time_s": np.array(line.time_s, dtype=np.float64),
            "running": np.array(line.running, dtype=np.int64),
            "queued": np.array(line.queued, dtype=np.int64),
            "utilization": np.array(line.busy_nodes) / n_nodes,
            "mean_interference": np.array(line.interference, dtype=np.float64),
        }
    )


def waiting_by_reason(waits: Table, jobs: Table) -> dict[str, Any]:
    """Return waiting by reason, and the price of isolation; None where no job waited."""
    # The price: what jobs waited since isolation forbade free nodes (direct), what others waited
    # behind these, and shares of all waiting.
    job, hours = np.asarray(waits["id"]), np.asarray(waits["wait_s"]) / _HOUR_S
    ran_id, size = map(ran(jobs), ("id", NODES_USED))
    order = np.argsort(ran_id)
    node_hours = hours * size[order[np.searchsorted(ran_id, job, sorter=order)]]
    reason, root = (np.asarray(waits[name]) for name in ("reason", "root"))
    direct, behind = reason == ISOLATION, root == ISOLATION
    waiting: dict[str, Any] = {}
    price: dict[str, float | None] = {}
    for unit, spent in (("node", node_hours), ("job", hours)):
        hours_of = {name: float(spent[reason == name].sum()) for name in REASONS}
        if not hours_of[USER_LIMIT]:
            del hours_of[USER_LIMIT]  # no user has one
        waiting[f"wait_{unit}_hours"] = hours_of
        total = float(spent.sum())
        for name, rows in (("direct", direct), ("behind", behind)):
            part = float(spent[rows].sum())
            price[f"{name}_{unit}_hours"] = part
            price[f"{name}_share_of_{unit}_hours"] = part / total if total > 0.0 else None
    return waiting | {"price_of_isolation": price}


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
    last = {(record.job.id, record.start_s) for record in schedule.records}
    again = {(run.allocation.job.id, run.start_s) for run in failed} - last
    return {
        "events": len(events.happened),
        "failed_runs": len(failed),
        "jobs_requeued": len({job for job, _ in again}),
        "node_seconds_lost_to_failures": sum(run.lost_s * run.allocation.weight for run in failed),
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
