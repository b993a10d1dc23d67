"""Search for legal placements on full fat-trees: in one pod, or over pods on whole leaves."""

from collections.abc import Sequence

from scheduler.allocation import lowest
from scheduler.allocators.podview import PodView, Row, Shape, field_counts, unpack
from scheduler.cluster import Cluster
from scheduler.sharing import CAP, without_room

Placement = tuple[tuple[Row, ...], tuple[tuple[int, int], ...]]  # leaves and l2s of an allocation
_KEPT = 4096  # views kept before all are forgotten


class PodViews:
    """
    Views of the pods of a cluster, kept while the pods do not change.

    Parameters
    ----------
    fewest_first : bool
        Pods and leaves with the fewest free nodes first, else by number.
    units : int, default 0
        Show the up-ports on which so many units are free; 0: those that nobody uses.
    """

    __slots__ = ("_fewest_first", "_known", "_orders", "_units")

    def __init__(self, *, fewest_first: bool, units: int = 0) -> None:
        self._fewest_first, self._units = fewest_first, units or CAP
        self._known: dict[object, PodView] = {}
        self._orders: dict[tuple[object, ...], list[PodView]] = {}

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
        stamps = tuple(cluster.stamp)
        views = self._orders.get(stamps)
        if views is None:
            if len(self._known) > _KEPT or len(self._orders) > _KEPT:
                self._known.clear()
                self._orders.clear()
            views = self._orders[stamps] = [
                self._known.get(stamp) or self._view(pod, cluster)
                for pod, stamp in enumerate(stamps)
            ]
            if self._fewest_first:
                views.sort(key=_free_nodes)
        return views

    def _view(self, pod: int, cluster: Cluster) -> PodView:
        """Look at a pod as it is now."""
        first, width = pod * cluster.leaves_per_pod, cluster.l2_per_pod
        leaf_up = cluster.leaf_up[first : first + cluster.leaves_per_pod]
        l2_up = cluster.l2_up[pod * width : (pod + 1) * width]
        if cluster.shared is not None:
            taken = cluster.shared.leaf[first : first + cluster.leaves_per_pod]
            leaf_up = self._with_room(leaf_up, taken)
            l2_up = self._with_room(l2_up, cluster.shared.l2[pod * width : (pod + 1) * width])
        view = PodView(cluster, pod, leaf_up, l2_up, fewest_first=self._fewest_first)
        self._known[cluster.stamp[pod]] = view
        return view

    def _with_room(self, masks: list[int], taken: list[tuple[int, ...]]) -> list[int]:
        """Strike the ports out on which there is no room for the units."""
        pairs = zip(masks, taken, strict=True)
        return [mask & ~without_room(used, self._units) for mask, used in pairs]


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
        shape = Shape(count, n_nodes, rest)
        for view in views:
            if n_nodes == size:
                found = view.single_leaf(size, with_links=leaf_links)
            elif view.usable[count - 1] < n_nodes or view.usable[count] < rest:
                continue  # the common case: too few leaves, seen without searching
            else:
                found = view.several_leaves(shape)
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

    __slots__ = (
        "_cluster",
        "_fields",
        "_leaves",
        "_per_tree",
        "_remainders",
        "_rest",
        "_rest_leaves",
        "_views",
    )

    def __init__(self, views: Sequence[PodView], leaves: int, rest: int, cluster: Cluster) -> None:
        self._views, self._leaves, self._rest, self._cluster = views, leaves, rest, cluster
        self._fields = cluster.leaves_per_pod, cluster.l2_per_pod  # of the packed spine links
        self._per_tree = self._rest_leaves = 0
        self._remainders: list[PodView] = []

    def find(self) -> Placement | None:
        """
        Return the first placement.

        Returns
        -------
        (leaves, l2s) or None
            As in `Allocation`; None when there is no such placement.
        """
        if sum([len(view.whole) for view in self._views]) < self._leaves:
            return None
        deepest = sorted([view.deepest for view in self._views], reverse=True)
        for per_tree in range(min(deepest[0], self._leaves), 0, -1):
            trees, self._rest_leaves = divmod(self._leaves, per_tree)
            pods = trees + (self._rest_leaves + self._rest > 0)
            if 1 < pods <= len(deepest) and deepest[trees - 1] >= per_tree:
                self._per_tree = per_tree
                found = self._with_trees(trees)
                if found is not None:
                    return found
        return None

    def _with_trees(self, trees: int) -> Placement | None:
        """Search with T trees of L_T leaves each."""
        full = [view for view in self._views if view.deepest >= self._per_tree]
        if self._rest_leaves + self._rest:
            self._remainders = [view for view in self._views if self._may_be_remainder(view)]
            if len(full) == trees and not set(self._remainders) - set(full):
                return None  # all that would do are wanted as full trees
        return self._trees(full, [], trees, -1)

    def _may_be_remainder(self, view: PodView) -> bool:
        """Whether a pod has the leaves and links of the remainder tree, were it alone."""
        count, usable = self._rest_leaves, view.usable  # whole leaves come first in `usable`
        if len(view.whole) < count or view.spare_spines < count:
            return False
        return usable[count] >= self._rest

    def _trees(
        self, views: Sequence[PodView], chosen: list[PodView], count: int, common: int
    ) -> Placement | None:
        """Choose `count` more trees so that enough up-ports of each L2 index stay common."""
        if not count:
            return self._finish(chosen, common)
        tried = set()
        for index in range(len(views) - count + 1):
            both = common & views[index].spines
            # pods with the same ports left are alike, also as remainder tree: whoever can be
            # a full tree has a whole leaf to spare for the remainder leaf
            if both in tried:
                continue
            tried.add(both)
            if both != common and field_counts(both, *self._fields)[-1] < self._per_tree:
                continue
            found = self._trees(views[index + 1 :], [*chosen, views[index]], count - 1, both)
            if found is not None:
                return found
        return None

    def _finish(self, chosen: list[PodView], common: int) -> Placement | None:
        """Choose the remainder tree, then the links of the full trees around its links."""
        width = self._cluster.l2_per_pod
        if not self._rest_leaves + self._rest:
            return self._join(chosen, common, (), [0] * width, 0)
        for view in self._remainders:
            if view not in chosen and (found := self._remainder(view, common)) is not None:
                return self._join(chosen, common, *found, view.pod)
        return None

    def _remainder(self, view: PodView, common: int) -> tuple[tuple[Row, ...], list[int]] | None:
        """Return leaves of a remainder tree and the spine links S_i^{*r} of its L2 switches."""
        count, rest = self._rest_leaves, self._rest
        both = common & view.spines
        *free_ports, least = field_counts(both, *self._fields)
        if least < count:
            return None
        used = view.whole[:count]
        tail: tuple[Row, ...] = ()
        inner = 0  # S^r
        if rest:
            rich = sum([1 << i for i, ports in enumerate(free_ports) if ports > count])
            for free, up, leaf in view.rows:
                if free >= rest and (up & rich).bit_count() >= rest and leaf not in used:
                    inner = lowest(up & rich, rest)
                    tail = (view.take(leaf, rest, inner),)
                    break
            else:
                return None
        masks = unpack(both, *self._fields)
        links = [lowest(mask, count + (inner >> i & 1)) for i, mask in enumerate(masks)]
        return (*self._whole_leaves(view, count), *tail), links

    def _join(
        self,
        chosen: list[PodView],
        common: int,
        rest_leaves: tuple[Row, ...],
        rest_links: list[int],
        rest_pod: int,
    ) -> Placement:
        """Put full trees and remainder tree together; S_i^* is a superset of S_i^{*r}."""
        width, per_tree = self._cluster.l2_per_pod, self._per_tree
        links = [
            inner | lowest(mask & ~inner, per_tree - inner.bit_count())
            for inner, mask in zip(rest_links, unpack(common, *self._fields), strict=True)
        ]
        leaves = [row for view in chosen for row in self._whole_leaves(view, per_tree)]
        l2s = [(view.pod * width + i, mask) for view in chosen for i, mask in enumerate(links)]
        l2s += [(rest_pod * width + i, mask) for i, mask in enumerate(rest_links) if mask]
        return (*leaves, *rest_leaves), tuple(l2s)

    def _whole_leaves(self, view: PodView, count: int) -> list[Row]:
        """Take the first whole leaves of a pod with all their uplinks."""
        size, ports = self._cluster.nodes_per_leaf, (1 << self._cluster.l2_per_pod) - 1
        return [view.take(leaf, size, ports) for leaf in view.whole[:count]]
