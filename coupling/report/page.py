"""HTML of a report: one page, no network, readable on a phone, in print and in the dark."""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coupling.guard import visible_lines

Html = Markup
"""HTML, as opposed to text, which is escaped when it is put into HTML."""


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    kind: str = "numbers",
) -> Html:
    """
    Write a table.

    Parameters
    ----------
    headings : sequence of str
        Text.
    rows : iterable of sequence of str
        Cells: text, or HTML.
    caption : str, optional
        Text above the table.
    kind : {"numbers", "text"}
        Numbers are set to the right. On a phone every row becomes a block, a line per cell.

    Returns
    -------
    HTML
        The table.
    """
    return _piece("table", headings, [list(row) for row in rows], caption, kind)


def figures(pictures: Iterable[tuple[Html, str]]) -> Html:
    """
    Lay pictures beside each other, below each other on a phone.

    Parameters
    ----------
    pictures : iterable of (HTML, str)
        SVG and caption.

    Returns
    -------
    HTML
        The pictures.
    """
    shown = list(pictures)
    return _piece("figures", shown) if shown else Html()


def paragraph(text: str, kind: str = "") -> Html:
    """
    Write a paragraph.

    Parameters
    ----------
    text : str
        Text.
    kind : str, optional
        Class in the style sheet.

    Returns
    -------
    HTML
        The paragraph.
    """
    return _piece("paragraph", text, kind)


def bullets(lines: Iterable[str]) -> Html:
    """
    Write a list.

    Parameters
    ----------
    lines : iterable of str
        Text.

    Returns
    -------
    HTML
        The list.
    """
    return _piece("bullets", list(lines))


def details(summary: str, content: Html) -> Html:
    """
    Hide content until it is asked for.

    Parameters
    ----------
    summary : str
        Text that stays visible.
    content : HTML
        What it hides.

    Returns
    -------
    HTML
        The block.
    """
    return _piece("details", summary, content)


def label(name: str, colour: str) -> Html:
    """
    Write the name of a run with its colour.

    Parameters
    ----------
    name : str
        The run.
    colour : str
        As ``#rrggbb``.

    Returns
    -------
    HTML
        The name.
    """
    return _piece("label", name, colour)


def page(title: str, subtitle: str, short: Html, sections: Sequence[tuple[str, Html]]) -> str:
    """
    Write the page.

    Parameters
    ----------
    title, subtitle : str
        Text on top.
    short : HTML
        The result in short.
    sections : sequence of (str, HTML)
        Heading and content; a section without content is left out.

    Returns
    -------
    str
        A document that needs no other file; control characters of texts are written as escapes.
    """
    template = _templates().get_template("page.html")
    style = files("coupling.report").joinpath("templates", "report.css").read_text("utf-8")
    shown = [(heading, content) for heading, content in sections if content]
    return visible_lines(
        template.render(
            title=title, subtitle=subtitle, short=short, sections=shown, style=Html(style)
        )
    )


def heading(text: str) -> Html:
    """
    Write a heading inside a section.

    Parameters
    ----------
    text : str
        Text.

    Returns
    -------
    HTML
        The heading.
    """
    return _piece("heading", text)


def definitions(entries: Iterable[tuple[str, str]]) -> Html:
    """
    Write terms, each with what is said of it.

    Parameters
    ----------
    entries : iterable of (str, str)
        Text.

    Returns
    -------
    HTML
        The list.
    """
    return _piece("definitions", list(entries))


def lines(texts: Iterable[str]) -> Html:
    """
    Write texts below each other, as in a cell of a table.

    Parameters
    ----------
    texts : iterable of str
        Text.

    Returns
    -------
    HTML
        The texts, a line each.
    """
    return _piece("lines", list(texts))


def verbatim(text: str) -> Html:
    """
    Write text as it is, line by line.

    Parameters
    ----------
    text : str
        Text.

    Returns
    -------
    HTML
        The block.
    """
    return _piece("verbatim", text)


def _piece(name: str, *values: Any) -> Html:  # noqa: ANN401 (what the macro takes)
    """Write a piece by its macro."""
    return Html(getattr(_templates().get_template("pieces.html").module, name)(*values))


@cache
def _templates() -> Environment:
    """Return the templates: whatever is not marked as HTML is escaped."""
    return Environment(
        loader=PackageLoader("coupling.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
