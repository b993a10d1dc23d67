"""HTML of a report: one page, no network, readable on a phone, in print and in the dark."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from coupling.terminal_text import visible_lines

if TYPE_CHECKING:
    from jinja2 import Environment

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
Html = Markup
"""HTML, as opposed to text, which is escaped when it is put into HTML."""


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    kind: str = "numbers",
    left: Sequence[int] = (),
) -> Html:
    """
    Write a table, words set to the left, numbers to the right; on a phone a row is a block.

    A column holds words where `left` has it, or more of its cells begin with a letter than do not.
    """
    listed = [list(row) for row in rows]
    columns = enumerate(zip(*listed, strict=False))
    words = {*left, *(place for place, cells in columns if _holds_words(cells))}
    return _html_piece("table", headings, listed, caption, kind, words)


def _holds_words(cells: Sequence[str]) -> bool:
    """Say whether a column of a table holds words; cells without a letter or digit do not count."""
    first = [cell.lstrip("<>=~≈ ")[:1] for cell in map(str, cells) if any(map(str.isalnum, cell))]
    return 2 * sum(letter.isalpha() for letter in first) > len(first)


def figures(pictures: Iterable[tuple[Html, str]]) -> Html:
    """Lay pictures in a row, in a column on a phone."""
    shown = list(pictures)
    return _html_piece("figures", shown) if shown else Html()


def paragraph(text: str, kind: str = "") -> Html:
    """Write a paragraph."""
    return _html_piece("paragraph", text, kind)


def bullets(lines: Iterable[str]) -> Html:
    """Write a list."""
    return _html_piece("bullets", list(lines))


def details(summary: str, content: Html) -> Html:
    """Hide content until it is asked for."""
    return _html_piece("details", summary, content)


def label(name: str, colour: str) -> Html:
    """Write the name of a run with its colour, as ``#rrggbb``."""
    return _html_piece("label", name, colour)


def page(title: str, subtitle: str, short: Html, sections: Sequence[tuple[str, Html]]) -> str:
    """Write a page that needs no other file; control characters become escapes."""
    template = _page_templates().get_template("page.html")
    style, script = _template_file("report.css"), _template_file("report.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    shown = [(heading, content) for heading, content in sections if content]
    return visible_lines(
        template.render(
            title=title,
            subtitle=subtitle,
            short=short,
            sections=shown,
            style=Html(style),
            script=Html(script),
            policy=Html(f"{_POLICY}; script-src 'sha256-{digest}'"),
        )
    )


def heading(text: str) -> Html:
    """Write a heading inside a section."""
    return _html_piece("heading", text)


def definitions(entries: Iterable[tuple[str, str]]) -> Html:
    """Write terms with their definitions."""
    return _html_piece("definitions", list(entries))


def lines(texts: Iterable[str]) -> Html:
    """Write texts below each other, as in a cell of a table."""
    return _html_piece("lines", list(texts))


def verbatim(text: str) -> Html:
    """Write text as it is, line by line."""
    return _html_piece("verbatim", text)


def _template_file(name: str) -> str:
    """Return a file of the templates' folder."""
    return files("coupling.report").joinpath("templates", name).read_text("utf-8")


def _html_piece(name: str, *values: Any) -> Html:  # noqa: ANN401 (what the macro takes)
    """Write a piece by its macro."""
    return Html(getattr(_page_templates().get_template("pieces.html").module, name)(*values))


@cache
def _page_templates() -> "Environment":
    """Return the templates: whatever is not marked as HTML is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 (pages alone)

    templates = Environment(
        loader=PackageLoader("coupling.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["code"] = _code
    return templates


def _code(text: str) -> Html:
    """Write what stands between backticks as code."""
    return Html(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
