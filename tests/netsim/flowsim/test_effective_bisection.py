"""Effective bisection bandwidth: published measurements, hand calculations, a slow twin."""

import networkx as nx
import numpy as np
import opensm_reference as reference
import pytest
from naive import maxmin as naive

import fabricsim as fs
from coupling.site.ebb import effective_bisection
from netsim.common.errors import NetsimError
from netsim.flowsim.effective_bisection import cut_of_halves, random_pairings
from netsim.infiniband.dump import tables_of
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology

CLOS = {"kind": "fat-tree", "children": [16, 32], "parents": [1, 16], "bandwidth": "10 Gb/s"}


def measured(spec, routing, samples=20):
    fabric = make_topology(spec)
    found = random_pairings(fabric, make_routing(routing, fabric), samples, 1)
    return float((found.rates / found.full).mean())


def test_random_static_routes_on_the_512_node_clos_get_what_was_measured():
    """Geoffray and Hoefler 2008: 0.38 with static routes; within a tenth."""
    assert 0.36 <= measured(CLOS, "ecmp") <= 0.44


def test_d_mod_k_meets_upwards_only():
    """
    A destination has one way down, so flows meet going up alone.

    16 ports of a leaf, about 16 flows that leave it: a flow meets Poisson(1) others. If its own
    port alone decided, a pair would get E min(1/(1 + X), 1/(1 + Y)) = 0.476; flows that are
    limited elsewhere leave room, so it is a little more.
    """
    assert 0.476 <= measured(CLOS, "d-mod-k") <= 0.56


@pytest.mark.parametrize(
    "routing", ["shortest", "d-mod-k", "ecmp", "adaptive", "least-loaded-per-job"]
)
def test_one_switch_is_a_crossbar(routing):
    spec = {"kind": "fat-tree", "children": [36, 1], "parents": [1, 1]}

    assert measured(spec, routing) == pytest.approx(1.0, abs=1e-12)


def test_adaptive_routing_of_a_clos_is_full_by_flows():
    assert measured(CLOS, "adaptive") == pytest.approx(1.0, abs=1e-12)


def test_two_leaves_with_one_cable_share_it_among_the_pairs_that_cross():
    """4 hosts, 2 a leaf: a pairing crosses twice (each gets 1/2) or never (1). 2 of 3 cross."""
    graph = nx.Graph([("a", "l"), ("b", "l"), ("c", "r"), ("d", "r"), ("l", "r")])
    fabric = fs.from_networkx(graph, bandwidth="1 GB/s")

    found = random_pairings(fabric, make_routing("shortest", fabric), 300, 1)

    each = found.rates / found.full
    assert set(each.ravel().tolist()) == {0.5, 1.0}
    assert each.mean() == pytest.approx(2 / 3, abs=0.05)
    assert found.peak.max() == 2.0
    assert cut_of_halves(fabric) == (1e9, 2e9)


@pytest.mark.parametrize(
    ("fields", "full", "one_way"),
    [
        ({"duplex": "half"}, 4.0, 24.0),
        ({"limiter_link": "6 B/s"}, 3.0, 18.0),
        ({"limiter_link": "99 B/s"}, 8.0, 24.0),
    ],
)
def test_what_hosts_send_and_receive_through_one_capacity_halves_what_they_are_allowed(
    fields, full, one_way
):
    """Six hosts of 8 B/s on one switch: pairs get all that a host of them can exchange."""
    fabric = make_topology({"kind": "switch", "nodes": 6, "bandwidth": "8 B/s", **fields})

    found = random_pairings(fabric, make_routing("shortest", fabric), 3, 1)

    assert found.rates == pytest.approx(np.full((3, 3), full))
    assert found.full == pytest.approx(found.rates)
    assert cut_of_halves(fabric) == pytest.approx((one_way, one_way))


def test_both_directions_of_a_half_duplex_cable_load_it():
    """Two hosts of 8 B/s exchange 4 B/s each way over a cable of 8 B/s: it is just full."""
    fabric = make_topology({"kind": "torus", "dims": [2], "wrap": False, "duplex": "half"})

    found = random_pairings(fabric, make_routing("shortest", fabric), 1, 1)

    assert found.peak == pytest.approx(np.ones(fabric.n_links))


