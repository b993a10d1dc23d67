"""Isolation: whose traffic meets on a link, under the routing in force or any minimal one."""

import json

from partitions import cable

from coupling import verify


def test_jobs_that_share_links_under_the_routing_in_force(command):
    """By hand: 0 to 4 and 1 to 8 both leave leaf 0 by port 0; so do all ways back, elsewhere."""
    document = {
        "topology": {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2]},
        "jobs": [
            {"id": "a", "nodes": [0, 4]},
            {"id": "b", "nodes": [2, 12]},
            {"id": "c", "nodes": [9, 13]},
        ],
    }

    status, out, _ = command("verify", "-", "--json", stdin=json.dumps(document))

    a, b, c = json.loads(out)["jobs"]
    assert status == 1
    assert a["shares"] == [
        {"link": "s1.0>s2.0", "with": ["b"]},
        {"link": "s2.0>s1.0", "with": ["b"]},
    ]
    assert [job["isolated"] for job in (a, b, c)] == [False, False, True]
    assert b["conditions"]["holds"] is None
    assert b["rearrangeable"]["holds"] is None
    assert "owns no links" in b["rearrangeable"]["method"]


def test_isolation_under_any_minimal_routing_is_a_stronger_claim(command):
    """Odd and even destinations never meet under D-mod-k; another routing may mix them."""
    document = json.dumps(
        {
            "topology": {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2]},
            "jobs": [{"id": "even", "nodes": [0, 4]}, {"id": "odd", "nodes": [1, 5]}],
        }
    )

    in_force, _, _ = command("verify", "-", "--allow-unknown", stdin=document)
    any_routing, out, _ = command("verify", "-", "--any-routing", "--json", stdin=document)

    assert (in_force, any_routing) == (0, 1)
    shared = {entry["link"] for entry in json.loads(out)["jobs"][0]["shares"]}
    assert shared == {
        f"{a}>{b}" for leaf in (0, 1) for root in (0, 1)
        for a, b in ((f"s1.{leaf}", f"s2.{root}"), (f"s2.{root}", f"s1.{leaf}"))
    }  # fmt: skip


def test_traffic_over_a_link_that_another_job_owns_is_no_isolation():
    """B owns the uplink that A's traffic takes, though B itself stays inside its leaf."""
    document = {
        "topology": {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2]},
        "jobs": [
            {"id": "a", "nodes": [0, 4]},
            {"id": "b", "nodes": [1, 2], "links": cable("s1.0", "s2.0")},
        ],
    }

    found = verify(document)

    assert [job.isolated for job in found.jobs] == [False, False]
    assert sorted(found.jobs[0].shares.values()) == [["b"], ["b"]]


def test_fabrics_that_are_no_trees_are_checked_for_isolation_only():
    document = {
        "topology": {"kind": "torus", "dims": [4, 4]},
        "jobs": [
            {"id": 1, "nodes": [0, 1], "shared": True},
            {"id": 2, "nodes": [8, 9]},
            {"id": 3, "nodes": [2, 0], "shared": True},
        ],
    }

    found = verify(document, random=2)

    assert [job.isolated for job in found.jobs] == [False, True, False]
    assert found.jobs[1].conditions.broken is None
    assert "about fat-trees" in found.jobs[1].conditions.reason
    assert verify(document, any_routing=True).jobs[1].isolated
