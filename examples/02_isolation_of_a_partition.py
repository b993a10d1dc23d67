"""Show whether jobs are isolated by the links they own, and can route every permutation."""

import numpy as np

from netsim import (
    broken_conditions,
    fat_tree_of_radix,
    make_routing,
    rearrangeable,
    shared_links,
)
from scheduler import Cluster, Job, make_allocator

tree = fat_tree_of_radix(8, bandwidth=12.5e9)  # 128 nodes, 4 per leaf, 16 per pod
cluster = Cluster(tree)
jigsaw = make_allocator("jigsaw", {}, seed=1)
routing = make_routing("jigsaw", tree)
plain = make_routing("d-mod-k", tree)

partitions, owned, usual = [], [], []
for number, n_nodes in enumerate((7, 21, 5), start=1):
    allocation = jigsaw.allocate(Job(number, 0.0, n_nodes, 3600.0, 3600.0), cluster)
    cluster.place(allocation)
    partition = allocation.partition()
    src, dst = (part.ravel() for part in np.meshgrid(partition.nodes, partition.nodes))
    partitions.append(partition)
    owned.append(np.unique(routing.routes(src, dst, partition).links))
    usual.append(np.unique(plain.routes(src, dst).links))

print("links shared under D-mod-k:            ", len(shared_links(usual)))
print("links shared under Jigsaw's wraparound:", len(shared_links(owned)))
for number, partition in enumerate(partitions, start=1):
    verdict = rearrangeable(tree, partition)
    print(
        f"job {number}: {partition.nodes.size:2} nodes, conditions broken: "
        f"{len(broken_conditions(tree, partition))}, rearrangeable non-blocking: {verdict.holds}"
    )
