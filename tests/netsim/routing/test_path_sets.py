"""Routing over many paths of tori and dragonflies: shares of links, and what models say."""

from collections import defaultdict

import numpy as np
import pytest
from naive import shares as naive

import fabricsim as fs
from netsim.common.errors import ContentionError, RoutingError
from netsim.flows.contention import Traffic
from netsim.flows.partition import Partition
from netsim.flows.traffic import bytes_per_link
from netsim.fluid.demand import DemandOf
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import limits_of, make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed
from netsim.routing.path_sets import nonminimal_part
from scheduler.traffic import RankFlows, TrafficOf

GB = 1e9
FABRICS = {
    "torus": {"kind": "torus", "dims": [4, 3, 2], "nodes_per_router": 2},
    "mesh": {"kind": "torus", "dims": [3, 4], "wrap": False},
    "dragonfly": {"kind": "dragonfly", "groups": 5, "routers": 4, "nodes_per_router": 2},
    "rows": {"kind": "dragonfly", "groups": 4, "routers": [2, 3], "variant": "aries"},
    "two groups": {"kind": "dragonfly", "groups": 2, "routers": [2, 3], "global_links": 4},
    "broken torus": {"kind": "torus", "dims": [4, 4], "failed_links": ["r0>r1", "r5>r9"]},
    "broken dragonfly": {
        "kind": "dragonfly",
        "groups": 5,
        "routers": 4,
        "nodes_per_router": 2,
        "failed_links": ["r0>r4", "r0>r1"],
    },
    "lost router": {
        "kind": "dragonfly",
        "groups": 5,
        "routers": 4,
        "nodes_per_router": 2,
        "failed_switches": ["r5"],
    },
}
every_fabric = pytest.mark.parametrize("name", FABRICS)


def routed(spec, rule="adaptive"):
    """Return a fabric under the routing, and the routing."""
    built = make_topology({"latency": "none", **spec, "bandwidth": GB})
    routing = make_routing(rule, built)
    return as_routed(built, routing), routing


def some_flows(fabric, count, seed=0):
    """Draw flows between usable nodes."""
    rng = np.random.default_rng(seed)
    src = rng.choice(fabric.usable_nodes, count)
    dst = rng.choice(fabric.usable_nodes, count)
    return src[src != dst], dst[src != dst]


def of_way(ways, flow, kind):
    """Return the shares of links of the minimal ways (0) of a flow, or of its detours (1)."""
    way = 2 * ways.pair[flow] + kind
    rows = slice(ways.indptr[way], ways.indptr[way + 1])
    return dict(zip(ways.links[rows].tolist(), ways.share[rows].tolist(), strict=True))


def placed(fabric, routing, ends, nbytes, step=None):
    """Return the traffic of flows between nodes."""
    src, dst = ends
    step = np.zeros(len(src), dtype=np.int64) if step is None else np.asarray(step)
    flows = RankFlows(step, np.asarray(src), np.asarray(dst), np.full(len(src), float(nbytes)))
    nodes = Partition(np.arange(fabric.n_nodes), None)
    return TrafficOf(fabric, routing).of_flows(flows, nodes, compute_s=1.0).traffic


@every_fabric
@pytest.mark.parametrize("rule", ["adaptive", "spray"])
def test_shares_of_links_are_those_of_the_slow_twin(name, rule):
    fabric, routing = routed(FABRICS[name], rule)
    src, dst = some_flows(fabric, 25)
    ways = routing.routes(src, dst).path_sets
    per = fabric.nodes_per_router

    for flow in range(src.size):
        ends = src[flow] // per, dst[flow] // per
        assert of_way(ways, flow, 0) == pytest.approx(naive.minimal_shares(fabric, *ends))
        detours = naive.detour_shares(fabric, *ends) if rule == "adaptive" else {}
        assert of_way(ways, flow, 1) == pytest.approx(detours)


