"""Jobs whose hosts and numbers of nodes do not fit together, and hosts that nearly fit a fabric."""

import json

import pytest

import fabricsim as fs
from coupling.errors import SnapshotError

TREE = {"kind": "fat-tree", "radix": 4, "levels": 2}
TALK = {"pattern": {"name": "one-to-all"}, "comm_fraction": 1.0, "bytes_per_flow": "1 MB"}
PROFILE = {"version": 1, "rule": [TALK]}
PAIR = [("7", "n0,n2"), ("9", "n1,n4")]


def queue(path, jobs, **fields):
    """Write what squeue prints of running jobs, given by number and hosts."""
    state = {"job_state": ["RUNNING"], "user_name": "ann", "name": "app"}
    times = {"submit_time": 1, "start_time": 2}
    listed = [{"job_id": int(job), "nodes": hosts} for job, hosts in jobs]
    path.write_text(json.dumps({"jobs": [state | times | own | fields for own in listed]}))
    return path


def test_where_the_number_of_nodes_is_not_that_of_the_hosts_it_is_told(tmp_path):
    path = queue(tmp_path / "q.json", PAIR, node_count={"set": True, "number": 3})
    right = queue(tmp_path / "right.json", PAIR, node_count={"set": True, "number": 2})
    told = "2 jobs whose number of nodes is not that of their hosts: the hosts count."

    found = fs.now(TREE, path, profile=PROFILE, samples=1)

    assert told in found.remarks
    assert [job.nodes for job in found.jobs] == [2, 2]
    assert told not in fs.now(TREE, right, profile=PROFILE, samples=1).remarks


def test_hosts_in_capitals_are_named_as_the_fabric_has_them(tmp_path):
    """Half of the hosts are known, or none; `stop` refuses the first that is not."""
    some = queue(tmp_path / "some.json", [("7", "n0,N02")])
    none = queue(tmp_path / "none.json", [("7", "x0,N[2-3].site.org")])

    found = fs.now(TREE, some, profile=PROFILE, samples=1)

    assert found.remarks[0].startswith("1 host not in the fabric (N02; did you mean 'n2'?); ")
    with pytest.raises(SnapshotError, match=r"\(x0, N2\.site\.org, N3.*; did you mean 'n2'\?\)\.$"):
        fs.now(TREE, none, profile=PROFILE, samples=1)
    with pytest.raises(SnapshotError, match=r"host 'N02'.*; did you mean 'n2'\? \(--unknown"):
        fs.now(TREE, some, profile=PROFILE, samples=1, unknown="stop")
