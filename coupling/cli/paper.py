"""The command `paper`: run a published study, and set its numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import RESULTS, print_json, print_parts
from coupling.cli.sweep import SweepProgress
from coupling.errors import ExperimentError, Stopped
from coupling.terminal_text import remark, visible

if TYPE_CHECKING:
    from coupling.papers.page import PaperRecord
    from coupling.papers.paper import Paper


def paper(
    name: Annotated[str, typer.Argument(help="pollard18, smith21, stoltzfus13, mishra20 or yang.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small inputs that ship: minutes, no log needed.")
    ] = False,
    logs: Annotated[
        Path | None, typer.Option(help="Folder of the public job logs that the paper needs.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory; default results/NAME or results/NAME-quick.")
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="Run nothing: make the page of this record, NAME.json.")
    ] = None,
    changes: of.Changes = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Run this experiment file of the paper; repeatable."),
    ] = None,
    workers: of.Workers = 1,
    as_json: of.AsJson = False,
) -> None:
    """
    Run a paper's experiments; say which of its claims hold.

    Finished cells are kept: stopped and started again, it goes on.

    Example:

      fabricsim paper smith21 --quick
    """
    from coupling.papers.claims import decision_document, decision_text
    from coupling.papers.page import PAPERS, PaperRecord, decisions_of, write_page
    from coupling.report.columns import text_lines
    from fabricsim.checking import look_up

    study = look_up("paper", name, PAPERS, ExperimentError)
    folder = out or RESULTS / (study.name + ("-quick" if quick else ""))
    if recorded is not None:
        for other, value in (
            ("--quick", quick),
            ("--logs", logs),
            ("--set", changes),
            ("--only", only),
        ):
            if value:
                raise ExperimentError(f"paper: expected one of --recorded and {other}, got both.")
        record = PaperRecord.read(recorded, study)
    else:
        if quick and logs is not None:
            raise ExperimentError("paper: expected one of --quick and --logs, got both.")
        if not quick:
            _require_logs(study, logs)
        record = _computed_record(
            study, folder, logs, tuple(changes or ()), tuple(only or ()), workers, quick=quick
        )
        record.save(folder / f"{study.name}.json")
    page = write_page(record, folder)
    decisions = decisions_of(record)
    if as_json:
        print_json(
            {
                "paper": study.name,
                "page": str(page),
                "claims": [decision_document(one) for one in decisions],
            }
        )
        return
    print_parts(text_lines(*map(decision_text, decisions)))
    remark(f"{visible(str(page))} has the figures and all tables")


def _computed_record(
    study: Paper,
    folder: Path,
    logs: Path | None,
    changes: tuple[str, ...],
    only: tuple[str, ...],
    workers: int,
    *,
    quick: bool,
) -> PaperRecord:
    """Compute what is missing of a paper's runs, and return its numbers in them."""
    from coupling.papers.page import record_of
    from coupling.papers.runs import run_all, specs_of
    from coupling.report.terminal import ProgressDisplay
    from coupling.sweep.cost import CellTimes

    specs = specs_of(study.name, quick=quick, logs=logs, changes=changes, only=only)
    for group in study.needs:
        if not any(name in specs for name in group):
            raise ExperimentError(
                f"--only: paper {study.name} needs {' or '.join(group)} as well, got "
                f"{', '.join(specs)}."
            )
    with ProgressDisplay(unit="cells") as display:
        progress = SweepProgress(display, CellTimes.of(specs.values()))
        try:
            runs = run_all(
                specs, folder, quick=quick, logs=logs, workers=workers, progress=progress
            )
        except Stopped as stop:
            stop.add_note("finished cells are kept; the same command goes on from there")
            raise
    return record_of(study.name, runs, changes, only)


def _require_logs(paper: Paper, folder: Path | None) -> None:
    """Refuse a folder in which a log of a paper is missing; say where to get it."""
    for log in paper.logs:
        if folder is None:
            raise ExperimentError(
                f"paper {paper.name}: expected --logs DIR with {log.file} (from {log.source}), or "
                "--quick, which needs no log."
            )
        if not (folder / log.file).is_file():
            raise ExperimentError(
                f"--logs {folder}: expected {log.file}, found none; get it from {log.source}, or "
                "ask with --quick, which needs no log."
            )
