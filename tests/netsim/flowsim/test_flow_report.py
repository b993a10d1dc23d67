"""Flows that start together: by hand, an exact twin, and SimGrid's cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import exact as naive
from naive.maxmin import sender_weights
from simgridcases import (
    FAT_TREE_FLOWS,
    OTHER_FLOWS,
    fat_tree_link,
    fat_tree_of,
    load_case,
    stored_network,
)

from netsim.common.errors import NetsimError
from netsim.flows.maxmin import max_min_rates
from netsim.flowsim.flow_report import finish_times, report_flows
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import build_fat_tree
from netsim.topology.routes import Routes

FAIRNESS = ["per-flow", "per-sender"]


@pytest.mark.parametrize("name", FAT_TREE_FLOWS)
def test_fat_tree_routes_rates_and_finish_times_are_simgrids(name, shared):
    """Routes identical; rates and finish times within 1e-9, half duplex and taper included."""
    case = load_case(shared, name)
    tree = fat_tree_of(case)

    report = report_flows(
        tree, DModK(tree), case["src"], case["dst"], case["bytes"], fairness="per-flow"
    )

    number = np.array([fat_tree_link(tree, link) for link in case["links"]])
    expected = Routes.from_lists(case["routes"], number.size)
    np.testing.assert_array_equal(report.routes.indptr, expected.indptr)
    crossed = tree.channel[report.routes.links]  # a half-duplex cable has one name there
    np.testing.assert_array_equal(crossed, tree.channel[number[expected.links]])
    np.testing.assert_allclose(report.rates, case["rate0"], rtol=1e-9)
    np.testing.assert_allclose(report.finish_s, case["finish"], rtol=1e-9)


def test_rates_on_simgrids_routes_over_two_rails_are_its_own(shared):
    """SimGrid's D-mod-k chooses the link of a node by the destination, and then divides by it."""
    case = load_case(shared, "rail2-perm")
    tree = fat_tree_of(case)
    number = [fat_tree_link(tree, link) for link in case["links"]]
    routes = Routes.from_lists(
        [[number[link] for link in row] for row in case["routes"]], tree.n_links
    )

    rates, finish_s = finish_times(
        routes, np.array(case["src"]), np.array(case["bytes"]), tree.capacity, fairness="per-flow"
    )

    np.testing.assert_allclose(rates, case["rate0"], rtol=1e-9)
    np.testing.assert_allclose(finish_s, case["finish"], rtol=1e-9)


@pytest.mark.parametrize("name", OTHER_FLOWS)
def test_rates_and_finish_times_on_stored_torus_and_dragonfly_routes_are_simgrids(name, shared):
    case = load_case(shared, name)
    routes, capacity = stored_network(case)

    rates, finish_s = finish_times(
        routes, np.array(case["src"]), np.array(case["bytes"]), capacity, fairness="per-flow"
    )

    np.testing.assert_allclose(rates, case["rate0"], rtol=1e-9)
    np.testing.assert_allclose(finish_s, case["finish"], rtol=1e-9)


@st.composite
def flow_sets(draw):
    """Return links and sender of each flow, bytes, capacities, and channels or None."""
    n_links = draw(st.integers(1, 5))
    link = st.integers(0, n_links - 1)
    lists = draw(st.lists(st.lists(link, max_size=3, unique=True), min_size=1, max_size=8))
    senders = [draw(st.integers(0, 2)) for _ in lists]
    nbytes = [float(draw(st.integers(1, 6))) for _ in lists]
    channel = draw(st.none() | st.just([draw(link) for _ in range(n_links)]))
    by_channel = [float(draw(st.integers(1, 4))) for _ in range(n_links)]
    numbers = range(n_links) if channel is None else channel
    return lists, senders, nbytes, [by_channel[c] for c in numbers], channel


@settings(deadline=None, max_examples=150)
@given(flow_sets(), st.booleans())
def test_finish_times_equal_exact_fractions_solved_anew_at_each_event(flows, per_sender):
    lists, senders, nbytes, capacity, channel = flows

    _, finish_s = finish_times(
        Routes.from_lists(lists, len(capacity)),
        np.array(senders),
        np.array(nbytes),
        np.array(capacity),
        channel=None if channel is None else np.array(channel),
        fairness=FAIRNESS[per_sender],
    )

    expected = naive.finish_times(lists, senders, nbytes, capacity, channel, per_sender=per_sender)
    np.testing.assert_allclose(finish_s, [float(time) for time in expected], rtol=1e-9)