@every_fabric
def test_all_bytes_of_a_flow_leave_one_router_and_reach_the_other(name):
    fabric, routing = routed(FABRICS[name])
    src, dst = some_flows(fabric, 30, seed=1)
    traffic = placed(fabric, routing, (src, dst), 1e6)
    links, nbytes = bytes_per_link(traffic)
    net = np.zeros(fabric.n_nodes + fabric.n_switches)
    np.add.at(net, fabric.link_tail[links], nbytes)
    np.add.at(net, fabric.link_head[links], -nbytes)
    wanted = 1e6 * (np.bincount(src, minlength=net.size) - np.bincount(dst, minlength=net.size))

    assert net == pytest.approx(wanted, abs=1e-3)
    if fabric.absent is not None:
        assert not np.isin(links, fabric.absent).any()


def test_of_four_links_and_two_ways_round_each_torus_link_carries_its_share_by_hand():
    fabric, routing = routed({"kind": "torus", "dims": [4, 4]})
    ways = routing.routes(np.array([0]), np.array([5])).path_sets
    named = {fabric.link_name(link): part for link, part in of_way(ways, 0, 0).items()}

    assert named == {"r0>r1": 0.5, "r1>r5": 0.5, "r0>r4": 0.5, "r4>r5": 0.5}


def test_where_there_is_one_path_the_constants_are_those_of_static_routing():
    spec = {"kind": "torus", "dims": [5], "nodes_per_router": 2}
    fabric, routing = routed(spec)
    built = make_topology({"latency": "none", **spec, "bandwidth": GB})
    src, dst = np.array([0, 0, 3, 5, 9, 2]), np.array([4, 2, 7, 1, 4, 3])
    step = [0, 0, 0, 1, 1, 1]
    free = placed(fabric, routing, (src, dst), 1e6, step)
    fixed = placed(built, make_routing("dimension-order", built), (src, dst), 1e6, step)
    ours, theirs = DemandOf(fabric)(free), DemandOf(built)(fixed)
    order, other = (np.argsort(c.records["link"]) for c in (ours, theirs))

    for field in ("link", "n_entries"):
        assert ours.records[field][order].tolist() == theirs.records[field][other].tolist()
    assert ours.drain_s[order] == pytest.approx(theirs.drain_s[other])
    assert ours.iteration_s == pytest.approx(theirs.iteration_s)
    assert np.sort(ours.entries["senders"]) == pytest.approx(np.sort(theirs.entries["senders"]))


@pytest.mark.parametrize(
    ("flows", "wanted"),
    [
        ([(0, 32)], 1 / 2),  # a lone one keeps its way as busy as half of its packets can
        ([(i, 32 + i) for i in range(4)], 4 / 5),  # four share the minimal way
        ([(0, 32), (0, 64)], 1 / 3),  # either at half speed
        ([(i, 32 + i) for i in range(32)], 1 - (32 / 7) / (32 / 7 + 32)),  # 7 detours, 1 way
        ([(i, (i + 32) % 288) for i in range(288)], 1 - (64 / 7) / (64 / 7 + 32)),
        ([(0, 5)], 1 / 2),  # inside a group by another router of it
        ([(i, 4 + i) for i in range(4)], 4 / 5),
        ([(0, 1)], 0.0),  # inside a router
    ],
)
def test_the_part_that_goes_round_by_hand(flows, wanted):
    spec = {"kind": "dragonfly", "groups": 9, "routers": 8, "nodes_per_router": 4}
    fabric, routing = routed(spec)
    src, dst = (np.array(ends) for ends in zip(*flows, strict=True))
    routes = routing.routes(src, dst)
    step, ones = np.zeros(src.size, dtype=np.int64), np.ones(src.size)

    assert nonminimal_part(fabric, routes, step, ones) == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["dragonfly", "rows", "broken dragonfly", "two groups"])
