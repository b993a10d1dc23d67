"""Search for legal placements on fat-trees: in one pod, or over pods on whole leaves."""

from collections.abc import Sequence

from scheduler.allocation import lowest
from scheduler.allocators.isolating.indices import Indices, Placement
from scheduler.allocators.isolating.pods import Pods, PodViews
from scheduler.allocators.isolating.podview import PodView, Row, Shape, field_counts, unpack
from scheduler.cluster import Cluster


def in_one_pod(
    pods: Pods, size: int, cluster: Cluster, *, leaf_links: bool
) -> tuple[Row, ...] | None:
    """
    Search a placement inside one pod: the first half of Algorithm 1 of Smith21.

    Result: None when no pod has a legal placement: the search is exhaustive.

    n_L descends: ascending spreads small jobs over leaves. L_T and n_L^r follow from n_L,
    which the listing leaves open.
    """
    views = [view for view in pods.views if view.refused > size]
    if not views:
        return None
    found = None
    if size <= cluster.nodes_per_leaf:
        found = _on_one_leaf(views, size, with_links=leaf_links)
    for n_nodes in range(min(size - 1, cluster.nodes_per_leaf), 0, -1):
        count, rest = divmod(size, n_nodes)
        if found is not None or count + (rest > 0) > cluster.leaves_per_pod:
            break
        found = _on_several_leaves(views, Shape(count, n_nodes, rest))
    if found is None:
        for view in views:
            view.refused = size
    return found


def _on_one_leaf(
    views: Sequence[PodView], size: int, *, with_links: bool
) -> tuple[Row, ...] | None:
    """Return the first leaf that will do."""
    for view in views:
        if view.largest >= size:
            found = view.single_leaf(size, with_links=with_links)
            if found is not None:
                return found
    return None


def _on_several_leaves(views: Sequence[PodView], shape: Shape) -> tuple[Row, ...] | None:
    """Return leaves of the first pod that has them."""
    last, nodes, rest = shape.leaves - 1, shape.nodes, shape.rest
    for view in views:
        usable = view.usable
        if usable[last] >= nodes and usable[last + 1] >= rest:
            found = view.several_leaves(shape)
            if found is not None:
                return found
    return None


class WholeLeafSearch:
    """
    Search a placement over pods that uses whole leaves and at most one remainder leaf.

    This is the second half of Algorithm 1 of Smith21 with its FIND_L3. All leaves but the
    remainder leaf give all their indices, and as many nodes, so any of a pod's whole leaves will do
    and only their number matters. Then S is all indices: on a full tree, all L2 switches of a pod.

    Parameters
    ----------
    pods : Pods
        What is free.
    leaves : int
        Whole leaves needed, of all pods together.
    rest : int
        n_L^r, nodes of the remainder leaf; 0 for none.
    width : int
        Number of indices: nodes of a whole leaf.
    cluster : Cluster
        The machine, for its dimensions.

    Notes
    -----
    L_T descends. The search is exhaustive. The remainder's links are chosen first (S^r,
    then S_i^{*r}) and the others around them: the other order fails needlessly.
    """

    __slots__ = (
        "_fields",
        "_leaves",
        "_per_tree",
        "_pods",
        "_remainders",
        "_rest",
        "_rest_leaves",
        "_width",
    )

    def __init__(self, pods: Pods, leaves: int, rest: int, width: int, cluster: Cluster) -> None:
        self._pods, self._leaves, self._rest, self._width = pods, leaves, rest, width
        self._fields = cluster.l2_width, width  # of the packed spine links
        self._per_tree = self._rest_leaves = 0
        self._remainders: list[PodView] = []

    def find(self) -> Placement | None:
        """
        Return the first placement.

        Result (leaves, l2s): as in `Allocation`; None when there is no such placement.
        """
        deepest = self._pods.deepest
        if self._pods.whole < self._leaves:
            return None
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
        views, count, rest = self._pods.views, self._rest_leaves, self._rest
        full = [view for view in views if view.deepest >= self._per_tree]
        if count + rest:
            # whole leaves come first in `usable`, so the next one is the remainder leaf
            self._remainders = [
                view
                for view in views
                if view.usable[count] >= rest
                and view.spare_spines >= count
                and len(view.whole) >= count
            ]
            if len(full) == trees and not set(self._remainders) - set(full):
                return None  # all that would do are wanted as full trees
        return self._trees(full, trees, [], -1)

    def _trees(
        self, views: list[PodView], count: int, chosen: list[PodView], common: int
    ) -> Placement | None:
        """Choose `count` more trees so that enough up-ports of each L2 index stay common."""
        if not count:
            return self._finish(chosen, common)
        tried = set()
        for index in range(len(views) - count + 1):
            view = views[index]
            both = common & view.spines
            # pods with the same ports left are alike, also as remainder tree: whoever can be
            # a full tree has a whole leaf to spare for the remainder leaf
            if both in tried:
                continue
            tried.add(both)
            if both != common and field_counts(both, *self._fields)[-1] < self._per_tree:
                continue
            chosen.append(view)
            found = self._trees(views[index + 1 :], count - 1, chosen, both)
            if found is not None:
                return found
            chosen.pop()
        return None

    def _finish(self, chosen: list[PodView], common: int) -> Placement | None:
        """Choose the remainder tree, then the links of the full trees around its links."""
        width = self._width
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
        width, per_tree = self._width, self._per_tree
        links = [
            inner | lowest(mask & ~inner, per_tree - inner.bit_count())
            for inner, mask in zip(rest_links, unpack(common, *self._fields), strict=True)
        ]
        leaves = [row for view in chosen for row in self._whole_leaves(view, per_tree)]
        l2s = [(view.pod * width + i, mask) for view in chosen for i, mask in enumerate(links)]
        l2s += [(rest_pod * width + i, mask) for i, mask in enumerate(rest_links) if mask]
        return (*leaves, *rest_leaves), tuple(l2s)

    def _whole_leaves(self, view: PodView, count: int) -> list[Row]:
        """Take the first whole leaves of a pod with all their indices."""
        ports = (1 << self._width) - 1
        return [view.take(leaf, self._width, ports) for leaf in view.whole[:count]]


def over_pods(
    views: PodViews, sets: Sequence[Indices], size: int, cluster: Cluster, *, round_up: bool
) -> tuple[Placement, int] | None:
    """
    Search a placement over pods on whole leaves.

    `sets`: what S may be, the largest first. `round_up`: take whole leaves only, so nodes idle.
    Result: leaves and l2s as in `Allocation`, and how many nodes idle; None when there is none.
    """
    for indices in sets:
        width = len(indices.ports)
        whole, rest = divmod(size + (width - 1 if round_up else 0), width)
        if round_up:
            rest = 0
        if not whole:
            continue
        pods = views.narrowed(indices).of(cluster)
        found = WholeLeafSearch(pods, whole, rest, width, cluster).find()
        if found is not None:
            return indices.placed(found, cluster), whole * width + rest - size
    return None
