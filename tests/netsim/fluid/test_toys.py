"""Two jobs on one uplink, against the packet simulation of the same two jobs."""

from dataclasses import replace

import numpy as np
import pytest

from netsim.flows.contention import Traffic
from netsim.flows.latency import LatencyOf
from netsim.fluid.demand import DemandOf
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.topologies import make_topology
from netsim.routing.dmodk import DModK

MIB = 2**20
SEEDS = 3  # of the starts of jobs and the order of messages


@pytest.fixture(scope="module")
def leaves():
    """Return five leaves of eight nodes, each with one uplink."""
    tree = {"kind": "fat-tree", "children": [8, 5], "parents": [1, 1], "parallel": [1, 1]}
    return make_topology({**tree, "bandwidth": "100 Gb/s", "latency": "codes"})


def job(topology, flows, fraction):
    """Return a job of one step of flows (source, destination, bytes)."""
    src, dst, nbytes = (np.array(column) for column in zip(*flows, strict=True))
    nbytes = nbytes.astype(float)
    routes = DModK(topology).routes(src, dst)
    latency_s = LatencyOf(topology)(routes).of(nbytes)
    traffic = Traffic(np.zeros(src.size, int), src, nbytes, routes, 0.0, latency_s)
    alone_s = DemandOf(topology)(traffic).iteration_s
    return replace(traffic, compute_s=alone_s * (1.0 - fraction) / fraction)


def packets(topology, jobs):
    """Return what packets say of the first job."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        start_s = {name: rng.uniform(0.0, own.compute_s) for name, own in jobs.items()}
        times = simulate_packets(jobs, topology, start_s=start_s, slowest_does=40, seed=seed)
        found.append(times.jobs[0].interference)
    return np.mean(found)


@pytest.mark.parametrize("divisor", [1, 4, 16])
@pytest.mark.parametrize("fraction", [0.5, 0.8, 1.0])
def test_a_small_flow_holds_up_less_than_a_large_one(leaves, interference, fraction, divisor):
    """A receiver gets a flow over the uplink and 4 MiB from elsewhere."""
    flows = [(1, 16, 4 * MIB / divisor), (24, 16, 4 * MIB)]
    jobs = {0: job(leaves, [(0, 8, MIB)], fraction), 1: job(leaves, flows, 0.5)}

    assert interference(leaves, jobs)[0] == pytest.approx(packets(leaves, jobs), abs=0.05)


@pytest.mark.parametrize(("divisor", "expected"), [(1, 1.214), (4, 1.072), (16, 1.022)])
def test_small_flows_have_the_stored_values_where_both_jobs_compute(
    leaves, interference, divisor, expected
):
    """Values of another packet simulation."""
    flows = [(1, 16, 4 * MIB / divisor), (24, 16, 4 * MIB)]
    jobs = {0: job(leaves, [(0, 8, MIB)], 0.5), 1: job(leaves, flows, 0.5)}

    assert interference(leaves, jobs)[0] == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("nbytes", [65536, 262144])
@pytest.mark.parametrize("fraction", [0.5, 1.0])
def test_no_queue_grows_where_a_burst_leaves_capacity(
    leaves, interference, fraction, nbytes, parts
):
    """Messages of 1 KiB beside a burst that takes 1, 1/2 or 1/4 of the uplink."""
    elsewhere = [(1, 2 + i, nbytes) for i in range(parts - 1)]
    jobs = {
        0: job(leaves, [(0, 8, 1024)], fraction),
        1: job(leaves, [(1, 16, nbytes), *elsewhere], 0.5),
    }

    assert interference(leaves, jobs)[0] == pytest.approx(packets(leaves, jobs), abs=0.05)
