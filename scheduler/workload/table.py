"""Tables with named columns: CSV and Parquet, the project's own results among them."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabricsim.checking.inputs import MOST_BYTES, decoded
from fabricsim.checking.parquets import parquet_table
from fabricsim.checking.sheets import plain_cell, refuse_separator
from scheduler.errors import WorkloadError
from scheduler.workload.base import MOST_ENTRIES, Source, Workload, bounded, read_source
from scheduler.workload.entries import (
    Entry,
    is_missing,
    read_count,
    read_job_id,
    read_seconds,
    read_sizes,
    workload_of,
)
from scheduler.workload.filters import LABELS, MISSING, Filters, ReadOptions

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "id": ("id", "job", "job_id", "jobid", "job_number", "tenant"),
    "submit": (
        *("submit_s", "submit", "submit_time", "arrival_s", "arrival", "subtime"),
        "timestamp",
    ),
    "runtime": ("runtime_reference_s", "runtime_s", "runtime", "run_time", "duration", "elapsed"),
    "nodes": ("n_nodes", "nnodes", "num_nodes", "nodes", "size", "node_num"),
    "processors": ("processors", "procs", "n_processors", "cpus", "ncpus", "cores", "cpu_num"),
    "gpus": ("gpus", "n_gpus", "num_gpus", "ngpus", "gpu_num"),
    "memory_mb": ("memory_mb",),
    "sizes": ("sizes",),
    "requested": ("requested_s", "requested", "requested_time", "walltime_s", "walltime"),
    "user": ("user", "user_id", "uid"),
    "group": ("group", "group_id", "gid", "account"),
    "executable": ("executable", "application"),
    "queue": ("queue", "partition"),
    "name": ("name", "job_name", "jobname"),
    "start": ("start_s",),
    "hosts": ("nodelist", "node_list"),
}
"""Names under which a table may hold what a job needs, in order of preference."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[ T]", re.ASCII)
_KEPT = ("gpus", "memory_mb")  # stay further columns too, for profiles
_OF_A_RESULT = {"runtime_reference_s", "dropped"}  # columns by which a result is known


