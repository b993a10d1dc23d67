"""Slurm: accounting records, as `sacct -X -P` and `sacct --json` (21.08 to 25.05) print them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any, Unpack

from fabricsim.checking.sheets import refuse_separator
from scheduler.errors import WorkloadError
from scheduler.workload.base import Source, Workload, bounded, read_source
from scheduler.workload.entries import (
    Entry,
    backwards_reason,
    is_missing,
    n_hosts,
    read_count,
    read_job_id,
    read_seconds,
    refuse,
    set_by_an_hour,
    workload_of,
)
from scheduler.workload.filters import LARGEST, MISSING, Filters, ReadOptions
from scheduler.workload.json_lists import job_tables
from scheduler.workload.squeue import unwrapped
from scheduler.workload.states import UNFINISHED, unfinished_reason

COLUMNS = {
    "id": ("jobidraw", "jobid"),
    "submit": ("submit",),
    "start": ("start",),
    "end": ("end",),
    "elapsed": ("elapsedraw", "elapsed"),
    "nodes": ("nnodes", "allocnodes", "reqnodes"),
    "processors": ("ncpus", "alloccpus", "reqcpus"),
    "limit": ("timelimitraw", "timelimit"),
    "state": ("state",),
    "name": ("jobname",),
    "user": ("uid", "user"),
    "group": ("gid", "group", "account"),
    "queue": ("partition",),
    "hosts": ("nodelist",),
    "tres": ("alloctres", "reqtres"),
}
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+)(?::(\d+))?)?(\.\d+)?", re.ASCII)
_TRES_NODES = re.compile(r"(?:^|,)node=(\d{1,9})(?:,|$)")
_TRES = {
    "cores": re.compile(r"(?:^|,)cpu=(\d{1,9})(?=,|$)"),
    "gpus": re.compile(r"(?:^|,)gres/gpu(:[^=,]*)?=(\d{1,9})(?=,|$)"),
    "memory_mb": re.compile(r"(?:^|,)mem=([0-9.]{1,16})([KMGTP]?)(?=,|$)"),
}
_MIB = {"K": 2.0**-10, "M": 1.0, "": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_COMMAND = re.compile(r"[^|]*[$#%>]\s*(?:sudo\s+)?(?:\S*/)?sacct\s[^|]*")
_TIMES = ("submit", "start", "end")
_DATE = len("2024-05-29")
_NO_LIMIT = {"unlimited", "partition_limit", "infinite"}


def slurm_duration(text: str) -> float | None:
    """
    Read a duration as Slurm writes it, in seconds; None if it is none.

    ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours``,
    ``days-hours:minutes`` or ``days-hours:minutes:seconds``; seconds may have a fraction.
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    days, first, second, third = (
        None if part is None else float(part) for part in match.groups()[:4]
    )
    with_seconds = third is not None or (days is None and second is not None)
    if match[5] and not with_seconds:
        return None
    part = float(match[5] or 0)
    if days is not None or third is not None:  # the first is hours
        return 86400 * (days or 0) + 3600 * (first or 0) + 60 * (second or 0) + (third or 0) + part
    return 60 * (first or 0) + (second or 0) + part


