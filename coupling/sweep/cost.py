"""What is left to compute of a sweep, and what that will cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coupling.sweep.plan import Plan
from coupling.sweep.running import CellRunner
from coupling.sweep.store import Store, classes_of, jobs_of

if TYPE_CHECKING:
    import pandas as pd

_PILOT_JOBS = 200


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a sweep will cost."""

    # cells, finished: in all, and there already
    cells: int
    finished: int
    cpu_s: float  # CPU seconds of those that are missing
    disk_bytes: float  # That these will take
    # Finished cells from which it is estimated; 0: from the first jobs of each policy
    measured: int


def missing(plan: Plan, folder: Path, among: Sequence[int]) -> list[int]:
    """Return the cells that are to be computed."""
    store, jobs = Store(folder), plan.spec.design.jobs
    return [index for index in among if not store.is_finished(plan.cells[index], jobs=jobs)]


def estimate(plan: Plan, folder: Path) -> CostEstimate:
    """Estimate the missing cells of a plan from finished ones, or from their first jobs."""
    store = Store(folder)
    pending = missing(plan, folder, range(len(plan.cells)))
    known = sorted(set(range(len(plan.cells))) - set(pending))
    costs = [store.cost(plan.cells[index]).get("cpu_s") for index in known]
    measured = [float(cost) for cost in costs if cost is not None]
    if measured:
        sizes = [_table_bytes(store, plan, index) for index in known]
        each_s, each_bytes = sum(measured) / len(measured), sum(sizes) / len(sizes)
        left = len(pending)
        return CostEstimate(
            len(plan.cells), len(known), left * each_s, left * each_bytes, len(measured)
        )
    cpu_s = disk = 0.0
    pilots = _one_per_policy(plan, pending)
    bench, of_policy = CellRunner(), {}
    for policy, index in pilots.items():
        experiment = plan.experiment(index)
        bench.pilot(experiment, 2)  # compiles what there is to compile
        result, s_per_job, n_jobs = bench.pilot(experiment, _PILOT_JOBS)
        n_bytes = float(_packed_bytes(classes_of(result.jobs)))  # hardly grows with the jobs
        if plan.spec.design.jobs:
            n_bytes += _packed_bytes(jobs_of(result)) / len(result.jobs) * n_jobs
        of_policy[policy] = (s_per_job * n_jobs, n_bytes)
    for index in pending:
        here = of_policy[_policy_of(plan, index)]
        cpu_s, disk = cpu_s + here[0], disk + here[1]
    return CostEstimate(len(plan.cells), len(known), cpu_s, disk, 0)


def warm(plan: Plan, pending: Sequence[int]) -> None:
    """Have kernels compiled and cached before several processes would each compile them."""
    bench = CellRunner()
    for index in _one_per_policy(plan, pending).values():
        bench.pilot(plan.experiment(index), 2)


def _packed_bytes(table: pd.DataFrame) -> int:
    """Return the bytes of a table as a file."""
    return len(table.to_parquet(index=False))


def _table_bytes(store: Store, plan: Plan, index: int) -> int:
    """Return the bytes of the job table of a cell."""
    name = "jobs" if plan.spec.design.jobs else "classes"
    return store.table(name, plan.cells[index]).stat().st_size


def _policy_of(plan: Plan, index: int) -> tuple[str, ...]:
    """Return what decides how long a job of a cell takes to simulate."""
    experiment = plan.experiment(index)
    return (experiment.allocator, experiment.queue, experiment.model, str(experiment.topology))


def _one_per_policy(plan: Plan, pending: Sequence[int]) -> dict[tuple[str, ...], int]:
    """Return a cell of each policy."""
    found: dict[tuple[str, ...], int] = {}
    for index in pending:
        found.setdefault(_policy_of(plan, index), index)
    return found
