"""Jigsaw and LaaS: isolated partitions, in one pod or over pods on whole leaves (Smith21)."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

from netsim.topology.fattree import FatTree
from scheduler.allocation import L2_UP, Allocation, lowest_bits
from scheduler.allocators.base import (
    BEST_FIT,
    INDEX,
    check_choice,
    check_flag,
    check_size,
    largest,
    now_or_later,
    require_tree,
)
from scheduler.allocators.pods import (
    Found,
    Placement,
    Pods,
    PodView,
    PodViews,
    Row,
    Shape,
    field_counts,
    unpack_masks,
    whole_leaf_indices,
)
from scheduler.cluster import Cluster
from scheduler.footprint import any_part_with, most_full
from scheduler.job import Job


def in_one_pod(
    pods: Pods, size: int, cluster: Cluster, *, leaf_links: bool
) -> tuple[Row, ...] | None:
    """
    Search a placement inside one pod: the first half of Algorithm 1 of Smith21.

    The search is exhaustive. n_L descends: ascending spreads small jobs over leaves. L_T and n_L^r
    follow from n_L, which the listing leaves open.
    """
    if size <= cluster.nodes_per_leaf:
        found = _on_one_leaf(pods.views, size, with_links=leaf_links)
        if found is not None:
            return found
    views = [view for view in pods.views if view.refused > size]
    if not views:
        return None
    for n_nodes in range(min(size - 1, cluster.nodes_per_leaf), 0, -1):
        count, rest = divmod(size, n_nodes)
        if count + (rest > 0) > cluster.leaves_per_pod:
            break
        found = _on_several_leaves(views, Shape(count, n_nodes, rest))
        if found is not None:
            return found
    for view in views:
        view.refused = size
    return None


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


@lru_cache(maxsize=1 << 14)  # as with `field_counts`, few patterns recur
def _remainder_links(free: int, count: int, more: int, width: int, fields: int) -> tuple[int, ...]:
    """Return the lowest up-ports of each L2 switch: `count`, and one more for those in a mask."""
    masks = enumerate(unpack_masks(free, width, fields))
    return tuple([lowest_bits(mask, count + (more >> i & 1)) for i, mask in masks])


@lru_cache(maxsize=1 << 14)
def _links_around(free: int, inner: tuple[int, ...], count: int, width: int) -> tuple[int, ...]:
    """Return so many up-ports of each L2 switch, those of `inner` first, then the lowest."""
    masks = zip(inner, unpack_masks(free, width, len(inner)), strict=True)
    return tuple([own | lowest_bits(mask & ~own, count - own.bit_count()) for own, mask in masks])


@lru_cache(maxsize=1 << 14)
def _numbered_ports(first: int, links: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the up-ports of consecutive L2 switches with the numbers of the switches."""
    return tuple([(number, mask) for number, mask in enumerate(links, first) if mask])


