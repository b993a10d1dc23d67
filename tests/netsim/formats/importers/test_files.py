"""What importers make of small files, and what they say they assumed."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from netsim.common.errors import RoutingError, TopologyError
from netsim.formats.importers.csv_tables import untapered_shape
from netsim.formats.importers.registry import FORMATS, guess_format, read_topology
from netsim.formats.importers.sketch import Settings
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.outage import exclude, fail, unreachable

DATA = Path(__file__).parents[3] / "data" / "topo"
FORMS = {
    "topology.conf": "slurm-conf",
    "topology-blocks.conf": "slurm-conf",
    "topology.yaml": "slurm-yaml",
    "ibnetdiscover.txt": "ibnetdiscover",
    "aries.txt": "aries-links",
    "nodemap.txt": "node-map",
    "nodes.csv": "node-csv",
    "edges.csv": "edge-csv",
    "ring.graphml": "graphml",
    "accasim.config": "accasim",
    "platform.xml": "simgrid-xml",
}


def imported(name, **fields):
    return make_topology({"kind": "file", "path": str(DATA / name), **fields})


def written(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_format_is_guessed_from_the_contents(name):
    assert guess_format((DATA / name).read_text(), name) == FORMS[name]
    assert imported(name).origin.form == FORMS[name]


def test_every_format_has_a_sample():
    assert set(FORMS.values()) == set(FORMATS)


def test_a_format_that_is_named_is_not_guessed():
    with pytest.raises(TopologyError, match="expected a device or port"):
        imported("edges.csv", format="ibnetdiscover")
    with pytest.raises(TopologyError, match=r"format: expected one of .*slurm-conf"):
        imported("edges.csv", format="slurm")


def test_a_pattern_of_hosts_is_refused_where_nothing_reads_it(tmp_path):
    path = tmp_path / "cables.csv"
    path.write_text("source,target\na,s\nb,s\n")
    with pytest.raises(TopologyError, match=r"host_pattern: expected output of ibnetdiscover, whi"):
        read_topology(path, settings=Settings(host_pattern="^([^ ]+)"))


def test_switches_with_one_parent_get_as_many_cables_as_nodes_below():
    tree = imported("topology.conf")

    assert isinstance(tree, FatTree)
    assert (tree.children, tree.parents, tree.parallel) == ((3, 2, 2), (1, 1, 1), (1, 3, 6))
    assert tree.oversubscription == 1.0
    said = " ".join(tree.origin.assumed)
    assert "uplinks" in said
    assert "core: a single switch" in said
    assert "LinkSpeed" in said
    assert "100 Gb/s" in said
    assert [tree.vertex_name(root) for root in tree.origin.fake_roots] == ["core"]


def test_groups_of_nodes_hang_on_one_switch_as_accasim_names_them():
    fabric = imported("accasim.config", bandwidth="10 Gb/s")

    assert (fabric.n_nodes, fabric.n_switches) == (5, 1)
    assert fabric.origin.labels == (*(f"node_{n}" for n in (1, 2, 3, 4, 5)), "switch")
    assert set(fabric.capacity.tolist()) == {1.25e9}
    assert [fabric.vertex_name(root) for root in fabric.origin.fake_roots] == ["switch"]
    assert fabric.origin.assumed[:2] == (
        "group 'thin', node_[1-3]: core 4, mem 1048576",
        "group 'fat', node_[4-5]: core 8, gpu 2, mem 4194304",
    )


def test_blocks_become_switches_and_pairs_of_them_one_more_level():
    """Five blocks of four nodes: two and two and one in aggregated blocks of eight nodes."""
    tree = imported("topology-blocks.conf")

    assert tree.children == (4, 2, 3)
    assert tree.usable_nodes.size == 20
    assert tree.vertex_number("gpu17") // 8 == 2
    assert tree.vertex_name(tree.origin.fake_roots[0]) == "all-blocks"


def test_of_several_topologies_in_yaml_the_default_is_read():
    tree = imported("topology.yaml")

    assert (tree.children, tree.parents) == ((2, 3), (1, 2))
    assert "of 2 topologies in the file, 'tree'" in tree.origin.assumed
    assert not tree.origin.fake_roots


def test_infiniband_has_the_rates_of_its_ports_and_the_names_of_its_hosts():
    tree = imported("ibnetdiscover.txt")

    assert isinstance(tree, FatTree)
    assert set(tree.capacity.tolist()) == {12.5e9}
    assert tree.vertex_name(tree.vertex_number("cn004")) == "cn004"
    assert tree.vertex_number("leaf-b") == tree.n_nodes + 1
    assert tree.usable_nodes.tolist() == [0, 1, 2, 3, 4]
    assert tree.origin.assumed == (
        "places of the tree without a device are missing nodes and leaves",
    )


def test_a_tree_whose_ports_are_in_no_order_is_recognised_with_a_caveat_on_routing(tmp_path):
    """Exchanging two up-ports of one leaf leaves the wiring a PGFT."""
    text = (DATA / "ibnetdiscover.txt").read_text()
    lines = text.splitlines()
    a = next(i for i, line in enumerate(lines) if line.startswith('[4]\t"S-'))
    b = a + 1
    own = "S-" + next(line for line in lines[a::-1] if line.startswith("Switch")).split('"')[1][2:]
    one, two = lines[a], lines[b]
    lines[a], lines[b] = two.replace("[5]", "[4]", 1), one.replace("[4]", "[5]", 1)
    for i, line in enumerate(lines):
        if f'"{own}"[4]' in line and i not in {a, b}:
            lines[i] = line.replace(f'"{own}"[4]', f'"{own}"[5]')
        elif f'"{own}"[5]' in line and i not in {a, b}:
            lines[i] = line.replace(f'"{own}"[5]', f'"{own}"[4]')

    tree = read_topology(written(tmp_path, "\n".join(lines)))

    assert isinstance(tree, FatTree)
    assert "not in OpenSM's order" in tree.origin.assumed[0]
    assert tree.usable_nodes.size == 5


def test_an_aries_dump_becomes_a_dragonfly_with_its_own_gateways():
    fabric = imported("aries.txt")

    assert isinstance(fabric, Dragonfly)
    assert (fabric.groups, fabric.rows, fabric.columns) == (2, 2, 2)
    assert fabric.lanes == (1, 2, 2)
    assert fabric.gateways.tolist() == [[[0, 3]], [[1, 2]]]  # 0:0:0 - 1:0:1 and 0:1:1 - 1:1:0
    assert set(fabric.capacity.tolist()) == {16e9, 5.25e9, 4.6875e9}
    route = make_routing("minimal", fabric).routes(np.array([0]), np.array([15]))
    assert fabric.link_name(int(route.links[0])) == "c0-0c0s0n0>c0-0c0s0a0"


def test_an_aries_dump_with_a_router_left_out_is_a_graph_that_says_so(tmp_path):
    text = (DATA / "aries.txt").read_text()
    lines = [line for line in text.splitlines() if "c1-0c1s1a0" not in line]

    graph = read_topology(written(tmp_path, "\n".join(lines)))

    assert not isinstance(graph, Dragonfly)
    assert (
        graph.origin.irregularity == "the fabric is no dragonfly: it has 7 routers, not 2 x 2 x 2."
    )
    assert (graph.n_nodes, graph.n_switches) == (14, 7)
    with pytest.raises(RoutingError, match=r"^routing 'minimal' needs a dragonfly"):
        make_routing("minimal", graph)


def test_a_node_map_with_an_empty_place_keeps_it_from_jobs():
    torus = imported("nodemap.txt")

    assert (torus.dims, torus.nodes_per_router) == ((2, 2), 2)
    assert torus.usable_nodes.tolist() == list(range(7))
    assert torus.vertex_name(4) == "nid04"


def test_a_node_table_becomes_an_untapered_tree_with_holes():
    tree = imported("nodes.csv")

    assert tree.children == (2, 2, 2)
    assert tree.oversubscription == 1.0
    assert tree.usable_nodes.tolist() == list(range(7))
    assert tree.vertex_number("l4") == tree.n_nodes + 3


def test_an_edge_table_keeps_cables_and_bandwidths():
    graph = imported("edges.csv")

    assert (graph.n_nodes, graph.n_switches, graph.n_links) == (3, 4, 18)
    assert graph.capacity[graph.link_number("leafA>spine1#1")] == 25e9
    assert graph.capacity[graph.link_number("alpha>leafA")] == 12.5e9


def test_a_graph_without_nodes_gets_one_on_every_switch():
    graph = imported("ring.graphml")

    assert (graph.n_nodes, graph.n_switches) == (3, 3)
    assert graph.capacity[graph.link_number("New_York>Albany")] == 5e9
    assert any("every switch has one" in line for line in graph.origin.assumed)


def test_the_users_bandwidth_goes_before_the_files():
    graph = imported("edges.csv", bandwidth=["50 Gb/s", "400 Gb/s"], duplex="half")

    assert set(graph.capacity.tolist()) == {6.25e9, 50e9}
    assert graph.half_duplex
    assert "the bandwidth given goes before that of the file" in graph.origin.assumed
    with pytest.raises(TopologyError, match="one for each of 2 levels"):
        imported("edges.csv", bandwidth=[1e9, 2e9, 3e9])


def test_latency_comes_from_the_table():
    fabric = imported("aries.txt", latency="codes")

    assert (fabric.latency_per_link_s, fabric.packet_bytes) == (90e-9, 4096.0)


def test_failures_and_exclusions_go_by_the_files_names():
    tree = exclude(imported("topology.conf"), ["leaf2", "n01", 1])
    assert tree.usable_nodes.tolist() == [2, *range(6, 12)]

    broken = fail(imported("topology.conf"), ["pod2>core#0"], ["leaf3"])
    assert broken.usable_nodes.tolist() == [0, 1, 2, 3, 4, 5, 9, 10, 11]


def test_usual_names_work_as_well_as_the_files_own_unless_they_mean_something_else():
    tree = imported("topology.yaml")  # its nodes are n1..n6, vertices 0..5
    assert tree.vertex_number("n1") == 0
    with pytest.raises(TopologyError, match="no node or switch 'n0'"):
        tree.vertex_number("n0")

    other = imported("nodes.csv")
    assert other.vertex_number("c1") == other.vertex_number("n0") == 0
    assert other.vertex_name(0) == "c1"
    assert other.link_number("c1>l1") == other.link_number("n0>s1.0")
    with pytest.raises(TopologyError, match=r"no link 'n0>s1\.9'"):
        other.link_number("n0>s1.9")


def test_parts_without_a_path_between_them_are_reported(tmp_path):
    """Two leaves without a common switch: Slurm reads this, and no job may span them."""
    path = written(tmp_path, "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-5]\n")

    graph = read_topology(path)

    assert "switches have no parent" in " ".join(graph.origin.assumed)
    assert unreachable(graph).nodes.tolist() == [0, 1]


def test_gzip_and_marks_of_windows_are_read_as_they_are(tmp_path):
    text = (DATA / "edges.csv").read_text()
    packed = tmp_path / "edges.csv.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))

    assert read_topology(packed).n_links == 18


def test_settings_default_to_the_files_word():
    assert read_topology(DATA / "edges.csv", settings=Settings()).capacity.max() == 25e9


FAULTS = [
    ("slurm-conf", "SwitchName=a", "file:1: switch 'a' must have nodes or switches .* nothing"),
    (
        "slurm-conf",
        "SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2",
        "file:1: .* nodes and switches",
    ),
    ("slurm-conf", "SwitchName=a Nodes=n[1-", "file:1: host list 'n\\[1-': expected matching"),
    ("slurm-conf", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "file:2: .* again.*file:1"),
    ("slurm-conf", "SwitchName=a Switches=b", "file:1: switch 'b' has no line of its own"),
    ("slurm-conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a", "file:1: .* below itself"),
    ("slurm-conf", "SwitchName=a Nodes=n1,n1", "file:1: 'n1' is listed twice under 'a'"),
    ("slurm-conf", "SwitchName=a Nodes=a", "file:1: 'a' is a switch, expected a node"),
    ("slurm-conf", "SwitchName=a Nodes", "file:1: expected key=value, got 'Nodes'"),
    (
        "slurm-conf",
        "SwitchName=a Nodez=b",
        "file:1: unknown key 'nodez'; choose from level",
    ),
    ("slurm-conf", "SwitchName=a Nodes=n1 nodes=n2", "file:1: 'nodes' twice in one line"),
    ("slurm-conf", "SwitchName=a[1-2] Nodes=n1", "file:1: expected one name"),
    ("slurm-conf", "SwitchName=a Nodes=n1 \\", "file:1: the line goes on, but the file ends"),
    ("slurm-conf", "SwitchName=a Nodes=n1\nBlockName=b Nodes=n2", "file:2: a block, but file:1"),
    ("slurm-conf", "BlockName=b Nodes=n1\nBlockSizes=4,6", "file:2: .* powers of two times 4"),
    ("slurm-conf", "BlockSizes=x", "file:1: block sizes: expected numbers, got 'x'"),
    ("slurm-conf", "# nothing", "file: expected lines 'SwitchName"),
    ("slurm-yaml", "- topology: [", "file:1: expected YAML"),
    ("slurm-yaml", "- topology: a\n  flat: true", "file:2: .*'tree' or 'block', got flat"),
    ("slurm-yaml", "- tree: {switches: []}", "file:1: key 'topology' is missing"),
    ("slurm-yaml", "- topology: a\n  topology: b", "file:2: 'topology' again"),
    ("slurm-yaml", "a: b", "file:1: expected a list"),
    ("slurm-yaml", "", "file: expected a list"),
    (
        "slurm-yaml",
        "- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodez: n1",
        "file:5: unknown key 'nodez'; choose from children, nodes, switch",
    ),
    (
        "slurm-yaml",
        "- topology: a\n  tree: {switches: [{switch: s, nodes: [n1]}]}",
        "file:2: expected a text or number",
    ),
    ("aries-links", "c0l00(0:0:0) green c1", "file:1: expected 'router lane"),
    ("aries-links", "c0l00(0:0:0) green -> c1l00(0:0:1)", "file:1: .* does not lead back"),
    ("aries-links", "c0l00(0:0:0) green -> c1l00(1:0:1)", "file:1: no green lane joins"),
    ("aries-links", "c0l00(0:0:0) green -> processor", "file:1: green lane to 'processor'"),
    ("aries-links", "c0l00(0:0:0) blue -> unused\nc0l00(0:0:0) blue -> unused", "file:2: .*again"),
    ("aries-links", "c0l00(0:0:0) blue -> unused\nc0l01(0:0:1) blue -> unused", "file:2: c0 is at"),
    ("aries-links", "c0l00(0:0:0) blue -> unused\nc1l00(0:0:0) blue -> unused", "are both at"),
    ("aries-links", "\n", "file: no link in it"),
    ("accasim", "[]", "file: expected a table, got"),
    ("accasim", "{", "file:1: expected JSON, got"),
    (
        "accasim",
        '{"groups": {}}',
        "resources: expected the nodes of at least one group, it",
    ),
    ("accasim", '{"groups": {}, "resources": {}}', "resources: expected the nodes of at least one"),
    ("accasim", '{"groups": {}, "resources": {"g": 2}}', "file: groups: g: expected a group, as"),
    ("accasim", '{"groups": {"g": 4}, "resources": {"g": 2}}', "groups: g: expected a table"),
    ("accasim", '{"groups": {"g": {"core": "x"}}, "resources": {"g": 2}}', "groups: g: core: exp"),
    ("accasim", '{"groups": {"g": {}}, "resources": {"g": 0}}', "file: resources: g: expected a"),
    ("accasim", '{"groups": {"g": {}}, "resources": {"g": 1e9}}', "file: resources: g: expected a"),
    ("accasim", '{"groups": {"g": {}}, "resources": {"g": 999999999}}', "file: resources: the fab"),
    ("accasim", '{"groups": {"g": {}}, "resources": {"g": 2}, "node": 1}', "file: node: unknown"),
    (
        "accasim",
        '{"groups": {"g": {}}, "resources": {"g": 2}, "equivalence": {"cpu": {"core": 2}}}',
        "file: equivalence: cpu: unknown key",
    ),
    ("node-map", "2 3\na 0 0 0\nb 0 0 0", "file:3: 'a' is at"),
    ("node-map", "2 3\na 0 0 0\na 0 0 1", "file:3: 'a' again, first in line 2"),
    ("node-map", "3 3\na 0 0 0\nb 0 0 1", "expected 3 nodes as in line 1, got 2"),
    ("node-map", "2 3\na 0 0 0\nb 0 9", "file:3: expected a name and 3 coordinates"),
    ("node-map", "2 3\na 0 0 0\nb 999 999 1", "do not make a torus"),
    ("node-map", "two three", "file:1: expected the numbers"),
    ("node-csv", "node,pod\na,b", "expected a column 'leaf_switch'"),
    ("node-csv", "node,leaf\na,l\na,m", "file:3: 'a' again, first in line 2"),
    ("node-csv", "node,leaf,pod\na,l,p\nb,l,q", "file:3: leaf 'l' in pod 'q', before in 'p'"),
    ("node-csv", "node,leaf\na,", "file:2: expected a name in every column"),
    ("node-csv", "node,leaf\na", "file:2: expected 2 values, got 1"),
    ("node-csv", "node,leaf", "file: no node in it"),
    ("edge-csv", "source,target\na,b\na,b", "file:3: 'a' and 'b' again, first in file:2"),
    ("edge-csv", "source,target\na,b\nb,a\nb,c", "file:3: .* in the other direction"),
    ("edge-csv", "source,target,cables\na,b,1\nb,a,2", "file:3: .* differ in the two directions"),
    ("edge-csv", "source,target\na,a\nb,a", "file:2: a cable from 'a' to itself"),
    ("edge-csv", "source,target\na,b", "file:2: a cable between the nodes 'a' and 'b'"),
    ("edge-csv", "source,target,bandwidth\na,b,fast", "file:2: expected a bandwidth"),
    ("edge-csv", "source,target,bandwidth\na,b,0", "file:2: expected a bandwidth above 0"),
    ("edge-csv", "source,target,cables\na,b,0", "file:2: expected a number of cables from 1"),
    ("edge-csv", "source,target,source_kind\na,b,leaf", "file:2: expected 'node' or 'switch'"),
    ("edge-csv", "source,target,source_kind\na,b,node\na,c,switch", "file:3: 'a' is a switch here"),
    ("edge-csv", "source,target,from\na,b,c", "expected one column 'source', got"),
    ("edge-csv", "source,source\na,b", "file:1: two columns of one name"),
    ("edge-csv", 'source,target\n"a"b,c', "file:2: expected CSV"),
    ("edge-csv", "", "expected a table with a header"),
    ("graphml", "<graphml", "file:1: expected XML"),
    ("graphml", "<graphml></graphml>", "file: expected GraphML"),
    ("ibnetdiscover", 'Ca 1 "H-1" # "a"', "no channel adapter with a cable"),
]


@pytest.mark.parametrize(("form", "text", "message"), FAULTS)
def test_a_fault_is_named_with_its_line(tmp_path, monkeypatch, form, text, message):
    written(tmp_path, text)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TopologyError, match=message):
        read_topology("file", form)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x1f\x8b" + b"\x00" * 20, "the gzip file is damaged"),
        (b"a\nb\xff", ":2: expected text in UTF-8"),
        (b"nothing known", "unknown format; name one of accasim, aries-links"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)

    with pytest.raises(TopologyError, match=message):
        read_topology(path)


def test_a_packed_file_that_ends_too_early_is_refused(tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress((DATA / "edges.csv").read_bytes())[:-12])

    with pytest.raises(TopologyError, match="ends too early"):
        read_topology(path)


def test_a_file_that_is_not_there_or_has_no_path_is_refused(tmp_path):
    with pytest.raises(TopologyError, match="cannot be read: No such file"):
        read_topology(tmp_path / "none")
    with pytest.raises(TopologyError, match="path: expected a text"):
        make_topology({"kind": "file"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0xzz name", "map:1: expected a GUID and a name"),
        ("0x1 a\n0x01 b", "map:2: GUID 0000000000000001 again"),
    ],
)
def test_a_name_map_that_cannot_be_read_is_refused(tmp_path, monkeypatch, text, message):
    written(tmp_path, text, "map")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TopologyError, match=message):
        read_topology(DATA / "ibnetdiscover.txt", names="map")


def test_an_untapered_tree_of_18_nodes_a_leaf_needs_switches_of_36_ports():
    """A cable from a leaf to each of 18 L2 switches, and 9 from each of these to 2 spines."""
    assert untapered_shape(18, 18, 4) == ((18, 18, 4), (1, 18, 2), (1, 1, 9))
