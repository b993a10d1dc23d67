"""A calibration, for people."""

from collections.abc import Sequence

import numpy as np

from coupling.calibration.answers import Calibration, GroupFit, LinkFit, SlowCable
from coupling.report.answer import Answer, Pictures, Section, more
from coupling.report.columns import assumptions
from coupling.report.now import short_link
from coupling.results import formatting as units
from fabricsim.checking import first_names, shortened
from netsim.topology.base import Topology

_GROUPS = ("jobs of", "jobs", "nodes", "pattern", "fraction", "90 %", "MB/s node", "slowed")
_LINKS = ("cable", "measured", "predicted", "deviations", "waited")
_SLOW = ("slow cable", "measured", "predicted", "speed", "jobs on it")
_NAME, _PATTERN = 12, 14
_USERS = 3
_FAR = 4.0
_READ = (
    "fraction: communication at full speed / time of an iteration without interference; slowed: "
    "together / ideal, mean; measured, predicted: share of the cable's capacity; speed: of the "
    "nominal one. A pattern with + : others fit nearly as well."
)
_READ_RUNS = (
    "fraction: communication at full speed / time of an iteration without interference, from how "
    "run times grow with predicted interference; slowed: together / ideal, mean."
)


def calibration_answer(found: Calibration, top: int | None = None, *, why: bool = True) -> Answer:
    """Return how groups of jobs communicate, slow cables, and the fit of each link."""
    links = found.links if top is None else _extreme_links(found.links, top)
    reasons = [f"{short_link(found.topology, own.link)}: {own.why}." for own in found.slow[:top]]
    sections = [
        Section(
            "How jobs communicate",
            _GROUPS,
            [_group_row(group) for group in found.groups[:top]],
            left=(0, 3),
            notes=more(found.groups, top, "group", "--top, --json"),
        ),
        Section(
            "Cables that are slower than they should be",
            _SLOW,
            [_slow_row(cable, found.topology) for cable in found.slow[:top]],
            left=(0, 4),
            whole=(0,),
            notes=reasons,
        ),
        Section(
            "Predicted against measured",
            _LINKS,
            [_link_row(link, found.topology) for link in links],
            whole=(0,),
            pictures=lambda: _fit_pictures(found),
        ),
    ]
    closing = [_READ if found.way == "counters" else _READ_RUNS, *_note_lines(found, why=why)]
    title = "How the jobs of this machine communicate"
    return Answer(title, _total_lines(found), sections, closing)


def profile_head(found: Calibration) -> list[str]:
    """Return the comment at the head of a profile."""
    lines = [
        f"How jobs communicate, fitted to {_measured_by(found)} ({shortened(found.source)}).",
        "Fractions are 90 % intervals. The rules below the fitted ones are those that were given.",
    ]
    lines += [
        f"{group.group}: {group.why}; its rule is as it was."
        for group in found.groups
        if not group.identifiable
    ]
    return lines


def _measured_by(found: Calibration) -> str:
    """Return what a calibration is fitted to."""
    if found.way == "runs":
        return "repeated runs"
    return f"counters of ports, {found.seconds:.0f} s apart"


def _total_lines(found: Calibration) -> list[str]:
    identified = sum(group.identifiable for group in found.groups)
    jobs = sum(group.jobs for group in found.groups)
    lines = [
        found.topology.summary,
        (
            f"{_measured_by(found)}; {units.counted(jobs, 'job')} in "
            f"{units.counted(len(found.groups), 'group')}, {identified:,} identified"
        ),
    ]
    if found.way == "counters":
        lines.append(
            f"Jobs explain {units.percent(found.explained)} of the measured bytes; residuals are "
            f"{found.noise:.1f} times what counters alone may be off."
        )
    return lines


def _extreme_links(links: Sequence[LinkFit], top: int) -> list[LinkFit]:
    """Return the busiest links, and those that are furthest from what is predicted."""
    far = sorted(links, key=lambda link: -abs(link.deviations))[:top]
    wanted = {link.link for link in links[:top]}
    wanted |= {link.link for link in far if abs(link.deviations) > _FAR}
    return [link for link in links if link.link in wanted]


def _group_row(group: GroupFit) -> tuple[str, ...]:
    interval = f"{group.low:.3f}-{group.high:.3f}" if group.identifiable else "unknown"
    return (
        shortened(group.group, _NAME),
        f"{group.jobs:,}",
        f"{group.nodes:,}",
        shortened(group.pattern, _PATTERN) + (" +" if group.others else ""),
        units.MISSING if group.fraction != group.fraction else f"{group.fraction:.3f}",
        interval,
        units.number(round(group.bytes_per_s / 1e6, 3)),
        units.ratio(group.network_slowdown),
    )


def _link_row(link: LinkFit, topology: Topology) -> tuple[str, ...]:
    return (
        short_link(topology, link.link),
        units.percent(link.measured),
        units.percent(link.predicted),
        f"{link.deviations:+.1f}",
        units.percent(link.waited, 0),
    )


def _slow_row(cable: SlowCable, topology: Topology) -> tuple[str, ...]:
    return (
        short_link(topology, cable.link),
        units.percent(cable.measured),
        units.percent(cable.predicted),
        units.percent(cable.speed, 0),
        first_names([*map(str, cable.jobs)], _USERS),
    )


def _fit_pictures(found: Calibration) -> Pictures:
    """Draw predicted against measured load."""
    if not found.links:
        return []
    from coupling.report.plots.links import predicted_measured  # noqa: PLC0415 (matplotlib)

    measured = np.array([link.measured for link in found.links])
    predicted = np.array([link.predicted for link in found.links])
    picture = predicted_measured("fit", predicted, measured)
    caption = "A dot for each directed cable between switches; on the line, both agree."
    return [(picture.html(), caption)]


def _note_lines(found: Calibration, *, why: bool = True) -> list[str]:
    """Return what was assumed, what is odd and what cannot be identified."""
    lines = assumptions(found.assumed, why=why)
    lines += [f"{group.group}: {group.why}." for group in found.groups if group.why]
    lines += [
        f"{group.group}: {units.listing([group.pattern, *group.others])} fit alike."
        for group in found.groups
        if group.others and group.identifiable
    ]
    return [*lines, *found.remarks]
