"""Snapshots at the door: what is read, and what is refused with place, field and expectation."""

import json
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import mutants

from coupling import estimate, read_snapshot
from coupling.errors import CouplingError, SnapshotError
from coupling.inputs.snapshot import snapshot_from
from netsim import fat_tree_of_radix

EXAMPLES = Path(__file__).parents[3] / "examples"
TREE = {"kind": "fat-tree", "radix": 4}  # 16 nodes, 2 per leaf, 4 per pod
JOB = {"id": "a", "nodes": [0, 1], "pattern": {"name": "ring"}, "comm_fraction": 0.5}


def with_job(**changes):
    """Return a snapshot of one job; a field that is None is left out."""
    job = {key: value for key, value in (JOB | changes).items() if value is not None}
    return {"topology": TREE, "jobs": [job]}


@pytest.mark.parametrize(
    ("given", "nodes"),
    [
        ([3, 1, 2], [3, 1, 2]),
        (["n3", 1, "2"], [3, 1, 2]),
        ("n[001-003]", [1, 2, 3]),
        ("n[1-2,15],n7", [1, 2, 15, 7]),
        (["n[0-1]", "n[4-5]"], [0, 1, 4, 5]),
        ([2, 2, 3], [2, 2, 3]),
        ((0, np.int64(5)), [0, 5]),
        (np.array([4, 0]), [4, 0]),
        (range(3), [0, 1, 2]),
    ],
)
def test_nodes_are_numbers_names_or_host_lists_in_rank_order(given, nodes):
    (job,) = snapshot_from(with_job(nodes=given)).jobs

    assert job.partition.nodes.tolist() == nodes


def test_links_are_names_or_numbers_of_one_direction():
    tree = fat_tree_of_radix(4, bandwidth="1 B/s")
    up = tree.link_number("s1.0>s2.1")

    (job,) = snapshot_from(with_job(links=[up, "s1.1>s2.0", "s1.1>s2.0"])).jobs

    assert [tree.link_name(link) for link in job.partition.links.tolist()] == [
        "s1.0>s2.1",
        "s1.1>s2.0",
    ]
    assert snapshot_from(with_job()).jobs[0].partition.links is None
    assert snapshot_from(with_job(links=[])).jobs[0].partition.links.size == 0


def test_sizes_and_times_have_units():
    steps = [[[0, 1, "1 MiB"]], [], [[1, 0, 512], [0, 0, "8 kb"]]]

    (job,) = snapshot_from(
        with_job(pattern=None, comm_fraction=None, steps=steps, compute_s="3 ms")
    ).jobs

    assert job.flows.nbytes.tolist() == [2**20, 512, 1000]
    assert job.flows.step.tolist() == [0, 2, 2]
    assert job.compute_s == 0.003
    (ring,) = snapshot_from(with_job(pattern={"name": "ring", "nbytes": "64 KiB"})).jobs
    assert set(ring.flows.nbytes.tolist()) == {2**16}


def test_sizes_inside_patterns_of_patterns_have_units():
    parts = [{"name": "ring", "nbytes": "1 kB"}, {"name": "all-to-all", "nbytes": "2 kB"}]

    (job,) = snapshot_from(with_job(pattern={"name": "sequence", "parts": parts})).jobs

    assert set(job.flows.nbytes.tolist()) == {1000.0, 2000.0}


def test_matrix_files_lie_beside_the_snapshot(tmp_path, monkeypatch):
    (tmp_path / "scene").mkdir()
    (tmp_path / "scene" / "m.csv").write_text("src,dst,bytes\n0,1,5\n1,0,7\n")
    document = with_job(pattern={"name": "matrix", "file": "m.csv"})
    (tmp_path / "scene" / "s.json").write_text(json.dumps(document))
    monkeypatch.chdir(tmp_path)

    (job,) = read_snapshot("scene/s.json").jobs

    assert sorted(job.flows.nbytes.tolist()) == [5.0, 7.0]


def test_a_topology_that_is_built_already_may_be_given():
    tree = fat_tree_of_radix(4, bandwidth="1 B/s")

    assert snapshot_from(with_job() | {"topology": tree}).topology is tree


@pytest.mark.parametrize(
    ("topology", "routing"),
    [
        ({"kind": "fat-tree", "radix": 4}, "DModK"),
        ({"kind": "torus", "dims": [4, 4]}, "DimensionOrder"),
        ({"kind": "dragonfly", "groups": 3, "routers": 2}, "Minimal"),
    ],
)
def test_a_fabric_has_its_usual_routing_where_none_is_named(topology, routing):
    snapshot = snapshot_from({"topology": topology, "jobs": []})

    assert type(snapshot.routing).__name__ == routing


