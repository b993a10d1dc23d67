"""Bundles of cables between leaves and L2 switches: each cable as an L2 switch of its own."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.topology.fattree import FatTree, build_fat_tree

_THREE_LEVELS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Unbundled:
    """
    A tree of three levels with bundles, as one without.

    Where p cables join a leaf and an L2 switch, the switch is p switches: switch k has cable k of
    every bundle and the k-th share of the up-ports. That takes ways away and adds none: what is
    rearrangeable non-blocking there is so on the tree itself.
    """

    tree: FatTree  # without bundles; nodes, leaves and their links are numbered as before
    # (E,): link of the tree with bundles for each link of this one, -1 where it has none
    link: Ints

    def inside(self, partition: Partition) -> Partition:
        """Return a partition of the tree with bundles as one of this one."""
        if partition.links is None:
            return partition
        return Partition(partition.nodes, np.flatnonzero(np.isin(self.link, partition.links)))

    def outside(self, partition: Partition) -> Partition:
        """Return a partition of this tree as one of the tree with bundles."""
        if partition.links is None:
            return partition
        return Partition(partition.nodes, self.link[partition.links])


def has_bundles(tree: FatTree) -> bool:
    """Say whether cables between leaves and L2 switches are parallel below further switches."""
    return tree.levels == _THREE_LEVELS and tree.parallel[1] > 1


@lru_cache(maxsize=8)
def unbundled(tree: FatTree) -> Unbundled:
    """Return a tree with bundles as one without."""
    cables, width, up = tree.parallel[1], tree.parents[1], tree.ports[2]
    share = np.arange(up) * cables // up  # of which switch each up-port is
    place = np.arange(up) - np.searchsorted(share, share)
    size = int(np.bincount(share).max())
    parents = (tree.parents[0], width * cables, size)
    plain = build_fat_tree(tree.children, parents, (tree.parallel[0], 1, 1), "1 B/s")
    link = np.full(plain.n_links, -1, dtype=np.int64)
    link[: plain.up_base[2]] = np.arange(plain.up_base[2])
    switch, port = np.divmod(np.arange(tree.counts[2] * up), up)
    pod, l2 = np.divmod(switch, width)
    mine = ((pod * cables + share[port]) * width + l2) * size + place[port]
    for here, there in ((plain.up_base, tree.up_base), (plain.down_base, tree.down_base)):
        link[here[2] + mine] = there[2] + np.arange(mine.size)
    if tree.absent is not None:
        link[np.isin(link, tree.absent)] = -1
    return Unbundled(plain, link)
