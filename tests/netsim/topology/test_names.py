"""One resolver knows a vertex by all its names: host, description, GUID, name map, number."""

import csv
import gzip
import itertools
import json
import tracemalloc

import numpy as np
import pytest
from small_site import GUID, HOSTS, discovered, forms

from netsim import fat_tree_of_radix, make_topology, read_topology
from netsim.common.errors import TopologyError
from netsim.common.hostlist import MOST_NAMES, expand_hostlist
from netsim.formats.importers.infiniband import read_wiring
from netsim.formats.importers.registry import FORMATS
from netsim.formats.importers.sketch import Settings
from netsim.topology.outage import depopulate, exclude, fail


@pytest.fixture
def fabric(tmp_path):
    """Return a function that reads the fabric with such descriptions, and a name map."""

    def read(described=tuple(f"{host} HCA-1" for host in HOSTS), names=None):
        (tmp_path / "fabric.ib").write_text(discovered(described))
        spec = {"kind": "file", "path": str(tmp_path / "fabric.ib")}
        if names is not None:
            (tmp_path / "names.map").write_text(names)
            spec["name_map"] = str(tmp_path / "names.map")
        return make_topology(spec)

    return read


@pytest.mark.parametrize("number", [0, 5])
def test_a_host_has_all_the_names_that_the_tools_print(fabric, number):
    topology = fabric()

    vertex = topology.vertex_number(HOSTS[number])
    assert topology.vertex_name(vertex) == HOSTS[number]
    found = {name: topology.names.node(name) for name in [*forms(number), f"n{vertex}", vertex]}
    assert set(found.values()) == {vertex}, found


def test_a_managed_switch_has_its_short_name_too(fabric):
    topology = fabric()

    whole = topology.vertex_number("MF0;edge2:SX6036/U1")
    assert topology.vertex_number("edge2") == topology.vertex_number(f"S-{GUID + 0x2000:016x}")
    assert topology.vertex_number("edge2") == whole >= topology.n_nodes


def test_links_go_by_any_names_of_their_ends(fabric):
    topology = fabric()
    link = topology.link_number("cn002>MF0;edge1:SX6036/U1")

    leaf = topology.vertex_name(topology.vertex_number("edge1"))
    for tail, head in itertools.product(forms(1), [leaf, "edge1", f"S-{GUID + 0x1000:016x}"]):
        assert topology.link_number(f"{tail}>{head}") == link
    for tail, head in (("cn002", "edge2"), ("cn002", "nobody")):
        with pytest.raises(TopologyError, match=f"no link '{tail}>{head}' in"):
            topology.link_number(f"{tail}>{head}")


def test_a_name_map_gives_the_name_that_is_shown_and_the_others_stay(fabric):
    topology = fabric(names=f'0x{GUID:x} "login 1"\nH-{GUID + 16:016x} gw\n')

    assert topology.vertex_name(topology.vertex_number("cn001")) == "login_1"
    assert {
        topology.names.node(name) for name in ("login 1", "login_1", "cn001 HCA-1", "cn001")
    } == {topology.names.node(f"0x{GUID:x}")}
    assert topology.vertex_number("gw") == topology.vertex_number("cn002")


def test_a_shown_name_goes_before_an_old_description(fabric):
    """The map says that a machine has moved; what is printed can always be read back."""
    topology = fabric(names=f"0x{GUID:x} cn008\n0x{GUID + 16 * 7:x} cn001\n")

    assert topology.vertex_number("cn008") == topology.vertex_number(f"0x{GUID:x}")
    assert topology.vertex_number("cn008 HCA-1") == topology.vertex_number(f"0x{GUID + 16 * 7:x}")


def test_two_adapters_of_a_host_are_one_node_by_all_their_names(fabric):
    described = [f"{host} HCA-1" for host in HOSTS]
    described[1] = "cn001 HCA-2"
    topology = fabric(described)

    assert topology.n_nodes == len(HOSTS) - 1
    names = ("cn001", "cn001 HCA-1", "cn001 HCA-2", f"0x{GUID:x}", f"0x{GUID + 16:x}")
    assert len({topology.names.node(name) for name in names}) == 1
    with pytest.raises(TopologyError, match="'Mellanox ConnectX' is 8 nodes"):
        fabric(["Mellanox ConnectX"] * 8).names.node("Mellanox ConnectX")


def test_hosts_called_like_the_usual_names_make_these_unknown(fabric):
    """Such as n1..n8 in the order of another leaf: n1 is the file's, and n0 is nobody."""
    topology = fabric([f"n{8 - number} HCA-1" for number in range(8)])

    assert topology.vertex_number("n8") == topology.vertex_number(f"0x{GUID:x}")
    with pytest.raises(TopologyError, match=r"no node or switch 'n0' in .*in another order"):
        topology.names.node("n0")
    assert topology.names.node(0) == 0


