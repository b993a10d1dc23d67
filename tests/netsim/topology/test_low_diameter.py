"""HyperX, Slim Fly, Dragonfly+ and one switch, against NetworkX and their publications."""

import networkx as nx
import numpy as np
import pytest

from coupling.runs.given_objects import record_of
from netsim.common.errors import TopologyError
from netsim.flows.virtual_channels import virtual_channels
from netsim.registries.routings import make_routing, usual_routing
from netsim.registries.topologies import make_topology

FABRICS = [
    {"kind": "hyperx", "dims": [4, 3, 2], "nodes_per_router": 2, "parallel": [1, 2, 3]},
    {"kind": "hyperx", "dims": [5], "nodes_per_router": 3},
    {"kind": "slim-fly", "q": 5},
    {"kind": "slim-fly", "q": 7, "nodes_per_router": 1},
    {"kind": "dragonfly+", "groups": 5, "leaves": 3, "spines": 2, "nodes_per_leaf": 2},
    {"kind": "dragonfly+", "groups": 3, "leaves": 2, "spines": 3, "global_links": 5},
    {"kind": "switch", "nodes": 6},
]


def routers(fabric):
    """Return the graph of the routers."""
    graph = fabric.to_networkx()
    return graph.subgraph([name for name, data in graph.nodes(data=True) if data["kind"] != "node"])


def all_pairs(fabric):
    """Return the sources and destinations of all pairs of nodes."""
    pairs = np.indices((fabric.n_nodes, fabric.n_nodes)).reshape(2, -1)
    return pairs[:, pairs[0] != pairs[1]]


def test_a_hyperx_is_the_product_of_full_meshes():
    """Ahn et al., section 2: the Hamming graph."""
    fabric = make_topology(FABRICS[0])
    by_hand = nx.complete_graph(4)
    for side in (3, 2):
        by_hand = nx.cartesian_product(by_hand, nx.complete_graph(side))

    found = routers(fabric)
    cables = sorted(data["cables"] for *_, data in found.edges(data=True))

    assert nx.is_isomorphic(nx.Graph(found), by_hand)
    # of 4, 3 and 2 routers: 6 lines of 6 pairs, 8 of 3, 12 of 1
    assert cables == [1] * 36 + [2] * 24 + [3] * 12
    assert fabric.n_nodes == 48


def test_dimension_order_takes_the_axes_in_turn():
    """By hand: from router (0, 0) to (2, 1) over (2, 0); numbers are x + 4 y."""
    fabric = make_topology({"kind": "hyperx", "dims": [4, 3], "nodes_per_router": 2})
    routing = make_routing("dimension-order", fabric)

    links = routing.routes(np.array([1]), np.array([2 * 6])).links.tolist()

    assert [fabric.link_name(link) for link in links] == ["n1>r0", "r0>r2", "r2>r6", "r6>n12"]


def test_the_slim_fly_of_q_5_is_the_graph_of_hoffman_and_singleton():
    assert nx.is_isomorphic(
        nx.Graph(routers(make_topology({"kind": "slim-fly", "q": 5}))),
        nx.hoffman_singleton_graph(),
    )


