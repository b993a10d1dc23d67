"""Slurm's best fit on trees: the lowest switch with enough free nodes."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from netsim.arrays import Ints
from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation, lowest
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.leaves.hierarchy import hierarchy_of
from scheduler.allocators.ordering import allocation_of
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class SlurmBestFit:
    """
    Slurm's topology/tree: lowest common switch, then the leaves with the fewest free nodes.

    Of the switches at the lowest level that have enough free nodes below them, the one with
    the fewest is taken; its leaves give all their free nodes in ascending order of how many
    these are. On trees that are not regular (leaves of different size, hosts on spines, missing
    or several cables) levels go by the cables between leaves.

    Notes
    -----
    Mishra20, section III-B (*best-fit allocation*), the default that its algorithms are
    compared with. Ties go to the lower number.
    """

    name: ClassVar[str] = "slurm-best-fit"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        check_size(job, cluster)
        tree = cluster.fabric
        if not isinstance(tree, FatTree):
            return self._on_graph(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        counts = [mask.bit_count() for mask in cluster.leaf_free]
        leaves = []
        missing = job.n_nodes
        for leaf in sorted(best_switch(missing, counts, tree), key=counts.__getitem__):
            if counts[leaf]:
                taken = min(missing, counts[leaf])
                leaves.append((leaf, lowest(cluster.leaf_free[leaf], taken), 0))
                missing -= taken
            if not missing:
                break
        return Allocation(job, cluster.geometry, tuple(leaves))

    def _on_graph(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch of a tree that is not regular."""
        tree = hierarchy_of(cluster.fabric, self.name)
        if job.n_nodes > cluster.n_free:
            return None
        free = cluster.free_nodes()
        leaf = tree.leaf[free]
        free, leaf = free[leaf >= 0], leaf[leaf >= 0]
        counts = np.bincount(leaf, minlength=int(tree.leaf.max(initial=0)) + 1)
        below = lowest_group(job.n_nodes, counts, tree.groups)
        if below is None:
            return now_or_later(None, self.name, job, cluster)
        order = np.lexsort((free, leaf, counts[leaf]))
        chosen = free[order[np.isin(leaf[order], below)][: job.n_nodes]]
        return allocation_of(job, np.sort(chosen).tolist(), cluster.geometry)


def lowest_group(size: int, counts: Ints, groups: tuple[Ints, ...]) -> Ints | None:
    """
    Find the lowest switch with enough free nodes.

    `counts` (L,): free nodes of each leaf. `groups`: as of a `Hierarchy`. Result: the leaves below
    it; of several switches at one level, that with the fewest free nodes. None where none has
    enough.
    """
    for group in (np.arange(counts.size), *groups):
        free = np.bincount(group, weights=counts).astype(np.int64)
        enough = np.flatnonzero(free >= size)
        if enough.size:
            found: Ints = np.flatnonzero(group == enough[free[enough].argmin()])
            return found
    return None


def best_switch(size: int, counts: list[int], tree: FatTree) -> range:
    """
    Find the lowest switch with enough free nodes.

    Result: the leaves below it; of several switches at one level, that with the fewest free nodes.
    """
    for level in range(1, tree.levels):
        width = prod(tree.children[1:level])  # leaves below a switch
        free = [sum(counts[first : first + width]) for first in range(0, len(counts), width)]
        enough = [(n, switch) for switch, n in enumerate(free) if n >= size]
        if enough:
            first = min(enough)[1] * width
            return range(first, first + width)
    return range(len(counts))
