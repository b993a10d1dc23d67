"""JSON job lists: the reader that their formats share, Flux and Batsim."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from fabricsim.checking.documents import parse_json
from fabricsim.checking.inputs import decoded
from scheduler.errors import WorkloadError
from scheduler.workload.base import Source, Workload, bounded, read_source
from scheduler.workload.entries import (
    Entry,
    is_missing,
    read_count,
    read_seconds,
    read_sizes,
    refuse,
    workload_of,
)
from scheduler.workload.filters import MISSING, Filters, ReadOptions


def load_json(source: Source) -> Any:  # noqa: ANN401 (whatever the file holds)
    """Parse a source as one JSON value."""
    text = decoded(source, WorkloadError)
    return parse_json(text, source.name, WorkloadError, strict=False)


def job_tables(source: Source) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the job list of a JSON document: the list itself, or that under ``jobs``."""
    value = load_json(source)
    jobs = value.get("jobs") if isinstance(value, Mapping) else value
    if not isinstance(jobs, list):
        raise WorkloadError(f"{source.name}: expected a list of jobs under 'jobs', got none.")
    tables = []
    for number, job in enumerate(bounded(jobs, source)):
        place = f"{source.name}: jobs[{number}]"
        if not isinstance(job, Mapping):
            raise WorkloadError(f"{place}: expected an object, got {str(job)[:40]!r}.")
        tables.append((place, job))
    return tables


def read_flux_json(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read a job list of Flux, as ``flux jobs -a --json`` prints it.

    Jobs that were cancelled while they ran count; unfinished ones and others do not. Run time is
    ``t_cleanup - t_run``, the requested time ``duration``, 0 meaning none.
    """
    filters = Filters(**options)
    source = read_source(path)
    entries = [_flux_entry(table, place) for place, table in job_tables(source)]
    return workload_of(entries, filters, source)


def _flux_entry(table: Mapping[str, Any], place: str) -> Entry:
    """Read one job of a Flux list."""

    def time(name: str) -> float:
        return read_seconds(table.get(name), place, name)

    start_s, end_s = time("t_run"), max(time("t_cleanup"), time("t_inactive"))
    if time("t_cleanup") > 0:
        end_s = time("t_cleanup")
    state = str(table.get("state") or "").upper()
    unfit = "" if state in {"", "INACTIVE", "CLEANUP"} else f"not finished ({state.lower()})"
    number = table.get("id")
    whole = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**63
    kept = {"result": str(table.get("result") or "")}
    if not whole:  # "ƒ3ETxsR9H", the compact form
        kept["jobid"] = str(number or "")
    return Entry(
        place=place,
        id=number if whole else None,
        submit_s=time("t_submit"),
        runtime_s=end_s - start_s if 0 <= start_s <= end_s else MISSING,
        n_nodes=read_count(table.get("nnodes"), place, "nnodes"),
        requested_s=time("duration"),
        unfit=unfit,
        name=str(table.get("name") or ""),
        labels={
            "user": table.get("userid", table.get("username")),
            "group": table.get("bank"),
            "queue": table.get("queue"),
        },
        extra=tuple((key, text) for key, text in kept.items() if text),
        start_s=start_s if start_s > 0 else None,
        hosts=str(table.get("nodelist") or ""),
    )


def read_batsim_json(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read a workload of Batsim: ``delay`` jobs, their profile as a column.

    The run time of other profiles follows from a platform that is not in the file, so they are
    dropped. ``res`` counts processors, where nodes have several. A moldable job, which Batsim has
    not, lists ``sizes``: objects of ``res`` and ``profile``.
    """
    filters = Filters(**options)
    source = read_source(path)
    document = load_json(source)
    profiles = document.get("profiles") if isinstance(document, Mapping) else None
    if not isinstance(profiles, Mapping):
        raise WorkloadError(f"{source.name}: expected an object 'profiles', got {profiles!r:.40}.")
    entries = [
        _batsim_entry(table, place, profiles, filters) for place, table in job_tables(source)
    ]
    return workload_of(entries, filters, source)


def _batsim_entry(
    table: Mapping[str, Any], place: str, profiles: Mapping[str, Any], filters: Filters
) -> Entry:
    """Read one job of a Batsim workload."""
    name = str(table.get("profile"))
    profile = profiles.get(name)
    if not isinstance(profile, Mapping):
        raise refuse(place, "profile", "the name of a profile", table.get("profile"))
    kind = str(profile.get("type"))
    delay = kind == "delay"
    processors = read_count(table.get("res"), place, "res")
    last = str(table.get("id", "")).rpartition("!")[2]  # "w0!12": workload and job
    plain = last.isdecimal() and last.isascii() and len(last) < 16  # noqa: PLR2004
    walltime = table.get("walltime")
    n_nodes = -(-processors // filters.processors_per_node) if processors > 0 else MISSING
    runtime_s = read_seconds(profile.get("delay"), place, "delay") if delay else 1.0
    sizes = _batsim_sizes(table.get("sizes"), place, profiles, filters)
    return Entry(
        place=place,
        id=int(last) if plain else None,
        submit_s=read_seconds(table.get("subtime"), place, "subtime"),
        runtime_s=runtime_s,
        n_nodes=n_nodes,
        requested_s=MISSING if is_missing(walltime) else read_seconds(walltime, place, "walltime"),
        unfit="" if delay else f"run time unknown (profile type {kind[:40]})",
        extra=(("profile", name),) + ((("jobid", last),) if last and not plain else ()),
        sizes=read_sizes(sizes, place, n_nodes, runtime_s) if delay else (),
    )


def _batsim_sizes(
    value: object, place: str, profiles: Mapping[str, Any], filters: Filters
) -> list[tuple[int, object]] | None:
    """Return nodes and seconds of each size of a job."""
    if value is None:
        return None
    found = list[tuple[int, object]]()
    for own in value if isinstance(value, list) else [value]:
        if not isinstance(own, Mapping):
            raise refuse(place, "sizes", "objects of 'res' and 'profile'", value)
        profile = profiles.get(str(own.get("profile")))
        if not isinstance(profile, Mapping) or profile.get("type") != "delay":
            raise refuse(place, "sizes", "the name of a delay profile", own.get("profile"))
        processors = read_count(own.get("res"), place, "res")
        nodes = -(-processors // filters.processors_per_node)
        found.append((nodes, profile.get("delay")))
    return found
