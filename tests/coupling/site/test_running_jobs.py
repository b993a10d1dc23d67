"""How long jobs hold their nodes, as the queue tells it."""

import json
from math import inf

import pytest

from coupling.site.running_jobs import running_in_queue


@pytest.mark.parametrize(
    ("fields", "end_s"),
    [
        ({"start_time": 100, "time_limit": 10, "end_time": 650}, 650.0),
        ({"start_time": 100, "time_limit": 10}, 700.0),
        ({"start_time": 100, "time_limit": 0}, inf),
        ({"start_time": 100}, inf),
        ({"time_limit": 10}, inf),
        ({}, inf),
    ],
    ids=str,
)
def test_a_job_holds_its_nodes_until_its_limit_if_start_and_limit_are_known(
    tmp_path, fields, end_s
):
    """Minutes after the start; without a start, or without a limit, nobody knows."""
    job = {"job_id": 7, "job_state": ["RUNNING"], "nodes": "n0,n1", "submit_time": 50} | fields
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"jobs": [job]}))

    (held,) = running_in_queue(path).held

    assert held.end_s == end_s


def test_a_flag_beside_the_base_state_says_whether_a_job_computes(tmp_path):
    """Slurm lists a base state and its flags; all but the pending job hold their nodes."""
    states = {
        1: ["RUNNING"],
        2: ["RUNNING", "CONFIGURING", "POWER_UP_NODE"],
        3: ["RUNNING", "STOPPED"],
        4: ["RUNNING", "SIGNALING"],
        5: ["COMPLETED", "COMPLETING"],
        6: ["PENDING", "REQUEUED"],
    }
    jobs = [
        {"job_id": number, "job_state": state, "nodes": f"n{number}", "start_time": 100}
        for number, state in states.items()
    ]
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"jobs": jobs}))

    found = running_in_queue(path)

    assert [job.id for job in found.jobs] == [1, 4]
    assert found.left_out == {"configuring": 1, "stopped": 1, "completing": 1, "pending": 1}
    assert [held.job.id for held in found.held] == [1, 2, 3, 4, 5]
