"""How a fabric or jobs given as objects are kept in a result, so that they can be had again."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from coupling.errors import CouplingError, ExperimentError
from coupling.inputs.experiment import Experiment
from coupling.inputs.fabric import build_topology
from coupling.results.result import Result
from netsim.common.atomic_write import replace_file
from netsim.common.errors import TopologyError
from netsim.formats.exporters.registry import written
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.dragonfly import VARIANTS, Dragonfly
from netsim.topology.dragonflyplus import DragonflyPlus
from netsim.topology.fattree import FatTree
from netsim.topology.hyperx import HyperX
from netsim.topology.names import link_names
from netsim.topology.slimfly import SlimFly
from netsim.topology.torus import Torus
from scheduler.errors import WorkloadError
from scheduler.workload.base import Workload
from scheduler.workload.table import read_csv
from scheduler.workload.writers import write_trace

FABRIC = "fabric.csv"
JOBS = "workload.csv"
OBJECT = "object"  # kind of a fabric that no table or file describes
_OWN_NAMES = ("name", "origin")  # fields in which a fabric that is read back may differ


@dataclass(frozen=True, slots=True, eq=False)
class ObjectRecord:
    """A fabric or a workload as a result directory keeps it."""

    table: Mapping[str, Any]  # What stands for the object in the experiment of the result
    # Files that the table names, by name in the directory
    files: Mapping[str, bytes] = field(default_factory=dict)
    sha256: str = ""  # Of the object
    why_not: str = ""  # Why the run cannot be repeated from these; empty where it can


def records_of(topology: object, workload: Mapping[str, Any]) -> dict[str, ObjectRecord]:
    """Return the records of a fabric and of jobs that were given as objects, by table."""
    found = {}
    if isinstance(topology, Topology):
        found["topology"] = record_of(topology)
    if "jobs" in workload:
        found["workload"] = _jobs_record(workload["jobs"])
    return found


def with_records(tables: Mapping[str, Any], kept: Mapping[str, ObjectRecord]) -> dict[str, Any]:
    """Return the tables of an experiment with what stands for its objects."""
    found = dict(tables)
    for name, record in kept.items():
        own = found[name] if isinstance(found[name], Mapping) else {}
        others = {key: value for key, value in own.items() if key != "jobs"}  # such as estimates
        found[name] = {**others, **record.table}
    return found


def _jobs_record(workload: Workload) -> ObjectRecord:
    """Keep jobs as a table, where that reads as the same jobs."""
    with TemporaryDirectory(prefix="fabricsim-jobs-") as desk:
        place = Path(desk) / JOBS
        write_trace(workload, place)
        data = place.read_bytes()
        try:
            again = read_csv(place)
        except WorkloadError:
            again = None
    sha256 = hashlib.sha256(data).hexdigest()
    table = {"path": JOBS, "format": "csv"}
    if again is not None and (again.jobs, again.has_requested) == (
        workload.jobs,
        workload.has_requested,
    ):
        return ObjectRecord(table, {JOBS: data}, sha256)
    why = "its jobs were given as objects that no table of jobs holds in full"
    return ObjectRecord({"generator": OBJECT}, {JOBS: data}, sha256, why)


def record_of(fabric: Topology) -> ObjectRecord:
    """Describe a fabric by fields, or by fields and a file, that rebuild exactly this fabric."""
    digest = _fabric_digest(fabric)
    for table in _fabric_tables(fabric):
        if _builds_again(table, fabric):
            return ObjectRecord(table, sha256=digest)
    table = {"kind": "file", "path": FABRIC, "format": "edge-csv", **_common_fields(fabric)}
    try:
        data = written(fabric, "edge-csv")[0].encode()
    except TopologyError:
        data = b""
    with TemporaryDirectory(prefix="fabricsim-fabric-") as desk:
        place = Path(desk) / FABRIC
        replace_file(place, data, own=True)
        if data and _builds_again(table | {"path": str(place)}, fabric):
            sha256 = hashlib.sha256(data).hexdigest()
            return ObjectRecord(table, {FABRIC: data}, sha256)
    why = (
        f"its fabric {fabric.name} was given as an object of class {type(fabric).__name__} that "
        "no table of fields and no table of cables describes in full"
    )
    return ObjectRecord({"kind": OBJECT, "name": fabric.name}, sha256=digest, why_not=why)


def _fabric_tables(fabric: Topology) -> Iterator[dict[str, Any]]:
    """Yield tables of fields that may describe a fabric."""
    common = _common_fields(fabric) | {"bandwidth": float(fabric.capacity.max(initial=0.0))}
    if isinstance(fabric, FatTree):
        shape = {key: list(getattr(fabric, key)) for key in ("children", "parents", "parallel")}
        yield {"kind": "fat-tree", **shape, "down_cable": fabric.down_cable, **common}
    elif isinstance(fabric, Torus):
        grid = {"dims": list(fabric.dims), "wrap": list(fabric.wrap)}
        yield {"kind": "torus", **grid, "nodes_per_router": fabric.nodes_per_router, **common}
    elif isinstance(fabric, HyperX):
        grid = {"dims": list(fabric.dims), "parallel": list(fabric.parallel)}
        yield {"kind": "hyperx", **grid, "nodes_per_router": fabric.nodes_per_router, **common}
    elif isinstance(fabric, SlimFly):
        yield {"kind": "slim-fly", **_fields_of(fabric, "q", "nodes_per_router"), **common}
    elif isinstance(fabric, DragonflyPlus):
        names = "groups", "leaves", "spines", "nodes_per_leaf", "global_links"
        yield {"kind": "dragonfly+", **_fields_of(fabric, *names), **common}
    elif type(fabric) is Topology and fabric.n_switches == 1:
        yield {"kind": "switch", "nodes": fabric.n_nodes, **common}
    elif isinstance(fabric, Dragonfly):
        counts = {"groups": fabric.groups, "nodes_per_router": fabric.nodes_per_router}
        routers = [fabric.rows, fabric.columns] if fabric.rows > 1 else fabric.columns
        cables = {"global_links": fabric.gateways.shape[2], "lanes": list(fabric.lanes)}
        for variant in VARIANTS:
            shown = {"kind": "dragonfly", "routers": routers, "variant": variant}
            yield {**shown, **counts, **cables, **common}


def _fields_of(fabric: Topology, *names: str) -> dict[str, Any]:
    """Return fields that a fabric has under the same name as a table."""
    return {name: getattr(fabric, name) for name in names}


def _common_fields(fabric: Topology) -> dict[str, Any]:
    """Return the fields that every kind understands."""
    stated = {"buffer": fabric.buffer_bytes, "packet": fabric.packet_bytes}
    table: dict[str, Any] = {k: v for k, v in stated.items() if k not in fabric.assumed}
    if "delay" not in fabric.assumed:
        table["latency_base_s"] = fabric.latency_base_s
        table["latency_per_link_s"] = fabric.latency_per_link_s
    if fabric.half_duplex:
        table["duplex"] = "half"
    for key in ("limiter_link", "loopback_bw", "loopback_lat"):
        if getattr(fabric, key):
            table[key] = getattr(fabric, key)
    if fabric.usable is not None:
        closed = np.setdiff1d(np.arange(fabric.n_nodes), fabric.usable)
        table["excluded"] = [fabric.vertex_name(node) for node in closed.tolist()]
    if fabric.absent is not None:
        one_way = fabric.absent[fabric.absent < fabric.reverse[fabric.absent]]
        table["failed_links"] = [fabric.link_name(link) for link in one_way.tolist()]
    return table


def _builds_again(table: Mapping[str, Any], fabric: Topology) -> bool:
    """Say whether a table builds a fabric again."""
    try:
        other = make_topology(table)
    except (TopologyError, ValueError, MemoryError, OverflowError):
        return False
    return (
        type(other) is type(fabric)
        and (other.origin is None) == (fabric.origin is None)
        and all(
            _equal_fields(getattr(other, own.name), getattr(fabric, own.name))
            for own in fields(fabric)
            if own.name not in _OWN_NAMES
        )
        and _vertex_names(other) == _vertex_names(fabric)
    )


def _equal_fields(one: object, other: object) -> bool:
    """Compare two fields of fabrics."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, float) and isinstance(
        other, float
    ):  # those of a table know how it says them
        return one == other
    return type(one) is type(other) and bool(one == other)


def _vertex_names(fabric: Topology) -> list[str]:
    """Return the names of all vertices."""
    return [fabric.vertex_name(vertex) for vertex in range(fabric.n_nodes + fabric.n_switches)]


def _fabric_digest(fabric: Topology) -> str:
    """Hash all that a fabric holds."""
    found = hashlib.sha256(f"{type(fabric).__module__}.{type(fabric).__qualname__}".encode())
    for own in fields(fabric):
        value = getattr(fabric, own.name)
        data = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        found.update(b"%s %d " % (own.name.encode(), len(data)) + data)
    return found.hexdigest()


def drawable_fabrics(
    runs: Iterable[tuple[Experiment, Sequence[Result]]],
) -> dict[str, Topology]:
    """Build the fabrics of runs for pictures; without those whose file is gone or changed."""
    found = dict[str, Topology]()
    for experiment, results in runs:
        try:
            topology = build_topology(experiment.located().topology, Path(), ExperimentError)
        except CouplingError:
            continue
        names = link_names(topology)
        for result in results:
            if result.links["link"].tolist() == names:
                found[result.name] = topology
    return found
