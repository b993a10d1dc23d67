"""Pods: what is free in each pod of a tree, and the search for a legal placement inside one."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice
from operator import attrgetter, itemgetter, neg
from typing import NamedTuple

from netsim.topology.fattree import FatTree
from scheduler.allocation import LEAF_UP, lowest_bits, mask_bits
from scheduler.cluster import CAP, Cluster, without_room
from scheduler.geometry import working_ports

Row = tuple[int, int, int]
_FREE = itemgetter(0)


def pack_masks(masks: Sequence[int], width: int) -> int:
    """Put masks of `width` bits side by side, so that one operation applies to all."""
    packed = 0
    for mask in reversed(masks):
        packed = packed << width | mask
    return packed


def unpack_masks(packed: int, width: int, count: int) -> list[int]:
    """Undo `pack_masks`."""
    field = (1 << width) - 1
    return [packed >> shift & field for shift in range(0, width * count, width)]


@lru_cache(maxsize=1 << 16)  # few patterns of free links recur all the time
def field_counts(packed: int, width: int, count: int) -> tuple[int, ...]:
    """Return the set bits of each field."""
    counts = [mask.bit_count() for mask in unpack_masks(packed, width, count)]
    return (*counts, min(counts))


@lru_cache(maxsize=1 << 14)  # the same patterns
def _packed_masks(masks: tuple[int, ...], width: int) -> tuple[int, int]:
    """Return masks side by side, and the fewest bits that one of them has."""
    return pack_masks(masks, width), min(map(int.bit_count, masks), default=0)


class Shape(NamedTuple):
    """Node counts of a placement inside one pod, in the words of conditions (1)-(3)."""

    leaves: int  # L_T, leaves with `nodes` nodes each
    nodes: int  # n_L
    rest: int  # n_L^r, nodes of the remainder leaf; 0 for none


class PodView:
    """
    The free part of a pod, prepared for searching.

    `rows`: (free nodes, mask of free up-ports, leaf) of the leaves with free nodes, in the order of
    the search. `spines`: masks of free up-ports of the L2 switches, packed; 0 in a two-level tree.
    `largest`: free nodes of the leaf that has most. `usable`: the lesser of free nodes and free
    up-ports of each leaf, descending, and a zero after them. `whole`: leaves that can give as many
    nodes and up-ports as any leaf can. `spare_spines`: the fewest free up-ports of an L2 switch.
    `deepest`: the largest L_T of a full tree of whole leaves that the pod could be, were it alone.
    `refused`: the smallest size for which a search failed; none as large fits. No shape is lost by
    taking away a node, so this holds until the pod changes.
    """

    __slots__ = (
        "_first_leaf",
        "_nodes",
        "_whole_rows",
        "_width",
        "deepest",
        "free",
        "largest",
        "n_whole",
        "pod",
        "refused",
        "rows",
        "spare_spines",
        "spines",
        "usable",
        "whole",
    )

    def __init__(
        self,
        cluster: Cluster,
        pod: int,
        leaf_up: Sequence[int],
        l2_up: Sequence[int],
        width: int,
        *,
        fewest_first: bool,
    ) -> None:
        first = pod * cluster.leaves_per_pod
        self.pod, self._first_leaf, self._width = pod, first, width
        self._whole_rows: list[Row] | None = None
        self._nodes = cluster.leaf_free[first : first + cluster.leaves_per_pod]
        self.spines, self.spare_spines = _packed_masks(tuple(l2_up), cluster.l2_width)
        rows = [
            (nodes.bit_count(), up, leaf)
            for leaf, (nodes, up) in enumerate(zip(self._nodes, leaf_up, strict=True), first)
            if nodes
        ]
        if fewest_first:
            rows.sort(key=_FREE)
        full = min(cluster.nodes_per_leaf, width)
        self.whole = [leaf for n, up, leaf in rows if n >= full <= up.bit_count()]
        self.n_whole = len(self.whole)
        self.deepest = min(self.n_whole, self.spare_spines)
        self.rows = rows
        self.free = cluster.pod_free[pod]
        self.usable = [ports if (ports := up.bit_count()) < n else n for n, up, _ in rows]
        self.usable.sort(reverse=True)
        self.usable += [0] * (cluster.leaves_per_pod + 1 - len(rows))
        most = rows[-1] if fewest_first and rows else max(rows, default=(0,))
        self.largest = most[0]
        self.refused = self.free + 1

    def take(self, leaf: int, n_nodes: int, ports: int) -> Row:
        """Return a leaf's entry of an allocation."""
        return leaf, lowest_bits(self._nodes[leaf - self._first_leaf], n_nodes), ports

    @property
    def whole_rows(self) -> list[Row]:
        """The whole leaves with all their up-ports and as many nodes, as in an allocation."""
        if self._whole_rows is None:
            ports = (1 << self._width) - 1
            self._whole_rows = [self.take(leaf, self._width, ports) for leaf in self.whole]
        return self._whole_rows

    def leaves_with(self, n_nodes: int) -> int:
        """Return the number of leaves that can give so many nodes and up-ports."""
        return bisect_right(self.usable, -n_nodes, key=neg)

    def single_leaf(self, n_nodes: int, *, with_links: bool) -> tuple[Row, ...] | None:
        """Place a job on one leaf; None when no leaf will do."""
        for count, up, leaf in self.rows:
            if count >= n_nodes and not with_links:
                return (self.take(leaf, n_nodes, 0),)
            if count >= n_nodes and up.bit_count() >= n_nodes:
                return (self.take(leaf, n_nodes, lowest_bits(up, n_nodes)),)
        return None

    def several_leaves(self, shape: Shape) -> tuple[Row, ...] | None:
        """Place a job on leaves that use one set of L2 switches: conditions (2) and (4)."""
        nodes = shape.nodes
        rows = [row for row in self.rows if row[0] >= nodes and row[1].bit_count() >= nodes]
        return self._choose_rows(rows, [], -1, shape)

    def _choose_rows(
        self, rows: list[Row], chosen: list[int], common: int, shape: Shape
    ) -> tuple[Row, ...] | None:
        """Choose more of the rows so that n_L up-ports stay common to all; -1 is all ports."""
        missing = shape.leaves - len(chosen)
        if not missing:
            return self._finish(chosen, common, shape)
        tried = set()
        for index in range(len(rows) - missing + 1):
            both = common & rows[index][1]
            # leaves with the same ports left are alike, also as remainder leaf
            if both in tried or both.bit_count() < shape.nodes:
                continue
            tried.add(both)
            found = self._choose_rows(rows[index + 1 :], [*chosen, rows[index][2]], both, shape)
            if found is not None:
                return found
        return None

    def _finish(self, chosen: list[int], common: int, shape: Shape) -> tuple[Row, ...] | None:
        """Choose S^r and the remainder leaf, then S as a superset of S^r."""
        rest, inner = shape.rest, 0
        tail: tuple[Row, ...] = ()
        if rest:
            for count, up, leaf in self.rows:
                if count >= rest and (up & common).bit_count() >= rest and leaf not in chosen:
                    inner = lowest_bits(up & common, rest)
                    tail = (self.take(leaf, rest, inner),)
                    break
            else:
                return None
        ports = inner | lowest_bits(common & ~inner, shape.nodes - rest)
        return (*(self.take(leaf, shape.nodes, ports) for leaf in chosen), *tail)


