"""Recorded against simulated waits, and the queue settings that come nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling.inputs.experiment import Experiment
from coupling.replay.answers import Bias, QueueFit, Waits
from coupling.results.summary import size_class
from coupling.runs.assembly import RunParts
from coupling.runs.engine import schedule_alone
from netsim.common.arrays import Floats
from scheduler.job import Job
from scheduler.workload.match import name_of

if TYPE_CHECKING:
    pass

WINDOWS = (0, 10, 50, 200)
ESTIMATES = ("requested", "runtime")
SWITCHES = ("1@5", "1@60")
"""Limits that are tried: one leaf switch for 5 minutes, and for an hour."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
LEAST_S = 60.0
"""Waits are compared by their ratio from about here on: below, a minute counts little."""
Tried = Callable[[int, int], None]


def free_jobs(parts: RunParts) -> list[Job]:
    """Return the jobs that a freed queue starts."""
    record = parts.record
    if record is None:
        return []
    pins = record.pins
    return [job for job in parts.workload.jobs if pins[job.id].start_s >= parts.free_from_s]


def fit_queue(
    experiment: Experiment, parts: RunParts, fixed: frozenset[str], tried: Tried | None = None
) -> Waits:
    """Find the queue settings under which simulated waits come nearest to recorded ones."""
    # One setting after the other is chosen, the best of those before taken. Run times are as
    # recorded, so that the network counts as it was.
    jobs = free_jobs(parts)
    recorded = _recorded_waits(parts, jobs)
    found: dict[tuple[object, ...], tuple[float, Floats]] = {}
    best, order = _own_settings(experiment, parts), list[QueueFit]()
    steps = list(_setting_choices(fixed))
    total = 1 + sum(len(values) for _, values in steps)

    def look(fit: QueueFit) -> QueueFit:
        key = fit.window, fit.estimates, fit.switches
        if key not in found:
            waits = _simulated_waits(with_queue(experiment, fit), parts, jobs)
            found[key] = _wait_error(recorded, waits), waits
            order.append(replace(fit, error=found[key][0]))
            if tried is not None:
                tried(len(order), total)
        return replace(fit, error=found[key][0])

    best = look(best)
    for name, values in steps:
        others = [look(replace(best, **{name: value})) for value in values]
        best = min([best, *others], key=lambda fit: fit.error)
    simulated = found[best.window, best.estimates, best.switches][1]
    return Waits(
        len(jobs),
        best,
        tuple(order),
        {
            share: (float(np.quantile(recorded, share)), float(np.quantile(simulated, share)))
            for share in QUANTILES
        },
        (float(recorded.mean()), float(simulated.mean())),
        tuple(_mean_biases(jobs, recorded, simulated)),
    )


def with_queue(experiment: Experiment, fit: QueueFit) -> Experiment:
    """Return an experiment with settings of the queue."""
    options = dict(experiment.queue_options)
    if fit.switches is not None:
        options["switches"] = fit.switches
    return replace(experiment, window=fit.window, estimates=fit.estimates, queue_options=options)


def _own_settings(experiment: Experiment, parts: RunParts) -> QueueFit:
    """Return the settings that an experiment has."""
    switches = experiment.queue_options.get("switches")
    own = None if switches is None else str(switches)
    return QueueFit(experiment.window, experiment.estimates or parts.estimates, own, 0.0)


def _setting_choices(fixed: frozenset[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield what is tried of each setting."""
    for name, values in (("estimates", ESTIMATES), ("window", WINDOWS), ("switches", SWITCHES)):
        if name not in fixed:
            yield name, values


def _recorded_waits(parts: RunParts, jobs: Sequence[Job]) -> Floats:
    """Return recorded waits."""
    record = parts.record
    assert record is not None  # noqa: S101 (for the type)
    return np.array([record.pins[job.id].start_s - record.submit_s[job.id] for job in jobs])


def _simulated_waits(experiment: Experiment, parts: RunParts, jobs: Sequence[Job]) -> Floats:
    """Return the waits of a freed queue, every run time as recorded."""
    estimates = experiment.estimates or parts.estimates
    schedule = schedule_alone(experiment, replace(parts, estimates=estimates))
    start_s: Mapping[int, float] = {own.job.id: own.start_s for own in schedule.records}
    submit_s = {} if parts.record is None else parts.record.submit_s
    return np.array([start_s[job.id] - submit_s[job.id] for job in jobs])


def _wait_error(recorded: Floats, simulated: Floats) -> float:
    """Return how far waits are from recorded ones."""
    return float(np.abs(np.log((simulated + LEAST_S) / (recorded + LEAST_S))).mean())


def _mean_biases(jobs: Sequence[Job], recorded: Floats, simulated: Floats) -> Iterator[Bias]:
    """Yield mean waits by size class and by partition."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    sizes = size_class(pd.Series([job.n_nodes for job in jobs])).astype(str).to_numpy()
    partitions = np.array([name_of(job, "queue") or "-" for job in jobs])
    for of, groups in (("size", sizes), ("partition", partitions)):
        for group in dict.fromkeys(sorted(groups.tolist(), key=_by_number)):
            here = groups == group
            means = float(recorded[here].mean()), float(simulated[here].mean())
            yield Bias(of, group, int(here.sum()), *means)


def _by_number(group: str) -> tuple[int, str]:
    """Sort size classes by their first number, names by letters."""
    first = group.partition("-")[0].rstrip("+")
    return (int(first), "") if first.isdecimal() else (0, group)
