"""Speed-ups under isolation as the papers assume them, by size of the job and chance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from fabricsim.checking import choice
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import ContentionError
from netsim.common.rng import uniforms

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


def _fixed_speedups(nodes: Ints, draw: Floats, *, gain: float) -> Floats:
    """Return the speed-ups of the scenarios in which all but the smallest jobs gain the same."""
    return np.where(nodes > LARGER_THAN, gain, np.zeros_like(draw))


def _scenario_v2(nodes: Ints, draw: Floats) -> Floats:
    """Return the speed-ups of scenario V2."""
    small, large = (
        _speedup_within(V2_RANGES, nodes, draw),
        _speedup_within(V2_RANGES_LARGE, nodes, draw),
    )
    gain = np.where(nodes > V2_SPLIT, large, small)
    return np.where(nodes > LARGER_THAN, gain, 0.0)


def _random_speedups(nodes: Ints, draw: Floats) -> Floats:
    """Return the speed-ups of scenario Random."""
    return np.where(nodes > RANDOM_LARGER_THAN, _speedup_within(RANDOM_GAINS, nodes, draw), 0.0)


def _speedup_within(ranges: Ranges, nodes: Ints, draw: Floats) -> Floats:
    """Return the speed-up at a job's size in the range that was drawn for it."""
    low, high = np.array(ranges)[(draw * len(ranges)).astype(np.int64)].T
    gain: Floats = low + (high - low) * np.minimum(nodes, TOP_NODES) / TOP_NODES
    return gain


SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        "5%": partial(_fixed_speedups, gain=0.05),
        "10%": partial(_fixed_speedups, gain=0.10),
        "20%": partial(_fixed_speedups, gain=0.20),
        "V1": partial(_speedup_within, V1_RANGES),
        "V2": _scenario_v2,
        "random": _random_speedups,
    }
)


@dataclass(frozen=True, slots=True)
class Assumption:
    """
    Who runs how much faster when no other job is on its links.

    S. D. Pollard et al., SC 2018, section V-C, where t (1 - x) is "a reduction in the elapsed
    time": ``5%``, ``10%`` and ``20%`` for jobs of more than 4 nodes. ``V1``: each job draws one of
    the ranges 0-10, 0-20 and 0-30 %. ``V2``: jobs of 5-128 nodes draw 0-10 or 0-20 %, larger ones
    0-10, 10-20 or 10-30 %. Within its range a job's speed-up is linear in its nodes, at the top
    from 512 on. Where the line begins is not said: here at 0 nodes, in all ranges; nor are the
    chances: here equal.

    S. A. Smith & D. K. Lowenthal, HPDC 2021, section 5.4.1: ``random``, 0, 5, 15 or 30 % for jobs
    of more than 64 nodes, where "speeds up by x %" fits both readings.

    >>> job, nodes = np.array([1]), np.array([8])
    >>> for reading in READINGS:
    ...     print(*Assumption("20%", reading).interference(job, nodes, seed=1))
    1.2
    1.25
    """

    # "5%" or "10%" or "20%" or "V1" or "V2" or "random": speed-up x of a job, by its size and a
    # random draw
    scenario: str = "10%"
    # "divide" or "subtract": what a speed-up of x means: a run time of t / (1 + x), or of t (1 - x)
    reading: str = "divide"

    def __post_init__(self) -> None:
        """Check the names."""
        choice("scenario", self.scenario, SCENARIOS, error=ContentionError)
        choice("reading", self.reading, READINGS, error=ContentionError)

    def interference(self, ids: Ints, nodes: Ints, seed: int) -> Floats:
        """Return run time not isolated / isolated (n,), at least 1, of jobs with so many nodes."""
        gain = SCENARIOS[self.scenario](nodes, uniforms(seed, ids))
        return 1.0 + gain if self.reading == "divide" else 1.0 / (1.0 - gain)
