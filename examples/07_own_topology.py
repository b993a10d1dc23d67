"""A fabric from a NetworkX graph: a ring of eight switches with two nodes each."""

import networkx as nx

import fabricsim as fs

graph = nx.cycle_graph(8)
graph.add_edges_from((switch, f"node{switch}-{k}") for switch in range(8) for k in range(2))
pattern = {"pattern": {"name": "all-to-all", "nbytes": 1e6}, "compute_s": 1e-4}
jobs = [{"id": i, "nodes": range(i, 16, 2), **pattern} for i in (0, 1)]
print(fs.estimate({"topology": graph, "jobs": jobs}).to_frame()[["id", "network_slowdown"]])
