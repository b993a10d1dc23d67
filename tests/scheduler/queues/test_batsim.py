"""Schedulers that speak Batsim's protocol: two of pybatsim, and some that do wrong."""

import shlex
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from netsim.topology.fattree import build_fat_tree
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError, PolicyError
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.simulator import simulate

TREE = build_fat_tree([4, 2], [1, 2], [1, 1], bandwidth="1 B/s")  # 8 nodes
PYBATSIM = shlex.quote(str(Path(sys.executable).parent / "pybatsim"))

SCRIPT = """
import json, sys, zmq
socket = zmq.Context().socket(zmq.REP)
socket.bind(sys.argv[-1])
while True:
    message = json.loads(socket.recv())
    answer = []
    for event in message["events"]:
        kind, data, now = event["type"], event["data"], message["now"]
{body}
    socket.send_string(json.dumps({{"now": message["now"], "events": answer}}))
    if any(event["type"] == "SIMULATION_ENDS" for event in message["events"]):
        break
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Pybatsim leaves a file of events where it runs."""
    monkeypatch.chdir(tmp_path)


def run(jobs, *command, **options):
    policy = make_policy("batsim", dict(zip(["command"], command, strict=False)) | options)
    return simulate_plainly(jobs, policy)


def simulate_plainly(jobs, policy, allocator="first-free", **options):
    """Simulate with requested times as estimates and limits."""
    return simulate(
        jobs,
        Cluster(TREE),
        make_allocator(allocator, {}, 1),
        policy,
        kill_at_limit=True,
        estimate_s=lambda job: job.requested_s,
        **options,
    ).records


def draw(seed, sizes, n_jobs=30):
    """Draw jobs whose requested times are at least their run times."""
    rng = np.random.default_rng(seed)
    submit_s = 1.0 + np.cumsum(rng.integers(0, 30, n_jobs))
    run_s = rng.integers(1, 100, n_jobs)
    return [
        Job(number, float(at_s), int(rng.choice(sizes)), float(own), float(own + rng.integers(50)))
        for number, (at_s, own) in enumerate(zip(submit_s, run_s, strict=True))
    ]


def script(tmp_path, body):
    """Return the command of a scheduler that does `body` for each event."""
    place = tmp_path / "scheduler.py"
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    place.write_text(SCRIPT.format(body=lines))
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(place))}"


START = """
if kind == "JOB_SUBMITTED":
    answer.append({"timestamp": now, "type": "EXECUTE_JOB",
                   "data": {"job_id": data["job_id"], "alloc": "ALLOC"}})
"""


@pytest.mark.parametrize("seed", range(2))
def test_pybatsim_first_come_first_served_equals_fcfs(seed):
    """Jobs take half of the machine or all, since pybatsim wants resources in a row."""
    jobs = draw(seed, (4, 8))

    records = run(jobs, f"{PYBATSIM} schedFcfs -t 0")

    plain = simulate_plainly(jobs, make_policy("fcfs", {}))
    assert {one.job.id: (one.start_s, one.end_s) for one in records} == {
        one.job.id: (one.start_s, one.end_s) for one in plain
    }


def test_pybatsim_filler_leaves_no_job_waiting_that_fits():
    """It decides 5 ms after each event: looked at half a second later, before the next one."""
    jobs = draw(3, (1, 2, 3, 5))

    records = run(jobs, f"{PYBATSIM} fillerSched -t 0")

    assert len(records) == len(jobs)
    events = sorted({*(one.end_s for one in records), *(one.submit_s for one in jobs)})
    looked = [at_s + 0.5 for at_s, later_s in pairwise(events) if later_s > at_s + 1]
    assert len(looked) > 10
    for at_s in looked:
        held = [one for one in records if one.start_s <= at_s < one.end_s]
        nodes = np.concatenate([np.zeros(0, int), *(one.allocation.nodes() for one in held)])
        assert np.unique(nodes).size == nodes.size
        waiting = [one for one in records if one.job.submit_s < at_s < one.start_s]
        assert all(one.job.n_nodes > 8 - nodes.size for one in waiting)


def test_a_scheduler_sees_sizes_and_limits_and_not_run_times(tmp_path):
    """By hand: job 7 asks for 2 nodes and 50 s, and runs 10 s from second 3 on nodes 5 and 2."""
    place = tmp_path / "seen.json"
    body = (
        START.replace("ALLOC", "2 5")
        + f"""
with open({str(place)!r}, "a") as seen:
    seen.write(json.dumps(event) + "\\n")"""
    )

    (record,) = run([Job(7, 3.0, 2, 10.0, 50.0)], script(tmp_path, body))

    assert (record.start_s, record.end_s, record.allocation.nodes().tolist()) == (3.0, 13.0, [2, 5])
    seen = place.read_text()
    assert '"res": 2, "walltime": 50.0, "subtime": 3.0' in seen
    assert "COMPLETED_SUCCESSFULLY" in seen
    assert "SIMULATION_ENDS" in seen
    assert "10.0" not in seen


