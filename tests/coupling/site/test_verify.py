"""Partitions through the command: verdicts, proofs, exit status."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import mutants
from partitions import cable

from coupling import verify
from coupling.errors import CouplingError, SnapshotError
from coupling.inputs.snapshot import snapshot_from
from coupling.report.verify import verify_answer
from netsim import fat_tree_of_radix

EXAMPLES = Path(__file__).parents[3] / "examples"
TREE = {"kind": "fat-tree", "radix": 4}


def partitions():
    return json.loads((EXAMPLES / "partitions.json").read_text())


def assert_certified(tree, nodes, own, flows, routes):
    """Certify by walking: every route leads from source to destination, no link is used twice."""
    used = []
    for (src, dst), route in zip(flows, routes, strict=True):
        at = src
        for name in route:
            tail, head = name.split(">")
            assert tail == at
            tree.link_number(name)
            at = head
        assert at == dst
        used += route
    assert len(used) == len(set(used))
    assert {end for flow in flows for end in flow} <= {f"n{node}" for node in nodes}
    between = {name for name in used if "n" not in name}
    assert between <= set(own)


def test_legal_partitions_pass_with_certificates_that_can_be_walked(command):
    status, out, err = command("verify", EXAMPLES / "partitions.json", "--json", "--random", "5")

    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["passed"] is True
    tree = fat_tree_of_radix(8, bandwidth="1 B/s")
    for job, wanted in zip(told["jobs"], partitions()["jobs"], strict=True):
        assert job["id"] == wanted["id"]
        assert job["isolated"] is True
        assert job["shares"] == []
        assert job["conditions"] == {"holds": True, "broken": []}
        assert job["rearrangeable"]["holds"] is True
        proof = job["rearrangeable"]["certificate"]
        assert len(proof["flows"]) == len(wanted["nodes"])
        assert_certified(tree, wanted["nodes"], wanted["links"], proof["flows"], proof["routes"])
        assert job["static_table"]["shifts"] == len(wanted["nodes"]) - 1
        assert job["static_table"]["random"] == 5
        assert {"shifts_clean", "random_clean"} <= job["static_table"].keys()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_any_link_taken_from_a_legal_partition_is_noticed(which):
    """Every link of the small partitions in turn, every fourth of the large one."""
    document = partitions()
    job = document["jobs"][which]
    for link in job["links"][:: 4 if len(job["links"]) > 50 else 1]:
        less = job | {"links": [other for other in job["links"] if other != link]}

        found = verify(document | {"jobs": [less]}, random=1)

        assert found.jobs[0].conditions.broken
        assert not found.passed or found.jobs[0].rearrangeable.holds


def test_a_question_without_an_answer_is_no_pass_unless_that_is_allowed(command):
    """Nobody asked about permutations of a job without links; all else is well."""
    document = json.dumps({"topology": TREE, "jobs": [{"id": "a b", "nodes": [0, 2]}]})

    refused, out, _ = command("verify", "-", "--json", stdin=document)
    passed, told, _ = command("verify", "-", "--json", "--allow-unknown", stdin=document)

    (job,) = json.loads(out)["jobs"]
    assert (refused, json.loads(out)["passed"]) == (1, False)
    assert (passed, json.loads(told)["passed"]) == (0, True)
    assert json.loads(told)["jobs"] == [job]
    assert job["isolated"] is True
    assert (job["rearrangeable"]["holds"], job["rearrangeable"]["status"]) == (None, "not-asked")
    _, words, _ = command("verify", "-", stdin=document)
    assert "No answer for a b: no pass without --allow-unknown." in words
    _, words, _ = command("verify", "-", "--allow-unknown", stdin=document)
    assert "--allow-unknown" not in words


def test_a_permutation_given_that_stays_open_is_no_pass_either(command, tmp_path, monkeypatch):
    """A job on more links than balanced, whose router runs out of time."""
    links = [*cable("s1.0", "s2.0"), *cable("s1.1", "s2.0"), *cable("s1.1", "s2.1")]
    document = {"topology": TREE, "jobs": [{"id": 1, "nodes": [0, 2], "links": links}]}
    (tmp_path / "p.txt").write_text("0 2\n2 0\n")
    monkeypatch.setattr("coupling.site.verify.ExactRouter.decide", lambda *_: None)

    status, out, _ = command(
        *("verify", "-", "--json", "--permutation", tmp_path / "p.txt"), stdin=json.dumps(document)
    )

    (job,) = json.loads(out)["jobs"]
    assert job["rearrangeable"]["status"] == "proved"
    assert job["permutation"]["status"] == "undecided"
    assert (status, job["permutation"]["holds"]) == (1, None)


def test_a_blocked_partition_has_a_witness(command):
    """By hand: two nodes on each of two leaves, one cable each: swapping the leaves blocks."""
    links = cable("s1.0", "s2.0") + cable("s1.1", "s2.0")
    document = {
        "topology": TREE,
        "routing": "jigsaw",
        "jobs": [{"id": 1, "nodes": [0, 1, 2, 3], "links": links}],
    }

    status, out, _ = command("verify", "-", "--json", stdin=json.dumps(document))

    (job,) = json.loads(out)["jobs"]
    assert status == 1
    assert job["conditions"]["holds"] is False
    assert job["conditions"]["broken"]
    assert all({"condition", "reason"} == breach.keys() for breach in job["conditions"]["broken"])
    assert job["rearrangeable"]["holds"] is False
    witness = job["rearrangeable"]["witness"]
    crossing = [flow for flow in witness["flows"] if (flow[0] in "n0n1") != (flow[1] in "n0n1")]
    assert len(crossing) > 2
    assert witness["evidence"] in {"cut", "exhaustive", "integer-programming"}


def test_a_cable_that_is_out_of_service_makes_nothing_non_blocking(command):
    """Leaf 0 has no cable of the job's own left, so nothing can be routed."""
    links = cable("s1.0", "s2.0") + cable("s1.1", "s2.0")
    document = {
        "topology": TREE | {"failed_links": ["s1.0>s2.0"]},
        "jobs": [{"id": 1, "nodes": [0, 2], "links": links}],
    }

    status, out, _ = command("verify", "-", "--json", stdin=json.dumps(document))

    (job,) = json.loads(out)["jobs"]
    assert (status, job["rearrangeable"]["status"]) == (1, "blocked")
    assert job["conditions"]["holds"] is False
    assert "no shortest path from n0 to n2" in job["unroutable"]
    assert "the job owns link s1.0>s2.0, which is out of service" in job["unroutable"]


