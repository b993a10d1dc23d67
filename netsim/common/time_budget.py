"""What a simulation may take: a day, by its forecast."""

from netsim.common.errors import ContentionError

LONGEST_S = 86400.0


def require_within_a_day(forecast: str, cpu_s: float, advice: str) -> None:
    """Refuse what would take more than a day of CPU time, with its forecast and what takes less."""
    if cpu_s > LONGEST_S:
        raise ContentionError(f"{forecast}; at most a day is allowed: {advice}.")


def spoken(seconds: float) -> str:
    """Write a duration."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"
