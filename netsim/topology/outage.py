"""Outages: nodes that take no jobs, cables and switches that failed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netsim.arrays import Bools
from netsim.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.reach import unreachable


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
    gone = _marked(topology, vertices)
    up = topology.link_tail < topology.n_nodes
    gone[topology.link_tail[up & gone[topology.link_head]]] = True
    usable = topology.usable_nodes
    return replace(topology, usable=usable[~gone[usable]])


def fail(
    topology: Topology, cables: Sequence[str | int] = (), vertices: Sequence[str | int] = ()
) -> Topology:
    """
    Take cables and switches out of service.

    Parameters
    ----------
    topology : Topology
        The fabric.
    cables : sequence of str or int
        Name or number of either direction of each failed cable; both directions fail.
    vertices : sequence of str or int
        Failed switches by name, failed nodes by name or number; all their cables fail.

    Returns
    -------
    Topology
        The same numbering; the links are `absent`, and nodes that are cut off from the
        best connected part are not `usable`.

    Raises
    ------
    TopologyError
        If a name or number is unknown.
    """
    if not (cables or vertices):
        return topology
    gone = _marked(topology, vertices)
    absent = gone[topology.link_tail] | gone[topology.link_head]
    if topology.absent is not None:
        absent[topology.absent] = True
    failed = np.array([_link_of(topology, cable) for cable in cables], dtype=np.int64)
    absent[failed] = absent[topology.reverse[failed]] = True
    damaged = replace(topology, absent=np.flatnonzero(absent))
    usable = topology.usable_nodes[~gone[topology.usable_nodes]]
    damaged = replace(damaged, usable=usable)
    lost = unreachable(damaged).nodes
    return replace(damaged, usable=np.setdiff1d(usable, lost, assume_unique=True))


def _marked(topology: Topology, vertices: Sequence[str | int]) -> Bools:
    """Mark the nodes and switches that a user named."""
    mark = np.zeros(topology.n_nodes + topology.n_switches, dtype=bool)
    for vertex in vertices:
        number = topology.vertex_number(vertex) if isinstance(vertex, str) else vertex
        if not (isinstance(vertex, str) or 0 <= number < topology.n_nodes):
            raise topology.no_vertex(f"n{vertex}")
        mark[number] = True
    return mark


def _link_of(topology: Topology, cable: str | int) -> int:
    """Return the number of a link that a user named."""
    if isinstance(cable, str):
        return topology.link_number(cable)
    if not 0 <= cable < topology.n_links:
        raise TopologyError(f"links of {topology.name} are 0..{topology.n_links - 1}, got {cable}.")
    return cable
