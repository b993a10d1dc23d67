"""What is told of fabrics: counts, taper, bundles, what is irregular, missing or cut off."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_site import GUID, HOSTS, discovered

from netsim.common.errors import TopologyError
from netsim.formats.importers.infiniband import read_wiring
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.structure.inspect import inspect_topology

DATA = Path(__file__).parents[2] / "data" / "topo"
TAPERED = {"kind": "fat-tree", "children": [4, 3, 2], "parents": [1, 2, 2], "parallel": [1, 1, 3]}


def told(spec):
    report = inspect_topology(make_topology(spec)).to_dict()
    assert json.loads(json.dumps(report)) == report
    return report


def test_levels_of_a_tree_with_parallel_cables():
    """24 nodes on 6 leaves of 2 uplinks; L2 switches have 3 leaves and 6 uplinks."""
    levels = told(TAPERED)["levels"]

    assert [level["switches"] for level in levels] == [6, 4, 4]
    assert [level["cables_up"] for level in levels] == [12, 24, 0]
    assert [level["parallel_cables"] for level in levels] == [[1, 1], [3, 3], [0, 0]]
    assert [level["taper"] for level in levels] == [2.0, 0.5, None]
    assert told(TAPERED)["irregular"] == []


KINDS = {
    "tree": (TAPERED, {"injection": 24, "ejection": 24, "leaf-up": 12, "leaf-down": 12}),
    "torus": (
        {"kind": "torus", "dims": [3, 1, 2], "wrap": False},
        {"injection": 6, "ejection": 6, "axis0+": 4, "axis0-": 4, "axis2+": 3, "axis2-": 3},
    ),
    "dragonfly": (
        {"kind": "dragonfly", "groups": 3, "routers": [2, 2], "variant": "aries", "lanes": [1] * 3},
        {"injection": 12, "ejection": 12, "green": 12, "black": 12},
    ),
    "cut tree": (
        TAPERED | {"failed_links": ["s1.0>s2.0"]},
        {"injection": 24, "ejection": 24, "leaf-up": 11, "leaf-down": 11},
    ),
}


@pytest.mark.parametrize(("spec", "counts"), KINDS.values(), ids=KINDS)
def test_links_of_every_kind_are_counted(spec, counts):
    """By hand; in the order of the links, kinds that do not occur left out."""
    topology = make_topology(spec)

    classes = {kind["class"]: kind["links"] for kind in told(spec)["link_classes"]}
    names, kind = topology.link_kinds(np.arange(topology.n_links))

    assert list(classes.items())[: len(counts)] == list(counts.items())
    assert list(names) == list(dict.fromkeys(map(topology.link_class, range(topology.n_links))))
    assert [names[k] for k in kind] == [topology.link_class(x) for x in range(topology.n_links)]


@pytest.mark.heavy
def test_the_largest_fabric_is_inspected_in_two_gigabytes():
    """Of radix 188: 1,661,168 nodes with 6 directed links each."""
    code = (
        "import resource, netsim\n"
        "report = netsim.inspect_topology(netsim.fat_tree_of_radix(188, '1 GB/s'))\n"
        "print(report.topology.n_links)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(  # noqa: S603 (our own interpreter)
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    n_links, kilobytes = map(int, done.stdout.split())
    assert n_links == 188**3 // 4 * 6
    assert kilobytes < 2_000_000
    with pytest.raises(TopologyError, match="at most 10,000,000 are built"):
        fat_tree_of_radix(190, "1 GB/s")


def test_missing_nodes_and_leaves_are_named_and_nothing_is_unreachable():
    report = told(TAPERED | {"missing": ["n5", "s1.4"]})

    assert report["missing"] == ["n5", "n16", "n17", "n18", "n19", "s1.4"]
    assert report["unreachable"] == {"nodes": [], "pairs": 0}
    assert "level 1: most switches have 6 cables, s1.1 has 5" in report["irregular"]


def test_a_failed_cable_of_a_bundle_is_an_unequal_bundle():
    report = told(TAPERED | {"failed_links": ["s2.0>s3.0#2"]})

    assert report["levels"][1]["parallel_cables"] == [2, 3]
    assert "unequal bundles of cables to the switches above: s2.0 (2, 3)" in report["irregular"]
    assert "level 2: most switches have 6 cables upwards, s2.0 has 5" in report["irregular"]


def test_the_taper_of_each_leaf_is_reported():
    """Leaf 0 has lost one of two cables up, leaf 1 one of four nodes; 100 Gb/s each."""
    report = told(TAPERED | {"failed_links": ["s1.0>s2.0"], "missing": ["n4"]})

    rate = 12.5e9
    assert report["leaves"][:3] == [
        {
            "leaf": f"s1.{leaf}",
            "from_nodes_bytes_per_s": below * rate,
            "to_switches_bytes_per_s": above * rate,
            "taper": below / above,
        }
        for leaf, below, above in ((0, 4, 1), (1, 3, 2), (2, 4, 2))
    ]
    assert [leaf["taper"] for leaf in report["leaves"][3:]] == [2.0] * 3


def test_a_leaf_without_a_cable_up_has_no_taper():
    report = told(TAPERED | {"failed_links": ["s1.0>s2.0", "s1.0>s2.1"]})

    assert (report["leaves"][0]["leaf"], report["leaves"][0]["taper"]) == ("s1.0", None)


def test_cables_of_which_lanes_failed_are_named():
    """One of 12 cables from leaves up carries a quarter of what the others do."""
    tree = make_topology(TAPERED)
    link = tree.link_number("s1.2>s2.1")
    capacity = tree.capacity.copy()
    capacity[[link, tree.reverse[link]]] /= 4

    report = inspect_topology(replace(tree, capacity=capacity)).to_dict()

    assert report["irregular"] == [
        "leaf-up: most links carry 100 Gb/s, s1.2>s2.1 25",
        "leaf-down: most links carry 100 Gb/s, s2.1>s1.2 25",
    ]


def test_cables_that_work_one_way_only_are_named():
    tree = make_topology(TAPERED)

    report = inspect_topology(replace(tree, absent=np.array([tree.link_number("s1.2>s2.1")])))

    assert "cables that work one way only: s2.1>s1.2" in report.irregular


def test_hosts_that_differ_only_in_their_guid_are_named():
    """Two of eight adapters describe themselves alike, so that their names say nothing."""
    hosts = [*HOSTS[:6], "localhost", "localhost"]
    path = "fabric.txt"
    tree, _ = read_wiring(discovered(hosts), path)

    (line,) = [line for line in inspect_topology(tree.topology).irregular if "GUID" in line]

    guids = ", ".join(f"H-{GUID + 16 * number:016x}" for number in (6, 7))
    assert line == f"hosts without a name, called by their GUID (2): {guids}"


def test_a_fake_root_is_named():
    report = told({"kind": "file", "path": str(DATA / "topology.conf")})

    assert report["fake_roots"] == ["core"]
    assert "switches that stand for a network the file does not show: core" in report["irregular"]
    assert len(report["assumed"]) == 5


def test_parts_that_no_switch_joins_are_unreachable(tmp_path):
    path = tmp_path / "topology.conf"
    path.write_text(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-5]\nSwitchName=c Switches=b\n"
    )

    report = told({"kind": "file", "path": str(path)})

    assert report["unreachable"] == {"nodes": ["n1", "n2"], "pairs": 0}


def test_switches_without_any_node_are_named(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,source_kind,target_kind\nn,s,node,switch\nt,u,switch,switch\n")

    report = told({"kind": "file", "path": str(path)})

    assert "no node can be reached from t, u" in report["irregular"]
    assert report["levels"][-1] == {
        "level": 0,
        "switches": 2,
        "cables_down": 0,
        "cables_up": 0,
        "cables_across": 0,
        "parallel_cables": [0, 0],
        "taper": None,
    }


def test_psmn_is_irregular_as_its_readme_says(shared):
    """One leaf with only 4 uplinks, one leaf wired to 2 spines only, 1, 3 or 6 cables."""
    report = told({"kind": "file", "path": str(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"))})

    assert sum(level["switches"] for level in report["levels"]) == 11
    assert report["levels"][0]["parallel_cables"] == [1, 6]
    assert [kind["slowest_bytes_per_s"] for kind in report["link_classes"]] == [2e9, 2e9, 4e9]
    (uplinks,) = [line for line in report["irregular"] if "level 1" in line and "upwards" in line]
    assert uplinks == "level 1: most switches have 12 cables upwards, S-0008f10500108bba has 4"
    assert report["unreachable"] == {"nodes": [], "pairs": 0}


@pytest.mark.parametrize("spec", ["hopper", "aries-theta-like"])
def test_routers_are_one_level_and_their_lanes_are_counted(spec):
    (level,) = told(spec)["levels"]

    assert level["cables_up"] == 0
    assert level["parallel_cables"] == ([1, 1] if spec == "hopper" else [1, 3])
