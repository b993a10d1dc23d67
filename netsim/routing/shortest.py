"""Shortest paths on any fabric, and the way round what failed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import RoutingError
from netsim.common.rng import whole_numbers
from netsim.flows.partition import Partition
from netsim.routing.base import (
    CheckedRouting,
    Routing,
    flow_ends,
    inner_routes,
    no_path,
    queue_pairs,
)
from netsim.routing.dmodk import rail_numbers
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.levels import Moves, choice_divisors, links_in_service, row_entries
from netsim.topology.routes import Routes

_KEYS = 2**62  # of hashes, before a switch takes them modulo its links


@dataclass(frozen=True)
class Shortest(CheckedRouting):
    """
    Shortest paths over the links in service; on trees up, then down.

    At each vertex the links that lie on a shortest path to the destination are the candidates C, in
    ascending order, and the flow takes ``C[floor(d / divisor) mod |C|]``. d is the destination's
    number leaf by leaf, so that the nodes of a switch have consecutive ones, whatever they are
    called, as in OpenSM's ftree. The divisor is the product of the parents of the levels below (see
    `divisors`): a switch does not choose again by what those below it have chosen by. So each
    switch spreads the destinations behind it evenly over its ports, by the destination alone, as
    forwarding tables have it; on an intact PGFT with mirrored cables this is D-mod-k. A path begins
    and ends by the links of its endpoints, so only switches choose. A breadth-first search for each
    switch with destinations: O(E) each.
    """

    topology: Topology

    @classmethod
    def on(cls, topology: Topology) -> "Shortest":
        """Make the routing for a fabric."""
        return cls(topology)

    @cached_property
    def _moves(self) -> Moves:
        """Moves over the links in service."""
        return Moves.on(self.topology)

    @cached_property
    def _divisors(self) -> Ints:
        """Divisor of the choice at each vertex."""
        return choice_divisors(self.topology)

    @cached_property
    def _number(self) -> Ints:
        """Number of each endpoint by which switches choose."""
        topology, ends = self.topology, self.topology.endpoints
        if isinstance(topology, FatTree):
            order = np.arange(topology.n_nodes) if topology.order is None else topology.order
            port = np.arange(ends.size) - ends.first[ends.node]
            return rail_numbers(topology, order[ends.node] * topology.ports[0] + port)
        leaf = np.where(ends.link < 0, -1, topology.link_head[ends.link])
        number = np.empty_like(leaf)
        number[np.argsort(leaf, kind="stable")] = np.arange(leaf.size)
        return number

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows, by a search for each switch with destinations."""
        return self.by_word(src, dst, None)

    def by_word(self, src: Ints, dst: Ints, word: Ints | None) -> Routes:
        """Route flows; `word` (F,): of each, by which switches hash instead of its destination."""
        topology, ends = self.topology, self.topology.endpoints
        apart = np.flatnonzero(ends.node[src] != ends.node[dst])
        first, last = ends.link[src[apart]], topology.reverse[ends.link[dst[apart]]]
        works = links_in_service(topology)
        cut = (first < 0) | (ends.link[dst[apart]] < 0) | ~works[first] | ~works[last]
        if cut.any():
            flow = apart[int(np.argmax(cut))]
            raise no_path(int(src[flow]), int(dst[flow]), topology)
        target = topology.link_tail[last]
        by_target = np.argsort(target, kind="stable")
        _, begin = np.unique(target[by_target], return_index=True)
        found: list[tuple[Ints, Ints]] = []
        for some in np.split(by_target, begin[1:]) if apart.size else ():
            flows = apart[some]
            own = None if word is None else word[flows]
            links = first[some], last[some]
            found.append((flows, self._towards(src[flows], dst[flows], links, own)))
        width = max((table.shape[1] for _, table in found), default=0)
        padded = np.full((src.size, width), -1, dtype=np.int64)
        for flows, table in found:
            padded[flows, : table.shape[1]] = table
        return Routes.from_padded(padded, topology.n_links)

    def _towards(self, src: Ints, dst: Ints, links: tuple[Ints, Ints], word: Ints | None) -> Ints:
        """Return the links of flows to one switch, first and last of which are given, with -1."""
        moves, topology, (first, last) = self._moves, self.topology, links
        distance = moves.distances(topology.link_tail[last[:1]])
        state = topology.link_head[first]
        lost = np.flatnonzero(distance[state] < 0)
        if lost.size:
            raise no_path(int(src[lost[0]]), int(dst[lost[0]]), topology)
        number, divisor = self._number[dst], self._divisors

        def keys(flows: Ints, switch: Ints) -> Ints:
            if word is None:
                return number[flows] // divisor[switch]
            return whole_numbers(0, (word[flows], switch), _KEYS)

        table = np.full((src.size, int(distance[state].max()) + 2), -1, dtype=np.int64)
        table[:, 0] = first
        walking = np.arange(src.size)
        for step in range(1, table.shape[1]):
            there = distance[state] == 0
            end = walking[there]
            table[end, step] = last[end]
            walking, state = walking[~there], state[~there]
            if not walking.size:
                break
            move = self._choices(distance, state, keys(walking, state % moves.n_vertices))
            table[walking, step], state = moves.link[move], moves.head[move]
        return table

    def _choices(self, distance: Ints, state: Ints, key: Ints) -> Ints:
        """Return the move towards the end that each flow makes: of those there are, by its key."""
        moves = self._moves
        states, where = np.unique(state, return_inverse=True)
        candidate = row_entries(moves.first, states)
        head = moves.head[candidate]
        good = (distance[head] == distance[moves.tail[candidate]] - 1) & (distance[head] >= 0)
        candidate = candidate[good & (head % moves.n_vertices >= moves.n_nodes)]
        start = np.searchsorted(moves.tail[candidate], states)
        count = np.diff(start, append=candidate.size)
        chosen: Ints = candidate[start[where] + key % count[where]]
        return chosen


