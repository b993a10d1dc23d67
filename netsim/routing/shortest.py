"""Shortest paths on any fabric, and the way round what failed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import RoutingError
from netsim.common.rng import whole_numbers
from netsim.flows.partition import Partition
from netsim.routing.base import CheckedRouting, Routing, flow_ends, no_path, queue_pairs
from netsim.routing.dmodk import rail_ends
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.levels import divisors, links_in_service
from netsim.topology.moves import Moves, ranges
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
    forwarding tables have it; on an intact PGFT with mirrored cables this is D-mod-k. Where the
    rail of a flow is given, the path ends in that link of the destination, and only switches
    choose. A breadth-first search for each switch with destinations: O(E) each.
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
    def _divisors(self) -> tuple[Ints, Ints]:
        """Divisor of the choice at each vertex: without a given rail, and with one."""
        return divisors(self.topology), divisors(self.topology, in_rail=True)

    @cached_property
    def _number(self) -> Ints:
        """Number of each node by which switches choose."""
        topology = self.topology
        if isinstance(topology, FatTree):
            return np.arange(topology.n_nodes) if topology.order is None else topology.order
        links, first = topology.node_links
        leaf = np.full(topology.n_nodes, -1, dtype=np.int64)
        attached = np.diff(first) > 0
        leaf[attached] = topology.link_head[links[first[:-1][attached]]]
        number = np.empty_like(leaf)
        number[np.argsort(leaf, kind="stable")] = np.arange(leaf.size)
        return number

    @cached_property
    def _arrivals(self) -> tuple[Ints, Ints]:
        """Links in service that end in a node, by node, then switch; and both as one number."""
        topology = self.topology
        links = np.flatnonzero(links_in_service(topology) & (topology.link_head < topology.n_nodes))
        ends = topology.link_head[links] * self._moves.n_vertices + topology.link_tail[links]
        order = np.argsort(ends, kind="stable")
        return links[order], ends[order]

    @cached_property
    def _behind(self) -> Ints:
        """Number of the set of switches that each node hangs on; equal sets have equal ones."""
        _, ends = self._arrivals
        node, switch = divmod(np.unique(ends), self._moves.n_vertices)
        place = np.arange(node.size) - np.searchsorted(node, node)
        table = np.full((self.topology.n_nodes, int(place.max(initial=0)) + 1), -1, dtype=np.int64)
        table[node, place] = switch
        found: Ints = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
        return found

    def paths(self, src: Ints, dst: Ints, rail: Ints | None) -> Routes:
        """Return the links of flows, by a search for each switch with destinations."""
        return self.by_word(src, dst, rail, None)

    def by_word(self, src: Ints, dst: Ints, rail: Ints | None, word: Ints | None) -> Routes:
        """Route flows; `word` (F,): of each, by which switches hash instead of its destination."""
        topology = self.topology
        last = None if rail is None else self._last(src, dst, rail)
        target = self._behind[dst] if last is None else topology.link_tail[last]
        target = np.where(src == dst, -1, target)
        by_target = np.argsort(target, kind="stable")
        _, first = np.unique(target[by_target], return_index=True)
        found: list[tuple[Ints, Ints]] = []
        for flows in np.split(by_target, first[1:]):
            if flows.size and target[flows[0]] >= 0:
                some = (part if part is None else part[flows] for part in (rail, last, word))
                found.append((flows, self._towards(src[flows], dst[flows], *some)))
        width = max((table.shape[1] for _, table in found), default=0)
        padded = np.full((src.size, width), -1, dtype=np.int64)
        for flows, table in found:
            padded[flows, : table.shape[1]] = table
        return Routes.from_padded(padded, topology.n_links)

    def _last(self, src: Ints, dst: Ints, rail: Ints) -> Ints:
        """Return the link by which each flow arrives."""
        topology = self.topology
        links, first = topology.node_links
        last: Ints = topology.reverse[links[first[dst] + rail]]
        lost = np.flatnonzero(~links_in_service(topology)[last] & (src != dst))
        if lost.size:
            flow = lost[0]
            raise no_path(int(src[flow]), int(dst[flow]), topology, int(rail[flow]))
        return last

    def _towards(
        self, src: Ints, dst: Ints, rail: Ints | None, last: Ints | None, word: Ints | None
    ) -> Ints:
        """Return the links of flows whose destinations hang on the same switches, with -1."""
        moves = self._moves
        distance = moves.distances(self._last_switches(int(dst[0]), last))
        lost = np.flatnonzero(distance[src] < 0)
        if lost.size:
            by = None if rail is None else int(rail[lost[0]])
            raise no_path(int(src[lost[0]]), int(dst[lost[0]]), self.topology, by)
        number, divisor = self._number[dst], self._divisors[rail is not None]
        if rail is not None and isinstance(self.topology, FatTree):
            number = rail_ends(self.topology, number, rail)

        def keys(flows: Ints, switch: Ints) -> Ints:
            if word is None:
                return number[flows] // divisor[switch]
            return whole_numbers(0, (word[flows], switch), _KEYS)

        table = np.full((src.size, int(distance[src].max()) + 1), -1, dtype=np.int64)
        starts = number if word is None else keys(np.arange(src.size), src)
        move = self._choices(distance, src, starts if rail is None else number + rail)
        table[:, 0], state = moves.link[move], moves.head[move]
        if rail is not None:
            self._keep_rail(table[:, 0], state, distance, rail)
        walking = np.arange(src.size)
        for step in range(1, table.shape[1]):
            there = distance[state] == 0
            end = walking[there]
            if last is not None:
                table[end, step] = last[end]
            else:
                switch = state[there] % moves.n_vertices
                table[end, step] = self._arrival(switch, dst[end], keys(end, switch))
            walking, state = walking[~there], state[~there]
            if not walking.size:
                break
            move = self._choices(distance, state, keys(walking, state % moves.n_vertices))
            table[walking, step], state = moves.link[move], moves.head[move]
        return table

    def _last_switches(self, node: int, last: Ints | None) -> Ints:
        """Return the switches from which flows go down to a node."""
        if last is not None:
            return self.topology.link_tail[last[:1]]
        links, ends = self._arrivals
        first, end = np.searchsorted(ends, np.array([node, node + 1]) * self._moves.n_vertices)
        return self.topology.link_tail[links[first:end]]

    def _arrival(self, switch: Ints, dst: Ints, key: Ints) -> Ints:
        """Return the link from switches down to nodes, among parallel ones by a key."""
        links, ends = self._arrivals
        wanted = dst * self._moves.n_vertices + switch
        first = np.searchsorted(ends, wanted)
        count = np.searchsorted(ends, wanted, side="right") - first
        found: Ints = links[first + key % count]
        return found

    def _keep_rail(self, link: Ints, state: Ints, distance: Ints, rail: Ints) -> None:
        """Let flows leave by the rail that they arrive by, where a shortest path starts there."""
        topology = self.topology
        links, first = topology.node_links
        node = topology.link_tail[link]
        place = first[node] + rail
        own = links[np.minimum(place, links.size - 1)]
        head = topology.link_head[own]
        fits = (place < first[node + 1]) & (distance[head] == distance[state])
        fits &= links_in_service(topology)[own]
        link[fits], state[fits] = own[fits], head[fits]

    def _choices(self, distance: Ints, state: Ints, key: Ints) -> Ints:
        """Return the move towards the end that each flow makes: of those there are, by its key."""
        moves = self._moves
        states, where = np.unique(state, return_inverse=True)
        candidate = ranges(moves.first, states)
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
        rail: Ints | None = None,
        queue_pair: Ints | None = None,
    ) -> Routes:
        """Route flows between nodes over links in service."""
        src, dst = flow_ends(src, dst, self.detour.topology)
        hashed = {} if queue_pair is None else {"queue_pair": queue_pair}
        try:
            routes = self.inner.routes(src, dst, partition, rail, **hashed)
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
        given = None if rail is None else np.asarray(rail)[broken_flow]
        return _with_rows(
            routes, broken_flow, self.detour.routes(src[broken_flow], dst[broken_flow], rail=given)
        )

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
