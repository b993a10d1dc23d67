"""Partially populated trees: missing nodes and missing leaves."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.topology.fattree import FatTree


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
        raise TopologyError(f"all nodes of {tree.name} are missing.")
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
