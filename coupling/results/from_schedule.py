"""Turn a schedule into the tables of a result."""

from collections.abc import Mapping, Sequence
from itertools import chain, islice

import numpy as np
import pandas as pd

from coupling.pace.ledgers import BlameLedger, LinkLedger
from coupling.pace.link_timeline import LinkTimeline
from coupling.pace.waits import WaitLedger
from coupling.results.columns import COLUMNS, JOB_COLUMNS, TEXT
from coupling.results.result import folded
from netsim.distance import average_pairwise_hops
from netsim.hostlist import fold_hostlist
from netsim.topology.base import Topology
from netsim.topology.link_names import link_names
from scheduler.job import Job
from scheduler.reasons import REASONS
from scheduler.simulator import JobRecord, Schedule
from scheduler.workload.base import DroppedJob, Workload

_AT_ONCE = 10_000  # rows that are held as objects, ten times as large as in a table


def job_table(
    schedule: Schedule,
    workload: Workload,
    topology: Topology | None = None,
    cost_of_job: Mapping[int, float] | None = None,
) -> pd.DataFrame:
    """
    Return a row per job.

    `workload`: the jobs in the order of the log, and those that were dropped. `topology`: None
    where ``aph`` and ``nodes`` are not wanted; they are empty then. `cost_of_job`: communication
    cost by job id, of jobs that send; None: it is not known. Result: jobs in the order of the log,
    then the dropped ones, with the reason in ``dropped`` and no more than they asked for. Columns
    as in docs/results.md.
    """
    by_id = {record.job.id: record for record in schedule.records}
    ran = (
        _row(by_id[job.id], topology)
        | {"communication_cost": np.nan if cost_of_job is None else cost_of_job.get(job.id, 0.0)}
        for job in workload.jobs
    )
    rows = chain(ran, map(_dropped_row, workload.dropped_jobs))
    kinds = {name: kind for name, kind in JOB_COLUMNS.items() if kind != TEXT}
    some, tables = list(islice(rows, _AT_ONCE)), list[pd.DataFrame]()
    while some or not tables:
        tables.append(pd.DataFrame(some, columns=list(JOB_COLUMNS)).astype(kinds))
        some = list(islice(rows, _AT_ONCE))
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def as_recorded(
    jobs: pd.DataFrame, submit_s: Mapping[int, float], work_s: Mapping[int, float]
) -> pd.DataFrame:
    """
    Return the job table of a record that was replayed.

    `submit_s`: true submission by job id, which may lie before second 0, the first start; waits
    count from there. `work_s`: reference run times by job id.
    """
    ids = jobs["id"].tolist()
    submitted = np.array([submit_s[job] for job in ids])
    return jobs.assign(
        submit_s=submitted,
        wait_s=jobs["start_s"] - submitted,
        turnaround_s=jobs["end_s"] - submitted,
        runtime_reference_s=[work_s[job] for job in ids],
    )


def _row(record: JobRecord, topology: Topology | None) -> dict[str, object]:
    """Return the row of a job that ran."""
    job = record.job
    label, fraction = _communication(job)
    aph, nodes = (np.nan, "") if topology is None else _where(record, topology)
    return {
        "id": job.id,
        "submit_s": job.submit_s,
        "start_s": record.start_s,
        "end_s": record.end_s,
        "n_nodes": job.n_nodes,
        "idle_nodes": record.allocation.idle,
        "runtime_reference_s": job.runtime_s,
        "wait_s": record.start_s - job.submit_s,
        "turnaround_s": record.end_s - job.submit_s,
        "slowdown": record.interference * record.placement_factor,
        "interference": record.interference,
        "placement_factor": record.placement_factor,
        "lost_s": record.lost_s,
        "pattern": label,
        "comm_fraction": fraction,
        "aph": aph,
        "nodes": nodes,
        "killed": record.killed,
        "dropped": "",
    }


def _where(record: JobRecord, topology: Topology) -> tuple[float, str]:
    """Return how far the nodes of a job are apart, and their names."""
    nodes = record.allocation.nodes()
    if nodes.size > record.job.n_nodes:  # several ranks on a node
        nodes = np.unique(nodes)
    return average_pairwise_hops(topology, nodes), _hosts(nodes.tolist(), topology)


def _hosts(nodes: Sequence[int], topology: Topology) -> str:
    """Write nodes as a host list, under the names of the fabric's file where it has one."""
    if topology.origin is None:
        return f"n[{folded(nodes)}]"
    return fold_hostlist(topology.vertex_name(node) for node in nodes)


def _dropped_row(job: DroppedJob) -> dict[str, object]:
    """Return the row of a job that was dropped: what it asked for."""
    return {
        "id": job.id,
        "submit_s": job.submit_s,
        "n_nodes": job.n_nodes,
        "idle_nodes": 0,
        "runtime_reference_s": job.runtime_s,
        "pattern": "",
        "nodes": "",
        "killed": False,
        "dropped": job.reason,
    }