def test_numbers_in_quotes_are_names_where_the_file_has_such_names(fabric):
    topology = fabric([str(100 + number) for number in range(8)])

    assert topology.vertex_number("103") == topology.vertex_number(f"0x{GUID + 48:x}")
    with pytest.raises(TopologyError, match="no node or switch '3'"):
        topology.names.node("3")
    assert fabric().names.node("3") == 3


@pytest.mark.parametrize(
    "listed",
    [
        "cn[001-003]",
        "cn00[1-3]",
        "cn[001,002,003]",
        "cn001,cn002,cn003",
        "cn[001,002-003]",
        "cn00[1,[2-3]]",
        "cn0[01-02],cn003",
        ["cn[001-002]", "cn003 HCA-1"],
        [f"0x{GUID:x}", "cn002", "cn003"],
    ],
)
def test_lists_of_nodes_are_read_alike_wherever_nodes_are_named(fabric, tmp_path, listed):
    topology = fabric()
    wanted = sorted(topology.vertex_number(host) for host in HOSTS[:3])
    spec = {"kind": "file", "path": str(tmp_path / "fabric.ib")}

    assert sorted(topology.names.nodes(listed)) == wanted
    entries = [listed] if isinstance(listed, str) else listed
    for given in (entries, listed):
        out = make_topology(spec | {"excluded": given})
        down = make_topology(spec | {"failed_switches": given})
        for fewer in (out, down):
            assert np.setdiff1d(topology.usable_nodes, fewer.usable_nodes).tolist() == wanted
    assert exclude(topology, entries).usable_nodes.tolist() == out.usable_nodes.tolist()
    assert fail(topology, vertices=entries).usable_nodes.tolist() == out.usable_nodes.tolist()


def test_missing_nodes_and_failed_links_are_read_by_the_same_lists():
    tree = fat_tree_of_radix(8, "1 GB/s")

    assert depopulate(tree, ["n[000-003,17]"]).usable_nodes.tolist() == sorted(
        set(range(128)) - {0, 1, 2, 3, 17}
    )
    spec = {"kind": "fat-tree", "radix": 8}
    some = make_topology(spec | {"missing": "n[8-9],s1.5"})
    assert np.setdiff1d(np.arange(128), some.usable_nodes).tolist() == [8, 9, 20, 21, 22, 23]
    cut = make_topology(spec | {"failed_links": ["n[4-5]>s1.1"]})
    assert np.setdiff1d(np.arange(128), cut.usable_nodes).tolist() == [4, 5]


@pytest.mark.parametrize("field", ["excluded", "failed_links", "failed_switches", "missing"])
def test_a_name_that_nothing_has_is_an_error_of_its_field(field):
    with pytest.raises(TopologyError, match=f"topology 'fat-tree': {field}: no .*'n99"):
        make_topology({"kind": "fat-tree", "radix": 4, field: ["n999"]})


def test_what_is_no_list_of_names_is_refused_by_its_field_once():
    with pytest.raises(TopologyError) as error:
        make_topology({"kind": "fat-tree", "radix": 4, "missing": [True]})

    assert str(error.value) == (
        "topology 'fat-tree': missing: expected a list of names or numbers, got [True]."
    )


def test_rows_of_nodes_may_be_lists(tmp_path):
    (tmp_path / "nodes.csv").write_text('node,leaf\n"cn[001-003]",a\ncn004,a\n"cn[005-008]",b\n')

    topology = read_topology(tmp_path / "nodes.csv")

    assert [topology.vertex_name(node) for node in range(8)] == HOSTS
    (tmp_path / "nodes.csv").write_text('node,leaf\n"cn[001-003]",a\ncn002,b\n')
    with pytest.raises(TopologyError, match=r"nodes.csv:3: 'cn002' again, first in line 2"):
        read_topology(tmp_path / "nodes.csv")


def naive_product(parts):
    return ["".join(words) for words in itertools.product(*parts)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("r[1-2]n[08-10]", [["r"], ["1", "2"], ["n"], ["08", "09", "10"]]),
        ("c[0-1]-0c[0,2]s[3]n[0-3]", [["c0-0c", "c1-0c"], ["0", "2"], ["s3n"], list("0123")]),
        ("[1-3]a", [["1", "2", "3"], ["a"]]),
        ("n[1[0-1],2[0-1]]", [["n"], ["10", "11", "20", "21"]]),
        ("n[1-2[0-1]]", [["n"], ["1", "2"], ["0", "1"]]),
        ("n[[1,2],3]", [["n"], ["1", "2", "3"]]),
    ],
)
def test_several_and_nested_brackets_give_all_combinations(text, parts):
    assert expand_hostlist(text) == naive_product(parts)


