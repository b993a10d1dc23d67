"""The model `assumed`: speed-ups under isolation as the papers assume them, without a network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from coupling.errors import ExperimentError
from netsim.arrays import Floats, Ints
from netsim.draws import uniforms
from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator
from scheduler.allocators.lc import LeastConstrainedShared
from scheduler.job import Job
from scheduler.options import build
from scheduler.rates import FULL_PACE, Pace

ASSUMED = "assumed"
READINGS = ("divide", "subtract")
LARGER_THAN = 4  # nodes: jobs up to here gain nothing in the x % scenarios and V2 (V-C)
V2_SPLIT = 128  # nodes: other ranges above (V-C)
TOP_NODES = 512  # nodes from which a job is at the top of its range (V-C)
RANDOM_LARGER_THAN = 64  # nodes (5.4.1)
V1_RANGES = ((0.0, 0.1), (0.0, 0.2), (0.0, 0.3))
V2_RANGES = ((0.0, 0.1), (0.0, 0.2))
V2_RANGES_LARGE = ((0.0, 0.1), (0.1, 0.2), (0.1, 0.3))
RANDOM_GAINS = ((0.0, 0.0), (0.05, 0.05), (0.15, 0.15), (0.3, 0.3))

Ranges = Sequence[tuple[float, float]]
Scenario = Callable[[Ints, Floats], Floats]
"""Turns the nodes of jobs and a random number of each, in [0, 1), into speed-ups."""


def _fixed(nodes: Ints, draw: Floats, *, gain: float) -> Floats:
    """Return the speed-ups of the scenarios in which all but the smallest jobs gain the same."""
    return np.where(nodes > LARGER_THAN, gain, np.zeros_like(draw))


def _v1(nodes: Ints, draw: Floats) -> Floats:
    """Return the speed-ups of scenario V1."""
    return _within(V1_RANGES, nodes, draw)


def _v2(nodes: Ints, draw: Floats) -> Floats:
    """Return the speed-ups of scenario V2."""
    small, large = _within(V2_RANGES, nodes, draw), _within(V2_RANGES_LARGE, nodes, draw)
    gain = np.where(nodes > V2_SPLIT, large, small)
    return np.where(nodes > LARGER_THAN, gain, 0.0)


def _random(nodes: Ints, draw: Floats) -> Floats:
    """Return the speed-ups of scenario Random."""
    return np.where(nodes > RANDOM_LARGER_THAN, _within(RANDOM_GAINS, nodes, draw), 0.0)


def _within(ranges: Ranges, nodes: Ints, draw: Floats) -> Floats:
    """Return the speed-up at a job's size in the range that was drawn for it."""
    low, high = np.array(ranges)[(draw * len(ranges)).astype(np.int64)].T
    gain: Floats = low + (high - low) * np.minimum(nodes, TOP_NODES) / TOP_NODES
    return gain


SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        "5%": partial(_fixed, gain=0.05),
        "10%": partial(_fixed, gain=0.10),
        "20%": partial(_fixed, gain=0.20),
        "V1": _v1,
        "V2": _v2,
        "random": _random,
    }
)


