"""The table of jobs of a result: a row per job, made column by column."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from coupling.results.columns import JOB_COLUMNS, TEXT
from coupling.results.framed import NODE_PART, Table, TableColumns, folded_each
from netsim.common.arrays import Ints
from netsim.common.hostlist import fold_hostlist
from netsim.flows.distance import average_pairwise_hops_each
from netsim.topology.base import Topology
from scheduler.job import Job
from scheduler.simulator import JobRecord, Schedule
from scheduler.workload.base import DroppedJob, Workload

_AT_ONCE = 10_000  # jobs whose nodes are held as numbers, ten times as large as in a table


def job_table(
    schedule: Schedule,
    workload: Workload,
    topology: Topology,
    cost_of_job: Mapping[int, float] | None = None,
) -> Table:
    """Return a row per job in the order of the log, then the dropped ones."""
    by_id = {record.job.id: record for record in schedule.records}
    records = [by_id[job.id] for job in workload.jobs]
    pieces = chain(
        (_typed_table(_run_columns(some, topology, cost_of_job)) for some in _row_parts(records)),
        (_typed_table(_given_up(some)) for some in _row_parts(workload.dropped_jobs)),
    )
    first = next(pieces, None) or _typed_table(_given_up(()))
    more = [piece.frame() for piece in pieces]  # where texts take less room
    table: Table = first
    if more:
        import pandas as pd  # noqa: PLC0415 (slow to import)

        table = pd.concat([first.frame(), *more], ignore_index=True)
    if any(record.allocation.share is not None for record in records):
        parts = [record.allocation.part for record in records]
        table = table.assign(**{NODE_PART: np.array(parts + [1.0] * len(workload.dropped_jobs))})
    if any(record.job.sizes for record in records):
        asked = [job.n_nodes for job in workload.jobs]
        asked += [job.n_nodes for job in workload.dropped_jobs]
        table = table.assign(requested_nodes=np.array(asked, dtype=np.int64))
    return table


def as_recorded(jobs: Table, submit_s: Mapping[int, float], work_s: Mapping[int, float]) -> Table:
    """Return the table of a replayed record: waits count from true submissions."""
    ids = np.asarray(jobs["id"]).tolist()
    submitted = np.array([submit_s[job] for job in ids])
    return jobs.assign(
        submit_s=submitted,
        wait_s=np.asarray(jobs["start_s"]) - submitted,
        turnaround_s=np.asarray(jobs["end_s"]) - submitted,
        runtime_reference_s=np.array([work_s[job] for job in ids]),
    )


_Values = dict[str, Any]
_Row = TypeVar("_Row")


def _row_parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """Go through rows, so many at once."""
    return (rows[first : first + _AT_ONCE] for first in range(0, len(rows), _AT_ONCE))


def _typed_table(columns: _Values) -> TableColumns:
    """Return a table of columns; those that are not given hold no number."""
    n_rows = len(columns["id"])
    return TableColumns(
        {
            name: columns[name]
            if kind == TEXT
            else np.asarray(columns.get(name, np.full(n_rows, np.nan)), dtype=kind)
            for name, kind in JOB_COLUMNS.items()
        }
    )


def _attribute_column(
    name: str, things: Sequence[object], kind: type = float
) -> "np.ndarray[Any, Any]":
    """Return what attributes of this name are."""
    return np.fromiter(map(attrgetter(name), things), kind, len(things))


def _asked_columns(jobs: Sequence[Job | DroppedJob]) -> _Values:
    return {
        "id": _attribute_column("id", jobs, int),
        "submit_s": _attribute_column("submit_s", jobs),
        "n_nodes": _attribute_column("n_nodes", jobs, int),
        "runtime_reference_s": _attribute_column("runtime_s", jobs),
    }


def _run_columns(
    records: Sequence[JobRecord], topology: Topology, cost_of_job: Mapping[int, float] | None
) -> _Values:
    """Return what is known of jobs that ran."""
    columns = _fate_columns(records) | _place_columns(records, topology)
    if cost_of_job is not None:
        columns["communication_cost"] = [cost_of_job.get(one.job.id, 0.0) for one in records]
    return columns


def _fate_columns(records: Sequence[JobRecord]) -> _Values:
    """Return what jobs asked for and what became of them, but for where they ran."""
    jobs = [record.job for record in records]
    asked = _asked_columns(jobs)
    start_s, end_s = _attribute_column("start_s", records), _attribute_column("end_s", records)
    interference = _attribute_column("interference", records)
    placement_factor = _attribute_column("placement_factor", records)
    talks = [job.communication for job in jobs]
    return asked | {
        "start_s": start_s,
        "end_s": end_s,
        "idle_nodes": _attribute_column("allocation.idle", records, int),
        "wait_s": start_s - asked["submit_s"],
        "turnaround_s": end_s - asked["submit_s"],
        "network_slowdown": interference * placement_factor,
        "interference": interference,
        "placement_factor": placement_factor,
        "interference_delay_s": _attribute_column("interference_delay_s", records),
        "pattern": ["" if talk is None else talk.label for talk in talks],
        "comm_fraction": [0.0 if talk is None else talk.fraction for talk in talks],
        "killed": _attribute_column("killed", records, bool),
        "dropped": [""] * len(records),
    }


def _place_columns(records: Sequence[JobRecord], topology: Topology) -> _Values:
    """Return how far the nodes of each job are apart, and their names."""
    nodes = [record.allocation.nodes() for record in records]
    nodes = [
        own if own.size <= record.job.n_nodes else np.unique(own)  # several ranks on a node
        for own, record in zip(nodes, records, strict=True)
    ]
    hops = average_pairwise_hops_each(topology, nodes)
    return {"aph": hops, "nodes": node_names(nodes, topology)}


def node_names(nodes: Sequence[Ints], topology: Topology) -> list[str]:
    """Write the nodes of each job as a host list, under the names of a fabric's file if any."""
    if topology.origin is None:
        return [f"n[{numbers}]" for numbers in folded_each(nodes)]
    name_of = topology.vertex_name
    return [fold_hostlist(name_of(node) for node in own.tolist()) for own in nodes]


def _given_up(jobs: Sequence[DroppedJob]) -> _Values:
    """Return what there is to say of jobs that were dropped."""
    none = [""] * len(jobs)
    return _asked_columns(jobs) | {
        "idle_nodes": np.zeros(len(jobs), dtype=np.int64),
        "pattern": none,
        "nodes": none,
        "killed": np.zeros(len(jobs), dtype=bool),
        "dropped": [job.reason for job in jobs],
    }
