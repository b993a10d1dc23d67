"""Pictures of a moment: load of a fabric, jobs that delay each other, flows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from coupling.inputs.snapshot import Snapshot
from coupling.report.answer import Pictures, Section
from coupling.report.columns import seconds
from coupling.report.estimate import load_of
from coupling.report.plots.blame import blame_matrix, blame_picture, named_most
from coupling.report.plots.fabric import FabricScene, fabric_picture
from coupling.report.plots.layout import layout_of
from coupling.site.estimate import Estimate, JobEstimate, estimate
from coupling.site.flows import Flows
from netsim.common.arrays import Ints

_FEW = 20  # flows whose paths are drawn
_LOAD = "Cables in the colour of their busier direction, the busiest on top"


def moment_scene(snapshot: Snapshot, found: Estimate | None = None) -> FabricScene:
    """Return the fabric of a snapshot with the load of its links, and the jobs."""
    found = estimate(snapshot, blame=False) if found is None else found
    jobs = {str(job.id): np.unique(job.partition.nodes) for job in snapshot.jobs}
    load = load_of(snapshot.topology, found.links)
    return FabricScene(snapshot.topology, load, jobs=jobs, title="Load and jobs")


def load_picture(snapshot: Snapshot, found: Estimate) -> Pictures:
    """Draw the load of a fabric, and the jobs."""
    scene = moment_scene(snapshot, found)
    drawn = fabric_picture("fabric", scene, "The fabric: load of its cables, and jobs")
    words = f"{_LOAD}; nodes in the colour of their job. {layout_of(snapshot.topology).words}"
    return [(drawn.html(), words)]


def flow_pictures(answer: Flows) -> Pictures:
    """Draw the load of given flows, and their paths where they are few."""
    topology, report = answer.topology, answer.report
    last = float(report.finish_s.max(initial=0.0))
    load = report.link_bytes / topology.capacity / last if last > 0 else None
    routes = [report.routes.of_flow(flow) for flow in range(report.routes.n_flows)]
    few = len(routes) <= _FEW
    scene = FabricScene(
        topology,
        load,
        jobs=_end_names(answer.flows) if few else {},
        title="Load until the last flow ends",
    )
    drawn = fabric_picture("fabric", scene, "The fabric: load of its cables")
    pictures = [(drawn.html(), f"{_LOAD}. {layout_of(topology).words}")]
    if few and routes:
        paths = FabricScene(topology, paths=routes, title="Paths of the flows")
        drawn = fabric_picture("ways", paths, "The path of every flow")
        pictures.append((drawn.html(), "A colour for each flow, on the left of its cables."))
    return pictures


def _end_names(flows: Sequence[tuple[int, int, float]]) -> Mapping[str, Ints]:
    return {
        f"flow {place}": np.unique(np.array([src, dst], dtype=np.int64))
        for place, (src, dst, _) in enumerate(flows)
    }


def blame_section(jobs: Sequence[JobEstimate]) -> Section:
    """Return how many seconds per iteration jobs cost each other."""
    title = "Delay by victim and culprit"
    rows = pd.DataFrame(blame_rows(jobs), columns=["victim", "culprit", "lost"])
    matrix = blame_matrix(rows.assign(lost=rows["lost"] * 1e3))
    if matrix.empty:
        return Section(title, above=["No job costs another anything."])
    picture = blame_picture(
        "blame", matrix, named_most(matrix), title="Victims and culprits", unit="ms per iteration"
    )
    caption = "Time that each victim loses per iteration, by the job that causes it."
    numbers = [
        (str(victim), str(culprit), seconds(float(lost) / 1e3))
        for victim, row in matrix.iterrows()
        for culprit, lost in row.items()
        if lost > 0
    ]
    return Section(
        title,
        ("victim", "culprit", "lost per iteration"),
        numbers,
        pictures=lambda: [(picture.html(), caption)],
        on_demand="The numbers",
    )


def blame_rows(jobs: Sequence[JobEstimate]) -> list[tuple[str, str, float]]:
    """Return the seconds per iteration that victims lose to culprits."""
    return [
        (str(job.id), str(culprit), share * (job.together_s - job.alone_s))
        for job in jobs
        if job.alone_s is not None and job.together_s is not None
        for culprit, share in job.blame
    ]
