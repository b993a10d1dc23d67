"""The page of a paper: its claims and what becomes of them here, figures, and reasons."""

from pathlib import Path

from coupling.errors import ResultError
from coupling.inputs.files import sheet_of, write_whole
from coupling.papers.charts import drawn_charts
from coupling.papers.claims import Decision, claim_table, decide, number_table
from coupling.papers.record import PaperRecord
from coupling.papers.runs import words_of
from coupling.report.figures import FigureSection, write_figures


def decisions_of(record: PaperRecord) -> list[Decision]:
    """Return the claims of a paper with the numbers of a record."""
    tables = record.paper.tables(record.frames)
    return [decide(claim, tables, quick=record.quick) for claim in record.paper.claims]


def page_text(record: PaperRecord) -> str:
    """Return the page of a record as Markdown; the same for the same record."""
    paper = record.paper
    remake = f"fabricsim paper {paper.name} --recorded {paper.name}.json --out DIR"
    drawn = drawn_charts(paper, paper.tables(record.frames))
    parts = [
        f"# {paper.title}",
        f"<!-- Written by `{remake}`: change the record or the code, not this page. -->",
        f"Made by `{record.command}` ({record.made}). Source: {paper.key}.",
        words_of(paper.name, "setup"),
        "## Claims",
        f"```{{csv-table}}\n:file: {paper.name}/claims.csv\n:header-rows: 1\n```",
        "## Numbers",
        f"One a row, with its 95 % interval over samples: [numbers.csv]({paper.name}/numbers.csv).",
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
    paper = record.paper
    inner = folder / paper.name
    try:
        inner.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
    tables = paper.tables(record.frames)
    write_figures({"": FigureSection(tuple(drawn_charts(paper, tables)))}, inner)
    decisions = decisions_of(record)
    written = {f"table-{name.replace(' ', '-')}": table for name, table in tables.items()}
    written |= {"claims": claim_table(decisions), "numbers": number_table(decisions)}
    for name, table in written.items():
        write_whole(inner / f"{name}.csv", sheet_of(table))
    page = folder / f"{paper.name}.md"
    write_whole(page, page_text(record))
    return page
