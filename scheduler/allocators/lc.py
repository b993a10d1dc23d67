"""LC and LC+S: all legal placements, with links of one's own or shared by bandwidth (Smith21)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation, lowest_bits, mask_bits
from scheduler.allocators.base import (
    BEST_FIT,
    INDEX,
    check_choice,
    check_count,
    check_size,
    largest,
    now_or_later,
    require_tree,
)
from scheduler.allocators.jigsaw import in_one_pod
from scheduler.allocators.pods import (
    Placement,
    Pods,
    PodView,
    PodViews,
    Row,
    all_indices,
    field_counts,
    unpack_masks,
)
from scheduler.cluster import Cluster
from scheduler.job import Job


class StepsExhaustedError(Exception):
    """The search took more steps than it may."""


class PodsShape(NamedTuple):
    """Node counts of a placement over pods, in the words of conditions (1)-(3)."""

    trees: int  # T, full trees
    leaves: int  # L_T, leaves of each
    nodes: int  # n_L, nodes of each leaf but the remainder leaf
    rest_leaves: int  # L_T^r, leaves of `nodes` nodes in the remainder tree
    rest: int  # n_L^r, nodes of the remainder leaf


@dataclass(slots=True)
class _ChosenPod:
    """A pod with the leaves chosen in it, and the remainder leaf with S^r if it has one."""

    view: PodView
    leaves: list[int]
    tail: tuple[Row, ...] = ()


class LegalSearch:
    """
    Search a placement over pods with any number of nodes per leaf.

    n_L descends, then L_T. Chosen pods narrow the L2 indices common to all (candidates for S) and,
    for each index, the common spines (candidates for S_i^*); S and S_i^* themselves are fixed at
    the end, around S^r and S_i^{*r}. The search is exhaustive while the steps last, and on an empty
    whole tree it never has to go back.
    """

    __slots__ = ("_cluster", "_fields", "_shape", "_size", "_steps", "_views", "_width")

    def __init__(self, views: Sequence[PodView], size: int, cluster: Cluster, steps: int) -> None:
        self._views, self._size, self._cluster = views, size, cluster
        self._steps = steps
        self._width = cluster.leaf_width  # indices: up-ports of a leaf
        self._fields = cluster.l2_width, self._width
        self._shape = PodsShape(0, 0, 0, 0, 0)

    def find(self) -> Placement | None:
        """Return leaves and L2 switches of the first legal placement over pods; None: none."""
        for shape in self._possible_shapes():
            self._shape = shape
            found = self._trees(self._views, [], -1, (1 << self._width) - 1)
            if found is not None:
                return found
        return None

    def _possible_shapes(self) -> Iterator[PodsShape]:
        """Shapes for which enough pods have enough leaves, were links no matter."""
        cluster = self._cluster
        for nodes in range(min(cluster.nodes_per_leaf, self._size), 0, -1):
            per_pod = sorted([view.leaves_with(nodes) for view in self._views], reverse=True)
            total, rest = divmod(self._size, nodes)
            if sum(per_pod) < total:
                continue
            for leaves in range(min(per_pod[0], total), 0, -1):
                trees, rest_leaves = divmod(total, leaves)
                has_rest = rest_leaves + rest > 0
                if not 1 < trees + has_rest <= cluster.n_pods or per_pod[trees - 1] < leaves:
                    continue
                if has_rest and per_pod[trees] < rest_leaves:
                    continue
                yield PodsShape(trees, leaves, nodes, rest_leaves, rest)

    def _step(self) -> None:
        """Count a step."""
        if not self._steps:
            raise StepsExhaustedError
        self._steps -= 1

    def _enough_spines(self, spines: int, count: int) -> int:
        """L2 indices that have at least so many spine links of these, as a mask."""
        if not count:
            return -1
        numbers = field_counts(spines, *self._fields)
        return sum([1 << i for i, n in enumerate(numbers[:-1]) if n >= count])

    def _trees(
        self, views: Sequence[PodView], chosen: list[_ChosenPod], spines: int, indices: int
    ) -> Placement | None:
        """Choose more full trees that keep n_L indices with L_T common spines each."""
        shape = self._shape
        missing = shape.trees - len(chosen)
        if not missing:
            return self._finish(chosen, spines, indices)
        for at in range(len(views) - missing + 1):
            view = views[at]
            if view.leaves_with(shape.nodes) < shape.leaves:
                continue
            self._step()
            common = spines & view.spines
            allowed = indices & self._enough_spines(common, shape.leaves)
            if allowed.bit_count() < shape.nodes:
                continue
            masks: list[int] = []
            for leaves, mask in self._leaf_sets(view, shape.leaves, allowed):
                if any(mask & other == mask for other in masks):
                    continue  # no index that another set of leaves of this pod does not have
                masks.append(mask)
                found = self._trees(
                    views[at + 1 :], [*chosen, _ChosenPod(view, leaves)], common, mask
                )
                if found is not None:
                    return found
        return None

    @property
    def _has_rest(self) -> bool:
        """Whether the shape has a remainder tree."""
        return self._shape.rest_leaves + self._shape.rest > 0

    def _leaf_sets(
        self, view: PodView, count: int, indices: int
    ) -> Iterator[tuple[list[int], int]]:
        """Yield sets of leaves with n_L nodes and n_L common up-ports of those allowed."""
        nodes = self._shape.nodes
        rows = [row for row in view.rows if row[0] >= nodes]

        def extend(start: int, chosen: list[int], common: int) -> Iterator[tuple[list[int], int]]:
            missing = count - len(chosen)
            if not missing:
                yield chosen, common
                return
            for at in range(start, len(rows) - missing + 1):
                self._step()
                both = common & rows[at][1]
                if both.bit_count() >= nodes:
                    yield from extend(at + 1, [*chosen, rows[at][2]], both)

        return extend(0, [], indices)

    def _finish(self, chosen: list[_ChosenPod], spines: int, indices: int) -> Placement | None:
        """Choose the remainder tree, then S and the spines around what it uses."""
        if not self._has_rest:
            return self._join(chosen, spines, indices, None)
        shape = self._shape
        taken = [tree.view for tree in chosen]
        for view in self._views:
            if view in taken or view.leaves_with(shape.nodes) < shape.rest_leaves:
                continue
            self._step()
            common = spines & view.spines
            allowed = indices & self._enough_spines(common, shape.rest_leaves)
            if allowed.bit_count() < shape.nodes:
                continue
            rich = self._enough_spines(common, shape.rest_leaves + 1)
            for leaves, mask in self._leaf_sets(view, shape.rest_leaves, allowed):
                tail = self._remainder_leaf(view, leaves, mask & rich)
                if tail is not None:
                    return self._join(chosen, spines, mask, _ChosenPod(view, leaves, tail))
        return None

    def _remainder_leaf(self, view: PodView, used: list[int], ports: int) -> tuple[Row, ...] | None:
        """Return the remainder leaf with S^r, nothing if there is none to be, None if none fits."""
        rest = self._shape.rest
        if not rest:
            return ()
        for free, up, leaf in view.rows:
            if free >= rest and (up & ports).bit_count() >= rest and leaf not in used:
                return (view.take(leaf, rest, lowest_bits(up & ports, rest)),)
        return None

    def _join(
        self, chosen: list[_ChosenPod], spines: int, indices: int, remainder: _ChosenPod | None
    ) -> Placement:
        """Put the trees together: S is a superset of S^r, S_i^* one of S_i^{*r}."""
        shape, width = self._shape, self._width
        tail = () if remainder is None else remainder.tail
        inner = tail[0][2] if tail else 0
        s = inner | lowest_bits(indices & ~inner, shape.nodes - inner.bit_count())
        outside = unpack_masks(spines, *self._fields)
        inside = [0] * width
        if remainder is not None:
            both = unpack_masks(spines & remainder.view.spines, *self._fields)
            for i in mask_bits(s):
                inside[i] = lowest_bits(both[i], shape.rest_leaves + (inner >> i & 1))
        links = []
        for i in mask_bits(s):
            more = shape.leaves - inside[i].bit_count()
            links.append((i, inside[i] | lowest_bits(outside[i] & ~inside[i], more)))
        trees = chosen if remainder is None else [*chosen, remainder]
        leaves = [tree.view.take(leaf, shape.nodes, s) for tree in trees for leaf in tree.leaves]
        l2s = [(tree.view.pod * width + i, mask) for tree in chosen for i, mask in links]
        if remainder is not None:
            first = remainder.view.pod * width
            l2s += [(first + i, mask) for i, mask in enumerate(inside) if mask]
        return (*leaves, *tail), tuple(l2s)


CLASSES = 4  # bandwidth classes: 0.5, 1.0, 1.5 and 2.0 GB/s of 5 GB/s are 1..4 units of 10
EMPTY_STEPS = 1_000_000  # of a search on an empty machine; one on a whole tree never goes back
_ID_RANGE = 1 << 63  # job ids below zero are mapped here: seeds are not negative


@dataclass(slots=True)
class LeastConstrained:
    """
    LC: conditions (1)-(6) with any number of nodes on a leaf (Smith21).

    The *least constrained* approach of Smith21, sections 4 and 5.2.3, links exclusive. The paper
    gives up after 5 s; steps do not depend on the machine that runs the simulation, and utilisation
    is flat from 200 of them on. Inside one pod the search is exhaustive.
    """

    name: ClassVar[str] = "lc"
    isolating: ClassVar[bool] = True
    monotone_in_size: ClassVar[bool] = False  # a search may give up for n and succeed for n + 1
    monotone_in_free: ClassVar[bool] = False  # more to search, with the same steps

    # leaves and pods that a search over pods may try before it gives up until the next call; on an
    # empty machine there is no such limit, so no job waits for ever
    steps: int = 200
    # "best-fit", "index": pods and leaves with the fewest free nodes first, or by number
    order: str = BEST_FIT
    out_of_steps: int = field(default=0, init=False, compare=False)  # searches given up so far
    _views: PodViews = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_count("steps", self.steps, 1)
        check_choice("order", self.order, (BEST_FIT, INDEX))
        self._views = PodViews(fewest_first=self.order == BEST_FIT)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a legal placement."""
        return _legal_placement(self, job, cluster, self._views)


