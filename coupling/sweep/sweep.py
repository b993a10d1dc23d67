"""Sweeps: plan, compute what is missing, gather."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coupling.errors import ExperimentError, ResultError
from coupling.runs.result_directory import LOCK, claimed
from coupling.stopping import require_callable
from coupling.sweep.cost import missing, warm
from coupling.sweep.executors import compute_here, compute_in_processes, compute_on_dask
from coupling.sweep.plan import Plan, make_plan
from coupling.sweep.spec import Spec
from coupling.sweep.store import CELLS, CLASSES, DAYS, SweepTables, gathered, opened
from fabricsim.checking import path_of, shortened, whole
from fabricsim.checking.errors import public_class
from fabricsim.checking.outputs import PLAN
from netsim.common.atomic_write import is_leftover

if TYPE_CHECKING:
    import pandas as pd

METRICS = (
    "mean_turnaround_s",
    "mean_wait_s",
    "mean_network_slowdown",
    "mean_interference",
    "node_hours",
    "utilization_steady",
)
"""Numbers of the summary that are compared where none are named."""
ALL = "all"
"""Class of the rows of all jobs."""
Progress = Callable[[str, int, int], None]
"""Called with what is done, how many cells are done, and how many there are."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """
    Policies of a sweep, compared.

    Parameters
    ----------
    baseline : str
        The policy that the others are compared with.
    metrics : tuple of str
        Numbers of the summary; the first one is the one that ranks and variance are about.
    over : {"seeds", "days"}
        What was resampled for the intervals.
    differences : DataFrame
        A row per policy (but the baseline), metric and class of jobs: ``policy``, ``metric``,
        ``by`` (``all``, ``size`` or ``pattern``), ``class``, ``baseline`` and ``mean`` (means over
        samples), ``difference`` (relative to the baseline, mean over samples; of times the
        geometric mean of the ratios, less 1), its 95 % interval ``low`` to ``high``, and
        ``samples``.
    ranks : DataFrame
        A row per policy: ``wins`` over the baseline, ``ties``, ``samples``, ``first`` (samples in
        which it is the best of all), and ``tau``: Kendall's, between the order of the policies in
        a sample and that of their means, mean over samples (the same in every row).
    variance : DataFrame
        A row per outcome and factor: the ``share`` of its variance that the factor alone explains.
    pairs : DataFrame
        A row per sample: its factors, and the relative difference of each policy in the first
        metric.
    unlike : dict
        In how many samples other numbers of jobs ran, or were killed, than under the baseline, by
        policy; without those of none.
    """

    baseline: str
    metrics: tuple[str, ...]
    over: str
    differences: pd.DataFrame
    ranks: pd.DataFrame
    variance: pd.DataFrame
    pairs: pd.DataFrame
    unlike: dict[str, int]

    def __repr__(self) -> str:
        return (
            f"<Comparison with {shortened(self.baseline)!r}: {len(self.ranks)} policies, "
            f"{len(self.pairs)} samples>"
        )

    def to_frame(self) -> pd.DataFrame:
        """
        Return the differences with their intervals.

        Returns
        -------
        DataFrame
            A row per policy, metric and class; a copy.
        """
        return self.differences.copy()

    def _repr_html_(self) -> str:
        """Return the differences over all jobs as notebooks show them."""
        return str(self.differences[self.differences["by"] == ALL].to_html(index=False))


@public_class
@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """
    A finished sweep.

    Parameters
    ----------
    plan : Plan
        What was computed.
    found : Gathered
        What all cells say.
    """

    plan: Plan
    found: SweepTables

    @property
    def cells(self) -> pd.DataFrame:
        """A row per cell: its name, the factors, and the numbers of its summary."""
        return self.found.table(CELLS)

    @property
    def classes(self) -> pd.DataFrame:
        """Sums by size class and pattern of each cell."""
        return self.found.table(CLASSES)

    @property
    def days(self) -> pd.DataFrame:
        """Sums by day of submission of each cell."""
        return self.found.table(DAYS)

    def __repr__(self) -> str:
        factors = ", ".join(
            f"{len(values)} {name}" for name, values in self.plan.spec.labels.items()
        )
        name, count = shortened(self.plan.spec.name), len(self.cells)
        return f"<Sweep {name!r}: {count} cells ({shortened(factors)})>"

    def to_frame(self) -> pd.DataFrame:
        """
        Return the table of cells.

        Returns
        -------
        DataFrame
            A row for each cell (docs/reference/results.md); a copy.
        """
        return self.cells.copy()

    def compare(
        self,
        baseline: str | None = None,
        metrics: Sequence[str] = METRICS,
        by: Sequence[str] = (),
        over: str = "seeds",
    ) -> Comparison:
        """
        Compare the policies, sample by sample.

        Parameters
        ----------
        baseline : str, optional
            Policy to compare with; default: ``first-free`` or ``baseline``, else the first.
        metrics : sequence of str
            Numbers of the summary.
        by : sequence of str, optional
            Factors whose values are compared; default: those of the scheduler, and the routing.
        over : {"seeds", "days"}
            What to resample for the intervals.

        Returns
        -------
        Comparison
            Paired differences with intervals; its `to_frame` has a row for each.

        Raises
        ------
        ResultError
            If there is nothing to compare, or a name is unknown.
        """
        from coupling.sweep.comparison import compare_policies  # noqa: PLC0415 (it takes a sweep)

        return compare_policies(self, baseline=baseline, metrics=metrics, by=by, over=over)

    def _repr_html_(self) -> str:
        """Return the table of cells as notebooks show it, its middle left out where it is long."""
        return str(self.cells.to_html(max_rows=20))

    @classmethod
    def open(cls, folder: str | Path) -> Sweep:
        """
        Open a sweep whose cells are all finished; tables of single cells are not read.

        Parameters
        ----------
        folder : str or Path
            Its directory.

        Returns
        -------
        Sweep
            The sweep.

        Raises
        ------
        ResultError
            If it is none, cells are missing, or a file is damaged.
        """
        folder = path_of("folder", folder, error=ResultError)
        return Sweep(plan := Plan.load(folder), opened(plan, folder))


def run_sweep(
    spec: Spec,
    out: str | Path,
    *,
    workers: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Compute the cells of a sweep that are not finished yet, in its directory, new or begun."""
    # The same bytes come out whatever the workers. Nothing is run where a cell can never run.
    folder = path_of("out", out, error=ResultError)
    whole("workers", workers, 1, error=ResultError)
    if dask is not None and workers > 1:
        raise ExperimentError("workers: expected 1 with dask, whose scheduler has its own.")
    require_callable(progress)
    check_folder(folder)
    plan = make_plan(
        spec, None if progress is None else (lambda done, total: progress("checked", done, total))
    )
    with claimed(folder):
        plan.save(folder)
        return complete(plan, folder, workers=workers, dask=dask, progress=progress)


