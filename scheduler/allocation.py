"""Allocation: a job placed on nodes, with the links it owns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.host_tree import host_tree
from netsim.flows.partition import Partition
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster
from scheduler.geometry import Geometry
from scheduler.job import Job

LEAF_UP, L2_UP = 1, 2  # levels of the tree at which leaf and L2 uplinks start


class NodeUnits(NamedTuple):
    """
    What a node has, or what a job takes of each of its nodes.

    Parameters
    ----------
    cores, gpus : int
        Processors and GPUs; 0 of a node: not counted.
    memory_mb : int
        Memory in MiB; 0 of a node: not counted.
    """

    cores: int = 0
    gpus: int = 0
    memory_mb: int = 0


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
    share : NodeUnits or None
        What it takes of each node; None: whole nodes.
    gpus : tuple of (int, int)
        (place of a node, mask of its GPUs that the job has) where it takes some of them.
    part : float
        Part of a node that it counts as on each: of the GPUs where nodes have some, else of the
        cores, else of the memory.
    """

    job: Job
    geometry: Geometry
    leaves: tuple[tuple[int, int, int], ...]
    l2s: tuple[tuple[int, int], ...] = ()
    order: tuple[int, ...] | None = None
    idle: int = 0
    units: int = 0
    share: NodeUnits | None = None
    gpus: tuple[tuple[int, int], ...] = ()
    part: float = 1.0

    def __repr__(self) -> str:
        return (
            f"<Allocation of job {self.job.id}: {self.job.n_nodes} nodes on "
            f"{len(self.leaves)} leaves>"
        )

    @property
    def held(self) -> int:
        """Nodes held, those beyond the request among them."""
        return self.job.n_nodes + self.idle

    @property
    def weight(self) -> float:
        """Nodes asked for, of shared ones the part."""
        return self.job.n_nodes if self.share is None else self.job.n_nodes * self.part

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
            ``links`` is None where nothing is owned exclusively. Ranks are nodes; on a GPU cluster
            those of a job that has some GPUs of its hosts, or trains a model, are GPUs.
        """
        nodes, held = self.nodes(), dict(self.gpus)
        masks = [held[place] for place in self.geometry.places(nodes).tolist()] if held else None
        return job_partition(self.job, self.geometry.fabric, nodes, self.links(), masks)

    def links(self) -> Ints | None:
        """
        Return the directed links that the job owns.

        Returns
        -------
        (L,) int array or None
            None where nothing is owned exclusively.
        """
        fabric, tree = self.geometry.fabric, self.geometry.tree
        if self.units or tree is None:
            return None
        leaves = [(leaf, ports) for leaf, _, ports in self.leaves if ports]
        if not leaves and not self.l2s:
            return None
        up: list[Ints] = []
        down: list[Ints] = []
        for level, switches in ((LEAF_UP, leaves), (L2_UP, self.l2s)):
            if not switches:
                continue
            width = tree.ports[level]
            owned = [switch * width + port for switch, own in switches for port in _set_places(own)]
            chosen = np.array(owned, dtype=np.int64)
            up.append(chosen + tree.up_base[level])
            down.append(chosen + tree.down_base[level])
        links = np.concatenate(up + down)
        return host_tree(fabric).spread(links) if isinstance(fabric, GpuCluster) else links


def job_partition(
    job: Job,
    fabric: Topology,
    nodes: Ints,
    links: Ints | None = None,
    held: Sequence[int] | None = None,
) -> Partition:
    """Return a job on nodes, as `Allocation.partition`; `held`: GPUs of each as bits, else all."""
    trains = job.communication is not None and job.communication.compute_s is not None
    if not isinstance(fabric, GpuCluster) or not (held or trains):
        return Partition(nodes, links)
    _, first = np.unique(nodes, return_index=True)  # records have hosts by rank
    nodes, most = nodes[np.sort(first)], fabric.hosts.gpus
    each = min(-(-job.gpus // nodes.size) or most, most)
    own = [_set_places(mask) for mask in held or [(1 << each) - 1] * nodes.size]
    ranks = np.repeat(nodes, [len(gpus) for gpus in own])
    asked = job.gpus or ranks.size  # rounded up, it may hold more
    gpus = np.array([gpu for gpus in own for gpu in gpus], dtype=np.int64)
    return Partition(ranks[:asked], links, gpus[:asked])
