"""The report of an experiment: one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coupling.errors import ResultError
from coupling.results.result import Result
from fabricsim.checking import choice, path_of
from fabricsim.checking.errors import public
from fabricsim.checking.outputs import require_apart
from netsim.common.atomic_write import replace_file
from netsim.topology.base import Topology


@public
def write_report(
    results: Sequence[Result],
    experiment_tables: Mapping[str, Any],
    manifest: Mapping[str, Any],
    path: Path,
    *,
    baseline: str | None = None,
    notes: Sequence[str] = (),
    fabrics: Mapping[str, Topology] | None = None,
) -> None:
    """
    Write a report of one or more runs of an experiment.

    Parameters
    ----------
    results : sequence of Result
        The runs, at least one, each with its own name.
    experiment_tables : mapping
        As from `coupling.inputs.experiment.Experiment.tables`.
    manifest : mapping
        Where the results come from; the only source of dates.
    path : Path
        The HTML file; replaced if it exists.
    baseline : str, optional
        Name of the run to compare with, empty for none; by default as for `find_baseline`.
    notes : sequence of str, optional
        Shown first: what a reader must know about these runs.
    fabrics : mapping of str to Topology, optional
        Fabric of each run, by its name, for maps of its links; without one, the names of the links
        tell what they can.

    Raises
    ------
    ResultError
        If there is no run, none of the baseline's name, or the file cannot be written: also where
        it is an input of the runs, or a file of a stored result.

    Notes
    -----
    The file needs no other one and no network. Equal input gives equal bytes.
    """
    if not results:
        raise ResultError(f"{path}: expected at least one run to report, got none.")
    path = path_of("path", path, error=ResultError)
    if baseline:
        choice("baseline", baseline, [result.name for result in results], error=ResultError)
    from coupling.report.run_page import report_html  # noqa: PLC0415 (Matplotlib)

    text = report_html(
        results,
        experiment_tables,
        manifest,
        baseline=baseline,
        notes=notes,
        fabrics=fabrics,
    )
    try:
        require_apart(path, *manifest.get("inputs_sha256", {}))
        replace_file(path, text)
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror}.") from error
