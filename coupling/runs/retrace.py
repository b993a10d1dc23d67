"""A finished run on its network again: what each job sent, from where to where, on which links."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.results.columns import finished
from coupling.results.manifest import NOT_AGAIN
from coupling.results.result import Result, owned_links
from coupling.runs.assembly import RunParts, assemble
from coupling.runs.run_snapshot import place_of
from coupling.runs.setup import Setup
from coupling.runs.stored import Stored
from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.routing.multipath import single_paths
from netsim.topology.base import Topology
from scheduler.job import Job
from scheduler.traffic import PlacedTraffic, rank_flows


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
        placed = network.traffic(job, Partition(nodes, owned(job.id)))
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
