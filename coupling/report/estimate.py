"""What placed jobs do to each other, and what given flows get, for people."""

from collections.abc import Sequence
from pathlib import Path

from coupling.inputs.snapshot import Snapshot
from coupling.report.answer import Answer, Section
from coupling.report.columns import seconds
from coupling.report.sketches import Bar, SlowdownBars, on_terminal
from coupling.results.formatting import counted, listing, percent, ratio, volume
from coupling.site.estimate import Estimate, JobEstimate, LinkLoad
from coupling.site.flows import Flows
from netsim.registries.accuracy import accuracy_line
from netsim.topology.multipath import link_names

_LINES, _HOT = 10, 20  # links of a table in a terminal, and on a page
_ROWS = 500  # flows of a page; more would only make it slow


def estimate_answer(snapshot: Snapshot, found: Estimate, *, page: bool = False) -> Answer:
    """Return what jobs do to each other; a page has pictures and longer tables."""
    long = ("interference", "placement factor") if page else ("interf.", "placing")
    heads = ("alone", "together", "slowdown", *long, "worst link")
    sizes = {job.id: len(set(job.partition.nodes.tolist())) for job in snapshot.jobs}
    bars = SlowdownBars(
        [Bar(str(j.id), j.network_slowdown, j.placement_factor) for j in found.jobs]
    )
    jobs = Section(
        "Jobs",
        ("job", "nodes", *heads),
        [(str(job.id), str(sizes[job.id]), *_job_cells(job)) for job in found.jobs],
        left=(0, 7),
        sketch=bars if not page and bars and on_terminal() else None,
    )
    ranked = sorted(found.candidates, key=lambda entry: (str(entry.job.id), entry.rank))
    candidates = Section(
        "Other placements",
        ("job", "placement", *heads[:4], "slowdown of others" if page else "others"),
        [
            (
                str(entry.job.id),
                f"{entry.rank}. candidates[{entry.candidate}]",
                *_job_cells(entry.job)[:4],
                ratio(entry.others_network_slowdown),
            )
            for entry in ranked
        ],
        left=(0, 1),
    )
    split = _step_sections(found.jobs, len(found.jobs) if page else _LINES)
    closing = [
        *(f"Assumed: {line}." for line in found.assumed),
        accuracy_line(found.setting, found.busiest),
    ]
    if not page:
        blame = Section("", notes=[line for job in found.jobs if (line := _blame_line(job))])
        sections = [jobs, blame, *split, *_busy_sections(found), candidates]
        title = f"{snapshot.topology.summary}, model {snapshot.model}, {snapshot.fairness}"
        return Answer("", [title], sections, closing)
    from coupling.report.pictures import blame_section, load_picture  # noqa: PLC0415 (matplotlib)

    return Answer(
        f"{stem(snapshot.source)}: what these jobs do to each other",
        [
            f"{snapshot.topology.summary} · model {snapshot.model} · {snapshot.fairness}",
            *_worst_lines(found.jobs),
            *closing,
        ],
        [
            jobs,
            *split,
            Section("The fabric", pictures=lambda: load_picture(snapshot, found)),
            blame_section(found.jobs),
            Section(
                "Busiest links, shared ones first",
                ("link", "busy", "jobs"),
                _busiest_rows(found.links, page=True),
            ),
            candidates,
        ],
    )


def stem(source: str) -> str:
    """Return what a page calls the file that it is about; `source`: path, or ``-``."""
    return "standard input" if source == "-" else Path(source).name


def _busy_sections(found: Estimate) -> list[Section]:
    """Return the busiest links that several jobs use, and the longest queues."""
    longest = sorted(found.queues, key=lambda queue: (-queue.waited_s, queue.link))[:_LINES]
    rows = [(own.link, percent(own.utilization), seconds(own.waited_s)) for own in longest]
    shared = _busiest_rows(found.links, page=False)
    return [
        Section("", ("shared link", "busy", "jobs"), shared, left=(0, 2)),
        Section("", ("longest queues", "busy", "mean wait"), rows),
    ]


def _step_sections(jobs: Sequence[JobEstimate], most: int) -> list[Section]:
    """Return what steps on a GPU cluster are made of, and what they send by class of link."""
    jobs = [job for job in jobs if job.parts]
    left = len(jobs) - most
    notes = [f"and {counted(left, 'more job')} (--json, --html)."] if left > 0 else []
    jobs = jobs[:most]
    parts = [
        (
            str(job.id),
            part.what,
            seconds(part.time_s),
            seconds(part.exposed_s),
            percent(part.exposed_s / job.together_s),
        )
        for job in jobs
        if job.together_s
        for part in job.parts
    ]
    sent = [
        (str(job.id), own.links, volume(own.nbytes), own.busiest_link, seconds(own.busiest_s))
        for job in jobs
        for own in job.bytes_by_class
    ]
    outlasting = [_overlap_line(job) for job in jobs if job.overlap is not None]
    heads = ("job", "part of a step", "time alone", "exposed", "of the step")
    heads_sent = ("job", "links", "bytes each way", "busiest", "its time")
    return [
        Section("Steps", heads, parts, left=(0, 1), notes=outlasting),
        Section("Bytes of a step", heads_sent, sent, left=(0, 1, 3), notes=notes),
    ]


