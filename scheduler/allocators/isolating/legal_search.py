"""Search over all legal shapes of a partition over pods: conditions (1)-(6) of Smith21."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduler.allocation import bits, lowest
from scheduler.allocators.isolating.indices import Placement
from scheduler.allocators.isolating.podview import PodView, Row, field_counts, unpack
from scheduler.cluster import Cluster


class StepsExhaustedError(Exception):
    """The search took more steps than it may."""


class PodsShape(NamedTuple):
    """
    Node counts of a placement over pods, in the words of conditions (1)-(3).

    Parameters
    ----------
    trees : int
        T, full trees.
    leaves : int
        L_T, leaves of each.
    nodes : int
        n_L, nodes of each leaf but the remainder leaf.
    rest_leaves : int
        L_T^r, leaves of `nodes` nodes in the remainder tree.
    rest : int
        n_L^r, nodes of the remainder leaf.
    """

    trees: int
    leaves: int
    nodes: int
    rest_leaves: int
    rest: int


@dataclass(slots=True)
class _Tree:
    """A pod with the leaves chosen in it, and the remainder leaf with S^r if it has one."""

    view: PodView
    leaves: list[int]
    tail: tuple[Row, ...] = ()


class LegalSearch:
    """
    Search a placement over pods with any number of nodes per leaf.

    Parameters
    ----------
    views : sequence of PodView
        The pods in the order in which they are tried.
    size : int
        Nodes of the job.
    cluster : Cluster
        The machine, for its dimensions.
    steps : int
        Leaves and pods that may be tried.

    Notes
    -----
    n_L descends, then L_T. Chosen pods narrow the L2 indices common to all (candidates for
    S) and, for each index, the common spines (candidates for S_i^*); S and S_i^* themselves
    are fixed at the end, around S^r and S_i^{*r}. The search is exhaustive while the steps
    last, and on an empty whole tree it never has to go back.
    """

    __slots__ = ("_cluster", "_fields", "_shape", "_size", "_steps", "_views", "_width")

    def __init__(self, views: Sequence[PodView], size: int, cluster: Cluster, steps: int) -> None:
        self._views, self._size, self._cluster = views, size, cluster
        self._steps = steps
        self._width = cluster.leaf_width  # indices: up-ports of a leaf
        self._fields = cluster.l2_width, self._width
        self._shape = PodsShape(0, 0, 0, 0, 0)

    def find(self) -> Placement | None:
        """
        Return the first placement.

        Result (leaves, l2s): as in `Allocation`; None when there is no legal placement over pods.
        """
        for shape in self._shapes():
            self._shape = shape
            found = self._trees(self._views, [], -1, (1 << self._width) - 1)
            if found is not None:
                return found
        return None

    def _shapes(self) -> Iterator[PodsShape]:
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

    def _enough(self, spines: int, count: int) -> int:
        """L2 indices that have at least so many spine links of these, as a mask."""
        if not count:
            return -1
        numbers = field_counts(spines, *self._fields)
        return sum([1 << i for i, n in enumerate(numbers[:-1]) if n >= count])

    def _trees(
        self, views: Sequence[PodView], chosen: list[_Tree], spines: int, indices: int
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
            allowed = indices & self._enough(common, shape.leaves)
            if allowed.bit_count() < shape.nodes:
                continue
            masks: list[int] = []
            for leaves, mask in self._leaf_sets(view, shape.leaves, allowed):
                if any(mask & other == mask for other in masks):
                    continue  # no index that another set of leaves of this pod does not have
                masks.append(mask)
                found = self._trees(views[at + 1 :], [*chosen, _Tree(view, leaves)], common, mask)
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

    def _finish(self, chosen: list[_Tree], spines: int, indices: int) -> Placement | None:
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
            allowed = indices & self._enough(common, shape.rest_leaves)
            if allowed.bit_count() < shape.nodes:
                continue
            rich = self._enough(common, shape.rest_leaves + 1)
            for leaves, mask in self._leaf_sets(view, shape.rest_leaves, allowed):
                tail = self._remainder_leaf(view, leaves, mask & rich)
                if tail is not None:
                    return self._join(chosen, spines, mask, _Tree(view, leaves, tail))
        return None

    def _remainder_leaf(self, view: PodView, used: list[int], ports: int) -> tuple[Row, ...] | None:
        """Return the remainder leaf with S^r, nothing if there is none to be, None if none fits."""
        rest = self._shape.rest
        if not rest:
            return ()
        for free, up, leaf in view.rows:
            if free >= rest and (up & ports).bit_count() >= rest and leaf not in used:
                return (view.take(leaf, rest, lowest(up & ports, rest)),)
        return None

    def _join(
        self, chosen: list[_Tree], spines: int, indices: int, remainder: _Tree | None
    ) -> Placement:
        """Put the trees together: S is a superset of S^r, S_i^* one of S_i^{*r}."""
        shape, width = self._shape, self._width
        tail = () if remainder is None else remainder.tail
        inner = tail[0][2] if tail else 0
        s = inner | lowest(indices & ~inner, shape.nodes - inner.bit_count())
        outside = unpack(spines, *self._fields)
        inside = [0] * width
        if remainder is not None:
            both = unpack(spines & remainder.view.spines, *self._fields)
            for i in bits(s):
                inside[i] = lowest(both[i], shape.rest_leaves + (inner >> i & 1))
        links = []
        for i in bits(s):
            more = shape.leaves - inside[i].bit_count()
            links.append((i, inside[i] | lowest(outside[i] & ~inside[i], more)))
        trees = chosen if remainder is None else [*chosen, remainder]
        leaves = [tree.view.take(leaf, shape.nodes, s) for tree in trees for leaf in tree.leaves]
        l2s = [(tree.view.pod * width + i, mask) for tree in chosen for i, mask in links]
        if remainder is not None:
            first = remainder.view.pod * width
            l2s += [(first + i, mask) for i, mask in enumerate(inside) if mask]
        return (*leaves, *tail), tuple(l2s)
