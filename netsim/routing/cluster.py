"""Routings on GPU clusters: those of the tree between endpoints, and the links inside hosts."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.routing.base import Routing, flow_ends, inner_routes, queue_pairs
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.routes import Routes


@dataclass(frozen=True, slots=True)
class ClusterRouting:
    """A routing of the tree that the endpoints of a GPU cluster hang on."""

    inner: Routing  # on `cluster.endpoint_tree`
    cluster: GpuCluster

    @property
    def qps(self) -> int:
        """Queue pairs over which the routing splits a message."""
        return queue_pairs(self.inner)

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
        queue_pair: Ints | None = None,
    ) -> Routes:
        """Route flows between endpoints; those within a host cross nothing."""
        cluster = self.cluster
        if partition is not None and partition.links is not None:
            raise RoutingError(
                "links: no routing knows owned links on a GPU cluster; leave them out."
            )
        src, dst = flow_ends(src, dst, cluster)
        node = cluster.endpoints.node
        out, into = cluster.tree_end[src], cluster.tree_end[dst]
        into = np.where(node[src] == node[dst], out, into)
        found = inner_routes(self.inner, out, into, None, queue_pair)
        return Routes(found.indptr, found.links, cluster.n_links, found.rule)
