"""A step of equal rounds is as long as the rounds one by one, under every model."""

from dataclasses import replace

import numpy as np
import pytest

from netsim.flows.contention import Traffic, unfolded
from netsim.flows.latency import LatencyOf
from netsim.flows.traffic import TrafficTimes
from netsim.flowsim.snapshot import simulate_jobs
from netsim.fluid.demand import DemandOf
from netsim.fluid.model import Fluid
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.routes import Routes

LATENCIES = {"none": {"latency": "none"}, "codes": {"latency": "codes"}}


def ring(topology, nodes, rounds, nbytes, compute_s):
    """Return a ring of some rounds on nodes, and the same with every round written out."""
    routes = make_routing("d-mod-k", topology).routes(nodes, np.roll(nodes, -1))
    total = np.full(nodes.size, float(nbytes))
    latency_s = LatencyOf(topology)(routes).of(total / rounds)
    step = np.zeros(nodes.size, dtype=np.int64)
    folded = Traffic(step, nodes, total, routes, compute_s, latency_s, rounds=np.array([rounds]))
    hops = np.tile(routes.hops, rounds)
    long = Traffic(
        np.repeat(np.arange(rounds), nodes.size),
        np.tile(nodes, rounds),
        np.tile(total / rounds, rounds),
        Routes(np.append(0, np.cumsum(hops)), np.tile(routes.links, rounds), routes.n_links),
        compute_s,
        np.tile(latency_s, rounds),
    )
    return folded, long


def two_jobs(seed, latency, *, rounds=(6, 14)):
    """Return a 2:1 tree of 16 nodes and two rings on random nodes of it, in both forms."""
    spec = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "parallel": [1, 1]}
    topology = make_topology({**spec, "bandwidth": "100 Gb/s", **LATENCIES[latency]})
    rng = np.random.default_rng((43, seed))
    nodes = rng.permutation(16)
    sizes = rng.uniform(1e6, 4e6, 2)
    compute_s = sizes / 12.5e9 * rng.uniform(0.2, 2.0, 2)
    jobs = [
        ring(topology, own, n, size, gap)
        for own, n, size, gap in zip(np.split(nodes, 2), rounds, sizes, compute_s, strict=True)
    ]
    return topology, *({k: job[form] for k, job in enumerate(jobs)} for form in (0, 1))


@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.parametrize("seed", range(5))
def test_flow_level_and_alone_are_the_same_to_rounding(seed, latency):
    topology, folded, long = two_jobs(seed, latency)
    start_s = {0: 0.0, 1: 1e-4}
    links = topology.capacity, topology.channel
    one, other = (simulate_jobs(jobs, *links, start_s=start_s) for jobs in (folded, long))
    times = TrafficTimes(topology)

    for job in folded:
        assert times(folded[job]).communication_s == pytest.approx(
            times(long[job]).communication_s, rel=1e-12
        )
        assert one[job].alone_s == pytest.approx(other[job].alone_s, rel=1e-9)
        assert one[job].together_s == pytest.approx(other[job].together_s, rel=1e-6)


@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.parametrize("seed", range(5))
def test_the_fluid_model_agrees_to_its_sampled_phases(seed, latency):
    """Alone exactly; among others rounds are spread over their step: 0.5 points of interference."""
    topology, folded, long = two_jobs(seed, latency)
    demand_of = DemandOf(topology)
    found = []
    for jobs in (folded, long):
        model = Fluid(topology, tolerance=1e-6)
        for job, traffic in jobs.items():
            model.start(job, traffic)
        found.append(model.solve())

    for job in folded:
        short, full = demand_of(folded[job]), demand_of(long[job])
        assert short.iteration_s == pytest.approx(full.iteration_s, rel=1e-12)
        np.testing.assert_allclose(short.drain_s, full.drain_s)
        assert found[0].get(job, 1.0) == pytest.approx(found[1].get(job, 1.0), abs=0.005)


def test_packets_are_those_of_the_rounds():
    topology, folded, long = two_jobs(0, "none", rounds=(3, 4))
    small = [
        {job: replace(own, nbytes=own.nbytes / 16) for job, own in jobs.items()}
        for jobs in (folded, long)
    ]
    one, other = (simulate_packets(jobs, topology, slowest_does=3).jobs for jobs in small)

    for job in folded:
        assert one[job].together_s == pytest.approx(other[job].together_s, rel=1e-6)


def test_unfolded_traffic_is_every_round_as_a_step():
    _, folded, long = two_jobs(1, "codes")
    for job, expected in long.items():
        found = unfolded(folded[job])
        for name in ("step", "sender", "nbytes", "latency_s"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
        np.testing.assert_array_equal(found.routes.links, expected.routes.links)
        np.testing.assert_array_equal(found.routes.indptr, expected.routes.indptr)
