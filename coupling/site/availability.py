"""Room on a machine as it is: free nodes, links without traffic, and when there will be more."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import NetsimError
from netsim.flows.host_tree import host_tree
from netsim.routing.base import RankRouting, Routing
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.multipath import as_built
from netsim.topology.reach import reaching_sets
from scheduler.allocation import L2_UP, LEAF_UP, Allocation
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.errors import SchedulerError
from scheduler.footprint import Footprint, join_masks
from scheduler.job import Job

_BATCH = 200_000  # flows routed at once: tens of MB


@dataclass(frozen=True, slots=True, eq=False)
class NodeHold:
    """A job that holds nodes."""

    id: int  # The job
    nodes: Ints  # (n,): its nodes
    end_s: float  # When its time limit ends it, seconds since 1970; infinity where none is stated
    links: Ints  # (k,): directed links that it may send over


class Availability:
    """What jobs leave free of a machine, now and when some of them have ended."""

    def __init__(self, topology: Topology, holding: Sequence[NodeHold], excluded: Ints) -> None:
        self.topology, self.excluded = topology, excluded
        self.holding = sorted(holding, key=lambda own: (own.end_s, own.id))
        self._group, self._reach = reaching_sets(as_built(topology))
        self.connected = tuple(_connected_sets(self._group, self._reach))

    @property
    def parted(self) -> bool:
        """Whether `connected` holds every node once: reaching each other is transitive."""
        return sum(nodes.size for nodes in self.connected) == int((self._group >= 0).sum())

    def joins(self, nodes: Ints) -> bool:
        """Say whether all of some nodes reach each other over cables that work."""
        own = np.unique(self._group[nodes])
        return bool((own >= 0).all() and self._reach[np.ix_(own, own)].all())

    def cluster(
        self, ended: int = 0, *, links: bool = False, within: Ints | None = None
    ) -> Cluster:
        """Return the machine with nodes (and `links`) of jobs taken, the first `ended` gone."""
        left = self.holding[ended:]
        nodes = np.concatenate([self.excluded, *(own.nodes for own in left)])
        if within is not None:
            nodes = np.union1d(nodes, np.setdiff1d(self.topology.usable_nodes, within))
        cluster = Cluster(self.topology)
        masks = cluster.geometry.masks(np.unique(nodes).tolist())
        used = np.zeros(self.topology.n_links, dtype=np.bool_)
        if links:
            for own in left:
                used[own.links] = True
        cluster.block(
            Footprint(
                join_masks(cluster.nodes_per_leaf, masks.items()),
                self._port_levels(used, LEAF_UP, cluster),
                self._port_levels(used, L2_UP, cluster),
            )
        )
        return cluster

    def _port_levels(self, used: Bools, level: int, cluster: Cluster) -> int:
        """Return the up-ports of a level whose cables are used in one direction at least."""
        tree = cluster.geometry.tree
        width = cluster.leaf_width if level == LEAF_UP else cluster.l2_width
        if tree is None or not width:
            return 0
        if isinstance(self.topology, GpuCluster):
            used = np.logical_or.reduce(used[host_tree(self.topology).link])
        size = tree.counts[level] * tree.ports[level]
        up, down = (
            used[base : base + size] for base in (tree.up_base[level], tree.down_base[level])
        )
        masks: dict[int, int] = {}
        for cable in np.flatnonzero(up | down).tolist():
            switch, port = divmod(cable, tree.ports[level])
            masks[switch] = masks.get(switch, 0) | 1 << port
        return join_masks(width, masks.items())

    def first_fit(
        self, job: Job, allocators: Mapping[str, Allocator], *, links: bool
    ) -> tuple[float, str, Allocation, int] | None:
        """Find time, allocator and placement of the latest start; others end by their limits."""
        known = sum(np.isfinite(own.end_s) for own in self.holding)
        low, high = 1, int(known)
        best: tuple[str, Allocation] | None = None
        if not high or (best := self._first_fit(job, allocators, high, links=links)) is None:
            return None
        while low < high:
            middle = (low + high) // 2
            found = self._first_fit(job, allocators, middle, links=links)
            if found is None:
                low = middle + 1
            else:
                high, best = middle, found
        return self.holding[high - 1].end_s, *best, high

    def _first_fit(
        self, job: Job, allocators: Mapping[str, Allocator], ended: int, *, links: bool
    ) -> tuple[str, Allocation] | None:
        """Return the first placement that an allocator finds."""
        for name, found in self.proposals(job, allocators, ended, links=links):
            return name, found
        return None

    def proposals(
        self, job: Job, allocators: Mapping[str, Allocator], ended: int = 0, *, links: bool
    ) -> Iterator[tuple[str, Allocation]]:
        """Yield allocators and their placements on nodes that all reach each other."""
        for nodes in self.connected:
            cluster = self.cluster(ended, links=links, within=nodes)
            for name, allocator in allocators.items() if job.n_nodes <= cluster.n_free else ():
                try:
                    found = allocator.allocate(job, cluster)
                except (SchedulerError, NetsimError):
                    continue
                if found is not None:
                    yield name, found


def _connected_sets(group: Ints, reach: Bools) -> Iterator[Ints]:
    """Yield sets of nodes that all reach each other, one for each group, largest first."""
    # On a damaged tree two groups may both reach a third and not each other, so sets may overlap.
    size = np.bincount(group[group >= 0], minlength=reach.shape[0])
    order = np.argsort(-size, kind="stable")
    found = set[tuple[int, ...]]()
    for first in order.tolist():
        together = reach[first].copy()
        own = [first]
        for other in order[together[order]].tolist():
            if other != first and together[other]:
                own.append(other)
                together &= reach[other]
        found.add(tuple(sorted(own)))
    for groups in sorted(found, key=lambda groups: (-int(size[list(groups)].sum()), groups)):
        yield np.flatnonzero(np.isin(group, groups))


def links_between(topology: Topology, routing: Routing, nodes: Ints) -> Ints:
    """Return the directed links that flows between some nodes may take, ascending."""
    ways = RankRouting(topology, routing)
    used = np.zeros(topology.n_links, dtype=np.bool_)
    rows = max(1, _BATCH // max(1, nodes.size))
    for first in range(0, nodes.size, rows):
        some = nodes[first : first + rows]
        ends = np.repeat(some, nodes.size), np.tile(nodes, some.size)
        used[ways.of_nodes(*ends, None)[0].links] = True
    return np.flatnonzero(used)
