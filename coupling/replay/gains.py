"""Gains: what a change does to the jobs of a freed queue, over several draws."""

from collections.abc import Callable, Sequence
from math import inf, isnan

import numpy as np
import pandas as pd

from coupling.replay.answers import Gain
from coupling.results.result import Result
from coupling.sweep.intervals import mean_interval

_HOUR_S = 3600.0


def _lost_hours(jobs: pd.DataFrame) -> float:
    """Return the node-hours that the network cost."""
    hours = jobs["n_nodes"] * (jobs["end_s"] - jobs["start_s"]) / _HOUR_S
    return float((hours * (1.0 - 1.0 / jobs["network_slowdown"])).sum())


QUANTITIES: dict[str, Callable[[pd.DataFrame], float]] = {
    "mean_wait_s": lambda jobs: float(jobs["wait_s"].mean()),
    "mean_turnaround_s": lambda jobs: float(jobs["turnaround_s"].mean()),
    "mean_network_slowdown": lambda jobs: float(jobs["network_slowdown"].mean()),
    "mean_interference": lambda jobs: float(jobs["interference"].mean()),
    "lost_node_hours": _lost_hours,
}
"""What is compared, of the table of the freed jobs."""
LEAST = dict.fromkeys(QUANTITIES, 0.0) | {"mean_network_slowdown": 1.0, "mean_interference": 1.0}
"""The least value that each can have."""


def gains(before: Sequence[Result], after: Sequence[Result], free: Sequence[int]) -> list[Gain]:
    """
    Compare runs with equal seeds.

    `before`, `after`: a run for each seed. `free`: ids of the jobs that count.
    """
    found = []
    for what, measure in QUANTITIES.items():
        one, other = (
            np.array([measure(run.jobs[run.jobs["id"].isin(free)]) for run in runs])
            for runs in (before, after)
        )
        mean_before = float(one.mean())
        low, high = mean_interval(other - one, possible=(LEAST[what] - mean_before, inf))
        found.append(
            Gain(
                what,
                float(one.mean()),
                float(other.mean()),
                float((other - one).mean()),
                None if isnan(low) else low,
                None if isnan(high) else high,
            )
        )
    return found