@dataclass(frozen=True, slots=True)
class Assumption:
    """
    Who runs how much faster when no other job is on its links.

    Parameters
    ----------
    scenario : {"5%", "10%", "20%", "V1", "V2", "random"}
        Speed-up x of a job, by its size and a random draw.
    reading : {"divide", "subtract"}
        What a speed-up of x means: a run time of t / (1 + x), or of t (1 - x).

    Raises
    ------
    ExperimentError
        If a name is unknown.

    Notes
    -----
    S. D. Pollard et al., SC 2018, section V-C, where t (1 - x) is "a reduction in the elapsed
    time": ``5%``, ``10%`` and ``20%`` for jobs of more than 4 nodes. ``V1``: each job draws one
    of the ranges 0-10, 0-20 and 0-30 %. ``V2``: jobs of 5-128 nodes draw 0-10 or 0-20 %,
    larger ones 0-10, 10-20 or 10-30 %. Within its range a job's speed-up is linear in its
    nodes, at the top from 512 on. Where the line begins is not said: here at 0 nodes, in
    all ranges; nor are the chances: here equal.

    S. A. Smith & D. K. Lowenthal, HPDC 2021, section 5.4.1: ``random``, 0, 5, 15 or 30 % for
    jobs of more than 64 nodes, where "speeds up by x %" does not tell the readings apart.

    Examples
    --------
    >>> job = Job(1, submit_s=0.0, n_nodes=8, runtime_s=60.0, requested_s=60.0)
    >>> for reading in READINGS:
    ...     print(*Assumption("20%", reading).interference([job], seed=1))
    1.2
    1.25
    """

    scenario: str = "10%"
    reading: str = "divide"

    def __post_init__(self) -> None:
        """Check the names."""
        for key, value, choices in (
            ("scenario", self.scenario, tuple(SCENARIOS)),
            ("reading", self.reading, READINGS),
        ):
            if value not in choices:
                raise ExperimentError(
                    f"unknown {key} {value!r} of contention model {ASSUMED!r}; "
                    f"choose from {', '.join(choices)}."
                )

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "Assumption":
        """
        Read the options of the model.

        Parameters
        ----------
        options : mapping of str to value
            Of ``[network] options``.

        Returns
        -------
        Assumption
            Checked.

        Raises
        ------
        ExperimentError
            If an option or its value is unknown.
        """
        registry = {ASSUMED: cls}
        return build("contention model", ASSUMED, registry, options, ExperimentError)

    def interference(self, jobs: Sequence[Job], seed: int) -> Floats:
        """
        Return how much longer jobs run when they are not isolated.

        Parameters
        ----------
        jobs : sequence of Job
            Their sizes and ids count.
        seed : int
            Of the draws, not negative; what a job draws depends on no other job.

        Returns
        -------
        (n,) float array
            Run time not isolated / isolated, at least 1.
        """
        ids = np.array([job.id for job in jobs], dtype=np.int64)
        nodes = np.array([job.n_nodes for job in jobs], dtype=np.int64)
        gain = SCENARIOS[self.scenario](nodes, uniforms(seed, ids))
        return 1.0 + gain if self.reading == "divide" else 1.0 / (1.0 - gain)


class AssumedPace:
    """
    A rate model that knows every job's pace in advance.

    Parameters
    ----------
    jobs : sequence of Job
        All jobs that will run; their run times are those under isolation.
    assumption : Assumption
        What jobs gain under isolation.
    seed : int
        Of the draws.
    allocator : Allocator
        Under one that isolates jobs all run at full pace; under others they lose what the
        scenario says. LC+S counts as isolating: it keeps links below the load at which the
        paper expects interference (HPDC 2021, section 5.4.2).
    """

    def __init__(
        self, jobs: Sequence[Job], assumption: Assumption, seed: int, allocator: Allocator
    ) -> None:
        isolated = allocator.isolating or isinstance(allocator, LeastConstrainedShared)
        self._paces: dict[int, Pace] = {}
        if not isolated:
            loss = assumption.interference(jobs, seed).tolist()
            self._paces = {job.id: Pace(x) for job, x in zip(jobs, loss, strict=True) if x > 1.0}

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, Pace]:
        """
        Return the paces of the jobs that start.

        Parameters
        ----------
        ended, started : sequence of Allocation
            Jobs that left and came at this instant.
        now_s : float
            The instant, in seconds.

        Returns
        -------
        mapping of int to Pace
            Of each of `started`, until it ends.
        """
        del ended, now_s
        return {one.job.id: self._paces.get(one.job.id, FULL_PACE) for one in started}

    def runtime_s(self, job: Job) -> float:
        """
        Return how long a job will run.

        Parameters
        ----------
        job : Job
            One of the jobs.

        Returns
        -------
        float
            In seconds: the papers' schedulers know the run time under their allocator.
        """
        return job.runtime_s * self._paces.get(job.id, FULL_PACE).slowdown
