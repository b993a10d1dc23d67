"""Before and after a change, for people: tables in a terminal."""

from rich.console import RenderableType

from coupling.report.columns import assumptions, table, text_lines
from coupling.report.now import NAME, USER, short_link
from coupling.results import formatting as units
from coupling.site.answers import LostHours
from coupling.site.comparison import JobChange, Ranking, WhatIf
from fabricsim.checking import shortened
from netsim.topology.base import Topology

_JOBS = ("job", "user", "name", "nodes", "before", "after", "change", "5-95 %", "")
_FAILURES = ("fails", "cut off", "slowed", "lost node-h/day", "5-95 %")


def whatif_parts(found: WhatIf, top: int, *, why: bool = True) -> list[RenderableType]:
    """
    Return what a terminal shows of a change.

    Result: for `coupling.report.columns.text_of`; totals first, fits 80 columns.
    """
    parts: list[RenderableType] = [text_lines(*_totals(found))]
    touched = [job for job in found.jobs if job.status or job.low != 1.0 or job.high != 1.0]
    if touched:
        parts.append(table(_JOBS, [_row(job) for job in touched[:top]], left=(0, 1, 2, 8)))
    more, same = len(touched) - top, len(found.jobs) - len(touched)
    lines = [f"{units.counted(more, 'more job')} (--top, --json)."] if more > 0 else []
    lines += [f"{units.counted(same, 'job')} as before."] if same else []
    if lines:
        parts.append(text_lines(*lines))
    if found.leaves:
        rows = [
            (_short_switch(found.topology, leaf.leaf), _taper(leaf.before), _taper(leaf.after))
            for leaf in found.leaves[:top]
        ]
        parts.append(table(("leaf", "taper before", "after"), rows, whole=(0,)))
        if len(found.leaves) > top:
            more_leaves = units.counted(len(found.leaves) - top, "more leaf switch")
            parts.append(text_lines(f"{more_leaves.replace('switchs', 'switches')} (--json)."))
    parts.append(text_lines(*_told(found, why=why)))
    return parts


def ranking_parts(found: Ranking, top: int, *, why: bool = True) -> list[RenderableType]:
    """
    Return what a terminal shows of a ranking.

    Result: for `coupling.report.columns.text_of`.
    """
    head = (
        f"{units.counted(len(found.failures), 'failure')} of one "
        f"{found.kind}, {units.counted(found.draws, 'draw')}"
    )
    short = _short_switch if found.kind == "switch" else short_link
    rows = [
        (
            short(found.topology, failure.what),
            f"{failure.cut_off:,}",
            f"{failure.slowed:,}",
            units.number(failure.lost_node_hours),
            f"{units.number(failure.low)} to {units.number(failure.high)}",
        )
        for failure in found.failures[:top]
    ]
    read = (
        "cut off: jobs that lose nodes or the paths between them; slowed: others that get more "
        "than 1 % slower; lost: node-hours lost in a day beyond those lost now, median, as --fail "
        "tells for one."
    )
    more = len(found.failures) - top
    lines = [f"{units.counted(more, 'more failure')} (--top, --json)."] if more > 0 else []
    if found.idle:
        lines.append(f"{units.counted(found.idle, 'cable')} without traffic now, not tried.")
    return [
        text_lines(found.topology.summary, head),
        table(_FAILURES, rows, whole=(0,)),
        text_lines(*lines, read, *_told(found, why=why)),
    ]


def _short_switch(topology: Topology, name: str) -> str:
    """Write a switch as sites call it, in a form that `whatif --fail` takes."""
    return topology.names.short(topology.vertex_number(name))


def _totals(found: WhatIf) -> list[str]:
    """Sum a change up."""
    lines = [
        found.topology.summary,
        (
            f"{units.counted(len(found.jobs), 'job')}, "
            f"{units.counted(found.draws, 'draw')}: {'; '.join(found.changes)}"
        ),
    ]
    if found.cut_off:
        lines.append(
            f"Cut off or disconnected: {units.counted(found.cut_off, 'job')}, "
            f"{units.number(found.cut_off_hours)} node-hours a day."
        )
    lines.append(
        f"Node-hours lost in a day by those that go on: {_span(found.lost_before)} before, "
        f"{_span(found.lost_after)} after (median, 5-95 %)."
    )
    lines.append(
        f"Lost in a day beyond those lost now: {_span(found.lost_more)} node-hours, with those cut "
        "off."
    )
    return lines


def _span(lost: LostHours) -> str:
    """Write node-hours with their interval."""
    low, middle, high = (units.number(value) for value in (lost.low, lost.median, lost.high))
    return f"{middle} ({low} to {high})"


def _told(found: WhatIf | Ranking, *, why: bool = True) -> list[str]:
    """Say what was assumed, or is odd."""
    return [*assumptions(found.assumed, why=why), *found.remarks]


def _row(job: JobChange) -> tuple[str, ...]:
    """Return what a line says of a job."""
    lost = f": {units.counted(job.lost_nodes, 'node')}" if job.lost_nodes else ""
    spread = units.MISSING if job.low is None else f"{job.low:.2f}-{job.high:.2f}"
    return (
        str(job.id),
        shortened(job.user, USER) or units.MISSING,
        shortened(job.name, NAME) or units.MISSING,
        f"{job.nodes:,}",
        units.ratio(job.before),
        units.ratio(job.after),
        units.change(job.change),
        spread,
        f"{job.status}{lost}",
    )


def _taper(taper: float | None) -> str:
    """Write a taper."""
    return units.MISSING if taper is None else f"{taper:.3g}"
