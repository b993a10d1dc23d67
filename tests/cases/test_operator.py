"""Files and questions of a cluster's operator."""

import json
from pathlib import Path

import pytest

from netsim.hostlist import expand_hostlist


def told(answer, *, status=0):
    """Return the JSON that a command printed, which ended as it should."""
    done, out, err = answer
    assert (done, err) == (status, "")
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


def inspected(command, path, *options, status=0):
    return told(command("topology", "inspect", path, "--json", *options), status=status)


def test_a_node_under_two_switches_is_named_with_both(case):
    command = case("03-node-under-two-switches")

    flat = inspected(command, "topology.conf", status=1)  # nothing joins the three
    rooted = inspected(command, "rooted.conf")

    assert (flat["nodes"], flat["switches"], flat["link_classes"][0]["links"]) == (40, 3, 41)
    assert any("cn22 under s1 and s2" in line for line in flat["assumed"])
    assert any("cn03 under s0 and s1" in line for line in rooted["assumed"])


def test_what_scontrol_shows_of_a_tree_is_read(case):
    command = case("13-scontrol-show-topology")

    shown = inspected(command, "topo.txt")

    assert (shown["usable_nodes"], shown["switches"]) == (6, 3)
    text = Path("topo.txt").read_text()
    Path("prompt.txt").write_text("ann@login1 ~ $ scontrol show topology\n" + text)
    assert inspected(command, "prompt.txt")["levels"] == shown["levels"]
    Path("other.txt").write_text(text.replace("Nodes=cn[01-06]", "Nodes=cn[01-07]"))
    status, _, err = command("topology", "inspect", "other.txt")
    assert (status, "cn07" in err) == (2, True)


def test_what_scontrol_shows_of_blocks_is_read(case):
    command = case("13-scontrol-show-topology")
    Path("blocks.txt").write_text(
        "BlockName=b0 BlockIndex=0 Nodes=10.0.0.1,10.0.0.2 BlockSize=2\n"
        "BlockName=b1 BlockIndex=1 Nodes=10.0.0.3,10.0.0.4 BlockSize=2\n"
        "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4 "
        "BlockSize=4\n"
    )

    shown = inspected(command, "blocks.txt")

    assert (shown["nodes"], [level["switches"] for level in shown["levels"]]) == (4, [2, 1])


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("SwitchName=s0 \\\n  Nodes=n[1-4]\nSwitchName=s1 Nodes=n5,\\\n n[6-8]\n", {}),
        ('switchname = "s0" nodes="n[1-4]" # "one"\nSwitchName=s1 Nodes=n[5-8]', {}),
        ("# Include none\nINCLUDE sub/a.conf\n", {"sub/a.conf": "include b.conf\n"}),
        ("Include sub/a.conf\r\n", {"sub/a.conf": "Include\tb.conf\r\n"}),
        ("SwitchName=s0 Nodes=n[1-4] # goes on \\\nSwitchName=s1 Nodes=n[5-8]\\  \n", {}),
    ],
)
def test_configurations_are_read_as_slurm_parses_them(case, text, files):
    command = case("14-slurm-continuation-quotes-include")
    Path("sub").mkdir()
    Path("sub/b.conf").write_text("SwitchName=s0 Nodes=n[1-4]\r\nSwitchName=s1 Nodes=n[5-8]\r\n")
    for name, content in files.items():
        Path(name).write_text(content)
    Path("own.conf").write_text(text + "\nSwitchName=top Switches=s[0-1]\n")

    for name in ("topology.conf", "topology-include.conf", "own.conf"):
        fabric = inspected(command, name)
        assert (fabric["nodes"], fabric["switches"]) == (8, 3)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SwitchName=s0 Nodes=n1\nInclude none.conf\n", "own.conf:2: Include"),
        ("Include own.conf\n", "100 files"),
        ('SwitchName="s0 Nodes=n1\n', "expected key=value"),
        ("SwitchName=s0 Nodes=n1 \\", "the line goes on"),
        ("SwitchName=s0 Nodes=n1 Colour=red\n", "unknown key 'colour'"),
    ],
)
def test_broken_configurations_are_refused_at_their_line(case, text, what):
    command = case("14-slurm-continuation-quotes-include")
    Path("own.conf").write_text(text)

    status, out, err = command("topology", "inspect", "own.conf", "--format", "slurm-conf")

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert what in err


def test_block_sizes_beyond_the_machine_add_no_level(case):
    command = case("23-block-sizes-beyond-the-machine")
    text = Path("topology.conf").read_text()
    Path("less.conf").write_text(text.replace(",64", ""))
    one = "BlockName=b1 Nodes=node[01-04]\nBlockSizes=4,8,16\n"
    Path("one.conf").write_text(one)

    fabric, less, alone = (
        inspected(command, name) for name in ("topology.conf", "less.conf", "one.conf")
    )

    assert (fabric["switches"], [level["switches"] for level in fabric["levels"]]) == (
        15,
        [8, 4, 2, 1],
    )
    assert (fabric["name"], fabric["levels"]) == (less["name"], less["levels"])
    assert any("(64)" in line for line in fabric["assumed"])
    assert (alone["nodes"], alone["switches"]) == (4, 1)


HALLS = [range(1, 17), range(17, 33), range(33, 41)]


def test_no_placement_joins_nodes_without_a_path_between_them(case):
    """Free are 12 nodes of hall A, 12 of hall B and 8 of a lone rack, which nothing joins."""
    command = case("01-place-across-halls")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--draws", "2", "--json")

    status, out, _ = command("place", "--nodes", "16", *site)
    sixteen = json.loads(out)
    twelve = told(command("place", "--nodes", "12", *site))
    eight = told(command("place", "--nodes", "8", *site))

    assert (status, sixteen["options"]) == (1, [])
    assert (sixteen["free"], sixteen["connected"]) == (32, 12)
    later = {int(name[2:]) for name in expand_hostlist(sixteen["later"]["nodelist"])}
    assert later in map(set, HALLS[:2])
    assert {own["nodelist"] for own in twelve["options"]} == {"cn[5-16]", "cn[21-32]"}
    assert twelve["all_tried"]
    for own in eight["options"]:
        numbers = {int(name[2:]) for name in expand_hostlist(own["nodelist"])}
        assert any(numbers <= set(hall) for hall in HALLS), own["nodelist"]


def test_among_equal_placements_the_most_compact_comes_first(case):
    """Nothing else sends: all lose nothing; cn5 to cn8 are one leaf, and 5 to 7 one range."""
    command = case("30-exclude-of-another-fabric")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--draws", "2", "--json")

    options = told(command("place", "--nodes", "3", *site))["options"]

    lost = [own["own_node_hours"] + own["others_node_hours"] for own in options]
    assert lost == sorted(lost)
    equal = [own for own in options if abs(own["own_node_hours"] - lost[0]) < 1e-9]
    assert [(own["switches"], own["fragments"]) for own in equal] == sorted(
        (own["switches"], own["fragments"]) for own in equal
    )
    assert options[0]["nodelist"] == "cn[2-4]"
