"""Reach: which nodes of a damaged fabric no path connects."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.levels import connected_parts, links_in_service

_BLOCK = 4_000_000  # pairs of groups that are looked at together


@dataclass(frozen=True, slots=True, eq=False)
class Unreachable:
    """What a fabric can no longer connect."""

    # (n,): usable nodes without a path to the best connected one: the node that reaches most nodes,
    # the lowest of equals
    nodes: Ints
    groups: list[Ints]  # the other usable nodes; those of one group reach the same nodes
    apart: Ints  # (K, 2): pairs of groups between which no path leads, the smaller number first

    @property
    def n_pairs(self) -> int:
        """Pairs of nodes outside `nodes` between which no path leads."""
        size = np.array([nodes.size for nodes in self.groups], dtype=np.int64)
        return int((size[self.apart[:, 0]] * size[self.apart[:, 1]]).sum())

    def pairs(self) -> Ints:
        """List the pairs of nodes (P, 2) that `n_pairs` counts, which may be many."""
        found = [np.empty((0, 2), dtype=np.int64)]
        for a, b in self.apart.tolist():
            first, second = self.groups[a], self.groups[b]
            ends = (np.repeat(first, second.size), np.tile(second, first.size))
            found.append(np.sort(np.stack(ends, axis=1), axis=1))
        pairs = np.concatenate(found)
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def unreachable(topology: Topology) -> Unreachable:
    """
    Find the usable nodes and pairs of nodes that no path connects.

    On a tree a path never goes up after it came down; elsewhere any path will do.

    Every switch has *meeting points*: on a tree the highest switches that lie above it, elsewhere
    the connected part of the fabric in which it is. Two nodes reach each other if and only if
    their switches have a meeting point in common: below a common one, going up both paths, lies
    the first switch that they share. Switches that meet at the same places are one kind, nodes
    on the same kinds one group; there are few of each on fabrics with little damage, so time and
    memory grow with the links.
    """
    usable = np.zeros(topology.n_nodes, dtype=bool)
    usable[topology.usable_nodes] = True
    group, points = _node_groups(topology)
    if not points:
        return Unreachable(np.flatnonzero(usable), [], np.empty((0, 2), dtype=np.int64))
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.searchsorted(group[order], np.arange(len(points))))[1:]
    joined, apart = _compared_groups(groups, points)
    for nodes in joined:
        usable[nodes] = False
    return Unreachable(np.flatnonzero(usable), joined, apart)


def reaching_sets(topology: Topology) -> tuple[Ints, Bools]:
    """Return the group of every usable node, and (G, G) whether a path joins two groups."""
    group, points = _node_groups(topology)
    if not points:
        return group, np.empty((0, 0), dtype=np.bool_)
    return group, np.concatenate(list(_group_meetings(points)))


def switch_meetings(topology: Topology) -> tuple[Ints, Bools]:
    """Return the kind of every switch, and (K, K) whether nodes on two kinds reach each other."""
    kinds = _switch_kinds(topology, _live_links(topology))
    return kinds.of, np.concatenate(list(_group_meetings(kinds.points)))


def _node_groups(topology: Topology) -> tuple[Ints, list[Ints]]:
    """Return the group of every node, -1 for those without a link, and their meeting points."""
    live = _live_links(topology)
    kinds = _switch_kinds(topology, live)
    usable = np.zeros(topology.n_nodes, dtype=bool)
    usable[topology.usable_nodes] = True
    up = np.flatnonzero(live & (topology.link_tail < topology.n_nodes))
    up = up[usable[topology.link_tail[up]]]
    nodes, group, own = _distinct_sets(topology.link_tail[up], kinds.of[topology.link_head[up]])
    found = np.full(topology.n_nodes, -1, dtype=np.int64)
    found[nodes] = group
    return found, [kinds.union(numbers) for numbers in own]


def _live_links(topology: Topology) -> Bools:
    """Find which cables work in both directions."""
    live = links_in_service(topology)
    return live & live[topology.reverse]


@dataclass(frozen=True, slots=True, eq=False)
class _SwitchKinds:
    """Kind of every vertex, -1 for nodes, and the meeting points of each kind."""

    of: Ints
    points: list[Ints]

    def union(self, numbers: Ints) -> Ints:
        """Return the meeting points of several kinds."""
        return np.unique(np.concatenate([self.points[number] for number in numbers.tolist()]))


def _switch_kinds(topology: Topology, live: Bools) -> _SwitchKinds:
    """Sort the switches of a fabric by where they meet others."""
    if isinstance(topology, GpuCluster):  # its switches are those of the tree, in their order
        tree = topology.endpoint_tree
        inner = _of_tree(tree, live[: tree.n_links])
        none = (np.full(count, -1) for count in (topology.n_nodes, topology.n_switches))
        of = np.concatenate([next(none), inner.of[tree.n_nodes :], next(none)[tree.n_switches :]])
        return _SwitchKinds(of, inner.points)
    return _of_tree(topology, live) if isinstance(topology, FatTree) else _of_graph(topology)


def _of_tree(topology: FatTree, live: Bools) -> _SwitchKinds:
    """Sort the switches of a tree by the highest ones above them, from the roots down."""
    base = np.cumsum([0, *topology.counts])
    tail, head = topology.link_tail, topology.link_head
    kinds = _SwitchKinds(np.full(base[-1], -1, dtype=np.int64), [])
    for first, end in zip(base[-2:0:-1].tolist(), base[:1:-1].tolist(), strict=True):
        up = np.flatnonzero(live & (first <= tail) & (tail < end) & (head > tail))
        below, kind, own = _distinct_sets(tail[up], kinds.of[head[up]])
        highest = np.setdiff1d(np.arange(first, end), below, assume_unique=True)
        kinds.of[below] = len(kinds.points) + kind
        kinds.points.extend([kinds.union(numbers) for numbers in own])
        kinds.of[highest] = len(kinds.points) + np.arange(highest.size)
        kinds.points.extend(highest[:, None])
    return kinds


def _of_graph(topology: Topology) -> _SwitchKinds:
    """Sort the switches of a fabric by the part, connected in both directions, they are in."""
    n_nodes, n_switches = topology.n_nodes, topology.n_switches
    between = links_in_service(topology)
    between &= (topology.link_tail >= n_nodes) & (topology.link_head >= n_nodes)
    ends = (topology.link_tail[between] - n_nodes, topology.link_head[between] - n_nodes)
    part = connected_parts(n_switches, *ends, strongly=True)
    of = np.concatenate([np.full(n_nodes, -1), part])
    return _SwitchKinds(of, list(np.arange(part.max(initial=-1) + 1)[:, None]))


def _distinct_sets(owner: Ints, entry: Ints) -> tuple[Ints, Ints, list[Ints]]:
    """Return the owners, ascending, the number of each one's set, and the different sets."""
    order = np.lexsort((entry, owner))
    owner, entry = owner[order], entry[order]
    new = np.ones(owner.size, dtype=bool)
    new[1:] = (owner[1:] != owner[:-1]) | (entry[1:] != entry[:-1])
    owner, entry = owner[new], entry[new]
    owners, first = np.unique(owner, return_index=True)
    if owners.size == owner.size:  # as nodes of one link each: no need to look at them one by one
        entries, at, place = np.unique(entry, return_index=True, return_inverse=True)
        by_first = np.argsort(at)
        return owners, np.argsort(by_first)[place], list(entries[by_first, None])
    numbers: dict[bytes, int] = {}
    number = np.empty(owners.size, dtype=np.int64)
    bounds = [*first.tolist(), owner.size]
    for row in range(owners.size):
        key = entry[bounds[row] : bounds[row + 1]].tobytes()
        number[row] = numbers.setdefault(key, len(numbers))
    return owners, number, [np.frombuffer(key, dtype=np.int64) for key in numbers]


