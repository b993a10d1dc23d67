"""Routing tables through the command: what OpenSM wrote is read, what it loads is written."""

import gzip
import json

import numpy as np
import pytest
from ib_fabrics import tree_fabric, write_ibnetdiscover
from opensm_reference import described

from coupling import estimate
from coupling.errors import SnapshotError
from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump, tables_of
from netsim.infiniband.export import export
from netsim.infiniband.wiring import wire_fat_tree
from netsim.topology.fattree import build_fat_tree

GB = 1e9


def write_fabric(folder, tree):
    """Write the ibnetdiscover output of a tree and its D-mod-k tables; return both paths."""
    fabric, dump = folder / "fabric.ib", folder / "plain.lft"
    fabric.write_text(write_ibnetdiscover(tree_fabric(tree)))
    wiring = wire_fat_tree(read_ibnetdiscover(fabric.read_text()))
    dump.write_text(export(wiring, []).text())
    return fabric, dump


@pytest.fixture
def small(tmp_path):
    """Return paths of a fabric of four leaves of four nodes, two uplinks each, and its tables."""
    return write_fabric(tmp_path, build_fat_tree([4, 4], [1, 2], [1, 1], GB))


@pytest.mark.parametrize(
    ("fabric", "engine", "alike"),
    [("ft2_6x3", "ftree", 306), ("ft3_r8", "ftree", 16256), ("ft3_r8", "minhop", None)],
)
def test_tables_of_opensm_are_read_and_compared_with_d_mod_k(
    command, shared, fabric, engine, alike
):
    """Every hop of ftree is D-mod-k's; minhop's are not."""
    folder = shared(f"reference/opensm/{fabric}")

    status, out, _ = command(
        *("lft", "load", folder / f"lfts.{engine}.dump.gz", "--json"),
        *("--fabric", folder / "ibnetdiscover.txt.gz"),
    )

    told = json.loads(out)
    assert status == 0
    assert told["fault"] is None
    assert told["pairs"] == told["nodes"] * (told["nodes"] - 1)
    if alike is None:
        assert told["pairs_as_d_mod_k"] < told["pairs"]
    else:
        assert told["pairs_as_d_mod_k"] == told["pairs"] == alike


def test_the_seven_node_partition_of_the_demo_is_kept_to_its_cables(command, shared, tmp_path):
    """The fabric's own names; all traffic of the job on all of its cables, others unchanged."""
    folder, demo = shared("reference/opensm/ft2_4x4"), shared("reference/opensm/demo7")
    given = json.loads((demo / "ft2_4x4_job7.json").read_text())
    links = [f"{a}>{b}" for pair in given["cables"] for a, b in (pair, pair[::-1])]
    job = {"id": 7, "nodes": given["nodes"], "links": links}
    (tmp_path / "s.json").write_text(json.dumps({"jobs": [job]}))

    status, out, err = command(
        *("lft", "export", tmp_path / "s.json", "--out", tmp_path / "new.lft"),
        *("--fabric", folder / "ibnetdiscover.txt.gz", "--base", folder / "lfts.ftree.dump.gz"),
    )

    assert (status, out) == (0, "")
    assert "changed for 1 jobs; load with: opensm -R file,no_fallback -U" in err
    with gzip.open(folder / "ibnetdiscover.txt.gz", "rt") as file:
        wiring = wire_fat_tree(read_ibnetdiscover(file.read()))
    with gzip.open(folder / "lfts.ftree.dump.gz", "rt") as file:
        before = read_lft_dump(file.read())
    written = read_lft_dump((tmp_path / "new.lft").read_text())
    vertices, lid = described(wiring), {d.name: d.lid for d in wiring.fabric.devices}
    nodes = np.array([vertices[name] for name in given["nodes"]])
    routes = tables_of(written, wiring).routes(np.repeat(nodes, 7), np.tile(nodes, 7))
    names = {d.name: wiring.topology.vertex_name(vertices[d.name]) for d in wiring.fabric.devices}
    owned = {">".join(names[end] for end in link.split(">")) for link in links}
    used = {wiring.topology.link_name(link) for link in np.unique(routes.links).tolist()}
    assert {link for link in used if "n" not in link} == owned
    mine = {lid[name] for name in given["nodes"]}
    for guid, ports in before.ports.items():  # nobody else's way has changed
        assert {n: p for n, p in ports.items() if n not in mine} == {
            n: p for n, p in written.ports[guid].items() if n not in mine
        }


def test_jobs_stay_on_their_links_once_the_written_tables_are_loaded(command, small, tmp_path):
    """Write tables for a partition, route by them, and see that only its links are used."""
    fabric, _ = small
    links = [
        f"{a}>{b}" for leaf in (0, 1) for a, b in ((f"s1.{leaf}", "s2.1"), ("s2.1", f"s1.{leaf}"))
    ]
    topology = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "bandwidth": GB}
    jobs = [
        {"id": "own", "nodes": [0, 4], "links": links, "steps": [[[0, 1, GB], [1, 0, GB]]]},
        {"id": "other", "nodes": [2, 8], "steps": [[[0, 1, GB]]]},
    ]
    jobs = [job | {"compute_s": 0} for job in jobs]
    snapshot = {"topology": topology, "routing": "jigsaw", "jobs": jobs, "model": "flow-level"}
    (tmp_path / "s.json").write_text(json.dumps(snapshot))
    shared_uplink = estimate(snapshot | {"routing": "d-mod-k"})

    status, _, _ = command(
        *("lft", "export", tmp_path / "s.json", "--fabric", fabric, "--out", tmp_path / "new.lft")
    )
    snapshot["routing"] = {"lft": str(tmp_path / "new.lft"), "fabric": str(fabric)}
    found = estimate(snapshot)

    assert status == 0
    assert shared_uplink.jobs[0].interference == pytest.approx(2.0, rel=0.02)
    assert [job.interference for job in found.jobs] == [1.0, 1.0]
    mine = {load.link for load in found.links if load.job == "own" and "n" not in load.link}
    assert mine == set(links)


