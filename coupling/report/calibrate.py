"""A calibration, for people: tables in a terminal, and a page."""

from collections.abc import Sequence

import numpy as np
from rich.console import RenderableType

from coupling.calibration.answers import Calibration, GroupFit, LinkFit, SlowCable
from coupling.report.columns import assumptions, text_lines
from coupling.report.columns import table as terminal_table
from coupling.report.now import short_link
from coupling.report.page import Html, bullets, figures, page, table
from coupling.results import formatting as units
from fabricsim.checking import shortened
from netsim.topology.base import Topology

_GROUPS = ("jobs of", "jobs", "nodes", "pattern", "fraction", "90 %", "MB/s node", "slowed")
_LINKS = ("cable", "measured", "predicted", "deviations", "waited")
_SLOW = ("slow cable", "measured", "predicted", "speed", "jobs on it")
_NAME, _PATTERN = 12, 14
_USERS = 3
_FAR = 4.0
_READ = (
    "fraction: communication at full speed / time of an iteration that nobody slows down; slowed: "
    "together / ideal, mean; measured, predicted: share of the cable's capacity; speed: of the "
    "nominal one. A pattern with + : others fit nearly as well."
)
_READ_RUNS = (
    "fraction: communication at full speed / time of an iteration that nobody slows down, from how "
    "run times grow with predicted interference; slowed: together / ideal, mean."
)


def calibration_parts(found: Calibration, top: int, *, why: bool = True) -> list[RenderableType]:
    """
    Return what a terminal shows of a calibration.

    Result: for `coupling.report.columns.text_of`; totals first, fits 80 columns.
    """
    parts: list[RenderableType] = [text_lines(*_totals(found))]
    rows = [_group_row(group) for group in found.groups[:top]]
    parts.append(terminal_table(_GROUPS, rows, left=(0, 3)))
    if len(found.groups) > top:
        parts.append(
            text_lines(f"{units.counted(len(found.groups) - top, 'more group')} (--top, --json).")
        )
    if found.slow:
        rows = [_slow_row(cable, found.topology) for cable in found.slow[:top]]
        parts.append(terminal_table(_SLOW, rows, left=(0, 4), whole=(0,)))
        parts.append(text_lines(*_reasons(found, top)))
    if found.links:
        rows = [_link_row(link, found.topology) for link in _shown(found.links, top)]
        parts.append(terminal_table(_LINKS, rows, whole=(0,)))
    parts.append(
        text_lines(_READ if found.way == "counters" else _READ_RUNS, *_told(found, why=why))
    )
    return parts


def calibration_html(found: Calibration) -> str:
    """Return a page about a calibration."""
    first, *rest = _totals(found)
    sections = [
        ("How jobs communicate", table(_GROUPS, [_group_row(own) for own in found.groups])),
        ("Cables that are slower than they should be", _slow(found)),
        ("Predicted against measured", _drawn(found)),
        ("How to read this", bullets([_READ, *_told(found)])),
    ]
    return page("How the jobs of this machine communicate", first, bullets(rest), sections)


def profile_head(found: Calibration) -> list[str]:
    """Return the comment at the head of a profile."""
    lines = [
        f"How jobs communicate, fitted to {_meant(found)} ({shortened(found.source)}).",
        "Fractions are 90 % intervals. The rules below the fitted ones are those that were given.",
    ]
    lines += [
        f"{group.group}: {group.why}; its rule is as it was."
        for group in found.groups
        if not group.identifiable
    ]
    return lines


def _meant(found: Calibration) -> str:
    """Say what a calibration was told by."""
    if found.way == "runs":
        return "repeated runs"
    return f"counters of ports, {found.seconds:.0f} s apart"


def _totals(found: Calibration) -> list[str]:
    """Sum a calibration up."""
    told = sum(group.identifiable for group in found.groups)
    jobs = sum(group.jobs for group in found.groups)
    lines = [
        found.topology.summary,
        (
            f"{_meant(found)}; {units.counted(jobs, 'job')} in "
            f"{units.counted(len(found.groups), 'group')}, {told:,} told"
        ),
    ]
    if found.way == "counters":
        lines.append(
            f"Jobs explain {units.percent(found.explained)} of the measured bytes; residuals are "
            f"{found.noise:.1f} times what counters alone may be off."
        )
    return lines


def _shown(links: Sequence[LinkFit], top: int) -> list[LinkFit]:
    """Return the busiest links, and those that are furthest from what is predicted."""
    far = sorted(links, key=lambda link: -abs(link.deviations))[:top]
    wanted = {link.link for link in links[:top]}
    wanted |= {link.link for link in far if abs(link.deviations) > _FAR}
    return [link for link in links if link.link in wanted]


def _group_row(group: GroupFit) -> tuple[str, ...]:
    """Return what a line says of a group."""
    interval = f"{group.low:.3f}-{group.high:.3f}" if group.identifiable else "not told"
    return (
        shortened(group.group, _NAME),
        f"{group.jobs:,}",
        f"{group.nodes:,}",
        shortened(group.pattern, _PATTERN) + (" +" if group.others else ""),
        units.MISSING if group.fraction != group.fraction else f"{group.fraction:.3f}",
        interval,
        units.number(group.bytes_per_s / 1e6),
        units.ratio(group.network_slowdown),
    )


def _link_row(link: LinkFit, topology: Topology) -> tuple[str, ...]:
    """Return what a line says of a link."""
    return (
        short_link(topology, link.link),
        units.percent(link.measured),
        units.percent(link.predicted),
        f"{link.deviations:+.1f}",
        units.percent(link.waited, 0),
    )


def _slow_row(cable: SlowCable, topology: Topology) -> tuple[str, ...]:
    """Return what a line says of a slow cable."""
    more = len(cable.jobs) - _USERS
    users = ", ".join(map(str, cable.jobs[:_USERS])) + (f" and {more} more" if more > 0 else "")
    return (
        short_link(topology, cable.link),
        units.percent(cable.measured),
        units.percent(cable.predicted),
        units.percent(cable.speed, 0),
        users,
    )


def _reasons(found: Calibration, top: int | None = None) -> list[str]:
    """Say what tells that cables are slow."""
    return [f"{short_link(found.topology, cable.link)}: {cable.why}." for cable in found.slow[:top]]


def _slow(found: Calibration) -> Html:
    """List slow cables, with what says so."""
    if not found.slow:
        return Html()
    rows = [_slow_row(cable, found.topology) for cable in found.slow]
    return table(_SLOW, rows) + bullets(_reasons(found))


def _drawn(found: Calibration) -> Html:
    """Draw predicted against measured load, and list the links."""
    if not found.links:
        return Html()
    from coupling.report.plots.calibration import predicted_measured  # noqa: PLC0415 (matplotlib)

    measured = np.array([link.measured for link in found.links])
    predicted = np.array([link.predicted for link in found.links])
    picture = predicted_measured("fit", predicted, measured)
    caption = "A dot for each directed cable between switches; on the line, both agree."
    rows = [_link_row(link, found.topology) for link in found.links]
    return figures([(picture.html(), caption)]) + table(_LINKS, rows)


def _told(found: Calibration, *, why: bool = True) -> list[str]:
    """Say what was assumed, what is odd and what cannot be told."""
    lines = assumptions(found.assumed, why=why)
    lines += [f"{group.group}: {group.why}." for group in found.groups if group.why]
    lines += [
        f"{group.group}: {units.listing([group.pattern, *group.others])} fit alike."
        for group in found.groups
        if group.others and group.identifiable
    ]
    return [*lines, *found.remarks]