_MOST = 16  # sets of up-ports that are tried
_THREE_LEVELS = 3

Placement = tuple[tuple[Row, ...], tuple[tuple[int, int], ...]]  # leaves and l2s of an allocation


@dataclass(frozen=True, slots=True)
class Indices:
    """
    Up-ports of a leaf, each leading to an L2 switch of its own.

    Where p parallel cables join a leaf and an L2 switch, the switch stands for p: each has one of
    the cables and an equal share of the up-ports. That takes ways away and adds none, so what is
    legal there is rearrangeable non-blocking on the tree itself.
    """

    ports: tuple[int, ...]  # up-port of each index, ascending
    switch: tuple[int, ...]  # L2 switch in its pod
    spines: tuple[int, ...]  # mask of those of its up-ports that are the index's
    plain: bool  # index i is up-port i and L2 switch i with all its up-ports

    def of_leaf(self, up: int) -> int:
        """Return a mask of up-ports of a leaf as one of indices."""
        return sum([1 << i for i, port in enumerate(self.ports) if up >> port & 1])

    def of_pod(self, l2_up: list[int]) -> list[int]:
        """Return the up-ports of each index; none in a tree of two levels."""
        if not l2_up:
            return []
        return [l2_up[l2] & own for l2, own in zip(self.switch, self.spines, strict=True)]

    def placed(self, found: Placement, cluster: Cluster) -> Placement:
        """Return a placement on indices as one on up-ports and L2 switches."""
        if self.plain:
            return found
        leaves = [
            (leaf, nodes, sum([1 << self.ports[i] for i in mask_bits(mask)]))
            for leaf, nodes, mask in found[0]
        ]
        l2s: dict[int, int] = {}
        for number, mask in found[1]:
            pod, index = divmod(number, len(self.ports))
            l2 = pod * cluster.l2_per_pod + self.switch[index]
            l2s[l2] = l2s.get(l2, 0) | mask
        return tuple(leaves), tuple(l2s.items())


