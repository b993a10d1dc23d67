"""
Host limiters: a link per host that all its messages cross, out and in, as SimGrid's `limiter_link`.

SimGrid's clusters also have them on switches of fat-trees and dragonflies, and on the nodes of a
torus that a path passes; here hosts alone have them. They are numbered after the links of the
fabric, in the order of the hosts, and are none of its links: tables of links do not have them.
"""

from dataclasses import replace

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import Hops, Traffic
from netsim.topology.base import Topology
from netsim.topology.routes import Routes


def limited_links(topology: Topology) -> tuple[Ints, Floats]:
    """Return channel and capacity of each link, those of limiters after them."""
    if not topology.limiter_link:
        return topology.channel, topology.capacity
    n_all = topology.n_links + topology.n_nodes
    limits = np.full(topology.n_nodes, topology.limiter_link)
    return (
        np.concatenate([topology.channel, np.arange(topology.n_links, n_all)]),
        np.concatenate([topology.capacity, limits]),
    )


def n_limited_links(topology: Topology) -> int:
    """Return how many links there are, limiters among them."""
    return topology.n_links + (topology.n_nodes if topology.limiter_link else 0)


def limited_routes(routes: Routes, topology: Topology) -> Routes:
    """Return paths with the limiters of both hosts."""
    if not topology.limiter_link:
        return routes
    indptr, links, _ = _with_limiters(routes.indptr, routes.links, topology)
    return Routes(indptr, links, n_limited_links(topology), routes.rule)


def limited_traffic(traffic: Traffic, topology: Topology) -> Traffic:
    """Return traffic whose paths have the limiters of both hosts."""
    if not topology.limiter_link:
        return traffic
    return replace(traffic, routes=limited_routes(traffic.routes, topology))


def limited_hops(hops: Hops, topology: Topology, *columns: Ints) -> tuple[Hops, tuple[Ints, ...]]:
    """Return hops with the limiters of both hosts; of further columns of hops they have 0."""
    if not topology.limiter_link:
        return hops, columns
    indptr, links, place = _with_limiters(hops.indptr, hops.link, topology)
    share = hops.share.copy()
    if share.size == hops.link.size:
        share = np.ones(links.size)
        share[place] = hops.share
    found = []
    for column in columns:
        longer = np.zeros(links.size, dtype=column.dtype)
        longer[place] = column
        found.append(longer)
    indptr.flags.writeable = links.flags.writeable = False  # as kernels take them
    share.flags.writeable = False
    return Hops(indptr, links, share), tuple(found)


def _with_limiters(indptr: Ints, links: Ints, topology: Topology) -> tuple[Ints, Ints, Ints]:
    """
    Put limiters behind the first link of each flow and behind its last one.

    So the first is still the injection link, which models look for. Result: rows, their links, and
    where each link of before is now.
    """
    count = np.diff(indptr)
    outside = count > 0
    longer = np.concatenate([[0], np.cumsum(count + 2 * outside)])
    number = np.arange(links.size) - np.repeat(indptr[:-1], count)  # within its flow
    place = np.repeat(longer[:-1], count) + number + (number > 0)
    found = np.empty(longer[-1], dtype=np.int64)
    found[place] = links
    first, last = links[indptr[:-1][outside]], links[indptr[1:][outside] - 1]
    found[longer[:-1][outside] + 1] = topology.n_links + topology.link_tail[first]
    found[longer[1:][outside] - 1] = topology.n_links + topology.link_head[last]
    return longer, found, place


def host_links(topology: Topology) -> Ints:
    """Return the first injection link of each host, 0 for one without any, (n_nodes,)."""
    links, first = topology.node_links
    there = np.diff(first) > 0
    found = np.zeros(topology.n_nodes, dtype=np.int64)
    found[there] = links[first[:-1][there]]
    return found
