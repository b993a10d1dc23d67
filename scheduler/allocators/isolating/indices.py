"""Indices: the L2 switches that a search over pods sees, on full, tapered and damaged trees."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice

from netsim.topology.fattree import FatTree
from scheduler.allocation import LEAF_UP, bits
from scheduler.allocators.isolating.podview import Row
from scheduler.cluster import Cluster
from scheduler.geometry import working_ports

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

    Parameters
    ----------
    ports : tuple of int
        Up-port of each index, ascending.
    switch : tuple of int
        L2 switch in its pod.
    spines : tuple of int
        Mask of those of its up-ports that are the index's.
    plain : bool
        Index i is up-port i and L2 switch i with all its up-ports.
    """

    ports: tuple[int, ...]
    switch: tuple[int, ...]
    spines: tuple[int, ...]
    plain: bool

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
            (leaf, nodes, sum([1 << self.ports[i] for i in bits(mask)]))
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
        chosen = combinations(bits(mask), min(tree.nodes_per_leaf, mask.bit_count()))
        for ports in islice(chosen, _MOST):
            sets.setdefault(sum([1 << port for port in ports]))
    return tuple(_indices(tree, mask) for mask in list(sets)[:_MOST])


def _indices(tree: FatTree, mask: int) -> Indices:
    """Return the indices of some up-ports of a leaf."""
    ports = tuple(bits(mask))
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
