"""Messages inside hosts: as long as SimGrid's loopback, beside the step's other messages."""

import numpy as np
import pytest

import fabricsim as fs
from netsim.common.errors import ContentionError, RoutingError, TopologyError
from netsim.flows.partition import Partition
from netsim.flowsim.cosimulation import CoSimulation
from netsim.flowsim.flow_report import report_flows
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from patterns.base import Step
from scheduler.traffic import TrafficOf, _flat

GB = 1e9
KINDS = {
    "switch": {"nodes": 8},
    "fat-tree": {"children": [4, 2], "parents": [1, 2]},
    "torus": {"dims": [3, 3]},
    "dragonfly": {"groups": 3, "routers": 2, "nodes_per_router": 2},
}


def fabric(kind="switch", **fields):
    fields = {"loopback_bw": "2 GB/s", "loopback_lat": 0.5, **fields}
    table = {"kind": kind, **KINDS[kind], "bandwidth": "1 GB/s", "latency": "none", **fields}
    return make_topology({key: value for key, value in table.items() if value is not None})


@pytest.mark.parametrize("kind", KINDS)
def test_flows_inside_a_host_end_when_simgrid_ends_them(kind):
    """SimGrid 3.32: bw 1e9, loopback_bw 2e9, loopback_lat 0.5 s; the loopback is not shared."""
    topology = fabric(kind)
    src, dst, amount = np.array([0, 0, 0, 2]), np.array([0, 0, 1, 0]), np.array([3, 1, 3, 3]) * GB

    found = report_flows(topology, make_routing("shortest", topology), src, dst, amount)

    assert found.finish_s == pytest.approx([2.0, 1.0, 3.0, 3.0])


def traffic(topology, steps, nodes, **timing):
    """Return the traffic of steps of messages (source rank, destination rank, GB)."""
    made = []
    for messages, rounds in steps:
        src, dst, amount = (np.array(column) for column in zip(*messages, strict=True))
        made.append(Step(src, dst, amount * GB, rounds=rounds))
    traffic_of = TrafficOf(topology, make_routing("shortest", topology))
    return traffic_of.of_flows(_flat(made), Partition(np.array(nodes), None), **timing)


STEPS = [  # ranks 0 and 1 on a host, 2 on another
    ([(0, 1, 3), (1, 2, 1)], 1),  # 2 s inside, 1 s outside
    ([(0, 1, 1)], 1),  # 1 s inside
    ([(0, 2, 4), (0, 1, 1)], 1),  # 4 s outside, 1 s inside
    ([(0, 1, 4), (1, 2, 1)], 4),  # four rounds of 0.5 + 0.5 s inside, 0.25 s outside
]


def test_a_step_takes_no_less_than_its_messages_inside_hosts():
    """By hand: 3 s of computation and steps of 2, 1, 4 and 4 s."""
    topology = fabric()
    own = traffic(topology, STEPS, [0, 0, 1], compute_s=3.0)

    assert own.alone_s == pytest.approx(14.0)
    assert own.ideal_s == pytest.approx(14.0)
    fluid = make_contention_model("fluid", topology)
    assert fluid.demand_of(own.traffic).iteration_s == pytest.approx(14.0)
    alone = CoSimulation(topology, fairness="per-sender").solo_run(own.traffic)
    assert alone.alone_s == pytest.approx(14.0)


def test_without_loopback_messages_inside_hosts_take_no_time():
    """By hand: 3 s of computation and steps of 1, 0, 4 and 1 s."""
    topology = fabric(loopback_bw=None, loopback_lat=None)

    assert traffic(topology, STEPS, [0, 0, 1], compute_s=3.0).alone_s == pytest.approx(9.0)


