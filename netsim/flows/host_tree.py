"""Host trees: what each adapter of the hosts of a GPU cluster sees, a tree of one link a host."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import PartitionError, TopologyError
from netsim.flows.partition import Partition
from netsim.topology.fattree import FatTree, build_fat_tree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.names import Origin


@dataclass(frozen=True, slots=True, eq=False)
class HostTree:
    """
    A GPU cluster as equal trees side by side, one for each endpoint of a host.

    What a job owns of one tree it owns of all: jobs that share no link of the host tree share none
    of the cluster, and a message that leaves and arrives by adapters of one number stays on one
    tree.
    """

    # one of them; nodes are hosts, switches are called as those of adapter 0. Absent: links that
    # are out of service on any, but for those of a leaf that is lost as a whole: its adapters send
    # nothing.
    tree: FatTree
    # (ends, n_tree_links): link of the cluster that each link of the tree is for each endpoint of a
    # host
    link: Ints
    lost: Bools  # (ends, n_tree_links): which of them are out of service

    def of_end(self, end: int) -> FatTree:
        """Return the tree of one endpoint of each host, with what is out of service there."""
        if not self.lost.any():
            return self.tree
        absent = np.flatnonzero(self.lost[end])
        return replace(self.tree, absent=absent[absent >= self.tree.up_base[1]])

    def spread(self, links: Ints) -> Ints:
        """Return the links of the cluster that some links of the tree are, ascending."""
        return np.sort(self.link[:, links].reshape(-1))

    def folded(self, partition: Partition) -> Partition:
        """
        Return what a job owns of each tree.

        It must own the same links of all.
        """
        if partition.links is None:
            return partition
        of_link = np.full(int(self.link.max()) + 1, -1, dtype=np.int64)
        of_link[self.link] = np.arange(self.tree.n_links)
        known = partition.links[partition.links < of_link.size]
        count = np.bincount(of_link[known], minlength=self.tree.n_links)
        between = count[self.tree.up_base[1] :]
        uneven = np.flatnonzero((between > 0) & (between < self.link.shape[0]))
        if uneven.size:
            link = int(uneven[0]) + self.tree.up_base[1]
            raise PartitionError(
                f"links: expected those of all {self.link.shape[0]} endpoints of a host, of "
                f"{self.tree.link_name(link)} and its like {count[link]} are owned."
            )
        return replace(partition, links=np.flatnonzero(count))


@lru_cache(maxsize=8)
def host_tree(cluster: GpuCluster) -> HostTree:
    """Return the host tree of a cluster; refuse one whose links do not part among adapters."""
    tree, fabric, hosts = cluster.tree, cluster.fabric, cluster.hosts
    parents, parallel = [1, *tree.parents[1:]], [1, *tree.parallel[1:]]
    # lowest switches that adapters of different numbers share: their links up are parted
    lowest = {"clos": 1, "rail": 2, "dual-plane": 2}.get(fabric, tree.levels)
    for level in range(lowest, tree.levels):
        apart = tree.parents[level] % hosts.nics == 0
        part = parents if apart else parallel
        if part[level] % hosts.nics:
            what = "a leaf" if level == 1 else "a spine"
            raise TopologyError(
                f"owned links need as many links up of {what} for each adapter: "
                f"{tree.parents[level]} x {tree.parallel[level]} do not part among {hosts.nics}."
            )
        part[level] //= hosts.nics
        if apart:
            break
    units = cluster.n_nodes // cluster.hosts_per_unit
    children = [cluster.hosts_per_unit, cluster.units_per_pod, units // cluster.units_per_pod]
    shape = children[: tree.levels], parents, parallel
    found = build_fat_tree(*shape, "1 B/s", down_cable=tree.down_cable)
    link = np.stack(
        [
            _links_of(cluster, found, plane, nic)
            for plane in range(hosts.planes)
            for nic in range(hosts.nics)
        ]
    )
    lost = np.isin(link, np.empty(0) if cluster.absent is None else cluster.absent)
    return HostTree(_as_it_is(cluster, found, link, lost), link, lost)


def _links_of(cluster: GpuCluster, tree: FatTree, plane: int, nic: int) -> Ints:
    """Return the links of the cluster that those of a host tree are for one endpoint of a host."""
    whole, hosts = cluster.tree, cluster.hosts
    end = np.arange(cluster.n_nodes) * hosts.ends + plane * hosts.nics + nic
    out = cluster.endpoints.link[end]
    parts = [out, cluster.reverse[out]]
    for level in range(1, tree.levels):
        element, port = np.divmod(
            np.arange(tree.counts[level] * tree.ports[level]), tree.ports[level]
        )
        if whole.ports[level] > tree.ports[level]:
            port = _whole_port(port, tree, whole, level, nic)
        if cluster.fabric == "rail-only":
            element = element * hosts.nics + nic
        elif cluster.fabric != "clos":
            element = element * hosts.nics + nic if level == 1 else element
            element = element * hosts.planes + plane
        elif level > 1:
            pod, spine = np.divmod(element, tree.parents[1])
            if whole.parents[1] > tree.parents[1]:
                spine = spine * hosts.nics + nic
            element = pod * whole.parents[1] + spine
        place = element * whole.ports[level] + port
        parts += [whole.up_base[level] + place, whole.down_base[level] + place]
    return np.concatenate(parts)


def _whole_port(port: Ints, tree: FatTree, whole: FatTree, level: int, nic: int) -> Ints:
    """Return the up-ports of a switch that those of a host tree are for one adapter."""
    nics = whole.ports[level] // tree.ports[level]
    cable, parent = np.divmod(port, tree.parents[level])
    if whole.parents[level] > tree.parents[level]:
        parent = parent * nics + nic
    else:
        cable = cable * nics + nic
    found: Ints = parent + whole.parents[level] * cable
    return found


def _as_it_is(cluster: GpuCluster, tree: FatTree, link: Ints, lost: Bools) -> FatTree:
    """Return a host tree under the names of the cluster, without what is out of service."""
    labels = [cluster.vertex_name(host) for host in range(cluster.n_nodes)]
    switch = np.full(tree.n_nodes + tree.n_switches, -1, dtype=np.int64)
    for ends, own in ((tree.link_tail, cluster.link_tail), (tree.link_head, cluster.link_head)):
        switch[ends] = own[link[0]]
    labels += [cluster.vertex_name(vertex) for vertex in switch[cluster.n_nodes :].tolist()]
    size, first = tree.counts[1] * tree.ports[1], tree.up_base[1]
    hosts = lost[:, : tree.n_nodes].reshape(lost.shape[0], tree.n_leaves, -1)
    alive = np.repeat(~hosts.all(axis=2), tree.ports[1], axis=1)
    between = lost[:, first:].copy()  # a host that lacks an adapter sends by the others
    between[:, : 2 * size] &= np.tile(alive, 2)
    absent = first + np.flatnonzero(between.any(axis=0))
    origin = Origin(cluster.name, "gpu-cluster", tuple(labels))
    capacity = cluster.capacity[link[0]]
    fields = {"capacity": capacity, "usable": cluster.usable, "origin": origin}
    return replace(tree, absent=absent if absent.size else None, **fields)
