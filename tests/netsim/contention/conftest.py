"""Small scenes for the contention models, as `Traffic` and as plain lists for the naive twin."""

import numpy as np
import pytest
from iterating import make_fabric

from netsim.contention.base import Traffic
from netsim.routes import Routes
from netsim.topology.fattree import fat_tree_of_radix


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


def make_plain(traffic):
    """Return steps and compute time of a traffic as lists."""
    steps = [[] for _ in range(int(traffic.step.max(initial=-1)) + 1)]
    for f, a in enumerate(traffic.step.tolist()):
        flow = (
            int(traffic.sender[f]),
            float(traffic.nbytes[f]),
            traffic.routes.of_flow(f).tolist(),
            float(traffic.latency_s[f]),
        )
        steps[a].append(flow)
    return steps, traffic.compute_s


def make_jobs(rng, n_links, n_jobs, *, one_flow_per_sender=False):
    """Return random jobs over general links: steps of flows along random paths."""
    jobs = []
    for _ in range(n_jobs):
        steps = []
        for _ in range(rng.integers(1, 4)):
            senders = rng.permutation(12)[: rng.integers(1, 5)]
            if not one_flow_per_sender:
                senders = rng.choice(senders, rng.integers(1, 7))
            nbytes = rng.uniform(1.0, 9.0) if one_flow_per_sender else None
            steps.append(
                [
                    (
                        int(sender),
                        float(nbytes or rng.uniform(1.0, 9.0)),
                        rng.permutation(n_links)[: rng.integers(1, 4)].tolist(),
                        float(rng.uniform(0.0, 0.2)),
                    )
                    for sender in senders
                ]
            )
        jobs.append((steps, float(rng.uniform(0.0, 8.0))))
    return jobs


@pytest.fixture(scope="session")
def fabric():
    """Return a function that makes a fabric of links of given capacities."""
    return make_fabric


@pytest.fixture(scope="session")
def traffic():
    """Return a function that makes `Traffic` of plain steps."""
    return make_traffic


@pytest.fixture(scope="session")
def plain():
    """Return a function that makes plain steps of `Traffic`."""
    return make_plain


@pytest.fixture(scope="session")
def random_jobs():
    """Return a function that draws jobs over general links."""
    return make_jobs


@pytest.fixture(scope="session")
def tree():
    """Return the full tree of 128 nodes with latency."""
    return fat_tree_of_radix(8, 12.5e9, latency_base_s=315e-9, latency_per_link_s=417.7e-9)
