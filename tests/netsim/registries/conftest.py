"""Small fabrics and traffic for the contention models."""

import numpy as np
import pytest
from iterating import make_fabric

from netsim.flows.contention import Traffic
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.routes import Routes


def make_traffic(steps, compute_s, n_links, n_nodes=8):
    """Return the traffic of steps, each a list of flows (sender, bytes, links, latency)."""
    flows = [(a, *flow) for a, step in enumerate(steps) for flow in step]
    return Traffic(
        step=np.array([flow[0] for flow in flows], dtype=np.int64),
        sender=np.array([flow[1] for flow in flows], dtype=np.int64),
        nbytes=np.array([flow[2] for flow in flows], dtype=float),
        routes=Routes.from_lists([flow[3] for flow in flows], n_links),
        compute_s=compute_s,
        latency_s=np.array([flow[4] for flow in flows], dtype=float),
        n_nodes=n_nodes,
    )


@pytest.fixture(scope="session")
def fabric():
    """Return a function that makes a fabric of links of given capacities."""
    return make_fabric


@pytest.fixture(scope="session")
def traffic():
    """Return a function that makes `Traffic` of plain steps."""
    return make_traffic


@pytest.fixture(scope="session")
def tree():
    """Return the full tree of 128 nodes with latency."""
    return fat_tree_of_radix(8, 12.5e9, latency_base_s=315e-9, latency_per_link_s=417.7e-9)