def test_the_part_that_goes_round_is_that_of_the_slow_twin(name):
    fabric, routing = routed(FABRICS[name])
    src, dst = some_flows(fabric, 24, seed=3)
    nbytes = np.random.default_rng(4).uniform(1e3, 1e6, src.size)
    step = np.arange(src.size) // 8
    found = nonminimal_part(fabric, routing.routes(src, dst), step, nbytes)

    for a in np.unique(step):
        mine = step == a
        flows = list(zip(src[mine], dst[mine], nbytes[mine], strict=True))
        assert found[mine] == pytest.approx(naive.nonminimal_fraction(fabric, flows))


def test_what_packets_carry_over_global_links_is_near_the_law():
    spec = {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4}
    built = make_topology({**spec, "bandwidth": "100 Gb/s", "latency": "codes"})
    routing = make_routing("adaptive", built)
    fabric = as_routed(built, routing)
    for flows in ([(0, 20)], [(i, (i + 16) % 144) for i in range(144)]):
        src, dst = (np.array(ends) for ends in zip(*flows, strict=True))
        traffic = placed(fabric, routing, (src, dst), 2.0**19)
        use = simulate_packets({0: traffic}, fabric).links
        rounds = use.nbytes[use.links < fabric.n_nodes].sum() / traffic.nbytes.sum()
        packets = use.nbytes[use.links >= fabric.bases[2]].sum() / rounds
        links, nbytes = bytes_per_link(traffic)

        assert nbytes[links >= fabric.bases[2]].sum() == pytest.approx(packets, rel=0.06)


SNAPSHOT = {
    "routing": "adaptive",
    "jobs": [
        {
            "id": 1,
            "nodes": list(range(0, 16, 2)),
            "pattern": {"name": "all-to-all", "nbytes": 1e5},
            "comm_fraction": 0.6,
        },
        {
            "id": 2,
            "nodes": list(range(1, 16, 2)),
            "pattern": {"name": "ring", "nbytes": 1e6},
            "comm_fraction": 0.9,
        },
    ],
}
MACHINES = [{"kind": "torus", "dims": [4, 4]}, FABRICS["dragonfly"]]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda spec: spec["kind"])
@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_models_answer_on_tori_and_dragonflies(machine, model):
    found = fs.estimate({**SNAPSHOT, "topology": machine, "model": model})

    assert all(0.9 < job.interference < 3.0 for job in found.jobs)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda spec: spec["kind"])
def test_models_of_single_paths_refuse_by_name(machine):
    fabric, _ = routed(machine)
    with pytest.raises(ContentionError, match="over many paths: model 'flow-level' needs a single"):
        make_contention_model("flow-level", fabric)
    with pytest.raises(
        fs.FabricsimError, match=r"snapshot: .*model 'flow-level' needs a single one"
    ):
        fs.estimate({**SNAPSHOT, "topology": machine, "model": "flow-level"})


@pytest.mark.parametrize("machine", MACHINES, ids=lambda spec: spec["kind"])
def test_a_result_quotes_the_comparison_of_its_own_machine_under_the_routing(machine):
    found = fs.estimate({**SNAPSHOT, "topology": machine, "model": "fluid"})

    assert f"{machine['kind']}, adaptive)" in found.to_dict()["network"]["accuracy"]


def test_what_a_failed_cable_does_is_what_an_estimate_of_the_broken_fabric_says():
    one = {**SNAPSHOT, "topology": MACHINES[0]}
    after = fs.whatif(one, fail=["r0>r1"]).to_dict()
    wanted = fs.estimate({**one, "topology": MACHINES[0] | {"failed_links": ["r0>r1"]}})
    alone = {job.id: job.alone_s for job in fs.estimate(one).jobs}
    told = {job["id"]: job["after"] for job in after["jobs"]}

    assert told == pytest.approx(
        {job.id: job.interference * job.alone_s / alone[job.id] for job in wanted.jobs}
    )


def test_nobody_else_means_no_interference():
    fabric, routing = routed(FABRICS["dragonfly"])
    for name in ("fluid", "null"):
        model = make_contention_model(name, fabric)
        model.start(1, placed(fabric, routing, ([0, 2, 9], [20, 30, 1]), 1e6))
        model.start(2, placed(fabric, routing, ([3], [2]), 1e6))  # one router's own nodes

        assert dict(model.solve()) == {1: 1.0, 2: 1.0}