def test_the_five_node_partition_is_illegal_yet_proved_non_blocking(command):
    """Pod A: one leaf of 2; pod B: leaves of 2 and 1; a broken condition alone is no failure."""
    tree = fat_tree_of_radix(4, bandwidth="1 B/s")
    ports = [(1, 0, (0, 1)), (1, 2, (0, 1)), (1, 3, (0,))]
    ports += [(2, 0, (0,)), (2, 1, (1,)), (2, 2, (0, 1)), (2, 3, (1,))]
    up = [tree.up_base[level] + x * tree.ports[level] + q for level, x, qs in ports for q in qs]
    links = [*up, *tree.reverse[up].tolist()]
    document = {
        "topology": TREE,
        "routing": "jigsaw",
        "jobs": [{"id": 5, "nodes": [0, 1, 4, 5, 6], "links": [int(link) for link in links]}],
    }

    status, out, _ = command("verify", "-", "--json", "--exhaustive", stdin=json.dumps(document))

    (job,) = json.loads(out)["jobs"]
    assert status == 0
    assert [breach["condition"] for breach in job["conditions"]["broken"]] == ["1"]
    assert job["rearrangeable"]["holds"] is True
    assert job["rearrangeable"]["method"].startswith("exhaustive: all ")


def test_a_permutation_given_is_routed(command, tmp_path):
    """Lines or JSON; the certificate carries just these flows."""
    nodes = partitions()["jobs"][0]["nodes"]
    pairs = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    (tmp_path / "p.txt").write_text(
        "# a shift\n" + "".join(f"n{a} {b}  # flow\n" for a, b in pairs)
    )
    (tmp_path / "p.json").write_text(json.dumps(pairs))

    for name in ("p.txt", "p.json"):
        status, out, _ = command(
            "verify",
            EXAMPLES / "partitions.json",
            *("--json", "--random", "1", "--permutation", tmp_path / name),
        )

        job = json.loads(out)["jobs"][0]
        assert status == 0
        assert job["permutation"]["holds"] is True
        proof = job["permutation"]["certificate"]
        assert proof["flows"] == [[f"n{a}", f"n{b}"] for a, b in pairs]
        links = partitions()["jobs"][0]["links"]
        tree = fat_tree_of_radix(8, bandwidth="1 B/s")
        assert_certified(tree, nodes, links, proof["flows"], proof["routes"])
        assert "permutation" not in json.loads(out)["jobs"][1]


def test_a_permutation_that_blocks_is_shown_and_exits_with_1(command, tmp_path):
    links = cable("s1.0", "s2.0") + cable("s1.1", "s2.0")
    document = {"topology": TREE, "jobs": [{"id": 1, "nodes": [0, 1, 2, 3], "links": links}]}
    (tmp_path / "p.txt").write_text("0 2\n1 3\n")

    status, out, _ = command(
        "verify", "-", "--json", "--permutation", tmp_path / "p.txt", stdin=json.dumps(document)
    )

    permutation = json.loads(out)["jobs"][0]["permutation"]
    assert status == 1
    assert permutation["holds"] is False
    assert permutation["witness"]["flows"] == [["n0", "n2"], ["n1", "n3"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 1 2\n", ":1: expected source and destination, got ['0', '1', '2']"),
        ("0 99999\n", ":1: no node '99999'"),
        ("0 x\n", ":1: no node or switch 'x'"),
        ("", "expected lines 'source destination', got none"),
        ("[[0, 1", ":1: expected JSON"),
        ("[3]", ": [0]: expected source and destination, got 3"),
        ("0 127\n", "permutation: expected nodes of one job, got n0 to n127"),
        ("0 1\n0 2\n", "job job1: not a permutation"),
    ],
)
def test_a_wrong_permutation_is_one_line(command, tmp_path, text, words):
    (tmp_path / "p").write_text(text)

    status, out, err = command(
        "verify", EXAMPLES / "partitions.json", "--permutation", tmp_path / "p"
    )

    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_partition_that_does_not_connect_its_nodes_says_so(command):
    """The wraparound routing has no path between the two leaves."""
    document = {
        "topology": TREE,
        "routing": "jigsaw",
        "jobs": [{"id": 1, "nodes": [0, 2], "links": cable("s1.0", "s2.0")}],
    }

    found = [
        command("verify", "-", "--json", *options, stdin=json.dumps(document))
        for options in ((), ("--any-routing",))
    ]

    assert [status for status, _, _ in found] == [1, 1]
    assert found[0] == found[1]
    (job,) = json.loads(found[0][1])["jobs"]
    assert "no shortest path from n0 to n2" in job["unroutable"]
    assert job["static_table"] is None
    assert job["rearrangeable"]["holds"] is False


