"""TA: topology-aware allocation, job types that never share a link (Pollard18)."""

from dataclasses import dataclass
from typing import ClassVar

from scheduler.allocation import Allocation, lowest_bits
from scheduler.allocators.base import (
    INDEX,
    check_choice,
    check_flag,
    check_size,
    now_or_later,
    require_tree,
)
from scheduler.cluster import Cluster
from scheduler.job import Job

SORTED = "sorted"


@dataclass(frozen=True, slots=True)
class TopologyAware:
    """
    TA (Pollard18, Algorithm 1): no two jobs can meet on a link.

    A job of at most a leaf's nodes (T1) stays on one leaf, one of at most a pod's nodes (T2) in one
    pod, larger ones (T3) spread over pods. A leaf serves at most one T2 or T3 job and a pod at most
    one T3 job; T1 jobs go anywhere.

    What the paper reserves implicitly is owned here: T2 and T3 jobs take all uplinks of their
    leaves, T3 jobs also all spine links of their pods. So "no T2 or T3 job on the leaf" reads "all
    uplinks free", "no T3 job in the pod" reads "all spine links free", and minimal routing keeps
    inside what is owned. Works on tapered trees too, which changes no type boundary. The printed
    listing returns after the first leaf and empties S for each pod in one function only; both are
    taken for slips of the layout.
    """

    name: ClassVar[str] = "ta"
    isolating: ClassVar[bool] = True
    monotone_in_size: ClassVar[bool] = False  # a T1 job may fail where a T2 job fits
    monotone_in_free: ClassVar[bool] = True

    # "sorted", "index": ``"sorted"``: as printed (T1: pods and leaves with the fewest free nodes
    # first; T2: such pods, but leaves with the most first; T3: the most first). ``"index"``: all in
    # the order of their numbers, a stricter reading of "first available".
    order: str = SORTED
    # T2 and T3 jobs only on leaves whose nodes are all free, the other stricter reading ("using all
    # nodes of one or more switches", rules 2 and 3)
    whole_leaves: bool = False

    def __post_init__(self) -> None:
        check_choice("order", self.order, (SORTED, INDEX))
        check_flag("whole_leaves", self.whole_leaves)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a placement by the job's type."""
        check_size(job, cluster)
        require_tree(self.name, cluster.fabric)
        if job.n_nodes <= cluster.nodes_per_leaf:
            found = self._on_one_leaf(job, cluster)
        elif job.n_nodes <= cluster.nodes_per_leaf * cluster.leaves_per_pod:
            found = self._in_one_pod(job, cluster)
        else:
            found = self._over_pods(job, cluster)
        return now_or_later(found, self.name, job, cluster)

    def _on_one_leaf(self, job: Job, cluster: Cluster) -> Allocation | None:
        """T1: lines 8-18."""
        size, free, per_pod = job.n_nodes, cluster.leaf_free, cluster.leaves_per_pod
        for pod in self._pods_with(size, cluster):
            best, leaf_of_best = cluster.nodes_per_leaf + 1, -1
            for leaf in range(pod * per_pod, (pod + 1) * per_pod):
                count = free[leaf].bit_count()
                if size <= count < best:
                    best, leaf_of_best = count, leaf
                    if self.order == INDEX or count == size:
                        break
            if leaf_of_best >= 0:
                return Allocation(
                    job,
                    cluster.geometry,
                    ((leaf_of_best, lowest_bits(free[leaf_of_best], size), 0),),
                )
        return None

    def _in_one_pod(self, job: Job, cluster: Cluster) -> Allocation | None:
        """T2: lines 19-30."""
        for pod in self._pods_with(job.n_nodes, cluster):
            leaves, missing = self._fill(pod, job.n_nodes, cluster)
            if not missing:
                return Allocation(job, cluster.geometry, tuple(leaves))
        return None

    def _over_pods(self, job: Job, cluster: Cluster) -> Allocation | None:
        """T3: lines 31-41."""
        if job.n_nodes > cluster.n_free:
            return None
        width = cluster.l2_per_pod
        free, working = cluster.l2_up, cluster.l2_links
        pods = [
            pod
            for pod, first in enumerate(range(0, len(free), width))
            if tuple(free[first : first + width]) == working[first : first + width]
        ]
        if self.order == SORTED:
            pods.sort(key=cluster.pod_free.__getitem__, reverse=True)
        leaves: list[tuple[int, int, int]] = []
        l2s: list[tuple[int, int]] = []
        missing = job.n_nodes
        for pod in pods:
            chosen, missing = self._fill(pod, missing, cluster)
            if chosen:
                leaves += chosen
                l2s += [(l2, working[l2]) for l2 in range(pod * width, (pod + 1) * width)]
            if not missing:
                return Allocation(job, cluster.geometry, tuple(leaves), tuple(l2s))
        return None

    def _pods_with(self, size: int, cluster: Cluster) -> list[int]:
        """Pods with so many free nodes, in the order in which T1 and T2 jobs try them."""
        pods = [pod for pod, free in enumerate(cluster.pod_free) if free >= size]
        if self.order == SORTED:
            pods.sort(key=cluster.pod_free.__getitem__)
        return pods

    def _fill(
        self, pod: int, missing: int, cluster: Cluster
    ) -> tuple[list[tuple[int, int, int]], int]:
        """Take leaves of a pod without T2 and T3 jobs until nothing is missing."""
        free, up, links = cluster.leaf_free, cluster.leaf_up, cluster.leaf_links
        first = pod * cluster.leaves_per_pod
        leaves = [
            leaf
            for leaf in range(first, first + cluster.leaves_per_pod)
            if free[leaf]
            and up[leaf] == links[leaf] != 0
            and (free[leaf] == cluster.leaf_nodes[leaf] or not self.whole_leaves)
        ]
        if self.order == SORTED:
            leaves.sort(key=lambda leaf: free[leaf].bit_count(), reverse=True)
        chosen: list[tuple[int, int, int]] = []
        for leaf in leaves:
            count = free[leaf].bit_count()
            if count >= missing:
                return [*chosen, (leaf, lowest_bits(free[leaf], missing), links[leaf])], 0
            chosen.append((leaf, free[leaf], links[leaf]))
            missing -= count
        return chosen, missing