class WholeLeafSearch:
    """
    Search a placement over pods that uses whole leaves and at most one remainder leaf.

    The second half of Algorithm 1 of Smith21 with its FIND_L3. All leaves but the remainder leaf
    give all their indices, and as many nodes, so any of a pod's whole leaves will do and only their
    number matters. Then S is all indices: on a full tree, all L2 switches of a pod. L_T descends.
    The search is exhaustive. The remainder's links are chosen first (S^r, then S_i^{*r}) and the
    others around them: the other order fails needlessly.
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
        """Return leaves and L2 switches of the first placement, as in `Allocation`; None: none."""
        whole, deepest = self._pods.depths
        if whole < self._leaves:
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
                and view.n_whole >= count
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
            # pods with the same ports left are alike, also as remainder tree: a job that can be
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
            return self._join(chosen, common, (), (0,) * width, 0)
        for view in self._remainders:
            if view not in chosen and (found := self._remainder_tree(view, common)) is not None:
                return self._join(chosen, common, *found, view.pod)
        return None

    def _remainder_tree(
        self, view: PodView, common: int
    ) -> tuple[tuple[Row, ...], tuple[int, ...]] | None:
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
                    inner = lowest_bits(up & rich, rest)
                    tail = (view.take(leaf, rest, inner),)
                    break
            else:
                return None
        links = _remainder_links(both, count, inner, *self._fields)
        return (*view.whole_rows[:count], *tail), links

    def _join(
        self,
        chosen: list[PodView],
        common: int,
        rest_leaves: tuple[Row, ...],
        rest_links: tuple[int, ...],
        rest_pod: int,
    ) -> Placement:
        """Put full trees and remainder tree together; S_i^* is a superset of S_i^{*r}."""
        width, per_tree = self._width, self._per_tree
        links = _links_around(common, rest_links, per_tree, self._fields[0])
        leaves: list[Row] = []
        l2s: list[tuple[int, int]] = []
        for view in chosen:
            leaves += view.whole_rows[:per_tree]
            l2s += _numbered_ports(view.pod * width, links)
        l2s += _numbered_ports(rest_pod * width, rest_links)
        return (*leaves, *rest_leaves), tuple(l2s)


def in_pod_or_over_pods(
    views: PodViews, tree: FatTree, job: Job, cluster: Cluster, *, leaf_links: bool, round_up: bool
) -> Allocation | None:
    """
    Place a job in one pod if it fits there, else on whole leaves over pods, exhaustively.

    `leaf_links`: a job on one leaf takes up-ports, too. `round_up`: over pods it takes whole leaves
    only, so nodes idle.
    """
    size = job.n_nodes
    if max(cluster.pod_free) < size and size > most_nodes(tree, cluster):
        return None
    pods = views.of(cluster)
    if size in pods.known:
        found = pods.known[size]
    else:
        leaves = in_one_pod(pods, size, cluster, leaf_links=leaf_links)
        if leaves is not None:
            found = (leaves, ()), 0
        else:
            found = _over_pods(views, tree, size, cluster, round_up=round_up)
        pods.known[size] = found
    if found is None:
        return None
    (rows, l2s), idle = found
    return Allocation(job, cluster.geometry, rows, l2s, idle=idle)


def most_nodes(tree: FatTree, cluster: Cluster) -> int:
    """Return a size beyond which no job finds a place."""
    full = cluster.leaf_free.count((1 << cluster.nodes_per_leaf) - 1)
    return max(*cluster.pod_free, _most_over_pods(tree, full))


@lru_cache(maxsize=1 << 12)
def _most_over_pods(tree: FatTree, full: int) -> int:
    """Return the largest size of a job over pods for which so many leaves are enough."""
    sizes = range(1, tree.n_nodes + 1)
    return bisect_right(sizes, full, key=lambda size: _whole_leaves(tree, size))


def too_few_of(tree: FatTree, size: int, cluster: Cluster, nodes: int) -> bool:
    """Say the same where just some nodes are free: their masks, joined as in `Footprint`."""
    if any_part_with(size, nodes, cluster.n_pods, cluster.leaves_per_pod, cluster.nodes_per_leaf):
        return False
    wanted = _whole_leaves(tree, size)
    return most_full(nodes, cluster.n_leaves, cluster.nodes_per_leaf) < wanted


@lru_cache(maxsize=1 << 12)
def _whole_leaves(tree: FatTree, size: int) -> int:
    """Return how many leaves without a busy node a job over pods needs at least; 0: unknown."""
    if tree.levels < L2_UP + 1:
        return tree.n_nodes + 1
    width = tree.nodes_per_leaf
    return max(1, size // width) if _is_intact(tree) and tree.parents[1] == width else 0


def _is_intact(tree: FatTree) -> bool:
    """Say whether a leaf is whole with all its up-ports, or not at all."""
    sets = whole_leaf_indices(tree)
    return len(sets) == 1 and sets[0].plain


def no_room_beside(
    views: PodViews, tree: FatTree, size: int, cluster: Cluster, other: Allocation
) -> bool:
    """
    Say whether a job can be seen, without a search, to find no place beside another one.

    True when no pod alone has had a place, and the other leaves fewer whole leaves than wanted.
    False where cables are lost or double: a leaf may be whole with some of its up-ports.
    """
    pods = views.of(cluster)
    if not _is_intact(tree) or any(view.refused > size for view in pods.views):
        return False
    per_pod, left = cluster.leaves_per_pod, pods.depths[0] - size // tree.parents[1]
    if left >= len(other.leaves):
        return False
    whole = {view.pod: view.whole for view in pods.views}
    return left < sum([leaf in whole[leaf // per_pod] for leaf, _, _ in other.leaves])


def _over_pods(
    views: PodViews, tree: FatTree, size: int, cluster: Cluster, *, round_up: bool
) -> Found | None:
    """Search a placement over pods on whole leaves; `round_up` takes these only, so nodes idle."""
    if not cluster.l2_up:
        return None
    for indices in whole_leaf_indices(tree):
        width = len(indices.ports)
        count, rest = divmod(size + (width - 1 if round_up else 0), width)
        if round_up:
            rest = 0
        if not count:
            continue
        pods = views.narrowed(indices).of(cluster)
        found = WholeLeafSearch(pods, count, rest, width, cluster).find()
        if found is not None:
            return indices.placed(found, cluster), count * width + rest - size
    return None


@dataclass(slots=True)
class _Partitions:
    """Allocator of isolated partitions in one pod, or over pods on whole leaves."""

    name: ClassVar[str]
    isolating: ClassVar[bool] = True
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    round_up: ClassVar[bool] = False  # over pods, to whole leaves

    order: str = BEST_FIT
    single_leaf_links: bool = False
    _views: PodViews = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
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
        links, up = self.single_leaf_links, self.round_up
        return in_pod_or_over_pods(self._views, tree, job, cluster, leaf_links=links, round_up=up)


@dataclass(slots=True)
class Jigsaw(_Partitions):
    """
    Jigsaw (Smith21, Algorithm 1): conditions (1)-(6), no interference.

    A job goes into one pod if any legal placement exists there, else over pods, where every leaf
    but the remainder leaf is used whole (section 4).

    The search is exhaustive within this space, so it needs no budget: 26,000 steps in the worst
    call seen. Sizes fix the shape: n_L and L_T descend, and T, L_T^r and n_L^r follow.

    Trees may be tapered, damaged or have several cables between two switches. A job on several
    leaves owns as many uplinks as nodes on each, so a leaf with fewer uplinks serves no more nodes
    of it than these; the others are for jobs on one leaf. What is used whole, over pods, is then
    what a leaf can serve (see `whole_leaf_indices`). Parallel cables count as uplinks to switches
    of their own (see `Indices`).

    `order`: Pods and leaves with the fewest free nodes first, or by number. The paper is silent;
    best-fit gains 0.2 to 0.6 points of utilisation and searches less. `single_leaf_links`: Jobs on
    a single leaf take as many uplinks as nodes: the literal reading of "balanced", which costs 0.1
    to 0.3 points and serves no traffic.
    """

    name: ClassVar[str] = "jigsaw"


@dataclass(slots=True)
class Laas(_Partitions):
    """
    LaaS as in Smith21, section 5.2.1: three levels reduced to two.

    In one pod a job gets exactly its nodes, as under Jigsaw. Over pods, leaves take the place of
    nodes: the size is rounded up to whole leaves and the nodes beyond the request are held idle
    (internal fragmentation).

    Rounding up the jobs that fit in a pod, too, would lose far more than the 3-7 % of the machine
    that the paper reports.

    `order`: Pods and leaves with the fewest free nodes first, or by number. `single_leaf_links`:
    Jobs on a single leaf take as many uplinks as nodes.
    """

    name: ClassVar[str] = "laas"
    round_up: ClassVar[bool] = True