def test_a_fraction_counts_messages_inside_hosts_as_communication():
    """By hand: 11 s of messages are half of 22 s."""
    own = traffic(fabric(), STEPS, [0, 0, 1], fraction=0.5)

    assert own.ideal_s == pytest.approx(22.0)
    assert own.alone_s == pytest.approx(22.0)


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_other_jobs_do_not_delay_what_stays_inside_a_host(model):
    """
    By hand: a step of 2 s inside sends 1 GB beside it, by half of a link 2 s as well.

    The other job sends over that link all the time, and has the other half.
    """
    topology = fabric()
    own = make_contention_model(model, topology, fairness="per-flow")
    first = traffic(topology, [([(0, 1, 3), (1, 2, 1)], 1)], [0, 0, 1], compute_s=0.0)
    other = traffic(topology, [([(0, 1, 1)], 1)], [2, 1], compute_s=0.0)
    own.start(1, first.traffic)
    own.start(2, other.traffic)

    found = {1: 1.0, 2: 1.0, **own.solve()}

    assert found[1] == pytest.approx(1.0, abs=0.03)
    assert found[2] == pytest.approx(2.0, rel=0.15 if model == "fluid" else 0.01)


def test_estimates_and_placements_count_loopback_once():
    """By hand: as above 2 s, computation 1 s; a move to two other hosts changes nothing."""
    messages = [[[0, 1, "3 GB"], [1, 2, "1 GB"]], [[0, 1, "1 GB"]]]
    job = {"id": "a", "nodes": [0, 0, 1], "steps": messages, "compute_s": 1.0}
    table = {"kind": "switch", "nodes": 8, "bandwidth": "1 GB/s", "latency": "none"}
    snapshot = {
        "topology": {**table, "loopback_bw": "2 GB/s", "loopback_lat": 0.5},
        "jobs": [job],
        "candidates": [{"job": "a", "nodes": [4, 4, 6]}],
    }

    found = fs.estimate(snapshot)

    assert found.jobs[0].alone_s == pytest.approx(1.0 + 2.0 + 1.0)
    assert found.candidates[0].job.alone_s == pytest.approx(4.0)


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_a_job_on_one_host_takes_as_long_as_its_messages_inside(model):
    """By hand: 2 s of messages beside 1 s of computation, or as half of an iteration."""
    table = {"kind": "switch", "nodes": 8, "bandwidth": "1 GB/s", "latency": "none"}
    own = {"steps": [[[0, 1, "3 GB"]]], "iterations": 10}
    snapshot = {
        "topology": {**table, "loopback_bw": "2 GB/s", "loopback_lat": 0.5},
        "model": model,
        "jobs": [
            {"id": "a", "nodes": [0, 0], "compute_s": 1.0, **own},
            {"id": "b", "nodes": [1, 1], "comm_fraction": 0.5, **own},
        ],
    }

    found = fs.estimate(snapshot).jobs

    assert [job.alone_s for job in found] == pytest.approx([3.0, 4.0])
    if model == "flow-level":
        assert [job.end_s for job in found] == pytest.approx([30.0, 40.0])


def test_messages_that_are_scaled_are_refused():
    with pytest.raises(RoutingError, match="loopback_bw: expected messages as long as they are"):
        traffic(fabric(), STEPS, [0, 0, 1], fraction=0.5, iteration_s=9.0)


def test_hosts_of_one_rank_need_no_refusal():
    own = traffic(fabric(), STEPS[:1], [0, 1, 2], fraction=0.5, iteration_s=9.0)

    assert own.ideal_s == pytest.approx(9.0)


def test_models_without_it_refuse_messages_that_take_time_inside_hosts():
    topology = fabric()
    own = traffic(topology, STEPS, [0, 0, 1], compute_s=3.0)
    model = make_contention_model("packets", topology)

    with pytest.raises(ContentionError, match=r"messages inside hosts that take time \(loopback"):
        model.start(1, own.traffic)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"loopback_bw": 0}, "loopback_bw: expected bandwidths above 0"),
        ({"loopback_bw": "1e30 GB/s"}, r"loopback_bw: expected 1 to 1e\+18 bytes/s"),
        ({"loopback_bw": None}, "loopback_lat: expected loopback_bw beside it"),
        ({"loopback_lat": -1}, "loopback_lat: expected"),
    ],
)
def test_a_loopback_that_cannot_be_is_refused(fields, message):
    with pytest.raises(TopologyError, match=message):
        fabric(**fields)
