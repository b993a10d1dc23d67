"""Packets that wait for a full link hold up what shares the links before it, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from netsim.flows.partition import Partition
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.switches import Switch
from scheduler.traffic import RankFlows, TrafficOf

LEAF = 8
TREE = {
    "kind": "fat-tree",
    "children": [LEAF, 16],
    "parents": [1, 2],
    "parallel": [1, 1],
    "bandwidth": "100 Gb/s",
    "latency": "codes",
}
LONG = 600 * 1024.0  # ten buffers


def interference(ends, buffer_bytes=65536.0):
    """Return that of a flow from leaf 1 to leaf 15, beside a job of five senders on five leaves."""
    tree = make_topology(TREE)
    traffic_of = TrafficOf(tree, make_routing("d-mod-k", tree))
    everywhere = Partition(np.arange(tree.n_nodes), None)

    def sends(src, dst, nbytes):
        step = np.zeros(len(src), dtype=np.int64)
        flows = RankFlows(step, np.array(src), np.array(dst), np.full(len(src), nbytes))
        return traffic_of.of_flows(flows, everywhere, compute_s=0.0).traffic

    crowd = sends([LEAF * (1 + k) for k in range(5)], ends, 4 * LONG)
    ours = sends([LEAF + 1], [LEAF * 15], LONG)
    switch = replace(Switch(), buffer_bytes=buffer_bytes)
    return simulate_packets({0: ours, 1: crowd}, tree, switch, slowest_does=3).jobs[0].interference


def test_a_flow_goes_no_faster_than_the_one_it_shares_an_uplink_with():
    """
    All even nodes are reached by spine 0, so ours and one of the five leave leaf 1 by one cable.

    To five nodes the two halve it: 2. To a single node each of the five gets a fifth of that
    node's link, packet by packet; the queue stands up to leaf 1, where ours takes turns with it: 5,
    although the cable is used by two fifths.
    """
    assert interference([64, 72, 80, 88, 96]) == pytest.approx(2.0, rel=0.1)
    assert interference([64] * 5) == pytest.approx(5.0, rel=0.1)


def test_with_room_for_all_that_waits_nobody_is_blocked():
    """The crowd's messages then stand at the spine, and ours halves the cable at most."""
    assert interference([64] * 5, buffer_bytes=16 * 2.0**20) < 2.1
