"""Packets on tori, dragonflies and damaged trees: small scenes by hand, and bytes of every link."""

import numpy as np
import pytest

from netsim.flows.contention import Traffic
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.switches import Switch

GB, PACKET, DELAY_S = 1e9, 4096, 90e-9
NBYTES = 256 * PACKET
DRAGONFLY = {
    "kind": "dragonfly",
    "groups": 5,
    "routers": [2, 2],
    "nodes_per_router": 2,
    "bandwidth": GB,
}
FABRICS = {
    "torus": ({"kind": "torus", "dims": [5, 4], "bandwidth": GB}, "dimension-order"),
    "mesh": ({"kind": "torus", "dims": [5, 4], "wrap": False, "bandwidth": GB}, "dimension-order"),
    "dragonfly": (
        {
            "kind": "dragonfly",
            "groups": 5,
            "routers": [2, 2],
            "nodes_per_router": 2,
            "bandwidth": GB,
        },
        "minimal",
    ),
    "valiant": (
        {
            "kind": "dragonfly",
            "groups": 5,
            "routers": [2, 2],
            "nodes_per_router": 2,
            "bandwidth": GB,
        },
        "valiant",
    ),
    "failed": (
        {"kind": "fat-tree", "radix": 4, "bandwidth": GB, "failed_switches": ["s2.0"]},
        "shortest",
    ),
}


def job(routing, src, dst, nbytes=NBYTES, compute_s=0.0):
    """Return a job of one step."""
    src, dst = np.array(src), np.array(dst)
    routes = routing.routes(src, dst)
    zeros = np.zeros(src.size)
    return Traffic(zeros.astype(int), src, zeros + nbytes, routes, compute_s, zeros)


@pytest.fixture(params=list(FABRICS))
def scene(request):
    """Return a fabric and its routing."""
    table, routing = FABRICS[request.param]
    topology = make_topology(table)
    return topology, make_routing(routing, topology, seed=1)


def test_a_lone_message_takes_its_bytes_and_a_packet_for_every_further_link(scene):
    topology, routing = scene
    for dst in (1, topology.n_nodes // 2, topology.n_nodes - 1):
        one = job(routing, [0], [dst])
        n_links = one.routes.links.size
        seconds = NBYTES / GB + (n_links - 1) * (PACKET / GB + DELAY_S)

        found = simulate_packets({1: one}, topology).jobs[1]

        assert found.alone_s == pytest.approx(seconds, rel=1e-3)
        assert found.interference == 1.0


def test_two_messages_into_one_node_take_twice_as_long(scene):
    topology, routing = scene
    last = topology.n_nodes - 1
    both = {1: job(routing, [0], [last]), 2: job(routing, [2], [last])}

    found = simulate_packets(both, topology).jobs

    for own in found.values():
        assert own.interference == pytest.approx(2.0, rel=0.03)


def test_everybody_to_everybody_ends_and_every_link_carries_its_bytes(scene):
    """The heaviest circle of waiting there can be, with one place for a packet each."""
    topology, routing = scene
    nodes = topology.usable_nodes
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    one = job(routing, src[src != dst], dst[src != dst], nbytes=3.5 * PACKET)
    tight = Switch(buffer_bytes=PACKET)

    found = simulate_packets({1: one}, topology, tight, iterations={1: 5})

    carried = np.zeros(topology.n_links)
    carried[found.links.links] = found.links.nbytes
    expected = 5 * 3.5 * PACKET * np.bincount(one.routes.links, minlength=topology.n_links)
    # alone five iterations are made, and the last packets of a sixth may be under way
    assert np.all(carried >= expected - 1e-6)
    assert np.all(carried <= 1.2 * expected + 1e-6)
    assert np.all(found.links.utilization <= 1.0)
