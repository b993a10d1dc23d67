"""D-mod-k hop by hop against the tables of OpenSM's ftree."""

import numpy as np
import pytest
from opensmdumps import read_order, read_tables, read_wiring

from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology

SHAPES = {
    "ft2_4x4": {"children": [4, 4], "parents": [1, 4]},
    "ft2_6x3": {"children": [3, 6], "parents": [1, 3]},
    "ft3_r4": {"children": [2, 2, 4], "parents": [1, 2, 2]},
    "ft3_r8": {"children": [4, 4, 8], "parents": [1, 4, 4]},
    "ft3_r8_drop4": {"children": [4, 4, 8], "parents": [1, 4, 4]},
}
HOPS = {  # (source leaf, destination) that go up from a leaf, and from an L2 switch
    "ft2_4x4": (48,),  # 4 leaves x 12 nodes elsewhere
    "ft2_6x3": (90,),
    "ft3_r4": (112, 96),
    "ft3_r8": (3968, 3584),
    "ft3_r8_drop4": (3844, 3472),  # measured with OpenSM 3.3.23, as the others
}


class Fabric:
    """A dumped fabric laid over a PGFT: leaf by ca-order, slot by the port of the leaf."""

    def __init__(self, folder, children):
        self.peers, lids = read_wiring(folder / "ibnetdiscover.txt.gz")
        self.tables = read_tables(folder / "lfts.ftree.dump.gz")
        order = read_order(folder / "ca-order.dump.gz")
        guid_of_lid = {lid: guid for guid, lid in lids.items()}
        self.lids = lids
        self.order = {guid_of_lid[lid]: d for d, lid in enumerate(order) if lid is not None}
        self.most = len(order) * children[0] // int(np.prod(children))
        self.node_of = {}
        for guid, d in self.order.items():
            slot = self.peers[guid, 1][1] - 1
            self.node_of[guid] = d // self.most * children[0] + slot

    def missing(self, n_nodes):
        return sorted(set(range(n_nodes)) - set(self.node_of.values()))

    def walk(self, src, dst):
        """Follow the tables: the output port of every switch between two nodes."""
        at, ports = self.peers[src, 1][0], []
        while at != dst:
            ports.append(self.tables[at][self.lids[dst]])
            at = self.peers[at, ports[-1]][0]
        return ports


def output_ports(tree):
    """Port of the tail of every link: down ports 1..m*p, up ports after them; 1 on a node."""
    ports = np.empty(tree.n_links, dtype=np.int64)
    for level in range(tree.levels):
        up, down = tree.up_base[level], tree.down_base[level]
        place = np.arange(down - up)
        below = tree.children[level - 1] * tree.parallel[level - 1] if level else 0
        ports[up:down] = below + place % tree.ports[level] + 1
        child = place // tree.ports[level] // int(np.prod(tree.parents[:level], initial=1))
        cable = place % tree.ports[level] // tree.parents[level]
        digit = child % tree.children[level]
        ports[down : down + place.size] = digit + tree.children[level] * cable + 1
    return ports


@pytest.mark.parametrize("name", SHAPES)
def test_every_hop_of_node_traffic_is_ftrees(name, shared):
    """All pairs of nodes: the same output port at every switch, holes included."""
    fabric = Fabric(shared(f"reference/opensm/{name}"), SHAPES[name]["children"])
    n_slots = int(np.prod(SHAPES[name]["children"]))
    missing = fabric.missing(n_slots)
    tree = make_topology({"kind": "fat-tree", **SHAPES[name], "missing": missing})
    guids = sorted(fabric.node_of, key=fabric.node_of.get)
    src, dst = (np.array([fabric.node_of[guid] for guid in guids])[i] for i in pairs(len(guids)))

    routes = make_routing("d-mod-k", tree).routes(src, dst)

    ports = output_ports(tree)
    first, second = pairs(len(guids))
    for flow, (a, b) in enumerate(zip(first, second, strict=True)):
        links = routes.of_flow(flow)[1:]
        assert ports[links].tolist() == fabric.walk(guids[a], guids[b])
    turn = tree.turning_level(src, dst)
    for level, hops in zip((2, 3), HOPS[name], strict=False):
        up = turn >= level
        assert len(set(zip(src[up] // tree.nodes_per_leaf, dst[up], strict=True))) == hops


def pairs(count):
    """All ordered pairs of different numbers."""
    first, second = np.nonzero(~np.eye(count, dtype=bool))
    return first, second


def test_a_hole_shifts_the_later_nodes_of_its_leaf_in_the_order(shared):
    """The four holes of ft3_r8_drop4: our order is OpenSM's, line by line."""
    fabric = Fabric(shared("reference/opensm/ft3_r8_drop4"), [4, 4, 8])
    missing = fabric.missing(128)

    tree = make_topology({"kind": "fat-tree", **SHAPES["ft3_r8_drop4"], "missing": missing})

    assert len(missing) == 4
    assert tree.order is not None
    assert {n: int(tree.order[n]) for n in tree.usable_nodes.tolist()} == {
        fabric.node_of[guid]: d for guid, d in fabric.order.items()
    }
