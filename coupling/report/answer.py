"""
The answer to a question, for people: one structure, written as terminal text or as a page.

    title, lines                 what was asked, and the answer in few sentences
    sections                     each: heads and rows, notes below, lines to copy, pictures
    closing                      how to read it, what was assumed

A builder such as `coupling.report.now.now_answer` takes `top`, the rows that a terminal shows;
without it the answer is whole, for a page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import RenderableType

from coupling.report import columns, page
from coupling.results.formatting import counted
from fabricsim.checking import shortened

Row = Sequence[str]
Pictures = Sequence[tuple[page.Html, str]]


@dataclass(frozen=True)
class Section:
    """
    Rows under heads, or a picture.

    `left`: columns of text; `whole`: those of them that are never folded. `letters`: the longest
    cell of a column in a terminal. `above`, `notes`: sentences above and below the table. `copied`:
    lines that are copied into commands, never broken. `pictures`: for the page alone, each with its
    caption; drawn only when the page is written. `sketch`: a drawing of letters, for a terminal.
    `on_demand`: heading under which a page hides the table until it is asked for.
    """

    title: str
    heads: Row = ()
    rows: Sequence[Row] = ()
    left: Sequence[int] = (0,)
    whole: Sequence[int] = ()
    letters: Mapping[int, int] = field(default_factory=dict)
    above: Sequence[str] = ()
    notes: Sequence[str] = ()
    copied: Sequence[str] = ()
    pictures: Callable[[], Pictures] | None = None
    sketch: RenderableType | None = None
    on_demand: str = ""

    def parts(self) -> list[RenderableType]:
        """Return what a terminal shows."""
        parts: list[RenderableType] = [columns.text_lines(*self.above)] if self.above else []
        if self.rows:
            rows = [
                [shortened(cell, self.letters.get(at, len(cell))) for at, cell in enumerate(row)]
                for row in self.rows
            ]
            parts.append(columns.table(self.heads, rows, self.left, self.whole))
        if self.sketch is not None:
            parts.append(self.sketch)
        if self.notes:
            parts.append(columns.text_lines(*self.notes))
        if self.copied:
            parts.append(columns.copied_lines(*self.copied))
        return parts

    def html(self) -> page.Html:
        """Return what a page shows."""
        content = page.Html().join(page.paragraph(line) for line in self.above)
        if self.pictures is not None:
            content += page.figures(self.pictures())
        if self.rows:
            table = page.table(self.heads, self.rows, left=self.left)
            content += page.details(self.on_demand, table) if self.on_demand else table
        if self.notes:
            content += page.bullets(self.notes)
        if self.copied:
            content += page.verbatim("\n".join(self.copied))
        return content


@dataclass(frozen=True)
class Answer:
    """An answer; the parts are described at the top of this file."""

    title: str
    lines: Sequence[str]
    sections: Sequence[Section]
    closing: Sequence[str] = ()
    closing_title: str = "How to read this"

    def parts(self) -> list[RenderableType]:
        """Return what a terminal shows, for `coupling.report.columns.text_of`."""
        parts: list[RenderableType] = [columns.text_lines(*self.lines)] if self.lines else []
        for section in self.sections:
            parts += section.parts()
        return [*parts, columns.text_lines(*self.closing)] if self.closing else parts

    def html(self) -> str:
        """Return a page."""
        first, *rest = self.lines
        sections = [(section.title, section.html()) for section in self.sections]
        if self.closing:
            sections.append((self.closing_title, page.bullets(self.closing)))
        return page.page(self.title, first, page.bullets(rest), sections)


def more(items: Sequence[object], top: int | None, what: str, where: str) -> list[str]:
    """Return a line on the items beyond `top`, such as ``3 more jobs (--json).``; or none."""
    left = 0 if top is None else len(items) - top
    return [f"{counted(left, f'more {what}')} ({where})."] if left > 0 else []
