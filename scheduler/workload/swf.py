"""Standard Workload Format: read job logs of the Parallel Workloads Archive, and write them."""

import codecs
import gzip
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn, Unpack

import numpy as np
from numpy.typing import NDArray

from fabricsim.checking import path_of, whole
from fabricsim.checking.inputs import Pieces, opened, require_text
from fabricsim.checking.outputs import require_apart
from netsim.common.arrays import Floats, Ints
from netsim.common.atomic_write import replace_file
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.base import Source, Workload
from scheduler.workload.dependencies import COLUMN, THINK
from scheduler.workload.filters import LARGEST, Filters, ReadOptions, Records, nodes_of, select_jobs

MOST_JOBS = 5_000_000
"""Jobs of a log, of which each takes 300 bytes of memory."""

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
_NUMBER, _SUBMIT, _WAIT, _RUN, _PROCS = 0, 1, 2, 3, 4
_REQUESTED_PROCS, _REQUESTED_TIME, _REQUESTED_MEMORY, _STATUS = 7, 8, 9, 10
_LABELS = {"user": 11, "group": 12, "executable": 13, "queue": 14}
_PARTITION, _PRECEDING, _THINK = 15, 16, 17
_TIMES = (_SUBMIT, _WAIT, _RUN, _REQUESTED_TIME)
_WHOLE = (_NUMBER, _PROCS, _REQUESTED_PROCS, _STATUS, *_LABELS.values())
_USED = sorted({*_TIMES, *_WHOLE, _REQUESTED_MEMORY, _PARTITION, _PRECEDING, _THINK})
_LONGEST = 2**20
_DIGITS = 15  # of a number below 2^53
_MOST_LINES = 20_000_000  # comments and blank ones among them
_PARTIAL, _CANCELLED = (2, 3, 4), 5
_OF_ALEA = 20, 21  # fields of a line
_START = re.compile(rb";[ \t]*UnixStartTime:[ \t]*([0-9]{1,12})\s*$")
_PLAIN = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_swf(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read a log in the Standard Workload Format.

    Jobs without run time or processors and cancelled jobs (status 5) are dropped; failed
    ones (status 0) are kept. Lines of partial executions (status 2-4) are dropped where the
    log has a line for the whole job too. A job that lacks a requested time gets its run
    time as one. Preceding jobs and think times (fields 17 and 18) are counted, and not used
    without `dependencies`: jobs come when the log says.

    Parameters
    ----------
    path : str or Path
        Plain or gzip, recognised by content; ``-`` is standard input.
    **options : ReadOptions
        The fields of `Filters`, such as ``processors_per_node=4, arrivals="zero"``.

    Returns
    -------
    Workload
        Jobs, and what was dropped.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or a line is no SWF: the message names file, line
        and field.

    Notes
    -----
    Format: Chapin et al., *Benchmarks and Standards for the Evaluation of Parallel Job
    Schedulers*, JSSPP 1999, version 2.2 of the archive. The default filter gives the jobs of
    Smith21, Table 1, for the cleaned Thunder and Atlas logs.
    """
    filters = Filters(**options)
    with opened(path, WorkloadError) as log:
        blocks, begin_unix_s = _field_blocks(log)
        source = Source(log.name, b"", log.sha256)
    columns = {c: np.concatenate([block.table[:, c] for block in blocks]) for c in _USED}
    _check_numbers(columns, np.concatenate([block.rows for block in blocks]), source.name)
    del blocks
    records = replace(_named_columns(columns, filters), begin_unix_s=begin_unix_s)
    return select_jobs(records, filters, source)


def write_swf(
    path: str | Path,
    jobs: Workload | Iterable[Job],
    header: Sequence[str] = (),
    *,
    processors_per_node: int = 1,
) -> None:
    """
    Write jobs in the Standard Workload Format, version 2.2.

    Equal jobs give equal bytes, compressed or not.

    Parameters
    ----------
    path : str or Path
        Compressed where the name ends in ``.gz``.
    jobs : Workload or iterable of Job
        Times are written with the digits they need; communication and names are lost. The log of
        a workload is not overwritten; of an iterable it is not known.
    header : sequence of str
        Comment lines such as ``"Computer: none"``, without the semicolon.
    processors_per_node : int, default 1
        Processors written for each node.

    Raises
    ------
    WorkloadError
        If a job has a number that the format cannot hold, or the file cannot be written.
    """
    path = path_of("path", path, error=WorkloadError)
    processors_per_node = whole("processors_per_node", processors_per_node, 1, error=WorkloadError)
    lines = [f"; {line}" for line in ("Version: 2.2", *header)]
    for job in jobs:
        if job.id >= LARGEST:
            raise WorkloadError(
                f"{path}: job {job.id}: numbers in SWF are below 2^53; write CSV or Parquet."
            )
        processors = job.n_nodes * processors_per_node
        submit, runtime = _written_seconds(job.submit_s), _written_seconds(job.runtime_s)
        times = f"{submit} {_written_wait(job)} {runtime}"
        lines.append(
            f"{job.id} {times} {processors} -1 -1 "
            f"{processors} {_written_seconds(job.requested_s)} -1 1 {job.user} {job.group} "
            f"{job.executable} {job.queue} {_partition(job)} {_before(job)}"
        )
    data = ("\n".join(lines) + "\n").encode()
    if str(path).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    try:
        if isinstance(jobs, Workload):
            require_apart(path, jobs.source)
        replace_file(path, data)
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be written: {error.strerror}.") from error


def _written_wait(job: Job) -> str:
    """Print how long a job waited by its log; -1 where that is unknown, or no wait."""
    if job.logged_start_s is None or job.logged_start_s < job.submit_s:
        return "-1"
    return _written_seconds(job.logged_start_s - job.submit_s)


def _partition(job: Job) -> str:
    """Print the number of the partition; -1 where it has none, or a name."""
    found = dict(job.extra).get("partition", "")
    return found if found.isascii() and found.isdecimal() and len(found) <= _DIGITS else "-1"


def _before(job: Job) -> str:
    """Print the job that comes before, and the think time; -1 where SWF cannot say it."""
    if job.think_s is None or len(job.after) != 1 or job.after_ok:
        return "-1 -1"
    return f"{job.after[0]} {_written_seconds(job.think_s)}"


def _written_seconds(seconds: float) -> str:
    """Print seconds without a needless fraction."""
    return str(int(seconds)) if seconds == int(seconds) else repr(seconds)


@dataclass(frozen=True, slots=True, eq=False)
class _FieldBlock:
    """Fields of some lines, and which lines of the file they are."""

    table: Floats
    rows: Ints


def _field_blocks(log: Pieces) -> tuple[list[_FieldBlock], float | None]:
    """Parse a log piece by piece, of whose text no more than one is in memory; and its date."""
    blocks: list[_FieldBlock] = []
    begin_unix_s: float | None = None
    n_jobs = n_lines = 0
    for lines in _line_batches(log):
        rows = [
            row
            for row, line in enumerate(lines, start=n_lines)
            if (text := line.strip()) and not text.startswith(b";")
        ]
        body = [lines[row - n_lines] for row in rows]
        if begin_unix_s is None:
            begin_unix_s = next((s for line in lines if (s := _start_date(line)) is not None), None)
        n_jobs, n_lines = n_jobs + len(rows), n_lines + len(lines)
        if n_jobs > MOST_JOBS or n_lines > _MOST_LINES:
            most = f"{MOST_JOBS:,} jobs and {_MOST_LINES:,} lines"
            raise WorkloadError(f"{log.name}: expected at most {most}, got more.")
        if rows:
            table = _parsed_lines(body, rows, log.name)
            _check_values(table, body, rows, log.name)
            blocks.append(_FieldBlock(table, np.array(rows)))
    if not blocks:
        what = f"expected at least one job, got {n_lines} lines"
        what = what if n_lines else "expected some content, got an empty file"
        raise WorkloadError(f"{log.name}: {what}.")
    return blocks, begin_unix_s


def _start_date(line: bytes) -> float | None:
    """Return the date of second 0 where a comment has it; 0 is none."""
    found = _START.match(line) if line.startswith(b";") else None
    return float(found[1]) or None if found else None


def _line_batches(log: Pieces) -> Iterator[list[bytes]]:
    """Yield the lines of a log, some at a time."""
    rest, number = b"", 1
    while piece := log.read():
        require_text(piece, log.name, number, WorkloadError)
        if number == 1 and not rest:
            piece = piece.removeprefix(codecs.BOM_UTF8)
        *lines, rest = (rest + piece).split(b"\n")
        number += len(lines)
        if len(rest) > _LONGEST:
            what = f"a line of at most {_LONGEST:,} letters, got a longer one"
            raise WorkloadError(f"{log.name}:{number}: expected {what}.")
        yield lines
    if rest:
        yield [rest]


def _parsed_lines(body: list[bytes], rows: Sequence[int], name: str) -> Floats:
    """Parse some lines at once; where that fails, one by one for the place."""
    try:
        text = io.StringIO(b"\n".join(body).decode("ascii"))
        with warnings.catch_warnings(action="error"):  # numpy warns of lines it takes for blank
            table = np.loadtxt(text, comments=None, ndmin=2)
    except (ValueError, UserWarning):
        return _parsed_slowly(body, rows, name)
    if table.shape != (len(body), len(FIELDS)) or not np.isfinite(table).all():
        return _parsed_slowly(body, rows, name)
    return table


def _parsed_slowly(body: list[bytes], rows: Sequence[int], name: str) -> Floats:
    """Parse line by line; the first bad one is an error."""
    table = np.empty((len(body), len(FIELDS)))
    for index, (row, line) in enumerate(zip(rows, body, strict=True)):
        words = line.split()
        if len(words) != len(FIELDS):
            alea = "; format 'alea-swf' reads Alea's" if len(words) in _OF_ALEA else ""
            raise WorkloadError(
                f"{name}:{row + 1}: expected {len(FIELDS)} fields, got {len(words)}{alea}."
            )
        for column, word in enumerate(words):
            if not _PLAIN.fullmatch(word) or not np.isfinite(float(word)):
                _refuse_field(name, row, column, "a number", word)
            table[index, column] = float(word)
    return table


def _check_values(table: Floats, body: list[bytes], rows: Sequence[int], name: str) -> None:
    """Refuse the first value that is no time or no whole number."""
    sane = np.abs(table) < LARGEST
    faults: list[tuple[int, str, NDArray[np.bool_]]] = [
        (column, "seconds from 0, or -1 for missing", (values < 0) & (values != -1) | ~sane)
        for column, values, sane in ((c, table[:, c], sane[:, c]) for c in _TIMES)
    ]
    faults += [
        (column, "a whole number from -1", (values != np.floor(values)) | (values < -1) | ~sane)
        for column, values, sane in ((c, table[:, c], sane[:, c]) for c in _WHOLE)
    ]
    places = [(int(bad.argmax()), column, what) for column, what, bad in faults if bad.any()]
    if places:
        index, column, what = min(places)
        _refuse_field(name, rows[index], column, what, body[index].split()[column])


def _check_numbers(columns: Mapping[int, Floats], rows: Ints, name: str) -> None:
    """Refuse the first number that is used twice."""
    number = columns[_NUMBER]
    whole = np.flatnonzero(~_partial_lines(columns))
    _, first, inverse = np.unique(number[whole], return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(whole)))
    if len(again):
        index, before = whole[again[0]], whole[first[inverse[again[0]]]]
        unused = f"a number not used before (line {rows[before] + 1})"
        _refuse_field(name, rows[index], _NUMBER, unused, b"%d" % number[index])


def _refuse_field(name: str, row: int, column: int, expected: str, word: bytes) -> NoReturn:
    """Raise the error for one field of one line."""
    got = word.decode("latin-1").encode("unicode_escape").decode("ascii")
    got = got if len(got) <= 40 else got[:37] + "..."  # noqa: PLR2004
    raise WorkloadError(
        f"{name}:{row + 1}: field {column + 1} ({FIELDS[column]}): expected {expected}, got {got}."
    )


def _partial_lines(columns: Mapping[int, Floats]) -> NDArray[np.bool_]:
    """Lines of partial executions of jobs that have a line for the whole, too."""
    part = np.isin(columns[_STATUS], _PARTIAL)
    return part & np.isin(columns[_NUMBER], columns[_NUMBER][~part])


def _named_columns(columns: Mapping[int, Floats], filters: Filters) -> Records:
    """Name the columns."""

    def whole(column: int) -> Ints:
        return columns[column].astype(np.int64)

    cores = np.maximum(nodes_of(whole(_PROCS), whole(_REQUESTED_PROCS), 1), 0)
    memory_kb = np.clip(columns[_REQUESTED_MEMORY], 0.0, LARGEST / 2**20)  # of each processor
    return Records(
        id=whole(_NUMBER),
        units={
            "cores": cores,
            "memory_mb": np.minimum(np.ceil(cores * memory_kb / 1024), LARGEST).astype(np.int64),
        },
        submit_s=columns[_SUBMIT],
        runtime_s=columns[_RUN],
        requested_s=columns[_REQUESTED_TIME],
        n_nodes=nodes_of(whole(_PROCS), whole(_REQUESTED_PROCS), filters.processors_per_node),
        unfit={
            "cancelled (status 5)": columns[_STATUS] == _CANCELLED,
            "partial execution (status 2-4)": _partial_lines(columns),
        },
        labels={name: whole(column) for name, column in _LABELS.items()},
        start_s=np.where(
            (columns[_WAIT] < 0) | (columns[_SUBMIT] < 0),
            np.nan,
            columns[_SUBMIT] + columns[_WAIT],
        ),
        extra=_extra(columns, dependencies=filters.dependencies),
        remarks={}
        if filters.dependencies
        else {
            "preceding jobs (field 17): not used": int(np.count_nonzero(columns[_PRECEDING] > 0)),
            "think times (field 18): not used": int(np.count_nonzero(columns[_THINK] > 0)),
        },
    )


def _extra(
    columns: Mapping[int, Floats], *, dependencies: bool
) -> list[tuple[tuple[str, str], ...]] | None:
    """Return partitions, preceding jobs and think times as further columns."""
    number = columns[_PARTITION].tolist()
    if not dependencies and max(number) < 0:
        return None
    known = {value: (("partition", f"{value:g}"),) for value in set(number) if value >= 0}
    before = _dependencies(columns) if dependencies else [()] * len(number)
    return [known.get(own, ()) + rest for own, rest in zip(number, before, strict=True)]


def _dependencies(columns: Mapping[int, Floats]) -> list[tuple[tuple[str, str], ...]]:
    """Return preceding jobs and think times as further columns."""
    preceding, think = columns[_PRECEDING].tolist(), columns[_THINK].tolist()
    return [
        ((COLUMN, f"afterany:{int(before)}"), (THINK, str(max(0.0, after_s)))) if before > 0 else ()
        for before, after_s in zip(preceding, think, strict=True)
    ]
