"""OpenSM's ftree step by step: every entry of what OpenSM dumped, on whole and damaged trees."""

import json
from pathlib import Path

import numpy as np
import pytest
from damage import by_name, damaged_tree, damages, nodes_of, print_of, roots_of, tree_of
from ib_fabrics import read_ca_order, tree_fabric
from opensm_reference import FABRICS, dump, text, wiring

from netsim.common.errors import RoutingError
from netsim.infiniband.ftree import ftree_tables
from netsim.infiniband.wiring import wire_fat_tree
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import depopulate

RECORDED = Path(__file__).parents[2] / "data" / "opensm-damaged.json"
CASES = json.loads(RECORDED.read_text("utf-8"))


@pytest.mark.parametrize("name", FABRICS)
def test_every_entry_of_the_stored_dumps_and_their_order_come_out(shared, name):
    """Towards nodes and switches, met by traffic or not; 14,864 of them on ft3_r8."""
    wired = wiring(shared, name)
    devices = wired.fabric.devices
    roots = wired.device[wired.topology.n_nodes :][-wired.topology.counts[-1] :].tolist()

    found = ftree_tables(wired.fabric, nodes_of(wired.fabric), roots)

    ports = {
        devices[switch].guid: {devices[target].lid: port for target, port in own.items()}
        for switch, own in found.ports.items()
    }
    assert ports == dump(shared, name).ports
    order = read_ca_order(text(shared, f"{name}/ca-order.dump"))
    assert [0xFFFF if node < 0 else devices[node].lid for node in found.order] == order


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['tree']}: {case['lost']}")
def test_tables_and_order_of_damaged_trees_are_those_that_opensm_dumped(case):
    """OpenSM 3.3.23, `-R ftree -a roots` on ibsim; `sha256` is of all entries, by name."""
    tree = tree_of(case["tree"])
    fabric = damaged_tree(tree, *damages(tree)[case["lost"]], case["seed"])

    tables = ftree_tables(fabric, nodes_of(fabric), roots_of(fabric, tree))

    recorded = {key: case[key] for key in ("entries", "sha256", "ca_order")}
    assert print_of(*by_name(fabric, tables)) == recorded


@pytest.mark.parametrize(
    "tree",
    [
        fat_tree_of_radix(6, 12.5e9),
        build_fat_tree((4, 2, 3), (1, 2, 2), (1, 1, 2), 12.5e9),
        build_fat_tree((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), 12.5e9),
        depopulate(fat_tree_of_radix(6, 12.5e9), ["n1", "n2", "s1.4", "n50"]),
    ],
    ids=lambda tree: tree.name,
)
def test_on_trees_with_nothing_but_holes_every_route_is_that_of_d_mod_k(tree):
    wired = wire_fat_tree(tree_fabric(tree))
    roots = wired.device[-wired.topology.counts[-1] :].tolist()
    ports = ftree_tables(wired.fabric, nodes_of(wired.fabric), roots).ports
    nodes = wired.topology.usable_nodes
    vertex = {int(i): v for v, i in enumerate(wired.device.tolist()) if i >= 0}
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    routes = DModK.on(wired.topology).routes(src, dst)

    link_at = {
        (int(tail), int(port)): link
        for link, (tail, port) in enumerate(
            zip(wired.topology.link_tail.tolist(), wired.port.tolist(), strict=True)
        )
    }
    for flow, (a, b) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        at, walked = a, []
        while at != b:
            i = int(wired.device[at])
            port = 1 if at == a else ports[i][int(wired.device[b])]
            walked.append(link_at[at, port])
            at = vertex[wired.fabric.cables[i, port][0]]
        assert walked == routes.of_flow(flow).tolist()


def test_what_ftree_itself_gives_up_is_refused():
    """All nodes on one leaf; leaves at two heights, below roots that are no roots."""
    tree = build_fat_tree((2, 2), (1, 2), (1, 1), 12.5e9)
    lonely = damaged_tree(tree, ("n2", "n3"))
    with pytest.raises(RoutingError, match="nodes on two leaves at least"):
        ftree_tables(lonely, nodes_of(lonely), roots_of(lonely, tree))

    whole = tree_fabric(tree)
    number = {device.name: i for i, device in enumerate(whole.devices)}
    with pytest.raises(RoutingError, match=r"'s1\.0' has rank 0, 's1\.1' 2"):
        ftree_tables(whole, nodes_of(whole), [number["s1.0"]])
