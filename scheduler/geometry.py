"""Geometry: how the nodes of a machine lie in groups and pods."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from fabricsim.checking import shortened
from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.flows.host_tree import host_tree
from netsim.topology.base import Topology, require_topology
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.structure.hierarchy import Hierarchy, hierarchy_of
from scheduler.errors import AllocationError

BLOCK = 64  # nodes of a group on a machine that is no fat-tree


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """
    A machine as allocations see it: nodes at places, in groups of equal size.

    On a fat-tree a *group* is a leaf and a *pod* a two-level subtree. On another tree of switches a
    group is a leaf too, with empty places where it has fewer nodes than the largest one, all in one
    pod. On other machines it is a block of 64 consecutive nodes.

    Parameters
    ----------
    fabric : Topology
        The machine.
    nodes_per_leaf : int
        Nodes of a group.
    leaves_per_pod, n_pods : int
        Groups of a pod, and pods.
    hierarchy : Hierarchy or None
        Of a tree of switches that is no fat-tree; its leaves are the first groups.
    tree : FatTree or None
        Tree of one link a node whose leaves and pods these are; of a GPU cluster what each adapter
        sees (`netsim.flows.host_tree`).
    node_at : (P,) int array or None
        Node at each place, group by group, -1 at empty ones; None where places are numbered as
        nodes.
    place_of : (n_nodes,) int array or None
        Place of each node.
    """

    fabric: Topology
    nodes_per_leaf: int
    leaves_per_pod: int
    n_pods: int
    hierarchy: Hierarchy | None = None
    tree: FatTree | None = None
    node_at: Ints | None = None
    place_of: Ints | None = None

    @classmethod
    def of(cls, fabric: Topology) -> "Geometry":
        """
        Return the geometry of a machine.

        Parameters
        ----------
        fabric : Topology
            The machine.

        Returns
        -------
        Geometry
            Its groups.

        Raises
        ------
        AllocationError
            If it is no topology.
        """
        require_topology(fabric, AllocationError)
        if isinstance(fabric, FatTree):
            shape = fabric.nodes_per_leaf, fabric.leaves_per_pod, fabric.n_pods
            return cls(fabric, *shape, tree=fabric if fabric.ports[0] == 1 else None)
        hierarchy = hierarchy_of(fabric)
        if isinstance(fabric, GpuCluster) and (tree := tree_of(fabric)) is not None:
            return _of_hosts(fabric, tree, hierarchy)
        if hierarchy is None:
            return cls(fabric, BLOCK, -(-fabric.n_nodes // BLOCK), 1)
        return _by_leaves(fabric, hierarchy)

    def __repr__(self) -> str:
        return (
            f"<Geometry of {shortened(self.fabric.name)}: {self.n_leaves} groups of "
            f"{self.nodes_per_leaf} nodes>"
        )

    @property
    def n_leaves(self) -> int:
        """Groups of the machine."""
        return self.n_pods * self.leaves_per_pod

    def masks(self, nodes: Iterable[int]) -> dict[int, int]:
        """
        Return nodes as masks.

        Parameters
        ----------
        nodes : iterable of int
            Numbers of nodes.

        Returns
        -------
        dict of int to int
            Mask of the nodes in each group that has some.
        """
        width, masks = self.nodes_per_leaf, dict[int, int]()
        if self.place_of is not None:
            nodes = self.place_of[list(nodes)].tolist()
        for place in nodes:
            leaf, bit = divmod(place, width)
            masks[leaf] = masks.get(leaf, 0) | 1 << bit
        return masks

    @property
    def in_parts(self) -> bool:
        """Whether some nodes of a tree that is not regular share no switch, however high."""
        return self.hierarchy is not None and self.hierarchy.in_parts

    def sizes(self) -> list[int]:
        """
        Return the places of groups that have a node.

        Returns
        -------
        list of int
            Of each group; they come first in it. All places where they are numbered as nodes.
        """
        if self.node_at is None:
            return [self.nodes_per_leaf] * self.n_leaves
        there = self.node_at.reshape(-1, self.nodes_per_leaf) >= 0
        sizes: list[int] = np.count_nonzero(there, axis=1).tolist()
        return sizes

    def numbers(self, group: int, members: Iterable[int]) -> list[int]:
        """
        Return the nodes of a group.

        Parameters
        ----------
        group : int
            Group.
        members : iterable of int
            Bits of the nodes.

        Returns
        -------
        list of int
            Nodes, in the order given.
        """
        first = group * self.nodes_per_leaf
        if self.node_at is None:
            return [first + bit for bit in members]
        nodes: list[int] = self.node_at[[first + bit for bit in members]].tolist()
        return nodes

    def groups(self, nodes: Ints) -> Ints:
        """
        Return the groups of nodes.

        Parameters
        ----------
        nodes : (n,) int array
            Nodes.

        Returns
        -------
        (n,) int array
            Their groups.
        """
        return self.places(nodes) // self.nodes_per_leaf

    def places(self, nodes: Ints) -> Ints:
        """
        Return the places of nodes.

        Parameters
        ----------
        nodes : (n,) int array
            Nodes.

        Returns
        -------
        (n,) int array
            Their places: group times `nodes_per_leaf` plus bit.
        """
        return nodes if self.place_of is None else self.place_of[nodes]

    def nodes(self, places: Ints) -> Ints:
        """
        Return the nodes at places.

        Parameters
        ----------
        places : (n,) int array
            Places that have a node.

        Returns
        -------
        (n,) int array
            Nodes.
        """
        return places if self.node_at is None else self.node_at[places]


def _by_leaves(fabric: Topology, hierarchy: Hierarchy) -> Geometry:
    """Give each leaf a group, and nodes that hang on no switch further ones."""
    n_leaves = hierarchy.switch.size
    size = np.bincount(hierarchy.leaf[hierarchy.leaf >= 0], minlength=n_leaves)
    width = int(size.max())
    alone = np.cumsum(hierarchy.leaf < 0) - 1
    group = np.where(hierarchy.leaf < 0, n_leaves + alone // width, hierarchy.leaf)
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    place_of = np.empty(fabric.n_nodes, dtype=np.int64)
    place_of[order] = group[order] * width + np.arange(order.size) - first
    groups = int(group.max()) + 1
    node_at = np.full(groups * width, -1, dtype=np.int64)
    node_at[place_of] = np.arange(fabric.n_nodes)
    return Geometry(fabric, width, groups, 1, hierarchy, node_at=node_at, place_of=place_of)


def tree_of(fabric: Topology) -> FatTree | None:
    """Return the tree of one link a node that a machine is, or each adapter of its hosts sees."""
    if isinstance(fabric, GpuCluster):
        try:
            return host_tree(fabric).tree
        except TopologyError:
            return None
    return fabric if isinstance(fabric, FatTree) and fabric.ports[0] == 1 else None


def _of_hosts(fabric: GpuCluster, tree: FatTree, hierarchy: Hierarchy | None) -> Geometry:
    """Give each unit of a GPU cluster a group."""
    assert hierarchy is not None  # noqa: S101 (it has spines, or one leaf)
    units = np.arange(fabric.n_nodes) // fabric.hosts_per_unit
    if not np.array_equal(hierarchy.leaf, units):  # hosts lack adapters
        hierarchy = hierarchy_of(replace(fabric, absent=None))
    shape = tree.nodes_per_leaf, tree.leaves_per_pod, tree.n_pods
    return Geometry(fabric, *shape, hierarchy, tree)


def working_ports(tree: FatTree, level: int) -> tuple[int, ...]:
    """Return masks of the up-ports of a level's switches whose cables work in both directions."""
    ports = tree.ports[level]
    masks = [(1 << ports) - 1] * tree.counts[level]
    if tree.absent is not None:
        for base in (tree.up_base[level], tree.down_base[level]):
            offsets = tree.absent - base
            inside = offsets[(offsets >= 0) & (offsets < ports * len(masks))]
            for offset in inside.tolist():
                masks[offset // ports] &= ~(1 << offset % ports)
    return tuple(masks)
