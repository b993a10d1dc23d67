"""ECMP on Clos networks of any wiring: every shortest path, by a hash, and nothing else."""

import networkx as nx
import numpy as np
import pytest

import fabricsim as fs
from netsim.common.errors import RoutingError
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology

SPINES, LEAVES, HOSTS = 4, 6, 8


def clos(*, without=()):
    """Return a leaf-spine network; a lost cable makes it irregular."""
    graph = nx.Graph()
    for leaf in range(LEAVES):
        graph.add_edges_from((f"leaf{leaf}", f"spine{spine}") for spine in range(SPINES))
        graph.add_edges_from((f"leaf{leaf}", f"h{leaf}_{host}") for host in range(HOSTS))
    graph.remove_edges_from(without)
    return fs.from_networkx(graph, bandwidth="100 Gb/s")


def test_flows_between_leaves_take_every_spine_alike():
    """Leaf 0 lost spine 0: three paths from it, a third of the flows each."""
    fabric = clos(without=[("leaf0", "spine0")])
    routing = make_routing("ecmp", fabric, seed=2)
    leaf = fabric.link_head[fabric.node_links[0][fabric.node_links[1][:-1]]]
    here = np.flatnonzero(leaf == leaf[0])
    src = np.repeat(here, fabric.n_nodes)
    dst = np.tile(np.arange(fabric.n_nodes), here.size)
    routes = routing.routes(src, dst)

    across = routes.hops == 4
    assert across.sum() == here.size * (fabric.n_nodes - HOSTS)
    spine = fabric.link_head[routes.links[routes.indptr[:-1][across] + 1]]
    share = np.unique(spine, return_counts=True)[1] / across.sum()
    n_paths = SPINES if share.size == SPINES else SPINES - 1
    assert share == pytest.approx(1 / n_paths, abs=0.07)


def test_a_path_depends_on_seed_and_ends_alone():
    fabric = clos(without=[("leaf0", "spine0")])
    src, dst = np.arange(20), np.arange(20)[::-1] + 20

    one, again, other = (make_routing("ecmp", fabric, seed=s).routes(src, dst) for s in (1, 1, 2))

    assert one.links.tolist() == again.links.tolist()
    assert one.links.tolist() != other.links.tolist()
    alone = make_routing("ecmp", fabric, seed=1).routes(src[7:8], dst[7:8])
    assert alone.links.tolist() == one.of_flow(7).tolist()


def test_queue_pairs_hash_apart():
    fabric = clos(without=[("leaf0", "spine0")])
    routing = make_routing({"name": "ecmp", "qps": 8}, fabric)
    src, dst = np.zeros(8, dtype=int), np.full(8, fabric.n_nodes - 1)

    routes = routing.routes(src, dst, queue_pair=np.arange(8))

    assert np.unique(routes.links[routes.indptr[:-1] + 1]).size > 1


def test_no_torus_and_no_seed_among_the_options():
    torus = make_topology({"kind": "torus", "dims": [4, 4]})

    with pytest.raises(RoutingError, match="needs a Clos network"):
        make_routing("ecmp", torus)
    with pytest.raises(RoutingError, match=r"seed: expected it next to `routing` in a snapshot"):
        make_routing({"name": "ecmp", "seed": 3}, clos())
