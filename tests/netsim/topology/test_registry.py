"""Topologies from tables and names."""

import pytest

from netsim.common.errors import TopologyError
from netsim.registries.topologies import TOPOLOGIES, make_topology
from netsim.topology.machines import MACHINES

NODES = {
    "cab": 1296,
    "pinot": 2592,
    "thunder-1458": 1458,
    "synth-1024": 1024,
    "synth-2662": 2662,
    "synth-5488": 5488,
    "fattree-10648": 10648,
}


@pytest.mark.parametrize("name", NODES)
def test_a_machine_has_its_published_number_of_nodes(name):
    topology = make_topology(name)

    assert topology.n_nodes == NODES[name]


def test_cab_has_the_switches_of_its_description():
    """72 leaves, 72 L2 and 36 L3 switches of 36 ports (Pollard et al. 2018, IV-A)."""
    cab = make_topology("cab")

    assert cab.counts == (1296, 72, 72, 36)
    assert cab.oversubscription == 1.0
    assert cab.counts[2] * cab.ports[2] == cab.counts[3] * 36


def test_a_table_says_bandwidth_duplex_and_latency_with_units():
    tree = make_topology(
        {
            "kind": "fat-tree",
            "children": [4, 2],
            "parents": [1, 2],
            "bandwidth": ["100 Gb/s", "25 GB/s"],
            "duplex": "half",
            "latency": "codes",
            "latency_per_link_s": "1 us",
        }
    )

    assert sorted(set(tree.capacity.tolist())) == [12.5e9, 25e9]
    assert tree.half_duplex
    assert (tree.latency_base_s, tree.latency_per_link_s) == (0.0, 1e-6)
    assert (tree.buffer_bytes, tree.packet_bytes) == (65536.0, 4096.0)


def test_a_machine_may_be_given_another_bandwidth():
    cab = make_topology({"kind": "cab", "bandwidth": "32 Gb/s"})

    assert cab.n_nodes == 1296
    assert set(cab.capacity.tolist()) == {4e9}


def test_the_default_bandwidth_is_100_gigabits_per_second():
    assert set(make_topology("cab").capacity.tolist()) == {12.5e9}


