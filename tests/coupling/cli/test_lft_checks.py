"""What `lft export` refuses before it writes: tables that are not whole, jobs that break rules."""

import json

import numpy as np
import pytest
from damage import damaged_tree, hosts_of
from ib_fabrics import tree_fabric, write_ibnetdiscover
from partitions import cable, cables

from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump, tables_of, write_lft_dump
from netsim.infiniband.export import base_dump, export
from netsim.infiniband.wiring import wire_damaged_tree, wire_fat_tree
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix

TREE = fat_tree_of_radix(6, 12.5e9)  # 54 nodes, 18 leaves of 3, 6 pods


def pair(job, leaf, other, port, slot=0):
    """Return a job of one node on each of two leaves of one pod, with a cable each."""
    top = f"s2.{leaf // 3 * 3 + port}"
    return {
        "id": job,
        "nodes": [f"n{3 * leaf + slot}", f"n{3 * other + slot}"],
        "links": cable(f"s1.{leaf}", top) + cable(f"s1.{other}", top),
    }


@pytest.fixture
def lft(command, tmp_path):
    """Return a function that exports jobs on a fabric: status, stderr, the file if it is there."""

    def call(jobs, *options, fabric=None, base=None, topology=None):
        text = write_ibnetdiscover(tree_fabric(TREE) if fabric is None else fabric)
        (tmp_path / "fabric.ib").write_text(text)
        own = {} if topology is None else {"topology": topology}
        (tmp_path / "s.json").write_text(json.dumps(own | {"jobs": jobs}))
        out = tmp_path / "new.lft"
        out.unlink(missing_ok=True)
        arguments = ["lft", "export", tmp_path / "s.json", "--fabric", tmp_path / "fabric.ib"]
        if base is not None:
            (tmp_path / "base.lft").write_text(base)
            arguments += ["--base", tmp_path / "base.lft"]
        status, _, err = command(*arguments, "--out", out, *options)
        return status, err, out.read_text() if out.exists() else None

    return call


def refused(found, *words):
    """Exit status 2, one line with these words, and no file."""
    status, err, text = found
    assert (status, text) == (2, None), err
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def plain(fabric=None):
    wired = wire_fat_tree(read_ibnetdiscover(write_ibnetdiscover(fabric or tree_fabric(TREE))))
    return export(wired, []).text()


def blocks(text):
    """Part a dump into its switches."""
    parts = text.split("Unicast lids")[1:]
    return [f"Unicast lids{part}" for part in parts]


@pytest.mark.parametrize("kept", [1, 7, 44])
def test_a_base_without_some_switches_is_refused_whatever_the_jobs(lft, kept):
    """OpenSM would take all routes from the switches that the new file leaves out."""
    some = "".join(blocks(plain())[:kept])

    for jobs in ([], [pair("a", 0, 1, 0)]):
        refused(
            lft(jobs, base=some),
            f"base.lft: not whole: no table of {45 - kept} of 45 switches, 's",
        )


@pytest.mark.parametrize(
    ("switch", "lid_of", "count"),
    [("s1.4", "n50", 1), ("s2.7", "n0", 1), ("s3.8", "n17", 1), ("s1.0", "n0", 1)],
)
def test_a_base_without_an_entry_towards_a_node_is_refused(lft, switch, lid_of, count):
    """Also at switches where no traffic to that node comes by: other jobs may need it."""
    lines = plain().splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if f"('{switch}')" in line)
    hole = next(i for i in range(start, len(lines)) if lines[i].endswith(f"'{lid_of}'\n"))

    found = lft([], base="".join(lines[:hole] + lines[hole + 1 :]))

    refused(found, f"not whole: {count} entries towards nodes are missing", switch, f"{lid_of!r}")


def with_port(text, switch, node, port):
    """Change the entry of a switch for a node."""
    lines = text.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if f"('{switch}')" in line)
    entry = next(i for i in range(start, len(lines)) if lines[i].endswith(f"'{node}'\n"))
    lines[entry] = f"{lines[entry][:7]}{port:03d}{lines[entry][10:]}"
    return "".join(lines)


