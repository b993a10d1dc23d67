"""Before and after a change, and failures ranked, for people."""

from coupling.report.answer import Answer, Section, more
from coupling.report.columns import assumptions, seconds
from coupling.report.now import NAME, USER, short_link
from coupling.results import formatting as units
from coupling.site.answers import LostHours
from coupling.site.comparison import Failure, JobChange, Ranking, WhatIf
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster

_JOBS = ("job", "user", "name", "nodes", "before", "after", "change", "5-95 %", "")
_MOST_JOBS = 4  # of a failure, in a terminal
_FAILURES = ("fails", "cut off", "slowed", "lost node-h/day", "5-95 %")


def whatif_answer(found: WhatIf, top: int | None = None, *, why: bool = True) -> Answer:
    """Return the jobs that a change touches, and the tapers that it leaves."""
    touched = [job for job in found.jobs if job.is_touched]
    same = len(found.jobs) - len(touched)
    notes = more(touched, top, "job", "--top, --json")
    notes += [f"{units.counted(same, 'job')} as before."] if same else []
    steps = Section(
        "Iterations",
        ("job", "iteration", "after", "change"),
        [(str(job.id), *_step_cells(job)) for job in touched[:top] if job.before_s is not None],
    )
    jobs = Section(
        "Jobs that the change touches",
        _JOBS,
        [_job_row(job) for job in touched[:top]],
        left=(0, 1, 2, 8),
        letters={1: USER, 2: NAME},
        notes=notes,
    )
    leaves = Section(
        "Leaf switches",
        ("leaf", "taper before", "after"),
        [
            (
                _short_switch(found.topology, leaf.leaf),
                _taper_text(leaf.before),
                _taper_text(leaf.after),
            )
            for leaf in found.leaves[:top]
        ],
        whole=(0,),
        notes=more(found.leaves, top, "leaf switch", "--json"),
    )
    return Answer(
        "What the change does",
        _total_lines(found),
        [jobs, steps, leaves],
        _note_lines(found, why=why),
    )


def ranking_answer(found: Ranking, top: int | None = None, *, why: bool = True) -> Answer:
    """Return failures, the worst first."""
    head = (
        f"{units.counted(len(found.failures), 'failure')} of one "
        f"{found.kind}, {units.counted(found.samples, 'sample')}"
    )
    rows = [
        (
            _failure_words(found, failure.what),
            f"{failure.cut_off:,}",
            f"{failure.slowed:,}",
            units.number(failure.lost_node_hours),
            f"{units.number(failure.low)} to {units.number(failure.high)}",
        )
        for failure in found.failures[:top]
    ]
    read = (
        "cut off: jobs that lose nodes or the paths between them; slowed: others that get more "
        "than 1 % slower; lost: node-hours lost in a day beyond those lost now, median, as --fail "
        "gives for one."
    )
    closing = more(found.failures, top, "failure", "--top, --json")
    if found.idle:
        closing.append(f"{units.counted(found.idle, found.kind)} without traffic now, not tried.")
    closing += [read, *_note_lines(found, why=why)]
    failures = Section("Failures, worst first", _FAILURES, rows, whole=(0,))
    steps = Section(
        "Iterations",
        ("fails", "job", "iteration", "after", "change"),
        [row for failure in found.failures[:top] for row in _step_rows(failure)],
        left=(0, 1),
        whole=(0,),
    )
    lines = [found.topology.summary, head]
    return Answer("What each failure would do", lines, [failures, steps], closing)


def _failure_words(found: Ranking, name: str) -> str:
    """Write a part as sites call it, or as a GPU cluster does."""
    if isinstance(found.topology, GpuCluster) and found.kind != "cable":
        return name
    return (_short_switch if found.kind == "switch" else short_link)(found.topology, name)


def _step_rows(failure: Failure) -> list[tuple[str, ...]]:
    """Return the iterations of the jobs that a failure changes most."""
    rows: list[tuple[str, ...]] = [
        (failure.what, str(job.id), *_step_cells(job)) for job in failure.jobs[:_MOST_JOBS]
    ]
    more_jobs = len(failure.jobs) - len(rows)
    left = (failure.what, f"{units.counted(more_jobs, 'more job')}", "", "", "")
    return [*rows, left] if more_jobs else rows


def _step_cells(job: JobChange) -> tuple[str, str, str]:
    """Return the iterations of a job before and after, in seconds."""
    after = job.status if job.after_s is None else seconds(job.after_s)
    return seconds(job.before_s), after, units.change(job.change)


def _short_switch(topology: Topology, name: str) -> str:
    """Write a switch as sites call it, in a form that `whatif --fail` takes."""
    return topology.names.short(topology.vertex_number(name))


def _total_lines(found: WhatIf) -> list[str]:
    """Return the totals of a change."""
    lines = [
        found.topology.summary,
        (
            f"{units.counted(len(found.jobs), 'job')}, "
            f"{units.counted(found.samples, 'sample')}: {'; '.join(found.changes)}"
        ),
    ]
    if found.cut_off:
        lines.append(
            f"Cut off or disconnected: {units.counted(found.cut_off, 'job')}, "
            f"{units.number(found.cut_off_hours)} node-hours a day."
        )
    lines.append(
        f"Node-hours lost in a day by those that go on: {_span_text(found.lost_before)} before, "
        f"{_span_text(found.lost_after)} after (median, 5-95 %)."
    )
    lines.append(
        f"Lost in a day beyond those lost now: {_span_text(found.lost_more)} node-hours, with "
        "those cut off."
    )
    return lines


def _span_text(lost: LostHours) -> str:
    """Write node-hours with their interval."""
    low, middle, high = (units.number(value) for value in (lost.low, lost.median, lost.high))
    return f"{middle} ({low} to {high})"


def _note_lines(found: WhatIf | Ranking, *, why: bool = True) -> list[str]:
    """Return what was assumed, or is odd."""
    return [*assumptions(found.assumed, why=why), *found.remarks]


def _job_row(job: JobChange) -> tuple[str, ...]:
    lost = f": {units.counted(job.lost_nodes, 'node')}" if job.lost_nodes else ""
    spread = units.MISSING if job.low is None else f"{job.low:.2f}-{job.high:.2f}"
    return (
        str(job.id),
        job.user or units.MISSING,
        job.name or units.MISSING,
        f"{job.nodes:,}",
        units.ratio(job.before),
        units.ratio(job.after),
        units.change(job.change),
        spread,
        f"{job.status}{lost}",
    )


def _taper_text(taper: float | None) -> str:
    return units.MISSING if taper is None else f"{taper:.3g}"
