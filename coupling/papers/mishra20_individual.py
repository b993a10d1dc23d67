"""Mishra20's individual runs: one job at a time, on the same states of the machine."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from coupling.inputs.experiment import Experiment
from coupling.papers.runs import Runs
from coupling.rates.baseline_rates import REFERENCE, cost_ratio_of
from coupling.runs.assembly import assemble
from netsim.topology.base import Topology
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job

BUSY_FIRST, BUSY_THEN = 0.75, 0.5  # of the nodes: filled by the default, then random jobs end
SEED = 1


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried."""

    states: int  # Partly occupied machines
    trials: int  # Jobs that are placed on each, one at a time


QUICK, FULL = Effort(3, 100), Effort(5, 200)


def occupied(topology: Topology, jobs: Sequence[Job], rng: np.random.Generator) -> Cluster:
    """Return a machine filled by the default with random jobs, of which random ones have ended."""
    cluster = Cluster(topology)
    default = make_allocator(REFERENCE, {}, SEED)
    for number in rng.permutation(len(jobs)).tolist():
        if cluster.n_free <= (1 - BUSY_FIRST) * cluster.n_nodes:
            break
        placement = default.allocate(jobs[number], cluster)
        if placement is not None:
            cluster.place(placement)
    for number in rng.permutation(list(cluster.running)).tolist():
        if cluster.n_free >= (1 - BUSY_THEN) * cluster.n_nodes:
            break
        cluster.release(number)
    return cluster


def on_same_states(experiments: Mapping[str, Experiment], effort: Effort) -> pd.DataFrame:
    """Place random jobs alone on equal states; return gains in per cent by allocator."""
    first = next(iter(experiments.values()))
    parts, ratio = assemble(first), cost_ratio_of(first.model_options)
    jobs = parts.workload.jobs
    allocators = {
        name: make_allocator(own.allocator, own.allocator_options, own.all_seeds["allocator"])
        for name, own in experiments.items()
    }
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in allocators}
    for state in range(effort.states):
        rng = np.random.default_rng((SEED, state))
        cluster = occupied(parts.topology, jobs, rng)
        for job in _fitting_jobs(jobs, cluster, effort, rng):
            for name, allocator in allocators.items():
                placement = allocator.allocate(job, cluster)
                if placement is not None:
                    factor = ratio.factor(placement, cluster)
                    found[name].append((factor, job.communication is not None))
    return pd.DataFrame([{"allocator": name} | _mean_gains(pairs) for name, pairs in found.items()])


def _fitting_jobs(
    jobs: Sequence[Job], cluster: Cluster, effort: Effort, rng: np.random.Generator
) -> list[Job]:
    """Draw jobs for which enough nodes are free, under unused numbers."""
    fitting = [job for job in jobs if job.n_nodes <= cluster.n_free]
    count = min(effort.trials, len(fitting))
    picks = rng.choice(len(fitting), count, replace=False).tolist() if count else []
    return [replace(fitting[pick], id=-1) for pick in picks]


def _mean_gains(pairs: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """Return what the jobs gained, in per cent."""
    factors = np.array([factor for factor, _ in pairs])
    talking = factors[np.array([talks for _, talks in pairs], dtype=bool)]
    return {
        "time": 100.0 * (1.0 - float(factors.mean())),
        "cost": 100.0 * (1.0 - float(talking.mean())),
        "best": 100.0 * (1.0 - float(factors.min())),
    }


def individual(runs: Runs, names: Mapping[str, Mapping[int, tuple[str, str, str]]]) -> pd.DataFrame:
    """Return the individual runs of a paper's cells, by log, pattern and allocator."""
    plans = {file: runs.sweeps[file].plan for file in names}
    effort = QUICK if runs.quick else FULL
    cells = [
        (plans[file].cells[index].name, *told)
        for file, own in names.items()
        for index, told in own.items()
    ]

    def make() -> pd.DataFrame:
        groups: dict[tuple[str, str], dict[str, Experiment]] = {}
        for file, own in names.items():
            for index, (log, pattern, allocator) in own.items():
                group = groups.setdefault((log, pattern), {})
                group.setdefault(allocator, plans[file].experiment(index))
        return pd.concat(
            [
                on_same_states(group, effort).assign(log=log, pattern=pattern)
                for (log, pattern), group in groups.items()
            ],
            ignore_index=True,
        )

    return runs.stored("individual", [cells, asdict(effort), BUSY_FIRST, BUSY_THEN, SEED], make)