@lru_cache(maxsize=16)
def all_indices(tree: FatTree) -> Indices:
    """Return all up-ports of a leaf."""
    return _indices(tree, (1 << tree.ports[LEAF_UP]) - 1)


@lru_cache(maxsize=16)
def whole_leaf_indices(tree: FatTree) -> tuple[Indices, ...]:
    """
    Return the sets S to which a search on whole leaves keeps, the largest first.

    A leaf is used whole when it gives as many nodes as S has indices. On an intact tree S is all
    up-ports, or any as many as a leaf has nodes. Where cables are lost, S is also what the leaves
    have that lost some, and what all leaves have: fewer nodes a leaf, on more leaves. At most 16
    sets are looked at.
    """
    there = {mask for mask in working_ports(tree, LEAF_UP) if mask}
    common = (1 << tree.ports[LEAF_UP]) - 1
    for mask in there:
        common &= mask
    masks = sorted({*there, common} - {0}, key=lambda mask: (-mask.bit_count(), mask))
    sets: dict[int, None] = {}
    for mask in masks:
        chosen = combinations(mask_bits(mask), min(tree.nodes_per_leaf, mask.bit_count()))
        for ports in islice(chosen, _MOST):
            sets.setdefault(sum([1 << port for port in ports]))
    return tuple(_indices(tree, mask) for mask in list(sets)[:_MOST])


def _indices(tree: FatTree, mask: int) -> Indices:
    """Return the indices of some up-ports of a leaf."""
    ports = tuple(mask_bits(mask))
    width, cables = tree.parents[1], tree.parallel[1]
    up = tree.ports[2] if tree.levels == _THREE_LEVELS else 0
    own = [
        sum([1 << port for port in range(up) if port * cables // up == cable])
        for cable in range(cables)
    ]
    return Indices(
        ports,
        tuple(port % width for port in ports),
        tuple(own[port // width] for port in ports),
        plain=cables == 1 and len(ports) == width,
    )


_KEPT = 32  # states of each pod kept before all are forgotten
_MACHINES_KEPT = 32  # the same for states of the machine, which seldom come back
_FREE_NODES = attrgetter("free")

Found = tuple[Placement, int]
"""Leaves and l2s as in `Allocation`, and how many nodes idle."""


class Pods:
    """The pods of a machine in one state; `known` has by size what a search found."""

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
    Views of the pods of a cluster, valid while the pods do not change.

    `fewest_first`: pods and leaves with the fewest free nodes first, else by number. `units`: show
    the up-ports on which so many units are free; 0: unused ones. `indices`: of these only.
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
            views = [view or self._view_pod(pod, cluster) for pod, view in enumerate(known)]
            if self._fewest_first:
                views.sort(key=_FREE_NODES)
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

    def _view_pod(self, pod: int, cluster: Cluster) -> PodView:
        """Look at a pod as it is now."""
        first, width = pod * cluster.leaves_per_pod, cluster.l2_per_pod
        leaf_up = cluster.leaf_up[first : first + cluster.leaves_per_pod]
        l2_up = cluster.l2_up[pod * width : (pod + 1) * width]
        if cluster.shared is not None:
            taken = cluster.shared.leaf[first : first + cluster.leaves_per_pod]
            leaf_up = self._with_room(leaf_up, taken)
            l2_up = self._with_room(l2_up, cluster.shared.l2[pod * width : (pod + 1) * width])
        tree = cluster.geometry.tree
        assert tree is not None  # noqa: S101 (asked for by `require_tree`)
        indices = self._indices or all_indices(tree)
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