def test_rates_are_those_of_the_slow_twin():
    fabric = make_topology({"kind": "torus", "dims": [3, 4], "bandwidth": "7 B/s"})
    routing = make_routing("dimension-order", fabric)

    found = random_pairings(fabric, routing, 1, 5)

    one, other = np.random.default_rng(5).permutation(12).reshape(2, 6)
    src, dst = np.concatenate([one, other]), np.concatenate([other, one])
    routes = routing.routes(src, dst)
    exact = naive.max_min_rates([routes.of_flow(f).tolist() for f in range(12)], fabric.capacity)
    slower = [min(float(exact[i]), float(exact[i + 6])) for i in range(6)]
    assert found.rates[0] == pytest.approx(slower)


def test_a_host_with_two_links_counts_both():
    """Two planes, each a switch: hosts have twice the bandwidth, and get it."""
    spec = {"kind": "fat-tree", "children": [8, 1], "parents": [2, 1], "bandwidth": "1 GB/s"}
    fabric = make_topology(spec)

    found = random_pairings(fabric, make_routing("d-mod-k", fabric), 3, 1)

    assert found.full.tolist() == [[2e9] * 4] * 3
    assert found.rates == pytest.approx(found.full)


def test_packets_over_several_paths_are_limited_by_the_slowest():
    """A ring of 4 under spray: opposite hosts halve their flow, so 1/2 a link and 1 in all."""
    fabric = make_topology({"kind": "torus", "dims": [4], "bandwidth": "1 GB/s"})

    found = effective_bisection(fabric, "spray", samples=200)

    shares = set(np.round(found.shares.ravel(), 9).tolist())
    assert shares <= {0.5, 1.0, 0.666666667}
    assert found.mean > effective_bisection(fabric, samples=200).mean


def test_the_bisection_of_a_tapered_tree_is_its_taper():
    """2:1 at the leaf: half of the hosts' bandwidth leaves each half of the machine."""
    tapered = make_topology({"kind": "fat-tree", "children": [8, 4], "parents": [1, 4]})

    cut, full = cut_of_halves(tapered)

    assert (cut, full) == (pytest.approx(8 * 12.5e9), pytest.approx(16 * 12.5e9))


def test_all_to_all_peak_and_bisection_of_shandy_are_the_published_ones():
    """De Sensi et al. 2020: 8 cables of 200 Gb/s a pair of groups, bisection 6.4 TB/s both ways."""
    shandy = make_topology(
        {"kind": "dragonfly", "groups": 8, "routers": 16, "nodes_per_router": 8, "global_links": 8}
        | {"lanes": [2, 1, 1], "bandwidth": ["200 Gb/s"] * 4}
    )

    assert 2 * cut_of_halves(shandy)[0] == pytest.approx(6.4e12)


def test_loaded_tables_of_opensm_decide(shared):
    """Ftree tables are D-mod-k on a PGFT, so they give what D-mod-k gives there."""
    wired = reference.wiring(shared, "ft3_r8")
    tables = tables_of(reference.dump(shared, "ft3_r8"), wired)
    fabric = wired.topology

    by_tables = random_pairings(fabric, tables, 20, 1)
    by_rule = random_pairings(fabric, make_routing("d-mod-k", fabric), 20, 1)

    assert by_tables.rates.mean() == pytest.approx(by_rule.rates.mean(), rel=0.05)
    assert by_tables.rates.mean() < 0.8 * by_tables.full.mean()


def test_fewer_than_two_hosts_are_refused():
    graph = nx.Graph([("a", "l"), ("l", "r")])
    graph.nodes["a"]["kind"], graph.nodes["r"]["kind"] = "node", "switch"
    fabric = fs.from_networkx(graph, bandwidth="1 GB/s")

    with pytest.raises(NetsimError, match=r"needs two hosts that take jobs; .* has 1\.$"):
        fs.ebb(fabric)
