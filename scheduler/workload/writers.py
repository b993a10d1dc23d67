"""Write workloads as files: SWF, CSV and Parquet, and say what such a file cannot hold."""

import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fabricsim.checking.outputs import require_apart
from fabricsim.checking.sheets import sheet
from netsim.common.atomic_write import replace_file
from scheduler.errors import WorkloadError
from scheduler.workload import Workload, write_swf
from scheduler.workload.base import UNITS, written_sizes
from scheduler.workload.table import COLUMNS

_LABELS = ("user", "group", "executable", "queue")
_COLUMNS = ("id", "submit_s", "n_nodes", "runtime_s", "requested_s", *_LABELS, "name")
_TAKEN = {
    *_COLUMNS,
    "runtime_reference_s",
    "start_s",
    "nodelist",
    "sizes",
}  # names that a reader would take for ours
Write = Callable[[Workload, Path], None]


def write_trace(workload: Workload, path: Path) -> list[str]:
    """
    Write a workload in the format of the path's end; on failure the old file is left.

    Equal workloads give equal bytes, with one version of the Parquet library.
    """
    end = next((end for end in WRITERS if path.name.lower().endswith(end)), None)
    if end is None:
        raise WorkloadError(f"{path}: expected a name that ends in {', '.join(WRITERS)}.")
    try:
        require_apart(path, workload.source)
        WRITERS[end](workload, path)
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be written: {error.strerror}.") from error
    return _lost_fields(workload, end)


def _lost_fields(workload: Workload, end: str) -> list[str]:
    """Say what a file does not hold."""
    lost = []
    if workload.dropped_jobs:
        lost.append(f"{len(workload.dropped_jobs):,} dropped jobs")
    if workload.sha256:
        lost.append("the clock (the first job is submitted at 0) and what no reader looks at")
    if workload.has_requested and workload.n_without_request:
        lost.append(
            "which requested times the log lacks: the run time stands there "
            f"({workload.n_without_request:,} jobs)"
        )
    if end.startswith(".swf"):
        names = dict.fromkeys(key for job in workload.jobs for key, _ in job.extra)
        lost += ["names of jobs"] if any(job.name for job in workload.jobs) else []
        units = any(job.gpus or job.memory_mb for job in workload.jobs)
        lost += ["GPUs and memory"] if units else []
        lost += ["sizes of moldable jobs"] if any(job.sizes for job in workload.jobs) else []
        lost += ["where jobs ran"] if any(job.logged_hosts for job in workload.jobs) else []
        lost += [f"names of {key}s" if key in _LABELS else f"column {key}" for key in names]
    return lost


def _write_swf(workload: Workload, path: Path) -> None:
    """Write the Standard Workload Format; a node counts as a processor."""
    date = round(workload.begin_unix_s or 0)
    date = round(workload.begin_unix_s or 0)
    header = (f"Conversion: fabricsim, from {workload.source}", f"UnixStartTime: {date}")
    jobs = workload.jobs
    if not workload.has_requested:
        jobs = tuple(replace(job, requested_s=-1.0) for job in jobs)
    write_swf(path, jobs, [*header, f"MaxJobs: {len(jobs)}", "Note: a processor is a node"])


def table_of(workload: Workload) -> dict[str, list[object]]:
    """Return the columns of a table of jobs that the readers know, and the further columns."""
    jobs = workload.jobs
    extras: list[Mapping[str, str]] = [dict(job.extra) for job in jobs]
    columns: dict[str, list[object]] = {
        name: [getattr(job, name) for job in jobs] for name in _COLUMNS
    }
    columns["name"] = [job.name or None for job in jobs]
    if not workload.has_requested:
        del columns["requested_s"]
    for label in _LABELS:
        numbers = columns[label]
        named = any(label in extra for extra in extras)
        columns[label] = [
            extra.get(label, (str(number) if named else number) if number != -1 else None)
            for extra, number in zip(extras, numbers, strict=True)
        ]
    starts = [job.logged_start_s for job in jobs]
    columns["start_s"] = [s if s is not None and s >= 0 else None for s in starts]
    columns["nodelist"] = [job.logged_hosts or None for job in jobs]
    for name in dict.fromkeys(name for extra in extras for name in extra):
        if name not in _LABELS:
            free = f"log_{name}" if name.lower() in _TAKEN else name
            columns[free] = [extra.get(name) for extra in extras]
    for unit in UNITS:
        units = [getattr(job, unit) for job in jobs]
        there = {name.lower() for name in columns} & set(COLUMNS.get(unit, COLUMNS["processors"]))
        if any(units) and not there:
            columns[unit] = [own or None for own in units]
    columns["sizes"] = [written_sizes(job.sizes) or None for job in jobs]
    empty = [name for name, values in columns.items() if all(value is None for value in values)]
    return {name: values for name, values in columns.items() if name not in empty}


def _write_csv(workload: Workload, path: Path) -> None:
    """Write comma-separated values with a header."""
    table = table_of(workload)
    rows = zip(*(map(_written_cell, values) for values in table.values()), strict=True)
    data = sheet(list(table), rows).encode()
    replace_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _written_cell(value: object) -> object:
    """Write seconds without a needless fraction."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _write_parquet(workload: Workload, path: Path) -> None:
    """Write a Parquet table."""
    import pyarrow as pa  # noqa: PLC0415 (slow to import, and needed for this format only)
    from pyarrow import parquet  # noqa: PLC0415

    columns: Mapping[str, Sequence[object]] = table_of(workload)
    data = io.BytesIO()
    parquet.write_table(pa.table(dict(columns)), data)
    replace_file(path, data.getvalue())


WRITERS: dict[str, Write] = {
    ".swf": _write_swf,
    ".swf.gz": _write_swf,
    ".csv": _write_csv,
    ".csv.gz": _write_csv,
    ".parquet": _write_parquet,
}
"""What a workload can be written as, by the end of the file's name."""
