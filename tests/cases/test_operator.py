"""Files and questions of a cluster's operator."""

import json

from netsim.hostlist import expand_hostlist


def told(answer):
    """Return the JSON that a command printed, which ended well."""
    status, out, err = answer
    assert (status, err) == (0, "")
    return json.loads(out)


def test_names_that_differ_in_padding_alone_are_different_hosts(case):
    command = case("19-padding-mixed")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--json")

    now = told(command("now", *site))
    place = told(command("place", "--nodes", "4", *site))

    assert [now["machine"][key] for key in ("jobs", "used_nodes", "nodes")] == [2, 7, 11]
    assert now["unknown_hosts"] == []
    assert set(expand_hostlist(place["options"][0]["nodelist"])) == {"c10", "c11", "r2c3", "r2c4"}


def test_branches_of_different_height_are_one_machine(case):
    command = case("22-unbalanced-tree")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--json")

    fabric = told(command("topology", "inspect", "topology.conf", "--json"))
    place = told(command("place", "--nodes", "28", *site))

    assert (fabric["nodes"], fabric["switches"]) == (32, 14)
    assert fabric["unreachable"] == {"nodes": [], "pairs": 0}
    assert place["options"]


def test_tables_that_send_packets_in_a_circle_fail_the_check(case):
    command = case("25-lft-loop")

    status, out, _ = command("lft", "load", "dump.txt", "--fabric", "fabric.txt")

    assert status == 1
    assert "the tables loop: packets for cn00010 never arrive" in " ".join(out.split())
