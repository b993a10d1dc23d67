"""What the commands `rerun`, `compare` and `report` do."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.errors import ResultError
from coupling.inputs.files import write_whole
from coupling.report.columns import text_lines, text_of
from coupling.report.compare_external import agreement_parts
from coupling.report.exchange import VIEWERS
from coupling.report.figures import run_figures, write_figures
from coupling.report.report import write_report
from coupling.report.terminal import ProgressDisplay, comparison_table
from coupling.results.comparison import comparison_rows
from coupling.results.external_schedule import agreement, read_elsewhere
from coupling.results.formatting import counted, listing
from coupling.results.notes import accuracy_of
from coupling.runs.engine import planned
from coupling.runs.fabrics import drawable_fabrics
from coupling.runs.rerun import REPEATED, Rerun
from coupling.runs.rerun import rerun as run_again
from coupling.runs.run_snapshot import moment
from coupling.runs.stored import Lineup, Stored, line_up
from coupling.terminal_text import visible
from fabricsim.checking import choice
from netsim.common.errors import UnitError
from netsim.common.units import parse_time
from netsim.topology.base import Topology

_SIMGRID = "simgrid"


def run_rerun(folder: Path, *, workers: int, as_json: bool) -> bool:
    """
    Run an experiment again and show whether the bytes agree.

    Parameters
    ----------
    folder : Path
        Result directory.
    workers : int
        Compared runs at the same time.
    as_json : bool
        Print JSON instead of lines.

    Returns
    -------
    bool
        Whether they agree.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If there is no complete result, or an input has gone.
    """
    stored = Stored.open(folder)
    with ProgressDisplay(plan=planned(stored.experiment)) as progress:
        found = run_again(stored, workers=workers, progress=progress)
    if as_json:
        print_json(
            {
                "agrees": found.agrees,
                "runs": list(found.runs),
                "changed_inputs": dict(found.changed_inputs),
                "differences": dict(found.differences),
                "versions": {name: list(pair) for name, pair in found.versions.items()},
            }
        )
    else:
        sys.stdout.write(text_of(text_lines(*_verdict(folder, found))))
    return found.agrees


def _verdict(folder: Path, found: Rerun) -> list[str]:
    """Say what a second run gave."""
    lines = [f"{path}: changed: {how}." for path, how in found.changed_inputs.items()]
    if lines:
        return [*lines, f"{folder} cannot be reproduced: its input has changed."]
    lines = [f"{name} was {then}, now {now}." for name, (then, now) in found.versions.items()]
    lines += [f"{name}: {how}." for name, how in found.differences.items()]
    if found.differences:
        differ = f"{len(found.differences)} of {len(found.runs) * len(REPEATED)} files differ"
        return [*lines, f"{folder}: not reproduced, {differ}."]
    return [*lines, f"{folder}: {listing(found.runs)} reproduced byte by byte."]


def run_compare(
    folders: Sequence[Path], baseline: str | None, *, full: bool = False, as_json: bool
) -> None:
    """
    Show the runs of result directories in one table.

    Parameters
    ----------
    folders : sequence of Path
        Result directories.
    baseline : str or None
        Name of the run to compare with.
    full : bool, default False
        Print all columns of the table.
    as_json : bool
        Print JSON instead of the table.

    Raises
    ------
    CouplingError
        If a directory holds no complete result, or machines differ.
    """
    lineup = line_up([Stored.open(folder) for folder in folders], baseline)
    if as_json:
        print_json(_document(lineup))
        return
    sys.stdout.write(comparison_table(lineup.results, lineup.baseline, full=full) + "\n")
    notes = _notes(lineup)
    if notes:
        sys.stdout.write("\n" + text_of(text_lines(*notes)))


def run_compare_with(
    folders: Sequence[Path], path: Path, baseline: str | None, *, as_json: bool
) -> None:
    """
    Show the runs of result directories beside the jobs of another simulator.

    Parameters
    ----------
    folders : sequence of Path
        Result directories.
    path : Path
        Its table of jobs.
    baseline : str or None
        Refused: every run is compared with the other simulator.
    as_json : bool
        Print JSON instead of the table.

    Raises
    ------
    CouplingError
        If there is no complete result, or the table cannot be read or is of other jobs.
    """
    if baseline is not None:
        raise ResultError("--baseline: expected none beside --with, whose table is the baseline.")
    other = read_elsewhere(path)
    lineup = line_up([Stored.open(folder) for folder in folders])
    found = [agreement(result.name, result.jobs, other) for result in lineup.results]
    notes = []
    if other.rejected:
        notes.append(f"{other.name}: {counted(other.rejected, 'job')} did not run there.")
    if other.unread:
        notes.append(f"{other.name}: columns that are not read: {listing(other.unread)}.")
    if as_json:
        print_json({"with": str(path), "runs": [asdict(one) for one in found], "notes": notes})
        return
    sys.stdout.write(text_of(*agreement_parts(found, other.name, notes)))


def _document(lineup: Lineup) -> dict[str, Any]:
    """Return a comparison for programs."""
    rows = comparison_rows(lineup.results, lineup.baseline)
    return {
        "baseline": lineup.baseline or None,
        "same_jobs": lineup.same_jobs,
        "differences": {key: dict(values) for key, values in lineup.differences.items()},
        "runs": [
            {"name": result.name, **row, "network": accuracy_of(result)}
            for result, row in zip(lineup.results, rows, strict=True)
        ],
    }


def _notes(lineup: Lineup) -> list[str]:
    """Say in what runs differ beside the allocator."""
    notes = []
    for key, by_run in lineup.differences.items():
        values: dict[str, list[str]] = {}
        for name, value in by_run.items():
            values.setdefault(value, []).append(name)
        parts = "; ".join(f"{value}: {listing(names)}" for value, names in values.items())
        notes.append(f"{key} differs: {parts}.")
    return notes


def run_report(
    folders: Sequence[Path],
    out: Path | None,
    baseline: str | None,
    figures: Path | None = None,
    *,
    as_json: bool,
) -> None:
    """
    Write a report over result directories.

    Parameters
    ----------
    folders : sequence of Path
        Result directories.
    out : Path or None
        The HTML file; None: ``report.html`` in the only directory.
    baseline : str or None
        Name of the run to compare with.
    figures : Path, optional
        Folder for each figure as PDF, SVG and CSV.
    as_json : bool
        Print JSON instead of a line.

    Raises
    ------
    CouplingError
        If a directory holds no complete result, machines differ, or the file cannot be
        written.
    """
    if out is None and len(folders) > 1:
        raise ResultError(f"report: expected --out FILE for {len(folders)} directories, got none.")
    path = out or folders[0] / "report.html"
    lineup, fabrics = write_pages(folders, path, baseline)
    written = []
    if figures is not None:
        written = write_figures(run_figures(lineup.results, fabrics, lineup.baseline), figures)
    if as_json:
        runs = [result.name for result in lineup.results]
        print_json({"file": str(path), "runs": runs, "figures": [str(one) for one in written]})
    else:
        for one in (path, *written):
            sys.stdout.write(f"{visible(str(one))}\n")


def write_pages(
    folders: Sequence[Path], path: Path, baseline: str | None = None
) -> tuple[Lineup, Mapping[str, Topology]]:
    """
    Write a page over result directories.

    `path`: the file. `baseline`: name of the run to compare with. Result: the runs beside each
    other, and their fabrics by name.
    """
    stored = [Stored.open(folder) for folder in folders]
    lineup = line_up(stored, baseline)
    tables = _merged([campaign.experiment.tables() for campaign in stored], folders)
    manifest = _merged([campaign.manifest for campaign in stored], folders)
    notes = [] if len(stored) == 1 else _notes(lineup)
    fabrics = _fabrics(stored, lineup)
    write_report(
        lineup.results,
        tables,
        manifest,
        path,
        baseline=lineup.baseline,
        notes=notes,
        fabrics=fabrics,
    )
    return lineup, fabrics


def _fabrics(stored: Sequence[Stored], lineup: Lineup) -> dict[str, Topology]:
    """Build the fabrics of runs, whose results stand one campaign after the other."""
    results = iter(lineup.results)
    return drawable_fabrics(
        (campaign.experiment, list(islice(results, len(campaign.places)))) for campaign in stored
    )


def run_export(
    folder: Path, to: str, out: Path, run: str | None, iterations: int | None, *, as_json: bool
) -> None:
    """
    Write a result for another program.

    Parameters
    ----------
    folder : Path
        Result directory.
    to : str
        A key of `VIEWERS`, or ``simgrid``.
    out : Path
        The file; ``-`` is standard output. A folder for ``simgrid``.
    run : str or None
        Allocator of the run; None: all.
    iterations : int or None
        Of a job at most, in SimGrid.
    as_json : bool
        Print what was written as JSON.

    Raises
    ------
    CouplingError
        If there is no complete result, no such run or viewer, or the file cannot be written.
    """
    choice("--to", to, (*VIEWERS, _SIMGRID), error=ResultError)
    if to == _SIMGRID:
        _export_to_simgrid(folder, out, run, iterations, as_json=as_json)
        return
    if iterations is not None:
        raise ResultError(f"--iterations: expected beside --to {_SIMGRID}, got --to {to}.")
    results = Stored.open(folder).results()
    names = [result.name for result in results]
    if run is not None:
        choice("--run", run, names, error=ResultError)
        results = [result for result in results if result.name == run]
    write_whole(out, VIEWERS[to](results))
    if as_json and str(out) != "-":
        print_json({"out": str(out), "to": to, "runs": [result.name for result in results]})


def _export_to_simgrid(
    folder: Path, out: Path, run: str | None, iterations: int | None, *, as_json: bool
) -> None:
    """Write platform, schedule and player into a folder."""
    from coupling.report.simgrid import ITERATIONS, remarks, simgrid_files
    from coupling.runs.retrace import retrace

    if str(out) == "-":
        raise ResultError(f"--out: expected a folder beside --to {_SIMGRID}, got '-'.")
    retraced = retrace(Stored.open(folder), run)
    written = simgrid_files(retraced, iterations or ITERATIONS)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{out}: cannot be made: {error.strerror}.") from None
    for name, text in written.items():
        write_whole(out / name, text)
    told = remarks(retraced)
    if as_json:
        print_json({"out": str(out), "to": _SIMGRID, "files": list(written), "remarks": told})
    else:
        sys.stdout.write(text_of(text_lines(*(f"{one}." for one in told))))


def run_snapshot(folder: Path, at: str, run: str | None, out: Path, *, as_json: bool) -> None:
    """
    Write a snapshot of one moment of a run.

    Parameters
    ----------
    folder : Path
        Result directory.
    at : str
        The moment: seconds, or a number with a unit.
    run : str or None
        Allocator of the run.
    out : Path
        The file; ``-`` is standard output.
    as_json : bool
        Also print JSON about the file; a snapshot on standard output is JSON itself.

    Raises
    ------
    CouplingError
        If there is no complete result, no such run or moment, or the file cannot be written.
    """
    try:
        at_s = parse_time(at)
    except UnitError as error:
        raise ResultError(f"--at: {error}") from None
    document = moment(Stored.open(folder), at_s, run)
    write_whole(out, json.dumps(document, indent=1) + "\n")
    if as_json and str(out) != "-":
        print_json({"out": str(out), "at_s": at_s, "jobs": len(document["jobs"])})


def _merged(tables: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> dict[str, Any]:
    """Merge tables; where values differ, say which is whose."""
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for table in tables for key in table):
        values = [table.get(key) for table in tables]
        if all(value == values[0] for value in values):
            merged[key] = values[0]
        elif all(isinstance(value, Mapping) for value in values):
            merged[key] = _merged([dict(value or {}) for value in values], folders)
        else:
            merged[key] = ", ".join(
                f"{value} ({folder})" for value, folder in zip(values, folders, strict=True)
            )
    return merged
