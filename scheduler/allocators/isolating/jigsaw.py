"""Jigsaw: isolated partitions of full bandwidth, nodes and links (Smith21)."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.choices import (
    BEST_FIT,
    INDEX,
    check_choice,
    check_flag,
    largest,
    require_tree,
)
from scheduler.allocators.isolating.pods import PodViews
from scheduler.allocators.isolating.tree_search import (
    in_pod_or_over_pods,
    most_nodes,
    no_room_beside,
    too_few_of,
)
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(slots=True)
class Jigsaw:
    """
    Jigsaw, Algorithm 1 of Smith21: nodes and links that fulfil conditions (1)-(6).

    A job goes into one pod if any legal placement exists there, else over pods, where every
    leaf but the remainder leaf is used whole (section 4).

    Parameters
    ----------
    order : {"best-fit", "index"}
        Pods and leaves with the fewest free nodes first, or by number. The paper is silent;
        best-fit gains 0.2 to 0.6 points of utilisation and searches less.
    single_leaf_links : bool, default False
        Jobs on a single leaf take as many uplinks as nodes: the literal reading of
        "balanced", which costs 0.1 to 0.3 points and serves no traffic.

    Notes
    -----
    The search is exhaustive within this space, so it needs no budget: 26,000 steps in the
    worst call seen. Sizes fix the shape: n_L and L_T descend, and T, L_T^r and n_L^r follow.

    Trees may be tapered, damaged or have several cables between two switches. A job on several
    leaves owns as many uplinks as nodes on each, so a leaf with fewer uplinks serves no more nodes
    of it than these; the others are for jobs on one leaf. What is used whole, over pods, is then
    what a leaf can serve (see `whole_leaf_indices`). Parallel cables count as uplinks to switches
    of their own (see `Indices`).
    """

    name: ClassVar[str] = "jigsaw"
    isolating: ClassVar[bool] = True
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True

    order: str = BEST_FIT
    single_leaf_links: bool = False
    _views: PodViews = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("order", self.order, (BEST_FIT, INDEX))
        check_flag("single_leaf_links", self.single_leaf_links)
        self._views = PodViews(fewest_first=self.order == BEST_FIT)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a legal placement."""
        check_size(job, cluster)
        tree = require_tree(self.name, cluster.fabric)
        if job.n_nodes > cluster.n_free:
            return None
        found = self._placed(job, tree, cluster)
        return now_or_later(found, self.name, job, cluster, lambda: self._most(job, tree, cluster))

    def no_room_beside(self, job: Job, cluster: Cluster, other: Allocation) -> bool:
        """Compare the whole leaves that the other one leaves."""
        tree = require_tree(self.name, cluster.fabric)
        return no_room_beside(self._views, tree, job.n_nodes, cluster, other)

    def most_nodes(self, cluster: Cluster) -> int:
        """Count the nodes of the largest pod and the whole leaves."""
        return most_nodes(require_tree(self.name, cluster.fabric), cluster)

    def no_room_in(self, job: Job, cluster: Cluster, nodes: int) -> bool:
        """Count the nodes of each pod and the whole leaves."""
        tree = require_tree(self.name, cluster.fabric)
        return too_few_of(tree, job.n_nodes, cluster, nodes)

    def _most(self, job: Job, tree: FatTree, cluster: Cluster) -> str:
        """Say how large a job may be on the empty machine."""
        return largest(lambda n: self._placed(replace(job, n_nodes=n), tree, cluster), job.n_nodes)

    def _placed(self, job: Job, tree: FatTree, cluster: Cluster) -> Allocation | None:
        """Return a placement, if there is one."""
        links = self.single_leaf_links
        return in_pod_or_over_pods(
            self._views, tree, job, cluster, leaf_links=links, round_up=False
        )
