"""Search for legal placements on full fat-trees: in one pod, or over pods on whole leaves."""

from collections.abc import Sequence

from scheduler.allocation import lowest
from scheduler.allocators.podview import PodView, Row, Shape
from scheduler.cluster import Cluster

Placement = tuple[tuple[Row, ...], tuple[tuple[int, int], ...]]  # leaves and l2s of an allocation
_KEPT = 4096  # views kept before all are forgotten


class PodViews:
    """
    Views of the pods of a cluster, kept while the pods do not change.

    Parameters
    ----------
    fewest_first : bool
        Pods and leaves with the fewest free nodes first, else by number.
    """

    __slots__ = ("_fewest_first", "_known")

    def __init__(self, *, fewest_first: bool) -> None:
        self._fewest_first = fewest_first
        self._known: dict[object, PodView] = {}

    def of(self, cluster: Cluster) -> list[PodView]:
        """
        Return a view of each pod.

        Parameters
        ----------
        cluster : Cluster
            The machine.

        Returns
        -------
        list of PodView
            In the order in which pods are tried.
        """
        known = self._known
        if len(known) > _KEPT:
            known.clear()
        views = []
        for pod, stamp in enumerate(cluster.stamp):
            view = known.get(stamp)
            if view is None:
                view = known[stamp] = self._view(pod, cluster)
            views.append(view)
        if self._fewest_first:
            views.sort(key=_free_nodes)
        return views

    def _view(self, pod: int, cluster: Cluster) -> PodView:
        """Look at a pod as it is now."""
        return PodView(
            cluster, pod, cluster.leaf_up, cluster.l2_up, fewest_first=self._fewest_first
        )


def _free_nodes(view: PodView) -> int:
    """Sorting key of views."""
    return view.free


def in_one_pod(
    views: Sequence[PodView], size: int, cluster: Cluster, *, leaf_links: bool
) -> tuple[Row, ...] | None:
    """
    Search a placement inside one pod: the first half of Algorithm 1 of seed 001.

    Parameters
    ----------
    views : sequence of PodView
        The pods in the order in which they are tried.
    size : int
        Nodes of the job.
    cluster : Cluster
        The machine, for its dimensions.
    leaf_links : bool
        Whether a job on a single leaf takes uplinks.

    Returns
    -------
    tuple of (leaf, mask of nodes, mask of up-ports), or None
        None when no pod has a legal placement: the search is exhaustive.

    Notes
    -----
    n_L descends: ascending spreads small jobs over leaves. L_T and n_L^r follow from n_L,
    which the listing leaves open.
    """
    views = [view for view in views if view.refused > size]
    if not views:
        return None
    for n_nodes in range(min(size, cluster.nodes_per_leaf), 0, -1):
        count, rest = divmod(size, n_nodes)
        if count + (rest > 0) > cluster.leaves_per_pod:
            break
        for view in views:
            if n_nodes == size:
                found = view.single_leaf(size, with_links=leaf_links)
            else:
                found = view.several_leaves(Shape(count, n_nodes, rest))
            if found is not None:
                return found
    for view in views:
        view.refused = size
    return None


