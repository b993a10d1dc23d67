"""What every routing promises."""

from functools import partial

import numpy as np
import pytest

from coupling.checks.check import breaches
from coupling.checks.routings import RULES, Case
from netsim.common.errors import RoutingError
from netsim.registries.routings import ROUTINGS, make_routing
from netsim.registries.topologies import make_topology
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
RAILS = [
    {"kind": "fat-tree", "children": [6, 3], "parents": [4, 6], "parallel": [1, 1]},
    *(
        {"kind": "gpu-cluster", "hosts": 12, "hosts_per_unit": 4, "gpus": 4, "fabric": fabric}
        for fabric in ("rail", "rail-only", "clos", "dual-plane")
    ),
]
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
    "least-loaded-per-job": TREES + RAILS,
    "jigsaw": TREES,
    "dimension-order": TORI,
    "minimal": DRAGONFLIES,
    "valiant": DRAGONFLIES,
    "adaptive": [*TREES, *RAILS, *TORI, *DRAGONFLIES],
    "spray": [*TREES, *RAILS, *TORI, *DRAGONFLIES],
    "shortest": [TREES[0], TREES[3], *RAILS, *TORI, *DRAGONFLIES],
}
CASES = [(name, spec) for name in FABRICS for spec in FABRICS[name]]


every_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case[0]}-" + "-".join(map(str, case[1].values()))
)


def made(case):
    """Return topology and routing, and flows between many pairs of usable nodes."""
    name, spec = case
    topology = make_topology(spec)
    return Case(topology, partial(make_routing, name, topology, seed=5))


def test_every_routing_is_sampled():
    assert set(FABRICS) == set(ROUTINGS)


@every_case
def test_a_routing_keeps_its_rules(case):
    assert list(breaches(RULES, made(case))) == []


@every_case
def test_minimal_routings_take_as_many_hops_as_the_fabric_says(case):
    name, tried = case[0], made(case)
    topology = tried.topology
    src, dst = (topology.endpoints.node[end] for end in tried.ends)
    between = np.maximum(tried.routes.hops - 2, 0)

    if name == "shortest":  # two blue cables of a dragonfly may be shorter than one
        assert np.array_equal(between, Topology.hops(topology, src, dst))
    elif name == "valiant":
        assert np.all(between >= Topology.hops(topology, src, dst))
        assert np.all(between <= 2 * topology.hops(src, dst).max() + 2)
    else:
        assert np.array_equal(between, topology.hops(src, dst))


@every_case
def test_a_flow_keeps_its_path_in_any_company(case):
    """All but the least-loaded-per-job routing look at one flow at a time."""
    tried = made(case)
    routing, (src, dst) = tried.routing, tried.ends
    if case[0] == "least-loaded-per-job":
        src, dst = src[:1], dst[:1]
    routes = routing.routes(src, dst)

    for flow in range(0, src.size, 40):
        alone = routing.routes(src[flow : flow + 1], dst[flow : flow + 1])
        assert np.array_equal(alone.links, routes.of_flow(flow))


@pytest.mark.parametrize("name", sorted(set(FABRICS) - {"shortest", "adaptive", "spray"}))
def test_a_routing_refuses_a_fabric_of_another_kind(name):
    other = "bgq-5d" if name != "dimension-order" else "synth-1024"

    with pytest.raises(RoutingError, match=f"routing '{name}' needs a"):
        make_routing(name, make_topology(other))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "d-mod-q",
            r"unknown routing 'd-mod-q' \(did you mean 'd-mod-k'\?\); choose from adaptive",
        ),
        ({"name": "d-mod-k", "seed": 3}, "routing 'd-mod-k': seed: expected it next to `routing`"),
        ({"nam": "d-mod-k"}, "unknown routing None; choose from"),
        (None, "expected a name or a table, got None"),
    ],
)
def test_an_unknown_routing_or_option_is_refused(spec, message):
    with pytest.raises(RoutingError, match=message):
        make_routing(spec, make_topology("synth-1024"))


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
@pytest.mark.parametrize("name", FABRICS)
def test_what_are_no_nodes_of_the_fabric_is_refused(name, src, dst, message):
    """A number past the last node would index a link of something else."""
    routing = made((name, FABRICS[name][0])).routing

    with pytest.raises(RoutingError, match=message):
        routing.routes(src, dst)
