"""The command `ebb`: what it prints, its page, and what it refuses."""

import gzip
import json

import pytest

PAIR = {"kind": "fat-tree", "children": [4, 2], "parents": [1, 2], "bandwidth": "100 Gb/s"}


def test_the_answer_is_mean_percentiles_bisection_and_worst_links(command):
    """2:1 at the leaf: 4 hosts behind 2 cables."""
    status, out, _ = command("ebb", "-", "--json", "--samples", "9", stdin=json.dumps(PAIR))

    told = json.loads(out)
    assert status == 0
    assert (told["hosts"], told["samples"], told["routing"]) == (8, 9, "d-mod-k")
    assert told["bisection"] == {"share": 0.5, "bytes_per_s": 25e9}
    assert [row["percentile"] for row in told["pairs"]] == [1, 5, 25, 50, 75, 95, 99]
    assert 0.25 <= told["ebb"] <= 1.0
    assert told["ebb_bytes_per_s"] == pytest.approx(12.5e9 * told["ebb"])
    assert told["pairings"]["lowest"] <= told["ebb"] <= told["pairings"]["highest"]
    offered = [row["offered"] for row in told["links"]]
    assert offered == sorted(offered, reverse=True)


def test_a_seed_repeats_an_answer(command):
    first, again, other = (
        command("ebb", "cab", "--json", "--samples", "2", "--seed", seed)[1]
        for seed in ("3", "3", "4")
    )

    assert first == again
    assert json.loads(first)["ebb"] != json.loads(other)["ebb"]


def test_people_read_the_bound_under_adaptive_routing(command):
    _, out, _ = command("ebb", "-", "--routing", "adaptive", stdin=json.dumps(PAIR))

    text = " ".join(out.split())
    assert "Effective bisection bandwidth" in text
    assert "an upper bound" in text


def test_a_page_draws_the_load(command, tmp_path):
    page = tmp_path / "e.html"

    status, _, _ = command("ebb", "-", "--html", page, stdin=json.dumps(PAIR))

    assert status == 0
    text = page.read_text(encoding="utf-8")
    assert "Load that random pairs offer" in text
    assert "effective bisection bandwidth" in text


def test_loaded_tables_route_the_pairs(command, shared, tmp_path):
    for name in ("ibnetdiscover.txt", "lfts.minhop.dump"):
        packed = shared(f"reference/opensm/ft3_r8/{name}.gz").read_bytes()
        (tmp_path / name).write_bytes(gzip.decompress(packed))
    fabric, tables = tmp_path / "ibnetdiscover.txt", tmp_path / "lfts.minhop.dump"

    status, out, err = command("ebb", fabric, "--lft", tables, "--json")

    assert (status, json.loads(out)["routing"]) == (0, "tables"), err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--routing", "ecmp", "--lft", "x"), "expected --routing or --lft, got both."),
        (("--fabric", "x"), "--fabric: expected beside --lft, the tables of that fabric."),
        (("--routing", "d-mod"), "did you mean 'd-mod-k'"),
        (("--routing", "minimal"), "minimal"),
        (("--lft", "x"), "--lft: fabric: expected the path of ibnetdiscover output, got None."),
    ],
)
def test_bad_input_is_one_line(command, arguments, line):
    status, out, err = command("ebb", "-", *arguments, stdin=json.dumps(PAIR))

    assert (status, out) == (2, "")
    assert line in err
    assert len(err.splitlines()) == 1


def test_one_host_has_no_pair(command):
    graph = "source,target,source_kind,target_kind,bandwidth\nn0,s0,node,switch,1 GB/s\n"

    status, _, err = command("ebb", "-", "--format", "edge-csv", stdin=graph)

    assert status == 2
    assert "two hosts" in err
