"""The page of a paper: its numbers, ours beside them, figures, and reasons."""

from pathlib import Path

import pandas as pd

from coupling.errors import ResultError
from coupling.inputs.files import sheet_of, write_whole
from coupling.papers.paper import Claim
from coupling.papers.record import PaperRecord
from coupling.papers.runs import words_of
from coupling.papers.tables import NUMBER_HEADS, numbers_of
from coupling.report.figures import Section, write_figures

CLAIM_HEADS = ("where", "what", "paper", "ours", "why they differ")


def cells_of(claim: Claim) -> tuple[str, str, str, str, str]:
    """Return a row of the first table."""
    return claim.where, claim.what, claim.paper, claim.ours, claim.why


def page_text(record: PaperRecord) -> str:
    """Return the page of a record as Markdown; the same for the same record."""
    paper, frames = record.paper, record.frames
    remake = f"fabricsim paper {paper.name} --recorded {paper.name}.json --out DIR"
    drawn = paper.figures(frames)
    parts = [
        f"# {paper.title}",
        f"<!-- Written by `{remake}`: change the record or the code, not this page. -->",
        f"Made by `{record.command}` ({record.made}). Source: {paper.key}.",
        words_of(paper.name, "setup"),
        "## Paper and ours",
        f"One number a row: [numbers.csv]({paper.name}/numbers.csv).",
        f"```{{csv-table}}\n:file: {paper.name}/numbers.csv\n:header-rows: 1\n```",
        "## Why they differ",
        words_of(paper.name, "reasons"),
        "## What quick mode decides",
        words_of(paper.name, "quick"),
        "## Figures",
        "Marks are the paper's values.",
        *(f"![{one.picture.alt.partition(';')[0]}]({paper.name}/{one.name}.svg)" for one in drawn),
    ]
    return "\n\n".join(parts) + "\n"


def write_page(record: PaperRecord, folder: Path) -> Path:
    """Write the page of a record, its tables as CSV, and its figures as PDF, SVG and CSV."""
    paper, frames = record.paper, record.frames
    inner = folder / paper.name
    try:
        inner.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
    write_figures({"": Section(tuple(paper.figures(frames)))}, inner)
    claims = pd.DataFrame(map(cells_of, paper.claims(frames)), columns=list(CLAIM_HEADS))
    tables = {"paper-and-ours": claims} | {
        f"table-{sheet.name}": pd.DataFrame(sheet.rows, columns=list(sheet.columns))
        for sheet in paper.sheets(frames)
    }
    numbers = pd.DataFrame(numbers_of(paper.claims(frames)), columns=list(NUMBER_HEADS))
    tables["numbers"] = numbers
    for name, table in tables.items():
        write_whole(inner / f"{name}.csv", sheet_of(table))
    page = folder / f"{paper.name}.md"
    write_whole(page, page_text(record))
    return page
