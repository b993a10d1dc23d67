"""What every routing promises."""

import numpy as np
import pytest

from netsim.errors import RoutingError
from netsim.routings import ROUTINGS, make_routing
from netsim.topologies import make_topology
from netsim.topology.base import Topology

TREES = [
    {"kind": "fat-tree", "radix": 6},
    {"kind": "fat-tree", "children": [4, 3, 2], "parents": [1, 2, 2], "parallel": [1, 1, 3]},
    {
        "kind": "fat-tree",
        "children": [3, 2, 2, 2],
        "parents": [2, 2, 1, 2],
        "parallel": [1, 2, 1, 2],
    },
    {"kind": "fat-tree", "radix": 6, "missing": ["n4", "n9", "s1.5"]},
]
RAILS = [{"kind": "rail-tree", "rails": 4, "nodes_per_group": 6, "groups": 3}]
TORI = [
    {"kind": "torus", "dims": [5, 4, 3], "nodes_per_router": 2},
    {"kind": "torus", "dims": [2, 1, 6]},
    {"kind": "torus", "dims": [3, 4, 2], "wrap": [False, True, False]},
]
DRAGONFLIES = [
    {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 2},
    {
        "kind": "dragonfly",
        "groups": 4,
        "routers": [3, 4],
        "variant": "aries",
        "nodes_per_router": 2,
    },
    {"kind": "dragonfly", "groups": 3, "routers": [2, 3], "variant": "best-case"},
    {"kind": "dragonfly", "groups": 3, "routers": [2, 3], "variant": "worst-case"},
    {"kind": "dragonfly", "groups": 2, "routers": [2, 3], "global_links": 4},
    {"kind": "dragonfly", "groups": 1, "routers": 2, "nodes_per_router": 3},
]
FABRICS = {
    "d-mod-k": TREES + RAILS,
    "s-mod-k": TREES + RAILS,
    "ecmp": TREES + RAILS,
    "least-loaded": TREES + RAILS,
    "jigsaw": TREES,
    "dimension-order": TORI,
    "minimal": DRAGONFLIES,
    "valiant": DRAGONFLIES,
    "shortest": [TREES[0], TREES[3], *RAILS, *TORI, *DRAGONFLIES],
}
CASES = [(name, spec) for name in FABRICS for spec in FABRICS[name]]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-" + "-".join(map(str, case[1].values())))
def case(request):
    """Name, topology and routing, and flows between many pairs of usable nodes."""
    name, spec = request.param
    topology = make_topology(spec)
    rng = np.random.default_rng(3)
    src, dst = rng.choice(topology.usable_nodes, (2, 400))
    return name, topology, make_routing(name, topology, seed=5), src, dst


def test_every_routing_is_sampled():
    assert set(FABRICS) == set(ROUTINGS)


def test_paths_lead_from_source_to_destination_over_adjacent_links(case):
    _, topology, routing, src, dst = case
    routes = routing.routes(src, dst)

    assert routes.n_flows == src.size
    assert routes.n_links == topology.n_links
    for flow in range(src.size):
        links = routes.of_flow(flow)
        if src[flow] == dst[flow]:
            assert links.size == 0
            continue
        assert topology.link_tail[links[0]] == src[flow]
        assert topology.link_head[links[-1]] == dst[flow]
        assert np.array_equal(topology.link_head[links[:-1]], topology.link_tail[links[1:]])


def test_no_path_takes_a_link_twice_or_passes_through_a_node(case):
    _, topology, routing, src, dst = case
    routes = routing.routes(src, dst)

    for flow in range(src.size):
        links = routes.of_flow(flow)
        assert np.unique(links).size == links.size
        assert np.all(topology.link_head[links[:-1]] >= topology.n_nodes)


def test_absent_links_are_never_taken(case):
    _, topology, routing, src, dst = case

    assert not np.isin(routing.routes(src, dst).links, topology.absent).any()


