"""The forecast of the cost: near what is then moved, and a refusal of what nobody can afford."""

import logging
from itertools import pairwise

import numpy as np
import pytest

from netsim.common.errors import ContentionError
from netsim.flows.contention import Traffic
from netsim.packetsim.forecast import Forecast, free_memory_bytes, require_affordable
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.dmodk import DModK
from netsim.routing.multipath import as_routed


@pytest.fixture
def two_jobs():
    """Return a tree, and two jobs that send 64 packets over 4 links, two of them shared."""
    tree = make_topology({"kind": "fat-tree", "radix": 4, "bandwidth": 1e9})
    jobs = {}
    for job, (src, dst) in enumerate([(0, 2), (1, 2)]):
        routes = DModK(tree).routes(np.array([src]), np.array([dst]))
        zero = np.zeros(1)
        jobs[job] = Traffic(zero.astype(int), np.array([src]), zero + 64 * 4096, routes, 0.0, zero)
    return tree, jobs


def test_a_scene_moves_about_as_many_packets_as_are_forecast(monkeypatch, caplog, two_jobs):
    """20 iterations together and 5 each alone."""
    monkeypatch.setattr("netsim.packetsim.forecast._REPORT_S", 0.0)
    tree, jobs = two_jobs

    with caplog.at_level(logging.WARNING, "fabricsim"):
        found = simulate_packets(jobs, tree)

    assert found.hops == pytest.approx(2 * 64 * 4 * (20 + 5), rel=0.1)
    told = caplog.records[0].getMessage()
    assert told.startswith("packet simulation: 1.3e+04 packets over links, about 0 s of CPU time")


@pytest.mark.parametrize("start_s", [{}, {1: 5e-3}], ids=["together", "one is late"])
def test_progress_counts_all_that_is_simulated_and_goes_one_way(
    monkeypatch, caplog, two_jobs, start_s
):
    """Also while one job has not started, and through the simulations of each job alone."""
    monkeypatch.setattr("netsim.packetsim.forecast._REPORT_S", 0.0)
    monkeypatch.setattr("netsim.packetsim.running._CHUNK", 500)
    tree, jobs = two_jobs

    with caplog.at_level(logging.WARNING, "fabricsim"):
        simulate_packets(jobs, tree, start_s=start_s)

    told = [record.getMessage() for record in caplog.records[1:]]
    shares = [float(line.split()[2]) for line in told]
    assert all(" %, about " in line and line.endswith(" left") for line in told)
    assert len(shares) > 10
    assert shares[0] < 20.0
    assert max(shares) <= 100.0
    assert all(later > earlier - 5.0 for earlier, later in pairwise(shares))


def test_starts_far_from_zero_change_nothing(two_jobs):
    """Both at a time at which a number tells no parts of a millisecond."""
    tree, jobs = two_jobs

    near, far = (
        simulate_packets(jobs, tree, start_s={0: at, 1: at}, iterations={0: 3, 1: 3}).jobs
        for at in (0.0, 1e12)
    )

    assert [own.interference for own in near.values()] == [own.interference for own in far.values()]


def test_tables_of_ways_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    """A torus of 512 routers, all of which are targets."""
    spec = {"kind": "torus", "dims": [8, 8, 8], "bandwidth": 1e9}
    torus = make_topology(spec)
    routing = make_routing("adaptive", torus)
    nodes = np.arange(512)
    flows = routing.routes(nodes, np.roll(nodes, 1))
    zero = np.zeros(nodes.size)
    job = Traffic(zero.astype(int), nodes, zero + 4096, flows, 0.0, zero)
    monkeypatch.setattr("netsim.packetsim.simulation.free_memory_bytes", lambda: 2e7)

    with pytest.raises(ContentionError, match="takes tables of 42 MB, of which 20 MB are free"):
        simulate_packets({0: job}, as_routed(torus, routing))


def test_more_than_a_day_or_than_the_memory_at_hand_is_refused_with_the_forecast():
    with pytest.raises(ContentionError, match=r"4.0e\+11 packets over links, about 28 hours"):
        require_affordable(Forecast(4e11, 1e6))
    with pytest.raises(
        ContentionError, match=r"1,000,000,000,000 MB, of which [0-9,]+ MB are free"
    ):
        require_affordable(Forecast(4e6, 1e18))
    require_affordable(Forecast(3e11, 1e6))


def test_the_memory_at_hand_is_that_of_this_machine():
    assert 1e7 < free_memory_bytes() < 1e15
