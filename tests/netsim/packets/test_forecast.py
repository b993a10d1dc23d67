"""The forecast of the cost: near what is then moved, and a refusal of what nobody can afford."""

import logging

import numpy as np
import pytest

from netsim.contention.base import Traffic
from netsim.errors import ContentionError
from netsim.packets.forecast import Forecast, demand_affordable, free_memory_bytes
from netsim.packets.simulation import simulate_packets
from netsim.routing.dmodk import DModK
from netsim.topologies import make_topology


def test_a_scene_moves_about_as_many_packets_as_are_forecast(monkeypatch, caplog):
    """Two jobs of 64 packets over 4 links: 20 iterations together and 5 each alone."""
    monkeypatch.setattr("netsim.packets.simulation._TELL_S", 0.0)
    tree = make_topology({"kind": "fat-tree", "radix": 4, "bandwidth": 1e9})
    jobs = {}
    for job, (src, dst) in enumerate([(0, 2), (1, 2)]):
        routes = DModK(tree).routes(np.array([src]), np.array([dst]))
        zero = np.zeros(1)
        jobs[job] = Traffic(zero.astype(int), np.array([src]), zero + 64 * 4096, routes, 0.0, zero)

    with caplog.at_level(logging.WARNING, "fabricsim"):
        found = simulate_packets(jobs, tree)

    assert found.hops == pytest.approx(2 * 64 * 4 * (20 + 5), rel=0.1)
    told = caplog.records[0].getMessage()
    assert told.startswith("packet simulation: 1.3e+04 packets over links, about 0 s of CPU time")


def test_more_than_a_day_or_than_the_memory_at_hand_is_refused_with_the_forecast():
    with pytest.raises(ContentionError, match=r"4.0e\+11 packets over links, about 28 hours"):
        demand_affordable(Forecast(4e11, 1e6))
    with pytest.raises(
        ContentionError, match=r"1,000,000,000,000 MB, of which [0-9,]+ MB are free"
    ):
        demand_affordable(Forecast(4e6, 1e18))
    demand_affordable(Forecast(3e11, 1e6))


def test_the_memory_at_hand_is_that_of_this_machine():
    assert 1e7 < free_memory_bytes() < 1e15
