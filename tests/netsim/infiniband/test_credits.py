"""Credit loops under forwarding tables, by hand, and by a search that follows every pair."""

import networkx as nx
import numpy as np

from netsim.flows.partition import Partition
from netsim.formats.importers.graphs import from_networkx
from netsim.infiniband.lft import LFT, d_mod_k_tables
from netsim.infiniband.walk import credit_loop
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import build_fat_tree


def tables_by(topology, name, seed=1):
    """Return the tables of a routing between all nodes."""
    empty = np.full((topology.n_switches, topology.n_nodes), -1, dtype=np.int32)
    every = Partition(np.arange(topology.n_nodes), None)
    routing = make_routing(name, topology, seed)
    return LFT(topology, empty).confined_to([(routing, every)])


def loops_by_walking(*tables):
    """Return whether links wait in a circle, walking all pairs through every mixture of tables."""
    topology = tables[0].topology
    waits = nx.DiGraph()
    first = {int(tail): link for link, tail in enumerate(topology.link_tail[: topology.n_links])}
    for src in range(topology.n_nodes):
        for dst in range(topology.n_nodes):
            links, seen = [first[src]] if src != dst else [], set()
            while links:
                link = links.pop()
                at = int(topology.link_head[link])
                if link in seen or at < topology.n_nodes:
                    continue
                seen.add(link)
                for table in tables:
                    after = int(table.out[at - topology.n_nodes, dst])
                    if after >= 0:
                        waits.add_edge(link, after)
                        links.append(after)
    return not nx.is_directed_acyclic_graph(waits)


def test_packets_round_a_ring_wait_for_each_other():
    """Five routers in a ring, shortest ways of up to two hops: each direction is a circle."""
    ring = make_topology({"kind": "torus", "dims": [5]})

    found = credit_loop([tables_by(ring, "dimension-order")])

    between = np.minimum(ring.link_tail[found], ring.link_head[found]) >= ring.n_nodes
    assert between.all()
    assert found.size == 5


def test_a_ring_of_three_has_ways_of_one_hop_and_no_circle():
    ring = make_topology({"kind": "torus", "dims": [3]})

    assert not credit_loop([tables_by(ring, "dimension-order")]).size


def test_up_and_down_a_tree_no_links_wait_in_a_circle():
    tree = build_fat_tree([2, 3, 2], [1, 2, 3], [1, 1, 1], 1e9)

    assert not credit_loop([d_mod_k_tables(tree), tables_by(tree, "shortest", 3)]).size


def sparse_graph(seed):
    """Return a fabric whose switches form a tree and two further cables, a node on each."""
    graph = nx.random_labeled_tree(7, seed=seed)
    graph.add_edges_from([(0, 3), (1, 5)])
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    for switch in list(graph):
        graph.add_edge(switch, f"h{switch}")
    for vertex in graph:
        graph.nodes[vertex]["kind"] = "node" if str(vertex).startswith("h") else "switch"
    return from_networkx(graph, bandwidth="1 GB/s")


def test_random_shortest_ways_on_random_graphs_as_by_walking_every_pair():
    """Alone and as a mixture of two tables; both answers are met in both."""
    answers = set()
    for seed in range(40):
        fabric = sparse_graph(seed)
        one, other = tables_by(fabric, "shortest", seed), tables_by(fabric, "shortest", seed + 100)
        for tables in ([one], [one, other]):
            found = bool(credit_loop(tables).size)
            assert found == loops_by_walking(*tables)
            answers.add((len(tables), found))
    assert answers == {(1, True), (1, False), (2, True), (2, False)}
