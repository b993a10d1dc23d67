"""What every topology promises."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from coupling.checks.topologies import RULES, hops_are_shortest
from netsim.registries.topologies import TOPOLOGIES, make_topology
from netsim.topology.machines import MACHINES

DATA = Path(__file__).parents[1] / "data" / "topo"
SPECS = {
    "fat-tree": [
        {"kind": "fat-tree", "radix": 6},
        {"kind": "fat-tree", "radix": 8, "levels": 2, "duplex": "half"},
        {"kind": "fat-tree", "children": [4, 3, 2], "parents": [1, 2, 2], "parallel": [1, 1, 3]},
        {"kind": "fat-tree", "children": [3, 2, 2, 2], "parents": [2, 2, 1, 2]},
    ],
    "rail-tree": [
        {"kind": "rail-tree", "rails": 2, "nodes_per_group": 3, "groups": 2, "spines_per_rail": 2},
    ],
    "gpu-cluster": [
        {"kind": "gpu-cluster", "hosts": 6, "hosts_per_unit": 3, "gpus": 4, "fabric": fabric}
        for fabric in ("rail", "rail-only", "clos", "dual-plane")
    ],
    "torus": [
        {"kind": "torus", "dims": [5, 4, 3], "nodes_per_router": 2},
        {"kind": "torus", "dims": [4, 1, 2], "duplex": "half", "excluded": ["r3", 0]},
        {"kind": "torus", "dims": [3, 4], "wrap": False},
        {"kind": "torus", "dims": [2, 3, 2], "wrap": [True, False, False]},
    ],
    "dragonfly": [
        {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 2},
        {"kind": "dragonfly", "groups": 3, "routers": [2, 3], "global_links": 4, "duplex": "half"},
        {"kind": "dragonfly", "groups": 4, "routers": [3, 4], "variant": "aries"},
        {"kind": "dragonfly", "groups": 3, "routers": [2, 3], "variant": "best-case"},
        {"kind": "dragonfly", "groups": 3, "routers": [2, 3], "variant": "worst-case"},
        {"kind": "dragonfly", "groups": 4, "routers": [2, 5], "variant": "simgrid"},
        {"kind": "dragonfly", "groups": 1, "routers": [2, 2], "lanes": [1, 2, 1]},
    ],
    "dragonfly+": [
        {"kind": "dragonfly+", "groups": 4, "leaves": 3, "spines": 2, "nodes_per_leaf": 2},
        {"kind": "dragonfly+", "groups": 3, "leaves": 2, "spines": 2, "duplex": "half"},
    ],
    "hyperx": [
        {"kind": "hyperx", "dims": [3, 4], "nodes_per_router": 2, "parallel": [1, 2]},
        {"kind": "hyperx", "dims": [4], "duplex": "half", "excluded": ["r3", 0]},
    ],
    "slim-fly": [
        {"kind": "slim-fly", "q": 3, "nodes_per_router": 2},
        {"kind": "slim-fly", "q": 5, "nodes_per_router": 1, "duplex": "half"},
    ],
    "switch": [{"kind": "switch", "nodes": 6}],
}
SPECS["file"] = [
    {"kind": "file", "path": str(DATA / name)}
    for name in (
        "topology.conf",
        "topology-blocks.conf",
        "topology.yaml",
        "ibnetdiscover.txt",
        "aries.txt",
        "nodemap.txt",
        "nodes.csv",
        "edges.csv",
        "ring.graphml",
    )
]
SAMPLES = [spec for kind in sorted(SPECS) for spec in SPECS[kind]]


@pytest.fixture(
    params=SAMPLES, ids=lambda spec: "-".join(str(v).rpartition("/")[2] for v in spec.values())
)
def spec(request):
    return request.param


@pytest.fixture
def topology(spec):
    return make_topology(spec)


def test_every_kind_of_topology_is_sampled():
    assert set(SPECS) == set(TOPOLOGIES)


@pytest.mark.parametrize("rule", RULES)
def test_a_topology_keeps_the_rule(rule, spec):
    assert list(RULES[rule](partial(make_topology, spec))) == []


def test_a_cable_is_half_duplex_where_the_description_says_so(topology, spec):
    expected = np.arange(topology.n_links)
    if spec.get("duplex") == "half":
        expected = np.minimum(expected, topology.reverse)

    assert np.array_equal(topology.channel, expected)
    assert topology.half_duplex == (spec.get("duplex") == "half")


def test_only_canonical_dragonflies_have_minimal_paths_that_are_not_shortest(spec):
    """A minimal path takes one blue cable there; two may be shorter."""
    canonical = spec.get("variant", "canonical") in {"canonical", "aries"}
    longer = spec["kind"] == "dragonfly" and canonical

    assert list(hops_are_shortest(partial(make_topology, spec), longer=longer)) == []


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_a_machine_is_built_and_connected(machine):
    topology = make_topology(machine)
    usable = topology.usable_nodes

    hops = topology.hops(np.full(usable.size, usable[0]), usable)

    assert hops.min() == 0
    assert hops.max() <= 24  # Hopper: 8 + 4 + 12
    assert np.array_equal(topology.reverse[topology.reverse], np.arange(topology.n_links))
