"""What placed jobs do to each other and what flows get, for people: tables in a terminal."""

from collections.abc import Sequence

from rich.console import RenderableType

from coupling.inputs.snapshot import Snapshot
from coupling.report.columns import seconds, table, text_lines
from coupling.report.sketches import Bar, SlowdownBars, on_terminal
from coupling.results.formatting import counted, listing, percent, ratio, volume
from coupling.site.estimate import Estimate, JobEstimate
from coupling.site.flows import Flows
from coupling.site.loads import LinkLoad
from netsim.registries.accuracy import accuracy_line
from netsim.topology.multipath import link_names

_LINES = 10  # links and flows that a table for people shows
_HEADS = ("alone", "together", "slowdown", "interf.", "placing", "worst link")


def estimate_parts(snapshot: Snapshot, found: Estimate) -> list[RenderableType]:
    """Return the tables of an estimate."""
    sizes = {job.id: len(set(job.partition.nodes.tolist())) for job in snapshot.jobs}
    title = f"{snapshot.topology.summary}, model {snapshot.model}, {snapshot.fairness}"
    parts: list[RenderableType] = [text_lines(title)]
    parts.append(
        table(
            ("job", "nodes", *_HEADS),
            [(str(job.id), str(sizes[job.id]), *_cells(job)) for job in found.jobs],
            left=(0, 7),
        )
    )
    bars = SlowdownBars(
        [Bar(str(j.id), j.network_slowdown, j.placement_factor) for j in found.jobs]
    )
    if bars and on_terminal():
        parts.append(bars)
    lines = [line for job in found.jobs if (line := _blame_line(job))]
    if lines:
        parts.append(text_lines(*lines))
    shared = _shared(found.links)
    if shared:
        parts.append(table(("shared link", "busy", "jobs"), shared, left=(0, 2)))
    longest = sorted(found.queues, key=lambda queue: (-queue.waited_s, queue.link))[:_LINES]
    if longest:
        rows = [(own.link, percent(own.utilization), seconds(own.waited_s)) for own in longest]
        parts.append(table(("longest queues", "busy", "mean wait"), rows, left=(0,)))
    if found.candidates:
        ranked = sorted(found.candidates, key=lambda entry: (str(entry.job.id), entry.rank))
        parts.append(
            table(
                ("job", "placement", *_HEADS[:4], "others"),
                [
                    (
                        str(entry.job.id),
                        f"{entry.rank}. candidates[{entry.candidate}]",
                        *_cells(entry.job)[:4],
                        ratio(entry.others_network_slowdown),
                    )
                    for entry in ranked
                ],
                left=(0, 1),
            )
        )
    parts.append(text_lines(*(f"Assumed: {line}." for line in found.assumed)))
    parts.append(text_lines(accuracy_line(found.setting)))
    return parts


def _cells(job: JobEstimate) -> tuple[str, ...]:
    """Return what a line of the table says of a job."""
    times = (seconds(s) for s in (job.alone_s, job.together_s))
    ratios = (job.network_slowdown, job.interference, job.placement_factor)
    return (*times, *(ratio(value) for value in ratios), job.worst_link or "-")


def _blame_line(job: JobEstimate) -> str:
    """Say in words who costs a job its time."""
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


def _shared(links: Sequence[LinkLoad]) -> list[tuple[str, str, str]]:
    """Return the busiest links that several jobs use."""
    users: dict[str, list[LinkLoad]] = {}
    for load in links:
        users.setdefault(load.link, []).append(load)
    busy = [
        (sum(load.utilization or 0.0 for load in loads), link, loads)
        for link, loads in users.items()
        if len(loads) > 1
    ]
    busy.sort(key=lambda row: (-row[0], row[1]))
    return [
        (link, percent(total), listing([str(load.job) for load in loads]))
        for total, link, loads in busy[:_LINES]
    ]


def flow_parts(answer: Flows) -> list[RenderableType]:
    """Return the tables of given flows."""
    report, name, link_name = answer.report, answer.topology, link_names(answer.topology)
    rows = [
        (
            f"{name.vertex_name(src)}>{name.vertex_name(dst)}",
            volume(nbytes),
            f"{volume(report.rates[i])}/s" if report.routes.hops[i] else "-",
            seconds(float(report.finish_s[i])),
            str(int(report.routes.hops[i])),
        )
        for i, (src, dst, nbytes) in enumerate(answer.flows[:_LINES])
    ]
    parts: list[RenderableType] = [
        text_lines(answer.topology.summary),
        table(("flow", "size", "rate at start", "finish", "links"), rows),
    ]
    if len(answer.flows) > _LINES:
        last = seconds(float(report.finish_s.max()))
        left = len(answer.flows) - _LINES
        parts.append(text_lines(f"and {left:,} more (--json has all); the last ends after {last}."))
    order = (-report.link_bytes).argsort(kind="stable")[:_LINES].tolist()
    links = [
        (link_name(link), str(int(report.link_flows[link])), volume(report.link_bytes[link]))
        for link in order
        if report.link_flows[link]
    ]
    if links:
        parts.append(table(("busiest links", "flows", "bytes"), links))
    return parts
