"""Pictures of moments, of partitions with their proofs, and of what a fabric is made of."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coupling.inputs.snapshot import PlacedJob, Snapshot
from coupling.report.answer import Pictures, Section
from coupling.report.columns import seconds
from coupling.report.plots.blame import blame_matrix, blame_picture, named_most
from coupling.report.plots.fabric import FabricScene, fabric_picture
from coupling.report.plots.layout import layout_of, part_of
from coupling.report.plots.style import FAINT, Picture, chart, name_ticks
from coupling.site.estimate import Estimate, JobEstimate, estimate
from coupling.site.flows import Flows
from coupling.site.verify import JobVerdict, Verification
from netsim.common.arrays import Ints
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service
from netsim.topology.outage import leaf_tapers
from netsim.topology.structure.inspect import TopologyReport

_FEW = 20  # flows whose paths are drawn
_LOAD = "Cables in the colour of their busier direction, the busiest on top"


def moment_scene(snapshot: Snapshot, found: Estimate | None = None) -> FabricScene:
    """Return the fabric of a snapshot with the load of its links, and the jobs."""
    found = estimate(snapshot, blame=False) if found is None else found
    jobs = {str(job.id): np.unique(job.partition.nodes) for job in snapshot.jobs}
    load = np.zeros(snapshot.topology.n_links)
    for own in found.links:
        load[snapshot.topology.link_number(own.link)] += own.utilization or 0.0
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


_FLOWS = 40  # flows of a certificate that are drawn


def partition_picture(snapshot: Snapshot, found: Verification) -> Pictures:
    """Draw the partitions of all jobs."""
    topology = snapshot.topology
    scene = FabricScene(
        topology,
        jobs={str(job.id): np.unique(job.partition.nodes) for job in snapshot.jobs},
        owned={
            str(job.id): job.partition.links
            for job in snapshot.jobs
            if job.partition.links is not None
        },
        marked=np.array(sorted({e for job in found.jobs for e in job.shares}), dtype=np.int64),
        title="Partitions",
    )
    drawn = fabric_picture("fabric", scene, "The fabric, with the partitions of all jobs")
    caption = (
        "Nodes, and the links that a job owns, in the colour of the job; red: links that several "
        f"jobs use or own. {layout_of(topology).words}"
    )
    return [(drawn.html(), caption)]


def job_pictures(
    topology: Topology, place: int, job: PlacedJob, verdict: JobVerdict
) -> Callable[[], Pictures]:
    """Return what draws a job with the proof of its verdict; `place`: of its colour."""
    return lambda: [
        (own.html(), text) for own, text in _proof_pictures(topology, place, job, verdict)
    ]


def _proof_pictures(
    topology: Topology, place: int, job: PlacedJob, verdict: JobVerdict
) -> list[tuple[Picture, str]]:
    """Draw the partition, the paths of a certificate, and the cut of a witness."""
    own = job.partition.links
    nodes = np.unique(job.partition.nodes)
    if own is None:
        return []
    proof, witness = verdict.rearrangeable.certificate, verdict.rearrangeable.witness
    paths = [] if proof is None else [proof.routes.of_flow(i) for i in range(proof.src.size)]
    used = np.concatenate([own, *paths]).astype(np.int64)
    part, kept = part_of(topology, used, nodes)
    jobs = {str(job.id): np.arange(part.n_nodes)}

    def here(links: Ints) -> Ints:
        return np.searchsorted(kept, links)

    weights = {} if witness is None else witness.weights
    cut = np.array(sorted(link for link, weight in weights.items() if weight > 0), dtype=np.int64)
    scene = FabricScene(
        part,
        jobs=jobs,
        first_colour=place,
        owned={str(job.id): here(own)},
        marked=here(cut),
        title="The partition",
    )
    words = "Nodes of the job, and the links that it owns."
    if cut.size:
        words += " Red: the cut of the witness. Its flows need more of these links than there are."
    drawn = [(fabric_picture(f"part-{place}", scene, f"Partition of job {job.id}"), words)]
    if paths and witness is None:
        some = [here(path) for path in paths[:_FLOWS]]
        ways = FabricScene(
            part, jobs=jobs, first_colour=place, paths=some, title="One permutation, routed"
        )
        left = len(paths) - len(some)
        more = f" {left} of {len(paths)} flows are not drawn." if left else ""
        text = (
            "The certificate: every flow in a colour of its own, at most one flow on each "
            f"direction of a cable.{more}"
        )
        drawn.append((fabric_picture(f"ways-{place}", ways, f"Paths in job {job.id}"), text))
    return drawn


def fabric_pictures(found: TopologyReport) -> Pictures:
    """Draw a fabric, and the oversubscription of its leaves where they differ."""
    dotted = "" if links_in_service(found.topology).all() else "Dotted: out of service. "
    pictures = [(inspected(found).html(), f"{dotted}{layout_of(found.topology).words}")]
    leaves = oversubscription(found.topology)
    if len(set(leaves["ratio"])) > 1:  # equal bars say less than the table of levels
        drawn = chart(
            "leaves",
            "Oversubscription of every leaf switch",
            partial(_draw_leaves, leaves=leaves),
            partial(pd.DataFrame, leaves),
            title="Oversubscription",
        )
        caption = (
            "Capacity of the links of a switch's nodes / capacity of its links to other "
            "switches. Above 1 its nodes cannot all send at full speed."
        )
        pictures.append((drawn.html(), caption))
    return pictures


def inspected(found: TopologyReport) -> Picture:
    """Return the picture of a fabric; what is out of service is dotted."""
    scene = FabricScene(found.topology, title=found.topology.name)
    return fabric_picture("fabric", scene, f"Fabric: {found.topology.summary}")


def oversubscription(topology: Topology) -> pd.DataFrame:
    """Return capacity from nodes / to other switches, of switches in service with both."""
    found = leaf_tapers(topology)
    out = found.above > 0.0
    names = [topology.vertex_name(leaf) for leaf in found.leaf[out].tolist()]
    return pd.DataFrame({"switch": names, "ratio": found.taper[out]})


def _draw_leaves(axes: Axes, leaves: pd.DataFrame) -> None:
    """Draw a bar per switch."""
    x = np.arange(len(leaves))
    axes.bar(x, leaves["ratio"], 0.9 if len(leaves) < 200 else 1.0, color="#0072b2")  # noqa: PLR2004
    axes.axhline(1.0, color=FAINT, linewidth=0.8, linestyle="--")
    axes.set_ylabel("capacity of nodes / of uplinks")
    ticks = np.unique(np.linspace(0, len(leaves) - 1, min(len(leaves), 6)).astype(int))
    name_ticks(
        axes.xaxis, ticks.tolist(), [str(leaves["switch"].iloc[tick])[:12] for tick in ticks]
    )
    axes.set_xlabel("switch with nodes")
