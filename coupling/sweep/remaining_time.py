"""How long the rest of a sweep takes, where its cells are of very unequal size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coupling.inputs.experiment import Experiment
from coupling.sweep.spec import Spec
from fabricsim.checking.errors import FabricsimError

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
    def of(cls, specs: Iterable[Spec]) -> "CellTimes":
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
        place = experiment.resolve(Path(str(table["path"])))
        size = place.stat().st_size if place.is_file() else 1
    kind = (
        *(experiment.allocator, experiment.queue, experiment.model, str(experiment.topology)),
        *(str(table.get(name)) for name in named),
    )
    return kind, float(size)
