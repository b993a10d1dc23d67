"""Slurm: accounting records, as `sacct --json` prints them, of Slurm 21.08 to 25.05."""

from collections.abc import Mapping
from typing import Any

from scheduler.errors import WorkloadError
from scheduler.workload.entries import Entry, backwards, count, identity, n_hosts, seconds
from scheduler.workload.filters import MISSING, Filters
from scheduler.workload.json_lists import job_tables
from scheduler.workload.source import Source
from scheduler.workload.squeue import unwrapped
from scheduler.workload.states import UNFINISHED

NOWHERE = frozenset({"none assigned", "(null)", "none", "unknown"})
"""What Slurm says of the hosts of a job that has none."""


def is_sacct_json(table: Mapping[str, Any]) -> bool:
    """Say whether an object is a job of `sacct`: `squeue` tells no table of times."""
    return isinstance(table.get("time"), Mapping)


def sacct_json_entries(source: Source, filters: Filters) -> list[Entry]:
    """
    Read accounting records one by one.

    Result: all jobs, those that a workload drops too; times in seconds since 1970.
    """
    entries = []
    for place, table in job_tables(source):
        if not is_sacct_json(table):
            raise WorkloadError(
                f"{place}: field time: expected a table, as sacct --json prints it, got "
                f"{str(table.get('time'))[:40]!r}."
            )
        entries.append(_entry(table, place, filters))
    return entries


def _entry(table: Mapping[str, Any], place: str, filters: Filters) -> Entry:
    """Read one job."""
    time = table["time"]
    state = _state(table.get("state"))
    submit_s, start_s, end_s, elapsed_s = (
        seconds(unwrapped(time.get(name)), place, f"time.{name}")
        for name in ("submission", "start", "end", "elapsed")
    )
    limit_s = 60 * seconds(unwrapped(time.get("limit")), place, "time.limit")
    hosts = table.get("nodes")
    hosts = hosts if isinstance(hosts, str) and hosts.lower() not in NOWHERE else ""
    own = table.get("association")
    own = own if isinstance(own, Mapping) else {}
    user = str(table.get("user") or own.get("user") or "")
    account = str(table.get("account") or own.get("account") or "")
    array, het = (_number_of(table.get(name), place, name) for name in ("array", "het"))
    told = {
        "state": state,
        "user_name": user,
        "account": account,
        "array_job_id": array,
        "het_job_id": het,
    }
    return Entry(
        place=place,
        id=identity(unwrapped(table.get("job_id")), place, "job_id"),
        submit_s=submit_s,
        runtime_s=elapsed_s if elapsed_s >= 0 or not 0 < start_s <= end_s else end_s - start_s,
        n_nodes=_nodes(table, hosts, place, filters),
        requested_s=max(limit_s, float(MISSING)),
        unfit=f"not finished ({state.lower()})"
        if state in UNFINISHED
        else backwards(start_s, end_s, elapsed_s),
        name=str(table.get("name") or ""),
        labels={"user": user, "group": table.get("group"), "queue": table.get("partition")},
        extra=tuple((name, text) for name, text in told.items() if text),
        start_s=start_s if start_s > 0 else None,
        hosts=hosts,
        end_s=end_s if end_s > 0 else None,
    )


def _state(told: object) -> str:
    """Return the state: `current` is a text or a list, by the version."""
    current = told.get("current") if isinstance(told, Mapping) else told
    first = current[0] if isinstance(current, list) and current else current
    return str(first or "").partition(" ")[0].upper()


def _number_of(told: object, place: str, name: str) -> str:
    """Return the number of the array or heterogeneous job that a job is part of; empty if none."""
    number = told.get("job_id") if isinstance(told, Mapping) else None
    found = count(unwrapped(number), place, f"{name}.job_id")
    return str(found) if found > 0 else ""


def _nodes(table: Mapping[str, Any], hosts: str, place: str, filters: Filters) -> int:
    """Return the nodes of a job; -1 where nothing tells them."""
    nodes = count(unwrapped(table.get("allocation_nodes")), place, "allocation_nodes")
    if nodes > 0:
        return nodes
    if hosts:
        return n_hosts(hosts, place, "nodes")
    required = table.get("required")
    required = required if isinstance(required, Mapping) else {}
    processors = count(unwrapped(required.get("CPUs")), place, "required.CPUs")
    return -(-processors // filters.processors_per_node) if processors > 0 else MISSING