@pytest.mark.parametrize("who", ["jobs", "candidates"])
def test_where_jobs_own_links_they_stay_on_them_unless_another_routing_is_named(who):
    """Leaf 0 to leaf 1 by the second switch; D-mod-k goes to node 2 by the first."""
    own = {"links": ["s1.0>s2.1", "s2.1>s1.1", "s1.1>s2.1", "s2.1>s1.0"]}
    document = {"topology": TREE, "jobs": [{"id": 1, "nodes": [0, 2]}]}
    if who == "jobs":
        document["jobs"][0] |= own
    else:
        document["candidates"] = [{"job": 1, "nodes": [0, 2]} | own]

    snapshot = snapshot_from(document)

    placed = (*snapshot.candidates, *snapshot.jobs)[0]
    routes = snapshot.routing.routes(np.array([0]), np.array([2]), placed.partition)
    names = [snapshot.topology.link_name(link) for link in routes.links.tolist()]
    assert names == ["n0>s1.0", "s1.0>s2.1", "s2.1>s1.1", "s1.1>n2"]
    named = snapshot_from(document | {"routing": "d-mod-k"}).routing
    assert type(named).__name__ == "DModK"


def test_the_number_of_a_job_depends_on_its_id_alone():
    """Phases of the model `accurate` are drawn from it."""
    jobs = [JOB | {"id": name} for name in (7, "7", "b")]

    first = snapshot_from({"topology": TREE, "jobs": jobs, "shared": True}).jobs
    second = snapshot_from({"topology": TREE, "jobs": jobs[::-1], "shared": True}).jobs

    assert [job.number for job in first] == [job.number for job in second][::-1]
    assert len({job.number for job in first}) == 3
    assert first[0].number == 7


