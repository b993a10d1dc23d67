"""Collectives beside ASTRA-sim's analytical backend and SimAI's table of bandwidths."""

import csv
import json
from functools import cache
from math import log2, prod
from typing import NamedTuple

import numpy as np
import pytest

from coupling import estimate
from netsim.flows.partition import Partition
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from patterns.placed import GpuCollective, nccl_latency_s
from scheduler.traffic import TrafficOf, rank_flows

GIB = 2**30


def seconds(topology, pattern, hosts, ranks):
    """Return the time of a collective alone."""
    nodes = np.repeat(np.arange(hosts), ranks)
    traffic_of = TrafficOf(topology, make_routing("d-mod-k", topology))
    flows = rank_flows(pattern, nodes.size)
    return traffic_of.of_flows(flows, Partition(nodes, None), compute_s=0.0).alone_s


HOPS = {"Switch": 2, "Ring": 1, "FullyConnected": 1}
STORED = "whole message stored at the switch before it goes on"


class Stage(NamedTuple):
    """A collective over one dimension."""

    operation: str
    algorithm: str
    kind: str
    sizes: tuple
    axis: int
    rate: float  # bytes per second
    latency_s: float  # of a hop
    nbytes: float  # of the whole array


@cache
def stage_s(stage):
    """
    Return the time of one stage: all groups of one dimension at once, on hosts of one GPU.

    Each GPU of a fully connected dimension has a link to each other one.
    """
    operation, algorithm, kind, sizes, axis, rate, latency_s, nbytes = stage
    n, hosts = sizes[axis], prod(sizes)
    job, direct = {"id": "a"}, algorithm == "direct"
    if algorithm == "halvingDoubling":  # of one group
        hosts, gather = n, operation == "allgather"
        how = "recursive-doubling" if gather else "recursive-halving"
        size = nbytes / n if gather else nbytes
        job |= {"pattern": {"name": operation, "algorithm": how, "nbytes": size}, "compute_s": 0}
    else:
        names = (*("tp", "cp")[: len(sizes) - 1], "dp")
        part = {"operation": operation, "algorithm": "ring", "nbytes": nbytes}
        part = {"operation": "all-to-all", "nbytes": nbytes / n} if direct else part
        phase = {"collectives": [part | {"over": [names[axis]]}]}
        job |= {"parallel": dict(zip(names, sizes, strict=True)), "phases": [phase]}
    links = n - 1 if direct and kind == "FullyConnected" else 1
    topology = {"kind": "gpu-cluster", "hosts": hosts, "hosts_per_unit": hosts, "gpus": 1}
    topology |= {"bandwidth": rate * links, "gpu_link": "none", "fabric": "clos"}
    topology |= {"latency": "none", "latency_base_s": HOPS[kind] * latency_s}
    job["nodes"] = list(range(hosts))
    return estimate({"topology": topology, "jobs": [job]}).jobs[0].alone_s


def stages(case):
    """
    Return the stages of a collective.

    An all-reduce is one in each dimension ("baseline"), or reduce-scatters up the dimensions and
    all-gathers down them. The size of an all-gather is what each rank gives.
    """
    sizes, nbytes = tuple(case["npus_per_dim"]), float(case["comm_size_bytes"])
    axes = range(len(sizes))

    def one(operation, axis, size):
        kind, algorithm = case["topology"][axis], case["implementation_per_dim"][axis]
        rate = case["bandwidth_GiB_per_s"][axis] * GIB
        latency_s = case["latency_ns"][axis] * 1e-9
        return Stage(operation, algorithm, kind, sizes, axis, rate, latency_s, size)

    def up(total):
        return [one("reduce-scatter", axis, total / prod(sizes[:axis])) for axis in axes]

    def down(total):
        return [one("allgather", axis, total / prod(sizes[:axis])) for axis in reversed(axes)]

    if case["collective"] == "all-to-all":
        return [one("all-to-all", 0, nbytes)]
    if case["collective"] == "reduce-scatter":
        return up(nbytes)
    if case["collective"] == "all-gather":
        return down(nbytes * prod(sizes))
    if case["collective_optimization"] == "baseline":
        both = ("reduce-scatter", "allgather")
        return [one(operation, axis, nbytes) for axis in axes for operation in both]
    return up(nbytes) + down(nbytes)


def stored_s(case, stage):
    """Return what a switch that stores whole messages adds to a stage, by hand: each of them."""
    n = stage.sizes[stage.axis]
    messages = 1 if stage.algorithm == "direct" else n - 1
    return messages * stage.nbytes / n / stage.rate if STORED in case["notes"] else 0.0


def astra_cases(shared):
    """Return the cases that are physical, without all-to-alls on a ring, over several hops."""
    cases = json.loads(shared("reference/gpu/astra_shown.json").read_text())["cases"]
    physical = [case for case in cases if case["physical"]]
    found = [
        case
        for case in physical
        if (case["topology"], case["collective"]) != (["Ring"], "all-to-all")
    ]
    assert (len(cases), len(physical), len(found)) == (310, 248, 245)
    return found


def test_unpipelined_collectives_agree_with_astra_sim(shared):
    """Within 1 per cent, in one to three dimensions: a sum of stages."""
    whole = [case for case in astra_cases(shared) if case["dataset_splits"] == 1]
    assert [sum(len(case["npus_per_dim"]) == n for case in whole) for n in (1, 2, 3)] == [
        *(157, 27, 23)
    ]

    for case in whole:
        found = sum(stage_s(stage) + stored_s(case, stage) for stage in stages(case))

        assert found == pytest.approx(case["time_ns"] * 1e-9, rel=0.01), case["id"]


def test_pipelined_collectives_lie_between_the_longest_stage_and_the_sum(shared):
    """Chunks overlap stages at best; each pays the latency of all stages again."""
    chunked = [case for case in astra_cases(shared) if case["dataset_splits"] > 1]
    assert len(chunked) == 38

    for case in chunked:
        listed = stages(case)
        times = [stage_s(stage) for stage in listed]
        tiny = float(prod(case["npus_per_dim"]))  # a byte for each pair
        latency_s = sum(stage_s(stage._replace(nbytes=tiny)) for stage in listed)
        most_s = sum(times) + (case["dataset_splits"] - 1) * latency_s

        assert max(times) <= case["time_ns"] * 1e-9 * 1.001, case["id"]
        assert case["time_ns"] * 1e-9 <= most_s * 1.001, case["id"]


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
