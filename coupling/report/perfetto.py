"""A run as Trace Event JSON: jobs as tracks and counters over time, for ui.perfetto.dev."""

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coupling.results.columns import finished
from coupling.results.result import Result
from netsim.common.arrays import Floats, Ints

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