WRONG = {
    "no topology": ({"jobs": []}, "s: topology: expected a machine name"),
    "topology of a wrong type": ({"topology": 3, "jobs": []}, "topology: expected a machine name"),
    "unknown machine": (
        {"topology": "cabb", "jobs": []},
        "unknown topology 'cabb' (did you mean 'cab'?); choose from",
    ),
    "field of the topology": (
        {"topology": {"kind": "fat-tree", "radix": 4, "colour": 1}, "jobs": []},
        "topology: topology 'fat-tree'",
    ),
    "unknown routing": (
        {"topology": TREE, "jobs": [], "routing": "x"},
        "s: routing: unknown routing 'x'; choose from",
    ),
    "routing of another fabric": (
        {"topology": TREE, "jobs": [], "routing": "dimension-order"},
        "s: routing: ",
    ),
    "no jobs": ({"topology": TREE}, "s: jobs: expected a list of objects, it is missing"),
    "unknown key": (
        with_job() | {"job": 1},
        "s: job: unknown key (did you mean 'jobs'?); choose from candidates",
    ),
    "unknown key of a job": (with_job(node=1), "jobs[0] (id a) node: unknown key"),
    "unknown model": (with_job() | {"model": "best"}, "model: expected one of fluid, flow-level"),
    "unknown fairness": (with_job() | {"fairness": "x"}, "expected one of per-sender, per-flow"),
    "job of a wrong type": ({"topology": TREE, "jobs": [3]}, "jobs[0]: expected a table, got 3"),
    "no id": (with_job(id=None), "jobs[0] id: expected a whole number of 64 bits, or a text"),
    "an endless id": (with_job(id=2**63), "jobs[0] id: expected a whole number of 64 bits, or"),
    "id of a wrong type": (with_job(id=1.5), "jobs[0] id: expected"),
    "id twice": (
        {"topology": TREE, "jobs": [JOB, JOB]},
        "jobs[1] id: expected another id than those of earlier jobs, got 'a'",
    ),
    "no nodes": (with_job(nodes=None), "(id a) nodes: expected a list of nodes"),
    "empty nodes": (with_job(nodes=[]), "nodes: expected a list of nodes"),
    "empty host list": (
        with_job(nodes=["", ""]),
        "nodes: expected at least one node, got ['', '']",
    ),
    "node out of range": (with_job(nodes=[0, 16]), "nodes: no node 16 in the fabric (fat-tree, 16"),
    "node of a wrong type": (with_job(nodes=[0, 1.0]), "the number or name of a node, got 1.0"),
    "unknown node": (with_job(nodes=["x3"]), "nodes: no node or switch 'x3'"),
    "a switch": (with_job(nodes=["s1.0"]), "; that is a switch"),
    "bad host list": (with_job(nodes="n[3-1]"), "nodes: host list 'n[3-1]'"),
    "excluded node": (
        with_job() | {"topology": TREE | {"excluded": [1]}},
        "nodes: node n1 takes no jobs",
    ),
    "links of a wrong type": (with_job(links="all"), "links: expected a list of names or numbers"),
    "unknown link": (with_job(links=["s1.0>s9.9"]), "links: no link 's1.0>s9.9'"),
    "link out of range": (with_job(links=[10**9]), "links: no link 1000000000 in"),
    "ranks per node": (with_job(ranks_per_node=0), "ranks_per_node: expected a whole number"),
    "ranks beyond number": (
        with_job(ranks_per_node=2**62),
        "ranks_per_node: expected a whole number from 1 to 4096",
    ),
    "mapping": (with_job(mapping="x"), "mapping: expected one of block, round-robin"),
    "pattern of a wrong type": (
        with_job(pattern=5),
        "pattern: expected the name of a pattern, or a table",
    ),
    "unknown pattern": (with_job(pattern={"name": "x"}), "pattern: unknown pattern 'x'"),
    "pattern that does not fit": (
        with_job(pattern={"name": "stencil", "grid": [5, 5]}),
        "(id a) pattern: ",
    ),
    "size without a unit we know": (
        with_job(pattern={"name": "ring", "nbytes": "3 pages"}),
        "pattern: pattern 'ring': nbytes: expected a size in bytes",
    ),
    "pattern and steps": (with_job(steps=[]), "pattern: expected either pattern or steps"),
    "rank out of range": (
        with_job(pattern=None, steps=[[], [[0, 1, 5], [0, 2, 5]]]),
        "(id a) steps[1][1]: expected ranks 0..1, got 2",
    ),
    "message of two": (with_job(pattern=None, steps=[[[0, 1]]]), "steps[0][0]: expected [source"),
    "no bytes": (
        with_job(pattern=None, steps=[[[0, 1, 0]]]),
        "steps[0][0]: expected a size from 0.001 to 1e+18 bytes, got 0",
    ),
    "step of a wrong type": (with_job(pattern=None, steps=[3]), "steps[0]: expected a list of"),
    "no fraction": (
        with_job(comm_fraction=None),
        "comm_fraction: expected comm_fraction or compute_s, both are missing",
    ),
    "both": (with_job(compute_s=1), "expected either comm_fraction or compute_s, got both"),
    "fraction above 1": (with_job(comm_fraction=30), "expected a number from 0 to 1, got 30"),
    "negative time": (with_job(comm_fraction=None, compute_s=-1), "compute_s: expected seconds"),
    "start": (with_job(start_s="noon"), "start_s: expected seconds"),
    "iterations": (with_job(iterations=0), "iterations: expected a whole number from 1, got 0"),
    "candidate of nobody": (
        with_job() | {"candidates": [{"job": "b", "nodes": [1, 2]}]},
        "candidates[0] job: expected the id of a job of the snapshot ('a'), got 'b'",
    ),
    "candidate of another size": (
        with_job() | {"candidates": [{"job": "a", "nodes": [1]}]},
        "candidates[0] nodes: expected a node for each of 2 ranks of job a, got 1",
    ),
    "candidate's unknown key": (
        with_job() | {"candidates": [{"job": "a", "nodes": [1, 2], "rank": 1}]},
        "candidates[0] rank: unknown key (did you mean 'ranks_per_node'?); choose from job, links",
    ),
    "key of two lines": (with_job() | {"a\nb": 1}, "s: 'a\\nb': unknown key"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_snapshots_are_one_line_with_place_field_and_expectation(case):
    document, words = WRONG[case]

    with pytest.raises(SnapshotError) as error:
        snapshot_from(json.loads(json.dumps(document)), "s")

    message = str(error.value)
    assert words in message
    assert message.startswith("s: ")
    assert "\n" not in message
    assert len(message) < 900


NO_JSON = {
    "cut short": (
        '{"topology": "cab", "jobs": [',
        ":1: expected JSON, got: Expecting value in column 30",
    ),
    "empty": ("", "s.json: expected some content, got an empty file."),
    "a list": ("[]", "expected a JSON object, got []"),
    "a field twice": ('{"jobs": [], "jobs": []}', "field 'jobs' twice in one object"),
    "deep": (
        '{"jobs": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "expected values at most 50 levels inside each other",
    ),
    "huge number": (
        '{"jobs": ' + "9" * 5000 + "}",
        "jobs: expected a whole number of 64 bits, got a number of thousands",
    ),
}


@pytest.mark.parametrize("case", NO_JSON)
def test_a_file_that_is_no_json_object_is_one_line(case, command, tmp_path):
    text, words = NO_JSON[case]
    (tmp_path / "s.json").write_text(text)

    status, out, err = command("estimate", tmp_path / "s.json")

    assert (status, out) == (2, "")
    assert err.startswith(f"fabricsim: {tmp_path / 's.json'}:")
    assert words in err
    assert err.count("\n") == 1


def test_a_file_that_cannot_be_read_is_one_line(command, tmp_path):
    (tmp_path / "latin.json").write_bytes(b'{"jobs": "\xe4"}')
    (tmp_path / "cut.json.gz").write_bytes(b"\x1f\x8b\x08\x00")

    for name, words in (
        ("none.json", "No such file"),
        ("latin.json", ":1: expected text in UTF-8."),
        ("cut.json.gz", "cannot be read"),
        (".", "directory"),
    ):
        status, out, err = command("estimate", tmp_path / name)

        assert (status, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1


BASE = {
    "topology": {"kind": "fat-tree", "radix": 4, "bandwidth": "10 Gb/s", "latency_base_s": 1e-6},
    "routing": "d-mod-k",
    "model": "fluid",
    "fairness": "per-sender",
    "jobs": [
        {
            "id": "a",
            "nodes": ["n[0-3]", 9],
            "links": None,
            "pattern": {"name": "ring", "nbytes": "64 KiB"},
            "comm_fraction": 0.5,
            "start_s": 0,
        },
        {
            "id": 2,
            "nodes": [5, 8, 10],
            "steps": [[[0, 1, 1000], [1, 2, "2 kB"]], [[2, 0, 5e5]]],
            "compute_s": 1e-5,
        },
    ],
    "candidates": [{"job": 2, "nodes": [5, 6, 7]}],
}


def test_options_of_a_model_may_have_the_name_of_version_0_2():
    packets = with_job() | {"model": "packets", "options": {"iterations": 2}}

    assert snapshot_from(packets).model_options == {"iterations": 2}
    with pytest.raises(SnapshotError, match="options: expected it or model_options, not both"):
        snapshot_from(packets | {"model_options": {}})


@pytest.mark.parametrize(
    "name", ["crystal_allreduce-8B_incast1MiB_256_linear", "gpcnet_one_switch"]
)
def test_snapshots_beside_measurements_are_read(name, shared):
    assert read_snapshot(shared(f"reference/measured/{name}.json")).jobs


def test_the_name_of_an_older_model_is_refused_with_what_to_use():
    with pytest.raises(SnapshotError, match="snapshot: model: expected 'flow-level', as it is"):
        snapshot_from(BASE | {"model": "exact"})


@settings(deadline=None, max_examples=250)
@given(st.data())
def test_mutated_snapshots_are_estimated_or_refused_in_one_line(data):
    """Never another exception, never a number that is none."""
    base = BASE | {"model": data.draw(st.sampled_from(["fluid", "flow-level", "hop-cost"]))}
    document = data.draw(mutants(base))
    found, message = None, "snapshot: "
    try:
        found = estimate(document)
    except CouplingError as error:
        message = str(error)

    assert message.startswith("snapshot: ")
    assert "\n" not in message
    for job in found.jobs if found else ():
        assert isfinite(job.network_slowdown)
        assert job.network_slowdown > 0
        assert job.together_s is None or isfinite(job.together_s)
    if found:
        json.dumps(found.to_dict(), allow_nan=False)


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_damaged_files_are_read_or_refused(tmp_path_factory, place, letter):
    """A byte overwritten, and what follows cut off every other time."""
    data = bytearray((EXAMPLES / "placed_jobs.json").read_bytes())
    place %= len(data)
    data[place] = letter
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(data if letter % 2 else data[: place + 1])

    message, jobs = "", ()
    try:
        jobs = read_snapshot(path).jobs
    except CouplingError as error:
        message = str(error)

    assert len(jobs) == 3 or message.startswith(f"{path}:")
    assert "\n" not in message
