"""Room on a machine as it is: free nodes, links that nobody uses, and when there will be more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Bools, Ints
from netsim.routing.base import Routing
from netsim.routing.ranks import RankRouting
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.allocation import L2_UP, LEAF_UP, Allocation
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.footprint import Footprint, join
from scheduler.job import Job

_BATCH = 200_000  # flows routed at once: tens of MB


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    """
    A job that holds nodes.

    Parameters
    ----------
    id : int
        The job.
    nodes : (n,) int array
        Its nodes.
    end_s : float
        When its time limit ends it, seconds since 1970; infinity where nothing tells.
    links : (k,) int array
        Directed links that it may send over.
    """

    id: int
    nodes: Ints
    end_s: float
    links: Ints


class Room:
    """
    What jobs leave free of a machine, now and when some of them have ended.

    Parameters
    ----------
    topology : Topology
        The fabric.
    holding : sequence of Holding
        All jobs that hold nodes, whether they compute or not.
    excluded : (n,) int array
        Nodes that take no jobs: drained or down.
    """

    def __init__(self, topology: Topology, holding: Sequence[Holding], excluded: Ints) -> None:
        self.topology, self.excluded = topology, excluded
        self.holding = sorted(holding, key=lambda own: (own.end_s, own.id))

    def cluster(self, ended: int = 0, *, links: bool = False) -> Cluster:
        """
        Return the machine with the nodes of jobs taken.

        `ended`: so many jobs, the first to end, are gone. `links`: links that jobs may send over
        are taken too.
        """
        left = self.holding[ended:]
        nodes = np.concatenate([self.excluded, *(own.nodes for own in left)])
        cluster = Cluster(self.topology)
        masks = cluster.geometry.masks(np.unique(nodes).tolist())
        used = np.zeros(self.topology.n_links, dtype=np.bool_)
        if links:
            for own in left:
                used[own.links] = True
        cluster.block(
            Footprint(
                join(cluster.nodes_per_leaf, masks.items()),
                self._ports(used, LEAF_UP, cluster),
                self._ports(used, L2_UP, cluster),
            )
        )
        return cluster

    def _ports(self, used: Bools, level: int, cluster: Cluster) -> int:
        """Return the up-ports of a level whose cables are used in one direction at least."""
        tree = self.topology
        width = cluster.leaf_width if level == LEAF_UP else cluster.l2_width
        if not isinstance(tree, FatTree) or not width:
            return 0
        size = tree.counts[level] * tree.ports[level]
        up, down = (
            used[base : base + size] for base in (tree.up_base[level], tree.down_base[level])
        )
        masks: dict[int, int] = {}
        for cable in np.flatnonzero(up | down).tolist():
            switch, port = divmod(cable, tree.ports[level])
            masks[switch] = masks.get(switch, 0) | 1 << port
        return join(width, masks.items())

    def first_fit(
        self, job: Job, allocators: Mapping[str, Allocator], *, links: bool
    ) -> tuple[float, str, Allocation, int] | None:
        """
        Find when a job fits at the latest, if nobody else comes: jobs end by their limits.

        Result: `end_s`, seconds since 1970, which allocator, its placement, and how many jobs have
        ended by then; None where it does not fit even then.
        """
        known = sum(np.isfinite(own.end_s) for own in self.holding)
        low, high = 1, int(known)
        best: tuple[str, Allocation] | None = None
        if not high or (best := self._fit(job, allocators, high, links=links)) is None:
            return None
        while low < high:
            middle = (low + high) // 2
            found = self._fit(job, allocators, middle, links=links)
            if found is None:
                low = middle + 1
            else:
                high, best = middle, found
        return self.holding[high - 1].end_s, *best, high

    def _fit(
        self, job: Job, allocators: Mapping[str, Allocator], ended: int, *, links: bool
    ) -> tuple[str, Allocation] | None:
        """Return the first placement that an allocator finds."""
        cluster = self.cluster(ended, links=links)
        for name, allocator in allocators.items():
            if job.n_nodes <= cluster.n_free:
                found = allocator.allocate(job, cluster)
                if found is not None:
                    return name, found
        return None


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
