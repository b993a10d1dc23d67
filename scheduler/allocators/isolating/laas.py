"""LaaS, Links as a Service: isolated partitions, whole leaves beyond a pod (Smith21)."""

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
class Laas:
    """
    LaaS as Smith21, section 5.2.1 compares it: three levels reduced to two.

    In one pod a job gets exactly its nodes, as under Jigsaw. Over pods, leaves take the
    place of nodes: the size is rounded up to whole leaves and the nodes beyond the request
    are held idle (internal fragmentation).

    Parameters
    ----------
    order : {"best-fit", "index"}
        Pods and leaves with the fewest free nodes first, or by number.
    single_leaf_links : bool, default False
        Jobs on a single leaf take as many uplinks as nodes.

    Notes
    -----
    Rounding up the jobs that fit in a pod, too, would lose far more than the 3-7 % of the
    machine that the paper reports.
    """

    name: ClassVar[str] = "laas"
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
        """Return a legal placement; `idle` of it counts the nodes held beyond the request."""
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
        return in_pod_or_over_pods(self._views, tree, job, cluster, leaf_links=links, round_up=True)
