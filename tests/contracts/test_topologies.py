"""What every topology promises."""

from pathlib import Path

import numpy as np
import pytest

from netsim.topologies import TOPOLOGIES, make_topology
from netsim.topology.base import Topology
from netsim.topology.machines import MACHINES

DATA = Path(__file__).parents[1] / "data" / "topo"
SPECS = {
    "fat-tree": [
        {"kind": "fat-tree", "radix": 6},
        {"kind": "fat-tree", "radix": 8, "levels": 2, "duplex": "half"},
        {"kind": "fat-tree", "children": [4, 3, 2], "parents": [1, 2, 2], "parallel": [1, 1, 3]},
        {"kind": "fat-tree", "children": [3, 2, 2, 2], "parents": [2, 2, 1, 2]},
    ],
    "rail-tree": [{"kind": "rail-tree", "rails": 4, "nodes_per_group": 6, "groups": 3}],
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


def test_links_join_vertices_and_every_cable_goes_both_ways(topology):
    size = topology.n_nodes + topology.n_switches
    ends = np.concatenate([topology.link_tail, topology.link_head])

    assert np.array_equal(np.unique(ends), np.arange(size)), "a vertex has no link"
    assert np.all(topology.link_tail != topology.link_head)
    back = topology.reverse
    assert np.array_equal(back[back], np.arange(topology.n_links))
    assert np.array_equal(topology.link_tail[back], topology.link_head)
    assert np.array_equal(topology.link_cable[back], topology.link_cable)
    assert np.array_equal(topology.capacity[back], topology.capacity)


def test_nodes_hang_on_switches_only(topology):
    from_node = topology.link_tail < topology.n_nodes

    assert np.all(topology.link_head[from_node] >= topology.n_nodes)
    assert np.array_equal(np.unique(topology.link_tail[from_node]), np.arange(topology.n_nodes))


def test_a_half_duplex_cable_is_one_channel_and_a_full_duplex_one_two(topology, spec):
    expected = np.arange(topology.n_links)
    if spec.get("duplex") == "half":
        expected = np.minimum(expected, topology.reverse)

    assert np.array_equal(topology.channel, expected)
    assert topology.half_duplex == (spec.get("duplex") == "half")


def test_names_of_links_and_vertices_lead_back_to_their_numbers(topology):
    names = [topology.link_name(link) for link in range(topology.n_links)]
    vertices = range(topology.n_nodes + topology.n_switches)

    assert len(set(names)) == topology.n_links
    assert [topology.link_number(name) for name in names] == list(range(topology.n_links))
    assert [topology.vertex_number(topology.vertex_name(v)) for v in vertices] == list(vertices)


def test_parallel_cables_are_numbered_from_0_in_both_directions(topology):
    cables = {}
    for tail, head, cable in zip(
        topology.link_tail.tolist(),
        topology.link_head.tolist(),
        topology.link_cable.tolist(),
        strict=True,
    ):
        cables.setdefault((tail, head), []).append(cable)

    for numbers in cables.values():
        assert sorted(numbers) == list(range(len(numbers)))


def test_a_link_name_carries_a_cable_number_only_beside_a_parallel_cable(topology):
    pairs = list(zip(topology.link_tail.tolist(), topology.link_head.tolist(), strict=True))

    for link, pair in enumerate(pairs):
        assert ("#" in topology.link_name(link)) == (pairs.count(pair) > 1)


def test_link_classes_tell_node_links_from_the_rest(topology):
    for link in range(topology.n_links):
        word = topology.link_class(link)
        assert (word == "injection") == (topology.link_tail[link] < topology.n_nodes)
        assert (word == "ejection") == (topology.link_head[link] < topology.n_nodes)


def test_hops_are_those_of_a_breadth_first_search(topology, spec):
    """A dragonfly's minimal path takes one blue cable; two may be shorter in the canonical one."""
    nodes = np.arange(topology.n_nodes)
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)

    hops, searched = topology.hops(src, dst), Topology.hops(topology, src, dst)

    if spec["kind"] == "dragonfly" and spec.get("variant", "canonical") in {"canonical", "aries"}:
        assert np.all(hops >= searched)
        assert np.array_equal(hops == 0, searched == 0)
    else:
        assert np.array_equal(hops, searched)


def test_total_hops_add_up_over_all_pairs(topology):
    nodes = np.random.default_rng(1).integers(0, topology.n_nodes, 20)
    first, second = np.triu_indices(nodes.size, 1)

    total = topology.total_hops(nodes)

    assert total == topology.hops(nodes[first], nodes[second]).sum()
    assert Topology.total_hops(topology, nodes) == total


def test_the_same_description_gives_the_same_fabric(spec):
    one, other = make_topology(spec), make_topology(dict(spec))

    for name in ("link_tail", "link_head", "link_cable", "capacity", "channel", "usable_nodes"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_a_machine_is_built_and_connected(machine):
    topology = make_topology(machine)
    usable = topology.usable_nodes

    hops = topology.hops(np.full(usable.size, usable[0]), usable)

    assert hops.min() == 0
    assert hops.max() <= 24  # Hopper: 8 + 4 + 12
    assert np.array_equal(topology.reverse[topology.reverse], np.arange(topology.n_links))
