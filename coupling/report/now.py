"""What runs on a machine now, and placements of one more job, for people."""

import numpy as np

from coupling.report.answer import Answer, Pictures, Section
from coupling.report.columns import assumptions
from coupling.results import formatting as units
from coupling.site.answers import JobNow, LinkNow, LostHours, Now
from coupling.site.placement_options import EarliestFit, PlacementOption, Placing
from fabricsim.checking import first_names
from netsim.registries.accuracy import accuracy_line
from netsim.topology.base import Topology

_JOBS = ("job", "user", "name", "nodes", "slowed", "5-95 %", "top 5", "by", "cable")
_LINKS = ("cable", "busy", "lost node-h/day", "jobs on it")
_LEFT = (0, 1, 2, 7, 8)
_USERS = 3  # jobs that a line names
NAME, USER = 9, 8
"""Letters of the names of jobs and users that a line of a terminal shows."""
_READ = (
    "slowed: median of together / ideal (1 is exact); top 5: how often the job is among the five "
    "slowest; by: the job that costs it most; cable: where it waits most; lost node-h/day: "
    "node-hours lost to others while this cable holds them up most."
)


def now_answer(found: Now, top: int | None = None, *, why: bool = True) -> Answer:
    """Return what runs on a machine now: its jobs and its cables."""
    shown = [_job_row(job, found.topology) for job in found.jobs[:top]]
    more = []
    if top is not None and len(found.jobs) > top:
        slowed = sum(job.high > 1.0 for job in found.jobs[top:])
        left = units.counted(len(found.jobs) - top, "more job")
        more = [f"{left}; slowed down in some sample: {slowed:,} (--top, --json)."]
    letters = {} if top is None else {1: USER, 2: NAME}
    jobs = Section(
        "Jobs, most slowed first",
        _JOBS,
        shown,
        left=_LEFT,
        whole=_LEFT,
        letters=letters,
        notes=more,
    )
    cables = Section(
        "Hottest cables",
        _LINKS,
        [_link_row(link, found.topology) for link in found.links[:top]],
        left=(0, 3),
        whole=(0,),
        pictures=lambda: _cable_pictures(found),
    )
    closing = [_READ, *_note_lines(found, why=why)]
    return Answer("What jobs do to each other now", _total_lines(found), [jobs, cables], closing)


def _cable_pictures(found: Now) -> Pictures:
    """Draw the hottest cables on the fabric."""
    if not found.links:
        return []
    from coupling.report.plots.fabric import FabricScene, fabric_picture  # noqa: PLC0415 (matplotlib)

    load = np.zeros(found.topology.n_links)
    for link in found.links:
        load[found.topology.link_number(link.link)] = link.busy
    jobs = {str(job): nodes for job, nodes in found.job_nodes.items()}
    picture = fabric_picture(
        "fabric", FabricScene(found.topology, load, jobs=jobs), "Jobs and cables"
    )
    caption = (
        f"Nodes in the colour of their job, grey: none. Cables: load of the {len(found.links)} "
        "directed links listed below."
    )
    return [(picture.html(), caption)]


def _total_lines(found: Now) -> list[str]:
    """Return the totals of a machine."""
    nodes = found.topology.usable_nodes.size
    left = sum(found.left_out.values())
    first = (
        f"{units.counted(len(found.jobs), 'job')} on "
        f"{found.used_nodes:,} of {units.counted(nodes, 'node')}, {left:,} left out, "
        f"{units.counted(found.samples, 'sample')}"
    )
    return [
        found.topology.summary,
        first,
        (
            f"Lost in a day: {_hours_text(found.lost)}; of these to other jobs "
            f"{_hours_text(found.to_others)}."
        ),
    ]


def _note_lines(found: Now, *, why: bool = True) -> list[str]:
    """Return what was assumed, left out, not found, or is odd."""
    lines = assumptions(found.assumed, why=why)
    if found.left_out:
        reasons = [f"{count:,} {reason}" for reason, count in found.left_out.items()]
        lines.append(f"Jobs left out: {units.listing(reasons)}.")
    return [*lines, *found.remarks, accuracy_line(found.setting, found.busiest)]


def _hours_text(lost: LostHours) -> str:
    """Write node-hours with their interval."""
    low, high = (units.number(value) for value in (lost.low, lost.high))
    return f"{units.number(lost.median)} node-hours (5-95 %: {low} to {high})"


def _job_row(job: JobNow, topology: Topology) -> tuple[str, ...]:
    return (
        str(job.id),
        job.user or units.MISSING,
        job.name or units.MISSING,
        f"{job.nodes:,}",
        units.ratio(job.network_slowdown),
        f"{job.low:.2f}-{job.high:.2f}",
        units.percent(job.among_worst, 0),
        units.MISSING if job.culprit is None else str(job.culprit),
        short_link(topology, job.worst_link) if job.worst_link else units.MISSING,
    )


