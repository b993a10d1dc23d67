"""Build the parts of an experiment: fabric and workload with its communication."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from coupling.errors import ExperimentError
from coupling.inputs.events import EventPlan, plan_events
from coupling.inputs.experiment import Experiment
from coupling.inputs.experiment_fields import node_units
from coupling.inputs.fabric import build_topology
from coupling.inputs.files import Table, hashes
from coupling.inputs.plugins import sources
from coupling.inputs.record import Record, moment_of, read_record, written
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.rails import node_bandwidth
from netsim.topology.switches import switch_of, with_switch
from patterns.placed import Layout
from scheduler.allocation import NodeUnits
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.traffic import layout_of
from scheduler.workload import (
    DEFAULT_PROFILE,
    Profile,
    Workload,
    assign,
    limit_nodes,
    make_workload,
    profile_from,
    read_profile,
    running,
)
from scheduler.workload.dependencies import resolved

T = TypeVar("T")
_MOST_CACHED = 16


@dataclass(frozen=True, slots=True, eq=False)
class RunParts:
    """Fabric and workload of an experiment."""

    topology: Topology  # The machine
    workload: Workload  # Jobs with their communication; those larger than the machine are dropped
    estimates: str  # requested, runtime: what backfilling may know
    # The communication profile as tables: the assumption that the result rests on
    profile: Mapping[str, Any] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of every file that was read
    record: Record | None = None  # When and where the jobs ran, where they are replayed
    free_from_s: float = inf  # From when on the queue is free of the record
    events: EventPlan | None = None  # What happens to the machine
    node: NodeUnits | None = None  # What a node has, where jobs share nodes

    def cluster(self) -> Cluster:
        """Return the empty machine."""
        return Cluster(self.topology, self.node)

    @property
    def n_nodes(self) -> int:
        """Nodes that take jobs."""
        return self.topology.usable_nodes.size


class RunInputs:
    """Fabrics and job logs that were read, for experiments that share them; the last few."""

    def __init__(self) -> None:
        self._cached: dict[str, Any] = {}

    def get(self, key: object, make: Callable[[], T]) -> T:
        """Return what was made for a key before, or make it."""
        name = json.dumps(key, sort_keys=True, default=id)  # a fabric given as an object is itself
        made: T = self._cached.pop(name) if name in self._cached else make()
        self._cached[name] = made
        for old in list(self._cached)[:-_MOST_CACHED]:
            del self._cached[old]
        return made


def assemble(experiment: Experiment, inputs: RunInputs | None = None) -> RunParts:
    """Read and build what an experiment names."""
    seeds, where = experiment.all_seeds, f"{experiment.source}: [workload]"
    inputs, begin = inputs or RunInputs(), experiment.folder
    topology = inputs.get(
        ["topology", experiment.topology, str(begin)],
        lambda: build_topology(
            experiment.topology, begin, partial(_fabric_error, experiment.source)
        ),
    )
    if experiment.model == "packets" and "switch" in experiment.model_options:
        topology = with_switch(topology, switch_of(topology, experiment.model_options["switch"]))
    record = _read_record(experiment, topology, inputs)
    node = node_units(experiment.node, begin)
    _check_gpus(experiment, node, topology)
    if record is None:
        drawn = seeds["workload"] if "generator" in experiment.workload_table else None
        table = dict(experiment.workload_table)
        if node is not None and "path" in table and table.get("format") != "placement-log":
            table.setdefault("processors_per_node", node.cores or node.gpus or 1)
        read_jobs = inputs.get(
            ["workload", table, str(begin), drawn],
            lambda: make_workload(table, begin, where, seeds["workload"]),
        )
        workload = _fitting_jobs(read_jobs, where, topology)
    else:
        workload = record.workload
    profile, folder = _profile_and_folder(experiment)
    named = (
        *(experiment.topology, experiment.routing, experiment.communication, experiment.events),
        experiment.node,
    )
    read = hashes(named, experiment.folder) | hashes(profile.table, folder)
    if topology.origin is not None:
        included = [{"path": name} for name in topology.origin.included]
        read |= hashes(included, Path())
    read |= sources(experiment.tables()) | sources(profile.table)
    if workload.sha256:
        read[workload.source] = workload.sha256
    bandwidth = float(node_bandwidth(topology).min())
    slots = {} if record is None else {job: own.slots for job, own in record.placed.items()}
    jobs = assign(
        workload.jobs,
        profile,
        seeds["communication"],
        node_bandwidth=bandwidth,
        slots=slots,
        layout=partial(_lowest_hosts, topology) if isinstance(topology, GpuCluster) else None,
    )
    if node is not None:
        jobs, workload = _without_gpus(jobs, workload)
    fallback = "requested" if workload.has_requested else "runtime"
    return RunParts(
        topology,
        replace(workload, jobs=jobs),
        experiment.estimates or fallback,
        profile.table,
        read,
        record,
        inf if record is None else _free_from_s(experiment, record),
        _events(experiment, topology),
        node,
    )


def _without_gpus(jobs: Sequence[Job], workload: Workload) -> tuple[tuple[Job, ...], Workload]:
    """Let jobs train nothing that ask for cores or memory of shared hosts, and for no GPU."""
    idle = {
        job.id
        for job in jobs
        if not job.gpus
        and (job.cores or job.memory_mb)
        and job.communication is not None
        and job.communication.compute_s is not None
    }
    if idle:
        known = {"jobs that ask for no GPU: they train no model": len(idle)}
        workload = replace(workload, remarks={**workload.remarks, **known})
        jobs = [replace(job, communication=None) if job.id in idle else job for job in jobs]
    return tuple(jobs), workload


def _lowest_hosts(cluster: GpuCluster, n_ranks: int, n_hosts: int) -> Layout:
    """Return the layout of ranks spread evenly over the lowest hosts, a GPU each."""
    host, gpu = np.divmod(np.arange(n_ranks), -(-n_ranks // n_hosts))
    return layout_of(cluster, host, gpu)


def _check_gpus(experiment: Experiment, node: NodeUnits | None, topology: Topology) -> None:
    """Refuse other GPUs of a node than those of the hosts of a GPU cluster."""
    if node is None or not isinstance(topology, GpuCluster):
        return
    if node.gpus != topology.hosts.gpus:
        raise ExperimentError(
            f"{experiment.source}: [scheduler] node: gpus: expected {topology.hosts.gpus}, as the "
            f"hosts of the cluster have, got {node.gpus}."
        )


def _events(experiment: Experiment, topology: Topology) -> EventPlan | None:
    """Read what happens to the machine, if anything does."""
    given = experiment.events_table
    if given is None:
        return None
    return plan_events(given, topology, experiment.source, experiment.folder, experiment.seed)


def _fitting_jobs(read_jobs: Workload, where: str, topology: Topology) -> Workload:
    """Return the jobs that can run on a fabric."""
    _refuse_running(read_jobs, where)
    workload = resolved(limit_nodes(read_jobs, topology.usable_nodes.size))
    if not workload.jobs:
        reasons = ", ".join(f"{count} {reason}" for reason, count in workload.dropped.items())
        raise ExperimentError(f"{workload.source}: no job is left to run ({reasons or 'empty'}).")
    thin = sum(job.gpus == job.n_nodes > 1 for job in workload.jobs)
    if thin and isinstance(topology, GpuCluster) and topology.hosts.gpus > 1:
        what = f"jobs of one GPU on each of several hosts of {topology.hosts.gpus} "
        known = {what + "(a log of GPUs alone needs processors_per_node)": thin}
        workload = replace(workload, remarks={**workload.remarks, **known})
    return workload


def _read_record(experiment: Experiment, topology: Topology, inputs: RunInputs) -> Record | None:
    """Read the record that is replayed, if one is."""
    replay = experiment.replay
    if replay is None:
        return None
    table = Table(experiment.workload, f"{experiment.source}: [workload]")
    path = experiment.folder / table.text("path")
    stop, zone = replay.get("unknown") == "stop", replay.get("timezone")
    return inputs.get(
        ["record", experiment.topology, str(path), stop, zone],
        lambda: read_record(path, topology, stop=stop, zone=zone),
    )


def _free_from_s(experiment: Experiment, record: Record) -> float:
    """Return from when on the queue is free, on the clock of the run."""
    text = (experiment.replay or {}).get("free_from")
    if text is None:
        return inf
    where = f"{experiment.source}: [replay] free_from"
    moment_s = moment_of(text, record.zone, where, offsets=record.offsets)
    moment_s -= record.workload.begin_unix_s or 0.0
    last_s = max(pin.start_s for pin in record.pins.values())
    if not 0.0 <= moment_s <= last_s:
        raise ExperimentError(
            f"{where}: expected a time from the first to the last start of the record "
            f"({written(record, 0.0)} to {written(record, last_s)}), got {text!r}."
        )
    return moment_s


def _fabric_error(source: str, what: str) -> ExperimentError:
    """Make the error of a fabric that cannot be built."""
    return ExperimentError(f"{source} topology: {what}")


def _refuse_running(workload: Workload, where: str) -> None:
    """Refuse a queue of which a run would start jobs again that have their nodes already."""
    begun = running(workload.jobs)
    if begun:
        state = dict(begun[0].extra)["state"]
        raise ExperimentError(
            f"{where}: {workload.source} is a queue: {len(begun)} of its jobs have their nodes "
            f"already (job {begun[0].id}: {state}), and a run would start them again on an idle "
            f"machine; expected a log of what ran. `fabricsim estimate` takes jobs where they are."
        )


def _profile_and_folder(experiment: Experiment) -> tuple[Profile, Path]:
    """Return the communication profile, and where its relative paths start."""
    tables, where = experiment.communication_table, f"{experiment.source}: [communication]"
    if tables is None:
        return DEFAULT_PROFILE, experiment.folder
    if "profile" not in tables:
        return profile_from(tables, where, experiment.folder), experiment.folder
    path = tables["profile"]
    further = next((key for key in tables if key != "profile"), None)
    if further is not None:
        both = 'no key beside profile = "FILE", or the fields of a profile alone'
        raise Table(tables, where, ExperimentError).error(further, both)
    if not isinstance(path, str):
        raise Table(tables, where, ExperimentError).error("profile", "the path of a file")
    place = experiment.folder / path
    return read_profile(place), place.parent
