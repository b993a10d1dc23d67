"""What the command `paper` does."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from coupling.cli.do.estimate import print_json
from coupling.cli.do.sweep import RESULTS, Whole
from coupling.errors import ExperimentError, Stopped
from coupling.papers.page import CLAIM_HEADS, cells_of, write_page
from coupling.papers.paper import Paper
from coupling.papers.record import PaperRecord, record_of
from coupling.papers.registry import PAPERS
from coupling.papers.runs import run_all, specs_of
from coupling.report.columns import table, text_lines, text_of
from coupling.report.terminal import ProgressDisplay
from coupling.sweep.remaining_time import CellTimes
from coupling.terminal_text import remark, visible
from fabricsim.checking import look_up


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the command `paper`: its arguments, in their order."""

    name: str
    quick: bool
    logs: Path | None
    out: Path | None
    recorded: Path | None
    changes: tuple[str, ...]
    only: tuple[str, ...]
    workers: int
    as_json: bool


def run_paper(asked: Asked) -> None:
    """
    Run the experiments of a paper, or read what they found, and write its page.

    Parameters
    ----------
    asked : Asked
        What was asked for.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If an argument is wrong, a log is missing, or an experiment cannot run.
    """
    paper = look_up("paper", asked.name, PAPERS, ExperimentError)
    folder = asked.out or RESULTS / (paper.name + ("-quick" if asked.quick else ""))
    if asked.recorded is not None:
        _refuse_beside_record(asked)
        record = PaperRecord.read(asked.recorded, paper)
    else:
        record = _found(paper, asked, folder)
        record.save(folder / f"{paper.name}.json")
    page = write_page(record, folder)
    claims = [cells_of(claim) for claim in paper.claims(record.frames)]
    if asked.as_json:
        print_json(
            {
                "paper": paper.name,
                "page": str(page),
                "claims": [dict(zip(_KEYS, cells, strict=True)) for cells in claims],
            }
        )
        return
    sys.stdout.write(text_of(*_parts(claims)))
    remark(f"{visible(str(page))} has the figures and all tables")


def _parts(claims: Sequence[tuple[str, ...]]) -> list[RenderableType]:
    """Return the first table and, numbered below it, the reasons."""
    whys = list(dict.fromkeys(why for *_, why in claims if why))
    rows = [(*cells, f"[{whys.index(why) + 1}]" if why else "") for *cells, why in claims]
    notes = [f"[{number}] {why}" for number, why in enumerate(whys, start=1)]
    return [table((*CLAIM_HEADS[:-1], "why"), rows, left=range(5)), text_lines(*notes)]


_KEYS = ("where", "what", "paper", "ours", "why")


def _refuse_beside_record(asked: Asked) -> None:
    """Refuse what asks for runs beside a record of them."""
    given = {
        "--quick": asked.quick,
        "--logs": asked.logs is not None,
        "--set": asked.changes,
        "--only": asked.only,
    }
    for name, value in given.items():
        if value:
            raise ExperimentError(f"paper: expected one of --recorded and {name}, got both.")


def _found(paper: Paper, asked: Asked, folder: Path) -> PaperRecord:
    """Compute what is missing of a paper's runs, and find its numbers in them."""
    if asked.quick and asked.logs is not None:
        raise ExperimentError("paper: expected one of --quick and --logs, got both.")
    if not asked.quick:
        check_logs(paper, asked.logs)
    specs = specs_of(
        paper.name, quick=asked.quick, logs=asked.logs, changes=asked.changes, only=asked.only
    )
    _refuse_too_few(paper, specs)
    with ProgressDisplay(unit="cells") as display:
        told = Whole(display, CellTimes.of(specs.values()))
        try:
            runs = run_all(
                specs,
                folder,
                quick=asked.quick,
                logs=asked.logs,
                workers=asked.workers,
                progress=told,
            )
        except Stopped as stop:
            stop.add_note("finished cells are kept; the same command goes on from there")
            raise
    return record_of(paper.name, runs, asked.changes, asked.only)


def _refuse_too_few(paper: Paper, files: Collection[str]) -> None:
    """Refuse files of which a paper's numbers cannot be found, before any is run."""
    for group in paper.needs:
        if not any(name in files for name in group):
            raise ExperimentError(
                f"--only: paper {paper.name} needs {' or '.join(group)} as well, got "
                f"{', '.join(files)}."
            )


def check_logs(paper: Paper, folder: Path | None) -> None:
    """
    Refuse a folder in which a log of a paper is missing.

    Parameters
    ----------
    paper : Paper
        The paper.
    folder : Path or None
        Where its logs should be; None: nobody said.

    Raises
    ------
    ExperimentError
        If a log is not there; it says which, and where to get it.
    """
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
