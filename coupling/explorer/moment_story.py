"""What the panel says about a moment, as HTML."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from coupling.explorer.address import Address
from coupling.explorer.grids import Cell, blame_rows, pattern_of
from coupling.explorer.moment import Moment
from coupling.explorer.side_panel import MOST, templates, to_cable, to_job
from coupling.report.columns import seconds
from coupling.results.formatting import percent, ratio, volume
from coupling.site.estimate import JobEstimate
from netsim.registries.accuracy import accuracy_line

_MOST_JOBS = 500  # that the panel lists


def moment_story(moment: Moment, address: Address) -> str:
    """Return the panel."""
    own = moment.estimates.get(address.job)
    return (
        templates()
        .get_template("moment_panel.html")
        .render(
            about=moment.about,
            accuracy=accuracy_line(moment.found.setting),
            wanted=address.job,
            job=None if own is None else _job(moment, own, address),
            cable=_cable(moment, address),
            no_cable=bool(address.cable) and moment.link(address.cable) is None,
            asked=address.cable,
            jobs=_jobs(moment, address) if own is None else [],
            more=len(moment.jobs) - _MOST_JOBS,
            busy=_busiest(moment, address),
        )
    )


def blame_of(moment: Moment) -> list[list[Cell]]:
    """Return the table of victims and culprits; empty without losses."""
    if moment.blame.empty:
        return []
    return blame_rows(moment.blame, {name: to_job(Address(), name).href for name in moment.jobs})


def moment_line(moment: Moment, name: str) -> str:
    """Say what a job is, in a line."""
    own = moment.estimates[name]
    size = moment.nodes[name].size
    return f"job {name}: {size} nodes, slowdown {ratio(own.network_slowdown)}"


def _jobs(moment: Moment, address: Address) -> list[list[Cell]]:
    """Return the jobs, those that lose most first."""
    found = sorted(moment.found.jobs, key=lambda own: -own.network_slowdown)[:_MOST_JOBS]
    return [
        [
            replace(to_job(address, str(own.id)), colour=moment.colours[str(own.id)]),
            Cell(str(moment.nodes[str(own.id)].size)),
            Cell(ratio(own.network_slowdown)),
            Cell(ratio(own.interference)),
        ]
        for own in found
    ]


def _job(moment: Moment, own: JobEstimate, address: Address) -> Mapping[str, Any]:
    """Return what is said of the chosen job."""
    name = str(own.id)
    placed = moment.jobs[name]
    flows = placed.flows
    assert flows is not None  # noqa: S101 (the estimate has seen to it)
    n_ranks = placed.partition.nodes.size
    facts = [
        ("nodes", f"{moment.nodes[name].size:,}"),
        ("sends", f"{volume(float(flows.nbytes.sum()))} an iteration"),
        ("iteration alone", seconds(own.alone_s)),
        ("iteration among the others", seconds(own.together_s)),
        ("slowdown", ratio(own.network_slowdown)),
        ("by other jobs", ratio(own.interference)),
        ("by its placement", ratio(own.placement_factor)),
    ]
    interference_delay_s = (own.together_s or 0.0) - (own.alone_s or 0.0)
    victims = [
        (str(other.id), share * ((other.together_s or 0.0) - (other.alone_s or 0.0)))
        for other in moment.found.jobs
        for culprit, share in other.blame
        if str(culprit) == name
    ]
    culprits = [(str(culprit), share * interference_delay_s) for culprit, share in own.blame]
    return {
        "id": name,
        "facts": facts,
        "worst": None if own.worst_link is None else to_cable(address, own.worst_link),
        "pattern": pattern_of(flows, n_ranks),
        "culprits": _others(culprits, address),
        "victims": _others(victims, address),
    }


def _others(lost: list[tuple[str, float]], address: Address) -> list[list[Cell]]:
    """Return jobs and what they cost or lose, the worst first."""
    dear = sorted((pair for pair in lost if pair[1] > 0), key=lambda pair: -pair[1])
    return [[to_job(address, name), Cell(seconds(cost))] for name, cost in dear[:MOST]]


def _cable(moment: Moment, address: Address) -> Mapping[str, Any] | None:
    """Return what is said of the chosen link; None where there is none."""
    link = moment.link(address.cable)
    if link is None:
        return None
    topology, users = moment.snapshot.topology, moment.users.get(address.cable, [])
    users = sorted(users, key=lambda own: -(own.utilization or 0.0))
    back = topology.link_name(int(topology.reverse[link]))
    return {
        "name": address.cable,
        "facts": [
            ("class", topology.link_class(link)),
            ("capacity", f"{volume(float(topology.capacity[link]))}/s"),
            ("busy", percent(float(moment.load[link]))),
        ],
        "back": to_cable(address, back),
        "users": [
            [
                to_job(address, str(own.job)),
                Cell(percent(own.utilization)),
                Cell(volume(own.nbytes)),
            ]
            for own in users
        ],
    }


def _busiest(moment: Moment, address: Address) -> list[list[Cell]]:
    """Return the busiest links with how many jobs use them."""
    numbers = {name: moment.snapshot.topology.link_number(name) for name in moment.users}
    order = sorted(numbers, key=lambda name: -moment.load[numbers[name]])[:MOST]
    return [
        [
            to_cable(address, name),
            Cell(percent(float(moment.load[numbers[name]]))),
            Cell(str(len(moment.users[name]))),
        ]
        for name in order
    ]
