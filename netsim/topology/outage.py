"""Outages: nodes that take no jobs, cables and switches that failed, and who is cut off."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netsim.topology.base import Topology


def exclude(topology: Topology, vertices: Sequence[str | int]) -> Topology:
    """
    Keep nodes from jobs; they and their links stay in the fabric.

    Parameters
    ----------
    topology : Topology
        The fabric.
    vertices : sequence of str or int
        Nodes by number or name, or switches by name, which stand for their nodes.

    Returns
    -------
    Topology
        The fabric with fewer usable nodes.

    Raises
    ------
    TopologyError
        If a name or number is unknown.
    """
    if not vertices:
        return topology
    gone = np.zeros(topology.n_nodes + topology.n_switches, dtype=bool)
    gone[[vertex_of(topology, vertex) for vertex in vertices]] = True
    up = topology.link_tail < topology.n_nodes
    gone[topology.link_tail[up & gone[topology.link_head]]] = True
    usable = topology.usable_nodes
    return replace(topology, usable=usable[~gone[usable]])


def vertex_of(topology: Topology, vertex: str | int) -> int:
    """
    Return the number of a node or switch that a user named.

    Parameters
    ----------
    topology : Topology
        The fabric.
    vertex : str or int
        Name of a node or switch, or number of a node.

    Returns
    -------
    int
        Nodes first, then switches.

    Raises
    ------
    TopologyError
        If there is none.
    """
    return topology.vertex_number(vertex if isinstance(vertex, str) else f"n{vertex}")
