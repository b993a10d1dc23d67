"""Slurm's best fit on trees: the lowest switch with enough free nodes."""

from dataclasses import dataclass
from typing import ClassVar

from scheduler.allocation import Allocation, lowest
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.leaves.lowest import lowest_switch, require_switches
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class SlurmBestFit:
    """
    Slurm's topology/tree: lowest common switch, then the leaves with the fewest free nodes.

    Of the switches at the lowest level that have enough free nodes below them, the one with
    the fewest is taken; its leaves give all their free nodes in ascending order of how many
    these are. Trees need not be regular: leaves of different size, hosts on spines, missing or
    several cables, branches of different height (see `netsim.topology.structure.hierarchy`).

    Notes
    -----
    Mishra20, section III-B (*best-fit allocation*), the default that its algorithms are
    compared with. Ties go to the lower number. The source of Slurm today (topology/tree,
    eval_nodes_tree.c) finds the same switch, but begins with the leaf below it that has most free
    nodes and goes on with those nearest to it.
    """

    name: ClassVar[str] = "slurm-best-fit"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        check_size(job, cluster)
        require_switches(cluster, self.name)
        if job.n_nodes > cluster.n_free:
            return None
        below = lowest_switch(job.n_nodes, cluster, self.name)
        if below is None:
            return now_or_later(None, self.name, job, cluster)
        counts = [mask.bit_count() for mask in cluster.leaf_free]
        leaves = []
        missing = job.n_nodes
        for leaf in sorted(below, key=counts.__getitem__):
            if counts[leaf]:
                taken = min(missing, counts[leaf])
                leaves.append((leaf, lowest(cluster.leaf_free[leaf], taken), 0))
                missing -= taken
            if not missing:
                break
        return Allocation(job, cluster.geometry, tuple(leaves))