def test_minimal_routings_take_as_many_hops_as_the_fabric_says(case):
    name, topology, routing, src, dst = case
    between = np.maximum(routing.routes(src, dst).hops - 2, 0)

    if name == "shortest":  # two blue cables of a dragonfly may be shorter than one
        assert np.array_equal(between, Topology.hops(topology, src, dst))
    elif name == "valiant":
        assert np.all(between >= Topology.hops(topology, src, dst))
        assert np.all(between <= 2 * topology.hops(src, dst).max() + 2)
    else:
        assert np.array_equal(between, topology.hops(src, dst))


def test_the_same_call_gives_the_same_routes(case):
    name, topology, routing, src, dst = case
    one, again = routing.routes(src, dst), make_routing(name, topology, seed=5).routes(src, dst)

    assert np.array_equal(one.indptr, again.indptr)
    assert np.array_equal(one.links, again.links)


def test_a_flow_keeps_its_path_in_any_company(case):
    """All but the least-loaded routing look at one flow at a time."""
    name, _, routing, src, dst = case
    if name == "least-loaded":
        src, dst = src[:1], dst[:1]
    routes = routing.routes(src, dst)

    for flow in range(0, src.size, 40):
        alone = routing.routes(src[flow : flow + 1], dst[flow : flow + 1])
        assert np.array_equal(alone.links, routes.of_flow(flow))


def test_no_flows_are_routed_to_no_links(case):
    _, topology, routing, _, _ = case
    none = np.empty(0, dtype=np.int64)

    routes = routing.routes(none, none)

    assert (routes.n_flows, routes.links.size, routes.n_links) == (0, 0, topology.n_links)


@pytest.mark.parametrize("name", sorted(set(FABRICS) - {"shortest"}))
def test_a_routing_refuses_a_fabric_of_another_kind(name):
    other = "bgq-5d" if name != "dimension-order" else "synth-1024"

    with pytest.raises(RoutingError, match=f"routing '{name}' needs a"):
        make_routing(name, make_topology(other))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("d-mod-q", "unknown routing 'd-mod-q'; choose from d-mod-k, dimension-order"),
        ({"name": "d-mod-k", "seed": 3}, "routing 'd-mod-k': unknown option 'seed'"),
        ({"nam": "d-mod-k"}, "unknown routing None; choose from"),
        (None, "expected a name or a table, got None"),
    ],
)
def test_an_unknown_routing_or_option_is_refused(spec, message):
    with pytest.raises(RoutingError, match=message):
        make_routing(spec, make_topology("synth-1024"))


def test_lists_are_routed_as_arrays_are(case):
    _, _, routing, src, dst = case

    routes, expected = routing.routes(src.tolist(), dst.tolist()), routing.routes(src, dst)

    assert np.array_equal(routes.links, expected.links)
    assert np.array_equal(routes.indptr, expected.indptr)


@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [
        ([0], [99999], r"dst: expected a list of whole numbers 0\.\.\d+, got 99999 at place 0"),
        ([0, -1], [1, 1], r"src: expected a list of whole numbers 0\.\.\d+, got -1 at place 1"),
        ([2**63], [0], r"src: expected .*, got 9223372036854775808 at place 0"),
        ([10**30], [0], r"src: expected .*, got object such as 1000000000000000000000000000000"),
        ([0.0], [1.0], r"src: expected .*, got float64 such as .*0\.0"),
        ([True], [False], r"src: expected .*, got bool such as .*True"),
        (["n0"], ["n1"], r"src: expected .*, got <U2 such as .*n0"),
        ([[0]], [[1]], r"src: expected .*, got an array of 2 dimensions"),
        (0, 1, r"src: expected .*, got an array of 0 dimensions"),
        ([[0], [1, 2]], [0], r"src: expected .*, got lists in each other"),
        ([0], [1, 2], r"src and dst: expected one of each for every flow, got 1 and 2"),
        ([0, 1], [1], r"src and dst: expected one of each for every flow, got 2 and 1"),
    ],
)
def test_what_are_no_nodes_of_the_fabric_is_refused(case, src, dst, message):
    """A number past the last node would index a link of something else."""
    _, _, routing, _, _ = case

    with pytest.raises(RoutingError, match=message):
        routing.routes(src, dst)
