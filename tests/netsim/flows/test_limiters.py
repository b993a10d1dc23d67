"""Limiters of hosts: rates of SimGrid and by hand, in every model that has them."""

import numpy as np
import pytest

import fabricsim as fs
from netsim.common.errors import ContentionError, TopologyError
from netsim.flows.contention import Traffic
from netsim.flows.traffic import TrafficTimes, bytes_per_link
from netsim.flowsim.cosimulation import CoSimulation
from netsim.flowsim.effective_bisection import random_pairings
from netsim.flowsim.flow_report import report_flows
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing, usual_routing
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed

GB = 1e9
KINDS = {
    "switch": {"nodes": 8},
    "fat-tree": {"children": [4, 2], "parents": [1, 2]},
    "torus": {"dims": [3, 3]},
    "dragonfly": {"groups": 3, "routers": 2, "nodes_per_router": 2},
    "hyperx": {"dims": [3, 3]},
    "slim-fly": {"q": 3},
}


def fabric(kind="switch", limit="1.5 GB/s", **fields):
    table = {"kind": kind, **KINDS[kind], "bandwidth": "1 GB/s", "latency": "none"}
    limits = {} if limit is None else {"limiter_link": limit}
    return make_topology({**table, **limits, **fields})


def routing_of(topology):
    return make_routing(usual_routing(topology, owned=False), topology)


def finishes(topology, flows, fairness="per-flow"):
    """Return when flows (source, destination, GB) end that all start at 0."""
    src, dst, amount = (np.array(column) for column in zip(*flows, strict=True))
    own = report_flows(topology, routing_of(topology), src, dst, amount * GB, fairness=fairness)
    return own.finish_s


# clusters of one switch in SimGrid 3.32: bw 1e9, limiter_link 1.5e9, CM02 without cross traffic
SIMGRID = [
    ([(1, 2, 2), (7, 6, 8), (7, 5, 7), (3, 0, 8), (0, 6, 7)], [2, 15, 14, 8, 14]),
    (
        [(2, 7, 8), (1, 4, 1), (7, 2, 9), (3, 1, 8), (7, 3, 3), (3, 5, 3)],
        [12.666667, 1, 13.666667, 11, 6, 6],
    ),
    (
        [
            *((6, 0, 5), (7, 3, 5), (7, 2, 4), (2, 7, 3), (1, 4, 5), (2, 7, 2), (1, 6, 6)),
            *((7, 4, 2), (5, 3, 6)),
        ],
        [5, 11.666667, 10.666667, 8.666667, 10, 6.666667, 11, 6.666667, 9.333333],
    ),
    (
        [
            *((4, 5, 6), (0, 6, 8), (3, 5, 1), (2, 0, 6), (7, 6, 4), (6, 4, 2), (3, 0, 4)),
            *((6, 2, 3), (6, 1, 2), (2, 4, 8), (2, 1, 1), (0, 1, 4)),
        ],
        [
            *(8.749206, 14.788889, 2, 14.422222, 10.2, 6.666667, 9.422222, 8.444444, 6.666667),
            *(15.111111, 3, 10.222222),
        ],
    ),
]


