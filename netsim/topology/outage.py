"""Outages: nodes that take no jobs, cables and switches that failed, and who is cut off."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from netsim.arrays import Bools, Ints
from netsim.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.levels import links_in_service
from netsim.topology.moves import Moves, same_links


@dataclass(frozen=True, slots=True, eq=False)
class Unreachable:
    """
    What a fabric can no longer connect.

    Parameters
    ----------
    nodes : (n,) int array
        Usable nodes without a path to the best connected one: the node that reaches most
        nodes, the lowest of equals.
    pairs : (P, 2) int array
        Pairs of the other usable nodes, smaller number first, between which no path leads.
        On a tree a path never goes up after it came down.
    """

    nodes: Ints
    pairs: Ints


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


def unreachable(topology: Topology) -> Unreachable:
    """
    List the usable nodes and pairs of nodes that no path connects.

    Parameters
    ----------
    topology : Topology
        The fabric, with its absent links.

    Returns
    -------
    Unreachable
        Nodes that are cut off, and pairs among the rest.
    """
    live = np.ones(topology.n_links, dtype=bool)
    if topology.absent is not None:
        live[topology.absent] = False
    usable = np.zeros(topology.n_nodes, dtype=bool)
    usable[topology.usable_nodes] = True
    groups = [nodes[usable[nodes]] for nodes in same_links(topology, live)]
    groups = sorted((nodes for nodes in groups if nodes.size), key=lambda nodes: int(nodes[0]))
    reach = _group_reach(topology, groups)
    sizes = np.array([nodes.size for nodes in groups], dtype=np.int64)
    kept = np.flatnonzero(reach[np.argmax(reach @ sizes)]) if groups else sizes
    for group in kept:
        usable[groups[group]] = False
    pairs = [
        _products(groups[a], groups[b]) for a in kept for b in kept if a < b and not reach[a, b]
    ]
    empty = np.empty((0, 2), dtype=np.int64)
    found = np.concatenate([empty, *pairs])
    order = np.lexsort((found[:, 1], found[:, 0]))
    return Unreachable(np.flatnonzero(usable), found[order])


def _group_reach(topology: Topology, groups: list[Ints]) -> Bools:
    """Tell between which groups a path leads, from one node of each."""
    reach = np.eye(len(groups), dtype=bool)
    intact = topology.absent is None or not topology.absent.size
    if intact and topology.origin is None:  # what is built here is connected; files may not be
        return np.ones_like(reach)
    if not isinstance(topology, FatTree):
        return reach | _joined(topology, groups)
    moves = Moves.on(topology)
    heads = np.array([nodes[0] for nodes in groups], dtype=np.int64)
    for group, nodes in enumerate(groups):
        reach[:, group] |= moves.distances(int(nodes[0]))[heads] >= 0
    return reach


def _joined(topology: Topology, groups: list[Ints]) -> Bools:
    """Tell which groups have switches in the same part of the fabric; any path will do."""
    from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import, and rarely needed)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    n_nodes, n_switches = topology.n_nodes, topology.n_switches
    works = links_in_service(topology)
    tail, head = topology.link_tail[works], topology.link_head[works]
    between = (tail >= n_nodes) & (head >= n_nodes)
    ends = (tail[between] - n_nodes, head[between] - n_nodes)
    links = csr_array((np.ones(ends[0].size), ends), shape=(n_switches, n_switches))
    parts, part = connected_components(links, directed=False)
    group = np.full(n_nodes + n_switches, -1, dtype=np.int64)
    group[[int(nodes[0]) for nodes in groups]] = np.arange(len(groups))
    up = (group[tail] >= 0) & (tail < n_nodes)
    member = np.zeros((len(groups), parts), dtype=bool)
    member[group[tail[up]], part[head[up] - n_nodes]] = True
    joined: Bools = (member.astype(np.float32) @ member.T.astype(np.float32)) > 0
    return joined


def _products(first: Ints, second: Ints) -> Ints:
    """Return all pairs of two groups, smaller number first."""
    pairs = np.stack([np.repeat(first, second.size), np.tile(second, first.size)], axis=1)
    return np.sort(pairs, axis=1)


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
