"""Fabrics that lost parts: cables and switches out of service, nodes and leaves never installed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.levels import connected_parts, links_in_service
from netsim.topology.reach import unreachable


def exclude(topology: Topology, vertices: Sequence[str | int]) -> Topology:
    """Keep nodes from jobs; they and their links stay in the fabric."""
    if not vertices:
        return topology
    gone = _marked_vertices(topology, vertices)
    up = topology.link_tail < topology.n_nodes
    gone[topology.link_tail[up & gone[topology.link_head]]] = True
    usable = topology.usable_nodes
    return replace(topology, usable=usable[~gone[usable]])


def fail(
    topology: Topology, cables: Sequence[str | int] = (), vertices: Sequence[str | int] = ()
) -> Topology:
    """
    Take cables and switches out of service; nodes that this cuts off are not `usable`.

    Of nodes that reached each other the best connected part stays. What had no path before, as from
    one of several disjoint rails to another, is no loss.
    """
    if not (cables or vertices):
        return topology
    gone = _marked_vertices(topology, vertices)
    absent = gone[topology.link_tail] | gone[topology.link_head]
    if topology.absent is not None:
        absent[topology.absent] = True
    failed = np.array(topology.names.links(cables), dtype=np.int64)
    absent[failed] = absent[topology.reverse[failed]] = True
    damaged = replace(topology, absent=np.flatnonzero(absent))
    usable = topology.usable_nodes[~gone[topology.usable_nodes]]
    damaged = replace(damaged, usable=usable)
    lost = _cut_off(topology, damaged)
    return replace(damaged, usable=np.setdiff1d(usable, lost, assume_unique=True))


def _cut_off(before: Topology, after: Topology) -> Ints:
    """Return the nodes that a failure cuts off: part by part of those that reached each other."""
    if not unreachable(after).nodes.size:
        return np.empty(0, dtype=np.int64)
    lost = []
    rest = _touched_nodes(before, after)
    while rest.size:
        apart = unreachable(replace(before, usable=rest)).nodes
        part = np.setdiff1d(rest, apart, assume_unique=True)
        if not part.size:
            break  # nodes that never had a link in service
        lost.append(unreachable(replace(after, usable=part)).nodes)
        rest = apart
    return np.concatenate([np.empty(0, dtype=np.int64), *lost])


def _touched_nodes(before: Topology, after: Topology) -> Ints:
    """Return the usable nodes of the connected parts of a fabric in which a link failed."""
    worked = links_in_service(before)
    failed = worked & ~links_in_service(after)
    size = before.n_nodes + before.n_switches
    part = connected_parts(size, before.link_tail[worked], before.link_head[worked])
    usable = after.usable_nodes
    found: Ints = usable[np.isin(part[usable], part[before.link_tail[failed]])]
    return found


def _marked_vertices(topology: Topology, vertices: Sequence[str | int]) -> Bools:
    """Mark the nodes and switches that a user named."""
    mark = np.zeros(topology.n_nodes + topology.n_switches, dtype=bool)
    mark[topology.names.vertices(vertices)] = True
    return mark


def depopulate(tree: FatTree, missing: Sequence[str | int]) -> FatTree:
    """
    Take nodes and leaves out of a tree, as if they had never been installed.

    OpenSM's ftree numbers the nodes by its ca-order: the leaves that are there, in their order; on
    each the nodes that are there in port order, then dummies up to the largest number of nodes on
    any leaf. So ``d = leaf * max + place among the present``: a hole shifts the later nodes of its
    leaf, a missing leaf all later nodes, and a leaf without nodes takes dummies only (OpenSM needs
    the roots given, ``-a``, where leaves are missing or empty).
    """
    if not missing:
        return tree
    single = tree.parents[0] == 1  # with several rails a node outlives each of its leaves
    there = np.ones(tree.n_nodes + tree.n_leaves * single, dtype=bool)
    vertices = np.array(tree.names.vertices(missing), dtype=np.int64)
    if vertices.max(initial=0) >= there.size:
        raise TopologyError(
            f"only nodes and leaves can be missing, got {tree.vertex_name(vertices.max())!r}; let "
            f"other switches fail."
        )
    there[vertices] = False
    leaf = np.arange(tree.n_nodes) // tree.nodes_per_leaf
    nodes, leaves = there[: tree.n_nodes], there[tree.n_nodes :]
    if single:
        nodes = nodes & leaves[leaf]
    if not nodes.any():
        raise TopologyError(f"all nodes of the fabric ({tree.summary}) are missing.")
    on_leaf = np.bincount(leaf[nodes], minlength=tree.n_nodes // tree.nodes_per_leaf)
    leaf_rank = np.cumsum(leaves if single else on_leaf > 0) - 1
    before: Ints = np.cumsum(nodes) - nodes  # present nodes with a smaller number
    place = before - before[leaf * tree.nodes_per_leaf]
    order = np.where(nodes, leaf_rank[leaf] * on_leaf.max() + place, -1)
    gone = np.zeros(tree.n_nodes + tree.n_switches, dtype=bool)
    gone[: tree.n_nodes] = ~nodes
    gone[tree.n_nodes : there.size] = ~leaves
    absent = gone[tree.link_tail] | gone[tree.link_head]
    return replace(
        tree,
        usable=np.intersect1d(tree.usable_nodes, np.flatnonzero(nodes)),
        absent=np.flatnonzero(absent),
        order=order,
    )
