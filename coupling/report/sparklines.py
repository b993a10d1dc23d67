"""The utilisation of runs over time, drawn of letters for a terminal."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from coupling.report.sketches import NUMBER, PLACEMENT, blocks, fitted, width_of
from coupling.results.formatting import duration, percent
from coupling.results.over_time import binned
from coupling.results.result import Result
from netsim.common.arrays import Floats

_LEVELS = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS = "_.-:=+*#"


class UtilizationLines:
    """The utilisation of runs over time, a line each, on one axis of time. `results`: The runs."""

    def __init__(self, results: Sequence[Result]) -> None:
        ends = [float(run.timeline["time_s"].max()) for run in results if len(run.timeline)]
        self._end_s = max((end for end in ends if isfinite(end)), default=0.0)
        self._results = results

    def __bool__(self) -> bool:
        """Say whether any time passed."""
        return self._end_s > 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a line per run."""
        wide = max(width_of(run.name) for run in self._results)
        room = max(4, options.max_width - wide - 1 - NUMBER)
        edges = np.linspace(0.0, self._end_s, room + 1)
        yield Text(f"utilisation from 0 to {duration(self._end_s)}", "dim")
        for run in self._results:
            line = Text(fitted(run.name, wide) + " ")
            means = binned(run.timeline, "utilization", edges)
            line.append(sparkline(means, plain=not blocks(console)), PLACEMENT)
            yield line.append(f" {percent(run.summary.get('utilization_steady'))}")


def sparkline(shares: Floats, *, plain: bool = False) -> str:
    """
    Draw shares as letters of growing height. `shares` (n,): from 0 to 1; nan: a blank.

    >>> import numpy as np
    >>> sparkline(np.array([0.0, 0.5, 1.0, np.nan]))
    '▁▅█ '
    """
    levels = _ASCII_LEVELS if plain else _LEVELS
    return "".join(
        levels[min(int(share * len(levels)), len(levels) - 1)] if isfinite(share) else " "
        for share in shares.tolist()
    )
