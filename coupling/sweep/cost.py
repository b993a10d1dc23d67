"""What is left to compute of a sweep, what that will cost, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from coupling.inputs.experiment import Experiment
from coupling.sweep.plan import CellRunner, Plan
from coupling.sweep.spec import Spec
from coupling.sweep.store import Store, classes_of, jobs_of
from fabricsim.checking.errors import FabricsimError

if TYPE_CHECKING:
    import pandas as pd


Kind = tuple[str, ...]


@dataclass
class CellTimes:
    """Forecast of the time of missing cells, by kind of cell."""

    # Cells of one allocator, queue, model, fabric and log take about the same time; a new kind
    # takes the mean of the others for each job. The first cell is left out: it compiles kernels.

    cells: Sequence[tuple[Kind, float]]  # In the order in which they are computed
    _spent: dict[Kind, list[float]] = field(default_factory=dict)
    _begun: bool = False  # Whether a cell has been computed

    @classmethod
    def of(cls, specs: Iterable[Spec]) -> CellTimes:
        """Return the forecast of sweeps one after the other; of none where a cell cannot run."""
        try:
            return cls(
                [
                    _cell_kind(spec.experiment(values))
                    for spec in specs
                    for values in spec.combinations
                ]
            )
        except FabricsimError:  # reported when the sweep is planned
            return cls([])

    def add(self, cell: int, seconds: float) -> None:
        """Note how long a cell took."""
        begun, self._begun = self._begun, True
        if begun and cell < len(self.cells):
            self._spent.setdefault(self.cells[cell][0], []).append(seconds)

    def left_s(self, done: int) -> float | None:
        """Return the seconds that the cells after the first `done` take; None: not known yet."""
        jobs = dict(self.cells)
        work = sum(jobs[kind] * len(times) for kind, times in self._spent.items())
        if not work:
            return None
        each_s = sum(map(sum, self._spent.values())) / work
        means = {kind: sum(times) / len(times) for kind, times in self._spent.items()}
        return sum(means.get(kind, each_s * size) for kind, size in self.cells[done:])


def _cell_kind(experiment: Experiment) -> tuple[Kind, float]:
    """Return the kind of a cell, and its jobs; the bytes of a whole log stand for these."""
    table = experiment.workload_table
    named = ("generator", "path", "n_jobs", "mean_nodes", "scale_nodes", "max_nodes")
    size = table.get("n_jobs", 1)
    if "path" in table and "window_s" not in table:  # windows of logs are taken as alike
        place = experiment.folder / str(table["path"])
        size = place.stat().st_size if place.is_file() else 1
    kind = (
        *(experiment.allocator, experiment.queue, experiment.model, str(experiment.topology)),
        *(str(table.get(name)) for name in named),
    )
    return kind, float(size)


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
    measured_cells: int


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
