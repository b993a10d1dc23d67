"""Geometry: how the nodes of a machine lie in groups and pods."""

from collections.abc import Iterable
from dataclasses import dataclass

from fabricsim.checking import shortened
from netsim.topology.base import Topology
from netsim.topology.demand import demand_topology
from netsim.topology.fattree import FatTree
from scheduler.errors import AllocationError

BLOCK = 64  # nodes of a group on a machine that is no fat-tree


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """
    A machine as allocations see it: nodes by number, in groups of equal size.

    On a fat-tree a *group* is a leaf and a *pod* a two-level subtree; on other machines a group
    is a block of 64 consecutive nodes, all in one pod.

    Parameters
    ----------
    fabric : Topology
        The machine.
    nodes_per_leaf : int
        Nodes of a group.
    leaves_per_pod, n_pods : int
        Groups of a pod, and pods.
    """

    fabric: Topology
    nodes_per_leaf: int
    leaves_per_pod: int
    n_pods: int

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
        demand_topology(fabric, AllocationError)
        if isinstance(fabric, FatTree):
            return cls(fabric, fabric.nodes_per_leaf, fabric.leaves_per_pod, fabric.n_pods)
        return cls(fabric, BLOCK, -(-fabric.n_nodes // BLOCK), 1)

    def __repr__(self) -> str:
        """Return one line."""
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
        for node in nodes:
            leaf, bit = divmod(node, width)
            masks[leaf] = masks.get(leaf, 0) | 1 << bit
        return masks
