"""Work: the rule and fraction of each group, and how its jobs slow each other down, in turn."""

from dataclasses import dataclass, replace
from math import nan

import numpy as np

from coupling.calibration.design import Design
from coupling.calibration.fit import Fit, choose, deviations, fit
from coupling.calibration.ports import Measured
from coupling.site.load import Loads
from coupling.site.scene import Scene, Sent
from coupling.site.solve import solve
from netsim.arrays import Bools, Floats
from scheduler.workload.profile import LEAST_FRACTION

DRAWS = 200
"""Fits to redrawn residuals, for the intervals."""
_TURNS = 6  # slowdown and fraction in turn
_CLOSE = 1e-4
_SURE = 3.84  # chi-square of one degree of freedom at 95 %


@dataclass(frozen=True, slots=True)
class Settings:
    """How to fit: what groups have in common, noise of counters, redrawn fits, their seed."""

    by: str = "name"
    noise: float = 0.02
    draws: int = DRAWS
    seed: int = 1


class Work:
    """A fit: which rule each group has, its fraction, and how its jobs slow each other down."""

    def __init__(self, scene: Scene, design: Design, ports: Measured, settings: Settings) -> None:
        self.scene, self.design, self.ports, self.by = scene, design, ports, settings.by
        self.capacity = scene.topology.capacity[ports.link]
        self.waited = slowed_by_waiting(scene, ports)
        self.silent_ports = not self.waited and _counting(scene, ports).any()
        self.predicted: dict[int, float] = {}
        self.slowdown: dict[int, float] = dict(self.waited)
        self.rule: list[int] = []
        self.others: list[tuple[int, ...]] = []
        found: Fit | None = None
        for _ in range(_TURNS):
            self._choose(settings)
            found, before = self._fitted(settings), found
            self._slow(found)
            if before is not None and np.allclose(before.fraction, found.fraction, atol=_CLOSE):
                break
        assert found is not None  # noqa: S101 (there is a turn)
        self.fit = found

    def columns(self) -> list[Floats]:
        """Return what each group puts on all links under its rule, communicating all the time."""
        return [
            self.design.column(group, rule, self.slowdown)
            for group, rule in zip(self.design.groups, self.rule, strict=True)
        ]

    def _choose(self, settings: Settings) -> None:
        """Choose the rule of each group."""
        links, design = self.ports.link, self.design
        columns = [
            [design.column(group, rule, self.slowdown)[links] for rule in group.rules]
            for group in design.groups
        ]
        sigma = deviations(
            self.ports.rate, np.zeros_like(self.ports.rate), self.capacity, settings.noise
        )
        chosen, worse = choose(columns, self.ports.rate, sigma)
        self.rule = [group.rules[place] for group, place in zip(design.groups, chosen, strict=True)]
        self.others = [
            tuple(
                rule
                for place, (rule, more) in enumerate(zip(group.rules, margin, strict=True))
                if place != best and more < _SURE
            )
            for group, best, margin in zip(design.groups, chosen, worse, strict=True)
        ]

    def _fitted(self, settings: Settings) -> Fit:
        """Fit the fractions."""
        matrix = np.column_stack([column[self.ports.link] for column in self.columns()])
        return fit(
            matrix,
            (self.ports.rate, self.ports.switch),
            self.capacity,
            noise=settings.noise,
            draws=settings.draws,
            seed=settings.seed,
        )

    def _slow(self, found: Fit) -> None:
        """Let the jobs run together at these fractions."""
        demand = self.design.demand
        fractions = {
            job: (rule, float(value))
            for group, rule, value in zip(
                self.design.groups, self.rule, found.fraction, strict=True
            )
            for job in group.jobs
            if value > LEAST_FRACTION and demand.get((job, rule)) is not None
        }
        kinds = {job: demand[job, rule].patterns for job, (rule, _) in fractions.items()}  # type: ignore[union-attr]
        n_draws = max(map(len, kinds.values()), default=1)
        draws = tuple(
            {
                job: Sent(kinds[job][draw % len(kinds[job])], value)
                for job, (_, value) in fractions.items()
            }
            for draw in range(n_draws)
        )
        scene = replace(self.scene, draws=draws)
        outcome = solve(scene, Loads(scene))
        mean = outcome.slowdown.mean(axis=0).tolist()
        self.predicted = {
            job.number: slowdown for job, slowdown in zip(scene.jobs, mean, strict=True)
        }
        self.slowdown = self.predicted | self.waited


def slowed_by_waiting(scene: Scene, ports: Measured) -> dict[int, float]:
    """
    Return how much slower jobs are as the ports of their nodes tell it.

    In a time T a node that sends for r T and waits for w T communicates for (r + w) T; the rest,
    (1 - r - w) T, it computes. Ideal is computing and sending, (1 - w) T, so together / ideal is
    1 / (1 - w). Nodes that wait for others at a barrier do not count; the slowest node does.
    """
    topology, told = scene.topology, _counting(scene, ports)
    if not ports.waited[told].any():
        return {}
    waited = np.full(topology.n_nodes, nan)
    waited[topology.link_tail[ports.link[told]]] = ports.waited[told]
    found = {}
    for job in scene.jobs:
        own = waited[job.nodes]
        if job.nodes.size > 1 and not np.isnan(own).all():
            found[job.number] = 1.0 / max(1.0 - float(np.nanmax(own)), LEAST_FRACTION)
    return found


def _counting(scene: Scene, ports: Measured) -> Bools:
    """Return which measured links begin at a node whose port tells how long it waited."""
    found: Bools = ~np.isnan(ports.waited) & (
        scene.topology.link_tail[ports.link] < scene.topology.n_nodes
    )
    return found
