"""Forwarding tables over imported fabrics: what ibnetdiscover and a dump say, is routed."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ib_fabrics import write_ibnetdiscover

from netsim.common.errors import NetsimError
from netsim.formats.importers.infiniband import read_wiring
from netsim.formats.importers.registry import read_topology
from netsim.infiniband.discover import Device, IbFabric, read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump, tables_of
from netsim.infiniband.export import export
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import FatTree

DATA = Path(__file__).parents[3] / "data" / "topo"
REFERENCE = "reference/opensm"
FABRICS = ("ft2_4x4", "ft2_6x3", "ft3_r4", "ft3_r8", "ft3_r8_drop4")


def shuffled_ports(fabric, seed):
    """Return the same wiring with the ports of every switch in another order."""
    draw = np.random.default_rng(seed)
    port = {}
    for i, device in enumerate(fabric.devices):
        order = range(1, device.n_ports + 1)
        port[i] = dict(
            zip(order, draw.permutation(order) if device.is_switch else order, strict=True)
        )
    cables = {
        (i, int(port[i][a])): (j, int(port[j][b])) for (i, a), (j, b) in fabric.cables.items()
    }
    return IbFabric(fabric.devices, cables, {})


def text_of(shared, name):
    path = shared(f"{REFERENCE}/{name}/ibnetdiscover.txt.gz")
    return gzip.decompress(path.read_bytes()).decode()


@pytest.mark.parametrize("name", FABRICS)
def test_the_fabrics_of_the_opensm_runs_import_as_the_trees_they_are(shared, name):
    topology = read_topology(shared(f"{REFERENCE}/{name}/ibnetdiscover.txt.gz"))

    assert isinstance(topology, FatTree)
    assert topology.origin.irregularity == ""
    assert not any("OpenSM's order" in line for line in topology.origin.assumed)


@pytest.mark.parametrize("name", FABRICS)
def test_trees_with_shuffled_ports_are_recognised_and_their_tables_go_there_and_back(shared, name):
    """D-mod-k of the recognised tree, written as an OpenSM dump and read again, is itself."""
    fabric = shuffled_ports(read_ibnetdiscover(text_of(shared, name)), 7)
    text = write_ibnetdiscover(fabric)

    wiring, remark = read_wiring(text, "shuffled")
    tree = wiring.topology

    assert isinstance(tree, FatTree)
    assert "ports are not in OpenSM's order" in remark
    plain, _ = read_wiring(text_of(shared, name), "plain")
    assert tree.name == plain.topology.name
    for link in np.flatnonzero(wiring.port >= 0).tolist():
        here = int(wiring.device[tree.link_tail[link]]), int(wiring.port[link])
        assert wiring.fabric.cables[here][0] == wiring.device[tree.link_head[link]]
    tables = tables_of(read_lft_dump(export(wiring, [], None).text(), "dump"), wiring)
    nodes = tree.usable_nodes
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    expected = make_routing("d-mod-k", tree).routes(src, dst)
    walked = tables.routes(src, dst)
    assert np.array_equal(walked.indptr, expected.indptr)
    assert np.array_equal(walked.links, expected.links)


def test_a_small_fabric_of_our_own_is_routed_by_its_dump():
    wiring, remark = read_wiring((DATA / "ibnetdiscover.txt").read_text(), "file")

    assert remark == ""
    tables = tables_of(read_lft_dump(export(wiring, [], None).text(), "dump"), wiring)
    routes = tables.routes(np.array([0, 0]), np.array([1, 4]))
    assert routes.hops.tolist() == [2, 4]


def test_a_dump_is_a_routing_on_the_fabric_it_belongs_to(tmp_path):
    fabric = str(DATA / "ibnetdiscover.txt")
    wiring, _ = read_wiring((DATA / "ibnetdiscover.txt").read_text(), fabric)
    dump = tmp_path / "tables.lft"
    dump.write_text(export(wiring, [], None).text())
    topology = make_topology({"kind": "file", "path": fabric})
    expected = make_routing("d-mod-k", topology)
    src, dst = np.array([0, 1, 2]), np.array([4, 2, 3])

    for spec in ({"lft": str(dump)}, {"lft": str(dump), "fabric": fabric}):
        routes = make_routing(spec, topology).routes(src, dst)
        assert np.array_equal(routes.links, expected.routes(src, dst).links)

    cut = make_topology({"kind": "file", "path": fabric, "failed_links": ["leaf-a>spine-a"]})
    links = make_routing({"lft": str(dump)}, cut).routes(src, dst).links
    assert cut.link_number("leaf-a>spine-a") not in links


def test_a_dump_of_another_fabric_or_none_is_refused(tmp_path):
    fabric = str(DATA / "ibnetdiscover.txt")
    tree = make_topology({"kind": "fat-tree", "radix": 4})
    own = make_topology({"kind": "file", "path": fabric})
    for spec, topology, message in (
        ({"lft": "x"}, tree, "fabric: expected the path of ibnetdiscover output, got None"),
        (
            {"lft": "x", "fabric": fabric},
            tree,
            r"expected the fabric fat-tree, 16 nodes.*, got fat-tree, 5 of 6 nodes",
        ),
        ({"lft": 3}, own, "lft: expected the path of a dump, got 3"),
        ({"lft": "x", "file": "y"}, own, "unknown key 'file'; choose from lft, fabric"),
        ({"lft": str(tmp_path / "none")}, own, "cannot be read: No such file"),
    ):
        with pytest.raises(NetsimError, match=message):
            make_routing(spec, topology)


def test_aggregation_nodes_inside_switches_are_no_hosts(tmp_path):
    """One on every switch, spines included; the tree and its tables stay what they were."""
    fabric = read_ibnetdiscover((DATA / "ibnetdiscover.txt").read_text())
    devices, cables = list(fabric.devices), dict(fabric.cables)
    for i, switch in enumerate(fabric.devices):
        if switch.is_switch:
            devices[i] = replace(switch, n_ports=switch.n_ports + 1)
            own = len(devices)
            guid = switch.guid + 8
            name = "Mellanox Technologies Aggregation Node"
            devices.insert(
                own, Device(guid, name, 1, is_switch=False, lid=own + 50, port_guid=guid)
            )
            cables[i, switch.n_ports + 1], cables[own, 1] = (own, 1), (i, switch.n_ports + 1)
    path = tmp_path / "file"
    path.write_text(write_ibnetdiscover(IbFabric(tuple(devices), cables, fabric.rates)))

    tree = read_topology(path)
    wiring, _ = read_wiring(path.read_text(), "file")
    plain, _ = read_wiring((DATA / "ibnetdiscover.txt").read_text(), "plain")

    assert tree.name == plain.topology.name
    assert any("aggregation nodes inside switches (4)" in line for line in tree.origin.assumed)
    walked = tables_of(read_lft_dump(export(plain, [], None).text()), wiring)
    assert np.array_equal(
        walked.out, tables_of(read_lft_dump(export(plain, [], None).text()), plain).out
    )
