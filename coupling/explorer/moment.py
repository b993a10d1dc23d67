"""A moment to look at: the jobs of a snapshot, and what they do to each other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from coupling.explorer.address import Address
from coupling.explorer.network import Look
from coupling.inputs.snapshot import PlacedJob, Snapshot, read_snapshot
from coupling.report.estimate import stem
from coupling.report.moments import blame_rows, moment_scene
from coupling.report.plots.blame import blame_matrix
from coupling.report.plots.fabric import job_colours
from coupling.site.estimate import Estimate, JobEstimate, estimate
from coupling.site.loads import LinkLoad
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import TopologyError

_IDLE = "#9aa4ae"  # of a node without a job
_MS = 1e3


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """Jobs of a snapshot, estimated."""

    # title, about: what it is
    title: str
    about: str
    snapshot: Snapshot  # Fabric and jobs
    found: Estimate  # What the jobs do to each other
    load: Floats  # (E,): share of each directed link that jobs take
    nodes: Mapping[str, Ints]  # Nodes of each job
    colours: Mapping[str, str]  # Colour of each job
    # Milliseconds per iteration that victims lose to culprits; empty where none do
    blame: pd.DataFrame
    jobs: Mapping[str, PlacedJob]  # By name
    estimates: Mapping[str, JobEstimate]  # By name
    users: Mapping[str, list[LinkLoad]]  # What jobs put on each link, by its name
    owner: dict[int, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Note whose node each is."""
        for name, nodes in self.nodes.items():
            self.owner.update(dict.fromkeys(nodes.tolist(), name))

    def prepare(self) -> None:
        """Lay out what a page shows first: all is there."""

    def link(self, name: str) -> int | None:
        """Return the number of a link; None where there is none of that name."""
        try:
            return self.snapshot.topology.link_number(name)
        except TopologyError:
            return None

    def look(self, address: Address) -> Look:
        """Return the fabric with a job and a cable chosen."""
        topology = self.snapshot.topology
        colours = [_IDLE] * topology.n_nodes
        for name, nodes in self.nodes.items():
            for node in nodes.tolist():
                colours[node] = self.colours[name]
        return Look(
            "moment",
            topology,
            self.load,
            float(self.load.max(initial=0.0)) or 1.0,
            self.load,
            colours,
            self.nodes.get(address.job, np.zeros(0, dtype=np.int64)),
            self.link(address.cable),
            "load and jobs",
        )


def moment_of(path: Path) -> Moment:
    """Read a snapshot and estimate what its jobs do to each other."""
    snapshot = read_snapshot(path)
    found = estimate(snapshot)
    scene = moment_scene(snapshot, found)
    assert scene.load is not None  # noqa: S101 (of every moment)
    users: dict[str, list[LinkLoad]] = {}
    for own in found.links:
        users.setdefault(own.link, []).append(own)
    lost = pd.DataFrame(blame_rows(found.jobs), columns=["victim", "culprit", "lost"])
    n_nodes = len(set().union(*(nodes.tolist() for nodes in scene.jobs.values())))
    return Moment(
        title=stem(snapshot.source),
        about=f"{len(snapshot.jobs):,} jobs on {n_nodes:,} of {snapshot.topology.n_nodes:,} nodes "
        f"of {snapshot.topology.summary}, model {snapshot.model}",
        snapshot=snapshot,
        found=found,
        load=scene.load,
        nodes=scene.jobs,
        colours=job_colours(list(scene.jobs)),
        blame=blame_matrix(lost.assign(lost=lost["lost"].astype(float) * _MS)),
        jobs={str(job.id): job for job in snapshot.jobs},
        estimates={str(job.id): job for job in found.jobs},
        users=users,
    )