def test_packets_refuse_a_fabric_that_lost_links_and_fluids_lead_round():
    spec = FABRICS["broken torus"]
    fabric, routing = routed(spec)
    with pytest.raises(ContentionError, match=r"'adaptive' need .*with all its links"):
        make_contention_model("packets", fabric)
    found = fs.estimate({**SNAPSHOT, "topology": spec, "model": "fluid"})

    assert all(job.interference >= 1.0 for job in found.jobs)
    assert routing.routes(np.array([0]), np.array([1])).path_sets.links.size > 1


def test_nodes_that_nothing_joins_are_refused():
    spec = {"kind": "torus", "dims": [4], "wrap": False, "failed_links": ["r1>r2"]}
    fabric, routing = routed(spec)
    assert fabric.usable_nodes.size < fabric.n_nodes
    with pytest.raises(RoutingError, match="no path leads from n0 to n3"):
        routing.routes(np.array([0]), np.array([3]))


def test_traffic_that_does_not_say_its_ways_is_refused():
    fabric, routing = routed(FABRICS["torus"])
    routes = routing.routes(np.array([0]), np.array([9]))
    one, none = np.ones(1), np.zeros(1, dtype=np.int64)

    with pytest.raises(ContentionError, match="must say which part of each flow"):
        DemandOf(fabric)(Traffic(none, none, one, routes, 0.0, one))
    with pytest.raises(ContentionError, match="one non-minimal part per flow"):
        DemandOf(fabric)(Traffic(none, none, one, routes, 0.0, one, nonminimal=np.zeros(2)))


def test_links_of_a_job_are_listed_with_their_bytes():
    fabric, routing = routed({"kind": "torus", "dims": [4, 4]})
    links, nbytes = bytes_per_link(placed(fabric, routing, ([0], [5]), 8.0))
    told = defaultdict(float, zip(map(fabric.link_name, links), nbytes, strict=True))

    assert told == {
        "n0>r0": 8.0, "r5>n5": 8.0, "r0>r1": 4.0, "r1>r5": 4.0, "r0>r4": 4.0, "r4>r5": 4.0
    }  # fmt: skip


def test_an_all_to_all_carries_what_packets_carry():
    """8 groups; 14 cables carry what 16 hosts of a group offer once, and once more by detours."""
    spec = {"kind": "dragonfly", "groups": 8, "routers": 4, "nodes_per_router": 4}
    spec |= {"global_links": 2, "lanes": [2, 1, 1], "bandwidth": "100 Gb/s", "latency": "codes"}
    built = make_topology(spec)
    routing = make_routing("adaptive", built)
    fabric = as_routed(built, routing)
    src, dst = np.divmod(np.arange(128 * 128), 128)
    traffic = placed(fabric, routing, (src[src != dst], dst[src != dst]), 2.0**14)

    packets = simulate_packets({0: traffic}, fabric, slowest_does=2).jobs[0].alone_s
    flows = DemandOf(fabric)(traffic).iteration_s

    assert flows - 1.0 == pytest.approx(packets - 1.0, rel=0.05)


def test_adaptive_routing_says_where_it_is_minimal_only():
    one, two, three = (
        make_topology({"kind": "dragonfly", "groups": groups, "routers": 4, "nodes_per_router": 2})
        for groups in (1, 2, 3)
    )

    (line,) = limits_of(make_routing("adaptive", two))
    assert line.endswith("lead through a third group, the fabric has two groups")
    assert limits_of(make_routing("adaptive", three)) == ()
    assert limits_of(make_routing("adaptive", one)) == ()
    assert limits_of(make_routing("spray", two)) == ()
    assert limits_of(make_routing("minimal", two)) == ()
    found = fs.estimate(SNAPSHOT | {"topology": two})
    assert line in found.assumed
