"""Isolation of jobs and non-blocking partitions, for people: tables in a terminal."""

from rich.console import RenderableType

from coupling.report.columns import table, text_lines
from coupling.results.formatting import listing
from coupling.site.verify import JobVerdict, Verification

_LINES = 5  # shared links and broken conditions that are written out for a job
_WORDS = {True: "yes", False: "NO", None: "-"}


def verify_parts(found: Verification) -> list[RenderableType]:
    """Return the tables of a verification."""
    rows = []
    for job in found.jobs:
        clean = job.static_table
        rows.append(
            (
                str(job.id),
                _WORDS[job.isolated and not job.unroutable],
                _WORDS[job.conditions.holds],
                _WORDS[job.rearrangeable.holds],
                f"{clean.shifts_clean}/{clean.shifts}" if clean else "-",
                f"{clean.random_clean}/{clean.random}" if clean else "-",
            )
        )
    heads = ("job", "isolated", "conditions", "non-blocking", "clean shifts", "clean random")
    parts: list[RenderableType] = [text_lines(found.topology.summary), table(heads, rows)]
    lines = [line for job in found.jobs for line in _reasons(found, job)]
    open_ = [str(job.id) for job in found.jobs if not job.answered]
    if open_ and not found.allow_unknown:
        lines.append(f"No answer for {listing(open_)}: no pass without --allow-unknown.")
    if lines:
        parts.append(text_lines(*lines))
    return parts


def _reasons(found: Verification, job: JobVerdict) -> list[str]:
    """Say in words what was found about a job."""
    lines = []
    if job.unroutable:
        lines.append(f"{job.id} cannot be routed: {job.unroutable}")
    for link, others in list(job.shares.items())[:_LINES]:
        name = found.topology.link_name(link)
        lines.append(f"{job.id} shares {name} with {listing([str(k) for k in others])}.")
    if len(job.shares) > _LINES:
        lines.append(f"{job.id} shares {len(job.shares) - _LINES} more links (--json has all).")
    broken = job.conditions.broken or ()
    lines += [f"{job.id} breaks ({b.condition}): {b.reason}" for b in broken[:_LINES]]
    if len(broken) > _LINES:
        lines.append(f"{job.id} breaks conditions in {len(broken) - _LINES} more places.")
    lines.append(f"{job.id} non-blocking: {job.rearrangeable.method}.")
    if job.permutation is not None:
        lines.append(f"{job.id} permutation given: {job.permutation.method}.")
    return lines
