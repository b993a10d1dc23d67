"""Logs of the Alea simulator: the Standard Workload Format with two or three further fields."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Unpack

from fabricsim.checking.inputs import decoded
from scheduler.errors import WorkloadError
from scheduler.workload.base import Source, Workload, bounded, read_source
from scheduler.workload.dependencies import COLUMN, THINK
from scheduler.workload.entries import (
    Entry,
    read_count,
    read_job_id,
    read_seconds,
    refuse,
    workload_of,
)
from scheduler.workload.filters import LARGEST, MISSING, Filters, ReadOptions
from scheduler.workload.swf import FIELDS

_NUMBER, _SUBMIT, _WAIT, _RUN, _PROCS = 0, 1, 2, 3, 4
_REQUESTED_PROCS, _REQUESTED_TIME, _MEMORY, _STATUS = 7, 8, 9, 10
_LABELS = {"user": 11, "group": 12, "executable": 13, "queue": 14}
_PARTITION, _PRECEDING, _THINK = 15, 16, 17
_HOSTS, _QUEUE, _NODESPEC = 18, 19, 20
_GPUS, _SOFT, _PROPERTIES = 18, 19, 20
_DAG, _TASK = 18, 19
_PLAIN, _SHORT, _LONG = 18, 20, 21  # fields of a line
_PARTIAL, _CANCELLED = (2, 3, 4), 5
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
_PER_NODE = ("ppn=", "ncpus=")  # Torque's and PBS Professional's processors of a node
_SHAPE = re.compile(r"([0-9]{1,9})x[0-9]{1,9}", re.ASCII)  # "2x4": nodes and processors of each
_BELOW_0 = re.compile(r"-[0-9]{1,15}", re.ASCII)
_BYTES, _KIB = 1, 1024

_UNUSED_PROPERTIES = "properties that nodes must have (field 21): not used"
_UNEVEN = "jobs of unlike nodes (field 21): spread evenly"
_SOFT_TIMES = "soft walltimes (field 20): not used"
_UNUSED_PRECEDING = "preceding jobs (field 17): not used"
_NEGATIVE = "times below 0 (fields 3 and 4): taken as missing"  # of jobs that never started
_UNUSED_THINK = "think times (field 18): not used"


@dataclass(frozen=True, slots=True)
class _Further:
    """What the fields behind the 18th say of a job."""

    nodes: int = 0  # 0: not said
    gpus: int = 0
    whole_nodes: bool = False
    queue: str = ""
    hosts: str = ""
    extra: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


class _Row(NamedTuple):
    """A line of a log."""

    place: str  # file and line
    words: Sequence[str]

    def name(self, column: int, further: Sequence[str]) -> str:
        """Return what errors call a field."""
        return f"{column + 1} ({(*FIELDS, *further)[column]})"


class _Shape(NamedTuple):
    """A kind of lines, by their further fields."""

    fields: Sequence[str]  # names of the fields behind the 18th
    read: Callable[[_Row], _Further]
    memory_unit: int  # bytes


def read_alea_swf(path: str | Path, **options: Unpack[ReadOptions]) -> Workload:
    """
    Read a log of Alea: SWF with hosts, queue, nodespec, GPUs or DAGs.

    Fields 19 to 21 are hosts in braces, the name of the queue and, in most logs, what was asked of
    nodes (``2:ppn=12:x86_64``); or GPUs, a soft walltime and properties (``all:2x4:excl``); or the
    DAG and its task, under a line of names. Users may be names. Memory is that of each node, in
    bytes where hosts are listed, else in KB. Nodes are those of field 21, else the hosts; ``excl``
    asks for whole nodes.
    """
    filters = Filters(**options)
    source = read_source(path)
    rows = _rows(source)
    shape = _shape_of(rows)
    whole = {row.words[_NUMBER] for row in rows if row.words[_STATUS] not in map(str, _PARTIAL)}
    remarks = Counter[str]()
    entries = [_entry(row, shape, filters, whole, remarks) for row in rows]
    workload = workload_of(entries, filters, source)
    return replace(workload, remarks={**workload.remarks, **remarks})


def _rows(source: Source) -> list[_Row]:
    """Return the lines that are jobs, all of as many fields as the first."""
    rows: list[_Row] = []
    lines = enumerate(decoded(source, WorkloadError).split("\n"), start=1)
    for number, line in bounded(lines, source):
        words = line.split()
        named = not rows and words[:2] == ["id", "submit"]  # a line of names, above tasks of DAGs
        if not words or words[0].startswith(";") or named:
            continue
        row = _Row(f"{source.name}:{number}", words)
        first = len(rows[0].words) if rows else len(words)
        if len(words) not in (_PLAIN, _SHORT, _LONG):
            raise WorkloadError(f"{row.place}: expected 18, 20 or 21 fields, got {len(words)}.")
        if len(words) != first:
            what = f"expected {first} fields as in the first job, got {len(words)}"
            raise WorkloadError(f"{row.place}: {what}.")
        rows.append(row)
    return rows


def _shape_of(rows: Sequence[_Row]) -> _Shape:
    """Say what the further fields are."""
    n_fields = len(rows[0].words) if rows else _PLAIN
    if n_fields == _PLAIN:
        return _SHAPES["plain"]
    if any(row.words[_HOSTS].startswith("{") for row in rows):
        return _SHAPES["hosts"]
    return _SHAPES["gpus" if n_fields == _LONG else "dag"]


def _entry(
    row: _Row, shape: _Shape, filters: Filters, whole: set[str], remarks: Counter[str]
) -> Entry:
    """Read one job."""
    words = row.words

    def seconds(column: int) -> float:
        word = words[column]
        if column in (_WAIT, _RUN) and _BELOW_0.fullmatch(word) and word != "-1":
            remarks.update([_NEGATIVE])
            word = "-1"
        return read_seconds(word, row.place, row.name(column, shape.fields))

    def count(column: int) -> int:
        return read_count(words[column], row.place, row.name(column, shape.fields))

    further = shape.read(row)
    allocated, requested = count(_PROCS), count(_REQUESTED_PROCS)
    processors = allocated if allocated > 0 else requested
    n_nodes = further.nodes or -(-processors // filters.processors_per_node)
    submit_s, wait_s = seconds(_SUBMIT), seconds(_WAIT)
    before = _preceding(row, shape, filters, remarks)
    remarks.update(further.remarks)
    partition = "" if further.queue else words[_PARTITION]
    memory_mb = -(-max(count(_MEMORY), 0) * shape.memory_unit // 2**20) * max(n_nodes, 0)
    shared = not further.whole_nodes
    gpus = further.gpus if shared else 0
    memory_mb = min(memory_mb, LARGEST) if shared else 0
    status = count(_STATUS)
    return Entry(
        place=row.place,
        id=read_job_id(words[_NUMBER], row.place, row.name(_NUMBER, shape.fields)),
        submit_s=submit_s,
        runtime_s=seconds(_RUN),
        n_nodes=n_nodes if processors > 0 else MISSING,
        requested_s=seconds(_REQUESTED_TIME),
        unfit="cancelled (status 5)"
        if status == _CANCELLED
        else "partial execution (status 2-4)"
        if status in _PARTIAL and words[_NUMBER] in whole
        else "",
        labels={
            **{name: words[column] for name, column in _LABELS.items()},
            **({"queue": further.queue} if further.queue else {}),
        },
        extra=further.extra
        + ((("partition", partition),) if partition not in {"", "-1"} else ())
        + before
        + tuple(
            (name, str(own)) for name, own in (("gpus", gpus), ("memory_mb", memory_mb)) if own
        ),
        start_s=submit_s + wait_s if min(submit_s, wait_s) >= 0 else None,
        hosts=further.hosts,
        cores=max(processors, 0) if shared else 0,
        gpus=gpus,
        memory_mb=memory_mb,
    )


def _preceding(
    row: _Row, shape: _Shape, filters: Filters, remarks: Counter[str]
) -> tuple[tuple[str, str], ...]:
    """Return the jobs that come before, several joined by ``&``, and the think time."""
    names = row.words[_PRECEDING].split("&")
    place = row.name(_PRECEDING, shape.fields)
    jobs = [job for name in names if (job := read_count(name, row.place, place)) > 0]
    think_s = read_seconds(row.words[_THINK], row.place, row.name(_THINK, shape.fields))
    if not filters.dependencies:
        remarks.update([_UNUSED_PRECEDING] * bool(jobs) + [_UNUSED_THINK] * (think_s > 0))
        return ()
    listed = ":".join(map(str, jobs))
    return ((COLUMN, f"afterany:{listed}"), (THINK, str(max(0.0, think_s)))) if jobs else ()


def _with_hosts(row: _Row) -> _Further:
    """Read hosts in braces, the name of a queue and a nodespec."""
    words = row.words
    listed = words[_HOSTS]
    if listed != "-1" and not (listed.startswith("{") and listed.endswith("}")):
        raise refuse(row.place, row.name(_HOSTS, _WITH_HOSTS), "hosts in braces, or -1", listed)
    found = listed.strip("{}").split(",") if listed != "-1" else []
    hosts = list(dict.fromkeys(host for host in found if host))  # one word for each processor
    queue = "" if words[_QUEUE] == "-1" else words[_QUEUE]
    text = words[_NODESPEC] if len(words) == _LONG else "-1"
    if text == "-1":
        return _Further(nodes=len(hosts), queue=queue, hosts=",".join(hosts))
    spec, _, flag = text.partition("#")
    parts = [part.split(":") for part in spec.split("+")]
    numbers = [int(part[0]) if _COUNT.fullmatch(part[0]) else 1 for part in parts]
    if not all(numbers):
        raise refuse(row.place, row.name(_NODESPEC, _WITH_HOSTS), "nodes from 1", text)
    asked = [
        word
        for part in parts
        for at, word in enumerate(part)
        if not word.startswith(_PER_NODE) and (at or not _COUNT.fullmatch(word))
    ]
    return _Further(
        nodes=sum(numbers),
        whole_nodes=flag == "excl",
        queue=queue,
        hosts=",".join(hosts),
        extra=(("nodespec", text),),
        remarks=(*((_UNUSED_PROPERTIES,) * bool(asked)), *((_UNEVEN,) * (len(parts) > 1))),
    )


def _with_gpus(row: _Row) -> _Further:
    """Read GPUs of all nodes together, a soft walltime and properties."""
    words = row.words
    gpus = read_count(words[_GPUS], row.place, row.name(_GPUS, _WITH_GPUS))
    soft_s = read_seconds(words[_SOFT], row.place, row.name(_SOFT, _WITH_GPUS))
    asked = words[_PROPERTIES].split(":")
    shape = next((found for word in asked if (found := _SHAPE.fullmatch(word))), None)
    nodes = int(shape[1]) if shape else 0
    if shape and not nodes:
        place = row.name(_PROPERTIES, _WITH_GPUS)
        raise refuse(row.place, place, "nodes from 1", words[_PROPERTIES])
    unused = any(word not in {"all", "excl", "-1"} and not _SHAPE.fullmatch(word) for word in asked)
    return _Further(
        nodes=nodes,
        gpus=max(gpus, 0),
        whole_nodes="excl" in asked,
        extra=(("properties", words[_PROPERTIES]),),
        remarks=((_UNUSED_PROPERTIES,) * unused + (_SOFT_TIMES,) * (soft_s > 0)),
    )


def _with_dag(row: _Row) -> _Further:
    """Read the DAG that a task belongs to."""
    return _Further(extra=(("dag", row.words[_DAG]), ("task", row.words[_TASK])))


_WITH_HOSTS = ("hosts", "queue name", "nodespec")
_WITH_GPUS = ("GPUs", "soft walltime", "properties")
_SHAPES: Mapping[str, _Shape] = {
    "plain": _Shape((), lambda _: _Further(), _KIB),
    "hosts": _Shape(_WITH_HOSTS, _with_hosts, _BYTES),
    "gpus": _Shape(_WITH_GPUS, _with_gpus, _KIB),
    "dag": _Shape(("DAG", "task"), _with_dag, _KIB),
}
