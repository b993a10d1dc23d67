"""The command `compare`: runs, the policies of a sweep, or runs and another simulator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_lines, print_parts
from coupling.cli.report import difference_notes
from coupling.cli.sweep import Question, is_sweep, print_comparison
from coupling.errors import ResultError
from coupling.terminal_text import remark


def compare(
    results: of.ResultFolders,
    baseline: of.Baseline = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Of a sweep: summary metric; repeatable."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Of a sweep: factor whose values are compared."),
    ] = None,
    over: Annotated[
        str | None, typer.Option(help="Of a sweep: intervals over seeds (default) or days.")
    ] = None,
    heat: Annotated[
        str | None, typer.Option(help="Of a sweep: two factors of a map, A,B; writes the page.")
    ] = None,
    other: Annotated[
        Path | None,
        typer.Option(
            "--with",
            help="Jobs of another simulator, job by job: CSV with the columns of Batsim or ours.",
        ),
    ] = None,
    full: of.FullTable = False,
    as_json: of.AsJson = False,
) -> None:
    """
    Compare runs, or the policies of a sweep.

    Example:

      fabricsim compare results/full results/tapered
    """
    question = Question(baseline, tuple(metrics or ()), tuple(by or ()), over, heat)
    if other is not None:
        question.refuse_for_runs()
        _compare_with(results, other, baseline, as_json=as_json)
    elif len(results) == 1 and is_sweep(results[0]):
        _compare_policies(results[0], question, as_json=as_json)
    else:
        question.refuse_for_runs()
        _compare_runs(results, baseline, full=full, as_json=as_json)


def _compare_runs(
    folders: Sequence[Path], baseline: str | None, *, full: bool, as_json: bool
) -> None:
    """Print the runs of result directories in one table."""
    from coupling.report.terminal import comparison_table
    from coupling.results.comparison import comparison_rows
    from coupling.results.notes import accuracy_of
    from coupling.runs.stored import Stored, line_up

    lineup = line_up([Stored.open(folder) for folder in folders], baseline)
    if as_json:
        rows = comparison_rows(lineup.results, lineup.baseline)
        print_json(
            {
                "baseline": lineup.baseline or None,
                "same_jobs": lineup.same_jobs,
                "differences": {key: dict(values) for key, values in lineup.differences.items()},
                "runs": [
                    {"name": result.name, **row, "network": accuracy_of(result)}
                    for result, row in zip(lineup.results, rows, strict=True)
                ],
            }
        )
        return
    sys.stdout.write(comparison_table(lineup.results, lineup.baseline, full=full) + "\n")
    if notes := difference_notes(lineup):
        sys.stdout.write("\n")
        print_lines(*notes)


def _compare_with(
    folders: Sequence[Path], path: Path, baseline: str | None, *, as_json: bool
) -> None:
    """Print the runs of result directories, job by job against those of another simulator."""
    from coupling.report.metrics import agreement_parts
    from coupling.results.external_schedule import agreement, read_elsewhere
    from coupling.results.formatting import counted, listing
    from coupling.runs.stored import Stored, line_up

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
    print_parts(*agreement_parts(found, other.name, notes))


def _compare_policies(folder: Path, question: Question, *, as_json: bool) -> None:
    """Print the differences that a sweep found; write its page where a map is asked for."""
    from coupling.report.sweep import write_sweep_page
    from coupling.sweep.sweep import Sweep

    sweep = Sweep.open(folder)
    found = question.answer(sweep)
    if question.heat is not None:
        page = write_sweep_page(sweep, found, folder, question.axes(sweep))
        remark(f"{page.name} is in {folder}")
    print_comparison(found, as_json=as_json)
