"""Fat-trees: PGFT(h; m; w; p), parallel-port generalised fat-trees, full and tapered."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from fabricsim.checking import flag, whole, wholes
from netsim.common.arrays import Bools, Floats, Ints, occurrence_numbers
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth, Quantity
from netsim.topology.base import Topology
from netsim.topology.building import cable_rates, check_size, latency_seconds

_Shape = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # m, w, p
_UP_CLASSES = ("injection", "leaf-up", "L2-up", "L3-up")
_DOWN_CLASSES = ("ejection", "leaf-down", "L2-down", "L3-down")


@dataclass(frozen=True, eq=False, repr=False)
class FatTree(Topology):
    """
    PGFT(h; m; w; p): a tree of h switch levels above the nodes.

    A level-l element (level 0 = nodes) has digits in base w[i] for i < l and m[i] for
    i >= l, digit 0 fastest; its position is that mixed-radix number, so nodes of a leaf
    and leaves of a pod are consecutive. A level-l element and its parent differ in digit
    l only. Up-port q of a level-l element (0 <= q < w[l] * p[l]) leads to the parent with
    digit ``q mod w[l]`` on parallel cable ``q div w[l]``.

    The directed link up from port q of the level-l element x is
    ``up_base[l] + x * ports[l] + q``; the same cable downwards has ``down_base`` instead.

    Parameters
    ----------
    children : tuple of int
        m, children of a switch, bottom level first; m[0] nodes per leaf.
    parents : tuple of int
        w, parents of an element, bottom level first; w[0] > 1 gives a node several rails.
    parallel : tuple of int
        p, parallel cables between an element and each of its parents.
    down_cable : str
        ``"mirror"``: a flow comes down on the cable that a flow towards the same
        destination goes up on (OpenSM); ``"source"``: cable = source mod p (SimGrid).
    order : (n_nodes,) int array, optional
        Number of each node in D-mod-k (OpenSM's ca-order), where holes make it differ from
        the node's own (see `netsim.topology.outage`); -1 for missing nodes. None: no holes.

    Notes
    -----
    Source of the definition: E. Zahavi, *D-Mod-K routing providing non-blocking traffic for
    shift permutations on real life fat trees*, 2010. With three levels: level 1 is *leaf*,
    level 2 *L2*, level 3 *spine*, a *pod* is all below one set of L2 switches.
    """

    children: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    parallel: tuple[int, ...] = ()
    down_cable: str = "mirror"
    order: Ints | None = None

    @property
    def summary(self) -> str:
        """What the fabric is, in plain words: nodes, levels and oversubscription."""
        rails = f"{self.parents[0]} rails, " if self.parents[0] > 1 else ""
        levels = f"{self.levels} level{'' if self.levels == 1 else 's'}"
        ratio = self.oversubscription
        width = "full bisection" if ratio < 1.005 else f"oversubscribed {ratio:.3g}:1"  # noqa: PLR2004 (rounding)
        return f"fat-tree, {self._nodes_words}, {rails}{levels}, {width}"

    @property
    def oversubscription(self) -> float:
        """Bandwidth of all nodes over that of all links up from the narrowest level, at least 1."""
        rates = self.capacity.copy()
        if self.absent is not None:
            rates[self.absent] = 0.0
        up = [
            float(rates[base : base + count * ports].sum())
            for base, count, ports in zip(self.up_base, self.counts, self.ports, strict=False)
        ]
        return max(1.0, up[0] / least) if (least := min(up)) > 0 else np.inf

    @property
    def levels(self) -> int:
        """Switch levels, h."""
        return len(self.children)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Elements of each level 0..h; counts[0] is the number of nodes."""
        m, w, h = self.children, self.parents, self.levels
        return tuple(prod(w[:level]) * prod(m[level:]) for level in range(h + 1))

    @cached_property
    def ports(self) -> tuple[int, ...]:
        """Up-ports w[l] * p[l] of an element of each level 0..h-1."""
        return tuple(w * p for w, p in zip(self.parents, self.parallel, strict=True))

    @cached_property
    def up_base(self) -> tuple[int, ...]:
        """Number of the first upward link of each level 0..h-1."""
        bases = [0]
        for level in range(self.levels - 1):
            bases.append(bases[-1] + 2 * self.counts[level] * self.ports[level])
        return tuple(bases)

    @cached_property
    def down_base(self) -> tuple[int, ...]:
        """Number of the first downward link of each level 0..h-1."""
        sizes = zip(self.up_base, self.counts, self.ports, strict=False)
        return tuple(base + count * ports for base, count, ports in sizes)

    @cached_property
    def shape(self) -> Ints:
        """Rows m, w, p, and first link up and down of each level, (5, h), as kernels take them."""
        rows = (self.children, self.parents, self.parallel, self.up_base, self.down_base)
        shape = np.array(rows, dtype=np.int64)
        shape.flags.writeable = False
        return shape

    @cached_property
    def counted_ports(self) -> Ints | None:
        """
        Up-port of D-mod-k towards each endpoint of a rail; None where the formula gives it.

        (h, n_nodes p[0]): a rail is a tree in which each of a node's cables to a leaf is a node.
        """
        if self.order is None:
            return None
        cables = self.parallel[0]
        ends = self.order[:, None] * cables + np.arange(cables)
        order = np.where(self.order[:, None] < 0, -1, ends).reshape(-1)
        children = (self.children[0] * cables, *self.children[1:])
        shape = children, (1, *self.parents[1:]), (1, *self.parallel[1:])
        there = np.ones(self.n_links, dtype=bool)
        there[self.absent if self.absent is not None else []] = False
        uplinks = there[self.up_base[1] : self.down_base[1]]
        per_leaf = uplinks.reshape(self.n_nodes // self.nodes_per_leaf, -1)
        return _counted_ports(shape, order, np.any(per_leaf, axis=1))

    @property
    def nodes_per_leaf(self) -> int:
        """Nodes on a full leaf, m[0]."""
        return self.children[0]

    @property
    def leaves_per_pod(self) -> int:
        """Leaves of a pod, m[1]; all leaves of a two-level tree are one pod."""
        return self.children[1]

    @property
    def n_leaves(self) -> int:
        """Leaf switches."""
        return self.counts[1]

    @property
    def n_pods(self) -> int:
        """Two-level subtrees; 1 in a two-level tree."""
        return prod(self.children[2:])

    def position(self, vertex: int) -> tuple[int, int]:
        """
        Return level and position of a vertex.

        Parameters
        ----------
        vertex : int
            Nodes first, then leaves, L2 switches, spines.

        Returns
        -------
        (level, position) : tuple of int
            Level 0 for nodes.
        """
        x = vertex
        for level, count in enumerate(self.counts):
            if 0 <= x < count:
                return level, x
            x -= count
        raise TopologyError(f"no vertex {vertex} in the fabric ({self.summary}).")

    def _usual_name(self, vertex: int) -> str:
        """Return ``n17``, ``s1.3`` (leaf 3), ``s2.22``, ``s3.4``."""
        level, x = self.position(vertex)
        return f"s{level}.{x}" if level else f"n{x}"

    def usual_number(self, name: str) -> int | None:
        """Return the vertex of such a name, None where there is none."""
        match = re.fullmatch(r"n([0-9]{1,18})|s([1-9])\.([0-9]{1,18})", name, flags=re.ASCII)
        if match is None:
            return None
        level, x = (0, int(match[1])) if match[1] else (int(match[2]), int(match[3]))
        there = level <= self.levels and x < self.counts[level]
        return sum(self.counts[:level]) + x if there else None

    def hops(self, src: Ints, dst: Ints) -> Ints:
        """Return the links between switches (F,): 0 on one leaf, 2 below one L2 switch, ..."""
        return 2 * np.maximum(self.turning_level(src, dst) - 1, 0)

    def total_hops(self, nodes: Ints) -> int:
        """Return the sum of `hops` over all pairs: one that a subtree parts costs 2, by level."""
        return int(self.total_hops_each(nodes, np.array([len(nodes)]))[0])

    def total_hops_each(self, nodes: Ints, sizes: Ints) -> Ints:
        """
        Return `total_hops` of several placements.

        Parameters
        ----------
        nodes : (n,) int array
            Nodes of all placements, one behind the other.
        sizes : (P,) int array
            Nodes of each.

        Returns
        -------
        (P,) int array
            The sums.
        """
        nodes, total = self._node_numbers("nodes", nodes), np.zeros(sizes.size, dtype=np.int64)
        placement = np.repeat(np.arange(sizes.size), sizes)
        for level in range(1, self.levels):
            width = prod(self.children[:level])
            n_trees = self.n_nodes // width  # subtrees of this height
            inside = placement * n_trees + nodes // width
            tree, count = np.unique(inside, return_counts=True)
            np.add.at(total, tree // n_trees, -(count**2))
            total += sizes**2
        return total

    def turning_level(self, src: Ints, dst: Ints) -> Ints:
        """
        Return the level at which each minimal path turns round.

        Parameters
        ----------
        src, dst : (F,) int array
            Source and destination nodes.

        Returns
        -------
        (F,) int array
            0 inside a node, 1 at the leaf, ..., h at the top.
        """
        src, dst = self._node_pairs(src, dst)
        level = np.zeros(src.size, dtype=np.int64)
        for step in range(self.levels):
            below = prod(self.children[:step])
            level[src // below != dst // below] = step + 1
        return level

    @property
    def first_of_kind(self) -> dict[str, int]:
        """First link of each level and direction."""
        bases = zip(self.up_base, self.down_base, strict=True)
        words = zip(_UP_CLASSES, _DOWN_CLASSES, strict=True)
        return {
            name: first
            for names, both in zip(words, bases, strict=False)
            for name, first in zip(names, both, strict=True)
        }


def build_fat_tree(
    children: Sequence[int],
    parents: Sequence[int],
    parallel: Sequence[int],
    bandwidth: Bandwidth,
    *,
    half_duplex: bool = False,
    down_cable: str = "mirror",
    latency_base_s: Quantity = 0.0,
    latency_per_link_s: Quantity = 0.0,
) -> FatTree:
    """
    Build PGFT(h; m; w; p).

    Parameters
    ----------
    children, parents, parallel : sequence of int
        m, w and p, bottom level first, 2 to 4 levels; w[0] > 1 for several rails.
    bandwidth : Bandwidth
        Bytes per second or ``"100 Gb/s"`` of every cable, or one value per level from the node
        link up.
    half_duplex : bool, default False
        Both directions of a cable share one capacity.
    down_cable : {"mirror", "source"}
        Choice among parallel cables going down.
    latency_base_s, latency_per_link_s : float or str, default 0
        Latency of a path of n links: base + per_link * (n - 1), in seconds or as ``"315 ns"``.

    Returns
    -------
    FatTree
        The tree.

    Raises
    ------
    TopologyError
        If the lists have different lengths, are not positive, or there are not 2 to 4 levels.

    Examples
    --------
    >>> tree = build_fat_tree([2, 2, 4], [1, 2, 2], [1, 1, 1], 12.5e9)
    >>> tree.n_nodes, tree.n_switches, tree.link_name(int(tree.up_base[1]))
    (16, 20, 's1.0>s2.0')
    """
    lists = (("children", children), ("parents", parents), ("parallel", parallel))
    m, w, p = (wholes(name, given, 1, error=TopologyError) for name, given in lists)
    flag("half_duplex", half_duplex, error=TopologyError)
    rates = check_shape(m, w, p, bandwidth, down_cable)
    h = len(m)
    counts = [prod(w[:level]) * prod(m[level:]) for level in range(h + 1)]
    check_size(2 * sum(counts[level] * w[level] * p[level] for level in range(h)))
    vertex_base = np.concatenate([[0], np.cumsum(counts)])
    tails: list[Ints] = []
    heads: list[Ints] = []
    cables: list[Ints] = []
    channels: list[Ints] = []
    capacity: list[Floats] = []
    base = 0
    for level in range(h):
        child, parent, cable = level_cables(level, m, w, p)
        child, parent = child + vertex_base[level], parent + vertex_base[level + 1]
        first = base + np.arange(child.size)
        tails += [child, parent]
        heads += [parent, child]
        cables += [cable, cable]
        channels += [first, first if half_duplex else first + child.size]
        capacity.append(np.full(2 * child.size, rates[level]))
        base += 2 * child.size
    shape = "; ".join(",".join(map(str, part)) for part in (m, w, p))
    return FatTree(
        name=f"PGFT({h}; {shape})",
        n_nodes=counts[0],
        n_switches=sum(counts[1:]),
        link_tail=np.concatenate(tails),
        link_head=np.concatenate(heads),
        link_cable=np.concatenate(cables),
        capacity=np.concatenate(capacity),
        channel=np.concatenate(channels),
        latency_base_s=latency_seconds(latency_base_s),
        latency_per_link_s=latency_seconds(latency_per_link_s),
        children=m,
        parents=w,
        parallel=p,
        down_cable=down_cable,
    )


def fat_tree_of_radix(
    radix: int,
    bandwidth: Bandwidth,
    *,
    levels: int = 3,
    **options: float | bool | str,
) -> FatTree:
    """
    Build the full tree of switches with so many ports.

    Parameters
    ----------
    radix : int
        Ports of a switch, even; three levels give radix^3 / 4 nodes, two radix^2 / 2.
    bandwidth : Bandwidth
        As in `build_fat_tree`.
    levels : {2, 3}
        Switch levels.
    **options : float, bool or str
        Further keywords of `build_fat_tree`.

    Returns
    -------
    FatTree
        The tree, at most one cable between two switches.

    Raises
    ------
    TopologyError
        If the radix is odd or below 4, or levels is not 2 or 3.

    Examples
    --------
    >>> fat_tree_of_radix(18, 12.5e9).n_nodes
    1458
    """
    radix = whole("radix", radix, error=TopologyError)
    if radix < 4 or radix % 2:  # noqa: PLR2004 (the least radix that makes a tree)
        raise TopologyError(f"radix must be an even number from 4, got {radix}.")
    k = radix // 2
    if levels == 3:  # noqa: PLR2004 (the two tree heights that a radix defines)
        return build_fat_tree((k, k, radix), (1, k, k), (1, 1, 1), bandwidth, **options)  # type: ignore[arg-type]
    if levels == 2:  # noqa: PLR2004
        return build_fat_tree((k, radix), (1, k), (1, 1), bandwidth, **options)  # type: ignore[arg-type]
    raise TopologyError(f"levels must be 2 or 3 with a radix, got {levels}.")


_MIN_LEVELS, _MAX_LEVELS = 2, 4


def check_shape(
    m: tuple[int, ...],
    w: tuple[int, ...],
    p: tuple[int, ...],
    bandwidth: Bandwidth,
    down_cable: str,
) -> tuple[float, ...]:
    """Check the description of a tree; return bytes per second of each level's cables."""
    h = len(m)
    if not (_MIN_LEVELS <= h <= _MAX_LEVELS and len(w) == len(p) == h):
        raise TopologyError(
            f"children, parents and parallel must have one entry per level, 2 to 4 levels; "
            f"got {h}, {len(w)} and {len(p)} entries."
        )
    if any(value < 1 for value in (*m, *w, *p)):
        raise TopologyError(
            f"children, parents and parallel must be at least 1, got {m}, {w}, {p}."
        )
    if down_cable not in {"mirror", "source"}:
        raise TopologyError(f"down_cable must be 'mirror' or 'source', got {down_cable!r}.")
    rates = cable_rates(bandwidth)
    if len(rates) not in {1, h}:
        raise TopologyError(
            f"bandwidth must be one value, or one for each of {h} levels, got {len(rates)}."
        )
    return rates if len(rates) == h else rates * h


def level_cables(
    level: int, m: tuple[int, ...], w: tuple[int, ...], p: tuple[int, ...]
) -> tuple[Ints, Ints, Ints]:
    """Return child, parent and cable (C,) of the cables above a level, by child and up-port."""
    low = prod(w[:level])
    count = low * prod(m[level:])
    ports = w[level] * p[level]
    child = np.repeat(np.arange(count), ports)
    q = np.tile(np.arange(ports), count)
    below, digit_and_above = child % low, child // low
    above = digit_and_above // m[level]
    parent = below + low * (q % w[level]) + low * w[level] * above
    return child, parent, q // w[level]


def _counted_ports(shape: _Shape, order: Ints, leaf_there: Bools) -> Ints:
    """
    Return the up-ports towards every node (h, n_nodes); 0 for missing nodes.

    OpenSM takes the numbers one after another, dummies included, and lets each climb from its own
    leaf: every switch on the way gives it the up-port it has given away least. So the n-th number
    that climbs through a level-l switch gets port ``n mod (w[l] * p[l])`` there, and the switches
    elsewhere use the same port towards it. Without holes this is ``floor(d / (w[0]*...*w[l-1])) mod
    (w[l] * p[l])``. Checked against OpenSM 3.3.23 with missing nodes, missing leaves and leaves
    without nodes.
    """
    m, w, p = shape
    present = np.flatnonzero(order >= 0)
    leaf = present // m[0]
    on_leaf = np.bincount(leaf, minlength=leaf_there.size)
    most = int(on_leaf.max())
    leaf_of_block = np.full(np.count_nonzero(leaf_there | (on_leaf > 0)), -1)
    leaf_of_block[order[present] // most] = leaf
    empty = np.flatnonzero(leaf_there & (on_leaf == 0))
    leaf_of_block[leaf_of_block < 0] = _in_order(empty, int(leaf_of_block[0]), m)
    leaf_of_number = np.repeat(leaf_of_block, most)
    number = np.arange(leaf_of_number.size)
    ports = np.zeros((len(m), order.size), dtype=np.int64)
    below = np.zeros_like(number)
    for level in range(len(m)):
        low, width = prod(w[:level]), w[level] * p[level]
        switch = below + low * (leaf_of_number // prod(m[1:level]))
        port = (occurrence_numbers(switch) if level else number) % width
        ports[level, present] = port[order[present]]
        below += low * (port % w[level])
    return ports


def _in_order(leaves: Ints, start: int, m: tuple[int, ...]) -> list[int]:
    """Sort leaves as they are numbered from a first one: at every level its subtree leads."""
    sizes = [prod(m[1:level]) for level in range(len(m), 0, -1)]
    keys = {
        x: [-1 if start >= 0 and x // size == start // size else x // size for size in sizes]
        for x in leaves.tolist()
    }
    return sorted(keys, key=keys.__getitem__)
