"""Rails: nodes with several links, and by which of them their ranks send and receive."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.common.arrays import Bools, Floats, Ints, distinct_numbers, occurrence_numbers
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.gpuflows import cluster_flows
from netsim.topology.levels import links_in_service
from netsim.topology.reach import switch_meetings
from netsim.topology.routes import Routes

_INSIDE = 2  # links inside a host by which a flow reaches an adapter


@dataclass(frozen=True, slots=True, eq=False)
class EndpointFlows:
    """Flows between endpoints that messages between nodes are split into."""

    flow: Ints  # (K,): message that each belongs to, ascending
    # src, dst: (K,): endpoints, as `Topology.endpoints` numbers them
    src: Ints
    dst: Ints
    # (K,): equal flows of that message; or where some adapters of a GPU cluster carry more, one
    # over the share of each
    parts: Ints | Floats
    # links inside hosts: out of a GPU and into another before a flow leaves its host, and after it
    # has come to the other; -1 for none (`netsim.topology.gpuflows`)
    inside: tuple[Ints, Ints, Ints, Ints] | None = None


class Rails:
    """
    Deals the links of nodes out to the ranks that run on them.

    Rank i of the k on a node (its *local index*) owns, of the node's r links, link i mod r; where k
    < r, all links l with l mod k = i, over which its messages are split evenly. A message travels
    on the rail of the rank that it goes to, at both ends: what the sender's own rail cannot deliver
    there is handed over inside the sending node first, as NCCL does on rail-optimised fabrics
    (PXN). Traffic inside a node costs nothing. Where the sender has no such rail, the message
    leaves by a link to the switch that it arrives from, else by the first link from which a path
    leads there.

    Where links failed, a message is split over those of its rails that still join the two nodes, or
    if none does over all that do, as where communicators are set up anew on the rails left.

    On a GPU cluster a rank is a GPU (`netsim.topology.gpuflows`).
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._count = np.maximum(np.diff(topology.node_links[1]), 1)
        self._damaged = topology.absent is not None and topology.absent.size > 0

    def split(
        self,
        nodes: Ints,
        src: Ints,
        dst: Ints,
        channel: Ints | None = None,
        gpus: Ints | None = None,
    ) -> EndpointFlows | None:
        """
        Choose the endpoints of messages between ranks; None where every node has one.

        `channel` (F,): adapter by which a collective sends each message on a GPU cluster; `gpus`:
        GPU of each rank there.

        A message between nodes that nothing joins stays on its rails: it is for the routing to
        refuse it.
        """
        if isinstance(self._topology, GpuCluster):
            flows = cluster_flows(self._topology, nodes, src, dst, channel, gpus=gpus)
            return EndpointFlows(*flows)
        if self._topology.endpoints.one_each:
            return None
        here, there = nodes[src], nodes[dst]
        local, count = occurrence_numbers(nodes)[dst], self._count[there]
        dealt = np.minimum(np.bincount(nodes)[there], count)
        if not self._damaged and np.array_equal(dealt, count):
            ends = self.ends(here, there, local % count)
            return EndpointFlows(np.arange(dst.size), *ends, np.ones_like(dst))
        rail = np.arange(self._count.max())
        owned = (rail < count[:, None]) & (rail % dealt[:, None] == (local % dealt)[:, None])
        owned[here == there] = rail == 0
        if self._damaged:
            works = self._works(here, there)
            left = owned & works
            lost = ~left.any(axis=1)
            respread = lost & works.any(axis=1)
            owned = np.where(respread[:, None], works, np.where(lost[:, None], owned, left))
        flow, rail = np.nonzero(owned)
        ends = self.ends(here[flow], there[flow], rail)
        return EndpointFlows(flow, *ends, owned.sum(axis=1)[flow])

    def ends(self, src: Ints, dst: Ints, rail: Ints) -> tuple[Ints, Ints]:
        """Return the endpoints of flows between nodes that arrive by some rail."""
        topology, points = self._topology, self._topology.endpoints
        count, into = self._count[src], points.first[dst] + rail
        out = points.first[src] + np.minimum(rail, count - 1)
        if isinstance(topology, GpuCluster) or (
            isinstance(topology, FatTree) and not self._damaged
        ):
            return out, into
        behind, meet = self._reach
        place = np.arange(behind.shape[1])
        there = place < count[:, None]
        link = points.link[np.where(there, points.first[src][:, None] + place, 0)]
        joined = there & meet[behind[src], behind[dst, rail][:, None]]
        leaf = topology.link_head[points.link[into]]
        direct = joined & (topology.link_head[link] == leaf[:, None])
        same = place == rail[:, None]
        best = np.argmax(4 * direct + 2 * (joined & same) + joined, axis=1)
        return np.where(joined.any(axis=1), points.first[src] + best, out), into

    @cached_property
    def _reach(self) -> tuple[Ints, Bools]:
        """Kind of the switch behind each node link, last where none works; and kinds that meet."""
        topology = self._topology
        kind, meet = switch_meetings(topology)
        works = links_in_service(topology)
        links, first = topology.node_links
        node = topology.link_tail[links]
        behind = np.full((topology.n_nodes, self._count.max()), meet.shape[0])
        place = np.arange(links.size) - first[node]
        behind[node, place] = np.where(works[links], kind[topology.link_head[links]], meet.shape[0])
        return behind, np.pad(meet, (0, 1))

    def _works(self, src: Ints, dst: Ints) -> Bools:
        """Find for each flow which links of the destination a path leads to, by a like one."""
        behind, meet = self._reach
        start, ends = behind[src], behind[dst]
        works = np.zeros(ends.shape, dtype=bool)
        for first in start.T:
            works |= meet[first[:, None], ends]
        failed = (start == meet.shape[0] - 1) & (np.arange(start.shape[1]) < self._count[src, None])
        both = works & ~failed
        return np.where(both.any(axis=1, keepdims=True), both, works)


