"""The axis of time: seconds of the run, or dates where the log has them."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from coupling.results.formatting import duration_unit
from netsim.common.arrays import Floats

_DAY_S = 86_400.0
Time = TypeVar("Time", float, Floats)


def zone_named(name: str) -> tzinfo:
    """Return a time zone by its name; UTC for what is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns seconds of a run into places on an axis."""

    end_s: float  # End of the axis; it begins at 0
    # Moment of second 0 in the log, seconds since 1970; None where it is not known
    begin_unix_s: float | None = None
    # Time zone in which dates are written; what is none is the clock of the log, taken as UTC
    zone: str = "UTC"

    def at(self, seconds: Time) -> Time:
        """Return places on the axis."""
        if self.begin_unix_s is not None:
            return (self.begin_unix_s + seconds) / _DAY_S
        return seconds / duration_unit([self.end_s])[1]

    def words(self, seconds: float) -> str:
        """Write a moment."""
        if self.begin_unix_s is None:
            unit, length = duration_unit([self.end_s])
            return f"{seconds / length:.4g} {unit}"
        moment = datetime.fromtimestamp(self.begin_unix_s + seconds, zone_named(self.zone))
        return f"{moment:%Y-%m-%d %H:%M}"

    def label(self, axes: Axes) -> None:
        """Label the axis."""
        axes.set_xlim(self.at(0.0), self.at(self.end_s))
        if self.begin_unix_s is None:
            axes.set_xlabel(f"time [{duration_unit([self.end_s])[0]}]")
            return
        zone = zone_named(self.zone)
        locator = AutoDateLocator(tz=zone, minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        form = ConciseDateFormatter(locator, tz=zone)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(form)
        axes.set_xlabel(f"date [{self.zone}]")
