"""The answer of a replayed record: jobs, the queue model, gains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling.results.result import Result
from coupling.sweep.intervals import mean_interval
from fabricsim.checking import shortened
from fabricsim.checking.documents import NOT_JSON, json_fields
from netsim.common.arrays import Tabled

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class QueueFit:
    """Settings of the queue, and how near they come to recorded waits."""

    window: int | None  # Jobs behind the head that are tried; None: as the queue's default
    estimates: str  # requested, runtime: what it knows of run times
    # Limit of leaf switches, as ``--switches``; None: none beyond those of the jobs
    switches: str | None
    # Mean of |ln((simulated + 60 s) / (recorded + 60 s))| over the waits of freed jobs
    error: float


@dataclass(frozen=True, slots=True)
class Bias:
    """Waits of some jobs, recorded and simulated."""

    of: str  # size, partition: what they have in common
    group: str  # Its value
    jobs: int  # How many
    # recorded_s, simulated_s: mean waits
    recorded_s: float
    simulated_s: float


@dataclass(frozen=True, slots=True)
class Waits:
    """Recorded against simulated waits of the jobs that a freed queue starts."""

    jobs: int  # How many there are
    best: QueueFit  # Settings under which the following was simulated
    tried: tuple[QueueFit, ...]  # All settings that were tried, in this order
    # Recorded and simulated wait in seconds that this share of the jobs stays below
    quantiles: Mapping[float, tuple[float, float]]
    mean_s: tuple[float, float]  # (float, float): recorded and simulated mean
    bias: tuple[Bias, ...]  # By size and by partition


@dataclass(frozen=True, slots=True)
class Gain:
    """One quantity of the freed jobs, before and after a change."""

    what: str  # The quantity: a key of `coupling.replay.answers.QUANTITIES`
    # before, after: mean over the seeds
    before: float
    after: float
    difference: float  # After - before, mean over the seeds
    # low, high: 95 % interval of the difference over the seeds; None with fewer than three seeds
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Replay(Tabled):
    """
    A record that was replayed.

    Parameters
    ----------
    recorded : Result
        The record as it was.
    freed : Result or None
        The queue free from a time on, under the settings that fit the record best.
    then : Result or None
        The same with what was to be changed.
    free_from : str
        From when on; empty: never.
    changes : tuple of str
        What was to be changed: ``table.key=value``.
    waits : Waits or None
        Recorded against simulated waits.
    gains : tuple of Gain
        `then` against `freed`.
    seeds : int
        How often communication was drawn for the gains.
    notes : mapping of str to float
        What is odd about the record, by what it is.
    assumed : tuple of str
        What the files do not say and had to be assumed.
    folder : Path or None
        Where results were written.
    """

    recorded: Result = field(metadata=NOT_JSON)
    freed: Result | None = field(metadata=NOT_JSON)
    then: Result | None = field(metadata=NOT_JSON)
    free_from: str
    changes: tuple[str, ...]
    waits: Waits | None
    gains: tuple[Gain, ...]
    seeds: int
    notes: Mapping[str, float]
    assumed: tuple[str, ...]
    folder: Path | None

    def __repr__(self) -> str:
        then = f", then {shortened(', '.join(self.changes))}" if self.changes else ""
        return f"<Replay: {len(self.recorded.jobs)} jobs{then}>"

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the jobs of the record."""
        table = self.recorded.jobs
        return [dict(zip(table.columns, row, strict=True)) for row in table.itertuples(index=False)]

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim replay --json` prints."""
        runs = {"recorded": self.recorded, "freed": self.freed, "then": self.then}
        found: dict[str, Any] = {
            name: None if run is None else dict(run.summary) for name, run in runs.items()
        }
        found |= json_fields(self) | {"free_from": self.free_from or None}
        if self.waits is not None:
            found["waits"] |= {
                "quantiles": [
                    {"share": share, "recorded_s": recorded, "simulated_s": simulated}
                    for share, (recorded, simulated) in self.waits.quantiles.items()
                ],
                "mean_s": dict(zip(("recorded", "simulated"), self.waits.mean_s, strict=True)),
            }
        return found


_HOUR_S = 3600.0


def with_hours(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs with their node-hours, and what of them the network cost: `hours`, `lost`."""
    hours = jobs["n_nodes"] * (jobs["end_s"] - jobs["start_s"]) / _HOUR_S
    return jobs.assign(hours=hours, lost=hours * (1.0 - 1.0 / jobs["network_slowdown"]))


QUANTITIES: dict[str, Callable[[pd.DataFrame], float]] = {
    "mean_wait_s": lambda jobs: float(jobs["wait_s"].mean()),
    "mean_turnaround_s": lambda jobs: float(jobs["turnaround_s"].mean()),
    "mean_network_slowdown": lambda jobs: float(jobs["network_slowdown"].mean()),
    "mean_interference": lambda jobs: float(jobs["interference"].mean()),
    "lost_node_hours": lambda jobs: float(with_hours(jobs)["lost"].sum()),
}
"""What is compared, of the table of the freed jobs."""
LEAST = dict.fromkeys(QUANTITIES, 0.0) | {"mean_network_slowdown": 1.0, "mean_interference": 1.0}
"""The least value that each can have."""


def gains(before: Sequence[Result], after: Sequence[Result], free: Sequence[int]) -> list[Gain]:
    """Compare runs before and after with equal seeds; `free`: ids of the jobs that count."""
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
