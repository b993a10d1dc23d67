"""A run for SimGrid: its fabric as a platform, and its schedule as flows to be replayed there."""

from collections.abc import Iterator
from importlib.resources import files

import numpy as np

from coupling.errors import ResultError
from coupling.runs.retrace import RanJob, Retraced
from netsim.flows.contention import step_rounds
from netsim.formats.exporters.writers import PLAIN_MAX_MIN, XML_HEAD
from netsim.topology.base import Topology

PLATFORM, SCHEDULE, PLAYER = "platform.xml", "schedule.txt", "replay.cpp"
ITERATIONS = 20
_MOST_FLOWS = 10_000_000  # hours of SimGrid


def simgrid_files(run: Retraced, iterations: int = ITERATIONS) -> dict[str, str]:
    """Return the files that SimGrid replays, by name, with at most so many iterations a job."""
    # Longer jobs get longer iterations, with as much in all. Starts are those of the run; ends
    # follow from SimGrid's network.
    counts = {job.id: _iteration_count(job, iterations) for job in run.jobs}
    total = sum(counts[job.id] * _round_flows(job) for job in run.jobs)
    if total > _MOST_FLOWS:
        raise ResultError(
            f"--to simgrid: expected at most {_MOST_FLOWS:,} flows, got {total:,}; take fewer "
            "--iterations, or a part of the log (workload.window_s)."
        )
    schedule = "".join(_scheduled_job(job, counts[job.id]) for job in run.jobs)
    player = files("coupling.report").joinpath("templates", PLAYER).read_text("utf-8")
    return {PLATFORM: _platform_xml(run), SCHEDULE: schedule, PLAYER: player}


def remarks(run: Retraced) -> list[str]:
    """Say what SimGrid will see otherwise."""
    notes = ["links are shared evenly among flows, not among senders"]
    fabric = run.topology
    if (
        fabric.latency_per_link_s
        or fabric.latency_base_s
        or fabric.packet_bytes
        or fabric.buffer_bytes
    ):
        notes.append("latency and buffers are left out")
    if fabric.limiter_link or fabric.loopback_bw:
        notes.append("limiters and loopback of hosts are left out")
    return notes


def _iteration_count(job: RanJob, most: int) -> int:
    """Return in how many iterations a job is replayed."""
    if job.placed is None:
        return 1
    return max(1, min(most, round(job.work_s / job.iteration_s)))


def _round_flows(job: RanJob) -> int:
    """Return the flows of an iteration, each round apart."""
    if job.placed is None:
        return 0
    traffic = job.placed.traffic
    return int(step_rounds(traffic)[traffic.step].sum())


def _scheduled_job(job: RanJob, count: int) -> str:
    """Write a job: when it starts, and what each of its iterations computes and sends."""
    head = f"job {job.id} {job.submit_s!r} {job.start_s!r} {job.n_nodes} {count}"
    if job.placed is None:
        return f"{head} {job.work_s!r} 0\n"
    traffic = job.placed.traffic
    scale = job.work_s / (count * job.iteration_s)
    rounds = step_rounds(traffic)
    nbytes = traffic.nbytes / rounds[traffic.step] * scale
    first = np.flatnonzero(np.diff(traffic.step, prepend=-1)).tolist()
    lines = [f"{head} {float(traffic.compute_s * scale)!r} {rounds.sum()}"]
    for begin, end in zip(first, [*first[1:], nbytes.size], strict=True):
        rows = zip(
            job.src[begin:end].tolist(), job.dst[begin:end].tolist(), nbytes[begin:end].tolist(),
            strict=True,
        )  # fmt: skip
        step = [f"step {end - begin}", *(f"{src} {dst} {size!r}" for src, dst, size in rows)]
        lines += step * int(rounds[traffic.step[begin]])
    return "\n".join(lines) + "\n"


def _platform_xml(run: Retraced) -> str:
    """Write the links that flows use, and each job as hosts of its own, with the routes it took."""
    config = [f'    <prop id={_quoted(k)} value="{v}"/>' for k, v in PLAIN_MAX_MIN.items()]
    talking = [job for job in run.jobs if job.placed is not None]
    lines = [
        *XML_HEAD,
        '<platform version="4.1">',
        "  <config>",
        *config,
        "  </config>",
        '  <zone id="run" routing="Full">',
        '    <zone id="fabric" routing="Full">',
        '      <host id="anywhere" speed="1Gf"/>',
        *(f"      {line}" for line in _crossed_links(run.topology, talking)),
        "    </zone>",
    ]
    for job in talking:
        lines.append(f'    <zone id="j{job.id}" routing="Full">')
        lines += [f"      {line}" for line in _rank_hosts(run.topology, job)]
        lines.append("    </zone>")
    return "\n".join([*lines, "  </zone>", "</platform>"]) + "\n"


def _crossed_links(topology: Topology, jobs: list[RanJob]) -> Iterator[str]:
    """Write the links that flows cross; one for both directions where these share a capacity."""
    used = [job.placed.traffic.routes.links for job in jobs if job.placed is not None]
    crossed = np.unique(topology.channel[np.concatenate(used)]).tolist() if used else []
    for link in crossed:
        name = _quoted(topology.link_name(link))
        rate = f'bandwidth="{float(topology.capacity[link])!r}Bps" latency="0s"'
        yield f'<link id={name} {rate} sharing_policy="SHARED"/>'


def _rank_hosts(topology: Topology, job: RanJob) -> Iterator[str]:
    """Write a job: a host for each rank, and the route of each pair that talks."""
    for rank in range(job.n_nodes):
        yield f'<host id="j{job.id}.{rank}" speed="1Gf"/>'
    if job.placed is None:
        return
    routes, taken = job.placed.traffic.routes, dict[tuple[int, int], list[int]]()
    for at, pair in enumerate(zip(job.src.tolist(), job.dst.tolist(), strict=True)):
        links = topology.channel[routes.links[routes.indptr[at] : routes.indptr[at + 1]]].tolist()
        if taken.setdefault(pair, links) != links:
            raise ResultError(f"job {job.id}: expected one way from rank to rank, got several.")
    for (src, dst), links in taken.items():
        names = (_quoted(topology.link_name(link)) for link in links)
        steps = "".join(f"<link_ctn id={name}/>" for name in names)
        ends = f'src="j{job.id}.{src}" dst="j{job.id}.{dst}"'
        yield f'<route {ends} symmetrical="NO">{steps}</route>'


def _quoted(text: str) -> str:
    """Return a text as the value of an attribute."""
    from xml.sax.saxutils import quoteattr  # noqa: PLC0415 (imports clients of HTTP)

    return quoteattr(text)