@pytest.mark.parametrize(
    "text",
    [
        f"n[0-{MOST_NAMES}]",
        "n[0-999999999999999999]",
        "n[0-999][0-999]",
        "n" + "[0-9]" * 7,
        "n[" + ",".join(["0-99999"] * 40) + "]",
        ",".join(["n[0-99999]"] * 4),
    ],
)
def test_a_list_that_names_too_many_is_refused_before_the_memory_is_full(text):
    tracemalloc.start()
    try:
        with pytest.raises(TopologyError, match="at most 262,144 names"):
            expand_hostlist(text)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("form", "head", "line"),
    [
        ("slurm-conf", "", "SwitchName={k} Nodes={k}[0-199999]"),
        pytest.param(
            "slurm-yaml",
            "- topology: t\n  tree:\n    switches:",
            '    - {{switch: {k}, nodes: "{k}[0-199999]"}}',
            marks=pytest.mark.heavy,
        ),
        ("node-csv", "node,leaf", "{k}[0-199999],{k}"),
    ],
)
def test_a_short_file_that_names_millions_of_nodes_is_refused(form, head, line):
    """The names of all lists of a file count together."""
    text = "\n".join([head, *(line.format(k=k) for k in "abcdefghij")]) + "\n"
    tracemalloc.start()
    try:
        with pytest.raises(TopologyError, match=r"file:\d+: host list .*at most 262,144 names"):
            FORMATS[form](text, "file", Settings())
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


SITES = [
    ("hpc2010", "site/hpc2010.ibnetdiscover.gz", None),
    ("hpc2010", "topo/iitk-hpc2010-topology.conf", None),
    ("psmn", "topo/psmn-x5-ibnetdiscover.txt.gz", "topo/psmn-x5-hostnames.map"),
]


@pytest.mark.parametrize(("site", "path", "names"), SITES)
def test_every_node_list_of_two_sites_is_found_on_their_fabrics(shared, site, path, names):
    """As many nodes as Slurm counts, in the queue and in the accounting records."""
    spec = {"kind": "file", "path": str(shared(f"data/{path}"))}
    if names:
        spec["name_map"] = str(shared(f"data/{names}"))
    topology = make_topology(spec)
    queue = json.loads(gzip.decompress(shared(f"data/site/{site}.squeue.json.gz").read_bytes()))
    lists = [(job["nodes"], job["node_count"]["number"]) for job in queue["jobs"] if job["nodes"]]
    with gzip.open(shared(f"data/site/{site}.sacct.gz"), "rt") as file:
        lists += [
            (row["NodeList"], int(row["NNodes"])) for row in csv.DictReader(file, delimiter="|")
        ]

    assert len(lists) == {"hpc2010": 18 + 898, "psmn": 9 + 235}[site]
    for text, count in lists:
        nodes = topology.names.nodes([text])
        assert len(set(nodes)) == len(nodes) == count
        hosts = [topology.vertex_name(node) for node in nodes]
        assert hosts == expand_hostlist(text)
    excluded = make_topology(spec | {"excluded": [lists[0][0]]})
    assert topology.n_nodes - excluded.usable_nodes.size == lists[0][1]


def test_the_adapters_of_a_real_fabric_go_by_every_name(shared):
    text = gzip.decompress(shared("data/site/hpc2010.ibnetdiscover.gz").read_bytes()).decode()
    wiring, _ = read_wiring(text, "hpc2010")
    topology = wiring.topology

    for vertex, number in enumerate(wiring.device.tolist()):
        device = wiring.fabric.devices[number]
        for name in (
            topology.vertex_name(vertex),
            device.name,
            device.name.removesuffix(" HCA-1"),
            f"0x{device.guid:016x}",
            f"0x{device.port_guid:x}",
        ):
            assert topology.vertex_number(name) == vertex


@pytest.mark.parametrize("name", ["CN003", "cn3", "cn0003", "cn003.cluster.site.org"])
def test_a_name_that_is_nearly_one_of_the_file_is_asked_about(fabric, name):
    with pytest.raises(TopologyError, match="did you mean 'cn003'") as error:
        fabric().vertex_number(name)
    assert "names look like" not in str(error.value)


def test_several_nearly_equal_names_are_not_asked_about(fabric):
    topology = fabric([f"{host} HCA-1" for host in ("cn1", "cn01", *"abcdef")])

    assert topology.names.near("CN1") == topology.names.near("zz9") == ""
    assert topology.names.near("CN01.site.org") == ""
    assert topology.names.near("A") == "a"


def test_a_fabric_without_a_file_asks_about_its_usual_names():
    with pytest.raises(TopologyError, match="did you mean 'n7'"):
        fat_tree_of_radix(4, "1 GB/s").names.nodes(["N07"])