def short_link(topology: Topology, name: str) -> str:
    """Write a directed link as sites call it, in a form that `whatif --fail` takes."""
    return topology.names.short_link(topology.link_number(name))


def _link_row(link: LinkNow, topology: Topology) -> tuple[str, ...]:
    """Return the row of a cable."""
    users = [f"{job} {units.percent(share, 0)}" for job, share in link.jobs]
    return (
        short_link(topology, link.link),
        units.percent(link.busy, 0),
        units.number(link.lost_node_hours),
        first_names(users, _USERS),
    )


_PLACE_HEADS = ("", "slowed", "5-95 %", "own lost", "others'", "most hurt", "by")
PAGE_ROWS = 50
"""Placements that a page shows."""
_LINKS_NAMED = 3  # links that a line names
_READ_PLACES = (
    "slowed: together / ideal of the new job, median; own lost, others': node-hours lost in a day, "
    "by the new job, and by the others more than without it; by: allocator that proposes it."
)


def place_answer(found: Placing, top: int | None = None, *, why: bool = True) -> Answer:
    """Return placements of one more job, least loss first."""
    shown = list(enumerate(found.options[:top], start=1))
    copied = [f"{place} --nodelist={own.nodelist}" for place, own in shown]
    if found.isolated:
        copied += [f"{place} {_link_line(own)}" for place, own in shown]
    if not shown and found.later is not None:
        copied = [f"--nodelist={found.later.nodelist}"]
    placements = Section(
        "Placements, best first" if shown else "The earliest placement",
        _PLACE_HEADS,
        [_option_row(place, own) for place, own in shown],
        left=(0, 5, 6),
        copied=copied,
    )
    closing = [*([_READ_PLACES] if shown else []), *_placing_notes(found, why=why)]
    title = "Where one more job would run best"
    return Answer(title, _placing_lines(found), [placements], closing)


def _placing_lines(found: Placing) -> list[str]:
    """Return what was looked for and found."""
    apart = " on links of their own" if found.isolated else ""
    first = (
        f"{found.nodes:,} nodes wanted{apart}; "
        f"{units.counted(found.samples, 'sample')}; {found.free:,} free"
    )
    if found.connected < found.free:
        first += f" (at most {found.connected:,} that reach each other)"
    if not found.options:
        return [found.topology.summary, first, _wait_line(found.later, isolated=found.isolated)]
    best = min(found.options, key=lambda own: own.own_node_hours)
    kindest = min(found.options, key=lambda own: own.others_node_hours)
    number = {own: place for place, own in enumerate(found.options, start=1)}
    how = "all that there are" if found.all_tried else "of allocators and a search from them"
    return [
        found.topology.summary,
        first,
        (
            f"{units.counted(found.tried, 'placement')} rated ({how}), least loss of all first; "
            f"best for itself: {number[best]}, for the others: {number[kindest]}."
        ),
    ]


def _wait_line(later: EarliestFit | None, *, isolated: bool) -> str:
    """Return when enough nodes will be free."""
    what = "isolated placement" if isolated else "placement"
    if later is None:
        return f"No {what} now, and none that time limits of running jobs promise."
    return (
        f"No {what} now. At the latest at {later.clock} (in {units.duration(later.wait_s)}), when "
        f"{units.counted(len(later.ended), 'job')} reached the time limit, if no other job starts."
    )


def _option_row(place: int, own: PlacementOption) -> tuple[str, ...]:
    hurt = units.MISSING
    if own.most_hurt is not None:
        hurt = f"{own.most_hurt} {units.change(own.most_hurt_by)}"
    return (
        str(place),
        units.ratio(own.network_slowdown),
        f"{own.low:.2f}-{own.high:.2f}",
        units.number(own.own_node_hours),
        units.number(own.others_node_hours),
        hurt,
        first_names(own.allocators, 1) or units.MISSING,
    )


def _link_line(own: PlacementOption) -> str:
    """Return the links that a placement owns, and the proof that it is non-blocking."""
    some = f"{units.counted(len(own.links), 'link')}: {first_names(own.links, _LINKS_NAMED)}"
    links = some if own.links else "no links"
    return f"owns {links}; isolated and non-blocking: {own.proof}"


def _placing_notes(found: Placing, *, why: bool = True) -> list[str]:
    """Return what was assumed and is odd, and allocators for other fabrics."""
    lines = assumptions(found.assumed, why=why)
    if found.refused:
        lines.append(f"Allocators that do not know this fabric: {', '.join(found.refused)}.")
    return [*lines, *found.remarks]
