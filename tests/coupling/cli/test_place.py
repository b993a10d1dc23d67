"""The commands `place` and `lft check`: placements, tables to load, and the way back."""

import json
import re
from pathlib import Path

import pytest
from ib_fabrics import tree_fabric, write_ibnetdiscover

from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump
from netsim.infiniband.export import export
from netsim.infiniband.wiring import wire_fat_tree
from netsim.topology.fattree import build_fat_tree

SITE = Path(__file__).parents[3] / "examples" / "site"


def job(number, hosts, limit=60):
    return {
        "job_id": number,
        "job_state": ["RUNNING"],
        "nodes": hosts,
        "submit_time": 1717000000,
        "start_time": 1717000000,
        "time_limit": limit,
    }


@pytest.fixture
def site(tmp_path):
    """Return the options of a machine of four leaves of four nodes, four spines, and its tables."""
    fabric, dump, queue = (tmp_path / name for name in ("fabric.ib", "loaded.lft", "queue.json"))
    tree = build_fat_tree([4, 4], [1, 4], [1, 1], 1e9)
    fabric.write_text(write_ibnetdiscover(tree_fabric(tree)))
    wiring = wire_fat_tree(read_ibnetdiscover(fabric.read_text()))
    dump.write_text(export(wiring, []).text())
    queue.write_text(json.dumps({"jobs": [job(1, "n[0-1]"), job(2, "n[4-5],n9")]}))
    return fabric, dump, queue


def test_isolated_placement_comes_with_tables_their_difference_and_the_way_back(
    command, site, tmp_path
):
    fabric, dump, queue = site
    out = tmp_path / "new.lft"
    options = ("--topology", fabric, "--squeue", queue, "--base", dump, "--isolated")

    status, told, err = command("place", "--nodes", "6", *options, "--lft", out)

    assert (status, err) == (0, "")
    before, after = (read_lft_dump(path.read_text()).ports for path in (dump, out))
    changed = {
        (guid, lid, before[guid][lid], port)
        for guid, ports in after.items()
        for lid, port in ports.items()
        if before[guid][lid] != port
    }
    lines = (tmp_path / "new.lft.diff").read_text().splitlines()
    form = re.compile(r"0x([0-9a-f]{16}) '.*': lid 0x([0-9a-f]{4}) '.*': port (\d{3}) -> (\d{3})")
    named = [form.fullmatch(line).groups() for line in lines]
    assert {(int(g, 16), int(lid, 16), int(a), int(b)) for g, lid, a, b in named} == changed
    assert changed
    assert read_lft_dump((tmp_path / "new.lft.back").read_text()).ports == before
    assert f"{len(changed)} entries" in told
    assert "any order" in told
    check = ("lft", "check", tmp_path / "new.lft.json", "--fabric", fabric, "--base")
    assert command(*check, out)[0] == 0
    status, told, _ = command(*check, dump)
    assert status == 1
    assert "Job new leaves the links that it owns" in told


def test_tables_come_for_a_fabric_that_is_described_and_not_for_one_taken_as_a_tree(
    command, site, tmp_path
):
    """The description names the file of ibnetdiscover: the same tables as for the file itself."""
    fabric, dump, queue = site
    described = tmp_path / "described.json"
    rest = ("--squeue", queue, "--base", dump, "--isolated")
    options, others = (("--topology", path, *rest) for path in (fabric, described))
    texts = []
    for number, given in enumerate((options, others)):
        described.write_text(json.dumps({"kind": "file", "path": fabric.name}))
        out = tmp_path / f"new{number}.lft"
        status, _, err = command("place", "--nodes", "6", *given, "--lft", out)
        assert (status, err) == (0, "")
        texts.append(out.read_text())
    assert texts[0] == texts[1]

    described.write_text(json.dumps({"kind": "file", "path": fabric.name, "as_tree": True}))
    status, out, err = command("place", "--nodes", "6", *others, "--lft", tmp_path / "no.lft")
    assert (status, out) == (2, "")
    assert "--base: tables are those of the fabric as it is" in err
    assert not (tmp_path / "no.lft").exists()


