"""Loads, counted by hand."""

import numpy as np

from netsim.flowsim.flow_report import link_bytes, link_flows
from netsim.topology.routes import Routes


def test_flows_and_bytes_of_three_routes_by_hand():
    """Link 1 carries flows 0 and 2, link 3 none; flow 1 stays inside its node."""
    routes = Routes.from_lists([[0, 1], [], [2, 1]], 4)

    assert link_flows(routes).tolist() == [1, 2, 1, 0]
    assert link_bytes(routes, np.array([10.0, 5.0, 3.0])).tolist() == [10, 13, 3, 0]
