"""What is written is read back the same; what a format cannot hold is said or refused."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import numpy as np
import pytest

from netsim.common.errors import TopologyError
from netsim.formats.exporters.registry import WRITERS, convert, written
from netsim.formats.importers.graphs import from_networkx
from netsim.formats.importers.registry import FORMATS, read_topology
from netsim.formats.importers.sketch import Settings
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree

DATA = Path(__file__).parents[3] / "data" / "topo"
TAPERED = {"kind": "fat-tree", "children": [4, 3, 2], "parents": [1, 2, 2], "parallel": [1, 1, 3]}
SPECS = [
    TAPERED | {"bandwidth": ["100 Gb/s", "200 Gb/s", "400 Gb/s"]},
    TAPERED | {"missing": ["n5", "n23", "s1.4"]},
    TAPERED | {"failed_links": ["s1.0>s2.1"], "failed_switches": ["s3.1"]},
    {"kind": "fat-tree", "children": [4, 2], "parents": [3, 4], "parallel": [1, 1]},
    {"kind": "torus", "dims": [4, 2], "nodes_per_router": 2},
    {"kind": "torus", "dims": [3, 4], "wrap": False},
    {"kind": "dragonfly", "groups": 4, "routers": [3, 4], "variant": "aries"},
    *({"kind": "file", "path": str(path)} for path in sorted(DATA.iterdir())),
]
LEVELLED = [spec for spec in SPECS if spec["kind"] == "fat-tree"]


@pytest.fixture(
    params=SPECS, ids=lambda spec: str(spec.get("path", spec["kind"])).rpartition("/")[2]
)
def topology(request):
    return make_topology(request.param)


def cables(topology):
    """Return every link in service by the names of its ends and its capacity, sorted."""
    there = np.ones(topology.n_links, dtype=bool)
    if topology.absent is not None:
        there[topology.absent] = False
    name = topology.vertex_name
    return sorted(
        (name(int(topology.link_tail[i])), name(int(topology.link_head[i])), topology.capacity[i])
        for i in np.flatnonzero(there).tolist()
    )


@pytest.mark.parametrize("form", ["edge-csv", "graphml"])
def test_cables_names_and_capacities_come_back(topology, form, tmp_path):
    convert(topology, form, tmp_path / "file")

    back = read_topology(tmp_path / "file")

    assert back.origin.form == form
    assert cables(back) == cables(topology)
    ends = {name for name, _, _ in cables(topology)}
    nodes = {topology.vertex_name(v) for v in range(topology.n_nodes)} & ends
    assert {back.vertex_name(v) for v in back.usable_nodes.tolist()} == nodes


def test_names_that_look_like_formulas_are_texts_in_a_table_and_come_back(tmp_path):
    graph = nx.Graph([("=1+1", "@leaf"), ("-n2", "@leaf"), ("'+n3", "@leaf")])
    topology = from_networkx(graph, bandwidth="1 GB/s")

    convert(topology, "edge-csv", tmp_path / "file")

    assert "'=1+1" in (tmp_path / "file").read_text()
    assert cables(read_topology(tmp_path / "file")) == cables(topology)


@pytest.mark.parametrize("spec", LEVELLED[:2] + LEVELLED[3:], ids=lambda spec: spec["kind"])
@pytest.mark.parametrize("form", ["edge-csv", "graphml"])
def test_a_fat_tree_comes_back_as_one(spec, form):
    tree = make_topology(spec)

    back = FORMATS[form](written(tree, form)[0], "file", Settings())

    assert isinstance(back, FatTree)
    assert back.name == tree.name
    assert back.usable_nodes.size == tree.usable_nodes.size


@pytest.mark.parametrize("spec", LEVELLED, ids="-".join)
def test_slurm_gets_the_switches_below_each_switch(spec):
    tree = make_topology(spec)

    text, remarks = written(tree, "slurm-conf")
    back = FORMATS["slurm-conf"](text, "file", Settings())

    pairs = {(a, b) for a, b, _ in cables(tree)}
    assert {(a, b) for a, b, _ in cables(back)} == pairs
    assert "capacities are not in the file" in remarks
    assert ("parallel cables are not in the file" in remarks) == (len(pairs) < len(cables(tree)))


def test_what_is_no_tree_is_not_written_for_slurm():
    torus = make_topology({"kind": "torus", "dims": [3, 3]})

    with pytest.raises(
        TopologyError, match=r"r0 and r1 of the fabric \(3 x 3 torus.* are joined on one level"
    ):
        written(torus, "slurm-conf")


def test_what_a_file_does_not_hold_is_said():
    fabric = make_topology(
        TAPERED
        | {"missing": ["s1.4"], "excluded": ["n0"], "duplex": "half", "latency_base_s": "1 us"}
    )

    remarks = " | ".join(written(fabric, "edge-csv")[1])

    assert "left out, having no cable in service (5): n16, n17, n18, n19, s1.4" in remarks
    assert "nodes that take no jobs (1)" in remarks
    assert "duplex = 'half'" in remarks
    assert "latency is not in the file" in remarks


def test_gpus_are_said_not_to_be_in_a_file():
    cluster = make_topology({"kind": "gpu-cluster", "hosts": 4, "hosts_per_unit": 2, "gpus": 2})

    text, remarks = written(cluster, "edge-csv")

    assert remarks[0] == "GPUs and links inside hosts are not in the file"
    assert "h0" not in text


def test_parallel_cables_of_different_capacity_need_graphml():
    tree = make_topology(
        {"kind": "fat-tree", "children": [2, 2], "parents": [1, 1], "parallel": [1, 2]}
    )
    capacity = tree.capacity.copy()
    capacity[[tree.link_number("s1.0>s2.0#1"), tree.link_number("s2.0>s1.0#1")]] /= 2
    odd = replace(tree, capacity=capacity)

    with pytest.raises(TopologyError, match=r"between s1\.0 and s2\.0 differ .* GraphML"):
        written(odd, "edge-csv")
    assert cables(FORMATS["graphml"](written(odd, "graphml")[0], "file", Settings())) == cables(odd)


def test_a_fabric_that_no_file_can_hold_is_refused():
    tree = make_topology({"kind": "fat-tree", "children": [2, 2], "parents": [1, 1]})
    lame = replace(tree, capacity=np.arange(1.0, tree.n_links + 1))

    with pytest.raises(TopologyError, match="two directions differ in capacity"):
        written(lame, "graphml")
    with pytest.raises(TopologyError, match="no cable in service"):
        written(replace(tree, absent=np.arange(tree.n_links)), "graphml")


def test_formats_and_places_that_do_not_exist_are_refused(tmp_path):
    tree = make_topology("cab")

    with pytest.raises(TopologyError, match="unknown format 'xml'; choose from edge-csv, graphml"):
        written(tree, "xml")
    with pytest.raises(TopologyError, match="holds no routes; write 'simgrid-xml'"):
        written(tree, "edge-csv", make_routing("d-mod-k", tree))
    with pytest.raises(TopologyError, match="cannot be written: No such file"):
        convert(tree, "edge-csv", tmp_path / "none" / "file")
    assert list(tmp_path.iterdir()) == []
    assert set(WRITERS) - {"simgrid-xml"} <= set(FORMATS)


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_the_same_fabric_gives_the_same_bytes(form):
    one, other = (make_topology(TAPERED) for _ in range(2))

    assert written(one, form) == written(other, form)


def zone(text):
    """Return the routing of a SimGrid platform, its links and its routes."""
    root = ET.fromstring(text)  # noqa: S314 (our own text)
    (fabric,) = root.findall("zone")
    links = {
        link.get("id"): (float(link.get("bandwidth")[:-3]), float(link.get("latency")[:-1]))
        for link in fabric.findall("link")
    }
    routes = {
        (route.get("src"), route.get("dst")): [step.get("id") for step in route]
        for route in fabric.findall("route")
    }
    return fabric, links, routes


@pytest.mark.parametrize(
    ("spec", "routing"),
    [
        (TAPERED | {"missing": ["n5"]}, "d-mod-k"),
        ({"kind": "torus", "dims": [3, 2]}, "dimension-order"),
        ({"kind": "dragonfly", "groups": 3, "routers": 3, "latency": "codes"}, "minimal"),
    ],
)
def test_simgrid_gets_every_route_by_the_names_of_its_links(spec, routing):
    fabric = make_topology(spec)
    chosen = make_routing(routing, fabric)

    element, links, routes = zone(written(fabric, "simgrid-xml", chosen)[0])

    nodes = fabric.usable_nodes
    assert element.get("routing") == "Full"
    assert len(element.findall("host")) == nodes.size
    assert len(routes) == nodes.size * (nodes.size - 1)
    for (source, target), names in routes.items():
        src, dst = fabric.vertex_number(source), fabric.vertex_number(target)
        own = chosen.routes(np.array([src]), np.array([dst])).links
        assert names == [fabric.link_name(int(link)) for link in own]
        assert [links[name][0] for name in names] == fabric.capacity[own].tolist()
        latency = fabric.path_latency_s(np.array([own.size]))[0]
        assert sum(links[name][1] for name in names) == pytest.approx(latency, rel=1e-12, abs=0)


def test_simgrid_without_a_routing_gets_cables_and_is_warned_of():
    fabric = make_topology(TAPERED)

    text, remarks = written(fabric, "simgrid-xml")
    element, links, routes = zone(text)

    assert element.get("routing") == "DijkstraCache"
    assert len(element.findall("router")) == fabric.n_switches
    assert links["s2.0>s3.0"][0] == 3 * 12.5e9
    assert routes["s2.0", "s3.0"] == ["s2.0>s3.0"]
    assert (
        len(routes) == len(links) == len(set(zip(fabric.link_tail, fabric.link_head, strict=True)))
    )
    assert "parallel cables are one link of their joint capacity" in remarks


def test_a_half_duplex_cable_is_one_link_of_simgrid():
    fabric = make_topology({"kind": "torus", "dims": [3], "duplex": "half"})

    _, links, routes = zone(written(fabric, "simgrid-xml", make_routing("shortest", fabric))[0])
    _, joint, _ = zone(written(fabric, "simgrid-xml")[0])

    assert len(links) == len(joint) == 6
    assert routes["n1", "n0"] == ["n1>r1", "r0>r1", "n0>r0"]


def test_too_many_routes_are_refused():
    tree = make_topology("synth-2662")

    with pytest.raises(TopologyError, match=r"2662 nodes have \d+ routes, too many for a file"):
        written(tree, "simgrid-xml", make_routing("d-mod-k", tree))


def test_names_with_marks_of_xml_survive(tmp_path):
    (tmp_path / "file").write_text('source,target\n"a&b",s\n"c<d",s\ne,t\ns,t\nt,u\nf,u\n')
    graph = read_topology(tmp_path / "file")
    assert isinstance(graph, Topology)

    back = FORMATS["graphml"](written(graph, "graphml")[0], "file", Settings())
    _, links, _ = zone(written(graph, "simgrid-xml")[0])

    assert cables(back) == cables(graph)
    assert "a&b>s" in links


@pytest.mark.parametrize("form", ["graphml", "simgrid-xml"])
def test_names_with_letters_that_xml_cannot_hold_are_refused(form, tmp_path):
    """A control character in a switch's name made a file that no reader takes."""
    path = tmp_path / "topology.conf"
    leaves = "SwitchName=a\x15b Nodes=n[1-4]\nSwitchName=c Nodes=n[5-8]\n"
    path.write_text(f"{leaves}SwitchName=d Switches=a\x15b,c\n")
    fabric = read_topology(path)

    with pytest.raises(TopologyError, match=r"'a\\x15b': XML cannot hold a letter of this name"):
        written(fabric, form)
    convert(fabric, "edge-csv", tmp_path / "cables.csv")
    assert read_topology(tmp_path / "cables.csv").n_nodes == 8


@pytest.mark.parametrize("own", [{"limiter_link": "1 GB/s"}, {"loopback_bw": "1 GB/s"}])
def test_a_platform_says_that_limiters_and_loopback_of_hosts_are_left_out(own):
    _, remarks = written(make_topology({"kind": "switch", "nodes": 4, **own}), "simgrid-xml")

    assert "limiters and loopback of hosts are left out" in remarks
