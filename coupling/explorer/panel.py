"""The panel as data: sections that one template writes, for runs and for moments alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coupling.explorer.address import Address, replaced
from coupling.explorer.grids import Pattern, TableCell

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
    return TableCell(job, f"#{replaced(address, {'job': job}).written()}")


def to_cable(address: Address, cable: str) -> TableCell:
    """Return a link that leads to its sections."""
    return TableCell(cable, f"#{replaced(address, {'cable': cable}).written()}")


def to_moment(address: Address, words: str, at_s: float) -> TableCell:
    """Return a time that leads to its moment."""
    return TableCell(words, f"#{replaced(address, {'at_s': at_s}).written()}")
