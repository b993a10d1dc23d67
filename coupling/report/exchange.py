"""A run for other programs: evalys, Batsim, Perfetto, SimGrid."""

import heapq
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from coupling.errors import ResultError
from coupling.results.columns import finished
from coupling.results.formatting import listing
from coupling.results.framed import folded
from coupling.results.result import Result
from coupling.runs.retrace import RanJob, Retraced
from fabricsim.checking.sheets import sheet
from netsim.common.arrays import Floats, Ints
from netsim.common.hostlist import expand_hostlist
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


_DIGITS = 6  # after the point
_MICRO = 1e6  # the format counts microseconds
_COUNTERS = {
    "utilization": "busy nodes [%]",
    "running": "jobs running",
    "queued": "jobs waiting",
    "mean_interference": "mean interference",
}
_NUMBERS = (
    "wait_s",
    "network_slowdown",
    "interference",
    "placement_factor",
    "interference_delay_s",
    "comm_fraction",
)
Event = dict[str, Any]


def trace_events(results: Sequence[Result]) -> str:
    """Write runs in the Trace Event Format, which Perfetto and chrome://tracing open."""
    # Complete events (X) a job on as many tracks as jobs ran at once, counters (C), names (M).
    events = [
        event
        for number, result in enumerate(results, start=1)
        for event in (
            *_name_event(number, result),
            *_job_events(number, result),
            *_counter_events(number, result),
        )
    ]
    lines = ",\n".join(
        json.dumps(event, allow_nan=False, separators=(",", ":")) for event in events
    )
    return f'{{"displayTimeUnit": "ms", "traceEvents": [\n{lines}\n]}}\n'


def _name_event(number: int, result: Result) -> Iterator[Event]:
    """Yield the name of a run."""
    yield _meta_event(number, 0, "process_name", result.name)


def _meta_event(pid: int, tid: int, what: str, name: str) -> Event:
    """Return an event that names a process or thread."""
    return {"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": what, "args": {"name": name}}


def _job_events(number: int, result: Result) -> Iterator[Event]:
    """Yield the jobs of a run, track by track."""
    jobs = finished(result.jobs)
    jobs = jobs.loc[np.isfinite(jobs[["start_s", "end_s"]].to_numpy(dtype=float)).all(axis=1)]
    start, end = (jobs[name].to_numpy(dtype=float) for name in ("start_s", "end_s"))
    lane = lanes(start, end)
    for track in range(int(lane.max(initial=-1)) + 1):
        yield _meta_event(number, track + 1, "thread_name", f"jobs {track + 1}")
    rows: list[Mapping[str, Any]] = jobs.to_dict("records")
    for row, track in zip(rows, lane.tolist(), strict=True):
        numbers = {name: round(row[name], _DIGITS) for name in _NUMBERS if np.isfinite(row[name])}
        about = {"nodes": row["n_nodes"], "on": row["nodes"], "killed": row["killed"], **numbers}
        begin, last = (round(row[name] * _MICRO) for name in ("start_s", "end_s"))
        yield {
            "ph": "X",
            "pid": number,
            "tid": track + 1,
            "ts": begin,
            "dur": last - begin,
            "name": f"job {row['id']}",
            "cat": row["pattern"] or "no traffic",
            "args": about,
        }


def lanes(start: Floats, end: Floats) -> Ints:
    """Put intervals (n,) on as few tracks as possible, so that none overlaps another."""
    lane = np.zeros(start.size, dtype=np.int64)
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    used = 0
    for row in np.lexsort((end, start)).tolist():
        while busy and busy[0][0] <= start[row]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            track = heapq.heappop(free)
        else:
            track, used = used, used + 1
        lane[row] = track
        heapq.heappush(busy, (float(end[row]), track))
    return lane


