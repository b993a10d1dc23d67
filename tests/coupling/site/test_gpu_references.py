"""Collectives beside ASTRA-sim's analytical backend and SimAI's table of bandwidths."""

import csv
import json
from math import log2

import numpy as np
import pytest

from netsim.flows.partition import Partition
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from patterns.placed import GpuCollective, nccl_latency_s
from scheduler.traffic import TrafficOf, rank_flows

GIB = 2**30


def cluster(ranks, rate, latency_s, hops):
    """Return hosts of one GPU on one switch, whose paths have a latency for each of their links."""
    return make_topology(
        {
            "kind": "gpu-cluster",
            "hosts": ranks,
            "hosts_per_unit": ranks,
            "gpus": 1,
            "fabric": "clos",
            "bandwidth": rate,
            "gpu_link": "none",
            "latency": "none",
            "latency_base_s": hops * latency_s,
        }
    )


def seconds(topology, pattern, hosts, ranks):
    """Return the time of a collective alone."""
    nodes = np.repeat(np.arange(hosts), ranks)
    traffic_of = TrafficOf(topology, make_routing("d-mod-k", topology))
    flows = rank_flows(pattern, nodes.size)
    return traffic_of.of_flows(flows, Partition(nodes, None), compute_s=0.0).alone_s


def rings(shared):
    """Return ASTRA-sim's physical rings in one dimension, unpipelined."""
    cases = json.loads(shared("reference/gpu/astra_shown.json").read_text())["cases"]
    names = {"all-reduce": "allreduce", "all-gather": "allgather", "reduce-scatter": None}
    return [
        case | {"operation": names[case["collective"]] or "reduce-scatter"}
        for case in cases
        if case["physical"]
        and case["collective"] in names
        and case["implementation_per_dim"] == ["ring"]
        and case["dataset_splits"] == 1
        and len(case["topology"]) == 1
        and case["backend"] == "congestion-unaware"
    ]


def test_rings_in_one_dimension_agree_with_astra_sim(shared):
    """A GB is 2^30 bytes there, and an all-gather's size what each rank gives."""
    cases = rings(shared)
    assert len(cases) > 20
    for case in cases:
        (n,), (rate,), (latency,) = (
            case[key] for key in ("npus_per_dim", "bandwidth_GiB_per_s", "latency_ns")
        )
        hops = 2 if case["topology"] == ["Switch"] else 1
        nbytes = case["comm_size_bytes"] * (n if case["collective"] == "all-gather" else 1)
        pattern = GpuCollective(case["operation"], "ring", nbytes)
        topology = cluster(n, rate * GIB, latency * 1e-9, hops)

        found = seconds(topology, pattern, n, 1)

        assert found == pytest.approx(case["time_ns"] * 1e-9, rel=0.01), case["id"]


def test_busbw_is_near_the_table_of_simai(shared):
    """
    The median error of an all-gather ring with NCCL's latencies is at most 6 per cent.

    A sanity check: the plateau, 0.96 of 48.5 GB/s an adapter, is the table's own.
    """
    rows = list(csv.reader(shared("reference/gpu/simai/nic_ratio.csv").read_text().splitlines()))
    errors = []
    for row in rows[1:]:
        for column, hosts in enumerate((2, 4, 8, 16, 32, 64, 128), start=2):
            if not row[column]:
                continue
            nbytes, n = float(row[0]), 8 * hosts
            fabric = {"kind": "gpu-cluster", "hosts": hosts, "hosts_per_unit": hosts}
            fabric |= {"bandwidth": 0.96 * 48.5e9, "latency": "none", "gpu_link": "none"}
            topology = made(tuple(fabric.items()))
            drain_s = seconds(topology, GpuCollective("allgather", "ring", nbytes), hosts, 8)
            time_s = drain_s + nccl_latency_s("ring", 1, n, hosts)
            busbw = nbytes * (n - 1) / n / time_s
            errors.append(abs(busbw / (8 * 48.5e9) / float(row[column]) - 1.0))

    assert len(errors) >= 70
    assert np.median(errors) <= 0.06


_MADE = {}


def made(fields):
    """Return a fabric, once for its fields."""
    if fields not in _MADE:
        _MADE[fields] = make_topology(dict(fields))
    return _MADE[fields]


def test_latencies_are_those_of_the_tuner_by_hand():
    """8 GPUs on each of 4 hosts: 6 steps between hosts and 56 inside; 2 x (7 inside, 2 between)."""
    assert nccl_latency_s("ring", 2, 32, 4) == pytest.approx(8.4e-6 + 56 * 3.4e-6 + 6 * 14e-6)
    assert nccl_latency_s("tree", 1, 32, 4) == pytest.approx(
        8.4e-6 + 2 * (7 * 4e-6 + log2(4) * 14e-6)
    )