def _communication(job: Job) -> tuple[str, float]:
    """Return pattern name and communication fraction of a job."""
    if job.communication is None:
        return "", 0.0
    return job.communication.label, job.communication.fraction


def partition_table(schedule: Schedule, workload: Workload) -> pd.DataFrame:
    """
    Return a row per job that owned links.

    `workload`: the jobs in the order of the log. Result: ``id`` and ``links``: directed links, as
    rows of the link table, ascending runs folded.
    """
    by_id = {record.job.id: record.allocation for record in schedule.records}
    owned = [(job.id, by_id[job.id].links()) for job in workload.jobs]
    rows = [(job, folded(np.sort(links).tolist())) for job, links in owned if links is not None]
    return pd.DataFrame(rows, columns=list(COLUMNS["partitions"])).astype({"id": "int64"})


def link_table(ledger: LinkLedger, topology: Topology, makespan_s: float) -> pd.DataFrame:
    """
    Return a row per directed link.

    Result: ``link``, ``class``, ``bytes``, ``busy_fraction`` (of the run, at full capacity) and
    ``lost_node_s`` (node-seconds lost to interference while the link was the worst one of the job
    that lost them).
    """
    classes, kind = topology.link_kinds(np.arange(topology.n_links))
    full = topology.capacity * makespan_s
    busy = np.divide(ledger.nbytes, full, out=np.zeros_like(full), where=full > 0)
    return pd.DataFrame(
        {
            "link": link_names(topology),
            "class": [classes[number] for number in kind.tolist()],
            "bytes": ledger.nbytes,
            "busy_fraction": busy,
            "lost_node_s": ledger.lost_node_s,
        }
    )


def link_time_table(over_time: LinkTimeline, topology: Topology) -> pd.DataFrame:
    """
    Return a row per bin of time and directed link that carried something then.

    Result: ``begin_s`` and ``end_s`` of the bin, ``link`` (row of the link table), ``bytes`` and
    ``busy_fraction`` (of the bin, at full capacity), by bin and link.
    """
    bins = over_time.bins()
    number, link = np.nonzero(bins)
    begin_s = number * over_time.width_s
    end_s = np.minimum(begin_s + over_time.width_s, over_time.end_s)
    nbytes = bins[number, link]
    return pd.DataFrame(
        {
            "begin_s": begin_s,
            "end_s": end_s,
            "link": link.astype(np.int32),
            "bytes": nbytes,
            "busy_fraction": nbytes / (topology.capacity[link] * (end_s - begin_s)),
        }
    )


def wait_table(ledger: WaitLedger) -> pd.DataFrame:
    """
    Return a row per job, reason and holder of a reservation, of jobs that waited.

    Result: ``id``, ``reason``, ``holder``, ``root`` (`scheduler.reasons.Verdict`), ``wait_s``, and
    ``first_s`` and ``last_s`` between which that was; jobs in the order of their start.
    """
    names = pd.Index(["", *REASONS])
    job, reason, holder, root = np.array(ledger.rows, dtype=np.int64).reshape(-1, 4).T
    wait_s, first_s, last_s = np.array(ledger.spans, dtype=np.float64).reshape(-1, 3).T
    return pd.DataFrame(
        {
            "id": job,
            "reason": pd.Categorical.from_codes(reason, names),
            "holder": holder,
            "root": pd.Categorical.from_codes(root, names),
            "wait_s": wait_s,
            "first_s": first_s,
            "last_s": last_s,
        }
    )


def blame_table(ledger: BlameLedger) -> pd.DataFrame:
    """
    Return a row per victim, culprit and class of links.

    Result: ``victim``, ``culprit`` (ids of jobs; -1 where the model does not tell), ``link_class``
    and ``lost_node_s``, by victim in the order in which they ended. The sum is
    ``node_seconds_lost_to_interference``.
    """
    names = [*ledger.classes, ""]  # -1 picks the last
    return pd.DataFrame(
        {
            "victim": np.array(ledger.victim, dtype=np.int64),
            "culprit": np.array(ledger.culprit, dtype=np.int64),
            "link_class": pd.Categorical.from_codes(
                np.array(ledger.kind_of_row, dtype=np.int64) % len(names), pd.Index(names)
            ),
            "lost_node_s": np.array(ledger.lost_node_s, dtype=np.float64),
        }
    )


def time_table(schedule: Schedule, n_nodes: int) -> pd.DataFrame:
    """
    Return a row per instant at which something changed.

    Result: ``time_s``, ``running``, ``queued``, ``utilization``, ``mean_interference`` (by nodes).
    """
    line = schedule.timeline
    return pd.DataFrame(
        {
            "time_s": line.time_s,
            "running": line.running,
            "queued": line.queued,
            "utilization": np.array(line.busy_nodes) / n_nodes,
            "mean_interference": line.interference,
        }
    )