def complete(
    plan: Plan, folder: Path, *, workers: int, dask: str | None, progress: Progress | None
) -> Sweep:
    """Compute the cells of a plan that are missing, and gather all."""
    pending = missing(plan, folder, range(len(plan.cells)))
    compute_cells(plan, folder, pending, workers=workers, dask=dask, progress=progress)
    return gather(plan, folder)


def compute_cells(
    plan: Plan,
    folder: Path,
    pending: Sequence[int],
    *,
    workers: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Compute cells."""
    folder, total = folder.resolve(), len(plan.cells)
    done = total - len(pending)

    def computed(_index: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress("computed", done, total)

    if progress is not None:
        progress("computed", done, total)
    if not pending:
        return
    if dask is not None:
        compute_on_dask(folder, pending, dask, computed)
    elif workers > 1 and len(pending) > 1:
        warm(plan, pending)
        compute_in_processes(folder, pending, min(workers, len(pending)), computed)
    else:
        compute_here(folder, pending, computed)


def gather(plan: Plan, folder: Path) -> Sweep:
    """Collect the cells of a plan."""
    return Sweep(plan, gathered(plan, folder))


def check_folder(folder: Path) -> None:
    """Refuse a directory that holds something else than a sweep."""
    try:
        names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    except OSError as error:
        raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
    present = [name for name in names if name != LOCK and not is_leftover(name)]
    if present and PLAN not in present:
        raise ResultError(
            f"{folder}: expected a new or empty directory or that of a sweep, found {present[0]}; "
            "choose another with --out."
        )
