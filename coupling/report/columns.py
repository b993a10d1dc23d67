"""Tables of the commands for people: plain, at most as wide as the terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from coupling.guard import visible
from coupling.results.readable import number

_LONG_S = 1e8  # years; more digits would not fit beside other columns
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def seconds(value: float | None) -> str:
    """
    Write a time from nanoseconds up.

    `value`: seconds; None: unknown.

    Examples
    --------
    >>> seconds(0.000164), seconds(2.5), seconds(0.0), seconds(4e-9), seconds(1e12), seconds(None)
    ('164 us', '2.50 s', '0 s', '4.00 ns', '1.00e+12 s', '-')
    """
    if not value:
        return "-" if value is None else "0 s"
    if value >= _LONG_S:
        return f"{value:.2e} s"
    for size, unit in _UNITS:
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value * 1e9)} ns"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> Table:
    """
    Lay out a table.

    Result: to be printed by `text_of`.
    """
    layout = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, head in enumerate(heads):
        if column in left:
            layout.add_column(head, overflow="fold", vertical="bottom")
        else:
            layout.add_column(head, justify="right", no_wrap=True, vertical="bottom")
    for row in rows:
        layout.add_row(*(Text(visible(cell)) for cell in row))
    return layout


def text_lines(*texts: str) -> Text:
    """
    Lay out lines.

    Result: to be printed by `text_of`.
    """
    return Text("\n".join(map(visible, texts)))


def text_of(*parts: RenderableType, width: int | None = None) -> str:
    """
    Write tables and lines as text.

    `width`: columns of a line; by default those of the terminal, 80 where there is none. Result:
    ending with a line break; coloured only where standard output is a terminal.
    """
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        for place, part in enumerate(parts):
            console.print(Group(*([Text()] if place else []), part))
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
