"""The axis of time: seconds of the run, or dates where the log has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from coupling.results.readable import duration_unit
from coupling.results.result import Result
from netsim.arrays import Floats

_DAY_S = 86_400.0
Time = TypeVar("Time", float, Floats)


_LAST_S = 2.5e11  # the year 9999, beyond which there are no dates


def begin_of(results: Sequence[Result]) -> float | None:
    """Return the date of second 0, where all runs have one and the same, and end before 9999."""
    begins = {result.summary.get("log_begin_unix_s") for result in results}
    begin = begins.pop() if len(begins) == 1 else None
    ends = [float(result.timeline["time_s"].max()) for result in results if len(result.timeline)]
    if begin is None or not 0 <= begin <= begin + max(ends, default=0.0) < _LAST_S:
        return None
    return float(begin)


@dataclass(frozen=True, slots=True)
class Clock:
    """
    Turns seconds of a run into places on an axis.

    Parameters
    ----------
    end_s : float
        End of the axis; it begins at 0.
    begin_unix_s : float or None
        Moment of second 0 in the log, seconds since 1970; None where nothing tells.
    """

    end_s: float
    begin_unix_s: float | None = None

    def at(self, seconds: Time) -> Time:
        """Return places on the axis."""
        if self.begin_unix_s is not None:
            return (self.begin_unix_s + seconds) / _DAY_S
        return seconds / duration_unit([self.end_s])[1]

    def label(self, axes: Axes) -> None:
        """Label the axis."""
        axes.set_xlim(self.at(0.0), self.at(self.end_s))
        if self.begin_unix_s is None:
            axes.set_xlabel(f"time [{duration_unit([self.end_s])[0]}]")
            return
        locator = AutoDateLocator(tz=UTC, minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        form = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(form)
        axes.set_xlabel("date [UTC]")
