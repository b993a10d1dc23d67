"""What a paper is here: experiments that ship, and what is made of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from coupling.papers.runs import Runs
from coupling.report.figures import DrawnFigure

Frames = Mapping[str, pd.DataFrame]
"""What was found, by name: small tables of texts and numbers, which a record keeps."""


@dataclass(frozen=True, slots=True)
class Log:
    """A file that is not ours to ship."""

    file: str  # Its name in the folder of logs
    source: str  # Where to get it


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says beside what came out here: a row of the first table."""

    where: str  # Section, table or figure
    what: str  # The quantity, or the statement
    # paper, ours: its values
    paper: str
    ours: str
    why: str = ""  # Why they differ; empty where they do not
    interval: str = ""  # Of each number of `ours`, where known: from 2.5 to 97.5 %


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of the page."""

    name: str  # Of its file
    title: str  # Heading
    columns: Sequence[str]  # Heads
    rows: Sequence[Sequence[str]]  # Cells
    note: str = ""  # What is said below it


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose experiments run here."""

    # What the command calls it; the folder of this name has its experiment files, and what is said
    # about them: ``setup.md``, ``reasons.md`` and ``quick.md``
    name: str
    key: str  # Of the bibliography
    title: str  # Heading of its page
    logs: tuple[Log, ...]  # What the full mode reads
    study: Callable[[Runs], Frames]  # Finds the numbers in the finished runs
    # claims, sheets, figures: return the rows of the first table, further tables, and figures, of
    # what was found
    claims: Callable[[Frames], Sequence[Claim]]
    sheets: Callable[[Frames], Sequence[Sheet]]
    figures: Callable[[Frames], Sequence[DrawnFigure]]
    needs: tuple[tuple[str, ...], ...]  # Experiment files of which `study` needs one each


# The public logs that the papers need.
_ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
THUNDER = Log("LLNL-Thunder-2007-1.1-cln.swf.gz", f"{_ARCHIVE}/l_llnl_thunder/")
ATLAS = Log("LLNL-Atlas-2006-2.1-cln.swf.gz", f"{_ARCHIVE}/l_llnl_atlas/")
BLUE = Log("SDSC-BLUE-2000-4.2-cln.swf.gz", f"{_ARCHIVE}/l_sdsc_blue/")
_IITK = "https://github.com/gaganmangat/MTech-Thesis (JobLogs, as comma-separated tables)"
INTREPID = Log("intrepid.csv", _IITK)
THETA = Log("theta.csv", _IITK)
MIRA = Log("mira.csv", _IITK)