def read_csv(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read a comma-separated table with a header.

    Needs columns for run time and for nodes or processors, and one for the submit time unless
    ``arrivals="zero"``; names as in `COLUMNS`. Times are seconds. All other columns become further
    ones (`Job.extra`), so that a communication profile can use them. Column ``sizes`` has nodes and
    run times of moldable jobs, ``4:100 8:60``. Jobs without run time or size
    are dropped, and those of a result that it has dropped; without numbers they count from 1.
    """
    filters = Filters(**options)
    source = read_source(path)
    rows = bounded(_csv_rows(source), source)
    header = next(rows, None)
    if header is None:
        raise WorkloadError(f"{source.name}: expected a header line, got an empty file.")
    names: Sequence[str] = header[1]
    if filters.columns is not None:
        names = filters.columns
        if len(names) != len(header[1]):
            raise WorkloadError(
                f"{header[0]}: expected {len(names)} fields, as many as columns, got "
                f"{len(header[1])}."
            )
        rows = rows if list(names) == header[1] else chain([header], rows)
    refuse_separator(header[1], header[0], WorkloadError)
    return _table_workload(names, rows, filters, source)


def _csv_rows(source: Source) -> Iterator[tuple[str, list[str]]]:
    """Yield place and cells of every row, which must be as many as in the first."""
    rows = csv.reader(io.StringIO(decoded(source, WorkloadError), newline=""), strict=True)
    width = 0
    try:
        for row in rows:
            place = f"{source.name}:{rows.line_num}"
            width = width or len(row)
            if len(row) not in {0, width}:
                raise WorkloadError(f"{place}: expected {width} fields, got {len(row)}.")
            if row:
                yield place, list(map(plain_cell, row))
    except csv.Error as error:
        raise WorkloadError(
            f"{source.name}:{rows.line_num}: expected comma-separated values, got: {error}."
        ) from error


def read_parquet(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """Read a Parquet table, such as ``jobs.parquet``, as `read_csv` does."""
    filters = Filters(**options)
    source = read_source(path, binary=True)
    table = parquet_table(source.data, source.name, MOST_ENTRIES, MOST_BYTES, WorkloadError)
    try:
        columns = [column.to_pylist() for column in table.columns]
    except (ValueError, OverflowError) as error:  # moments that Python has no words for
        why = str(error).partition("\n")[0]
        raise WorkloadError(f"{source.name}: expected a Parquet file, got: {why}.") from error
    rows = [
        (f"{source.name}: row {number}", list(row))
        for number, row in enumerate(zip(*columns, strict=True), start=1)
    ]
    return _table_workload(table.column_names, rows, filters, source)


def from_frame(frame: "pd.DataFrame", **options: Unpack[ReadOptions]) -> Workload:
    """Make a workload of a pandas table, as `read_csv` does of its columns."""
    filters = Filters(**options)
    columns = [frame.iloc[:, place].tolist() for place in range(frame.shape[1])]
    rows = [
        (f"DataFrame: row {label}", list(row))
        for label, row in zip(frame.index.tolist(), zip(*columns, strict=True), strict=True)
    ]
    return _table_workload(
        list(map(str, frame.columns)), rows, filters, Source("DataFrame", b"", "")
    )


def _table_workload(
    header: Sequence[str],
    rows: Iterable[tuple[str, Sequence[object]]],
    filters: Filters,
    source: Source,
) -> Workload:
    """Turn the rows of a table into a workload."""
    names = [name.strip() for name in header]
    lower = [name.lower() for name in names]
    if len(set(lower)) < len(lower):
        twice = next(name for name in lower if lower.count(name) > 1)
        raise WorkloadError(f"{source.name}:1: expected each column once, got {twice!r} twice.")
    columns = _find_columns(names, filters, source)
    if _OF_A_RESULT.issubset(names):
        columns["dropped"] = names.index("dropped")
        if "nodes" in names and columns.get("nodes") != names.index("nodes"):
            columns["hosts"] = names.index("nodes")
    used = {names[place] for use, place in columns.items() if use not in _KEPT}
    further = [(place, name) for place, name in enumerate(names) if name not in used]
    return workload_of(
        [_read_entry(row, place, columns, further, filters) for place, row in rows], filters, source
    )


def _find_columns(names: Sequence[str], filters: Filters, source: Source) -> dict[str, int]:
    """Say which column holds what; without regard to case."""
    lower = [name.lower() for name in names]
    found = {
        use: lower.index(next(alias for alias in aliases if alias in lower))
        for use, aliases in COLUMNS.items()
        if any(alias in lower for alias in aliases)
    }
    needed = [("runtime",), ("nodes", "processors", "gpus")]
    if filters.arrivals != "zero":
        needed.append(("submit",))
    for alternatives in needed:
        if not any(use in found for use in alternatives):
            known = ", ".join(alias for use in alternatives for alias in COLUMNS[use])
            raise WorkloadError(
                f"{source.name}:1: expected a column {alternatives[0]} (one of {known}), "
                f"got {', '.join(names)[:80]}."
            )
    return found


def _read_entry(
    row: Sequence[object],
    place: str,
    columns: Mapping[str, int],
    further: Sequence[tuple[int, str]],
    filters: Filters,
) -> Entry:
    """Read one row."""

    def cell(use: str) -> object:
        value = row[columns[use]] if use in columns else None
        return value.strip() if isinstance(value, str) else value

    def number(use: str, read: Callable[[object, str, str], float]) -> float:
        return read(cell(use), place, use)

    nodes, processors, gpus, memory_mb = (
        int(number(use, read_count)) for use in ("nodes", "processors", *_KEPT)
    )
    counted = max(processors, gpus) if "processors" not in columns else processors
    if nodes < 1:
        nodes = -(-counted // filters.processors_per_node) if counted > 0 else MISSING
    start_s, runtime_s = number("start", read_seconds), number("runtime", read_seconds)
    return Entry(
        place=place,
        id=read_job_id(cell("id"), place),
        submit_s=number("submit", _read_moment),
        runtime_s=runtime_s,
        n_nodes=nodes,
        requested_s=number("requested", read_seconds),
        unfit=str(cell("dropped") or ""),
        name=str(cell("name") or ""),
        labels={use: cell(use) for use in LABELS if not is_missing(cell(use))},
        extra=tuple(
            (name, str(row[at]).strip()) for at, name in further if not is_missing(row[at])
        ),
        start_s=start_s if start_s >= 0 else None,
        hosts=_host_list(cell("hosts")),
        padded=sum(isinstance(value, str) and value != value.strip() for value in row),
        cores=processors,
        gpus=gpus,
        memory_mb=memory_mb,
        sizes=read_sizes(cell("sizes"), place, nodes, runtime_s),
    )


def _read_moment(value: object, place: str, name: str) -> float:
    """Read seconds, or a date and time as seconds since 1970; UTC where it has no offset."""
    text = value.isoformat() if isinstance(value, datetime) else value
    if isinstance(text, str) and _DATE.match(text):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return read_seconds(value, place, name)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return read_seconds(value, place, name)


def _host_list(value: object) -> str:
    """Return a host list that may be a list of names."""
    names = value if isinstance(value, list) else [value]
    return "" if is_missing(value) else ",".join(map(str, names))
