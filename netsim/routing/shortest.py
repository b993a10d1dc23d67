"""Shortest paths on any fabric, and the way round what failed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.arrays import Bools, Ints
from netsim.errors import RoutingError
from netsim.partition import Partition
from netsim.routes import Routes
from netsim.routing.base import Routing
from netsim.routing.ends import flow_ends
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.moves import Moves, divisors, ranges


@dataclass(frozen=True)
class Shortest:
    """
    Shortest paths over the links in service; on trees up, then down.

    Parameters
    ----------
    topology : Topology
        Any fabric.

    Notes
    -----
    At each vertex the links that lie on a shortest path to destination d are the candidates C,
    in ascending order, and the flow takes ``C[floor(d / divisor) mod |C|]``. The divisor is
    the product of w up to the vertex's level on a tree, so on an intact PGFT with mirrored
    cables this is D-mod-k; elsewhere it is 1. A breadth-first search for each destination:
    O(E) each.
    """

    topology: Topology

    @classmethod
    def on(cls, topology: Topology) -> "Shortest":
        """
        Make the routing for a fabric.

        Parameters
        ----------
        topology : Topology
            Any fabric.

        Returns
        -------
        Shortest
            The routing.
        """
        return cls(topology)

    @cached_property
    def _moves(self) -> Moves:
        """Moves over the links in service."""
        return Moves.on(self.topology)

    @cached_property
    def _divisors(self) -> Ints:
        """Divisor of the choice at each vertex."""
        return divisors(self.topology)

    def routes(self, src: Ints, dst: Ints, partition: Partition | None = None) -> Routes:
        """
        Route flows between nodes; a partition changes nothing.

        Parameters
        ----------
        src, dst : (F,) int array
            Source and destination node of each flow.
        partition : Partition, optional
            Ignored.

        Returns
        -------
        Routes
            Links of each flow in the order of travel.

        Raises
        ------
        RoutingError
            If no path leads from a source to its destination.
        """
        del partition
        src, dst = flow_ends(src, dst, self.topology)
        by_destination = np.argsort(dst, kind="stable")
        ends, first, count = np.unique(dst[by_destination], return_index=True, return_counts=True)
        found: list[tuple[Ints, Ints]] = []
        for node, start, size in zip(ends.tolist(), first, count, strict=True):
            flows = by_destination[start : start + size]
            found.append((flows, self._towards(node, src[flows])))
        width = max((table.shape[1] for _, table in found), default=0)
        padded = np.full((src.size, width), -1, dtype=np.int64)
        for flows, table in found:
            padded[flows, : table.shape[1]] = table
        return Routes.from_padded(padded, self.topology.n_links)

    def _towards(self, node: int, src: Ints) -> Ints:
        """Return the links from some sources to one destination, padded with -1."""
        moves, tree = self._moves, self.topology
        distance = moves.distances(node)
        away = src != node
        if np.any(distance[src[away]] < 0):
            lost = int(src[away][distance[src[away]] < 0][0])
            raise RoutingError(f"no path leads from node {lost} to node {node} in {tree.name}.")
        key = (
            int(tree.order[node]) if isinstance(tree, FatTree) and tree.order is not None else node
        )
        table = np.full((src.size, distance[src[away]].max(initial=0)), -1, dtype=np.int64)
        walking, state = np.flatnonzero(away), src[away]
        for step in range(table.shape[1]):
            move = self._choices(distance, state, key)
            table[walking, step] = moves.link[move]
            state = moves.head[move]
            on = state % moves.n_vertices != node
            walking, state = walking[on], state[on]
        return table

    def _choices(self, distance: Ints, state: Ints, key: int) -> Ints:
        """Return the move that each of some states makes towards a destination."""
        moves = self._moves
        states, where = np.unique(state, return_inverse=True)
        candidate = ranges(moves.first, states)
        good = distance[moves.head[candidate]] == distance[moves.tail[candidate]] - 1
        candidate = candidate[good & (distance[moves.head[candidate]] >= 0)]
        start = np.searchsorted(moves.tail[candidate], states)
        count = np.diff(start, append=candidate.size)
        wanted = key // self._divisors[states % moves.n_vertices] % count
        chosen: Ints = candidate[start + wanted][where]
        return chosen


@dataclass(frozen=True, slots=True)
class Rerouted:
    """
    A routing on a damaged fabric: flows that meet an absent link take a shortest path.

    Parameters
    ----------
    inner : Routing
        Routing of the fabric as built.
    detour : Shortest
        Shortest paths over the links in service.
    absent : (E,) bool array
        Links out of service.
    """

    inner: Routing
    detour: Shortest
    absent: Bools

    @classmethod
    def around(cls, inner: Routing, topology: Topology) -> "Rerouted":
        """
        Lead a routing round the absent links of a fabric.

        Parameters
        ----------
        inner : Routing
            Routing of the fabric as built.
        topology : Topology
            The fabric with its absent links.

        Returns
        -------
        Rerouted
            The routing that avoids them.
        """
        absent = np.zeros(topology.n_links, dtype=bool)
        absent[topology.absent] = True
        return cls(inner, Shortest(topology), absent)

    def routes(self, src: Ints, dst: Ints, partition: Partition | None = None) -> Routes:
        """
        Route flows between nodes over links in service.

        Parameters
        ----------
        src, dst : (F,) int array
            Source and destination node of each flow.
        partition : Partition, optional
            What the job owns.

        Returns
        -------
        Routes
            Links of each flow in the order of travel.

        Raises
        ------
        RoutingError
            If no path is left, or a job that owns its links owns an absent one.
        """
        src, dst = flow_ends(src, dst, self.detour.topology)
        routes = self.inner.routes(src, dst, partition)
        broken = self.absent[routes.links]
        if not broken.any():
            return routes
        if partition is not None and partition.links is not None:
            name = self.detour.topology.link_name(int(routes.links[broken][0]))
            raise RoutingError(f"the job owns link {name}, which is out of service.")
        met = np.zeros(routes.n_flows, dtype=bool)
        met[np.repeat(np.arange(routes.n_flows), routes.hops)[broken]] = True
        return _with_rows(routes, met, self.detour.routes(src[met], dst[met]))


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
