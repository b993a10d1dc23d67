"""Slurm: the present queue, as `squeue --json` prints it, of Slurm 21.08 to 25.05."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from scheduler.errors import WorkloadError
from scheduler.workload.base import Source, Workload, read_source
from scheduler.workload.entries import (
    BACKWARDS,
    Entry,
    is_missing,
    n_hosts,
    read_count,
    read_job_id,
    read_seconds,
    refuse,
    workload_of,
)
from scheduler.workload.filters import MISSING, Filters, ReadOptions
from scheduler.workload.json_lists import job_tables
from scheduler.workload.states import HOLDING, UNFINISHED

# what Slurm's numbers of 16 and 32 bits are where a number is not set (slurm.h: NO_VAL16,
# INFINITE16, NO_VAL, INFINITE); versions before 23.02 print them as they are
_UNSET = {0xFFFE, 0xFFFF, 0xFFFFFFFE, 0xFFFFFFFF}
_NUMBERS = ("tasks", "tasks_per_node", "array_job_id", "het_job_id")


def read_squeue_json(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read the present queue of Slurm, as ``squeue --json`` prints it.

    A job that runs or waits has no run time yet; its time limit stands for it, as that is all a
    scheduler knows. One that ended before it started is dropped. The state is a further column, by
    which `running` finds the jobs that a run must not start again; and so is what a job asked for
    by ``--switches``, in the column that the queue option ``switches`` reads: ``required_switches``
    (``minimum_switches`` before Slurm 24.05), with ``wait_for_switch`` seconds where they are
    given. Further columns are ``user_name``, ``account``, ``tasks``, ``tasks_per_node``,
    ``array_job_id`` and ``het_job_id``, where the queue has them.
    """
    filters = Filters(**options)
    source = read_source(path)
    return workload_of(squeue_entries(source, filters), filters, source)


def squeue_entries(source: Source, filters: Filters) -> list[Entry]:
    """Read all jobs of the present queue one by one, with times in seconds since 1970."""
    tables = job_tables(source)
    for place, table in tables:
        if isinstance(table.get("time"), Mapping):
            raise WorkloadError(
                f"{place}: expected a job as squeue --json prints it, got one of sacct --json."
            )
    return [_read_entry(table, place, filters) for place, table in tables]


def _read_entry(table: Mapping[str, Any], place: str, filters: Filters) -> Entry:
    """Read one job of the queue."""

    def number(name: str) -> object:
        return unwrapped(table.get(name))

    state = _counted_state(table.get("job_state"))
    limit_s = read_seconds(number("time_limit"), place, "time_limit") * 60
    start_s = read_seconds(number("start_time"), place, "start_time")
    end_s = read_seconds(number("end_time"), place, "end_time")
    ended = state not in UNFINISHED and start_s > 0 and end_s > 0
    backwards = ended and end_s < start_s
    nodes_text = _job_hosts(table, place)
    nodes = read_count(number("node_count"), place, "node_count")
    if nodes < 1 and nodes_text:
        nodes = n_hosts(nodes_text, place, "nodes")
    if nodes < 1:
        processors = read_count(number("cpus"), place, "cpus")
        nodes = -(-processors // filters.processors_per_node) if processors > 0 else MISSING
    switches = number("required_switches")
    if is_missing(switches):
        switches = number("minimum_switches")
    kept = {
        "state": state,
        "switches": _switch_limit(
            read_count(switches, place, "required_switches"),
            read_count(number("wait_for_switch"), place, "wait_for_switch"),
        ),
        **{name: str(table.get(name) or "") for name in ("user_name", "account")},
        **{name: _above_0(number(name), place, name) for name in _NUMBERS},
    }
    return Entry(
        place=place,
        id=read_job_id(number("job_id"), place, "job_id"),
        submit_s=read_seconds(number("submit_time"), place, "submit_time"),
        runtime_s=end_s - start_s if ended and not backwards else max(limit_s, float(MISSING)),
        n_nodes=nodes,
        requested_s=max(limit_s, float(MISSING)),
        unfit="cancelled" if state.startswith("CANCEL") else BACKWARDS if backwards else "",
        name=str(table.get("name") or ""),
        labels={
            "user": table.get("user_id", table.get("user_name")),
            "group": table.get("group_id", table.get("group_name")),
            "queue": table.get("partition"),
        },
        extra=tuple((name, text) for name, text in kept.items() if text),
        start_s=start_s if start_s > 0 and state != "PENDING" else None,
        hosts="" if state == "PENDING" else nodes_text,
        end_s=end_s if end_s > 0 else None,
    )


def unwrapped(value: object) -> object:
    """Unwrap {"set": true, "infinite": false, "number": 5}."""
    if not isinstance(value, Mapping):
        return None if isinstance(value, int) and value in _UNSET else value
    known = value.get("set", True) and not value.get("infinite", False)
    return value.get("number") if known else None


def _counted_state(value: object) -> str:
    """Return the state that counts: that of a job that has nodes, of these a flag of RUNNING."""
    # Slurm lists a base state and its flags: RUNNING, CONFIGURING is a job whose nodes still boot.
    states = [str(one).upper() for one in (value if isinstance(value, list) else [value or ""])]
    holding = sorted((one for one in states if one in HOLDING), key="RUNNING".__eq__)
    return next(iter([*holding, *states]), "")


def _job_hosts(table: Mapping[str, Any], place: str) -> str:
    """
    Return the hosts of a job, which Slurm has in one or several of three places.

    ``nodes`` is a host list; ``job_resources.nodes`` too, from 24.05 on inside an object.
    """
    value = table.get("nodes")
    resources = table.get("job_resources")
    if not value and isinstance(resources, Mapping):
        value = resources.get("nodes")
    if isinstance(value, Mapping):
        value = value.get("list")
    if value is not None and not isinstance(value, str):
        raise refuse(place, "nodes", "a host list such as n[001-018]", value)
    return value or ""


def _above_0(value: object, place: str, name: str) -> str:
    """Write a number that means something from 1 up; empty where it means nothing."""
    found = read_count(value, place, name)
    return str(found) if found > 0 else ""


def _switch_limit(most: int, patience_s: int) -> str:
    """Write a limit of leaf switches as ``--switches`` takes it; empty where there is none."""
    if most < 1:
        return ""
    return f"{most}@{patience_s // 60}:{patience_s % 60:02d}" if patience_s >= 0 else str(most)