def _counter_events(number: int, result: Result) -> Iterator[Event]:
    """Yield the values over time, each where it changes."""
    timeline = result.timeline
    time = timeline["time_s"].to_numpy(dtype=float)
    for column, name in _COUNTERS.items():
        value = timeline[column].to_numpy(dtype=float) * (100.0 if column == "utilization" else 1.0)
        for row in np.flatnonzero(_change_mask(value) & np.isfinite(value)).tolist():
            yield {
                "ph": "C",
                "pid": number,
                "tid": 0,
                "ts": round(time[row] * _MICRO),
                "name": name,
                "args": {"value": round(float(value[row]), _DIGITS)},
            }


def _change_mask(value: Floats) -> pd.Series:
    """Return where a value differs from the one before."""
    return pd.Series(value).diff().ne(0.0).to_numpy()  # type: ignore[return-value]


_OWN_NAME = re.compile(r"n(\d+)")


def jobset_csv(results: Sequence[Result]) -> str:
    """Write a run as Batsim's ``_jobs.csv``, which evalys reads; resources are node numbers."""
    result = _only_run(results, "evalys")
    jobs = finished(result.jobs)
    run_s = jobs["end_s"] - jobs["start_s"]
    table = pd.DataFrame(
        {
            "job_id": jobs["id"],
            "workload_name": "w0",
            "profile": jobs["pattern"].replace("", "silent"),
            "submission_time": jobs["submit_s"],
            "requested_number_of_resources": jobs["n_nodes"],
            "requested_time": -1.0,
            "success": (~jobs["killed"]).astype(int),
            "final_state": jobs["killed"].map(
                {False: "COMPLETED_SUCCESSFULLY", True: "COMPLETED_WALLTIME_REACHED"}
            ),
            "starting_time": jobs["start_s"],
            "execution_time": run_s,
            "finish_time": jobs["end_s"],
            "waiting_time": jobs["wait_s"],
            "turnaround_time": jobs["turnaround_s"],
            "stretch": (jobs["turnaround_s"] / run_s).where(run_s > 0.0, 1.0),
            "allocated_resources": _node_intervals(jobs["nodes"].tolist()),
        }
    )
    return sheet(list(table.columns), zip(*(table[name] for name in table.columns), strict=True))


def batsim_json(results: Sequence[Result]) -> str:
    """Write the workload of a run for Batsim; each job is a ``delay`` of its reference time."""
    result = _only_run(results, "batsim")
    jobs = finished(result.jobs).sort_values(["submit_s", "id"], kind="stable")
    columns = ("id", "submit_s", "n_nodes", "runtime_reference_s")
    rows = list(zip(*(jobs[name].tolist() for name in columns), strict=True))
    document = {
        "nb_res": int(result.summary["nodes"]),
        "jobs": [
            {"id": str(number), "subtime": submit_s, "res": size, "profile": f"p{number}"}
            for number, submit_s, size, _ in rows
        ],
        "profiles": {
            f"p{number}": {"type": "delay", "delay": run_s} for number, _, _, run_s in rows
        },
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _only_run(results: Sequence[Result], viewer: str) -> Result:
    """Return the only run; these files hold one."""
    if len(results) != 1:
        names = listing([result.name for result in results])
        raise ResultError(f"--to {viewer}: expected one run, by --run, got {names}.")
    return results[0]


def _node_intervals(hosts: Sequence[str]) -> list[str]:
    """Write the nodes of jobs as intervals of numbers."""
    expanded = [sorted(set(expand_hostlist(text))) for text in hosts]
    names = sorted({name for nodes in expanded for name in nodes})
    own = {name: _OWN_NAME.fullmatch(name) for name in names}
    number = {
        name: index if not all(own.values()) or match is None else int(match[1])
        for index, (name, match) in enumerate(own.items())
    }
    return [folded(sorted(number[name] for name in nodes)).replace(",", " ") for nodes in expanded]


VIEWERS: dict[str, Callable[[Sequence[Result]], str]] = {
    "batsim": batsim_json,
    "evalys": jobset_csv,
    "perfetto": trace_events,
}
"""Writers of runs for other programs."""
