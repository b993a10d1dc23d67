"""The papers; what their runs found, as a record; and the page that is made of it."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from coupling.errors import ResultError
from coupling.inputs.files import Table, sheet_of, write_whole
from coupling.papers.charts import drawn_charts
from coupling.papers.claims import Decision, claim_table, decide, number_table
from coupling.papers.mishra20 import MISHRA20
from coupling.papers.paper import Paper
from coupling.papers.pollard18 import POLLARD18
from coupling.papers.runs import Runs, from_json, to_json, words_of
from coupling.papers.smith21 import SMITH21
from coupling.papers.stoltzfus13 import STOLTZFUS13
from coupling.papers.yang import YANG
from coupling.report.figures import FigureSection, write_figures
from coupling.results.manifest import read_object, write_file

PAPERS: Mapping[str, Paper] = {
    paper.name: paper for paper in (POLLARD18, SMITH21, STOLTZFUS13, MISHRA20, YANG)
}


_VERSION = 2  # 1: before columns were renamed


@dataclass(frozen=True, slots=True, eq=False)
class PaperRecord:
    """What was found, and from what."""

    paper: Paper  # The paper
    quick: bool  # Whether the quick mode ran
    changes: tuple[str, ...]  # Fields that were set over those of the experiment files
    only: tuple[str, ...]  # Experiment files that ran, where not all did
    made: str  # Date and versions
    frames: Mapping[str, pd.DataFrame]  # What was found

    @property
    def command(self) -> str:
        """What to type to find it again."""
        logs = " --logs DIR" if self.paper.logs else ""
        mode = " --quick" if self.quick else logs
        words = [f" --only {name}" for name in self.only]
        words += [f" --set '{change}'" for change in self.changes]
        return f"fabricsim paper {self.paper.name}{mode}" + "".join(words)

    def save(self, path: Path) -> None:
        """Write the record."""
        frames = {name: to_json(table) for name, table in self.frames.items()}
        document = {
            "version": _VERSION,
            "paper": self.paper.name,
            "quick": self.quick,
            "changes": list(self.changes),
            "only": list(self.only),
            "made": self.made,
            "sha256": _frames_hash(frames),
            "frames": frames,
        }
        write_file(path, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path, paper: Paper) -> "PaperRecord":
        """Read a record of a paper."""
        table = Table(read_object(path), f"{path}:", ResultError)
        table.integer("version", least=_VERSION, most=_VERSION)
        if table.text("paper") != paper.name:
            raise table.error("paper", paper.name)
        if table.text("sha256") != _frames_hash(table.mapping("frames")):
            raise table.fault("frames", "they were changed since the record was written (sha256).")
        frames = {name: from_json(one) for name, one in table.mapping("frames").items()}
        return cls(
            paper,
            table.flag("quick", default=False),
            table.names("changes"),
            table.names("only") if table.raw("only", None) is not None else (),
            table.text("made"),
            frames,
        )


def _frames_hash(frames: Mapping[str, object]) -> str:
    """Return the SHA-256 of what was found, whatever the layout of the file."""
    return hashlib.sha256(json.dumps(frames, sort_keys=True).encode()).hexdigest()


def record_of(
    name: str, runs: Runs, changes: Sequence[str], only: Sequence[str] = ()
) -> PaperRecord:
    """Find the numbers of a paper in its runs."""
    paper = PAPERS[name]
    versions = ", ".join(f"{one} {version(one)}" for one in ("fabricsim", "numpy", "numba"))
    today = datetime.now(UTC).date().isoformat()
    made = f"{today}, Python {platform.python_version()}, {versions}"
    found = {key: from_json(to_json(table)) for key, table in paper.study(runs).items()}
    return PaperRecord(paper, runs.quick, tuple(changes), tuple(only), made, found)


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
