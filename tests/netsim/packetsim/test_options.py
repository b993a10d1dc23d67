"""Order of a NIC's messages, and iterations that do not count, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from netsim.common.errors import ContentionError
from netsim.flows.partition import Partition
from netsim.packetsim.model import PacketModel
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.switches import Switch
from scheduler.traffic import RankFlows, TrafficOf

MB, CARD = 2**20, 1e9
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": CARD}
FIRST_COME = replace(Switch(), nic="first-come")


def sent(*jobs):
    """Return the fabric and the traffic of jobs of messages (step, source, end, bytes)."""
    tree = make_topology(TREE)
    of, nodes = TrafficOf(tree, make_routing("d-mod-k", tree)), Partition(np.arange(16), None)
    parts = {}
    for number, messages in enumerate(jobs):
        flows = RankFlows(*(np.array(column) for column in zip(*messages, strict=True)))
        parts[number] = of.of_flows(flows, nodes, compute_s=0.0).traffic
    return tree, parts


@pytest.mark.parametrize(("first", "times"), [("short", 4), ("long", 8)])
def test_messages_in_their_given_order_hold_up_what_waits_for_the_last(first, times):
    """
    A round takes the time of 4 or of 8 MiB.

    Node 0 sends 4 MiB to node 4 and a packet to node 1, which then sends 4 MiB to node 9; node 9
    sends a packet back. Both long messages go up different cables. A card
    that serves first come sends the packet at once or after the 4 MiB.
    """
    both = {"short": (0, 0, 1, 4096.0), "long": (0, 0, 4, 4.0 * MB)}
    other = next(name for name in both if name != first)
    job = [both[first], both[other], (1, 1, 9, 4.0 * MB), (2, 9, 0, 4096.0)]
    tree, traffic = sent(job)

    found = simulate_packets(
        traffic, tree, replace(FIRST_COME, order="given"), stepping="rank", slowest_does=4
    )

    assert found.jobs[0].alone_s == pytest.approx(times * MB / CARD, rel=0.02)


@pytest.mark.parametrize(("dropped", "units"), [(0, 1.775), (1, 2.0), (2, 2.0)])
def test_the_first_iterations_count_only_where_none_is_dropped(dropped, units):
    """
    A job alone on its cable in its first iteration, which takes a unit, then beside another: two.

    It does four or five of them until the other, which starts then, has done four: the mean of all
    is 7 / 4 or 9 / 5 units.
    """
    tree, traffic = sent([(0, 0, 4, 8.0 * MB)], [(0, 1, 8, 8.0 * MB)])
    unit_s = 8 * MB / CARD

    found = simulate_packets(
        traffic, tree, start_s={0: 0.0, 1: unit_s}, slowest_does=4, dropped=dropped
    )

    assert found.jobs[0].alone_s == pytest.approx(unit_s, rel=0.01)
    assert found.jobs[0].together_s == pytest.approx(units * unit_s, rel=0.02)


def test_no_iteration_would_be_left_is_refused():
    tree, traffic = sent([(0, 0, 4, 1.0 * MB)])

    with pytest.raises(ContentionError, match="iterations: expected more than the 4 dropped"):
        simulate_packets(traffic, tree, slowest_does=4, dropped=4)
    with pytest.raises(ContentionError, match="iterations: expected a whole number from 31"):
        PacketModel(tree, iterations=20, dropped=30)


def test_a_buffer_beyond_the_bound_of_all_doors_is_refused():
    tree, traffic = sent([(0, 0, 4, 1.0 * MB)])

    with pytest.raises(ContentionError, match=r"buffer: .* 1 GiB at most"):
        simulate_packets(traffic, tree, Switch(buffer_bytes=2.0**31))
