"""Routings on GPU clusters: those of the tree between endpoints, and the links inside hosts."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError, TopologyError
from netsim.flows.host_tree import host_tree
from netsim.flows.partition import Partition
from netsim.routing.base import Routing, flow_ends, inner_routes, queue_pairs
from netsim.routing.shortest import Rerouted
from netsim.routing.wraparound import Wraparound
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
        src, dst = flow_ends(src, dst, cluster)
        node = cluster.endpoints.node
        inner = self.inner.inner if isinstance(self.inner, Rerouted) else self.inner
        if isinstance(inner, Wraparound) and partition is not None and partition.links is not None:
            return self._owned_routes(src, dst, partition)
        out, into = cluster.tree_end[src], cluster.tree_end[dst]
        into = np.where(node[src] == node[dst], out, into)
        found = inner_routes(self.inner, out, into, None, queue_pair)
        return Routes(found.indptr, found.links, cluster.n_links, found.rule)

    def _owned_routes(self, src: Ints, dst: Ints, partition: Partition) -> Routes:
        """Route flows of a job on the links that it owns: by the tree of the receiver's adapter."""
        cluster = self.cluster
        try:
            hosts = host_tree(cluster)
        except TopologyError as error:
            raise RoutingError(f"routing 'jigsaw': {error}") from None
        host = cluster.endpoints.node
        here, there = host[src], host[dst]
        out, into = src - cluster.endpoints.first[here], dst - cluster.endpoints.first[there]
        moves = here != there
        if cluster.fabric != "clos" and np.any(moves & (out != into)):
            raise RoutingError(
                f"routing 'jigsaw': expected pxn = true on {cluster.fabric}: a job owns no links "
                "between its rails."
            )
        own = hosts.folded(partition)
        if not hosts.lost.any():
            found = Wraparound(hosts.tree).routes(here, there, own)
            links = hosts.link[np.repeat(into, found.hops), found.links]
            links[found.indptr[:-1][moves]] = cluster.endpoints.link[src[moves]]
            return Routes(found.indptr, links, cluster.n_links, found.rule)
        table = np.full((src.size, 2 * hosts.tree.levels), -1, dtype=np.int64)
        for end in np.unique(into).tolist():
            flows = np.flatnonzero(into == end)
            found = Wraparound(hosts.of_end(end)).routes(here[flows], there[flows], own)
            place = np.arange(found.links.size) - np.repeat(found.indptr[:-1], found.hops)
            table[np.repeat(flows, found.hops), place] = hosts.link[end, found.links]
        table[moves, 0] = cluster.endpoints.link[src[moves]]
        return Routes.from_padded(table, cluster.n_links)
