"""What runs on a machine now, for people: tables in a terminal, and a page."""

from collections.abc import Sequence

import numpy as np
from rich.console import RenderableType

from coupling.report.columns import assumptions, text_lines
from coupling.report.columns import table as terminal_table
from coupling.report.page import Html, bullets, figures, page, table
from coupling.results import formatting as units
from coupling.site.answers import JobNow, LinkNow, LostHours, Now
from fabricsim.checking import shortened
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


def terminal_parts(found: Now, top: int, *, why: bool = True) -> list[RenderableType]:
    """
    Return what a terminal shows of a machine.

    Result: for `coupling.report.columns.text_of`; totals first, fits 80 columns.
    """
    parts: list[RenderableType] = [text_lines(*totals(found))]
    rows = [_narrow(_job_row(job, found.topology)) for job in found.jobs[:top]]
    parts.append(terminal_table(_JOBS, rows, left=_LEFT, whole=(8,)))
    more = len(found.jobs) - top
    if more > 0:
        slowed = sum(job.high > 1.0 for job in found.jobs[top:])
        parts.append(
            text_lines(
                f"{units.counted(more, 'more job')}; slowed down in some draw: {slowed:,} "
                "(--top, --json)."
            )
        )
    if found.links:
        rows = [_link_row(link, found.topology) for link in found.links[:top]]
        parts.append(terminal_table(_LINKS, rows, left=(0, 3), whole=(0,)))
    parts.append(text_lines(_READ, *told(found, why=why)))
    return parts


def now_html(found: Now) -> str:
    """Return a page about a machine."""
    first, *rest = totals(found)
    sections = [
        (
            "Jobs, most slowed first",
            table(_JOBS, [_job_row(job, found.topology) for job in found.jobs]),
        ),
        ("Hottest cables", _drawn(found)),
        ("How to read this", bullets([_READ, *told(found)])),
    ]
    return page("What jobs do to each other now", first, bullets(rest), sections)


def _drawn(found: Now) -> Html:
    """Draw the hottest cables on the fabric, and list them."""
    rows = _rows(_LINKS, [_link_row(link, found.topology) for link in found.links])
    if not found.links:
        return rows
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
    return figures([(picture.html(), caption)]) + rows


def totals(found: Now) -> list[str]:
    """Sum a machine up."""
    nodes = found.topology.usable_nodes.size
    left = sum(found.left_out.values())
    first = (
        f"{units.counted(len(found.jobs), 'job')} on "
        f"{found.used_nodes:,} of {units.counted(nodes, 'node')}, {left:,} left out, "
        f"{units.counted(found.draws, 'draw')}"
    )
    return [
        found.topology.summary,
        first,
        f"Lost in a day: {_hours(found.lost)}; of these to other jobs {_hours(found.to_others)}.",
    ]


def told(found: Now, *, why: bool = True) -> list[str]:
    """Say what was assumed, left out, not found, or is odd."""
    lines = assumptions(found.assumed, why=why)
    if found.left_out:
        reasons = [f"{count:,} {reason}" for reason, count in found.left_out.items()]
        lines.append(f"Jobs left out: {units.listing(reasons)}.")
    return [*lines, *found.remarks, accuracy_line(found.setting)]


def _hours(lost: LostHours) -> str:
    """Write node-hours with their interval."""
    low, high = (units.number(value) for value in (lost.low, lost.high))
    return f"{units.number(lost.median)} node-hours (5-95 %: {low} to {high})"


def _job_row(job: JobNow, topology: Topology) -> tuple[str, ...]:
    """Return what a line says of a job."""
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


def _narrow(row: tuple[str, ...]) -> tuple[str, ...]:
    """Cut long names of users and jobs, so that a line fits."""
    job, user, name, *rest = row
    return (job, shortened(user, USER), shortened(name, NAME), *rest)


def _link_row(link: LinkNow, topology: Topology) -> tuple[str, ...]:
    """Return what a line says of a cable."""
    users = [f"{job} {units.percent(share, 0)}" for job, share in link.jobs[:_USERS]]
    more = len(link.jobs) - _USERS
    return (
        short_link(topology, link.link),
        units.percent(link.busy, 0),
        units.number(link.lost_node_hours),
        ", ".join(users) + (f" and {more} more" if more > 0 else ""),
    )


def _rows(heads: Sequence[str], rows: list[tuple[str, ...]]) -> Html:
    """Write rows as a table; nothing where there are none."""
    return table(heads, rows) if rows else Html()