class WholeLeafSearch:
    """
    Search a placement over pods that uses whole leaves and at most one remainder leaf.

    This is the second half of Algorithm 1 of seed 001 with its FIND_L3. All leaves but the
    remainder leaf give all nodes and all uplinks, so any of a pod's whole leaves will do and
    only their number matters. Then S is all L2 switches of a pod.

    Parameters
    ----------
    views : sequence of PodView
        The pods in the order in which they are tried.
    leaves : int
        Whole leaves needed, of all pods together.
    rest : int
        n_L^r, nodes of the remainder leaf; 0 for none.
    cluster : Cluster
        The machine, for its dimensions.

    Notes
    -----
    L_T descends. The search is exhaustive. The remainder's links are chosen first (S^r,
    then S_i^{*r}) and the others around them: the other order fails needlessly.
    """

    __slots__ = ("_cluster", "_leaves", "_per_tree", "_rest", "_rest_leaves", "_views")

    def __init__(self, views: Sequence[PodView], leaves: int, rest: int, cluster: Cluster) -> None:
        self._views, self._leaves, self._rest, self._cluster = views, leaves, rest, cluster
        self._per_tree = self._rest_leaves = 0

    def find(self) -> Placement | None:
        """
        Return the first placement.

        Returns
        -------
        (leaves, l2s) or None
            As in `Allocation`; None when there is no such placement.
        """
        cluster, leaves, rest = self._cluster, self._leaves, self._rest
        whole = sorted([len(view.whole) for view in self._views], reverse=True)
        if sum(whole) < leaves:
            return None
        whole.append(-1)  # no further pod
        for self._per_tree in range(min(cluster.leaves_per_pod, leaves), 0, -1):
            trees, self._rest_leaves = divmod(leaves, self._per_tree)
            has_rest = self._rest_leaves + rest > 0
            if not 1 < trees + has_rest <= cluster.n_pods:
                continue
            if whole[trees - 1] < self._per_tree:
                continue
            if has_rest and whole[trees] < self._rest_leaves:
                continue
            views = [view for view in self._views if len(view.whole) >= self._per_tree]
            everything = [-1] * cluster.l2_per_pod
            found = self._trees(views, [], trees, everything)
            if found is not None:
                return found
        return None

    def _trees(
        self, views: Sequence[PodView], chosen: list[PodView], count: int, common: list[int]
    ) -> Placement | None:
        """Choose `count` more trees so that enough up-ports of each L2 index stay common."""
        if not count:
            return self._finish(chosen, common)
        tried: list[list[int]] = []
        for index in range(len(views) - count + 1):
            both = [a & b for a, b in zip(common, views[index].spines, strict=True)]
            # pods with the same ports left are alike, also as remainder tree: whoever can be
            # a full tree has a whole leaf to spare for the remainder leaf
            if min(map(int.bit_count, both)) < self._per_tree or both in tried:
                continue
            tried.append(both)
            found = self._trees(views[index + 1 :], [*chosen, views[index]], count - 1, both)
            if found is not None:
                return found
        return None

    def _finish(self, chosen: list[PodView], common: list[int]) -> Placement | None:
        """Choose the remainder tree, then the links of the full trees around its links."""
        per_tree, width = self._per_tree, self._cluster.l2_per_pod
        rest_leaves: tuple[Row, ...] = ()
        rest_l2s: tuple[tuple[int, int], ...] = ()
        inner = [0] * width
        if self._rest_leaves + self._rest:
            for view in self._views:
                if view not in chosen and (found := self._remainder(view, common)) is not None:
                    rest_leaves, inner = found
                    first = view.pod * width
                    rest_l2s = tuple((first + i, mask) for i, mask in enumerate(inner) if mask)
                    break
            else:
                return None
        outer = [
            small | lowest(all_ & ~small, per_tree - small.bit_count())
            for small, all_ in zip(inner, common, strict=True)
        ]
        ports = (1 << width) - 1
        leaves = [
            view.take(leaf, self._cluster.nodes_per_leaf, ports)
            for view in chosen
            for leaf in view.whole[:per_tree]
        ]
        l2s = [(view.pod * width + i, mask) for view in chosen for i, mask in enumerate(outer)]
        return (*leaves, *rest_leaves), (*l2s, *rest_l2s)

    def _remainder(
        self, view: PodView, common: list[int]
    ) -> tuple[tuple[Row, ...], list[int]] | None:
        """Return leaves of a remainder tree and the spine links S_i^{*r} of its L2 switches."""
        count, width = self._rest_leaves, self._cluster.l2_per_pod
        if len(view.whole) < count:
            return None
        both = [a & b for a, b in zip(common, view.spines, strict=True)]
        spare = [mask.bit_count() - count for mask in both]
        if min(spare) < 0:
            return None
        used = view.whole[:count]
        ports = (1 << width) - 1
        leaves = tuple(view.take(leaf, self._cluster.nodes_per_leaf, ports) for leaf in used)
        extra = 0  # S^r
        if self._rest:
            rich = sum(1 << i for i, more in enumerate(spare) if more)
            for free, up, leaf in view.rows:
                both_ports = up & rich
                if free >= self._rest and both_ports.bit_count() >= self._rest and leaf not in used:
                    extra = lowest(both_ports, self._rest)
                    leaves = (*leaves, view.take(leaf, self._rest, extra))
                    break
            else:
                return None
        return leaves, [lowest(mask, count + (extra >> i & 1)) for i, mask in enumerate(both)]
