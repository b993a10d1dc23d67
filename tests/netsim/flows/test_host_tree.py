"""A GPU cluster is equal trees side by side, one for each endpoint of a host: by brute force."""

import numpy as np
import pytest

from netsim.common.errors import PartitionError, TopologyError
from netsim.flows.host_tree import host_tree
from netsim.flows.partition import Partition
from netsim.registries.topologies import make_topology
from netsim.topology.outage import fail

UNITS = {"kind": "gpu-cluster", "hosts": 16, "hosts_per_unit": 4, "gpus": 4}
FABRICS = ("rail", "rail-only", "clos", "dual-plane")
MACHINES = {
    f"{fabric}{' of three tiers' * len(pods)}": UNITS | {"fabric": fabric} | pods
    for fabric in FABRICS
    for pods in ({}, {"units_per_pod": 2})
} | {
    "two cables to each spine": UNITS | {"spines": 2},
    "clos, cables of a leaf parted": UNITS | {"fabric": "clos", "spines": 2},
    "clos, cables of both levels parted": UNITS
    | {"fabric": "clos", "spines": 2, "units_per_pod": 2},
    "rails at half the uplinks": UNITS | {"oversubscription": 2},
    "superpod-16su": "superpod-16su",
}


def cluster_of(name):
    return make_topology(MACHINES[name])


@pytest.mark.parametrize("name", MACHINES)
def test_the_trees_are_parts_of_the_cluster_and_share_no_link(name):
    """Every link between hosts is in one tree; in each, links that meet in the tree meet here."""
    cluster = cluster_of(name)
    hosts = host_tree(cluster)
    tree = hosts.tree

    assert hosts.link.shape[0] == cluster.hosts.ends
    assert np.array_equal(np.sort(hosts.link.ravel()), np.arange(cluster.n_fabric_links))
    for row in hosts.link:
        vertex = np.full(tree.n_nodes + tree.n_switches, -1)
        vertex[tree.link_tail] = cluster.link_tail[row]
        assert np.array_equal(vertex[tree.link_tail], cluster.link_tail[row])
        assert np.array_equal(vertex[tree.link_head], cluster.link_head[row])
        assert np.array_equal(vertex[: tree.n_nodes], np.arange(cluster.n_nodes))
        assert np.unique(vertex).size == vertex.size


def test_links_out_of_service_on_one_tree_are_out_of_service_on_all():
    cluster = fail(cluster_of("rail"), ["s1.6>s2.1"])  # unit 1, rail 2

    tree = host_tree(cluster).tree

    assert [tree.link_name(link) for link in tree.absent.tolist()] == ["s1.4>s2.1", "s2.1>s1.4"]


def test_a_host_that_lacks_an_adapter_stays():
    tree = host_tree(fail(cluster_of("rail"), ["n3>s1.1"])).tree

    assert tree.absent is None
    assert tree.usable_nodes.size == 16


@pytest.mark.parametrize("name", ["rail", "rail-only of three tiers", "dual-plane"])
def test_a_lost_leaf_takes_nothing_from_the_trees_of_other_adapters(name):
    hosts = host_tree(fail(cluster_of(name), [], ["s1.0"]))

    assert hosts.tree.absent is None
    assert hosts.of_end(0).absent.size == 2 * hosts.tree.ports[1]
    assert hosts.of_end(1).absent.size == 0


def test_links_that_do_not_part_among_adapters_are_refused():
    cluster = make_topology(UNITS | {"fabric": "clos", "oversubscription": "16:3"})

    with pytest.raises(TopologyError, match="links up of a leaf for each adapter: 3 x 1 do not"):
        host_tree(cluster)


def test_links_of_some_rails_alone_are_refused():
    cluster = cluster_of("rail")
    names = [f"s1.{rail}>s2.0" for rail in range(3)]
    own = Partition(np.arange(4), np.array([cluster.link_number(name) for name in names]))

    with pytest.raises(PartitionError, match=r"of s1.0>s2.0 and its like 3 are owned"):
        host_tree(cluster).folded(own)
