"""Snapshots that the tests of estimates share."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
GB = 1e9
# four leaves of four nodes, two uplinks a leaf: D-mod-k sends even nodes up port 0; a pure fluid
LEAVES = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "bandwidth": GB}
TAPERED = LEAVES | {"latency": "none"}


def one_flow(name, src, dst, **fields):
    """Return a job of one message of 1 GB, a second long when alone."""
    return {"id": name, "nodes": [src, dst], "steps": [[[0, 1, GB]]], "compute_s": 0} | fields


def scene(*jobs, model="flow-level", topology=TAPERED, **fields):
    """Return a snapshot document of jobs."""
    return {"topology": topology, "model": model, "jobs": list(jobs)} | fields


def by_id(found):
    """Return the estimated jobs by their names."""
    return {job.id: job for job in found.jobs}


THREE = [one_flow("a", 0, 4), one_flow("b", 1, 8), one_flow("c", 2, 12)]
