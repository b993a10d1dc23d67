"""Small random scenes on real machines."""

import numpy as np
import pytest

from netsim.flows.contention import Traffic
from netsim.flows.latency import LatencyOf
from netsim.fluid.model import Fluid
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed
from netsim.topology.rails import flow_endpoints

MACHINES = {
    "full tree": ({"kind": "fat-tree", "radix": 4}, "d-mod-k"),
    "tapered tree": (
        {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "parallel": [1, 1]},
        "d-mod-k",
    ),
    "tree, ECMP": ({"kind": "fat-tree", "radix": 4}, "ecmp"),
    "rail tree": (
        {"kind": "fat-tree", "children": [4, 2], "parents": [2, 4], "parallel": [1, 1]},
        "d-mod-k",
    ),
    "torus": ({"kind": "torus", "dims": [3, 4]}, "dimension-order"),
    "dragonfly": (
        {"kind": "dragonfly", "groups": 3, "routers": 2, "nodes_per_router": 2},
        "minimal",
    ),
    "dragonfly, Valiant": (
        {"kind": "dragonfly", "groups": 5, "routers": 2, "nodes_per_router": 2},
        "valiant",
    ),
}


def draw_job(rng, topology, routing, nodes):
    """Return the traffic of a job: up to three steps of messages between its nodes."""
    rows = []
    for step in range(int(rng.integers(1, 4))):
        for _ in range(int(rng.integers(1, 7))):
            src, dst = rng.choice(nodes, 2, replace=False)
            rows.append((step, src, dst, float(2 ** rng.uniform(12, 20))))
    step, src, dst, nbytes = (np.array(column) for column in zip(*rows, strict=True))
    routes = routing.routes(*flow_endpoints(topology, src, dst))
    latency_s = LatencyOf(topology)(routes).of(nbytes)
    fraction = rng.uniform(0.2, 1.0)
    compute_s = nbytes.sum() / 12.5e9 * (1.0 - fraction) / fraction
    return Traffic(step, src, nbytes, routes, compute_s, latency_s)


def draw_scene(machine, seed, most_jobs=5):
    """Return a fabric and traffic of jobs on nodes of their own."""
    spec, rule = MACHINES[machine]
    built = make_topology({**spec, "bandwidth": "100 Gb/s", "latency": "codes"})
    routing = make_routing(rule, built)
    topology = as_routed(built, routing)
    rng = np.random.default_rng((40, seed))
    idle = rng.permutation(topology.n_nodes)
    jobs = {}
    for job in range(int(rng.integers(2, most_jobs + 1))):
        n_nodes = int(rng.integers(2, 6))
        own, idle = idle[:n_nodes], idle[n_nodes:]
        if own.size > 1:
            jobs[job] = draw_job(rng, topology, routing, own)
    return topology, jobs


def solve(topology, jobs, **options):
    """Return the interference of jobs that start together."""
    model = Fluid(topology, **options)
    for job, traffic in jobs.items():
        model.start(job, traffic)
    return dict(model.solve())


@pytest.fixture(scope="session")
def drawn():
    """Return a function that draws a scene on one of `machines`."""
    return draw_scene


@pytest.fixture(scope="session")
def machines():
    """Return the names of the machines."""
    return list(MACHINES)


@pytest.fixture(scope="session")
def interference():
    """Return a function that gives the interference of jobs that start together."""
    return solve