def test_a_base_that_does_not_bring_packets_to_their_nodes_is_refused(lft):
    """LIDs of another day, without the GUIDs by which OpenSM would repair them; a loop."""
    good = plain()
    swapped = good.replace("0x0001 ", "0x0000 ").replace("0x0002 ", "0x0001 ")
    swapped = swapped.replace("0x0000 ", "0x0002 ")
    bare = "\n".join(line.split(" #")[0] for line in swapped.splitlines()) + "\n"

    assert lft([], base=swapped)[2] == good
    refused(lft([], base=bare), "not whole: the tables deliver packets for n1 to n0")
    refused(lft([], base=with_port(good, "s2.0", "n0", 4)), "the tables loop: packets for n0")


def test_a_base_of_another_fabric_is_refused(lft):
    good = plain()
    lost = good.replace("0x0001 001 # Channel Adapter portguid 0x0002c90000000011", "0x0fff 001")

    refused(lft([], base=with_port(good, "s1.0", "n0", 9)), "by port 9: no cable there")
    refused(lft([], base=with_port(good, "s1.0", "n0", 0)), "by port 0: no cable there")
    refused(lft([], base=lost), "has an entry for LID 0x0fff, which no device of the fabric has")
    strange = good.replace("0x0002c90000000370", "0x0002c90000ffffff", 1)
    refused(lft([], base=strange), "the fabric has no switch 0x0002c90000ffffff")


SHARED = {"shared": True}
CASES = {
    "a cable": (
        [pair("a", 0, 1, 0), pair("b", 0, 1, 0, slot=1)],
        "jobs a and b both own s1.0>s2.0, s1.1>s2.0, s2.0>s1.0 and 1 more",
    ),
    "a node": (
        [pair("a", 0, 1, 0) | SHARED, {"id": "b", "nodes": ["n0", "n1"]} | SHARED],
        "jobs a and b both have node n0",
    ),
    "the way of a job without links": (
        [pair("a", 0, 1, 1), {"id": "b", "nodes": ["n1", "n4"]}],
        "job b sends over s1.0>s2.1, s1.1>s2.1, s2.1>s1.0 and 1 more, which job a owns",
    ),
    "links under which it has no node": (
        [pair("a", 0, 1, 0) | {"links": pair("a", 0, 1, 0)["links"] + cable("s1.9", "s2.10")}],
        "job a owns s1.9>s2.10, s2.10>s1.9, under which it has no node",
    ),
    "its own connection": (
        [pair("a", 0, 1, 0) | {"links": cable("s1.0", "s2.0") + cable("s1.1", "s2.1")}],
        "job a: no shortest path from n0 to n3 on the links that the job owns",
    ),
    "permutations": (
        [pair("a", 0, 1, 0) | {"nodes": ["n0", "n1", "n3", "n4"]}],
        "job a can block itself: (balance) s1.0 has 1 uplinks for 2 nodes",
    ),
}


@pytest.mark.parametrize("what", CASES)
@pytest.mark.parametrize("with_base", [False, True])
def test_a_job_that_breaks_something_is_named_with_switch_and_cable(lft, what, with_base):
    jobs, words = CASES[what]

    found = lft(jobs, base=plain() if with_base else None)

    refused(found, f"s.json: {words}")


def test_up_to_three_faults_are_told_and_the_others_counted(lft):
    jobs = [pair(f"j{leaf}{slot}", leaf, leaf + 1, 0, slot) for leaf in (0, 3) for slot in range(3)]

    refused(lft(jobs), "jobs j00 and j01 both own", "; jobs j00 and j02 both", "; and 1 more.")


