"""Scene: jobs on a fabric, with what each of them may send, drawn several times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.places import JobPlacement
from coupling.inputs.snapshot import JobId, Snapshot
from coupling.site.predictions import predictor
from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from netsim.topology.rails import node_bandwidth
from patterns.base import Pattern
from scheduler.errors import WorkloadError
from scheduler.traffic import RankFlows
from scheduler.workload.communication import drawn_communications
from scheduler.workload.match import name_of
from scheduler.workload.profile import Profile

MOST_SAMPLES = 10_000
"""Samples of what jobs send."""


@dataclass(frozen=True, slots=True, eq=False)
class SiteJob:
    """A job of a scene."""

    number: int  # Identity for the model
    id: JobId  # As its file calls it
    # user, name: whose it is, and what; empty where the file does not say
    user: str
    name: str
    nodes: Ints  # (n,): its nodes, each once
    partition: Partition  # Node of each rank, and owned links


@dataclass(frozen=True, slots=True)
class DrawnTraffic:
    """What a job sends in one sample."""

    messages: Pattern | RankFlows  # Messages of an iteration
    fraction: float | None  # Communication share of the ideal iteration
    compute_s: float | None = None  # Instead: seconds of an iteration without communication
    # Length of the ideal iteration, to which the bytes are scaled; beside `fraction`
    iteration_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SiteState:
    """Jobs on a fabric, and samples of what they send."""

    source: str  # Where they come from, for messages
    topology: Topology  # The fabric
    routing: Routing  # Finds the way of each flow
    jobs: tuple[SiteJob, ...]  # By number
    # What each job sends, by number; jobs that are not there send nothing
    samples: tuple[Mapping[int, DrawnTraffic], ...]
    fairness: str = "per-sender"  # per-sender, per-flow: weight of a flow among others
    options: Mapping[str, Any] = field(default_factory=dict)  # Of the model `fluid`

    def __repr__(self) -> str:
        return f"<Scene: {len(self.jobs)} jobs, {len(self.samples)} samples>"


def scene_of_places(
    places: Sequence[JobPlacement],
    fabric: tuple[Topology, Routing],
    profile: Profile,
    source: str,
    *,
    samples: int,
    seed: int,
) -> SiteState:
    """Sample what placed jobs send, 1 to `MOST_DRAWS` times."""
    topology, routing = fabric
    jobs = sorted(places, key=lambda own: own.job.id)
    known = [own.job for own in jobs]
    slots = {own.job.id: own.slots for own in jobs}
    slowest = float(node_bandwidth(topology).min())
    drawn = []
    for each in np.random.SeedSequence(seed).generate_state(samples).tolist():
        try:
            given = drawn_communications(known, profile, each, node_bandwidth=slowest, slots=slots)
        except WorkloadError as error:
            raise SnapshotError(f"{source}: {error}") from None
        drawn.append(
            {
                job.id: DrawnTraffic(sent.pattern, sent.fraction, None, sent.iteration_s)
                for job, sent in zip(known, given, strict=True)
                if sent is not None
            }
        )
    return SiteState(source, topology, routing, tuple(map(_scene_job, jobs)), tuple(drawn))


def scene_of_snapshot(snapshot: Snapshot) -> SiteState:
    """Take the jobs of a snapshot, of the model `fluid`, as a scene with one sample."""
    endless = [job.id for job in snapshot.jobs if job.persistent]
    if endless:
        raise SnapshotError(
            f"{snapshot.source}: job {endless[0]} persistent: expected jobs with barriers: changes "
            "are compared with model 'fluid', jobs without barriers need 'packets' (estimate)."
        )
    if snapshot.model != "fluid":
        raise SnapshotError(
            f"{snapshot.source}: model: expected fluid, with which changes are compared, got "
            f"{snapshot.model!r}."
        )
    predictor(snapshot)  # refuses options as `estimate` does
    sample = {}
    for job in snapshot.jobs:
        if job.flows is None:
            raise SnapshotError(
                f"{snapshot.source}: job {job.id} pattern: expected a pattern or steps, "
                "both are missing."
            )
        sample[job.number] = DrawnTraffic(job.flows, job.fraction, job.compute_s)
    jobs = [
        SiteJob(job.number, job.id, "", "", _each_once(job.partition.nodes), job.partition)
        for job in sorted(snapshot.jobs, key=lambda job: job.number)
    ]
    return SiteState(
        snapshot.source,
        snapshot.topology,
        snapshot.routing,
        tuple(jobs),
        (sample,),
        snapshot.fairness,
        snapshot.model_options,
    )


def _scene_job(own: JobPlacement) -> SiteJob:
    """Return a job as the model knows it."""
    job = own.job
    partition = Partition(own.nodes[own.slots], None)
    number = dict(job.extra).get("jobid", "")  # 123_4 of an array, where there is a plain number
    return SiteJob(job.id, number or job.id, name_of(job, "user"), job.name, own.nodes, partition)


def _each_once(nodes: Ints) -> Ints:
    """Return nodes in the order in which they first appear."""
    _, first = np.unique(nodes, return_index=True)
    found: Ints = nodes[np.sort(first)]
    return found