def _compared_groups(groups: list[Ints], points: list[Ints]) -> tuple[list[Ints], Ints]:
    """Return the groups that the best connected one reaches, and which of them are apart."""
    if len(groups) == 1:
        return groups, np.empty((0, 2), dtype=np.int64)
    size = np.array([nodes.size for nodes in groups], dtype=np.int64)
    reached = np.concatenate([block @ size for block in _group_meetings(points)])
    best = int(np.argmax(reached))
    joined = [g for g, own in enumerate(points) if np.intersect1d(own, points[best]).size]
    apart = [np.empty((0, 2), dtype=np.int64)]
    row = 0
    for block in _group_meetings([points[g] for g in joined]):
        pairs = np.argwhere(~block)
        pairs[:, 0] += row
        apart.append(pairs[pairs[:, 0] < pairs[:, 1]])
        row += block.shape[0]
    return [groups[g] for g in joined], np.concatenate(apart)


def _group_meetings(points: list[Ints]) -> Iterator[Bools]:
    """Yield, for some groups after the others, which groups have a meeting point in common."""
    from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import, and rarely needed)

    column = np.unique(np.concatenate(points), return_inverse=True)[1]
    first = np.cumsum([0, *(own.size for own in points)])
    ones = np.ones(column.size, dtype=np.int32)
    member = csr_array((ones, column, first), shape=(len(points), int(column.max()) + 1))
    other = member.T.tocsr()
    rows = max(1, _BLOCK // len(points))
    for start in range(0, len(points), rows):
        yield (member[start : start + rows] @ other).toarray() > 0
