"""A moment to look at: the jobs of a snapshot, what its page shows and what happens in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from bokeh.events import MouseMove, Tap

from coupling.explorer.address import Address
from coupling.explorer.channel import Follower
from coupling.explorer.figures import Figure
from coupling.explorer.network import Fabric, Look
from coupling.explorer.panel import (
    MOST,
    PanelSection,
    TableCell,
    blame_cells,
    list_section,
    panel_html,
    pattern_of,
    picture_section,
    to_cable,
    to_job,
)
from coupling.inputs.snapshot import PlacedJob, Snapshot, read_snapshot
from coupling.report.columns import seconds
from coupling.report.estimate import stem
from coupling.report.pictures import blame_rows, moment_scene
from coupling.report.plots.blame import blame_matrix
from coupling.report.plots.fabric import job_colours
from coupling.results.formatting import percent, ratio, volume
from coupling.site.estimate import Estimate, JobEstimate, LinkLoad, estimate
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import TopologyError
from netsim.registries.accuracy import accuracy_line

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


_MOST_JOBS = 500  # that the panel lists


def moment_panel(moment: Moment, address: Address) -> str:
    """Return the panel."""
    return panel_html(_panel_sections(moment, address))


def _panel_sections(moment: Moment, address: Address) -> Iterator[PanelSection]:
    """Yield what is said of the chosen link, then of the chosen job or of all."""
    link = moment.link(address.cable)
    if link is not None:
        yield from _cable_sections(moment, address, link)
    elif address.cable:
        yield PanelSection(text=f"No link {address.cable} is in the fabric.", role="alert")
    own = moment.estimates.get(address.job)
    if own is not None:
        yield from _job_sections(moment, own, address)
        return
    unknown = f"No job {address.job} is in the snapshot." if address.job else ""
    yield PanelSection("Jobs", large=True, text=unknown, role="alert" if unknown else "")
    left = len(moment.jobs) - _MOST_JOBS
    yield list_section("By slowdown", ("job", "nodes", "slowdown", "by others"),
                       _job_rows(moment, address), "No job.",
                       more=f"and {left} more" if left > 0 else "")  # fmt: skip
    yield list_section("Busiest links", ("link", "busy", "jobs"), _busiest_rows(moment, address),
                       "No link carries anything.")  # fmt: skip
    yield PanelSection(text=accuracy_line(moment.found.setting, moment.found.busiest), soft=True)


def blame_table(moment: Moment) -> list[list[TableCell]]:
    """Return the table of victims and culprits; empty without losses."""
    if moment.blame.empty:
        return []
    return blame_cells(moment.blame, {name: to_job(Address(), name).href for name in moment.jobs})


def moment_line(moment: Moment, name: str) -> str:
    """Say what a job is, in a line."""
    own = moment.estimates[name]
    size = moment.nodes[name].size
    return f"job {name}: {size} nodes, slowdown {ratio(own.network_slowdown)}"


def _job_rows(moment: Moment, address: Address) -> list[list[TableCell]]:
    """Return the jobs, those that lose most first."""
    found = sorted(moment.found.jobs, key=lambda own: -own.network_slowdown)[:_MOST_JOBS]
    return [
        [
            replace(to_job(address, str(own.id)), colour=moment.colours[str(own.id)]),
            TableCell(str(moment.nodes[str(own.id)].size)),
            TableCell(ratio(own.network_slowdown)),
            TableCell(ratio(own.interference)),
        ]
        for own in found
    ]


def _job_sections(moment: Moment, own: JobEstimate, address: Address) -> Iterator[PanelSection]:
    """Yield what is said of the chosen job."""
    name = str(own.id)
    placed = moment.jobs[name]
    flows = placed.flows
    assert flows is not None  # noqa: S101 (the estimate has seen to it)
    facts = [
        ("nodes", f"{moment.nodes[name].size:,}"),
        ("sends", f"{volume(float(flows.nbytes.sum()))} an iteration"),
        ("iteration alone", seconds(own.alone_s)),
        ("iteration among the others", seconds(own.together_s)),
        ("slowdown", ratio(own.network_slowdown)),
        ("by other jobs", ratio(own.interference)),
        ("by its placement", ratio(own.placement_factor)),
    ]
    worst = None if own.worst_link is None else to_cable(address, own.worst_link)
    text = "" if worst is None else "It is held up most on"
    yield PanelSection(f"Job {name}", large=True, facts=facts, text=text, link=worst)
    yield picture_section(pattern_of(flows, placed.partition.nodes.size), "It sends nothing.")
    delay_s = (own.together_s or 0.0) - (own.alone_s or 0.0)
    culprits = [(str(culprit), share * delay_s) for culprit, share in own.blame]
    victims = [
        (str(other.id), share * ((other.together_s or 0.0) - (other.alone_s or 0.0)))
        for other in moment.found.jobs
        for culprit, share in other.blame
        if str(culprit) == name
    ]
    yield list_section("Culprits", ("job", "cost an iteration"), _other_rows(culprits, address),
                       "None.")  # fmt: skip
    yield list_section("Victims", ("job", "loses an iteration"), _other_rows(victims, address),
                       "None.")  # fmt: skip


def _other_rows(lost: list[tuple[str, float]], address: Address) -> list[list[TableCell]]:
    """Return jobs and what they cost or lose, the worst first."""
    dear = sorted((pair for pair in lost if pair[1] > 0), key=lambda pair: -pair[1])
    return [[to_job(address, name), TableCell(seconds(cost))] for name, cost in dear[:MOST]]


def _cable_sections(moment: Moment, address: Address, link: int) -> Iterator[PanelSection]:
    """Yield what is said of the chosen link."""
    topology, users = moment.snapshot.topology, moment.users.get(address.cable, [])
    facts = [
        ("class", topology.link_class(link)),
        ("capacity", f"{volume(float(topology.capacity[link]))}/s"),
        ("busy", percent(float(moment.load[link]))),
    ]
    back = topology.link_name(int(topology.reverse[link]))
    yield PanelSection(f"Link {address.cable}", large=True, facts=facts, text="The way back is",
                  link=to_cable(address, back))  # fmt: skip
    rows = [
        [
            to_job(address, str(own.job)),
            TableCell(percent(own.utilization)),
            TableCell(volume(own.nbytes)),
        ]
        for own in sorted(users, key=lambda own: -(own.utilization or 0.0))
    ]
    yield list_section("Jobs on it", ("job", "share", "an iteration"), rows, "None.")


def _busiest_rows(moment: Moment, address: Address) -> list[list[TableCell]]:
    """Return the busiest links with how many jobs use them."""
    numbers = {name: moment.snapshot.topology.link_number(name) for name in moment.users}
    order = sorted(numbers, key=lambda name: -moment.load[numbers[name]])[:MOST]
    return [
        [
            to_cable(address, name),
            TableCell(percent(float(moment.load[numbers[name]]))),
            TableCell(str(len(moment.users[name]))),
        ]
        for name in order
    ]


_TALL = 520  # pixels of the fabric


class MomentSession(Follower):
    """One open page of a moment."""

    def __init__(self, moment: Moment) -> None:
        super().__init__(())
        self.moment = moment
        self.fabric = Fabric(height=_TALL)
        self.fabric.plot.on_event(Tap, self._on_tap)
        self.fabric.plot.on_event(MouseMove, self._on_move)

    @property
    def plots(self) -> list[Figure]:
        """Return all figures."""
        return [self.fabric.plot]

    def follow(self, address: Address) -> None:
        """Show what an address says."""
        self.address = Address(job=address.job, cable=address.cable)
        self.dress()
        self.soon()

    def draw(self) -> None:
        """Draw the fabric, and say what was chosen."""
        self.channel.missing = self.fabric.draw(self.moment.look(self.address))
        self.channel.shown = self.address.written()
        self.channel.details = moment_panel(self.moment, self.address)
        self.channel.drawn += 1

    def step(self, by: int) -> None:
        """Choose the next job of the snapshot, or the one before."""
        names = list(self.moment.jobs)
        if not names:
            return
        if self.address.job in self.moment.jobs:
            place = (names.index(self.address.job) + by) % len(names)
        else:
            place = 0 if by > 0 else -1
        self.address = replace(self.address, job=names[place])
        self.soon()

    def _on_tap(self, event: Tap) -> None:
        """Choose the job on the node, or the cable, that was clicked."""
        if event.x is None or event.y is None:
            return
        node = self.fabric.node_at(event.x, event.y)
        if node is None:
            cable = self.fabric.cable_at(event.x, event.y)
            self.address = replace(self.address, cable=cable)
        else:
            self.address = replace(self.address, job=self.moment.owner.get(node, ""))
        self.soon()

    def _on_move(self, event: MouseMove) -> None:
        """Say what is under the pointer."""
        if event.x is None or event.y is None:
            return
        node = self.fabric.node_at(event.x, event.y)
        topology = self.moment.snapshot.topology
        if node is None:
            self.channel.pointed = self.fabric.cable_at(event.x, event.y)
            return
        owner = self.moment.owner.get(node)
        owner_line = "idle" if owner is None else moment_line(self.moment, owner)
        self.channel.pointed = f"{topology.vertex_name(node)}: {owner_line}"
