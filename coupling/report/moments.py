"""Pages about a moment: what jobs do to each other, whether they are isolated, what flows get."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from coupling.inputs.snapshot import PlacedJob, Snapshot
from coupling.report.columns import seconds
from coupling.report.page import Html, bullets, details, figures, page, paragraph, table
from coupling.report.plots.blame import blame_matrix, blame_picture, named_most
from coupling.report.plots.fabric import FabricScene, fabric_picture
from coupling.report.plots.layout import layout_of
from coupling.report.plots.style import Picture
from coupling.results.formatting import counted, listing, percent, ratio, volume
from coupling.site.estimate import Estimate, JobEstimate, estimate
from coupling.site.flows import Flows
from coupling.site.loads import LinkLoad
from netsim.common.arrays import Floats, Ints
from netsim.registries.accuracy import accuracy_line
from netsim.topology.base import Topology

_ROWS = 500  # of a table; more would only make the page slow
_HOT = 20  # links that are named
_HEADS = ("alone", "together", "slowdown", "interference", "placement factor", "worst link")
_LOAD = (
    "Cables in the colour of their busier direction, the busiest on top; nodes in the colour of "
    "their job."
)


def estimate_html(snapshot: Snapshot, found: Estimate) -> str:
    """Return a page about what jobs do to each other."""
    topology = snapshot.topology
    load = _load(topology, found.links)
    scene = moment_scene(snapshot, found)
    drawn = fabric_picture("fabric", scene, "The fabric: load of its cables, and jobs")
    sections = [
        ("Jobs", _job_table(snapshot, found)),
        ("The fabric", _shown((drawn, f"{_LOAD} {layout_of(topology).words}"))),
        ("Who costs whom", _blame(found.jobs)),
        ("Busiest links, shared ones first", _busiest(topology, load, found.links)),
        ("Other placements", _candidates(found)),
    ]
    assumed = [f"Assumed: {line}." for line in found.assumed]
    return page(
        f"{stem(snapshot.source)}: what these jobs do to each other",
        f"{topology.summary} · model {snapshot.model} · {snapshot.fairness}",
        bullets([*_worst(found.jobs), *assumed, accuracy_line(found.setting)]),
        sections,
    )


def moment_scene(snapshot: Snapshot, found: Estimate | None = None) -> FabricScene:
    """Return the fabric of a snapshot with the load of its links, and the jobs."""
    found = estimate(snapshot, blame=False) if found is None else found
    load = _load(snapshot.topology, found.links)
    return FabricScene(snapshot.topology, load, jobs=_nodes(snapshot.jobs), title="Load and jobs")


def flows_html(answer: Flows, source: str) -> str:
    """Return a page about given flows."""
    topology, report = answer.topology, answer.report
    last = float(report.finish_s.max(initial=0.0))
    load = report.link_bytes / topology.capacity / last if last > 0 else None
    routes = [report.routes.of_flow(flow) for flow in range(report.routes.n_flows)]
    few = len(routes) <= _HOT
    scene = FabricScene(
        topology,
        load,
        jobs=_ends(answer.flows) if few else {},
        title="Load until the last flow ends",
    )
    pictures = [
        (
            fabric_picture("fabric", scene, "The fabric: load of its cables"),
            f"{_LOAD.split(';', maxsplit=1)[0]}. {layout_of(topology).words}",
        )
    ]
    if few and routes:
        ways = FabricScene(topology, paths=routes, title="Ways of the flows")
        pictures.append(
            (
                fabric_picture("ways", ways, "The way of every flow"),
                "A colour for each flow, on the left of its cables.",
            )
        )
    order = np.argsort(-report.link_bytes, kind="stable")[:_HOT]
    busy = [
        [topology.link_name(int(e)), str(int(report.link_flows[e])), volume(report.link_bytes[e])]
        for e in order
        if report.link_flows[e]
    ]
    name = topology.vertex_name
    rows = [
        [
            f"{name(src)} > {name(dst)}",
            volume(nbytes),
            f"{volume(report.rates[i])}/s" if report.routes.hops[i] else "-",
            seconds(float(report.finish_s[i])),
            str(int(report.routes.hops[i])),
        ]
        for i, (src, dst, nbytes) in enumerate(answer.flows[:_ROWS])
    ]
    sections = [
        ("The fabric", _shown(*pictures)),
        ("Flows", _cut(table(["flow", "size", "rate at start", "finish", "links"], rows), answer)),
        ("Busiest links", table(["link", "flows", "bytes"], busy) if busy else Html()),
    ]
    short = [f"{counted(len(answer.flows), 'flow')}; the last ends after {seconds(last)}."]
    return page(f"{stem(source)}: what flows get", topology.summary, bullets(short), sections)


def _cut(content: Html, answer: Flows) -> Html:
    """Say how many flows a table leaves out."""
    left = len(answer.flows) - _ROWS
    return (
        content + paragraph(f"and {left:,} more (--json has all)", "soft") if left > 0 else content
    )


def stem(source: str) -> str:
    """
    Return what a page calls the file that it is about.

    `source`: path, or ``-``.
    """
    return "standard input" if source == "-" else Path(source).name


def _shown(*pictures: tuple[Picture, str]) -> Html:
    """Lay out pictures with their captions."""
    return figures((picture.html(), caption) for picture, caption in pictures)


def _nodes(jobs: Iterable[PlacedJob]) -> dict[str, Ints]:
    """Return the nodes of jobs."""
    return {str(job.id): np.unique(job.partition.nodes) for job in jobs}


def _ends(flows: Sequence[tuple[int, int, float]]) -> Mapping[str, Ints]:
    """Return the ends of flows."""
    return {
        f"flow {place}": np.unique(np.array([src, dst], dtype=np.int64))
        for place, (src, dst, _) in enumerate(flows)
    }


def _load(topology: Topology, links: Sequence[LinkLoad]) -> Floats:
    """Return the share of each link that jobs take together."""
    load = np.zeros(topology.n_links)
    for own in links:
        load[topology.link_number(own.link)] += own.utilization or 0.0
    return load


def _worst(jobs: Sequence[JobEstimate]) -> list[str]:
    """Say which job is slowed most, and by whom."""
    if not jobs:
        return ["No job."]
    worst = max(jobs, key=lambda job: job.network_slowdown)
    if worst.network_slowdown == 1:
        return ["No job is slowed."]
    blame = ""
    if worst.blame:
        culprit, share = worst.blame[0]
        blame = f"; {percent(share, 0)} of what it loses to others is caused by {culprit}"
    return [
        (
            f"{ratio(worst.network_slowdown)} is the largest slowdown, of job {worst.id}: "
            f"interference {ratio(worst.interference)} times "
            f"placement {ratio(worst.placement_factor)}{blame}."
        )
    ]


def _job_table(snapshot: Snapshot, found: Estimate) -> Html:
    """Write the jobs."""
    sizes = {job.id: len(set(job.partition.nodes.tolist())) for job in snapshot.jobs}
    rows = [[str(job.id), str(sizes[job.id]), *_cells(job)] for job in found.jobs]
    return table(["job", "nodes", *_HEADS], rows)


def _cells(job: JobEstimate) -> list[str]:
    """Return what a row says of a job."""
    ratios = (job.network_slowdown, job.interference, job.placement_factor)
    times = (seconds(job.alone_s), seconds(job.together_s))
    return [*times, *(ratio(value) for value in ratios), job.worst_link or "-"]


def _blame(jobs: Sequence[JobEstimate]) -> Html:
    """Draw who costs whom how many seconds per iteration."""
    rows = pd.DataFrame(blame_rows(jobs), columns=["victim", "culprit", "lost"])
    matrix = blame_matrix(rows.assign(lost=rows["lost"] * 1e3))
    if matrix.empty:
        return paragraph("No job costs another anything.")
    picture = blame_picture(
        "blame", matrix, named_most(matrix), title="Victims and culprits", unit="ms per iteration"
    )
    caption = "Time that each victim loses per iteration, by the job that causes it."
    numbers = [
        [str(victim), str(culprit), seconds(float(lost) / 1e3)]
        for victim, row in matrix.iterrows()
        for culprit, lost in row.items()
        if lost > 0
    ]
    heads = ["victim", "culprit", "lost per iteration"]
    return _shown((picture, caption)) + details("The numbers", table(heads, numbers))


def blame_rows(jobs: Sequence[JobEstimate]) -> list[tuple[str, str, float]]:
    """
    Return who costs whom how much.

    Result: seconds per iteration that the victim loses to the culprit.
    """
    return [
        (str(job.id), str(culprit), share * (job.together_s - job.alone_s))
        for job in jobs
        if job.alone_s is not None and job.together_s is not None
        for culprit, share in job.blame
    ]


def _busiest(topology: Topology, load: Floats, links: Sequence[LinkLoad]) -> Html:
    """Write the busiest links with the jobs on them, those of several jobs first."""
    users: dict[str, list[str]] = {}
    for own in links:
        users.setdefault(own.link, []).append(str(own.job))
    busy = {name: float(load[topology.link_number(name)]) for name in users}
    order = sorted(users, key=lambda name: (len(users[name]) == 1, -busy[name]))[:_HOT]
    rows = [[name, percent(busy[name]), listing(users[name])] for name in order]
    return table(["link", "busy", "jobs"], rows) if rows else Html()


def _candidates(found: Estimate) -> Html:
    """Write the other placements, best first."""
    ranked = sorted(found.candidates, key=lambda entry: (str(entry.job.id), entry.rank))
    rows = [
        [
            str(entry.job.id),
            f"{entry.rank}. candidates[{entry.candidate}]",
            *_cells(entry.job)[:4],
            ratio(entry.others_network_slowdown),
        ]
        for entry in ranked
    ]
    heads = ["job", "placement", *_HEADS[:4], "slowdown of others"]
    return table(heads, rows) if rows else Html()
