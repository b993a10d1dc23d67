"""GPU clusters: counts of published machines, and where the adapters of hosts lead, by hand."""

import numpy as np
import pytest

from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.base import RankRouting
from netsim.topology.outage import fail

SMALL = {"kind": "gpu-cluster", "hosts": 4, "hosts_per_unit": 2, "gpus": 2, "latency": "none"}


def cables(cluster, *kinds):
    """Return the cables of some classes of links, one direction each."""
    names, kind = cluster.link_kinds(np.arange(cluster.n_links))
    return [int(np.sum(kind == names.index(name))) for name in kinds]


@pytest.mark.parametrize(
    ("preset", "hosts", "switches", "rows"),
    [
        # rows of the vendor's table: nodes, leaves, spines, core, and cables of each level
        ("superpod-4su", 128, (32, 16), (1024, 1024)),
        ("superpod-16su", 512, (128, 128, 64), (4096, 4096, 4096)),
        # 8 pods of 192 racks; 7:1 above 3,072 cables a pod
        ("llama3-roce-24k", 3072, (8 * 192, 64, 40), (24576, 24576, 3520)),
        ("hpn-segment", 128, (16, 128), (2048, 1024)),
    ],
)
def test_presets_have_the_published_counts(preset, hosts, switches, rows):
    cluster = make_topology(preset)

    assert cluster.n_nodes == hosts
    assert cluster.tree.counts[1:] == switches
    assert (
        tuple(
            cables(cluster, "injection", "leaf-up", "L2-up")[: len(rows)]
            if len(rows) > 2
            else cables(cluster, "injection", "leaf-up")
        )
        == rows
    )
    assert cluster.filled_in.startswith(preset)


@pytest.mark.parametrize(
    ("fabric", "leaves"),
    [
        # of host 3, the second of unit 1, whose leaves are 2 and 3 (clos: 1; planes: 4 to 7)
        ("rail", ["n3>s1.2", "n3>s1.3"]),
        ("rail-only", ["n3>s1.2", "n3>s1.3"]),
        ("clos", ["n3>s1.1#0", "n3>s1.1#1"]),
        ("dual-plane", ["n3>s1.4", "n3>s1.6", "n3>s1.5", "n3>s1.7"]),
    ],
)
def test_adapters_lead_to_the_leaves_of_their_fabric(fabric, leaves):
    cluster = make_topology(SMALL | {"fabric": fabric})
    links, first = cluster.node_links

    assert [cluster.link_name(int(link)) for link in links[first[3] : first[4]]] == leaves


def ways(spec, src, dst, nodes=(0, 0, 1, 1, 2, 2, 3, 3), **options):
    """Return the links of messages between ranks, two on each host, as names."""
    cluster = make_topology(SMALL | spec)
    routing = RankRouting(cluster, make_routing("d-mod-k", cluster))
    routes, parts = routing.routes(np.array(nodes), np.array(src), np.array(dst), **options)
    found = [[] for _ in src]
    for flow, message in enumerate(parts.flow.tolist()):
        found[message].append([cluster.link_name(int(link)) for link in routes.of_flow(flow)])
    return found


def test_a_message_inside_a_host_goes_by_its_network():
    assert ways({}, [0], [1]) == [[["n0>h0#0", "h0>n0#1"]]]


def test_with_pxn_a_message_leaves_by_the_adapter_of_the_receivers_gpu():
    """GPU 0 of host 0 to GPU 1 of host 1: handed to GPU 1 first, then by rail 1."""
    assert ways({}, [0, 1], [3, 3]) == [
        [["n0>h0#0", "h0>n0#1", "n0>s1.1", "s1.1>n1"]],
        [["n0>s1.1", "s1.1>n1"]],
    ]


def test_without_pxn_a_message_crosses_rails_at_a_spine():
    (((out, up, down, into),),) = ways({"pxn": False}, [0], [3])

    assert (out, into) == ("n0>s1.0", "s1.1>n1")
    assert up.split(">")[1] == down.split(">")[0]


def test_a_channel_names_the_adapter_at_both_ends():
    found = ways({}, [0], [3], channel=np.array([0]))

    assert found == [[["n0>s1.0", "s1.0>n1"]]]


def test_a_job_with_one_rank_a_host_uses_all_its_adapters():
    assert ways({}, [0], [1], nodes=(0, 1)) == [[["n0>s1.0", "s1.0>n1"], ["n0>s1.1", "s1.1>n1"]]]


def test_gpus_share_an_adapter_or_have_several():
    """Four GPUs and two adapters: GPUs 0 and 1 have the first. One GPU and two: it has both."""
    nodes = [0, 0, 0, 0, 1, 1, 1, 1]
    shared = ways({"gpus": 4, "nics": 2}, [0, 0], [5, 6], nodes=nodes)
    several = ways({"gpus": 2, "nics": 4}, [0], [3])

    assert shared[0] == [["n0>s1.0", "s1.0>n1"]]
    assert shared[1] == [["n0>h0#0", "h0>n0#2", "n0>s1.1", "s1.1>n1"]]
    assert [way[-1] for way in several[0]] == ["s1.2>n1", "s1.3>n1"]


@pytest.mark.parametrize(
    ("rule", "rails"),
    [
        ("respread", [["s1.1>n1", "s1.2>n1", "s1.3>n1"], ["s1.1>n1"]]),
        ("double", [["s1.1>n1"], ["s1.1>n1"]]),
    ],
)
def test_messages_of_a_lost_rail_take_those_left(rule, rails):
    """GPU 0 to 0 and 1 to 1 of the next host, of four each; the leaf of rail 0 has failed."""
    spec = {"gpus": 4, "failed_switches": ["s1.0"], "on_failure": rule}

    found = ways(spec, [0, 1], [4, 5], nodes=[0, 0, 0, 0, 1, 1, 1, 1])

    assert [
        [way[-3 if "h1" in way[-1] or "h1" in way[-2] else -1] for way in own] for own in found
    ] == rails


def test_a_lost_host_takes_no_jobs_and_others_stay():
    cluster = make_topology(SMALL)

    damaged = fail(cluster, vertices=["n1"])

    assert damaged.usable_nodes.tolist() == [0, 2, 3]
    assert fail(cluster, ["n2>s1.2", "n2>s1.3"]).usable_nodes.tolist() == [0, 1, 3]
