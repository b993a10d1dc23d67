"""Accounting records as Slurm prints them, for tests."""

from datetime import UTC, datetime, timedelta

BEGIN = datetime(2024, 5, 29, 8, tzinfo=UTC)
HEADER = (
    "JobID|JobIDRaw|JobName|Partition|Account|User|UID|State|Submit|Start|End|ElapsedRaw|"
    "TimelimitRaw|NNodes|NTasks|NodeList"
)


def clock(second):
    """Return a moment so many seconds after the begin, as sacct prints it."""
    return "Unknown" if second is None else f"{BEGIN + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S}"


def line(
    number,
    start,
    end,
    hosts,
    *,
    submit=None,
    state="COMPLETED",
    limit=60,
    nodes="",
    tasks="",
    elapsed=None,
    name="app",
    partition="batch",
):
    """Return the line of a job; times are seconds after the begin."""
    submit = (start or 0) if submit is None else submit
    if elapsed is None:
        elapsed = "" if end is None or start is None else end - start
    raw = str(number).replace("+", "").split("_")[0]
    cells = (number, raw, name, partition, "bio", "ann", 501, state, clock(submit), clock(start))
    more = (clock(end), elapsed, limit, nodes, tasks, hosts)
    return "|".join(str(cell) for cell in (*cells, *more))


def sacct(path, *lines):
    """Write a log."""
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path
