"""Routings that fix no path: pools of links for models of flows, and who refuses them."""

import numpy as np
import pytest

from coupling.errors import SnapshotError
from coupling.inputs.snapshot import snapshot_from
from coupling.site.estimate import estimate
from coupling.site.flows import answer_flows
from coupling.site.verify import verify
from netsim.common.errors import ContentionError, RoutingError, TopologyError
from netsim.flows.contention import Traffic
from netsim.flows.isolation import minimal_links
from netsim.flows.partition import Partition
from netsim.formats.exporters.writers import write_simgrid
from netsim.infiniband.lft import d_mod_k_tables
from netsim.registries.accuracy import machine_kind
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing, on_changed
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed
from netsim.topology.multipath import link_groups
from netsim.topology.outage import fail

GB = 1e9
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": GB, "latency": "none"}
PAIR = {"steps": [[[0, 1, "1 MB"]]], "compute_s": 0}
JOBS = [{"id": "a", "nodes": [0, 2], **PAIR}, {"id": "b", "nodes": [1, 4], **PAIR}]
MODELS = pytest.mark.parametrize(
    "model",
    [
        # an answer may lie some thirty default tolerances, of 0.1 %, beside the fixed point
        {"model": "fluid", "model_options": {"tolerance": 1e-5}},
        {"model": "flow-level"},
    ],
    ids=["fluid", "flow-level"],
)
TREES = [
    TREE,
    {"kind": "fat-tree", "children": [4, 3, 2], "parents": [1, 2, 2], "parallel": [1, 1, 3]},
    {"kind": "fat-tree", "children": [3, 2, 2], "parents": [2, 2, 3], "parallel": [1, 2, 1]},
]


def climbed(topology, links):
    """Return all links that lead up from what some links lead to."""
    found, here = set(), set(topology.link_head[links].tolist())
    while here:
        up = np.isin(topology.link_tail, list(here)) & (topology.link_head > topology.link_tail)
        found |= set(np.flatnonzero(up).tolist())
        here = set(topology.link_head[up].tolist())
    return found


@pytest.mark.parametrize("spec", TREES)
def test_the_pools_of_a_flow_are_all_links_on_minimal_paths_by_its_rail(spec):
    topology = make_topology(spec)
    routing = make_routing("adaptive", topology)
    fabric, of = as_routed(topology, routing), link_groups(topology).of
    for src, dst in ((0, topology.n_nodes - 1), (0, topology.children[0]), (5, 2)):
        for rail in range(topology.ports[0]):
            ends = np.array([src]), np.array([dst])
            width = topology.ports[0]
            crossed = routing.routes(*(width * end + rail for end in ends)).links
            up = climbed(topology, crossed[:1])
            down = topology.reverse[list(climbed(topology, topology.reverse[crossed[-1:]]))]
            allowed = up | set(down.tolist()) | {int(crossed[0]), int(crossed[-1])}
            minimal = minimal_links(topology, *ends)
            mine = minimal[np.isin(minimal, list(allowed))]

            assert topology.link_tail[crossed[0]] == src
            assert topology.link_head[crossed[-1]] == dst
            assert np.array_equal(np.unique(of[mine]), np.sort(crossed))
            assert fabric.capacity[crossed].sum() == topology.capacity[mine].sum()


def test_pools_of_a_small_tree_by_hand():
    """Radix 4: a leaf has 2 up-links, a pod 4; a failed link is left out."""
    topology = make_topology(TREE)
    fabric = as_routed(topology, make_routing("adaptive", topology))
    link = make_routing("adaptive", topology).routes(np.array([0]), np.array([15])).links

    assert [topology.link_name(one) for one in link] == [
        "n0>s1.0",
        "s1.0>s2.0",
        "s2.0>s3.0",
        "s3.0>s2.6",
        "s2.6>s1.7",
        "s1.7>n15",
    ]
    assert (fabric.capacity[link] / GB).tolist() == [1, 2, 4, 4, 2, 1]

    broken = fail(topology, ["s1.0>s2.0"], ["s3.3"])
    routing = on_changed(make_routing("adaptive", topology), broken)
    link = routing.routes(np.array([0]), np.array([15])).links

    assert not np.isin(link, broken.absent).any()
    assert (as_routed(broken, routing).capacity[link] / GB).tolist() == [1, 1, 3, 3, 2, 1]


def test_a_fabric_keeps_its_kind_and_its_links_under_the_routing():
    topology = make_topology(TREE)
    fabric = as_routed(topology, make_routing("spray", topology))

    assert machine_kind(fabric) == machine_kind(topology) == "full fat-tree"
    assert np.array_equal(fabric.multipath.capacity, topology.capacity)
    again = as_routed(fabric, make_routing("adaptive", fabric))
    assert np.array_equal(again.capacity, fabric.capacity)