def test_verify_needs_no_pattern_and_counts_a_node_once():
    snapshot = snapshot_from({"topology": TREE, "jobs": [{"id": 1, "nodes": [0, 0, 1]}]})

    (job,) = verify(snapshot, random=3).jobs

    assert job.passed
    assert job.rearrangeable.holds is True
    assert job.static_table.shifts == 1


def test_a_permutation_needs_owned_links():
    document = {"topology": TREE, "jobs": [{"id": 1, "nodes": [0, 2]}]}

    (job,) = verify(document, permutation=[(0, 2)]).jobs

    assert job.permutation.holds is None
    with pytest.raises(SnapshotError, match="expected nodes of one job, got n0 to n5"):
        verify(document, permutation=[(0, 5)])


def test_half_duplex_cables_on_which_jobs_meet_head_on_are_refused():
    """d-mod-k leads n1 to n2 and n3 to n0 through one cable of leaf 0, up and down."""
    jobs = [{"id": "a", "nodes": [1, 2]}, {"id": "b", "nodes": [3, 0]}]
    scene = {"topology": {**TREE, "levels": 2, "duplex": "half"}, "jobs": jobs}

    with pytest.raises(SnapshotError, match="verify needs full-duplex cables"):
        verify(snapshot_from(scene))


def test_more_random_permutations_than_anybody_waits_for_are_refused(command):
    status, out, err = command("verify", EXAMPLES / "partitions.json", "--random", 10**30)

    assert (status, out) == (2, "")
    assert "random: expected a whole number from 0 to 1000000, got" in err


def test_the_table_for_people_says_what_is_wrong_in_80_columns(command):
    document = partitions()
    document["routing"] = "d-mod-k"
    document["jobs"][0]["links"] = document["jobs"][0]["links"][1:]

    status, out, _ = command("verify", "-", "--random", "3", stdin=json.dumps(document))

    assert status == 1
    assert max(map(len, out.splitlines())) <= 80
    assert "job1 breaks (" in out
    assert np.all([name in out for name in ("isolated", "conditions", "non-blocking")])


SMALL = {
    "topology": TREE,
    "routing": "jigsaw",
    "jobs": [
        {"id": 1, "nodes": [0, 1, 4], "links": [*cable("s1.0", "s2.0"), 3, 40, 50]},
        {"id": "b", "nodes": "n[8-11]", "links": None},
    ],
}


@settings(deadline=None, max_examples=100)
@given(mutants(SMALL), st.booleans())
def test_mutated_snapshots_are_judged_or_refused_in_one_line(document, any_routing):
    found, message = None, "snapshot: "
    try:
        found = verify(document, any_routing=any_routing, random=2)
    except CouplingError as error:
        message = str(error)

    assert message.startswith("snapshot: ")
    assert "\n" not in message
    assert found is None or json.dumps(found.to_dict(), allow_nan=False)


def test_a_non_blocking_partition_on_unequal_links_says_that_it_is_one_flow_a_link():
    """Two nodes a leaf at 100 Gb/s own both uplinks, of 100 and of 50 Gb/s."""
    for speeds, said in (("100 Gb/s", False), (["100 Gb/s", "50 Gb/s"], True)):
        fabric = {"kind": "fat-tree", "children": [2, 2], "parents": [1, 2], "bandwidth": speeds}
        ends = [f"s1.{leaf}>s2.{spine}" for leaf in range(2) for spine in range(2)]
        owned = [*ends, *(">".join(reversed(end.split(">"))) for end in ends)]
        job = {"id": 1, "nodes": [0, 1, 2, 3], "links": owned}
        snapshot = snapshot_from({"topology": fabric, "routing": "jigsaw", "jobs": [job]})

        found = verify(snapshot)

        assert found.jobs[0].rearrangeable.holds
        for text in (
            "\n".join(verify_answer(snapshot, found).closing),
            json.dumps(found.to_dict()),
        ):
            assert ("one flow a link, and links differ in speed" in text) == said
