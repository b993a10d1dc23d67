"""Max-min fair rates: an exact twin, a certificate, and what is refused."""

import math

import numpy as np
import pytest
from certificates import assert_max_min_fair
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import maxmin as naive

from netsim.common.errors import NetsimError
from netsim.flows.maxmin import is_per_sender, max_min_rates
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.routes import Routes

E_MAX = 8


@st.composite
def networks(draw):
    """Return links of each flow, capacities, weights or None, and channels or None."""
    n_links = draw(st.integers(1, E_MAX))
    link = st.integers(0, n_links - 1)
    lists = draw(st.lists(st.lists(link, max_size=4, unique=True), min_size=1, max_size=12))
    weights = draw(st.none() | st.just([1.0 / draw(st.integers(1, 4)) for _ in lists]))
    channel = draw(st.none() | st.just([draw(link) for _ in range(n_links)]))
    by_channel = [float(draw(st.integers(1, 12))) for _ in range(n_links)]
    numbers = range(n_links) if channel is None else channel
    return lists, [by_channel[c] for c in numbers], weights, channel


def rates_of(lists, capacity, weights=None, channel=None):
    """Return the rates of the code under test."""
    return max_min_rates(
        Routes.from_lists(lists, len(capacity)),
        np.array(capacity),
        None if weights is None else np.array(weights),
        None if channel is None else np.array(channel),
    )


@settings(deadline=None, max_examples=150)
@given(networks())
def test_rates_equal_exact_fractions_and_carry_a_bottleneck_certificate(network):
    """Weights, shared channels and channels crossed twice included."""
    lists, capacity, weights, channel = network

    rates = rates_of(lists, capacity, weights, channel)

    exact = naive.max_min_rates(lists, capacity, weights, channel)
    expected = [math.inf if rate is None else float(rate) for rate in exact]
    np.testing.assert_allclose(rates, expected, rtol=1e-12)
    assert_max_min_fair(rates, lists, capacity, weights, channel)


@pytest.mark.parametrize("per_sender", [False, True])
def test_thousands_of_random_flows_on_a_fat_tree_carry_the_certificate(per_sender):
    tree = fat_tree_of_radix(16, 12.5e9)
    rng = np.random.default_rng(5)
    src, dst = rng.integers(tree.n_nodes, size=(2, 8000))
    routes = DModK(tree).routes(src, dst)
    weights = naive.sender_weights(src, routes) if per_sender else np.ones(src.size)

    rates = max_min_rates(routes, tree.capacity, weights)

    lists = [routes.of_flow(f).tolist() for f in range(routes.n_flows)]
    assert_max_min_fair(rates, lists, tree.capacity, weights)


def test_three_flows_by_hand():
    """
    Link 0 (9 B/s) has flows a, b; link 1 (4 B/s) has flows b, c.

    b and c take 2 each of link 1; a gets the 7 that b leaves on link 0. With weight 1/3 for b:
    b = 4 (1/3) / (4/3) = 1, c = 3, a = 8.
    """
    lists, capacity = [[0], [0, 1], [1]], [9.0, 4.0]

    np.testing.assert_allclose(rates_of(lists, capacity), [7, 2, 2])
    np.testing.assert_allclose(rates_of(lists, capacity, [1, 1 / 3, 1]), [8, 1, 3])


def test_both_directions_of_a_half_duplex_cable_share_its_capacity():
    """Opposite flows on links 0 and 1: 10 each on a full-duplex cable, 5 each on one channel."""
    np.testing.assert_allclose(rates_of([[0], [1]], [10.0, 10.0]), [10, 10])
    np.testing.assert_allclose(rates_of([[0], [1]], [10.0, 10.0], channel=[0, 0]), [5, 5])


def test_senders_with_many_flows_get_no_more_than_senders_with_one():
    """Node 0 sends two flows and node 1 one over a shared link: halves for the senders."""
    routes = Routes.from_lists([[0, 2], [0, 2], [1, 2]], 3)

    weights = naive.sender_weights(np.array([0, 0, 1]), routes)
    rates = max_min_rates(routes, np.array([10.0, 10.0, 8.0]), weights)

    np.testing.assert_allclose(weights, [0.5, 0.5, 1.0])
    np.testing.assert_allclose(rates, [2, 2, 4])


def test_a_flow_inside_a_node_is_not_open_at_its_sender():
    routes = Routes.from_lists([[], [0]], 1)

    weights = naive.sender_weights(np.array([0, 0]), routes)

    assert weights[1] == 1.0


def test_no_flows_have_no_rates():
    assert rates_of([], [1.0]).size == 0


@pytest.mark.parametrize("capacity", [[1.0], [1.0, 0.0], [1.0, -2.0], [1.0, np.nan], [1.0, np.inf]])
def test_capacity_of_wrong_length_or_sign_is_refused(capacity):
    with pytest.raises(NetsimError, match=r"capacity(:| must hold)"):
        max_min_rates(Routes.from_lists([[0, 1]], 2), np.array(capacity))


@pytest.mark.parametrize("weights", [[1.0, 1.0], [0.0], [np.nan], [np.inf], [-1.0]])
def test_weights_of_wrong_length_or_sign_are_refused(weights):
    with pytest.raises(NetsimError, match=r"weights(:| must hold)"):
        rates_of([[0, 1]], [1.0, 1.0], weights)


@pytest.mark.parametrize("channel", [[0], [0, 2], [0, -1]])
def test_channels_of_wrong_length_or_range_are_refused(channel):
    with pytest.raises(NetsimError, match=r"channel(:| must hold)"):
        rates_of([[0, 1]], [1.0, 1.0], None, channel)


def test_unknown_fairness_lists_the_choices():
    with pytest.raises(NetsimError, match=r"unknown fairness 'fair'.*per-sender, per-flow"):
        is_per_sender("fair")