@pytest.mark.parametrize(("flows", "finish_s"), SIMGRID)
def test_flows_end_when_simgrid_ends_them(flows, finish_s):
    assert finishes(fabric(), flows) == pytest.approx(finish_s, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_that_sends_and_receives_has_its_limit_for_both(kind):
    """
    By hand, links of 1 GB/s: 3 GB one way take 3 s, both ways 6 GB at 1.5 GB/s take 4 s.

    SimGrid's clusters say the same on a switch, fat-tree, torus and dragonfly.
    """
    topology = fabric(kind)

    assert finishes(topology, [(0, 1, 3)]) == pytest.approx([3])
    assert finishes(topology, [(0, 1, 3), (1, 0, 3)]) == pytest.approx([4, 4])
    assert finishes(fabric(kind, None), [(0, 1, 3), (1, 0, 3)]) == pytest.approx([3, 3])


def test_hosts_alone_are_limited_and_no_switch():
    """By hand: nodes 0 and 1 send over two cables of their leaf, 1 GB/s each."""
    assert finishes(fabric("fat-tree"), [(0, 4, 3), (1, 5, 3)]) == pytest.approx([3, 3])


def traffic(topology, flows, compute_s=0.0, nodes=None):
    """Return one step of flows (source, destination, GB)."""
    src, dst, amount = (np.array(column) for column in zip(*flows, strict=True))
    routes = routing_of(topology).routes(src, dst)
    none = np.zeros(src.size)
    return Traffic(none.astype(int), src, amount * GB, routes, compute_s, none, nodes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_alone_takes_as_long_as_its_hosts_allow(kind):
    """By hand: nodes exchange 1.5 GB each way through 1.5 GB/s in all, which takes 2 s."""
    topology = fabric(kind)
    own = traffic(topology, [(0, 1, 1.5), (1, 0, 1.5)])

    times = TrafficTimes(topology)(own)
    alone = CoSimulation(topology, fairness="per-sender").solo_run(own)
    model = make_contention_model("fluid", topology)

    assert times.communication_s == pytest.approx(2.0)
    assert times.injection_s == pytest.approx(2.0)
    assert alone.alone_s == pytest.approx(2.0)
    assert model.demand_of(own).iteration_s == pytest.approx(2.0)


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
@pytest.mark.parametrize(("limit", "interference"), [("1 GB/s", 2.0), ("2 GB/s", 1.0)])
def test_two_jobs_on_the_same_hosts_share_their_limiters(model, limit, interference):
    """By hand: one sends from 0 to 1, the other back, all the time, 1 GB/s each."""
    topology = fabric("switch", limit)
    own = make_contention_model(model, topology, fairness="per-flow")
    own.start(1, traffic(topology, [(0, 1, 1)]))
    own.start(2, traffic(topology, [(1, 0, 1)]))

    assert dict(own.solve()) == pytest.approx({1: interference, 2: interference}, rel=0.01)


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_estimates_have_the_limits_of_hosts(model):
    """By hand: hosts exchange 1 GB each way through 1.5 GB/s, beside others that do so too."""
    table = {"kind": "switch", "nodes": 4, "bandwidth": "1 GB/s", "latency": "none"}
    both = {"nodes": [0, 1], "steps": [[[0, 1, "1 GB"], [1, 0, "1 GB"]]], "compute_s": 0}
    snapshot = {
        "topology": {**table, "limiter_link": "1.5 GB/s"},
        "model": model,
        "fairness": "per-flow",
        "jobs": [{"id": "a", **both}, {"id": "b", **both}],
        "shared": True,
    }

    found = fs.estimate(snapshot).jobs

    assert [job.alone_s for job in found] == pytest.approx([4 / 3, 4 / 3])
    assert [job.interference for job in found] == pytest.approx([2.0, 2.0], rel=0.02)


@pytest.mark.parametrize("one", [{"limiter_link": "1 GB/s"}, {"duplex": "half"}])
def test_jobs_that_share_a_limiter_or_the_directions_of_a_cable_alone_are_staggered(one):
    """By hand: each sends 1 s of 2; one into node 0, one out of it, at 1 GB/s in all."""
    table = {"kind": "switch", "nodes": 4, "bandwidth": "1 GB/s", "latency": "none"}
    pairs = {"a": [1, 0], "b": [0, 2]}
    found = fs.stagger(
        {
            "topology": {**table, **one},
            "jobs": [
                {"id": own, "nodes": nodes, "steps": [[[0, 1, "1 GB"]]], "compute_s": 1}
                for own, nodes in pairs.items()
            ],
            "shared": True,
        }
    )

    assert [job["shift_s"] for job in found.to_dict()["jobs"]] == pytest.approx([0.0, 1.0])


def test_what_a_limiter_costs_is_put_down_to_a_link_of_the_host():
    topology = fabric("switch", "1 GB/s")
    own = make_contention_model("fluid", topology)
    own.start(1, traffic(topology, [(0, 1, 1)]))
    own.start(2, traffic(topology, [(1, 0, 1)]))
    own.solve()
    _, kinds = topology.link_kinds(np.arange(topology.n_links))

    names = {topology.link_name(own.worst_link(job)) for job in (1, 2)}

    assert names <= {"n0>r0", "n1>r0"}
    assert own.blame(1) == pytest.approx({2: 1.0})
    assert own.culprits([1], kinds).kind.tolist() == [0]  # injection


def test_links_carry_what_they_carried_without_limiters():
    flows = [(0, 5, 2), (5, 0, 1), (3, 1, 4)]
    limited, plain = fabric("fat-tree"), fabric("fat-tree", None)

    found = [bytes_per_link(traffic(own, flows)) for own in (limited, plain)]

    assert [column.tolist() for column in found[0]] == [column.tolist() for column in found[1]]


def test_a_limit_that_links_never_reach_changes_nothing():
    """Two directions of 1 GB/s are 2 GB/s."""
    flows = [(0, 5, 2), (5, 0, 1), (3, 1, 4), (0, 1, 3), (4, 0, 2)]

    assert finishes(fabric("fat-tree", "2 GB/s"), flows).tolist() == (
        finishes(fabric("fat-tree", None), flows).tolist()
    )


def test_packets_that_are_spread_leave_and_enter_limited_hosts():
    """By hand: adaptive routing on a dragonfly; the limit of the hosts is below all links."""
    plain = fabric("dragonfly", "0.5 GB/s")
    routing = make_routing("adaptive", plain)
    topology = as_routed(plain, routing)
    own = make_contention_model("fluid", topology)
    src, dst = np.array([0, 4]), np.array([4, 0])
    routes = routing.routes(src, dst)
    none = np.zeros(2)
    sent = Traffic(np.zeros(2, int), src, np.full(2, GB), routes, 0.0, none, nonminimal=none)

    assert own.demand_of(sent).iteration_s == pytest.approx(4.0)


def test_pairs_of_the_effective_bisection_share_the_limits_of_their_hosts():
    """Both hosts of a pair send to each other: 0.75 GB/s each way."""
    topology = fabric()

    found = random_pairings(topology, routing_of(topology), samples=2, seed=1)

    assert np.unique(found.rates) == pytest.approx([0.75 * GB])


def test_packets_refuse_limiters():
    with pytest.raises(ContentionError, match="packets know no limiters of hosts"):
        make_contention_model("packets", fabric())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"limiter_link": 0}, "limiter_link: expected"),
        ({"limiter_link": "fast"}, "limiter_link: expected"),
        ({"limiter_link": ["1 GB/s", "2 GB/s"]}, "expected one bandwidth such as '20 GB/s'"),
        ({"limiter_link": "1e30 GB/s"}, "limiter_link: expected 1 to 1e\\+18 bytes/s"),
    ],
)
def test_limits_that_cannot_be_are_refused(fields, message):
    with pytest.raises(TopologyError, match=message):
        make_topology({"kind": "switch", "nodes": 4, **fields})


def test_a_gpu_cluster_has_no_limiters():
    with pytest.raises(TopologyError, match="limiter_link: expected none on a GPU cluster"):
        make_topology({"kind": "superpod-4su", "limiter_link": "1 GB/s"})