@dataclass(slots=True)
class LeastConstrainedShared:
    """
    LC+S: as LC, on links shared up to 80 % of their bandwidth.

    Each job needs one of four bandwidths on every link of its placement: 1 to 4 units of a link's
    10, of which 8 may be taken. The class is drawn by the job's id.

    Smith21, sections 5.2.3 and 5.4.2: a bound rather than a scheduler, since no scheduler knows
    what bandwidth a job needs. Jobs on a single leaf take no links.

    The links are book-keeping: they decide where a job may start. Its traffic goes the way of the
    fabric's routing, not over those links alone, since a class is drawn and says nothing of what
    the job sends: kept to links that others share, its own messages meet more often.
    """

    name: ClassVar[str] = "lc+s"
    isolating: ClassVar[bool] = False  # links are shared, within their capacity
    monotone_in_size: ClassVar[bool] = False  # a larger job may be of a lower class
    monotone_in_free: ClassVar[bool] = False  # more to search, with the same steps

    seed: int = 1  # of the draw of classes
    steps: int = 200  # as for `LeastConstrained`
    # "best-fit", "index": pods and leaves with the fewest free nodes first, or by number
    order: str = BEST_FIT
    out_of_steps: int = field(default=0, init=False, compare=False)  # searches given up so far
    _views: tuple[PodViews, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_count("seed", self.seed, 0)
        check_count("steps", self.steps, 1)
        check_choice("order", self.order, (BEST_FIT, INDEX))
        fewest = self.order == BEST_FIT
        self._views = tuple(
            PodViews(fewest_first=fewest, units=units) for units in range(1, CLASSES + 1)
        )

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a legal placement on links that have room."""
        units = bandwidth_units(self.seed, job.id)
        return _legal_placement(self, job, cluster, self._views[units - 1], units)


def _legal_placement(
    allocator: LeastConstrained | LeastConstrainedShared,
    job: Job,
    cluster: Cluster,
    views: PodViews,
    units: int = 0,
) -> Allocation | None:
    """Return a legal placement that takes so many units of its links; 0: it owns them."""
    check_size(job, cluster)
    tree = require_tree(allocator.name, cluster.fabric)
    if job.n_nodes > cluster.n_free:
        return None
    pods = views.of(cluster)

    def placed(size: int) -> tuple[Placement | None, bool]:
        return search_pods(size, pods, tree, cluster, allocator.steps)

    found, gave_up = placed(job.n_nodes)
    allocator.out_of_steps += gave_up
    allocation = None if found is None else Allocation(job, cluster.geometry, *found, units=units)
    return now_or_later(
        allocation,
        allocator.name,
        job,
        cluster,
        lambda: largest(lambda size: placed(size)[0], job.n_nodes),
    )


@lru_cache(maxsize=1 << 17)
def bandwidth_units(seed: int, job_id: int) -> int:
    """Return how many tenths of a link's bandwidth a job needs: 1 to 4, equally likely."""
    draw = np.random.default_rng((seed, job_id % _ID_RANGE)).integers(1, CLASSES, endpoint=True)
    return int(draw)


def search_pods(
    size: int, pods: Pods, tree: FatTree, cluster: Cluster, steps: int
) -> tuple[Placement | None, bool]:
    """Search a placement in one pod, then over pods; `gave_up`: whether the steps ran out."""
    leaves = in_one_pod(pods, size, cluster, leaf_links=False)
    if leaves is not None:
        return (leaves, ()), False
    if not cluster.l2_up:
        return None, False
    limit = steps if cluster.running else EMPTY_STEPS
    try:
        found = LegalSearch(pods.views, size, cluster, limit).find()
    except StepsExhaustedError:
        return None, True
    return None if found is None else all_indices(tree).placed(found, cluster), False
