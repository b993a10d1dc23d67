"""A node is of one job, unless the jobs say that they share it, at every door."""

import json
from dataclasses import replace

import pytest

from coupling.errors import SnapshotError
from coupling.inputs.snapshot import Candidate, snapshot_from
from coupling.site.estimate import estimate
from coupling.site.verify import verify
from netsim.flows.partition import Partition

TREE = {"kind": "fat-tree", "radix": 4}


def job(name, nodes, **fields):
    return {
        "id": name,
        "nodes": nodes,
        "pattern": {"name": "ring", "nbytes": "1 MB"},
        "compute_s": 1,
    } | fields


def scene(*jobs, **fields):
    return {"topology": TREE, "jobs": list(jobs)} | fields


OCCUPIED = {
    "one node": (
        scene(job("a", [0, 1]), job("b", "n[2-3],n1")),
        "s: jobs[1] (id b) nodes: node n1 is also of job a",
    ),
    "one of the two shares": (
        scene(job("a", [0, 1], shared=True), job("b", [1, 2])),
        "s: jobs[1] (id b) nodes: node n1 is also of job a",
    ),
    "the other shares": (
        scene(job("a", [0, 1]), job("b", [1, 2], shared=True)),
        "s: jobs[1] (id b) nodes: node n1 is also of job a",
    ),
    "the third does not": (
        scene(*(job(name, [4], shared=name != "c") for name in "abc")),
        "s: jobs[2] (id c) nodes: node n4 is also of job a",
    ),
    "all share but one": (
        scene(job("a", [0, 1]), job("b", [1, 2], shared=False), shared=True),
        "s: jobs[1] (id b) nodes: node n1 is also of job a",
    ),
    "a candidate on another job's node": (
        scene(job("a", [0, 1]), job("b", [2, 3]), candidates=[{"job": "a", "nodes": [0, 3]}]),
        "s: candidates[0] nodes: node n3 is also of job b",
    ),
}


@pytest.mark.parametrize("case", OCCUPIED)
def test_a_node_in_two_jobs_is_an_error_with_job_and_node(case):
    document, words = OCCUPIED[case]

    for read in (snapshot_from, verify, estimate):
        with pytest.raises(SnapshotError) as error:
            read(*((document, "s") if read is snapshot_from else (document,)))
        message = str(error.value)
        assert words.removeprefix("s: ") in message
        assert "shared = true" in message
        assert "\n" not in message


@pytest.mark.parametrize(
    "document",
    [
        scene(job("a", [0, 1]), job("b", [1, 2]), shared=True),
        scene(job("a", [0, 1], shared=True), job("b", [1, 2], shared=True), job("c", [3, 4])),
        scene(job("a", [0, 0, 1]), job("b", [2, 3])),  # several ranks of one job
        scene(job("a", [0, 1]), candidates=[{"job": "a", "nodes": [1, 2]}]),  # its own node
        scene(
            job("a", [0, 1]),
            job("b", [2, 3]),
            candidates=[{"job": "a", "nodes": [4, 5]}, {"job": "b", "nodes": [5, 6]}],
        ),  # placements instead of each other's, not beside
        scene(
            job("a", [0, 1]),
            job("b", [2, 3]),
            candidates=[{"job": "a", "nodes": [0, 3]}],
            shared=True,
        ),
    ],
)
def test_what_shares_by_consent_or_does_not_share_is_taken(document):
    assert estimate(document).jobs
    assert verify(document, random=1).jobs


def test_a_snapshot_made_in_python_is_checked_too():
    taken = snapshot_from(scene(job("a", [0, 1]), job("b", [2, 3])), "s")
    first, second = taken.jobs

    with pytest.raises(SnapshotError, match=r"jobs\[1\] \(id b\) nodes: node n0 is also of job a"):
        replace(taken, jobs=(first, replace(second, partition=first.partition)))
    with pytest.raises(SnapshotError, match=r"candidates\[0\] nodes: node n2 is also of job b"):
        replace(taken, candidates=(Candidate("a", Partition(second.partition.nodes, None)),))


def test_shared_is_true_or_false():
    for document, place in (
        (scene(job("a", [0], shared="yes")), r"jobs\[0\] \(id a\) shared"),
        (scene(job("a", [0]), shared=1), "s: shared"),
    ):
        with pytest.raises(SnapshotError, match=f"{place}: expected true or false"):
            snapshot_from(document, "s")


def test_commands_refuse_an_occupied_node_on_one_line(command, tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(scene(job("a", [0, 1]), job("b", [1, 2]))))

    for name in ("estimate", "verify"):
        status, out, error = command(name, tmp_path / "s.json")
        assert (status, out, error.count("\n")) == (2, "", 1)
        assert "jobs[1] (id b) nodes: node n1 is also of job a" in error
