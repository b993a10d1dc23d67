"""A finished run on its network again: what each job sent on which links; a moment of it."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coupling.errors import CouplingError, ExperimentError, ResultError
from coupling.inputs.experiment import Experiment
from coupling.inputs.fabric import build_topology
from coupling.inputs.snapshot import snapshot_from
from coupling.results.columns import finished
from coupling.results.manifest import NOT_AGAIN
from coupling.results.result import Result, owned_links
from coupling.runs.assembly import RunParts, assemble
from coupling.runs.setup import Setup
from coupling.runs.stored import Stored
from fabricsim.checking import unknown
from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.routing.multipath import single_paths
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster
from scheduler.allocation import job_partition
from scheduler.job import Job
from scheduler.traffic import PlacedTraffic, rank_flows


def moment(stored: Stored, at_s: float, run: str | None = None) -> dict[str, Any]:
    """Return the jobs of one moment as a snapshot document, without what they sent."""
    place = place_of(stored, run)
    result = Result.load(place)
    if why_not := stored.manifest.get(NOT_AGAIN):
        raise ResultError(f"{stored.folder}: its links are unknown: {why_not}.")
    experiment = stored.experiment.located()
    topology = build_topology(experiment.topology, place, partial(_fabric_error, place))
    refuse_parts_of_hosts(experiment, topology, place)
    running = _running_rows(result.jobs, at_s, place)
    _refuse_broken_fabric(result.extras.get("events"), at_s, place)
    document: dict[str, Any] = {"topology": experiment.topology}
    if experiment.node is not None:
        document["shared"] = True
    if experiment.routing is not None:
        document["routing"] = experiment.routing
    try:
        document["jobs"] = _snapshot_jobs(running, result.partitions, topology)
        snapshot_from(document | {"topology": topology}, "snapshot", place)
    except (CouplingError, TopologyError) as error:
        raise ResultError(f"{place}: its tables do not fit its fabric: {error}") from None
    return document


def refuse_parts_of_hosts(experiment: Experiment, topology: Topology, place: Path | str) -> None:
    """Refuse a run whose jobs had some GPUs of hosts."""
    if experiment.node is not None and isinstance(topology, GpuCluster):
        raise ResultError(f"{place}: which GPUs of its hosts each job had is not stored.")


def _fabric_error(place: Path, what: str) -> ExperimentError:
    """Make the error of a fabric that cannot be built again."""
    return ExperimentError(f"{place} topology: {what}")


def place_of(stored: Stored, run: str | None) -> Path:
    """Return the directory of a run."""
    names = [variant.label for variant in stored.experiment.variants()]
    if run is None and len(names) > 1:
        raise ResultError(f"{stored.folder}: expected --run and one of {', '.join(names)}.")
    if run is not None and run not in names:
        raise ResultError(f"--run: {unknown('run', run, names)}")
    return stored.places[0 if run is None else names.index(run)]


def _running_rows(jobs: pd.DataFrame, at_s: float, place: Path) -> pd.DataFrame:
    """Return the rows of jobs that ran at a moment."""
    running = jobs[(jobs["start_s"] <= at_s) & (at_s < jobs["end_s"])]
    if running.empty:
        raise ResultError(
            f"{place}: no job runs at {at_s:g} s; jobs run from {jobs['start_s'].min():g} s "
            f"to {jobs['end_s'].max():g} s."
        )
    return running


def _refuse_broken_fabric(events: pd.DataFrame | None, at_s: float, place: Path) -> None:
    """Refuse a moment at which switches or cables are down: routes then were others."""
    down: dict[str, None] = {}
    if events is not None:
        of_parts = events[(events["n_nodes"] == 0) & (events["time_s"] <= at_s)]
        for action, what in zip(of_parts["action"], of_parts["what"], strict=True):
            if action in ("down", "failed"):
                down[str(what)] = None
            elif action in ("up", "resume", "repaired"):
                down.pop(str(what), None)
    if down:
        raise ResultError(
            f"{place}: expected a moment at which no switch and no cable is down, got {at_s:g} s "
            f"with {', '.join(down)}."
        )


def _snapshot_jobs(
    running: pd.DataFrame, partitions: pd.DataFrame, topology: Topology
) -> list[Any]:
    """Return jobs as a snapshot has them, by name."""
    owned, jobs = owned_links(partitions), []
    for number, hosts in zip(running["id"].tolist(), running["nodes"].tolist(), strict=True):
        nodes = topology.names.nodes([str(hosts)])
        job = {"id": number, "nodes": [topology.vertex_name(node) for node in nodes]}
        links = owned(number)
        if links is not None:
            if links.max(initial=-1) >= topology.n_links:
                raise TopologyError(f"job {number} owns link {links.max()}.")
            job["links"] = [topology.link_name(link) for link in links.tolist()]
        jobs.append(job)
    return jobs


@dataclass(frozen=True, slots=True, eq=False)
class RanJob:
    """A job as it ran."""

    # id, n_nodes: of the job
    id: int
    n_nodes: int
    # submit_s, start_s: seconds of the run
    submit_s: float
    start_s: float
    work_s: float  # What it did, in seconds at full rate
    iteration_s: float  # Seconds of an iteration at full rate; 0 for a job that sends nothing
    placed: PlacedTraffic | None  # What it put on the network in each iteration; None: nothing
    # src, dst: (F,): ranks of its flows
    src: Ints
    dst: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Retraced:
    """The jobs of a run with what they sent."""

    topology: Topology  # The fabric
    jobs: tuple[RanJob, ...]  # In the order of their starts


def retrace(stored: Stored, run: str | None = None) -> Retraced:
    """Put the jobs of a finished run on their network again; inputs must be unchanged."""
    place = place_of(stored, run)
    if why_not := stored.manifest.get(NOT_AGAIN):
        raise ResultError(f"{stored.folder}: its jobs cannot be made again: {why_not}.")
    variant = stored.experiment.variants()[stored.places.index(place)]
    if variant.replay is not None or variant.workload_table.get("path") == "-":
        raise ResultError(
            f"{stored.folder}: expected a run of a job log or generator, got "
            f"{'standard input' if variant.replay is None else 'a record ([replay])'}."
        )
    parts = assemble(variant)
    before = set(stored.manifest.get("inputs_sha256", {}).values())
    for path, found in sorted(parts.hashes.items()):
        if found not in before:
            raise ResultError(f"{path}: the input has changed since {stored.folder} was written.")
    return _retraced_jobs(Result.load(place), variant, parts, place)


def _retraced_jobs(result: Result, variant: Experiment, parts: RunParts, place: Path) -> Retraced:
    """Place the jobs of a result."""
    setup = Setup.of(variant, parts)
    network = setup.rates.begin(setup.allocator()).network
    if network is None:
        raise ResultError(f"{place}: expected a run with a network, got model {variant.model!r}.")
    single_paths(network.routing, "another simulator needs", ResultError)
    fabric = network.topology
    of_id = {job.id: job for job in parts.workload.jobs}
    table = finished(result.jobs).sort_values(["start_s", "id"])
    owned, jobs = owned_links(result.partitions), []
    for row in table.to_dict("records"):
        job = of_id[row["id"]].at_size(row["n_nodes"])
        nodes = np.array(fabric.names.nodes([row["nodes"]]), dtype=np.int64)
        partition = job_partition(job, fabric, nodes, owned(job.id))
        if partition.gpus is not None:
            raise ResultError(f"{place}: job {job.id}: expected ranks that are nodes, got GPUs.")
        placed = network.traffic(job, partition)
        src, dst = _flow_ranks(job, placed, place)
        work_s = (row["end_s"] - row["start_s"]) / row["network_slowdown"]
        iteration_s = 0.0 if placed is None else placed.ideal_s
        times = (row["submit_s"], row["start_s"], work_s, iteration_s)
        jobs.append(RanJob(job.id, nodes.size, *times, placed, src, dst))
    return Retraced(fabric, tuple(jobs))


def _flow_ranks(job: Job, placed: PlacedTraffic | None, place: Path) -> tuple[Ints, Ints]:
    """Return the ranks that the flows of a job go from and to."""
    if placed is None or job.communication is None:
        none = np.empty(0, dtype=np.int64)
        return none, none
    flows = rank_flows(job.communication.pattern, job.n_nodes)
    if placed.traffic.step.size != flows.src.size:
        raise ResultError(
            f"{place}: expected nodes with one link each, over which a message goes whole, got "
            "several."
        )
    return flows.src, flows.dst
