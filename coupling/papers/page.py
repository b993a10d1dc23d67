"""The page of a paper: its table, ours beside it, figures, and reasons."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from coupling.errors import ResultError
from coupling.papers.paper import Claim
from coupling.papers.record import Record
from coupling.papers.runs import words_of
from coupling.reading.files import sheet_of
from coupling.report.figures import Drawn, Section, write_figures
from coupling.results.manifest import write_file

CLAIM_HEADS = ("where", "what", "paper", "ours", "why they differ")


def cells_of(claim: Claim) -> tuple[str, str, str, str, str]:
    """Return a row of the first table."""
    return claim.where, claim.what, claim.paper, claim.ours, claim.why


def page_text(record: Record) -> str:
    """
    Return the page of a record as Markdown.

    Result: the same for the same record; its figures lie in the folder of the paper's name.
    """
    paper, frames = record.paper, record.frames
    remake = f"fabricsim paper {paper.name} --recorded {paper.name}.json --out DIR"
    parts = [
        f"# {paper.title}",
        f"<!-- Written by `{remake}`: change the record or the code, not this page. -->",
        f"Source: {paper.key} ([bibliography](../../about/bibliography.md)).",
        f"`{record.command}` ({record.made}).",
        words_of(paper.name, "setup"),
        "## The paper's numbers beside ours",
        _markdown(CLAIM_HEADS, [cells_of(claim) for claim in paper.claims(frames)]),
        "## Why they differ",
        words_of(paper.name, "reasons"),
        "## Figures",
        *(_figure(paper.name, drawn) for drawn in paper.figures(frames)),
        "## Tables",
    ]
    for sheet in paper.sheets(frames):
        parts += [f"### {sheet.title}", _markdown(sheet.columns, sheet.rows)]
        parts += [sheet.note] if sheet.note else []
    return "\n\n".join(parts) + "\n"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    rule = ["---"] * len(heads)
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in (heads, rule, *rows)]
    return "\n".join(f"| {line} |" for line in lines)


def _figure(folder: str, drawn: Drawn) -> str:
    """Return a figure with its caption."""
    picture = f"![{drawn.picture.alt}]({folder}/{drawn.name}.svg)"
    return f"{picture}\n\n{drawn.caption}" if drawn.caption else picture


def write_page(record: Record, folder: Path) -> Path:
    """
    Write the page of a record, its tables as CSV, and its figures as PDF, SVG and CSV.

    `folder`: where to; the figures and tables lie in a folder of the paper's name in it. Result:
    the page.
    """
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
    for name, table in tables.items():
        write_file(inner / f"{name}.csv", sheet_of(table).encode())
    page = folder / f"{paper.name}.md"
    write_file(page, page_text(record).encode())
    return page
