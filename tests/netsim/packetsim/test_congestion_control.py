"""Congestion control: what an incast leaves to others, by hand; what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import fabricsim as fs
from netsim.common.errors import ContentionError
from netsim.flows.partition import Partition
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.switches import Switch, switch_of
from scheduler.traffic import RankFlows, TrafficOf

LEAF = 8
TREE = make_topology(
    {"kind": "fat-tree", "children": [LEAF, 16], "parents": [1, 2], "latency": "codes"}
    | {"bandwidth": "100 Gb/s"}
)
LONG = 600 * 1024.0
END_POINT = replace(Switch(), congestion_control="end-point", reaction_s=5e-6)
DCQCN = replace(Switch(), congestion_control="dcqcn")


def sends(src, dst, nbytes):
    step = np.zeros(len(src), dtype=np.int64)
    flows = RankFlows(step, np.array(src), np.array(dst), np.full(len(src), nbytes))
    everywhere = Partition(np.arange(TREE.n_nodes), None)
    traffic_of = TrafficOf(TREE, make_routing("d-mod-k", TREE))
    return traffic_of.of_flows(flows, everywhere, compute_s=0.0).traffic


def beside_an_incast(switch):
    """Return a flow that shares its uplink with one of five senders to one node, and the five."""
    five = sends([LEAF * (1 + k) for k in range(5)], [64] * 5, 4 * LONG)
    ours = sends([LEAF + 1], [LEAF * 15], LONG)
    return simulate_packets({0: ours, 1: five}, TREE, switch, slowest_does=3).jobs


def test_an_end_point_limit_leaves_the_uplink_to_others():
    """
    Without it the queue stands up to the leaf, where ours takes turns: 5 times.

    With it each of the five gets a fifth of the receiver's link, and ours four fifths of the
    uplink: 1.25. The five take as long as before, as their receiver's link decides.
    """
    without, limited = beside_an_incast(Switch()), beside_an_incast(END_POINT)

    assert without[0].interference == pytest.approx(5.0, rel=0.1)
    assert limited[0].interference == pytest.approx(1.25, rel=0.03)
    assert limited[1].alone_s == pytest.approx(without[1].alone_s, rel=0.01)


def test_dcqcn_leaves_more_to_others_than_no_congestion_control():
    without, marked = beside_an_incast(Switch()), beside_an_incast(DCQCN)

    assert 1.0 < marked[0].interference < 0.8 * without[0].interference


def test_a_lone_flow_is_as_fast_as_without():
    for switch in (END_POINT, DCQCN):
        alone = [
            simulate_packets({0: sends([0], [64], LONG)}, TREE, s, slowest_does=3).jobs[0].alone_s
            for s in (switch, Switch())
        ]
        assert alone[0] == pytest.approx(alone[1], rel=1e-3)


def test_a_receiver_is_offered_no_more_than_it_takes_in_its_reaction_time():
    """Fifteen senders: at most 5 us x 12.5 GB/s = 62.5 kB are under way; without it 15 buffers."""
    waited = {}
    for name, switch in (("without", Switch()), ("limited", END_POINT)):
        job = sends([LEAF * k for k in range(1, 16)], [0] * 15, LONG)
        use = simulate_packets({0: job}, TREE, switch, slowest_does=3).links
        waited[name] = use.waited_s[TREE.link_tail[use.links] >= TREE.n_nodes].sum()

    assert waited["limited"] <= 5e-6
    assert waited["without"] > 5 * waited["limited"]


def test_dcqcn_divides_a_link_among_two_and_fills_it():
    """Two senders to one receiver: alike, and at more than nine tenths of the link in the mean."""
    one, other = (sends([LEAF * k], [64], 64 * LONG) for k in (1, 2))
    jobs = simulate_packets({0: one, 1: other}, TREE, DCQCN, slowest_does=4).jobs

    rates = [64 * LONG / jobs[k].together_s / 12.5e9 for k in (0, 1)]
    assert rates[0] == pytest.approx(rates[1], rel=0.2)
    assert sum(rates) > 0.9


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"congestion_control": "timely"}, "expected one of none, end-point, dcqcn"),
        ({"congestion_control": "end-point"}, "reaction: expected a time such as '10 us'"),
        ({"reaction": "5 us"}, "reaction: expected none: only 'end-point' has one"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(table, words):
    with pytest.raises(ContentionError, match=words):
        switch_of(TREE, table)


def test_a_reaction_below_a_round_trip_is_refused():
    """Four links: four packets of 328 ns, and three switches there and back, of 90 ns or more."""
    switch = {"congestion_control": "end-point", "reaction": "1 us"}
    scene = {
        "topology": TREE,
        "model": "packets",
        "switch": switch,
        "jobs": [{"id": 1, "nodes": [0, 64], "steps": [[[0, 1, "1 MiB"]]], "compute_s": 0}],
    }

    with pytest.raises(fs.FabricsimError, match=r"reaction: expected a round trip at least, .* us"):
        fs.estimate(scene)