@pytest.mark.parametrize("q", [3, 5, 7, 11, 13, 17])
def test_a_slim_fly_is_regular_and_of_diameter_two(q):
    """Besta and Hoefler, section II-B: 2 q^2 routers of (3 q - d) / 2 cables, q = 4 w + d."""
    fabric = make_topology({"kind": "slim-fly", "q": q})
    graph = routers(fabric)
    degree = (3 * q - (1 if q % 4 == 1 else -1)) // 2

    assert graph.number_of_nodes() == 2 * q * q
    assert {count for _, count in graph.degree()} == {degree}
    assert nx.diameter(graph) == 2
    assert fabric.n_nodes == 2 * q * q * -(-degree // 2)


def test_spines_of_a_dragonfly_plus_share_the_cables_between_groups():
    """By hand: 5 groups of 4 leaves and 4 spines; 16 ports a group, 4 to each other, 4 a spine."""
    fabric = make_topology(
        {"kind": "dragonfly+", "groups": 5, "leaves": 4, "spines": 4, "nodes_per_leaf": 4}
    )
    size, nodes = 8, fabric.n_nodes
    first = fabric.first_of_kind["global"]
    tail, head = fabric.link_tail[first:] - nodes, fabric.link_head[first:] - nodes
    between = np.zeros((5, 5), dtype=int)
    np.add.at(between, (tail // size, head // size), 1)

    assert between.tolist() == (4 * (1 - np.eye(5, dtype=int))).tolist()
    assert np.all(tail % size >= 4)
    assert np.all(np.bincount(tail, minlength=40).reshape(5, 8)[:, 4:] == 4)
    assert np.unique(fabric.hops(*all_pairs(fabric))).tolist() == [0, 2, 3]


@pytest.mark.parametrize("table", FABRICS, ids=lambda table: str(table["kind"]))
@pytest.mark.parametrize("routing", ["usual", "shortest", "ecmp"])
def test_paths_are_as_short_as_any(table, routing):
    fabric = make_topology(table)
    src, dst = all_pairs(fabric)
    lengths = dict(nx.all_pairs_shortest_path_length(fabric.to_networkx()))
    name = usual_routing(fabric, owned=False) if routing == "usual" else routing

    routes = make_routing(name, fabric).routes(src, dst)

    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    expected = [lengths[f"n{a}"][f"n{b}"] for a, b in pairs]
    assert routes.hops.tolist() == expected
    assert (fabric.hops(src, dst) + 2).tolist() == expected
    inside = np.delete(np.arange(routes.links.size), routes.indptr[1:] - 1)
    assert np.array_equal(
        fabric.link_head[routes.links[inside]], fabric.link_tail[routes.links[inside + 1]]
    )
    assert np.array_equal(fabric.link_tail[routes.links[routes.indptr[:-1]]], src)
    assert np.array_equal(fabric.link_head[routes.links[routes.indptr[1:] - 1]], dst)


@pytest.mark.parametrize("table", FABRICS, ids=lambda table: str(table["kind"]))
def test_packets_on_these_paths_never_wait_in_a_circle(table):
    """A Slim Fly needs a channel a hop, the others one."""
    fabric = make_topology(table)
    routes = make_routing(usual_routing(fabric, owned=False), fabric).routes(*all_pairs(fabric))

    channels = virtual_channels(fabric, routes)  # searches for circles itself

    assert channels.max() == (1 if table["kind"] == "slim-fly" else 0)


@pytest.mark.parametrize("table", FABRICS, ids=lambda table: str(table["kind"]))
def test_a_fabric_given_as_an_object_is_recorded_by_its_fields(table):
    fabric = make_topology(table | {"bandwidth": "50 Gb/s"})

    assert record_of(fabric).table["kind"] == table["kind"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "slim-fly", "q": 9}, "a prime from 3"),
        ({"kind": "slim-fly", "q": 2}, "a prime from 3"),
        ({"kind": "hyperx", "dims": [4, 4], "parallel": [2]}, "one for each axis"),
        ({"kind": "hyperx", "dims": []}, "dims"),
        ({"kind": "dragonfly+", "groups": 2, "leaves": 2}, "spines"),
        ({"kind": "switch", "nodes": 0}, "nodes"),
        ({"kind": "switch", "nodes": 10**9}, "directed links"),
        ({"kind": "hyperx", "dims": [1000, 1000]}, "directed links"),
        ({"kind": "slim-fly", "q": 5, "bandwidth": ["1 GB/s"] * 3}, "2 (node, router)"),
    ],
)
def test_what_does_not_fit_is_refused(table, words):
    with pytest.raises(TopologyError) as caught:
        make_topology(table)
    assert words in str(caught.value)
