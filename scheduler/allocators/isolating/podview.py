"""PodView: what is free in one pod, and the search for a legal placement inside it."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter, neg
from typing import NamedTuple

from scheduler.allocation import lowest
from scheduler.cluster import Cluster

Row = tuple[int, int, int]
_FREE = itemgetter(0)


def pack(masks: Sequence[int], width: int) -> int:
    """
    Put masks side by side into one integer, so that one operation meets them all.

    `masks`: each of `width` bits. `width`: bits of a field. Result: mask i is the field from bit
    ``i * width`` on.

    Examples
    --------
    >>> bin(pack([0b01, 0b11], 2))
    '0b1101'
    """
    packed = 0
    for mask in reversed(masks):
        packed = packed << width | mask
    return packed


def unpack(packed: int, width: int, count: int) -> list[int]:
    """
    Undo `pack`.

    `width`: bits of a field.
    """
    field = (1 << width) - 1
    return [packed >> shift & field for shift in range(0, width * count, width)]


@lru_cache(maxsize=1 << 16)  # few patterns of free links recur all the time
def field_counts(packed: int, width: int, count: int) -> tuple[int, ...]:
    """
    Return the set bits of each field.

    Parameters
    ----------
    packed : int
        Masks side by side.
    width : int
        Bits of a field.
    count : int
        Number of fields.

    Returns
    -------
    tuple of int
        One number for each field, and after them the least of them.
    """
    counts = [mask.bit_count() for mask in unpack(packed, width, count)]
    return (*counts, min(counts))


@lru_cache(maxsize=1 << 14)  # the same patterns
def _packed(masks: tuple[int, ...], width: int) -> tuple[int, int]:
    """Return masks side by side, and the fewest bits that one of them has."""
    return pack(masks, width), min(map(int.bit_count, masks), default=0)


class Shape(NamedTuple):
    """
    Node counts of a placement inside one pod, in the words of conditions (1)-(3).

    Parameters
    ----------
    leaves : int
        L_T, leaves with `nodes` nodes each.
    nodes : int
        n_L.
    rest : int
        n_L^r, nodes of the remainder leaf; 0 for none.
    """

    leaves: int
    nodes: int
    rest: int


class PodView:
    """
    The free part of a pod, prepared for searching.

    Parameters
    ----------
    cluster : Cluster
        The machine as it is.
    pod : int
        Number of the pod.
    leaf_up, l2_up : sequence of int
        Masks of the indices that a job may take at the leaves, and of the up-ports of each.
    width : int
        Number of indices: up-ports of a leaf.
    fewest_first : bool
        Try leaves with the fewest free nodes first, else by number.

    Attributes
    ----------
    pod : int
        Number of the pod.
    free : int
        Free nodes.
    rows : list of Row
        (free nodes, mask of free up-ports, leaf) of the leaves with free nodes, in the
        order of the search.
    spines : int
        Masks of free up-ports of the L2 switches, packed as by `pack`; 0 in a two-level tree.
    largest : int
        Free nodes of the leaf that has most.
    usable : list of int
        The lesser of free nodes and free up-ports of each leaf, descending, and a zero after
        them.
    whole : list of int
        Leaves that can give as many nodes and up-ports as any leaf can.
    n_whole : int
        Their number.
    spare_spines : int
        The fewest free up-ports that an L2 switch of the pod has.
    deepest : int
        The largest L_T of a full tree of whole leaves that the pod could be, were it alone.
    refused : int
        The smallest size for which a search failed; none as large fits. No shape is lost
        by taking away a node, so this holds until the pod changes.
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
        self.spines, self.spare_spines = _packed(tuple(l2_up), cluster.l2_width)
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
        return leaf, lowest(self._nodes[leaf - self._first_leaf], n_nodes), ports

    @property
    def whole_rows(self) -> list[Row]:
        """The whole leaves with all their up-ports and as many nodes, as in an allocation."""
        if self._whole_rows is None:
            ports = (1 << self._width) - 1
            self._whole_rows = [self.take(leaf, self._width, ports) for leaf in self.whole]
        return self._whole_rows

    def leaves_with(self, n_nodes: int) -> int:
        """
        Return the number of leaves that can give so many nodes and up-ports.

        `n_nodes`: at least 1.
        """
        return bisect_right(self.usable, -n_nodes, key=neg)

    def single_leaf(self, n_nodes: int, *, with_links: bool) -> tuple[Row, ...] | None:
        """
        Place a job on one leaf.

        Result: None when no leaf will do.
        """
        for count, up, leaf in self.rows:
            if count >= n_nodes and not with_links:
                return (self.take(leaf, n_nodes, 0),)
            if count >= n_nodes and up.bit_count() >= n_nodes:
                return (self.take(leaf, n_nodes, lowest(up, n_nodes)),)
        return None

    def several_leaves(self, shape: Shape) -> tuple[Row, ...] | None:
        """
        Place a job on leaves that use one set of L2 switches: conditions (2) and (4).

        Result: None when there is no such placement: the search is exhaustive.
        """
        nodes = shape.nodes
        rows = [row for row in self.rows if row[0] >= nodes and row[1].bit_count() >= nodes]
        return self._choose(rows, [], -1, shape)

    def _choose(
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
            found = self._choose(rows[index + 1 :], [*chosen, rows[index][2]], both, shape)
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
                    inner = lowest(up & common, rest)
                    tail = (self.take(leaf, rest, inner),)
                    break
            else:
                return None
        ports = inner | lowest(common & ~inner, shape.nodes - rest)
        return (*(self.take(leaf, shape.nodes, ports) for leaf in chosen), *tail)
