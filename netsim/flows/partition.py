"""Partition: the nodes and links that one job owns, and how they look on a fat-tree."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fabricsim.checking import wrong
from netsim.common.arrays import Bools, Ints, distinct_numbers, numbers_below
from netsim.common.errors import PartitionError
from netsim.topology.fattree import FatTree

_THREE_LEVELS = 3
_MOST = 2**40  # nodes and links are fewer on every fabric


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """
    Nodes of a job, in rank order, and the directed links it owns.

    Parameters
    ----------
    nodes : (n,) int array
        Node of each rank; rank i runs on ``nodes[i]``.
    links : (L,) int array or None
        Directed links between switches that only this job may use; None when the job owns
        none and shares the fabric.
    gpus : (n,) int array, optional
        GPU of each rank in its host, on a GPU cluster; default: rank i of those on a host has its
        GPU i, and a rank alone on its host has all of them.
    """

    nodes: Ints
    links: Ints | None
    gpus: Ints | None = None

    def __post_init__(self) -> None:
        """Refuse what are no numbers; which there are, the fabric knows."""
        nodes = numbers_below("nodes", self.nodes, _MOST, PartitionError)
        object.__setattr__(self, "nodes", nodes)
        if self.links is not None:
            links = numbers_below("links", self.links, _MOST, PartitionError)
            object.__setattr__(self, "links", links)

    def __repr__(self) -> str:
        owned = "no links of its own" if self.links is None else f"{self.links.size} links"
        return f"<Partition: {self.nodes.size} ranks, {owned}>"


@dataclass(frozen=True, eq=False)
class TreePartition:
    """
    A partition seen from the switches of a two- or three-level fat-tree.

    Leaves, pods and nodes are numbered here within the job, in ascending order: *leaf i* is
    ``leaves[i]``. An uplink is known by its up-port, so parallel cables count as links to different
    parents.
    """

    tree: FatTree
    nodes: Ints  # (n,): the job's nodes, ascending, each once
    leaf_of_node: Ints  # (n,): leaf of each node, numbered within the job
    slot: Ints  # (n,): rank of each node among the job's nodes on its leaf
    leaves: Ints
    pod_of_leaf: Ints  # (L,): pod of each leaf, numbered within the job
    pods: Ints
    # leaf_up, leaf_down: (L, ports): whether the job owns the link up from, or down to, each
    # up-port of each leaf
    leaf_up: Bools
    leaf_down: Bools
    # l2_up, l2_down: (P, l2_per_pod, ports): the same for the L2 switches of the job's pods; no
    # ports in a two-level tree
    l2_up: Bools
    l2_down: Bools
    stray: Ints  # (S,): owned links of switches under which the job has no node

    @cached_property
    def nodes_on_leaf(self) -> Ints:
        """Nodes of the job on each leaf, (L,)."""
        return np.bincount(self.leaf_of_node, minlength=self.leaves.size)

    @cached_property
    def leaf_rank(self) -> Ints:
        """Rank of each leaf among the job's leaves of its pod, (L,)."""
        first = np.searchsorted(self.pod_of_leaf, self.pod_of_leaf)
        return np.arange(self.leaves.size) - first

    def index(self, nodes: Ints) -> Ints:
        """Return the positions of nodes (F,) in ``self.nodes``."""
        known = self._number[np.clip(nodes, -1, self.tree.n_nodes)]
        if np.any(known < 0):
            stranger = int(nodes[known < 0][0])
            there = 0 <= stranger < self.tree.n_nodes
            name = self.tree.vertex_name(stranger) if there else stranger
            raise PartitionError(f"node {name} is not among the job's {self.nodes.size} nodes.")
        return known

    @cached_property
    def _number(self) -> Ints:
        """Number within the job of every node of the tree, -1 for others and past the last."""
        number = np.full(self.tree.n_nodes + 1, -1, dtype=np.int64)
        number[self.nodes] = np.arange(self.nodes.size)
        return number


def on_tree(tree: FatTree, partition: Partition) -> TreePartition:
    """
    Look at a partition from the switches of a fat-tree.

    Its nodes may repeat; ``links`` None is read as none. Links of its own nodes are taken for
    granted. Links out of service are as if not owned.
    """
    if not isinstance(tree, FatTree):
        raise wrong("tree", "a fat-tree", tree, PartitionError)
    if tree.levels > _THREE_LEVELS or tree.ports[0] != 1:
        raise PartitionError(
            f"owned links need a tree of 2 or 3 levels with one link per node, got {tree.summary}."
        )
    nodes = distinct_numbers(partition.nodes)
    if not nodes.size or nodes[0] < 0 or nodes[-1] >= tree.n_nodes:
        raise PartitionError(f"nodes must be one or more of 0..{tree.n_nodes - 1}, got {nodes}.")
    leaves, first, leaf_of_node = np.unique(
        nodes // tree.nodes_per_leaf, return_index=True, return_inverse=True
    )
    pods, pod_of_leaf = np.unique(leaves // tree.leaves_per_pod, return_inverse=True)
    links = np.empty(0, dtype=np.int64) if partition.links is None else partition.links
    if links.size and not 0 <= links.min() <= links.max() < tree.n_links:
        raise PartitionError(f"links must be in 0..{tree.n_links - 1}, got {links}.")
    if tree.absent is not None:
        links = np.setdiff1d(links, tree.absent)
    above, other_node_links = _without_node_links(tree, links, nodes)
    up, down, stray_leaf = _owned_ports(tree, 1, above, leaves)
    stray = [other_node_links, stray_leaf]
    n_l2 = tree.parents[1]
    l2_up = l2_down = np.zeros((pods.size, n_l2, 0), dtype=np.bool_)
    if tree.levels == _THREE_LEVELS:
        switches = (pods[:, None] * n_l2 + np.arange(n_l2)).ravel()
        flat_up, flat_down, stray_l2 = _owned_ports(tree, 2, above, switches)
        l2_up, l2_down = (part.reshape(pods.size, n_l2, -1) for part in (flat_up, flat_down))
        stray.append(stray_l2)
    return TreePartition(
        tree=tree,
        nodes=nodes,
        leaf_of_node=leaf_of_node,
        slot=np.arange(nodes.size) - first[leaf_of_node],
        leaves=leaves,
        pod_of_leaf=pod_of_leaf,
        pods=pods,
        leaf_up=up,
        leaf_down=down,
        l2_up=l2_up,
        l2_down=l2_down,
        stray=np.concatenate(stray),
    )


def _without_node_links(tree: FatTree, links: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Part the links between switches from those of nodes that are not the job's."""
    at_node = links < tree.up_base[1]
    if not at_node.any():
        return links, links[:0]
    below = links[at_node]
    return links[~at_node], below[~np.isin(below % tree.n_nodes, nodes)]


def _owned_ports(
    tree: FatTree, level: int, links: Ints, switches: Ints
) -> tuple[Bools, Bools, Ints]:
    """Return which up- and downlinks of each switch are owned, and owned links of others."""
    ports = tree.ports[level]
    base = tree.up_base[level]
    here = links[(links >= base) & (links < base + 2 * tree.counts[level] * ports)] - base
    switch, port = divmod(here, ports)
    is_down, switch = divmod(switch, tree.counts[level])
    row = np.minimum(np.searchsorted(switches, switch), switches.size - 1)
    mine = switches[row] == switch
    owned = np.zeros((2, switches.size, ports), dtype=np.bool_)
    owned[is_down[mine], row[mine], port[mine]] = True
    return owned[0], owned[1], here[~mine] + base
