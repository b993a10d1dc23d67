"""Allocation: a job placed on nodes, with the links it owns."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.topology.fattree import FatTree
from scheduler.geometry import Geometry
from scheduler.job import Job

LEAF_UP, L2_UP = 1, 2  # levels of the tree at which leaf and L2 uplinks start


def mask_bits(mask: int) -> Iterator[int]:
    """Iterate over the set bits of a mask, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@lru_cache(maxsize=1 << 14)
def _set_places(mask: int) -> tuple[int, ...]:
    """Return the set bits of a mask; those of a leaf come again and again."""
    return tuple(mask_bits(mask))


def lowest_bits(mask: int, count: int) -> int:
    """Return the mask of the lowest set bits of a mask, which has at least `count`."""
    surplus = mask.bit_count() - count
    if surplus < count:  # the shorter way: clear the highest instead
        for _ in range(surplus):
            mask ^= 1 << (mask.bit_length() - 1)
        return mask
    kept = 0
    for _ in range(count):
        low = mask & -mask
        kept |= low
        mask ^= low
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """
    A job placed on a machine, as bit masks per group of nodes.

    A group is a leaf of a tree of switches, or a block of 64 consecutive nodes elsewhere.

    Parameters
    ----------
    job : Job
        The job.
    geometry : Geometry
        How the machine's nodes lie in groups.
    leaves : tuple of (int, int, int)
        (group, mask of its nodes, mask of its up-ports owned) for each group used.
    l2s : tuple of (int, int)
        (L2 switch, mask of its up-ports owned) for each L2 switch of which links are owned.
    order : tuple of int or None
        Node of each rank where that is not ascending.
    idle : int
        Nodes held beyond those asked for (LaaS); they are the last of the mask order.
    units : int
        0: the masks of links are owned exclusively; else capacity units taken on each of them
        (LC+S).
    """

    job: Job
    geometry: Geometry
    leaves: tuple[tuple[int, int, int], ...]
    l2s: tuple[tuple[int, int], ...] = ()
    order: tuple[int, ...] | None = None
    idle: int = 0
    units: int = 0

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<Allocation of job {self.job.id}: {self.job.n_nodes} nodes on "
            f"{len(self.leaves)} leaves>"
        )

    @property
    def held(self) -> int:
        """Nodes held, those beyond the request among them."""
        return self.job.n_nodes + self.idle

    def nodes(self) -> Ints:
        """
        Return the node of each rank.

        Returns
        -------
        (n_nodes,) int array
            Ascending unless the allocator gave an order of its own.
        """
        if self.order is not None:
            return np.array(self.order, dtype=np.int64)
        width = self.geometry.nodes_per_leaf
        held = [leaf * width + bit for leaf, mask, _ in self.leaves for bit in _set_places(mask)]
        held.sort()
        if self.idle:
            del held[len(held) - self.idle :]
        places = np.fromiter(held, np.int64, len(held))  # quicker than `array`
        if self.geometry.node_at is None:
            return places
        return np.sort(self.geometry.nodes(places))

    def partition(self) -> Partition:
        """
        Return nodes and owned directed links, as the network package wants them.

        Returns
        -------
        Partition
            ``links`` is None where nothing is owned exclusively.
        """
        return Partition(self.nodes(), self.links())

    def links(self) -> Ints | None:
        """
        Return the directed links that the job owns.

        Returns
        -------
        (L,) int array or None
            None where nothing is owned exclusively.
        """
        fabric = self.geometry.fabric
        if self.units or not isinstance(fabric, FatTree):
            return None
        leaves = [(leaf, ports) for leaf, _, ports in self.leaves if ports]
        if not leaves and not self.l2s:
            return None
        up: list[Ints] = []
        down: list[Ints] = []
        for level, switches in ((LEAF_UP, leaves), (L2_UP, self.l2s)):
            if not switches:
                continue
            width = fabric.ports[level]
            owned = [switch * width + port for switch, own in switches for port in _set_places(own)]
            chosen = np.array(owned, dtype=np.int64)
            up.append(chosen + fabric.up_base[level])
            down.append(chosen + fabric.down_base[level])
        return np.concatenate(up + down)