def test_what_nothing_shows_to_be_non_blocking_is_written_only_when_that_is_allowed(lft):
    """Two remainder leaves in two pods, all links of their switches owned: nobody knows."""
    leaves = {0: 3, 1: 3, 2: 2, 3: 2, 4: 1}
    nodes = [f"n{3 * leaf + slot}" for leaf, count in leaves.items() for slot in range(count)]
    links = [link for leaf in leaves for link in cables(TREE, 1, leaf, range(3))]
    links += [link for switch in range(6) for link in cables(TREE, 2, switch, range(3))]
    job = {"id": "odd", "nodes": nodes, "links": [int(link) for link in sorted(links)]}

    refused(lft([job]), "job odd is not shown to be non-blocking (--allow-unknown lets it pass)")
    status, _, text = lft([job], "--allow-unknown")

    assert (status, text is None) == (0, False)


DAMAGE = {
    "a cut cable": ((), [("s1.7", 5)]),
    "a cut cable above": ((), [("s2.9", 6)]),
    "a lost root": (("s3.4",), ()),
    "a lost L2 switch": (("s2.8",), ()),
    "a leaf without nodes": (hosts_of(TREE, 6), ()),
    "all of these": (("s3.4", "s2.8", *hosts_of(TREE, 6), "n50"), [("s1.7", 5), ("s2.9", 6)]),
}


@pytest.mark.parametrize("lost", DAMAGE)
@pytest.mark.parametrize("with_base", [False, True])
def test_one_imperfection_elsewhere_does_not_keep_a_job_from_its_tables(lft, lost, with_base):
    """A partition of three leaves of the first pod; all other entries are those of ftree."""
    fabric = damaged_tree(TREE, *DAMAGE[lost], seed=1)
    wiring = wire_damaged_tree(fabric)
    ftree = base_dump(wiring)
    base = write_lft_dump(ftree, wiring) if with_base else None
    links = [x for leaf in (0, 1) for port in (0, 2) for x in cable(f"s1.{leaf}", f"s2.{port}")]
    nodes = ["n0", "n2", "n3", "n4", "n6"]
    links += cable("s1.2", "s2.2")

    status, err, text = lft([{"id": "a", "nodes": nodes, "links": links}], fabric=fabric, base=base)

    assert status == 0, err
    found = read_lft_dump(text)
    vertex, tree = wiring.topology.names.vertex, wiring.topology
    mine = np.array([vertex(node) for node in nodes])
    routes = tables_of(found, wiring).routes(np.repeat(mine, 5), np.tile(mine, 5))
    used = {tree.link_name(int(link)) for link in np.unique(routes.links)}
    assert {link for link in used if "n" not in link} == set(links)
    lids = {wiring.fabric.devices[int(wiring.device[node])].lid for node in mine}
    for guid, ports in ftree.ports.items():
        assert {lid: port for lid, port in found.ports[guid].items() if lid not in lids} == {
            lid: port for lid, port in ports.items() if lid not in lids
        }


def test_a_job_that_owns_what_is_gone_is_refused_with_the_cable(lft):
    cut = damaged_tree(TREE, (), [("s1.1", 4)])
    lost = damaged_tree(TREE, ("s2.0",), ())

    for fabric in (cut, lost):
        refused(lft([pair("a", 0, 1, 0)], fabric=fabric), "job a owns s1.", ": no cable there")
        assert lft([pair("a", 0, 1, 1)], fabric=fabric)[0] == 0


def test_a_root_that_all_leaves_lost_is_missed_by_those_who_own_its_cables_only(lft):
    """Two levels: without the snapshot's fabric, it would be a tree with a root less."""
    tree = build_fat_tree((3, 4), (1, 3), (1, 1), 12.5e9)
    fabric = damaged_tree(tree, ("s2.1",))
    topology = {"kind": "fat-tree", "children": [3, 4], "parents": [1, 3]}
    links = {root: cable("s1.0", f"s2.{root}") + cable("s1.1", f"s2.{root}") for root in (1, 2)}
    jobs = {root: [{"id": root, "nodes": [0, 3], "links": own}] for root, own in links.items()}

    refused(
        lft(jobs[1], fabric=fabric, topology=topology),
        "job 1 owns s1.0>s2.1, s1.1>s2.1, s2.1>s1.0 and 1 more: no cable there",
    )
    status, err, text = lft(jobs[2], fabric=fabric, topology=topology)

    assert (status, text is None) == (0, False)
    assert "with parts missing: 1 switches (s2.1 first)" in err


