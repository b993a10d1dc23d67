"""Bars of slowdowns, drawn of letters for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from coupling.results.formatting import ratio
from coupling.terminal_text import visible

MOST = 10
"""Bars that are drawn."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LONGEST = 24  # letters of a name
NUMBER = 8  # letters of a number with the blank before it
PLACEMENT, _INTERFERENCE = "cyan", "magenta"


def on_terminal() -> bool:
    """Say whether standard output is a terminal, where drawings are for people."""
    return Console().is_terminal


@dataclass(frozen=True, slots=True)
class Bar:
    """The network slowdown of a job or run, and its placement factor."""

    name: str
    network_slowdown: float
    placement: float


class SlowdownBars:
    """The largest slowdowns as bars from 1: placement first, then interference."""

    def __init__(self, bars: Sequence[Bar]) -> None:
        known = [
            bar for bar in bars if isfinite(bar.network_slowdown) and bar.network_slowdown > 1.0
        ]
        self._bars = sorted(known, key=lambda bar: -bar.network_slowdown)[:MOST]

    def __bool__(self) -> bool:
        """Say whether anything is slowed."""
        return bool(self._bars)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a line per bar, and the key."""
        wide = max(width_of(bar.name) for bar in self._bars)
        room = max(4, options.max_width - wide - 1 - NUMBER)
        most = self._bars[0].network_slowdown - 1.0
        plain = not blocks(console)
        for bar in self._bars:
            full = (bar.network_slowdown - 1.0) / most * room
            first = min(full, max(0.0, (bar.placement - 1.0) / most * room))
            line = Text(fitted(bar.name, wide) + " ")
            if plain:
                line.append("=" * round(first) + "#" * (round(full) - round(first)))
            else:
                line.append("█" * round(first), PLACEMENT)
                line.append(_bar_letters(full - round(first)), _INTERFERENCE)
            line.append(f" {ratio(bar.network_slowdown)}")
            yield line
        marks = ("=", "#") if plain else ("█", "█")
        key = Text("slowdown from 1: ", "dim")
        key.append(marks[0], "" if plain else PLACEMENT).append(" placement  ", "dim")
        yield key.append(marks[1], "" if plain else _INTERFERENCE).append(" other jobs", "dim")


def _bar_letters(length: float) -> str:
    """Draw a length in eighths of a letter, at least one where there is any."""
    parts = max(1, round(length * 8)) if length > 0 else 0
    return "█" * (parts // 8) + _EIGHTHS[parts % 8].strip()


def blocks(console: Console) -> bool:
    """Say whether a terminal can write blocks."""
    return console.encoding.lower().startswith("utf")


def width_of(name: str) -> int:
    """Return the columns of a name, of a long one those that are shown."""
    return min(cell_len(visible(name)), _LONGEST)


def fitted(name: str, width: int) -> str:
    """Return a name in so many columns."""
    return set_cell_size(visible(name), width)
