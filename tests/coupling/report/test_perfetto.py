"""Trace Event JSON, against what its document demands of every kind of event."""

import json
from dataclasses import replace

import numpy as np
import pytest
from coupling_samples import sample, with_dropped

from coupling.report.exchange import lanes, trace_events

# Google, "Trace Event Format": fields of each phase besides ph, pid and ts
DEMANDED = {
    "X": {"tid": int, "dur": int, "name": str, "cat": str, "args": dict},
    "C": {"name": str, "args": dict},
    "M": {"name": str, "args": dict},
}


@pytest.fixture
def events():
    """Return the events of two runs, one of which dropped a job."""
    first = sample(
        "first-free", runtimes_s=(7200.0, 3600.0, 1800.0), interference_delay_s=(1800.0, 0.0, 0.0)
    )
    jobs = with_dropped(first.jobs, ["too large"])
    text = trace_events([replace(first, jobs=jobs), sample('"<evil>"')])
    return json.loads(text)["traceEvents"]


def test_every_event_has_what_the_format_demands(events):
    assert {event["ph"] for event in events} == set(DEMANDED)
    for event in events:
        for field, kind in DEMANDED[event["ph"]].items():
            assert isinstance(event[field], kind), (field, event)
        assert isinstance(event["pid"], int)
        assert isinstance(event["ts"], int)
    for event in events:
        if event["ph"] == "C":
            assert all(isinstance(value, float) for value in event["args"].values())
        elif event["ph"] == "M":
            assert event["name"] in {"process_name", "thread_name"}
            assert isinstance(event["args"]["name"], str)
        else:
            assert event["dur"] >= 0


def test_every_job_that_ran_is_there_in_microseconds(events):
    """Job 11 of the first run: 4 nodes, from 0 to 7200 s."""
    ran = [event for event in events if event["ph"] == "X" and event["pid"] == 1]

    assert {event["name"] for event in ran} == {"job 11", "job 12", "job 13"}
    (job,) = [event for event in ran if event["name"] == "job 11"]
    assert (job["ts"], job["dur"]) == (0, 7_200_000_000)
    assert job["args"]["nodes"] == 4
    assert job["args"]["on"] == "n[0-3]"


def test_counters_tell_each_change_and_nothing_twice(events):
    """7 of 8 nodes are busy, then 6, 4 and none."""
    busy = [
        (event["ts"], event["args"]["value"])
        for event in events
        if event["ph"] == "C" and event["pid"] == 1 and event["name"].startswith("busy")
    ]

    assert busy == [(0, 87.5), (1_800_000_000, 75.0), (3_600_000_000, 50.0), (7_200_000_000, 0.0)]
    queued = [e for e in events if e["ph"] == "C" and e["name"] == "jobs waiting"]
    assert len(queued) == 2  # one for each run: it stays 0


def test_jobs_on_a_track_never_overlap_and_tracks_are_as_few_as_can_be():
    rng = np.random.default_rng(3)
    start = rng.integers(0, 200, 300).astype(float)
    end = start + rng.integers(1, 30, 300)

    lane = lanes(start, end)

    for track in range(lane.max() + 1):
        own = np.argsort(start[lane == track])
        assert (end[lane == track][own][:-1] <= start[lane == track][own][1:]).all()
    at_once = max(np.count_nonzero((start <= t) & (t < end)) for t in start)
    assert lane.max() + 1 == at_once