def test_a_base_with_a_hole_is_refused_on_a_damaged_fabric_too(lft):
    """Entries that ftree has not, as no path up and then down leads there, are no holes."""
    fabric = damaged_tree(TREE, (), [("s1.7", 5)])
    wiring = wire_damaged_tree(fabric)
    good = write_lft_dump(base_dump(wiring), wiring)
    lines = good.splitlines(keepends=True)
    hole = next(i for i, line in enumerate(lines) if line.endswith("'n21'\n"))

    assert lft([], fabric=fabric, base=good)[2] == good
    refused(lft([], fabric=fabric, base="".join(lines[:hole] + lines[hole + 1 :])), "not whole: 1 ")


def test_owned_links_on_the_way_of_nodes_outside_all_jobs_are_counted(command, tmp_path):
    """By hand: to first nodes of leaves the others climb there; what comes down is for the job."""
    (tmp_path / "fabric.ib").write_text(write_ibnetdiscover(tree_fabric(TREE)))
    (tmp_path / "s.json").write_text(json.dumps({"jobs": [pair("a", 0, 1, 0)]}))

    status, out, err = command(
        *("lft", "export", tmp_path / "s.json", "--fabric", tmp_path / "fabric.ib"),
        *("--out", tmp_path / "new.lft", "--json"),
    )

    assert (status, json.loads(out)["crossed_by_others"]) == (0, 2)
    assert "2 owned links lie on routes between nodes of no job" in err


AGGREGATED = """
switchguid=0x10(10)
Switch 4 "S-0000000000000010" # "leaf0" base port 0 lid 3 lmc 0
[1] "H-0000000000000020"[1](21) # "a" lid 1 4xHDR
[3] "S-0000000000000012"[1] # "root" lid 4 4xHDR
[4] "H-0000000000000030"[1](31) # "Mellanox Technologies Aggregation Node" lid 9 4xHDR
switchguid=0x11(11)
Switch 4 "S-0000000000000011" # "leaf1" base port 0 lid 5 lmc 0
[1] "H-0000000000000022"[1](23) # "b" lid 2 4xHDR
[3] "S-0000000000000012"[2] # "root" lid 4 4xHDR
switchguid=0x12(12)
Switch 4 "S-0000000000000012" # "root" base port 0 lid 4 lmc 0
[1] "S-0000000000000010"[3] # "leaf0" lid 3 4xHDR
[2] "S-0000000000000011"[3] # "leaf1" lid 5 4xHDR
Ca 1 "H-0000000000000020" # "a"
[1](21) "S-0000000000000010"[1] # lid 1 lmc 0 "leaf0" lid 3 4xHDR
Ca 1 "H-0000000000000022" # "b"
[1](23) "S-0000000000000011"[1] # lid 2 lmc 0 "leaf1" lid 5 4xHDR
Ca 1 "H-0000000000000030" # "Mellanox Technologies Aggregation Node"
[1](31) "S-0000000000000010"[4] # lid 9 lmc 0 "leaf0" lid 3 4xHDR
"""


def test_adapters_that_are_no_nodes_keep_their_routes(command, tmp_path):
    """The aggregator of the first leaf, LID 9: by port 4 there, by the leaf from elsewhere."""
    (tmp_path / "fabric.ib").write_text(AGGREGATED)
    (tmp_path / "s.json").write_text('{"jobs": []}')
    export_to = ("lft", "export", tmp_path / "s.json", "--fabric", tmp_path / "fabric.ib", "--out")

    statuses = [command(*export_to, tmp_path / "one.lft")[0]]
    statuses.append(command(*export_to, tmp_path / "two.lft", "--base", tmp_path / "one.lft")[0])

    assert statuses == [0, 0]
    ports = read_lft_dump((tmp_path / "one.lft").read_text()).ports
    assert {guid: own[9] for guid, own in ports.items()} == {0x10: 4, 0x11: 3, 0x12: 1}
    assert (tmp_path / "two.lft").read_text() == (tmp_path / "one.lft").read_text()