def test_export_to_standard_output_and_the_summary_as_json(command, small, tmp_path):
    fabric, plain = small
    (tmp_path / "s.json").write_text(json.dumps({"jobs": [{"id": 1, "nodes": [0, 4]}]}))

    _, text, err = command("lft", "export", tmp_path / "s.json", "--fabric", fabric, "--out", "-")
    status, out, _ = command(
        *("lft", "export", tmp_path / "s.json", "--fabric", fabric, "--json"),
        *("--out", tmp_path / "new.lft"),
    )

    assert text == plain.read_text() == (tmp_path / "new.lft").read_text()
    assert "0 changed for 0 jobs (1 own no links)" in err
    told = json.loads(out)
    assert status == 0
    assert (told["switches"], told["changed"], told["jobs"]) == (6, 0, [])


def test_tables_with_a_hole_exit_with_1_and_say_where(command, small, tmp_path):
    """One entry taken out of the table of the second leaf."""
    fabric, plain = small
    head, _, rest = plain.read_text().partition("('s1.1'):\n")
    lines = rest.splitlines(keepends=True)
    (tmp_path / "hole.lft").write_text(f"{head}('s1.1'):\n{''.join(lines[1:])}")

    status, out, _ = command("lft", "load", tmp_path / "hole.lft", "--fabric", fabric)

    assert status == 1
    assert "Not all nodes reach each other: s1.1 has no entry towards n0." in out.replace("\n", " ")


def test_wrong_files_are_one_line_and_nothing_is_written(command, small, tmp_path):
    fabric, plain = small
    good = {"jobs": [{"id": 1, "nodes": [0, 4], "links": []}]}
    cases = {
        "unroutable": (good, "no shortest path from n0 to n4"),
        "other fabric": (good | {"topology": "cab"}, "expected the fabric of the snapshot"),
        "two jobs on a node": (
            {"jobs": [{"id": i, "nodes": [0, 1]} for i in (1, 2)]},
            "jobs[1] (id 2) nodes: node n0 is also of job 1",
        ),
        "two jobs that share a node": (
            {"jobs": [{"id": i, "nodes": [0, 1], "links": []} for i in (1, 2)], "shared": True},
            "jobs 1 and 2 both have node n0",
        ),
    }
    for document, words in cases.values():
        (tmp_path / "s.json").write_text(json.dumps(document))

        status, out, err = command(
            *("lft", "export", tmp_path / "s.json", "--fabric", fabric),
            *("--out", tmp_path / "new.lft"),
        )

        assert (status, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
        assert not (tmp_path / "new.lft").exists()
    for arguments, words in (
        (("lft", "load", plain, "--fabric", plain), "expected a device or port"),
        (("lft", "load", fabric, "--fabric", fabric), "no forwarding table"),
        (("lft", "load", tmp_path / "no", "--fabric", fabric), "No such file"),
    ):
        status, out, err = command(*arguments)

        assert (status, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1


def test_a_file_that_cannot_be_written_leaves_nothing_behind(command, small, tmp_path):
    (tmp_path / "s.json").write_text('{"jobs": []}')

    status, _, err = command(
        *("lft", "export", tmp_path / "s.json", "--fabric", small[0]),
        *("--out", tmp_path / "no" / "new.lft"),
    )

    assert status == 2
    assert "cannot be written" in err


def test_routing_by_tables_needs_their_fabric(small):
    """Another fabric's file, and none at all."""
    fabric, plain = small
    document = {"topology": "synth-1024", "jobs": []}

    with pytest.raises(SnapshotError, match="fabric: expected the path of ibnetdiscover output"):
        estimate(document | {"routing": {"lft": str(plain)}})
    with pytest.raises(SnapshotError, match="expected the fabric fat-tree, 1,024 nodes"):
        estimate(document | {"routing": {"lft": str(plain), "fabric": str(fabric)}})
    with pytest.raises(SnapshotError, match="unknown key 'file'; choose from lft, fabric"):
        estimate(document | {"routing": {"lft": str(plain), "file": 1}})


def test_two_inputs_from_standard_input_are_refused(command, small):
    fabric, dump = small
    for options in (
        ("export", "-", "--fabric", "-", "--out", dump),
        ("load", "-", "--fabric", "-"),
        ("check", "-", "--fabric", fabric, "--base", "-"),
    ):
        status, out, err = command("lft", *options, stdin="x")

        assert (status, out) == (2, "")
        assert "expected standard input (-) once at most, got it twice." in err
