"""Slow cables: which links carry less, or hold up more, than a healthy fabric would."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coupling.calibration.answers import SlowCable
from coupling.calibration.design import FitDesign
from coupling.calibration.fit import Fit
from coupling.calibration.ports import Measured
from coupling.site.state import SiteJob, SiteState
from netsim.common.arrays import Bools, Floats, Ints
from scheduler.traffic import TrafficOf, rank_flows

_FAR = 4.0  # deviations
_LESS = 0.8  # of what is predicted
_BUSY = 0.02  # of the capacity
_HELD = 0.1  # of the time, beyond what the model knows
_FULL = 0.8  # of the capacity: jobs that wait for such a cable wait rightly
_ALIKE = 0.9  # of the greatest excess
_FEW = 3  # cables that are named where one of them must be it
_MOST_SHARE = 0.1
"""Of the links, that are off: beyond it is the routing that is another."""


@dataclass(frozen=True, slots=True, eq=False)
class Traces:
    """Jobs as they were fitted, to follow their bytes from link to link."""

    scene: SiteState  # The jobs, and the fabric with its routing
    design: FitDesign  # Groups of jobs, and what they send
    rule: Sequence[int]  # Rule of each group
    fraction: Floats  # (G,): of communication
    network_slowdown: Mapping[int, float]  # By job

    def rates(self) -> Iterator[tuple[SiteJob, int, float]]:
        """Yield the jobs that send, the rule of each, and bytes sent / bytes at full speed."""
        jobs = {job.number: job for job in self.scene.jobs}
        for group, rule, value in zip(
            self.design.groups, self.rule, self.fraction.tolist(), strict=True
        ):
            for number in group.jobs:
                if value > 0.0 and self.design.demand.get((number, rule)) is not None:
                    speed = self.design.share[number] / self.network_slowdown.get(number, 1.0)
                    yield jobs[number], rule, value * speed

    def owners(self) -> Ints:
        """Return the job that sends most over each link; -1 for none."""
        size = self.scene.topology.n_links
        most, owner = np.zeros(size), np.full(size, -1, dtype=np.int64)
        for job, rule, scale in self.rates():
            demand = self.design.demand[job.number, rule]
            if demand is not None:
                more = scale * demand.rate > most[demand.link]
                most[demand.link[more]] = scale * demand.rate[more]
                owner[demand.link[more]] = job.number
        return owner

    def users(self, link: int) -> list[SiteJob]:
        """Return the jobs that send over a link, most first."""
        found = []
        for job, rule, scale in self.rates():
            demand = self.design.demand[job.number, rule]
            rate = 0.0 if demand is None else float(demand.rate[demand.link == link].sum())
            if rate:
                found.append((scale * rate, job))
        return [job for _, job in sorted(found, key=lambda own: (-own[0], own[1].number))]


def slow_cables(
    traces: Traces,
    ports: Measured,
    found: Fit,
    network_slowdown: tuple[Mapping[int, float], Mapping[int, float]],
) -> list[SlowCable]:
    """Return cables slower than they should be, slowest first; none if the routing must differ."""
    cables = _carrying_less(traces, ports, found)
    cables = _holding_up(traces, ports, network_slowdown) | cables
    topology = traces.scene.topology
    place = {link: at for at, link in enumerate(ports.link.tolist())}
    return [
        SlowCable(
            topology.link_name(link),
            float(ports.rate[place[link]] / topology.capacity[link]),
            float(found.predicted[place[link]] / topology.capacity[link]),
            speed,
            why,
            tuple(job.id for job in traces.users(link)),
        )
        for link, (speed, why) in sorted(cables.items(), key=lambda own: (own[1][0], own[0]))
    ]


def _deviating_links(ports: Measured, found: Fit, capacity: Floats) -> Bools:
    """Return which links are far from what is predicted, in either direction."""
    own = capacity[ports.link]
    busy = np.maximum(found.predicted, ports.rate) > _BUSY * own
    far = np.abs(ports.rate - found.predicted) > _FAR * found.deviation
    apart = np.minimum(ports.rate, found.predicted) < _LESS * np.maximum(
        ports.rate, found.predicted
    )
    off: Bools = busy & far & apart
    return off


def routing_differs(ports: Measured, found: Fit, capacity: Floats) -> bool:
    """Say whether so many links are off that the routing must be another."""
    own = capacity[ports.link]
    busy = np.maximum(found.predicted, ports.rate) > _BUSY * own
    return bool(_deviating_links(ports, found, capacity).sum() > max(_MOST_SHARE * busy.sum(), 2))


def _carrying_less(traces: Traces, ports: Measured, found: Fit) -> dict[int, tuple[float, str]]:
    """Return links that carry less than their jobs send elsewhere; none where too many do."""
    # Elsewhere: links of which the job that should send most over this one has most.
    capacity = traces.scene.topology.capacity
    if routing_differs(ports, found, capacity):
        return {}
    off = _deviating_links(ports, found, capacity) & (ports.rate < found.predicted)
    owner = traces.owners()[ports.link]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ports.rate / found.predicted
    cables = {}
    for at in np.flatnonzero(off).tolist():
        others = (owner == owner[at]) & (found.predicted > 0.0)
        usual = float(np.median(ratio[others]))
        if ratio[at] < _LESS * usual:
            why = "carries less than its jobs send elsewhere"
            cables[int(ports.link[at])] = float(ratio[at] / usual), why
    return cables


def _holding_up(
    traces: Traces,
    ports: Measured,
    network_slowdown: tuple[Mapping[int, float], Mapping[int, float]],
) -> dict[int, tuple[float, str]]:
    """Return links that others wait for, though they are neither full nor waiting."""
    # The wait for a link is the mean over the ports before it, by what they send on over it, less
    # what the model expects. Its speed is what it carries while others wait or it sends.
    topology = traces.scene.topology
    waited = np.full(topology.n_links, np.nan)
    waited[ports.link] = ports.waited
    if np.isnan(waited).all():
        return {}
    known = np.nan_to_num(waited)
    through, before, expected = _link_pressure(traces, known, network_slowdown[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        pressure = np.nan_to_num(before / through)
        own = np.nan_to_num(expected / through)
    carried = np.zeros(topology.n_links)
    carried[ports.link] = ports.rate
    busy = carried / topology.capacity
    held = (pressure - own > _HELD) & (known < pressure / 2.0) & (busy + own < _FULL)
    held &= ~np.isnan(waited) & (busy > 0.0) & (through > 0.0)
    worst = _root_links(traces, held, pressure - own, network_slowdown)
    return {
        link: (
            float(busy[link] / (busy[link] + pressure[link])),
            f"ports before it wait {pressure[link]:.0%} of the time"
            + (f"; or another of {alike} that its jobs share" if alike > 1 else ""),
        )
        for link, alike in worst.items()
    }


def _link_pressure(
    traces: Traces, waited: Floats, predicted: Mapping[int, float]
) -> tuple[Floats, Floats, Floats]:
    """Return (E,) bytes per second into each link, times waits before it, times predicted ones."""
    scene = traces.scene
    traffic_of = TrafficOf(scene.topology, scene.routing)
    total, before, expected = (np.zeros(scene.topology.n_links) for _ in range(3))
    for job, rule, scale in traces.rates():
        demand = traces.design.demand[job.number, rule]
        assert demand is not None  # noqa: S101 (it sends)
        flows = rank_flows(demand.patterns[0], job.partition.nodes.size)
        placed = traffic_of.of_flows(flows, job.partition, compute_s=0.0)
        if placed is None:
            continue
        routes = placed.traffic.routes
        rate = np.repeat(placed.traffic.nbytes / placed.ideal_s * scale, routes.hops)
        first = np.zeros(routes.links.size, dtype=np.bool_)
        first[routes.indptr[:-1][routes.hops > 0]] = True
        on = np.flatnonzero(~first)
        link, rate, early = routes.links[on], rate[on], routes.links[on - 1]
        known = 1.0 - 1.0 / predicted.get(job.number, 1.0)
        size = scene.topology.n_links
        total += np.bincount(link, weights=rate, minlength=size)
        before += np.bincount(link, weights=rate * waited[early], minlength=size)
        expected += np.bincount(link, weights=rate * known, minlength=size)
    return total, before, expected


def _root_links(
    traces: Traces,
    held: Bools,
    excess: Floats,
    network_slowdown: tuple[Mapping[int, float], Mapping[int, float]],
) -> dict[int, int]:
    """Return the links that explain most of each job slower than predicted, and alternatives."""
    # Of links that no healthy job uses, the one that most slow jobs use; none where many would do.
    predicted, measured = network_slowdown
    late = {job for job, own in measured.items() if own > predicted.get(job, 1.0) * (1.0 + _HELD)}
    uses: dict[int, set[int]] = {}
    healthy: set[int] = set()
    own_links: dict[int, list[int]] = {}
    for job, rule, _ in traces.rates():
        demand = traces.design.demand[job.number, rule]
        links = [] if demand is None else demand.link[demand.rate > 0.0].tolist()
        if job.number in late:
            own_links[job.number] = [link for link in links if held[link]]
            for link in own_links[job.number]:
                uses.setdefault(link, set()).add(job.number)
        elif job.number in measured:
            healthy.update(links)
    found: dict[int, int] = {}
    for links in own_links.values():
        suspects = [link for link in links if link not in healthy] or links
        if suspects:
            most = max(len(uses[link]) for link in suspects)
            often = [link for link in suspects if len(uses[link]) == most]
            worst = max(excess[link] for link in often)
            alike = [link for link in often if excess[link] >= _ALIKE * worst]
            if len(alike) <= _FEW:
                found |= dict.fromkeys(alike, len(alike))
    return found