def test_loaded_tables_that_let_two_jobs_meet_are_told_with_the_links(command, site, tmp_path):
    """Nodes 0 and 1 lead to node 8 and 12 by D-mod-k over the first spine: both from leaf 0."""
    fabric, dump, _ = site
    jobs = [{"id": "a", "nodes": ["n0", "n8"]}, {"id": "b", "nodes": ["n1", "n12"]}]
    (tmp_path / "snapshot.json").write_text(json.dumps({"jobs": jobs}))

    status, out, _ = command(
        *("lft", "check", tmp_path / "snapshot.json", "--fabric", fabric, "--base", dump, "--json")
    )

    found = json.loads(out)
    assert status == 1
    assert found["apart"] is False
    assert found["credit_loop"] == []
    (pair,) = found["shared"]
    assert pair["jobs"] == ["a", "b"]
    assert pair["links"] == ["s1.0>s2.0"]


def test_jobs_on_leaves_of_their_own_are_apart(command, site, tmp_path):
    fabric, dump, _ = site
    jobs = [{"id": "a", "nodes": ["n0", "n1"]}, {"id": "b", "nodes": ["n4", "n5"]}]
    (tmp_path / "snapshot.json").write_text(json.dumps({"jobs": jobs}))

    status, out, _ = command(
        *("lft", "check", tmp_path / "snapshot.json", "--fabric", fabric, "--base", dump)
    )

    assert (status, out) == (0, "The tables keep all jobs apart.\nNo credit loop.\n")


def test_no_placement_now_is_status_1_and_says_when(command, site):
    fabric, _, queue = site

    status, out, err = command(
        "place", "--nodes", "16", "--topology", fabric, "--squeue", queue, "--top", "2"
    )

    assert (status, err) == (1, "")
    assert "No placement now. At the latest at 2024-05-29T17:26:40Z (in 60.0 min)" in out


def test_placements_are_numbered_with_lines_for_sbatch(command, tmp_path):
    options = ("--topology", SITE / "topology.conf", "--squeue", SITE / "squeue.json")

    status, out, _ = command(
        *("place", "--nodes", "1", *options, "--html", tmp_path / "p.html"),
        *("--out", tmp_path / "p.csv"),
    )

    assert status == 0
    assert "1 --nodelist=cn" in out
    assert "--nodelist" in (tmp_path / "p.html").read_text()
    assert (
        (tmp_path / "p.csv")
        .read_text()
        .startswith("allocators,switches,fragments,nodelist,network_slowdown")
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--nodes", "0"), "--nodes"),
        (("--nodes", "2", "--pattern", "dance"), "dance"),
        (("--nodes", "2", "--comm-fraction", "0.5"), "--pattern"),
        (("--nodes", "2", "--pattern", "ring", "--comm-fraction", "1.001"), "--comm-fraction"),
        (("--nodes", "2", "--pattern", "ring", "--comm-fraction", "-0.001"), "--comm-fraction"),
        (("--nodes", "2", "--lft", "x"), "--isolated and --base"),
        (("--nodes", "2", "--exclude", "nobody", "--unknown", "stop"), "--exclude"),
        (("--nodes", "2", "--base", "gone"), "gone"),
        (("--nodes", "2", "--topology", "-", "--squeue", "-"), "twice"),
    ],
)
def test_bad_options_are_one_line_and_status_2(command, site, options, words):
    fabric, _, queue = site

    status, out, err = command("place", "--topology", fabric, "--squeue", queue, *options)

    assert (status, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


@pytest.mark.parametrize("share", ["0", "1", "1.0"])
def test_a_job_may_communicate_all_the_time_or_never(command, site, share):
    fabric, _, queue = site
    asked = ("--nodes", "4", "--pattern", "ring", "--comm-fraction", share, "--samples", "1")

    status, out, err = command("place", "--topology", fabric, "--squeue", queue, *asked)

    assert (status, err) == (0, "")
    assert "--nodelist=" in out
