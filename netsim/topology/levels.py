"""Levels of a fabric: how far every vertex is from the nodes."""

import numpy as np

from netsim.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.moves import ranges


def links_in_service(topology: Topology) -> Bools:
    """
    Tell which links work.

    Parameters
    ----------
    topology : Topology
        The fabric.

    Returns
    -------
    (E,) bool array
        False for absent links.
    """
    there = np.ones(topology.n_links, dtype=np.bool_)
    if topology.absent is not None:
        there[topology.absent] = False
    return there


def vertex_levels(topology: Topology) -> Ints:
    """
    Return for every vertex the links to the nearest node.

    Parameters
    ----------
    topology : Topology
        The fabric.

    Returns
    -------
    (n_nodes + n_switches,) int array
        0 for nodes, 1 for leaves and routers with nodes, ...; -1 where no node can be reached.
    """
    there = links_in_service(topology)
    tail, head = topology.link_tail[there], topology.link_head[there]
    order = np.argsort(tail, kind="stable")
    head = head[order]
    level = np.full(topology.n_nodes + topology.n_switches, -1, dtype=np.int64)
    first = np.searchsorted(tail[order], np.arange(level.size + 1))
    ring, depth = np.arange(topology.n_nodes), 0
    while ring.size:
        level[ring] = depth
        ring = head[ranges(first, ring)]
        ring, depth = np.unique(ring[level[ring] < 0]), depth + 1
    return level
