"""Latency of messages: by hand, as packets have it, and as scaling messages needs it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsim.flows.latency import LatencyOf, scale_to
from netsim.flows.partition import Partition
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed
from netsim.topology.routes import Routes
from netsim.topology.switches import Switch
from scheduler.traffic import RankFlows, TrafficOf

TREE = {"kind": "fat-tree", "radix": 8, "bandwidth": "100 Gb/s", "latency": "codes"}
NO_JITTER = Switch(jitter_s=0.0)


def one_message(fabric, routing, dst, nbytes):
    """Return the traffic of a job that sends one message from node 0, and its seconds alone."""
    flow = RankFlows(np.array([0]), np.array([0]), np.array([1]), np.array([float(nbytes)]))
    nodes = Partition(np.array([0, dst]), None)
    return TrafficOf(fabric, routing).of_flows(flow, nodes, compute_s=1e-6)


@pytest.mark.parametrize("dst", [1, 5, 100])  # 2, 4 and 6 links away
@pytest.mark.parametrize("nbytes", [64, 1000, 4095, 4096, 6000, 65536])
def test_a_lone_message_takes_as_long_as_its_packets(dst, nbytes):
    tree = make_topology(TREE)
    placed = one_message(tree, make_routing("d-mod-k", tree), dst, nbytes)

    times = simulate_packets(
        {0: placed.traffic}, tree, NO_JITTER, start_s={0: 0.0}, slowest_does=3, seed=0
    )

    assert placed.alone_s == pytest.approx(times.jobs[0].alone_s, rel=1e-6)


def test_other_links_than_the_slowest_add_a_packet_each():
    """1,000 bytes over links of 1, 2 and 1 GB/s, the slowest in the drain time: 0.5 + 1 us more."""
    tree = make_topology(
        {
            "kind": "fat-tree",
            "children": [2, 2],
            "parents": [1, 1],
            "bandwidth": ["1 GB/s", "2 GB/s"],
            "packet": "1 kB",
            "latency_per_link_s": "100 ns",
            "latency_base_s": "1 us",
        }
    )
    link = tree.link_number
    up, across, down = link("n0>s1.0"), link("s1.0>s2.0"), link("s1.0>n1")
    latency = LatencyOf(tree)(Routes.from_lists([[up, across, down], [], [up, down]], tree.n_links))

    np.testing.assert_allclose(latency.of(np.array([1e6, 1e6, 500.0])), [2.7e-6, 0.0, 1.6e-6])


def test_without_packets_length_does_not_matter():
    tree = make_topology(
        {"kind": "cab", "latency_base_s": "315 ns", "latency_per_link_s": 4e-7, "packet": 0}
    )
    routes = make_routing("d-mod-k", tree).routes(np.array([0, 0, 0]), np.array([0, 1, 1000]))

    latency = LatencyOf(tree)(routes)

    for nbytes in (1.0, 1e9):
        np.testing.assert_allclose(latency.of(np.full(3, nbytes)), [0.0, 7.15e-7, 2.315e-6])


def test_where_switches_choose_the_links_count_not_their_pools():
    tree = make_topology(TREE)
    adaptive = make_routing("adaptive", tree)
    fabric = as_routed(tree, adaptive)
    routes = adaptive.routes(np.array([0]), np.array([100]))

    latency_s = LatencyOf(fabric)(routes).of(np.array([4096.0]))

    np.testing.assert_allclose(latency_s, 5 * (90e-9 + 4096 / 12.5e9))


def test_paths_of_very_many_links_have_their_latency():
    ring = make_topology({"kind": "torus", "dims": [200], **{k: TREE[k] for k in ("latency",)}})
    routes = make_routing("dimension-order", ring).routes(np.array([0]), np.array([99]))

    latency_s = LatencyOf(ring)(routes).of(np.array([1e6]))

    np.testing.assert_allclose(latency_s, 100 * (90e-9 + 4096 / 12.5e9))


@given(
    sizes=st.lists(st.floats(1.0, 1e6), min_size=1, max_size=6),
    hops=st.lists(st.integers(2, 6), min_size=6, max_size=6),
    one_step=st.booleans(),
    share=st.floats(0.01, 100.0),
)
def test_messages_are_scaled_so_that_steps_take_what_is_wanted(sizes, hops, one_step, share):
    """The time of a scale is what a plain sum says; it is asked back from there."""
    tree = make_topology(TREE)
    reach = {2: 1, 3: 5, 4: 5, 5: 100, 6: 100}
    nbytes = np.array(sizes)
    dst = np.array([reach[n] for n in hops[: nbytes.size]])
    routes = make_routing("d-mod-k", tree).routes(np.zeros_like(dst), dst)
    step = np.zeros(nbytes.size, np.int64) if one_step else np.arange(nbytes.size)
    latency = LatencyOf(tree)(routes)
    drain_s = float(nbytes.sum()) / 12.5e9

    def total_s(scale):
        latency_s = latency.of(scale * nbytes)
        longest = [max(latency_s[step == a]) for a in range(step[-1] + 1)]
        return scale * drain_s + sum(longest)

    as_is_s = drain_s, total_s(1.0) - drain_s
    found = scale_to(total_s(share), as_is_s, step, nbytes, latency)

    assert found == pytest.approx(share, rel=1e-9)


def test_what_latency_alone_takes_leaves_no_messages():
    tree = make_topology(TREE)
    routes = make_routing("d-mod-k", tree).routes(np.array([0]), np.array([100]))
    latency, step, nbytes = LatencyOf(tree)(routes), np.zeros(1, np.int64), np.array([100.0])

    as_is_s = 8e-9, 5 * (90e-9 + 8e-9)
    assert scale_to(5 * 90e-9, as_is_s, step, nbytes, latency) <= 0.0
    assert scale_to(5 * 90e-9 + 1e-12, as_is_s, step, nbytes, latency) > 0.0


@pytest.mark.parametrize("nbytes", [100.0, 4096.0, 1e9])
def test_where_links_are_alike_hops_are_enough(nbytes):
    tree = make_topology(TREE)
    routes = make_routing("d-mod-k", tree).routes(np.zeros(4, np.int64), np.array([0, 1, 5, 100]))

    by_routes = LatencyOf(tree)(routes).of(np.full(4, nbytes))

    np.testing.assert_allclose(tree.path_latency_s(routes.hops, nbytes), by_routes)
    assert by_routes[0] == 0.0


@pytest.mark.parametrize("nbytes", [1024, 4096])
def test_where_switches_choose_the_slowest_is_that_of_the_drain_time(nbytes):
    """A pool of slow links is fast together, but each packet takes one of them."""
    tree = make_topology(
        {
            "kind": "fat-tree",
            "children": [8, 4, 4],
            "parents": [1, 4, 2],
            "bandwidth": ["100 Gb/s", "40 Gb/s", "200 Gb/s"],
            "latency": "codes",
        }
    )
    routing = make_routing("adaptive", tree)
    placed = one_message(as_routed(tree, routing), routing, 100, nbytes)
    byte_s = 2 / 12.5e9 + 2 / 5e9 + 2 / 25e9

    assert placed.alone_s == pytest.approx(1e-6 + 5 * 90e-9 + nbytes * byte_s, rel=1e-9)


def test_where_packets_take_many_ways_the_slowest_is_what_one_link_carries():
    torus = make_topology(
        {
            "kind": "torus",
            "dims": [6, 6],
            "bandwidth": ["100 Gb/s", "25 Gb/s", "25 Gb/s"],
            "latency": "codes",
        }
    )
    routing = make_routing("adaptive", torus)
    placed = one_message(as_routed(torus, routing), routing, 14, 1000.0)

    expected = 5 * 90e-9 + 1000 * (2 / 12.5e9 + 4 / 3.125e9)
    assert placed.alone_s - 1e-6 == pytest.approx(expected, rel=1e-9)
