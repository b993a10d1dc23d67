"""Outages: nodes that take no jobs, cables and switches that failed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.levels import connected_parts, links_in_service
from netsim.topology.reach import unreachable


def exclude(topology: Topology, vertices: Sequence[str | int]) -> Topology:
    """Keep nodes from jobs; they and their links stay in the fabric."""
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
    Take cables and switches out of service; nodes that this cuts off are not `usable`.

    Of nodes that reached each other the best connected part stays. What had no path before, as from
    one of several disjoint rails to another, is no loss.
    """
    if not (cables or vertices):
        return topology
    gone = _marked(topology, vertices)
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
    rest = _touched(before, after)
    while rest.size:
        apart = unreachable(replace(before, usable=rest)).nodes
        part = np.setdiff1d(rest, apart, assume_unique=True)
        if not part.size:
            break  # nodes that never had a link in service
        lost.append(unreachable(replace(after, usable=part)).nodes)
        rest = apart
    return np.concatenate([np.empty(0, dtype=np.int64), *lost])


def _touched(before: Topology, after: Topology) -> Ints:
    """Return the usable nodes of the connected parts of a fabric in which a link failed."""
    worked = links_in_service(before)
    failed = worked & ~links_in_service(after)
    size = before.n_nodes + before.n_switches
    part = connected_parts(size, before.link_tail[worked], before.link_head[worked])
    usable = after.usable_nodes
    found: Ints = usable[np.isin(part[usable], part[before.link_tail[failed]])]
    return found


def _marked(topology: Topology, vertices: Sequence[str | int]) -> Bools:
    """Mark the nodes and switches that a user named."""
    mark = np.zeros(topology.n_nodes + topology.n_switches, dtype=bool)
    mark[topology.names.vertices(vertices)] = True
    return mark