@MODELS
def test_jobs_that_a_table_leads_over_one_cable_have_two_under_adaptive_routing(model):
    scene = {"topology": {**TREE, "levels": 2}, "jobs": JOBS, **model}
    fixed, free = (estimate({**scene, "routing": name}).jobs for name in ("d-mod-k", "adaptive"))

    assert [job.interference for job in fixed] == pytest.approx([2.0, 2.0], rel=1e-3)
    assert [job.interference for job in free] == pytest.approx([1.0, 1.0], rel=1e-6)


@MODELS
def test_jobs_that_want_twice_what_a_pool_carries_are_slowed_twice(model):
    """Four nodes a leaf, two up-links: two jobs of two senders that never compute."""
    spec = {
        "kind": "fat-tree",
        "children": [4, 3],
        "parents": [1, 2],
        "parallel": [1, 1],
        "latency": "none",
    }
    steps = {"steps": [[[0, 2, "1 MB"], [1, 3, "1 MB"]]], "compute_s": 0}
    jobs = [{"id": 1, "nodes": [0, 1, 4, 5], **steps}, {"id": 2, "nodes": [2, 3, 8, 9], **steps}]
    scene = {"topology": {**spec, "bandwidth": GB}, "jobs": jobs, **model}

    found = estimate({**scene, "routing": "adaptive"})

    assert [job.interference for job in found.jobs] == pytest.approx([2.0, 2.0], rel=2e-3)
    assert {job.worst_link for job in found.jobs} <= {"s1.0>s2.0 and 1 more", None}
    assert "s1.0>s2.0 and 1 more" in {load.link for load in found.links}


def test_flows_are_listed_by_their_link_groups():
    document = {"topology": TREE, "routing": "adaptive", "flows": [[0, 2, 1e6], [1, 4, 1e6]]}
    found = answer_flows(document, "flows", None).to_dict()

    assert found["rates_bytes_per_s"] == pytest.approx([GB, GB])
    assert found["routes"][0][1] == "s1.0>s2.0 and 1 more"


def test_what_needs_one_path_a_flow_refuses_by_name():
    snapshot = snapshot_from({"topology": TREE, "routing": "adaptive", "jobs": JOBS})
    topology, routing = make_topology(TREE), make_routing("adaptive", make_topology(TREE))
    wanted = "routing 'adaptive' lets switches choose"

    with pytest.raises(SnapshotError, match=f"{wanted}.*verify needs"):
        verify(snapshot)
    with pytest.raises(TopologyError, match=wanted):
        write_simgrid(topology, routing)
    with pytest.raises(RoutingError, match=wanted):
        d_mod_k_tables(topology).confined_to([(routing, Partition(np.arange(4), None))])


def test_rates_of_single_flows_are_refused_where_packets_take_many_paths():
    kind = {"kind": "torus", "dims": [4, 4]}
    document = {"topology": kind, "routing": "adaptive", "flows": [[0, 2, 1e6]]}

    with pytest.raises(SnapshotError, match="over many paths: rates of flows need a single one"):
        answer_flows(document, "flows", None)


def test_traffic_of_another_routing_than_the_fabric_is_refused():
    topology = make_topology(TREE)
    routes = make_routing("adaptive", topology).routes(np.array([0]), np.array([9]))
    one = np.ones(1)
    model = make_contention_model("fluid", topology)

    with pytest.raises(ContentionError, match="routes must be of the routing"):
        model.start(1, Traffic(np.array([0]), np.array([0]), one, routes, 0.0, one))


def cut(*cables):
    """Return a tree of two leaves of two nodes under two spines, without some cables."""
    whole = make_topology({"kind": "fat-tree", "children": [2, 2], "parents": [1, 2]})
    return fail(whole, list(cables))


@pytest.mark.parametrize("rule", ["adaptive", "spray"])
@pytest.mark.parametrize(
    ("cables", "lost"),
    [
        (["n0>s1.0"], {(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)}),
        (["s1.0>s2.0", "s1.1>s2.1"], {(0, 2), (0, 3), (1, 2), (1, 3)} | {(2, 0), (3, 0)}
         | {(2, 1), (3, 1)}),
        (["s1.0>s2.0", "s1.1>s2.0"], set()),
    ],
    ids=["own cable", "no spine in common", "one spine in common"],
)  # fmt: skip
def test_flows_without_a_path_are_refused_and_no_others(rule, cables, lost):
    """By hand: a flow to itself needs no cable, others both ends and a switch above them."""
    routing = make_routing(rule, cut(*cables))

    for src in range(4):
        for dst in range(4):
            ends = np.array([1, src]), np.array([1, dst])
            if (src, dst) in lost:
                with pytest.raises(RoutingError, match=f"n{src}.*n{dst}"):
                    routing.routes(*ends)
            else:
                assert routing.routes(*ends).hops[1] == (
                    0 if src == dst else 2 if src // 2 == dst // 2 else 4
                )
