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
