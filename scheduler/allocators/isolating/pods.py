"""Pods: what is free in each pod, looked at once per state of the machine."""

from operator import attrgetter

from netsim.topology.fattree import FatTree
from scheduler.allocators.isolating.indices import Indices, Placement, all_indices
from scheduler.allocators.isolating.podview import PodView
from scheduler.cluster import Cluster
from scheduler.sharing import CAP, without_room

_KEPT = 32  # states of each pod kept before all are forgotten
_MACHINES_KEPT = 32  # the same for states of the machine, which seldom come back
_FREE = attrgetter("free")

Found = tuple[Placement, int]
"""Leaves and l2s as in `Allocation`, and how many nodes idle."""


class Pods:
    """
    The pods of a machine in one state.

    Parameters
    ----------
    views : list of PodView
        In the order in which pods are tried.

    Attributes
    ----------
    views : list of PodView
        The same.
    known : dict of int to Found
        What a search found, by size: the same search is never made twice.
    """

    __slots__ = ("_depths", "known", "views")

    def __init__(self, views: list[PodView]) -> None:
        self.views = views
        self._depths: tuple[int, list[int]] | None = None
        self.known: dict[int, Found | None] = {}

    @property
    def depths(self) -> tuple[int, list[int]]:
        """Whole leaves of all pods, and `PodView.deepest` of each, descending."""
        if self._depths is None:  # most states are never asked
            deepest = [view.deepest for view in self.views]
            deepest.sort(reverse=True)
            self._depths = sum([view.n_whole for view in self.views]), deepest
        return self._depths


class PodViews:
    """
    Views of the pods of a cluster, kept while the pods do not change.

    Parameters
    ----------
    fewest_first : bool
        Pods and leaves with the fewest free nodes first, else by number.
    units : int, default 0
        Show the up-ports on which so many units are free; 0: those that nobody uses.
    indices : Indices or None
        Show these of a leaf's up-ports; None: all.
    """

    __slots__ = (
        "_by_stamp",
        "_by_state",
        "_fewest_first",
        "_indices",
        "_last",
        "_narrowed",
        "_pods",
        "_units",
    )

    def __init__(
        self, *, fewest_first: bool, units: int = 0, indices: Indices | None = None
    ) -> None:
        self._fewest_first, self._units = fewest_first, units or CAP
        self._indices = indices
        self._narrowed: dict[Indices, PodViews] = {}
        self._by_stamp: dict[object, PodView] = {}
        self._by_state: dict[tuple[object, ...], PodView] = {}
        self._pods: dict[tuple[object, ...], Pods] = {}  # by the stamps of all pods
        self._last: tuple[tuple[object, ...], Pods] = (), Pods([])  # the stamps asked for last

    def of(self, cluster: Cluster) -> Pods:
        """Return what is free in each pod."""
        stamps = tuple(cluster.stamp)
        if stamps == self._last[0]:
            return self._last[1]
        pods = self._pods.get(stamps)
        if pods is None:
            if len(self._by_stamp) > _KEPT * cluster.n_pods:
                self._by_stamp.clear()
                self._by_state.clear()
            if len(self._pods) > _MACHINES_KEPT:
                self._pods.clear()
            known = list(map(self._by_stamp.get, stamps))
            views = [view or self._view(pod, cluster) for pod, view in enumerate(known)]
            if self._fewest_first:
                views.sort(key=_FREE)
            pods = self._pods[stamps] = Pods(views)
        self._last = stamps, pods
        return pods

    def narrowed(self, indices: Indices) -> "PodViews":
        """Return views of the same pods that show some indices only."""
        if indices.plain:
            return self
        found = self._narrowed.get(indices)
        if found is None:
            found = self._narrowed[indices] = PodViews(
                fewest_first=self._fewest_first, units=self._units, indices=indices
            )
        return found

    def _view(self, pod: int, cluster: Cluster) -> PodView:
        """Look at a pod as it is now."""
        first, width = pod * cluster.leaves_per_pod, cluster.l2_per_pod
        leaf_up = cluster.leaf_up[first : first + cluster.leaves_per_pod]
        l2_up = cluster.l2_up[pod * width : (pod + 1) * width]
        if cluster.shared is not None:
            taken = cluster.shared.leaf[first : first + cluster.leaves_per_pod]
            leaf_up = self._with_room(leaf_up, taken)
            l2_up = self._with_room(l2_up, cluster.shared.l2[pod * width : (pod + 1) * width])
        assert isinstance(cluster.fabric, FatTree)  # noqa: S101 (only trees have L2 switches)
        indices = self._indices or all_indices(cluster.fabric)
        if not indices.plain:
            leaf_up = [indices.of_leaf(up) for up in leaf_up]
            l2_up = indices.of_pod(l2_up)
        # three of four pods come back to a state, as jobs are placed and released on trial
        nodes = cluster.leaf_free[first : first + cluster.leaves_per_pod]
        state = cluster.fabric, pod, *nodes, *leaf_up, *l2_up
        view = self._by_state.get(state)
        if view is None:
            width = len(indices.ports)
            view = PodView(cluster, pod, leaf_up, l2_up, width, fewest_first=self._fewest_first)
            self._by_state[state] = view
        self._by_stamp[cluster.stamp[pod]] = view
        return view

    def _with_room(self, masks: list[int], taken: list[tuple[int, ...]]) -> list[int]:
        """Strike the ports out on which there is no room for the units."""
        pairs = zip(masks, taken, strict=True)
        return [mask & ~without_room(used, self._units) for mask, used in pairs]