def read_sacct(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read records of Slurm, as of ``sacct -X -P`` or ``sacct --json``.

    Needs a header line, or `columns`, with JobID, Submit, NNodes (or NodeList, AllocTRES, NCPUS)
    and Elapsed (or Start and End); uses JobIDRaw, Timelimit, State, JobName, UID or User, GID,
    Group or Account, and Partition where present; all other columns become further ones.
    ``--delimiter=,`` is understood too. A number and a start are one run: a job that was queued
    again, and a number that Slurm uses again, are jobs of their own.

    Unfinished jobs, job steps and jobs that were cancelled before they ran are dropped; those that
    were cancelled, queued again or resized while they ran held their nodes, and count. Tasks of
    arrays and parts of heterogeneous jobs get new numbers where there is no JobIDRaw. Jobs that end
    before they start are dropped, unless the clock was set back by an hour meanwhile.

    Times without an offset are taken as UTC: a local clock that is set forward or back in the
    middle of a log shifts the arrivals by that hour. Beside times with an offset, or in seconds
    since 1970, they are refused.
    """
    filters = Filters(**options)
    source = read_source(path)
    return workload_of(sacct_entries(source, filters), filters, source)


def sacct_entries(
    source: Source, filters: Filters, zone: tzinfo | None = None, *, placed: bool = False
) -> list[Entry]:
    """
    Read the lines of accounting records one by one, with times in seconds since 1970.

    `zone`: of times without an offset; by default UTC, and no other times may stand beside them.
    `placed`: refuse records that have no column for starts, or none for hosts. All jobs count,
    those that a workload drops too. Without a column End jobs end as their run time says.
    """
    if source.data.lstrip()[:1] in (b"{", b"["):
        return sacct_json_entries(source, filters)
    lines = bounded(_text_lines(source), source)
    first = next(lines, None)
    if first is not None and _COMMAND.fullmatch(first[1]):
        first = next(lines, None)
    if first is None:
        raise WorkloadError(f"{source.name}: expected a header line, got an empty file.")
    delimiter = "|" if "|" in first[1] else ","
    header = [name.strip().lower() for name in first[1].split(delimiter)]
    if filters.columns is not None:
        named = [name.strip().lower() for name in filters.columns]
        lines = lines if header == named else chain([first], lines)
        header = named
    else:
        _require_header(header, source, first[0], placed=placed)
    columns = _find_columns(header, source, ("start", "hosts") if placed else ())
    entries: list[Entry] = []
    zoned: dict[bool, str] = {}
    for number, line in lines:
        place = f"{source.name}:{number}"
        cells = _line_cells(line, header, delimiter, place)
        named_cells = dict(zip(header, map(str.strip, cells), strict=True))
        if zone is None:
            _refuse_mixed(named_cells, columns, place, zoned)
        padded = sum(cell != cell.strip() for cell in cells)
        entry = _sacct_entry(named_cells, columns, place, filters, zone or UTC)
        entries.append(replace(entry, padded=padded) if padded else entry)
    return entries


def _require_header(header: Sequence[str], source: Source, number: int, *, placed: bool) -> None:
    """Refuse a first line that names no column that sacct has."""
    known = {name for names in COLUMNS.values() for name in names}
    if known.isdisjoint(header):
        refuse_separator(header, f"{source.name}:{number}", WorkloadError, "| or commas")
        named = f", or name the {len(header)} columns (--columns, or columns of [workload])"
        raise WorkloadError(
            f"{source.name}:{number}: expected a header line with jobidraw or jobid, got "
            f"{', '.join(header)[:40]!r}: run sacct without -n (--noheader)"
            f"{'' if placed else named}."
        )


def _line_cells(line: str, header: Sequence[str], delimiter: str, place: str) -> list[str]:
    """Part a line; what follows the last column belongs to it where it is a name, which is free."""
    cells = line.split(delimiter)
    if len(cells) == len(header) + 1 and not cells[-1]:  # sacct -p ends lines with a |
        cells.pop()
    if len(cells) > len(header) and header[-1] in COLUMNS["name"]:
        last = len(header) - 1
        cells[last:] = [delimiter.join(cells[last:])]
    if len(cells) != len(header):
        raise WorkloadError(f"{place}: expected {len(header)} fields, got {len(cells)}.")
    return cells


def _refuse_mixed(
    cells: Mapping[str, str], columns: Mapping[str, str], place: str, zoned: dict[bool, str]
) -> None:
    """Refuse times with and without a zone; `zoned`: gets the place of the first of each kind."""
    for name in (columns[use] for use in _TIMES if use in columns):
        text = cells[name].strip()
        if is_missing(text):
            continue
        kind = tells_zone(text)
        zoned.setdefault(kind, place)
        if len(zoned) > 1:
            expected = "no offset" if kind else "an offset, or seconds since 1970"
            raise refuse(
                place,
                name,
                f"a time with {expected}, as at {zoned[not kind]}, or timezone, which says what "
                "times without an offset are",
                text,
            )


def _text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty; bytes that are no UTF-8 stay visible."""
    for number, line in enumerate(source.lines(), start=1):
        if line.strip():
            yield number, line.decode("utf-8", "backslashreplace").strip("\r")


def _find_columns(header: Sequence[str], source: Source, further: Sequence[str]) -> dict[str, str]:
    """Say which column holds what. `further`: what must be there besides what all jobs have."""
    found = {
        use: next(name for name in names if name in header)
        for use, names in COLUMNS.items()
        if any(name in header for name in names)
    }
    needed = [
        ("id",),
        ("submit",),
        ("nodes", "hosts", "tres", "processors"),
        ("elapsed", "end"),
    ]
    for alternatives in [*needed, *((use,) for use in further)]:
        if not any(use in found for use in alternatives):
            known = ", ".join(name for use in alternatives for name in COLUMNS[use])
            raise WorkloadError(
                f"{source.name}:1: expected a column {known}, got {', '.join(header)[:80]}."
            )
    return found


def _sacct_entry(
    cells: Mapping[str, str],
    columns: Mapping[str, str],
    place: str,
    filters: Filters,
    zone: tzinfo,
) -> Entry:
    """Read one line."""

    def cell(use: str) -> str:
        return cells[columns[use]].strip() if use in columns else ""

    state = cell("state").partition(" ")[0].rstrip("+").upper()  # "CANCELLED by 123"
    times = [cell(use) for use in _TIMES]
    submit_s, start_s, end_s = (
        read_instant(text, place, columns.get(use, use), zone)
        for use, text in zip(_TIMES, times, strict=True)
    )
    runtime_s = _read_elapsed(cell("elapsed"), place, columns)
    if runtime_s < 0 <= start_s <= end_s:
        runtime_s = end_s - start_s
    more_s = end_s - start_s - runtime_s
    if more_s > 0 and is_twice(times[1], zone) and set_by_an_hour(more_s):
        start_s = end_s - runtime_s  # the clock showed it once more, an hour later
    if "end" not in columns and min(start_s, runtime_s) >= 0 and state not in UNFINISHED:
        end_s = start_s + runtime_s
    number = cell("id")
    nodes = read_count(cell("nodes"), place, columns.get("nodes", ""))
    hosts = "" if cell("hosts").lower() in NOWHERE else cell("hosts")
    if nodes < 1 and hosts:
        nodes = n_hosts(hosts, place, columns["hosts"])
    if nodes < 1 and (match := _TRES_NODES.search(cell("tres"))):
        nodes = int(match[1])
    if nodes < 1:
        processors = read_count(cell("processors"), place, columns.get("processors", ""))
        nodes = -(-processors // filters.processors_per_node) if processors > 0 else MISSING
    used = {columns[use] for use in columns if use not in ("state", "tres")} - {"jobid"}
    counted = read_count(cell("processors"), place, columns.get("processors", ""))
    units = tres_units(cell("tres"), counted)
    return Entry(
        place=place,
        id=read_job_id(number, place) if number.isdecimal() and number.isascii() else None,
        submit_s=submit_s,
        runtime_s=runtime_s,
        n_nodes=nodes,
        requested_s=_read_limit(cell("limit"), place, columns),
        unfit=_drop_reason(number, state, end_s) or backwards_reason(start_s, end_s, runtime_s),
        name=cell("name"),
        labels={use: cell(use) for use in ("user", "group", "queue")},
        extra=tuple((name, text) for name, text in cells.items() if name not in used and text),
        start_s=start_s if start_s >= 0 else None,
        hosts=hosts,
        end_s=end_s if end_s >= 0 else None,
        skipped=any(is_skipped(text, zone) for text in times),
        twice=any(is_twice(text, zone) for text in times),
        zoned=all(is_missing(text) or tells_zone(text) for text in times),
        cores=units["cores"],
        gpus=units["gpus"],
        memory_mb=units["memory_mb"],
    )


def tres_units(text: str, processors: int) -> dict[str, int]:
    """Return what a job has of its nodes by AllocTRES; its processors where that has no ``cpu``."""
    cores, memory = _TRES["cores"].search(text), _TRES["memory_mb"].search(text)
    gpus = [(match[1] or "", int(match[2])) for match in _TRES["gpus"].finditer(text)]
    try:
        memory_mb = 0 if memory is None else ceil(float(memory[1]) * _MIB[memory[2]])
    except ValueError:
        memory_mb = 0
    return {
        "cores": max(processors, 0) if cores is None else int(cores[1]),
        "gpus": _gpus_of_all_kinds(gpus),
        "memory_mb": min(memory_mb, LARGEST),
    }


def _gpus_of_all_kinds(counts: Sequence[tuple[str, int]]) -> int:
    """Return the GPUs of a job from kind and number; no kind: of all kinds together."""
    return dict(counts).get("") or sum(count for _, count in counts)


def _drop_reason(number: str, state: str, end_s: float) -> str:
    """Return why a job of this number and state is dropped."""
    if "." in number:
        return "job step (sacct -X leaves them out)"
    return unfinished_reason(state, end_s)


def read_instant(text: str, place: str, name: str, zone: tzinfo = UTC) -> float:
    """
    Read ISO 8601, or seconds since 1970, as the latter; -1 where missing.

    `zone`: of a text without an offset.
    """
    if is_missing(text):
        return float(MISSING)
    if text.replace(".", "", 1).isdecimal():
        return read_seconds(text, place, name)
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError) as error:
        raise refuse(place, name, "a time such as 2014-08-01T12:00:00", text) from error


def tells_zone(text: str) -> bool:
    """Say whether a time needs no time zone: seconds, or with an offset."""
    return text.replace(".", "", 1).isdecimal() or any(sign in text[_DATE:] for sign in "+-zZ")


def is_skipped(text: str, zone: tzinfo) -> bool:
    """Say whether a text is a time over which the clock was set forward."""
    return _clock_advance(text, zone) > timedelta()


def is_twice(text: str, zone: tzinfo) -> bool:
    """Say whether a text is a time to which the clock was set back."""
    return _clock_advance(text, zone) < timedelta()


def _clock_advance(text: str, zone: tzinfo) -> timedelta:
    """Return by how much a clock was set about a time that it skipped or showed twice; else 0."""
    if zone is UTC or is_missing(text) or text.replace(".", "", 1).isdecimal():
        return timedelta()
    moment = datetime.fromisoformat(text)
    if moment.tzinfo:
        return timedelta()
    before, after = (moment.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    return (after or timedelta()) - (before or timedelta())


def _read_elapsed(text: str, place: str, columns: Mapping[str, str]) -> float:
    """Read the run time: seconds in ElapsedRaw, else a duration."""
    name = columns.get("elapsed", "elapsed")
    if name == "elapsedraw" or is_missing(text):
        return read_seconds(text, place, name)
    duration = slurm_duration(text)
    if duration is None:
        raise refuse(place, name, "a duration such as 1-02:03:04", text)
    return duration


def _read_limit(text: str, place: str, columns: Mapping[str, str]) -> float:
    """Read the time limit: minutes in TimelimitRaw, else a duration."""
    if is_missing(text) or text.lower() in _NO_LIMIT:
        return float(MISSING)
    duration = slurm_duration(text)
    if duration is None:
        raise refuse(place, columns["limit"], "a duration such as 1-02:03:04", text)
    return duration


NOWHERE = frozenset({"none assigned", "(null)", "none", "unknown"})
"""Slurm's text for a job without hosts."""


def is_sacct_json(table: Mapping[str, Any]) -> bool:
    """Say whether an object is a job of `sacct`: `squeue` prints no table of times."""
    return isinstance(table.get("time"), Mapping)


def sacct_json_entries(source: Source, filters: Filters) -> list[Entry]:
    """Read all jobs of accounting records one by one, with times in seconds since 1970."""
    entries = []
    for place, table in job_tables(source):
        if not is_sacct_json(table):
            raise WorkloadError(
                f"{place}: field time: expected a table, as sacct --json prints it, got "
                f"{str(table.get('time'))[:40]!r}."
            )
        entries.append(_read_entry(table, place, filters))
    return entries


def _read_entry(table: Mapping[str, Any], place: str, filters: Filters) -> Entry:
    """Read one job."""
    time = table["time"]
    state = _read_state(table.get("state"))
    submit_s, start_s, end_s, elapsed_s = (
        read_seconds(unwrapped(time.get(name)), place, f"time.{name}")
        for name in ("submission", "start", "end", "elapsed")
    )
    limit_s = 60 * read_seconds(unwrapped(time.get("limit")), place, "time.limit")
    hosts = table.get("nodes")
    hosts = hosts if isinstance(hosts, str) and hosts.lower() not in NOWHERE else ""
    own = table.get("association")
    own = own if isinstance(own, Mapping) else {}
    user = str(table.get("user") or own.get("user") or "")
    account = str(table.get("account") or own.get("account") or "")
    array, het = (_number_of(table.get(name), place, name) for name in ("array", "het"))
    value = {
        "state": state,
        "user_name": user,
        "account": account,
        "array_job_id": array,
        "het_job_id": het,
    }
    return Entry(
        place=place,
        id=read_job_id(unwrapped(table.get("job_id")), place, "job_id"),
        submit_s=submit_s,
        runtime_s=elapsed_s if elapsed_s >= 0 or not 0 < start_s <= end_s else end_s - start_s,
        n_nodes=_count_nodes(table, hosts, place, filters),
        requested_s=max(limit_s, float(MISSING)),
        unfit=unfinished_reason(state, end_s) or backwards_reason(start_s, end_s, elapsed_s),
        name=str(table.get("name") or ""),
        labels={"user": user, "group": table.get("group"), "queue": table.get("partition")},
        extra=tuple((name, text) for name, text in value.items() if text),
        start_s=start_s if start_s > 0 else None,
        hosts=hosts,
        end_s=end_s if end_s > 0 else None,
        **_json_units(table),  # type: ignore[arg-type]
    )


def _json_units(table: Mapping[str, Any]) -> dict[str, int]:
    """Return what a job has of its nodes: ``tres.allocated``, or what it asked for."""
    tres = table.get("tres")
    tres = tres if isinstance(tres, Mapping) else {}
    rows = tres.get("allocated") or tres.get("requested")
    named = {"cpu": "cores", "mem": "memory_mb", "gpu": "gpus"}
    found: dict[str, list[tuple[str, int]]] = {unit: [] for unit in named.values()}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            kind = row.get("name") if row.get("type") == "gres" else row.get("type")
            name, _, kind = str(kind).partition(":")
            count, unit = row.get("count"), named.get(name)
            if unit and isinstance(count, int) and 0 < count < LARGEST:
                found[unit].append((kind, count))
    return {unit: _gpus_of_all_kinds(counts) for unit, counts in found.items()}


def _read_state(value: object) -> str:
    """Return the state: `current` is a text or a list, by the version."""
    current = value.get("current") if isinstance(value, Mapping) else value
    first = current[0] if isinstance(current, list) and current else current
    return str(first or "").partition(" ")[0].upper()


def _number_of(value: object, place: str, name: str) -> str:
    """Return the number of the array or heterogeneous job that a job is part of; empty if none."""
    number = value.get("job_id") if isinstance(value, Mapping) else None
    found = read_count(unwrapped(number), place, f"{name}.job_id")
    return str(found) if found > 0 else ""


def _count_nodes(table: Mapping[str, Any], hosts: str, place: str, filters: Filters) -> int:
    """Return the nodes of a job; -1 where no field has them."""
    nodes = read_count(unwrapped(table.get("allocation_nodes")), place, "allocation_nodes")
    if nodes > 0:
        return nodes
    if hosts:
        return n_hosts(hosts, place, "nodes")
    required = table.get("required")
    required = required if isinstance(required, Mapping) else {}
    processors = read_count(unwrapped(required.get("CPUs")), place, "required.CPUs")
    return -(-processors // filters.processors_per_node) if processors > 0 else MISSING
