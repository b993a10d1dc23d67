"""Tables of the commands for people: plain, at most as wide as the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from coupling.results.formatting import Number, number
from coupling.terminal_text import visible

_LONG_S = 1e8  # years; more digits would not fit in a table
_FOLDED = 10  # columns that a folded column has at least, unless it needs fewer
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def seconds(value: float | None) -> str:
    """
    Write a time from nanoseconds up. `value`: seconds; None: unknown.

    >>> seconds(0.000164), seconds(2.5), seconds(0.0), seconds(4e-9), seconds(1e12), seconds(None)
    ('164 us', '2.50 s', '0 s', '4.00 ns', '1.00e+12 s', '-')
    """
    if not value:
        return "-" if value is None else Number("0 s", 0.0)
    if value >= _LONG_S:
        return Number(f"{value:.2e} s", value)
    for size, unit in _UNITS:
        if value >= size:
            return Number(f"{number(value / size)} {unit}", value)
    return Number(f"{number(value * 1e9)} ns", value)


class _Columns(Table):
    """A table that knows how wide it is at least, with every cell that is not folded whole."""

    least_width = 0


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[int] = (0,),
    whole: Sequence[int] = (),
) -> Table:
    """Lay out a table; columns of text are at the left, folded unless in `whole`."""
    layout = _Columns(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    shown = [[Text(visible(cell)) for cell in row] for row in rows]
    for column, head in enumerate(heads):
        folded = column in left and column not in whole
        if folded:
            layout.add_column(head, overflow="fold")
        else:
            side: Literal["left", "right"] = "left" if column in left else "right"
            layout.add_column(head, justify=side, no_wrap=True)
        widest = max([len(head), *(row[column].cell_len for row in shown)])
        apart = 2 if column else 0  # blanks before it
        layout.least_width += apart + (min(widest, _FOLDED) if folded else widest)
    for row in shown:
        layout.add_row(*row)
    return layout


@dataclass(frozen=True, slots=True)
class _Prose:
    """Lines that are broken between words, and never within one: it may be a name or a path."""

    lines: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines as wide as the terminal."""
        for line in self.lines:
            parts = wrap(line, options.max_width, break_long_words=False, break_on_hyphens=False)
            yield copied_lines(*(parts or [line]))


def text_lines(*texts: str) -> RenderableType:
    """Lay out lines of prose, broken between words, for `text_of`."""
    return _Prose(tuple(line for text in texts for line in visible(text).split("\n")))


def assumptions(assumed: Sequence[str], *, why: bool = True) -> list[str]:
    """Return a line for each assumption, or one line with their number for the terminal."""
    if why or len(assumed) <= 1:
        return [f"Assumed: {what.rstrip('.')}." for what in assumed]
    return [f"Assumed: {len(assumed)} things that the files do not say; --why lists them."]


def copied_lines(*texts: str) -> Text:
    """Lay out lines that are copied into commands, for `text_of`; they are never broken."""
    return Text("\n".join(map(visible, texts)), no_wrap=True, overflow="ignore")


def text_of(*parts: RenderableType) -> str:
    """Write tables and lines as text, coloured only on a terminal."""
    console = Console(highlight=False, markup=False)
    room = console.width
    with console.capture() as captured:
        for place, part in enumerate(parts):
            if place:
                console.print()
            console.width = max(room, part.least_width if isinstance(part, _Columns) else 0)
            console.print(Group(part), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