def flow_endpoints(
    topology: Topology, src: Ints, dst: Ints, rail: Ints | None = None
) -> tuple[Ints, Ints]:
    """
    Return the endpoints of flows between nodes, where no rank says by which link.

    `rail` (F,): link of the destination, from 0; absent, its number modulo its links.
    """
    if topology.endpoints.one_each:
        return src, dst
    count = np.diff(topology.endpoints.first)
    return Rails(topology).ends(src, dst, dst % count[dst] if rail is None else rail)


def senders(topology: Topology, src: Ints, routes: Routes) -> Ints:
    """
    Return with which other flows each shares a sender: its node or, of several, its link.

    0 for a flow that crosses no link, where nodes have several.
    """
    if not _by_links(topology):
        return src
    found = np.zeros(src.size, dtype=np.int64)
    outside = np.diff(routes.indptr) > 0
    first = routes.indptr[:-1][outside]
    inside = routes.links[first] >= topology.n_fabric_links
    relayed = inside & (np.diff(routes.indptr)[outside] > _INSIDE)  # an adapter sends it
    found[outside] = routes.links[first + _INSIDE * relayed]
    return found


def _by_links(topology: Topology) -> bool:
    """Say whether links of nodes are senders, as where nodes have several."""
    return not topology.endpoints.one_each or topology.n_fabric_links < topology.n_links


def n_senders(topology: Topology) -> int:
    """Return the number of senders: nodes, or links where nodes have several."""
    return topology.n_links if _by_links(topology) else topology.n_nodes


def node_bundles(topology: Topology) -> tuple[Ints, Floats]:
    """
    Put the links of a node together, for the time that its links alone would take.

    `bundle` (E,): for a channel of a node's links, the lowest of them; each other channel by
    itself, and -1 between switches. Links that failed count, so that a failure shows in the time
    alone, not in the ideal one.
    """
    bundle, capacity = np.full(topology.n_links, -1), topology.capacity.copy()
    inner = topology.n_fabric_links
    both = (topology.link_tail[:inner], topology.link_head[:inner])
    for end in both:
        own = topology.channel[np.flatnonzero(end < topology.n_nodes)]
        bundle[own] = own
    bundle[inner:] = np.arange(inner, topology.n_links)
    for end in both:
        links = np.flatnonzero(end < topology.n_nodes)
        pairs = distinct_numbers(end[links] * topology.n_links + topology.channel[links])
        node, channel = np.divmod(pairs, topology.n_links)
        owners, first = np.unique(node, return_index=True)
        total = np.bincount(node, weights=topology.capacity[channel])
        lowest = np.zeros(topology.n_nodes, dtype=np.int64)
        lowest[owners] = channel[first]
        bundle[channel], capacity[channel] = lowest[node], total[node]
    return bundle, capacity


def node_bandwidth(topology: Topology) -> Floats:
    """Return bytes per second over all links of each node that has any (N,)."""
    links, first = topology.node_links
    one = links[first[:-1][np.diff(first) > 0]]
    found: Floats = node_bundles(topology)[1][topology.channel[one]]
    return found
