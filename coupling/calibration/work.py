"""Work: the rule and fraction of each group, and how its jobs slow each other down, in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from coupling.calibration.design import FitDesign
from coupling.calibration.fit import HUBER, Fit, choose, deviations, fit
from coupling.calibration.ports import Measured
from coupling.site.drawn_traffic import JobLoad, JobLoads
from coupling.site.outcome import solve
from coupling.site.state import DrawnTraffic, SiteState
from netsim.common.arrays import Bools, Floats
from patterns.base import Pattern
from scheduler.job import LEAST_FRACTION

SAMPLES = 200
"""Fits to redrawn residuals, for the intervals."""
_TURNS, _FEW_TURNS = 12, 7  # slowdown and fraction in turn; where others are near
_CLOSE = 5e-4
_CHOICES = 4
_DRAWN = 2  # random patterns of each job, by which slowdowns are modelled
_MOST_TRIED = 16  # states with another rule of a group
_SURE = 3.84  # chi-square of one degree of freedom at 95 %
_NEAR = 4.0  # times as far may come near once fractions and slowdowns have settled
_WITHIN = 1.645  # deviations of a normal distribution that hold 90 %


@dataclass(frozen=True, slots=True)
class Settings:
    """How to fit: what groups have in common, noise of counters, redrawn fits, their seed."""

    by: str = "name"
    noise: float = 0.02
    samples: int = SAMPLES
    seed: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """Rules and fractions of groups, how slow that makes the jobs, and how well it fits."""

    rule: tuple[int, ...]
    fit: Fit
    predicted: Mapping[int, float]
    network_slowdown: Mapping[int, float]
    loss: float


class Work:
    """A fit: which rule each group has, its fraction, and how its jobs slow each other down."""

    def __init__(
        self, scene: SiteState, design: FitDesign, ports: Measured, settings: Settings
    ) -> None:
        self.scene, self.design, self.ports, self.by = scene, design, ports, settings.by
        self._settings = settings
        self.capacity = scene.topology.capacity[ports.link]
        self._sigma = deviations(
            ports.rate, np.zeros_like(ports.rate), self.capacity, settings.noise
        )
        self.waited = slowed_by_waiting(scene, ports)
        self.silent_ports = not self.waited and _counts_at_node(scene, ports).any()
        self.others: list[tuple[int, ...]] = []
        self._known_loads: Mapping[tuple[int, object], JobLoad | None] = {}  # routes take longest
        best = self._settle_fractions(self._choose_rules(self.waited), self.waited)
        for _ in range(_CHOICES):
            before, best = (
                best,
                self._settle_fractions(
                    self._choose_rules(best.network_slowdown), best.network_slowdown
                ),
            )
            if best.rule == before.rule:
                break
        tried = self._one_change_away(best)
        best = min(tried, key=lambda state: state.loss)
        scale = best.fit.noise**2
        alike = [state for state in tried if state.loss - best.loss < _SURE * scale]
        self._record_best(self._settle_fractions(best.rule, best.network_slowdown), alike)

    def _record_best(self, best: FitState, alike: Sequence[FitState]) -> None:
        """Write down the best state; intervals cover all that are as good."""
        fits = [
            self._fit_fractions(state.rule, state.network_slowdown, self._settings.samples)
            for state in alike
        ]
        known = self._fraction_uncertainty(best)
        low = np.min([fit.low for fit in fits], axis=0)
        high = np.max([fit.high for fit in fits], axis=0)
        fraction = best.fit.fraction
        self.fit = replace(
            best.fit,
            low=np.clip(fraction - np.hypot(fraction - low, known), 0.0, 1.0),
            high=np.clip(fraction + np.hypot(high - fraction, known), 0.0, 1.0),
        )
        self.rule, self.predicted, self.network_slowdown = (
            best.rule,
            best.predicted,
            best.network_slowdown,
        )
        self.others = [
            tuple(dict.fromkeys(rule for rule in rules if rule != own))
            for own, rules in zip(
                best.rule, zip(*(state.rule for state in alike), strict=True), strict=True
            )
        ]

    def _fraction_uncertainty(self, state: FitState) -> Floats:
        """Return the uncertainty of fractions: that of s - 1, from counters or their model."""
        late = [
            np.mean([state.network_slowdown.get(job, 1.0) for job in group.jobs]) - 1.0
            for group in self.design.groups
        ]
        share = self._settings.noise * state.fit.noise * _WITHIN
        found: Floats = state.fit.fraction * share * np.array(late)
        return found

    def _one_change_away(self, best: FitState) -> list[FitState]:
        """Return states with another rule of one group each, and the best so far."""
        tried = [best]
        for at, others in enumerate(self.others):
            for other in others:
                if len(tried) > _MOST_TRIED:
                    return tried
                rule = (*best.rule[:at], other, *best.rule[at + 1 :])
                state = self._settle_fractions(rule, best.network_slowdown, _FEW_TURNS)
                tried.append(state)
                if state.loss < best.loss:
                    best = state
        return tried

    def _choose_rules(self, network_slowdown: Mapping[int, float]) -> tuple[int, ...]:
        """Choose the rule of each group; note those that fit nearly as well."""
        links, design = self.ports.link, self.design
        columns = [
            [design.column(group, rule, network_slowdown)[links] for rule in group.rules]
            for group in design.groups
        ]
        chosen, worse = choose(columns, self.ports.rate, self._sigma)
        self.others = [
            tuple(
                rule
                for place, (rule, more) in enumerate(zip(group.rules, margin, strict=True))
                if place != best and more < _NEAR * _SURE
            )
            for group, best, margin in zip(design.groups, chosen, worse, strict=True)
        ]
        return tuple(group.rules[at] for group, at in zip(design.groups, chosen, strict=True))

    def _settle_fractions(
        self, rule: tuple[int, ...], network_slowdown: Mapping[int, float], turns: int = _TURNS
    ) -> FitState:
        """Let fractions and slowdowns agree under given rules."""
        found: Fit | None = None
        predicted: Mapping[int, float] = {}
        for _ in range(turns):
            before, found = found, self._fit_fractions(rule, network_slowdown, 0)
            if before is not None and np.allclose(before.fraction, found.fraction, atol=_CLOSE):
                break
            predicted = self._joint_slowdowns(rule, found)
            between = {  # the more jobs send the slower they are: halfway, turns do not swing
                job: float(np.sqrt(slow * network_slowdown.get(job, slow)))
                for job, slow in predicted.items()
            }
            network_slowdown = between | self.waited
        assert found is not None  # noqa: S101 (there is a turn)
        far = np.abs(self.ports.rate - found.predicted) / self._sigma
        loss = np.where(far <= HUBER, far**2, HUBER * (2.0 * far - HUBER)).sum()
        return FitState(rule, found, predicted, network_slowdown, float(loss))

    def _fit_fractions(
        self, rule: Sequence[int], network_slowdown: Mapping[int, float], samples: int
    ) -> Fit:
        """Fit the fractions under given rules and slowdowns."""
        columns = [
            self.design.column(group, own, network_slowdown)[self.ports.link]
            for group, own in zip(self.design.groups, rule, strict=True)
        ]
        return fit(
            np.column_stack(columns),
            (self.ports.rate, self.ports.switch),
            self.capacity,
            noise=self._settings.noise,
            samples=samples,
            seed=self._settings.seed,
        )

    def _joint_slowdowns(self, rules: Sequence[int], found: Fit) -> dict[int, float]:
        """Let the jobs run together at these fractions; return how slow they are."""
        kinds: dict[int, tuple[tuple[Pattern, ...], float]] = {}
        for group, rule, value in zip(
            self.design.groups, rules, found.fraction.tolist(), strict=True
        ):
            for job in group.jobs if value > LEAST_FRACTION else ():
                demand = self.design.demand.get((job, rule))
                if demand is not None:
                    kinds[job] = demand.patterns, value
        n_samples = min(max((len(patterns) for patterns, _ in kinds.values()), default=1), _DRAWN)
        samples = tuple(
            {
                job: DrawnTraffic(patterns[sample % len(patterns)], value)
                for job, (patterns, value) in kinds.items()
            }
            for sample in range(n_samples)
        )
        scene = replace(self.scene, samples=samples)
        loads = JobLoads(scene)
        loads.keep(self._known_loads)
        mean = solve(scene, loads).network_slowdown.mean(axis=0).tolist()
        self._known_loads = loads.known
        return {job.number: slow for job, slow in zip(scene.jobs, mean, strict=True)}


def slowed_by_waiting(scene: SiteState, ports: Measured) -> dict[int, float]:
    """Return together / ideal of jobs, 1 / (1 - w), by the waiting of their slowest node."""
    # In a time T a node that sends for r T and waits for w T computes (1 - r - w) T; ideal is
    # computing and sending, (1 - w) T. Nodes that wait at a barrier do not count.
    topology, counted = scene.topology, _counts_at_node(scene, ports)
    if not ports.waited[counted].any():
        return {}
    waited = np.full(topology.n_nodes, nan)
    waited[topology.link_tail[ports.link[counted]]] = ports.waited[counted]
    found = {}
    for job in scene.jobs:
        own = waited[job.nodes]
        if job.nodes.size > 1 and not np.isnan(own).all():
            found[job.number] = 1.0 / max(1.0 - float(np.nanmax(own)), LEAST_FRACTION)
    return found


def _counts_at_node(scene: SiteState, ports: Measured) -> Bools:
    """Return which measured links begin at a node whose port counts how long it waited."""
    found: Bools = ~np.isnan(ports.waited) & (
        scene.topology.link_tail[ports.link] < scene.topology.n_nodes
    )
    return found
