"""Every real file imports with the counts that were measured on it."""

import gzip
from collections import Counter

import numpy as np
import pytest

from netsim.common.errors import RoutingError
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.torus import Torus


def imported(path, **fields):
    return make_topology({"kind": "file", "path": str(path), **fields})


def cable_counts(topology, links):
    """Count the parallel links of every directed pair of vertices."""
    pairs = zip(topology.link_tail[links], topology.link_head[links], strict=True)
    return Counter((int(a), int(b)) for a, b in pairs)


def test_cab_has_1296_nodes_on_72_leaves_in_4_pods(shared):
    cab = imported(shared("data/topo/llnl-cab-nodes.csv"))

    assert isinstance(cab, FatTree)
    assert (cab.n_nodes, cab.n_leaves, cab.n_pods) == (1296, 72, 4)
    assert cab.absent is None
    assert cab.name == make_topology("cab").name, "the machine of the same name"
    rows = shared("data/topo/llnl-cab-nodes.csv").read_text().split()[1:]
    for row in rows[::97]:
        node, leaf, pod = row.split(",")
        vertex = cab.vertex_number(node)
        assert cab.vertex_number(leaf) == cab.n_nodes + vertex // 18
        first = next(line.split(",")[0] for line in rows if line.endswith(f",{pod}"))
        assert vertex // (18 * 18) == cab.vertex_number(first) // (18 * 18)


def test_the_tree_of_iitk_has_512_nodes_on_32_leaves_below_16_roots(shared):
    tree = imported(shared("data/topo/iitk-hpc2010-topology.conf"))

    assert isinstance(tree, FatTree)
    assert (tree.counts, tree.ports) == ((512, 32, 16), (1, 16))
    roots = {tree.vertex_name(512 + 32 + x) for x in range(16)}
    assert roots == {f"ibsw{number}" for number in range(31, 47)}
    assert tree.vertex_number("cn224") // 16 == tree.vertex_number("cn209") // 16
    assert tree.link_number("cn224>ibsw2") == tree.up_base[0] + tree.vertex_number("cn224")
    assert not tree.origin.fake_roots


def test_the_irregular_fabric_of_psmn_is_a_graph_with_its_rates(shared):
    """89 adapters on switches with 24, 24, 21, 9, 6, 5 of them; DDR and QDR; 1, 3 or 6 cables."""
    fabric = imported(
        shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"),
        name_map=str(shared("data/topo/psmn-x5-hostnames.map")),
    )

    assert not isinstance(fabric, FatTree)
    assert (fabric.n_nodes, fabric.n_switches) == (89, 11)
    up = fabric.link_tail < 89
    hosts = Counter(fabric.link_head[up].tolist())
    assert sorted(hosts.values(), reverse=True) == [24, 24, 21, 9, 6, 5]
    assert set(fabric.capacity.tolist()) == {2e9, 4e9}  # 4 lanes of 4 and 8 Gb/s of data
    between = cable_counts(fabric, np.minimum(fabric.link_tail, fabric.link_head) >= 89)
    assert set(between.values()) == {1, 3, 6}
    assert fabric.vertex_name(fabric.vertex_number("x5570comp1")) == "x5570comp1"


def test_d_mod_k_is_refused_on_psmn_with_the_reason_and_shortest_paths_are_not(shared):
    fabric = imported(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"))
    nodes = np.arange(89)

    with pytest.raises(
        RoutingError, match=r"no regular fat-tree: S-[0-9a-f]{16} has \d parents with \d cable"
    ):
        make_routing("d-mod-k", fabric)
    routes = make_routing("shortest", fabric).routes(np.repeat(nodes, 89), np.tile(nodes, 89))

    assert routes.hops.max() <= 6
    assert np.count_nonzero(routes.hops == 0) == 89


def test_hopper_is_a_full_torus_of_17_8_24_routers(shared):
    torus = imported(shared("data/topo/nersc-hopper-nodemap.txt.gz"))

    assert isinstance(torus, Torus)
    assert (torus.dims, torus.nodes_per_router) == ((17, 8, 24), 2)
    assert torus.n_nodes == torus.usable_nodes.size == 6528
    node = torus.vertex_number("nid00009")  # 0 0 4 1 in the file
    assert node % 2 == 1
    assert torus.coordinates(np.array([node // 2])).ravel().tolist() == [0, 0, 4]


@pytest.mark.parametrize(
    ("name", "groups", "slots", "pairs", "lanes_between_groups"),
    [
        pytest.param(
            *("nersc-edison-links.txt.gz", 15, 5760, (21600, 7200, 2520), 24),
            marks=pytest.mark.heavy,
        ),
        ("alcf-theta-interconnect.txt.gz", 9, 3456, (12960, 4320, 1728), 48),
    ],
)
def test_aries_machines_have_the_router_pairs_and_lanes_of_their_dumps(
    shared,
    *,
    name,
    groups,
    slots,
    pairs,
    lanes_between_groups,
):
    fabric = imported(shared(f"data/topo/{name}"))

    assert isinstance(fabric, Dragonfly)
    assert (fabric.groups, fabric.n_switches, fabric.n_nodes) == (groups, 96 * groups, slots)
    kinds = np.array([fabric.link_class(link) for link in range(fabric.n_links)])
    found = {}
    for colour in ("green", "black", "blue"):
        found[colour] = cable_counts(fabric, kinds == colour)
    assert tuple(len(found[colour]) for colour in found) == pairs
    assert [set(found[colour].values()) for colour in found] == [{1}, {3}, {2}]
    between = Counter()
    for (a, b), lanes in found["blue"].items():
        between[(a - slots) // 96, (b - slots) // 96] += lanes
    assert len(between) == groups * (groups - 1)
    assert set(between.values()) == {lanes_between_groups}


def test_every_lane_of_theta_is_a_link_of_the_import(shared):
    """A plain reading of the dump, line by line, gives the same cables between the same names."""
    path = shared("data/topo/alcf-theta-interconnect.txt.gz")
    fabric = imported(path)
    lanes = Counter()
    with gzip.open(path, "rt") as dump:
        for line in dump:
            here, colour, _, there = line.split()
            if "(" in there:
                a, b = (end.partition("(")[0][: end.rindex("l")] for end in (here, there))
                lanes[a, b, colour] += 1
    links = Counter(
        (
            fabric.vertex_name(int(fabric.link_tail[link])),
            fabric.vertex_name(int(fabric.link_head[link])),
            fabric.link_class(link),
        )
        for link in range(2 * fabric.n_nodes, fabric.n_links)
    )

    assert links == lanes