@dataclass(frozen=True, slots=True)
class Rerouted:
    """A routing on a damaged fabric: flows that meet an absent link take a shortest path."""

    inner: Routing  # routing of the fabric as built
    detour: Shortest
    absent: Bools  # (E,): links out of service

    @classmethod
    def around(cls, inner: Routing, topology: Topology) -> "Rerouted":
        """Lead a routing round the absent links of a fabric."""
        absent = np.zeros(topology.n_links, dtype=bool)
        absent[topology.absent] = True
        return cls(inner, Shortest(topology), absent)

    @property
    def qps(self) -> int:
        """Queue pairs over which the routing splits a message."""
        return queue_pairs(self.inner)

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
        queue_pair: Ints | None = None,
    ) -> Routes:
        """Route flows between endpoints over links in service."""
        src, dst = flow_ends(src, dst, self.detour.topology)
        try:
            routes = inner_routes(self.inner, src, dst, partition, queue_pair)
        except RoutingError as error:
            owned = None if partition is None else partition.links
            gone = [] if owned is None else owned[self.absent[owned]].tolist()
            raise (self._out_of_service(gone[0], f"{error}"[:-1]) if gone else error) from None
        broken = self.absent[routes.links]
        if not broken.any():
            return routes
        if partition is not None and partition.links is not None:
            raise self._out_of_service(int(routes.links[broken][0]))
        broken_flow = np.zeros(routes.n_flows, dtype=bool)
        broken_flow[np.repeat(np.arange(routes.n_flows), routes.hops)[broken]] = True
        others = self.detour.routes(src[broken_flow], dst[broken_flow])
        return _with_rows(routes, broken_flow, others)

    def _out_of_service(self, link: int, what: str = "") -> RoutingError:
        """Return the error for an owned link that carries nothing."""
        name = self.detour.topology.link_name(link)
        before = f"{what}; " if what else ""
        return RoutingError(f"{before}the job owns link {name}, which is out of service.")


def _with_rows(routes: Routes, rows: Bools, others: Routes) -> Routes:
    """Put other links in the place of some rows."""
    hops = routes.hops
    hops[rows] = others.hops
    indptr = np.concatenate([[0], np.cumsum(hops)])
    links = np.empty(indptr[-1], dtype=np.int64)
    replaced = np.repeat(rows, hops)
    links[replaced] = others.links
    links[~replaced] = routes.links[~np.repeat(rows, routes.hops)]
    return Routes(indptr, links, routes.n_links)