def test_a_rail_tree_gives_every_node_one_link_into_each_rail():
    tree = make_topology(
        {"kind": "rail-tree", "rails": 4, "nodes_per_group": 8, "groups": 2, "spines_per_rail": 3}
    )

    assert tree.counts == (16, 4 * 2, 4 * 3)
    rails = [tree.link_name(int(tree.up_base[0]) + q) for q in range(4)]
    assert rails == ["n0>s1.0", "n0>s1.1", "n0>s1.2", "n0>s1.3"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cabb", r"unknown topology 'cabb' \(did you mean 'cab'\?\); choose from .*fat-tree.*cab"),
        ({}, "field 'kind' is missing; choose from"),
        ({"kind": 3}, "unknown topology 3"),
        ({"kind": "rail-tree"}, "groups: expected a whole number from 1, it is missing"),
        (None, "expected a table or a machine name, got None"),
        (["cab"], "expected a table or a machine name"),
        ("fat-tree", "radix: expected a whole number from 1, it is missing"),
        ({"kind": "fat-tree", "radix": 8, "tapper": 2}, "tapper: unknown key; choose from"),
        (
            {"kind": "fat-tree", "radix": "8"},
            "radix: expected a whole number from 1, got '8'",
        ),
        ({"kind": "fat-tree", "radix": True}, "radix: expected"),
        ({"kind": "fat-tree", "radix": 7}, "radix must be an even number"),
        ({"kind": "fat-tree", "radix": 8, "levels": 5}, "levels must be 2 or 3"),
        ({"kind": "fat-tree", "radix": 8, "children": [2, 2]}, "radix: expected left out"),
        ({"kind": "fat-tree", "children": [4, 2]}, "parents: expected a list"),
        ({"kind": "fat-tree", "children": [4, 0], "parents": [1, 1]}, "children: expected"),
        ({"kind": "fat-tree", "children": [4, 2], "parents": [1]}, "one entry per level"),
        ({"kind": "fat-tree", "radix": 8, "bandwidth": "100 Gb"}, "bandwidth: expected"),
        (
            {"kind": "fat-tree", "radix": 8, "bandwidth": 0},
            "bandwidth: expected bandwidths above 0",
        ),
        (
            {"kind": "fat-tree", "radix": 8, "bandwidth": []},
            "bandwidth: expected bandwidths above 0",
        ),
        ({"kind": "fat-tree", "radix": 8, "bandwidth": [1e9, 2e9]}, "one for each of 3 levels"),
        (
            {"kind": "fat-tree", "radix": 8, "duplex": "both"},
            "duplex: expected one of full, half",
        ),
        (
            {"kind": "fat-tree", "radix": 8, "latency": "fast"},
            "latency: expected one of codes",
        ),
        (
            {"kind": "fat-tree", "radix": 8, "latency_base_s": "1e300 ns"},
            "latency_base_s: expected latencies of at most 1000 s, got 1e.291",
        ),
        (
            {"kind": "fat-tree", "radix": 8, "latency_base_s": "3 m"},
            "latency_base_s: expected a",
        ),
        (
            {"kind": "gpu-cluster", "hosts": 48},
            r"hosts: expected a multiple of hosts_per_unit = 32, such as 32 or 64, got 48\.",
        ),
        (
            {"kind": "gpu-cluster", "hosts": 32, "nics": 3},
            "nics: expected a divisor or a multiple of gpus = 8, got 3",
        ),
        (
            {"kind": "gpu-cluster", "hosts": 32, "fabric": "rail-only", "pxn": False},
            "pxn: expected true where fabric = 'rail-only'",
        ),
        (
            {"kind": "gpu-cluster", "hosts": 32, "on_failure": "plane"},
            "on_failure: 'plane' needs fabric = 'dual-plane'",
        ),
        (
            {"kind": "gpu-cluster", "hosts": 32, "oversubscription": "3:1"},
            "a leaf has 32 links down; at 3:1 it would have 10.67 up, expected a whole number",
        ),
        (
            {"kind": "gpu-cluster", "hosts": 32, "oversubscription": []},
            "oversubscription: expected a ratio such as '2:1'",
        ),
        ({"kind": "gpu-cluster", "hosts": 32, "spines": 5}, "uplinks of a leaf: expected a multi"),
        ({"kind": "gpu-cluster", "hosts": 32, "cores": 5}, "cores: needs three tiers"),
        ({"kind": "gpu-cluster", "hosts": 32, "gpu_link": "x"}, "gpu_link: expected a bandwidth"),
        (
            {"kind": "gpu-cluster", "hosts": 32, "failed_links": ["n3>h3#5"]},
            "a host whose own network fails is out: name the host",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_field(spec, message):
    with pytest.raises(TopologyError, match=message):
        make_topology(spec)


@pytest.mark.parametrize(
    ("spec", "n_links"),
    [
        # up and down: nodes, leaves, L2 switches of a full tree have 54 million cables each
        ({"kind": "fat-tree", "radix": 600}, 6 * 54_000_000),
        ({"kind": "gpu-cluster", "hosts": 32 * 10**6, "gpu_link": "none"}, 4 * 8 * 32 * 10**6),
        ({"kind": "torus", "dims": [400, 400, 400]}, 8 * 64_000_000),
        (
            {"kind": "dragonfly", "groups": 3, "routers": 2, "nodes_per_router": 10**8},
            12 * 10**8 + 6,
        ),
        ({"kind": "dragonfly", "groups": 2, "routers": 1, "global_links": 10**8}, 4 + 2 * 10**8),
        (
            {"kind": "dragonfly", "groups": 2, "routers": [1, 3], "lanes": [10**7, 1, 1]},
            12 + 12 * 10**7 + 2,
        ),
    ],
)
def test_a_fabric_beyond_all_memory_is_refused_before_it_is_built(spec, n_links):
    with pytest.raises(TopologyError, match=f"would have {n_links:,} directed links"):
        make_topology(spec)


def test_every_machine_is_a_kind_that_exists():
    assert {machine["kind"] for machine in MACHINES.values()} <= set(TOPOLOGIES)
    assert not set(MACHINES) & set(TOPOLOGIES)