def solved_anew(routes, sender, nbytes, capacity, fairness):
    """Return finish times by solving all rates at every completion (`max_min_rates` is proved)."""
    finish, left, now = np.zeros(nbytes.size), nbytes.copy(), 0.0
    while np.any(left > 0):
        active = np.flatnonzero(left > 0)
        lists = [routes.of_flow(flow).tolist() for flow in active]
        rows = Routes.from_lists(lists, routes.n_links)
        weights = sender_weights(sender[active], rows) if fairness == "per-sender" else None
        rates = max_min_rates(rows, capacity, weights)
        step = np.min(left[active] / rates)
        now += step
        left[active] -= rates * step
        done = active[left[active] <= 1e-12 * nbytes[active]]
        left[done], finish[done] = 0.0, now
    return finish


@pytest.mark.parametrize("fairness", FAIRNESS)
@pytest.mark.parametrize("sizes", ["equal", "mixed"])
def test_re_sharing_where_levels_move_equals_solving_all_anew(fairness, sizes):
    """400 random flows on a tapered tree: long chains of bottlenecks, many ties."""
    tree = build_fat_tree((4, 4, 4), (1, 2, 3), (1, 1, 1), ["1 B/s", "2 B/s", "1.5 B/s"])
    rng = np.random.default_rng(11)
    src = rng.integers(tree.n_nodes, size=400)
    dst = (src + rng.integers(1, tree.n_nodes, size=400)) % tree.n_nodes
    nbytes = np.ones(400) if sizes == "equal" else 10 ** rng.uniform(-3, 3, size=400)

    report = report_flows(tree, DModK(tree), src, dst, nbytes, fairness=fairness)

    expected = solved_anew(report.routes, src, nbytes, tree.capacity, fairness)
    np.testing.assert_allclose(report.finish_s, expected, rtol=1e-9)


def test_weights_follow_the_flows_still_open_at_the_sender():
    """
    By hand: link 0 carries 12 B/s; sender 0 has flows a (3 B) and b (9 B), sender 1 has c (18 B).

    Per sender a, b, c get 3, 3, 6 B/s. At 1 s a is done; b has 6 B left, c 12 B, and each
    sender has one flow: 6 B/s each. At 2 s b is done; c has 6 B left at 12 B/s: 2.5 s.
    Per flow all get 4: a ends at 0.75 s; then 6 each: b at 1.75 s; c 9 B later: 2.5 s.
    """
    routes = Routes.from_lists([[0], [0], [0]], 1)
    sender, nbytes, capacity = np.array([0, 0, 1]), np.array([3.0, 9, 18]), np.array([12.0])

    rates, senders_s = finish_times(routes, sender, nbytes, capacity)
    _, flows_s = finish_times(routes, sender, nbytes, capacity, fairness="per-flow")

    np.testing.assert_allclose(rates, [3, 3, 6])
    np.testing.assert_allclose(senders_s, [1, 2, 2.5])
    np.testing.assert_allclose(flows_s, [0.75, 1.75, 2.5])


def test_a_flow_within_a_node_is_done_at_once_and_latency_counts_for_the_others():
    """Latency 2 s + 1 s for each link after the first; 8 B at 4 B/s over 4 links: 2 + 5 s."""
    tree = build_fat_tree(
        (2, 2), (1, 2), (1, 1), "4 B/s", latency_base_s="2 s", latency_per_link_s="1 s"
    )

    report = report_flows(tree, DModK(tree), [0, 0], [0, 3], [8.0, 8.0])

    assert report.rates.tolist() == [np.inf, 4.0]
    assert report.finish_s.tolist() == [0.0, 7.0]
    assert report.link_flows.sum() == 4
    assert report.link_bytes.sum() == 32.0


def test_no_flows_make_an_empty_report():
    tree = build_fat_tree((2, 2), (1, 2), (1, 1), "4 B/s")

    report = report_flows(tree, DModK(tree), [], [], [])

    assert report.finish_s.size == 0
    assert not report.link_flows.any()


@pytest.mark.parametrize(
    ("src", "dst", "nbytes", "message"),
    [
        ([0], [1, 2], [1.0], "src and dst: expected one of each for every flow, got 1 and 2"),
        ([4], [1], [1.0], "src: expected a list of whole numbers 0..3, got 4"),
        ([0], [-1], [1.0], "dst: expected a list of whole numbers 0..3, got -1"),
        ([0], [1], [0.0], "nbytes must be positive"),
        ([0], [1], [np.nan], "nbytes: expected a list of finite numbers from 0, got nan"),
    ],
)
def test_flows_that_make_no_sense_are_refused(src, dst, nbytes, message):
    tree = build_fat_tree((2, 2), (1, 2), (1, 1), "4 B/s")

    with pytest.raises(NetsimError, match=message):
        report_flows(tree, DModK(tree), src, dst, nbytes)