def test_a_decision_for_later_waits_and_a_call_comes(tmp_path):
    """By hand: the job comes at 3 s, the scheduler asks for a call at 8 s and starts it at 9 s."""
    body = """
if kind == "JOB_SUBMITTED":
    answer.append({"timestamp": now, "type": "CALL_ME_LATER", "data": {"timestamp": 8.0}})
if kind == "REQUESTED_CALL":
    answer.append({"timestamp": 9.0, "type": "EXECUTE_JOB",
                   "data": {"job_id": "w0!1", "alloc": "0"}})
"""

    (record,) = run([Job(1, 3.0, 1, 10.0, 10.0)], script(tmp_path, body))

    assert record.start_s == 9.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (START.replace("ALLOC", "0"), "alloc: expected 2 of the resources 0 to 7, got '0'"),
        (START.replace("ALLOC", "7-8"), "expected 2 of the resources 0 to 7"),
        (START.replace("ALLOC", "x"), "expected 2 of the resources 0 to 7"),
        (START.replace("ALLOC", "0-1").replace('data["job_id"]', '"w0!9"'), "a waiting job"),
        ('answer.append({"type": "REJECT_JOB", "data": {}})', "'REJECT_JOB' is not simulated"),
        ('answer.append({"type": "KILL_JOB", "data": {}})', "'KILL_JOB' is not simulated"),
        ('answer.append({"type": "QUERY", "data": {}})', "'QUERY' is not simulated"),
        ('answer.append({"type": "CALL_ME_LATER", "data": {}})', "expected a time to come"),
        ("answer.append(3)", "expected an object with events"),
        ('if kind == "JOB_SUBMITTED": sys.exit("out of ideas")', "status 1 at 3 s: out of ideas"),
        ('if kind == "JOB_SUBMITTED": import time; time.sleep(60)', "has not answered for 2 s"),
        ("pass", "1 jobs wait on an empty machine"),
    ],
)
def test_a_scheduler_that_does_wrong_ends_the_run_in_a_line(tmp_path, body, words):
    with pytest.raises(PolicyError) as caught:
        run([Job(1, 3.0, 2, 10.0, 10.0)], script(tmp_path, body), timeout_s=2)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nodes_that_are_taken_are_refused(tmp_path):
    jobs = [Job(1, 3.0, 2, 10.0, 10.0), Job(2, 4.0, 2, 10.0, 10.0)]
    with pytest.raises(AllocationError, match="job 2"):
        run(jobs, script(tmp_path, START.replace("ALLOC", "0-1")))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "command"),
        ({"command": " "}, "command: expected what starts a scheduler"),
        ({"command": "no-such-program"}, "cannot be started"),
        ({"command": "true", "timeout_s": 0}, "timeout_s"),
    ],
)
def test_what_starts_no_scheduler_is_refused(options, words):
    with pytest.raises(PolicyError) as caught:
        run([Job(1, 0.0, 1, 1.0, 1.0)], **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("runtime_s", "state"),
    [(10.0, "COMPLETED_SUCCESSFULLY"), (11.0, "COMPLETED_WALLTIME_REACHED")],
)
def test_only_a_job_that_was_ended_at_its_limit_has_reached_it(tmp_path, runtime_s, state):
    """By hand: of a limit of 10 s one job needs all, another one more."""
    place = tmp_path / "seen.json"
    body = (
        START.replace("ALLOC", "0")
        + f"""
with open({str(place)!r}, "a") as seen:
    seen.write(json.dumps(event) + "\\n")"""
    )

    (record,) = run([Job(1, 3.0, 1, runtime_s, 10.0)], script(tmp_path, body))

    assert record.end_s == 13.0
    assert state in place.read_text()


@pytest.mark.parametrize("allocator", ["jigsaw", "random"])
def test_an_allocator_that_would_not_be_asked_is_refused(allocator):
    policy = make_policy("batsim", {"command": "true"})
    with pytest.raises(PolicyError, match=r"it chooses nodes itself: expected the default"):
        simulate_plainly([Job(1, 0.0, 1, 1.0, 1.0)], policy, allocator)


@pytest.mark.parametrize(
    ("queue", "options"),
    [
        ("batsim", {"command": "true", "switches": "1@5"}),
        ("partitions", {"policy": "batsim", "options": {"command": "true"}}),
    ],
)
def test_limits_of_nodes_that_it_would_not_keep_are_refused(queue, options):
    with pytest.raises(PolicyError, match=r"it chooses nodes itself|partitions"):
        simulate_plainly([Job(1, 0.0, 1, 1.0, 1.0)], make_policy(queue, options))
