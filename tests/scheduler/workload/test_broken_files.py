"""Broken files of every format are refused in one line with their place."""

import json

import pytest

from scheduler.errors import WorkloadError
from scheduler.workload import READERS


def test_hosts_that_are_no_list_are_refused_in_one_line(tmp_path):
    path = tmp_path / "queue.json"
    path.write_text(json.dumps([{"job_id": 1, "nodes": ["n1"]}]))

    with pytest.raises(WorkloadError, match=r"jobs\[0\]: field nodes: expected a host list"):
        READERS["squeue-json"](path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("X 1 2\n", ":1: field event: expected P (place) or F (remove), got 'X'."),
        ("P 1\n", ":1: expected 3 fields, got 2."),
        ("P 1 2\nP 1 2\n", ":2: field id: expected a job that is not placed, got '1'."),
        ("P 1 2\nF 2\n", ":2: field id: expected a job that is placed, got '2'."),
        ("P 1 2 7\nF 1 6\n", ":2: field time: expected at least 7, the time of the line before"),
        ("P 1 2 7\nF 1\n", ":2: expected 3 fields, got 2."),
        ("P one 2\n", ":1: field id: expected a whole number"),
        ("# nothing\n", ": expected at least one job, got none."),
    ],
)
def test_a_placement_log_out_of_step_is_refused(tmp_path, text, fault):
    path = tmp_path / "log"
    path.write_text(text)

    with pytest.raises(WorkloadError) as error:
        READERS["placement-log"](path)

    assert str(error.value).startswith(f"{path}{fault}")


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        ("csv", "submit,runtime,nodes\n1,2\n", ":2: expected 3 fields, got 2."),
        ("csv", "submit,runtime,nodes\n1,2,3\n1,two,3\n", ":3: field runtime: expected seconds"),
        ("csv", "submit,runtime,nodes\n1,-2,3\n", ":2: field runtime: expected seconds from 0"),
        ("csv", "submit,runtime,nodes\n1,2,1.5\n", ":2: field nodes: expected a whole number"),
        ("csv", "submit,runtime,nodes,nodes\n", ":1: expected each column once, got 'nodes' twice"),
        ("csv", "runtime,RunTime\n", ":1: expected each column once, got 'runtime' twice"),
        ("csv", "submit,runtime\n", ":1: expected a column nodes (one of n_nodes"),
        ("csv", "submit,runtime,nodes\n", ": expected at least one job, got none."),
        ("csv", 'submit,runtime,nodes\n"1,2,3\n', ":2: expected comma-separated values, got"),
        ("csv", "\n", ": expected a header line"),
        ("csv", "id,submit,runtime,nodes\n1,2,3,4\n1,2,3,4\n", ":3: field id: expected a number"),
        ("sacct", "JobID|Submit|Elapsed|NNodes\n1|x|1:00|2\n", ":2: field submit: expected a time"),
        ("sacct", "JobID|Submit|Elapsed|NNodes\n1|1|x|2\n", ":2: field elapsed: expected a durat"),
        ("sacct", "JobID|Submit|Elapsed|NNodes\n1|1|1:00\n", ":2: expected 4 fields, got 3."),
        (
            "sacct",
            "JobID|Submit|Elapsed|NNodes|Timelimit\n1|1|1:00|2|x\n",
            ":2: field timelimit: expected a duration",
        ),
        (
            "sacct",
            "JobID|Submit|Elapsed|NNodes|Timelimit\n1|1|1:00|2|" + "9" * 18 + "-00:00:00\n",
            ":2: field requested: expected seconds below 2^53, got",
        ),
        (
            "squeue-json",
            '[{"submit_time": 1, "node_count": 1, "time_limit": 9007199254740991}]',
            ": jobs[0]: field runtime: expected seconds below 2^53, got",
        ),
        (
            "flux-json",
            '[{"id": 9223372036854775807}, {"id": "f3ETxsR9H"}]',
            ": jobs[0]: field id: expected numbers that leave room for jobs without one, got",
        ),
        ("sacct", "JobID|Submit|NNodes\n", ":1: expected a column elapsedraw, elapsed, end, got"),
        ("sacct", "\n\n", ": expected a header line"),
        ("flux-json", "", ": expected some content, got an empty file."),
        ("flux-json", " \n", ": expected some content, got an empty file."),
        ("squeue-json", '{"jobs": [\n{]}', ":2: expected JSON, got: "),
        ("squeue-json", '{"jobs": 5}', ": expected a list of jobs under 'jobs', got none."),
        ("squeue-json", "[5]", ": jobs[0]: expected an object, got '5'."),
        ("squeue-json", "[" * 100_000, ": expected values at most 50 levels inside"),
        ("squeue-json", "[" + "9" * 5000 + "]", ": [0]: expected a whole number of 64 bits"),
        (
            "squeue-json",
            '[{"submit_time": Infinity}]',
            ": jobs[0]: field submit_time: expected seconds",
        ),
        ("squeue-json", '[{"node_count": true}]', ": jobs[0]: field node_count: expected a whole"),
        ("squeue-json", '[{"nodes": "n[1-"}]', "host list 'n[1-': expected matching brackets"),
        ("flux-json", '[{"userid": [1]}]', ": jobs[0]: field user: expected a number or a text"),
        ("squeue-json", '[{"user_id": {}}]', ": jobs[0]: field user: expected a number or a text"),
        ("flux-json", '[{"nnodes": "two"}]', ": jobs[0]: field nnodes: expected a whole number"),
        ("batsim-json", '{"jobs": []}', ": expected an object 'profiles', got None."),
        ("batsim-json", '{"jobs": [], "profiles": {}}', ": expected at least one job, got none."),
        (
            "batsim-json",
            '{"jobs": [{"id": 1, "profile": "x"}], "profiles": {}}',
            ": jobs[0]: field profile: expected the name of a profile, got 'x'.",
        ),
        ("parquet", "PAR1", ": expected a Parquet file, got: "),
    ],
)
def test_broken_files_are_refused_with_their_place(tmp_path, kind, text, fault):
    path = tmp_path / "jobs"
    path.write_text(text)

    with pytest.raises(WorkloadError) as error:
        READERS[kind](path)

    assert fault in str(error.value)
    assert "\n" not in str(error.value)
