"""The panel as data: sections that one template writes, for runs and for moments alike."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO

import numpy as np
import pandas as pd
from bokeh.palettes import Cividis256
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from coupling.explorer.address import Address
from coupling.explorer.colours import points_of
from coupling.report.plots.blame import named_most
from coupling.results.formatting import number
from netsim.common.arrays import Floats, Ints
from scheduler.traffic import RankFlows

_MOST = 128  # rows of a matrix of ranks; more are put together
_LIGHT = 140  # place in the ramp from which letters are dark


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table."""

    text: str  # What it says
    href: str = ""  # Where it leads; may be empty
    colour: str = ""  # Behind the text; may be empty
    dark: bool = False  # Whether letters on that colour are dark


@dataclass(frozen=True, slots=True)
class Pattern:
    """Traffic between the ranks of a job."""

    image: str  # Picture, as the address of an image: a row per sender, a column per receiver
    words: str  # What is in it, for readers that do not see it


def pattern_of(flows: RankFlows, n_ranks: int) -> Pattern | None:
    """Draw the messages of one iteration. Result: None where the job sends nothing."""
    if not flows.src.size or n_ranks < 1:
        return None
    sent = sent_by(flows, n_ranks)
    share = np.sqrt(sent / sent.max())  # small messages must be seen beside large ones
    place = np.rint(share * (len(Cividis256) - 1)).astype(np.int64)
    image = points_of(Cividis256)[place]
    image[sent == 0] = 0
    buffer = BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(image).view(np.uint8).reshape(*sent.shape, 4))
    picture.save(buffer, "png")
    pairs = np.unique(flows.src * np.int64(n_ranks) + flows.dst).size
    steps = flows.n_rounds
    words = (
        f"{n_ranks:,} ranks, {pairs:,} pairs that send, in {steps:,} "
        f"{'step' if steps == 1 else 'steps'} an iteration"
    )
    return Pattern(f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}", words)


def sent_by(flows: RankFlows, n_ranks: int) -> Floats:
    """Return bytes by sender and receiver; beyond 128 ranks neighbours are put together."""
    size = min(n_ranks, _MOST)
    row, column = (rank * size // n_ranks for rank in (flows.src, flows.dst))
    cells: Ints = row * size + column
    sent: Floats = np.bincount(cells, flows.nbytes, minlength=size * size).astype(np.float64)
    return sent.reshape(size, size)


def blame_cells(matrix: pd.DataFrame, href: dict[str, str]) -> list[list[TableCell]]:
    """Return the rows of a table of victims and culprits, with their names first."""
    scale = named_most(matrix)
    heads = [
        TableCell("victim"),
        *(TableCell(name, href.get(name, "")) for name in map(str, matrix.columns)),
    ]
    rows = [heads]
    for victim, values in matrix.iterrows():
        name = str(victim)
        cells = [_shaded_cell(float(value), scale) for value in values.to_numpy()]
        rows.append([TableCell(name, href.get(name, "")), *cells])
    return rows


def _shaded_cell(value: float, scale: float) -> TableCell:
    """Return a number on the colour of its share."""
    if not value > 0:
        return TableCell("")
    place = round(min(1.0, value / scale) * (len(Cividis256) - 1))
    return TableCell(number(value, 2), "", Cividis256[place], place >= _LIGHT)


MOST = 12
"""Victims, culprits, cables that a list names."""


@dataclass(frozen=True, slots=True)
class PanelSection:
    """A part of the panel; what is empty is left out."""

    heading: str = ""
    large: bool = False  # Whether the heading begins a job, a link or a run
    facts: Sequence[tuple[str, str]] = ()  # Names and values
    # heads, rows: a table; without rows `text` stands instead
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[TableCell]] = ()
    kind: str = ""  # Style of the table
    picture: Pattern | None = None
    text: str = ""  # A paragraph, and
    link: TableCell | None = None  # the link at its end
    role: str = ""  # Of the paragraph: ``alert`` or ``status``
    soft: bool = False  # Whether the paragraph is in small letters
    folded: str = ""  # What is shown when the heading is opened


def list_section(
    heading: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[TableCell]],
    empty: str,
    *,
    kind: str = "",
    more: str = "",
) -> PanelSection:
    """Return a table, or what is said without rows; `more` stands below it."""
    return PanelSection(heading, heads=heads, rows=rows, kind=kind, text=more if rows else empty)


def picture_section(picture: Pattern | None, otherwise: str) -> PanelSection:
    """Return the traffic between the ranks of a job."""
    if picture is None:
        return PanelSection("Who sends to whom", text=otherwise)
    words = "A row for each sender, a column for each receiver, the brighter the more: "
    return PanelSection(
        "Who sends to whom", picture=picture, text=f"{words}{picture.words}.", soft=True
    )


@cache
def templates() -> Environment:
    """Return the templates: whatever is not marked as HTML is escaped."""
    return Environment(
        loader=PackageLoader("coupling.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def panel_html(sections: Iterable[PanelSection]) -> str:
    """Write the panel."""
    return templates().get_template("panel.html").render(sections=list(sections))


def html(text: str) -> Markup:
    """Mark what templates here have written."""
    return Markup(text)  # noqa: S704 (escaped by the template)


def to_job(address: Address, job: str) -> TableCell:
    """Return a job that leads to its sections."""
    return TableCell(job, f"#{replace(address, job=job).written()}")


def to_cable(address: Address, cable: str) -> TableCell:
    """Return a link that leads to its sections."""
    return TableCell(cable, f"#{replace(address, cable=cable).written()}")


def to_moment(address: Address, words: str, at_s: float) -> TableCell:
    """Return a time that leads to its moment."""
    return TableCell(words, f"#{replace(address, at_s=at_s).written()}")