def _overlap_line(job: JobEstimate) -> str:
    """Say that collectives of a job outlast the computation beside them."""
    own = job.overlap
    assert own is not None  # noqa: S101 (asked for)
    return (
        f"{job.id}: collectives take longer than the computation beside them, "
        f"{seconds(own.communication_s)} beside {seconds(own.computation_s)}: "
        f"{seconds(own.exposed_s)} are exposed."
    )


def _job_cells(job: JobEstimate) -> tuple[str, ...]:
    """Return the times and ratios of a job."""
    times = (seconds(s) for s in (job.alone_s, job.together_s))
    ratios = (job.network_slowdown, job.interference, job.placement_factor)
    return (*times, *(ratio(value) for value in ratios), job.worst_link or "-")


def _blame_line(job: JobEstimate) -> str:
    """Return which jobs cost a job its time."""
    if job.alone_s is None or job.together_s is None or not job.blame:
        return ""
    first, rest = job.blame[:5], job.blame[5:]
    parts = [f"{percent(share, 0)} to {culprit}" for culprit, share in first]
    if rest:
        parts.append(
            f"{percent(sum(share for _, share in rest), 0)} to {counted(len(rest), 'other')}"
        )
    lost = seconds(job.together_s - job.alone_s)
    return f"{job.id} loses {lost} per iteration: {listing(parts)}."


def _busiest_rows(links: Sequence[LinkLoad], *, page: bool) -> list[tuple[str, str, str]]:
    """Return the busiest links, those of several jobs first; in a terminal these alone."""
    users: dict[str, list[LinkLoad]] = {}
    for load in links:
        users.setdefault(load.link, []).append(load)
    busy = {name: sum(own.utilization or 0.0 for own in loads) for name, loads in users.items()}
    shown = [name for name, loads in users.items() if page or len(loads) > 1]
    shown.sort(key=lambda name: (len(users[name]) == 1, -busy[name], name))
    return [
        (name, percent(busy[name]), listing([str(own.job) for own in users[name]]))
        for name in shown[: _HOT if page else _LINES]
    ]


def _worst_lines(jobs: Sequence[JobEstimate]) -> list[str]:
    """Return which job is slowed most, and by which."""
    if not jobs:
        return ["No job."]
    worst = max(jobs, key=lambda job: job.network_slowdown)
    if worst.network_slowdown == 1:
        return ["No job is slowed."]
    blame = ""
    if worst.blame:
        culprit, share = worst.blame[0]
        blame = f"; {percent(share, 0)} of what it loses to others is caused by {culprit}"
    return [
        (
            f"{ratio(worst.network_slowdown)} is the largest slowdown, of job {worst.id}: "
            f"interference {ratio(worst.interference)} times "
            f"placement {ratio(worst.placement_factor)}{blame}."
        )
    ]


def flows_answer(answer: Flows, source: str, *, page: bool = False) -> Answer:
    """Return rates, finish times and busiest links of flows from a file, `source`."""
    report, topology = answer.report, answer.topology
    link_name, name = link_names(topology), topology.vertex_name
    most = _ROWS if page else _LINES
    rows = [
        (
            f"{name(src)} > {name(dst)}" if page else f"{name(src)}>{name(dst)}",
            volume(nbytes),
            f"{volume(report.rates[i])}/s" if report.routes.hops[i] else "-",
            seconds(float(report.finish_s[i])),
            str(int(report.routes.hops[i])),
        )
        for i, (src, dst, nbytes) in enumerate(answer.flows[:most])
    ]
    last = seconds(float(report.finish_s.max(initial=0.0)))
    left = len(answer.flows) - most
    notes = [f"and {left:,} more (--json has all); the last ends after {last}."] if left > 0 else []
    order = (-report.link_bytes).argsort(kind="stable")[: _HOT if page else _LINES].tolist()
    links = [
        (link_name(link), str(int(report.link_flows[link])), volume(report.link_bytes[link]))
        for link in order
        if report.link_flows[link]
    ]
    heads = ("flow", "size", "rate at start", "finish", "links")
    sections = [
        Section("Flows", heads, rows, notes=notes),
        Section("Busiest links", ("link" if page else "busiest links", "flows", "bytes"), links),
    ]
    lines = [topology.summary]
    if page:
        from coupling.report.pictures import flow_pictures  # noqa: PLC0415 (matplotlib)

        lines.append(f"{counted(len(answer.flows), 'flow')}; the last ends after {last}.")
        drawn = Section("The fabric", pictures=lambda: flow_pictures(answer))
        sections = [drawn, *sections]
    return Answer(f"{stem(source)}: what flows get", lines, sections)
