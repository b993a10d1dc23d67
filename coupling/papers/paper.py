"""What a paper is here: experiments that ship, and claims and figures over their numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from coupling.papers.runs import Runs

Frames = Mapping[str, pd.DataFrame]
"""Tables of texts and numbers, by name."""
Published = float | tuple[float, float]
"""A value that a paper prints, or a range of them."""
Values = Mapping[Any, Published]
"""What a paper prints, by a cell or a tuple of cells that tell rows apart; ``*`` is any cell."""


@dataclass(frozen=True, slots=True)
class Log:
    """A file that is not ours to ship."""

    file: str  # Its name in the folder of logs
    source: str  # Where to get it


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, the numbers here that decide it, and when it holds."""

    where: str  # Section, table or figure
    sentence: str  # What the paper says
    table: str  # The numbers: a table, and
    value: str  # its column; `VALUE low` and `VALUE high` beside it are the interval
    by: Sequence[str]  # Columns that tell the rows apart
    unit: str = "ratio"
    rows: Mapping[str, Sequence[object]] = field(
        default_factory=dict
    )  # Which rows: cells by column
    paper: Values = field(default_factory=dict)  # If given, rows without a value are left out
    # It holds if all numbers are from `least` to `most`, or, where `near` is given, no further from
    # the paper's value than this share of it.
    least: float | None = None
    most: float | None = None
    near: float | None = None
    quick: bool = True  # Whether the quick mode can decide it
    why: str = ""  # Why the numbers differ


@dataclass(frozen=True, slots=True)
class Axis:
    """How values are drawn."""

    label: str  # What they are
    # least, most: ends of the axis; by default those that the values need
    least: float | None = None
    most: float | None = None
    log: bool = False  # Whether powers of ten are evenly apart
    line: float | None = None  # Value at which a line is drawn, and from which bars go up and down


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure: bars of a table, with the paper's values over them."""

    # name (of the file), title, caption: `{column}` is replaced by what `each` has there
    name: str
    title: str
    table: str
    value: str  # Column of the heights
    kind: str  # Column of the classes along the axis
    run: str  # Column of the bars beside each other
    axis: Axis
    caption: str
    each: Sequence[str] = ()  # Columns: a figure for each of their values
    rows: Mapping[str, Sequence[object]] = field(
        default_factory=dict
    )  # Which rows: cells by column
    paper: Values = field(default_factory=dict)  # By the cells of `each`, `kind` and `run`


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose experiments run here."""

    # What the command calls it; the folder of this name has its experiment files, and what is said
    # about them: ``setup.md``, ``reasons.md`` and ``quick.md``
    name: str
    key: str  # Of the bibliography
    title: str  # Heading of its page
    logs: tuple[Log, ...]  # What the full mode reads
    study: Callable[[Runs], Frames]  # Finds the numbers in the finished runs, sample by sample
    derive: Callable[[Frames], Frames]  # Further tables: means and ratios with their intervals
    claims: tuple[Claim, ...]
    charts: tuple[Chart, ...]
    needs: tuple[tuple[str, ...], ...]  # Experiment files of which `study` needs one each

    def tables(self, found: Frames) -> Frames:
        """Return what was found, and what is derived from it."""
        return {**found, **self.derive(found)}


# The public logs that the papers need.
_ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
THUNDER = Log("LLNL-Thunder-2007-1.1-cln.swf.gz", f"{_ARCHIVE}/l_llnl_thunder/")
ATLAS = Log("LLNL-Atlas-2006-2.1-cln.swf.gz", f"{_ARCHIVE}/l_llnl_atlas/")
BLUE = Log("SDSC-BLUE-2000-4.2-cln.swf.gz", f"{_ARCHIVE}/l_sdsc_blue/")
_IITK = "https://github.com/gaganmangat/MTech-Thesis (JobLogs, as comma-separated tables)"
INTREPID = Log("intrepid.csv", _IITK)
THETA = Log("theta.csv", _IITK)
MIRA = Log("mira.csv", _IITK)
