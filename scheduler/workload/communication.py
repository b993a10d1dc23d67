"""Give the jobs of a workload their communication, as a profile says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np

from fabricsim.checking import number, whole
from netsim.common.arrays import Floats, Ints
from netsim.common.rng import uniforms
from netsim.common.units import Stated
from patterns.base import Pattern
from patterns.errors import PatternError
from patterns.placed import Layout
from patterns.registry import make_pattern
from scheduler.errors import WorkloadError
from scheduler.job import LEAST_FRACTION, Communication, Job
from scheduler.workload.distributions import Distribution
from scheduler.workload.profile import (
    LIMITS,
    ColumnValue,
    Profile,
    Rule,
    expected_of,
    seeded,
)
from scheduler.workload.training import TrainingJobs

N_SEEDS = 8
"""
Seeds of random patterns.

So few that jobs of one size share patterns, and what is computed from one can be kept; enough that
no single mesh colours a result.
"""

_RIGID = {"grid", "to", "root", "file", "dp", "tp", "pp"}
"""Options with which a pattern exists for some numbers of ranks only."""

_CHANCE, _SEED = 0, 1
_FIELDS = [field.name for field in fields(Job)]
_VALUES, _COMMUNICATION = attrgetter(*_FIELDS), _FIELDS.index("communication")
_STREAM = {"comm_fraction": 2, "bytes_per_flow": 3, "iteration": 4}


def assign(
    jobs: Sequence[Job],
    profile: Profile,
    seed: int,
    *,
    node_bandwidth: float | None = None,
    slots: Mapping[int, Ints] | None = None,
    layout: Callable[[int, int], Layout] | None = None,
) -> tuple[Job, ...]:
    """
    Attach communication to jobs.

    Parameters
    ----------
    jobs : sequence of Job
        Any jobs.
    profile : Profile
        The rules.
    seed : int
        Of the samples, not negative. What a job samples depends on seed, job number and rule only,
        not on other jobs.
    node_bandwidth : float, optional
        Bytes per second into and out of a node. Needed by rules that give bytes and
        iteration: the fraction is injection time / iteration.
    slots : mapping of int to (ranks,) int array, optional
        By job number: of each rank its place among the nodes of the job, from 0. Jobs that are
        not there have a rank on each node.
    layout : callable, optional
        The layout of so many ranks on so many of the lowest hosts of a GPU cluster. Needed by
        rules that give a model.

    Returns
    -------
    tuple of Job
        In the same order; ``communication`` is None for jobs on one node, jobs that no rule
        takes and jobs with fraction 0.

    Raises
    ------
    WorkloadError
        If a pattern does not exist for the size of a job, a column of the log lacks a
        value, or bytes do not fit into an iteration.
    """
    drawn = drawn_communications(
        jobs, profile, seed, node_bandwidth=node_bandwidth, slots=slots, layout=layout
    )
    return tuple(
        job if job.communication is None and new is None else _communicating_job(job, new)
        for job, new in zip(jobs, drawn, strict=True)
    )


def drawn_communications(
    jobs: Sequence[Job],
    profile: Profile,
    seed: int,
    *,
    node_bandwidth: float | None = None,
    slots: Mapping[int, Ints] | None = None,
    layout: Callable[[int, int], Layout] | None = None,
) -> list[Communication | None]:
    """Return the communication of jobs, as `assign` attaches it."""
    whole("seed", seed, 0, error=WorkloadError)
    if node_bandwidth is not None:
        number("node_bandwidth", node_bandwidth, positive=True, error=WorkloadError)
    ids = np.fromiter((job.id for job in jobs), dtype=np.int64, count=len(jobs))
    n_nodes = np.fromiter((job.n_nodes for job in jobs), dtype=np.int64, count=len(jobs))
    drawn: list[Communication | None] = [None] * len(jobs)
    left = n_nodes > 1
    for index, rule in enumerate(profile.rules):
        taken = left & rule.match.select(jobs, n_nodes)
        if rule.chance < 1:
            taken &= uniforms(seed, ids, index, _CHANCE) < rule.chance
        left &= ~taken
        rows = np.flatnonzero(taken)
        chosen = [jobs[row] for row in rows.tolist()]
        if rule.model is not None and rows.size:
            training = TrainingJobs(rule.model, rule.misfit, rule.place, layout)
            for row, own in zip(
                rows.tolist(), training.communications(chosen, rule.label), strict=True
            ):
                drawn[row] = own
        if rule.pattern is not None and rows.size:
            samples = _RuleSamples(rule, index, seed, node_bandwidth, slots or {})
            for row, communication in zip(
                rows.tolist(), samples.communications(chosen, ids[rows]), strict=True
            ):
                drawn[row] = communication
    return drawn


def _communicating_job(job: Job, communication: Communication | None) -> Job:
    """Return a job that communicates so; `replace` would take several times as long."""
    values: list[Any] = list(_VALUES(job))
    values[_COMMUNICATION] = communication
    return Job(*values)


class _RuleSamples:
    """The samples of one rule."""

    def __init__(
        self,
        rule: Rule,
        index: int,
        seed: int,
        node_bandwidth: float | None,
        slots: Mapping[int, Ints],
    ) -> None:
        self.rule, self.index, self.seed = rule, index, seed
        self.node_bandwidth, self.slots = node_bandwidth, slots
        self.patterns: dict[tuple[int, float], Pattern] = {}
        self.busiest: dict[tuple[Pattern, bytes], float] = {}
        spec = rule.pattern or {}
        self.random = seeded(spec, 0) != seeded(spec, 1)

    def communications(self, jobs: Sequence[Job], ids: Ints) -> list[Communication | None]:
        """Draw what the rule leaves to chance, for the jobs that it takes."""
        self._check_sizes(jobs)
        quantities = self.rule.quantities
        seeds = np.zeros(len(ids), dtype=np.int64)
        if self.random:
            seeds = (uniforms(self.seed, ids, self.index, _SEED) * N_SEEDS).astype(np.int64)
        nbytes = self._values("bytes_per_flow", jobs, ids)
        fraction = self._values("comm_fraction", jobs, ids)
        iteration = self._values("iteration", jobs, ids)
        made = [
            self._pattern(number, size)
            for number, size in zip(seeds.tolist(), nbytes.tolist(), strict=True)
        ]
        if "comm_fraction" not in quantities:
            fraction = self._fractions(jobs, made, iteration)
        fixed = "comm_fraction" in quantities and "iteration" in quantities
        return [
            Communication(self.rule.label, pattern, share, length if fixed else None)
            if share > 0
            else None
            for pattern, share, length in zip(
                made, fraction.tolist(), iteration.tolist(), strict=True
            )
        ]

    def _values(self, key: str, jobs: Sequence[Job], ids: Ints) -> Floats:
        """Draw or look up one quantity; NaN where the rule does not give it."""
        quantity = self.rule.quantities.get(key)
        if quantity is None:
            return np.full(len(ids), np.nan)
        if isinstance(quantity, Distribution):
            values = quantity.quantile(uniforms(self.seed, ids, self.index, _STREAM[key]))
        else:
            values = np.array(
                [_stated_quantity(job, quantity, key, self.rule.place) for job in jobs]
            )
        return self._shares(values) if key == "comm_fraction" else values

    def _shares(self, values: Floats) -> Floats:
        """Check fractions; a lognormal sample may exceed the whole."""
        tiny = (values > 0) & (values < LEAST_FRACTION)
        if tiny.any():
            raise WorkloadError(
                f"{self.rule.place}: comm_fraction: expected 0, or fractions from "
                f"{LEAST_FRACTION:g} to 1, got {values[tiny][0]:g}."
            )
        return np.minimum(values, 1.0)

    def _pattern(self, seed: int, nbytes: float) -> Pattern:
        """Return the pattern for a seed and bytes; equal ones are one object."""
        key = (seed, 0.0 if np.isnan(nbytes) else nbytes)
        if key not in self.patterns:
            spec = seeded(self.rule.pattern or {}, seed)
            if key[1]:
                spec["nbytes"] = Stated(nbytes)  # drawn, which may be part of a byte
            self.patterns[key] = make_pattern(spec)
        return self.patterns[key]

    def _fractions(self, jobs: Sequence[Job], made: Sequence[Pattern], iteration: Floats) -> Floats:
        """Return injection time / iteration of each job."""
        if self.node_bandwidth is None:
            raise WorkloadError(
                f"{self.rule.place}: expected comm_fraction, or the bandwidth of a node beside "
                "bytes and iteration."
            )
        fractions = np.empty(len(jobs))
        for row, (job, pattern, length) in enumerate(
            zip(jobs, made, iteration.tolist(), strict=True)
        ):
            slots = self.slots.get(job.id, np.arange(job.n_nodes))
            key = (pattern, slots.tobytes())
            if key not in self.busiest:
                self.busiest[key] = busiest_bytes(pattern, slots)
            fractions[row] = self.busiest[key] / self.node_bandwidth / length
            if fractions[row] > 1:
                raise WorkloadError(
                    f"{self.rule.place}: job {job.id} on {job.n_nodes} nodes needs "
                    f"{fractions[row] * length:.3g} s for its bytes, more than the iteration of "
                    f"{length:.3g} s."
                )
        return fractions

    def _check_sizes(self, jobs: Sequence[Job]) -> None:
        """Refuse jobs for whose size the pattern does not exist, where it fixes a size."""
        spec = self.rule.pattern or {}
        if not _RIGID & _option_keys(spec):
            return
        pattern = make_pattern(spec)
        ranks = {
            self.slots[job.id].size if job.id in self.slots else job.n_nodes: job
            for job in reversed(jobs)
        }
        ranks |= {size: job for job in jobs for size, _ in job.sizes if size > 1}
        for n_ranks, job in sorted(ranks.items()):
            try:
                pattern.steps(n_ranks)
            except PatternError as error:
                raise WorkloadError(f"{self.rule.place}: job {job.id}: {error}") from error


def _option_keys(spec: object) -> set[str]:
    """Return the options that a pattern and those inside it state."""
    if isinstance(spec, Mapping):
        return set(spec).union(*map(_option_keys, spec.values()))
    return set().union(*map(_option_keys, spec)) if isinstance(spec, list) else set()


def busiest_bytes(pattern: Pattern, slots: Ints) -> float:
    """Return the bytes that the busiest node sends or receives, summed over the steps."""
    total = 0.0
    for step in pattern.steps(slots.size):
        src, dst = slots[step.src], slots[step.dst]
        out = src != dst
        if out.any():
            ends = (np.bincount(end[out], weights=step.nbytes[out]).max() for end in (src, dst))
            total += max(ends)
    return float(total)


def _stated_quantity(job: Job, quantity: ColumnValue, key: str, place: str) -> float:
    """Return a quantity that the log states for a job."""
    text = dict(job.extra).get(quantity.name)
    try:
        value = float(text or "") * quantity.scale
    except ValueError:
        value = np.nan
    least, most = LIMITS[key]
    if not least <= value <= most:
        raise WorkloadError(
            f"{place}: {key}: expected {expected_of(key)} in column {quantity.name!r} of job "
            f"{job.id} (times {quantity.scale:g}), got {text!r}."
        )
    return value
