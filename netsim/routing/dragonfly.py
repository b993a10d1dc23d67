"""Minimal and Valiant routing on dragonflies."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import RoutingError
from netsim.common.rng import whole_numbers
from netsim.routing.base import CheckedRouting
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.routes import Routes

_LEG = 2  # links within a group: green, black
_TO_GROUP = _LEG + 1  # and a blue one


@dataclass(frozen=True, slots=True)
class Minimal(CheckedRouting):
    """
    Minimal routing: within a group green, then black; between groups one blue cable.

    Among the blue cables between two groups a flow takes one with the fewest hops in all; among
    several such, the one at position ``destination mod their number``; among parallel lanes, lane
    ``destination mod lanes``. Source: J. Kim et al., ISCA 2008 (MIN); the choice among equals is
    ours, fixed by the destination as in a routing table.
    """

    topology: Dragonfly

    @classmethod
    def on(cls, topology: Topology) -> "Minimal":
        """Make the routing for a fabric."""
        return cls(_need_dragonfly(topology, "minimal"))

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows: nodes have one link each."""
        per_router = self.topology.nodes_per_router
        between = _minimal_links(self.topology, src // per_router, dst // per_router, dst)
        return _with_nodes(self.topology, src, dst, between)


@dataclass(frozen=True, slots=True)
class Valiant(CheckedRouting):
    """
    Valiant routing: minimal to a random place, then minimal to the destination.

    Between groups the place is another group, entered wherever the minimal blue cable leads (J. Kim
    et al., ISCA 2008, VAL); within a group it is another router. Two groups alone have no third,
    and a group of two routers has no other: there the routing is minimal. A draw depends on the
    seed and the two nodes only.
    """

    topology: Dragonfly
    seed: int = 1

    @classmethod
    def on(cls, topology: Topology, seed: int) -> "Valiant":
        """Make the routing for a fabric."""
        return cls(_need_dragonfly(topology, "valiant"), seed)

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows: nodes have one link each."""
        fabric = self.topology
        here, there = src // fabric.nodes_per_router, dst // fabric.nodes_per_router
        middle = here.copy()
        first = np.full((src.size, _TO_GROUP), -1, dtype=np.int64)
        near, far = self._detours(here, there)
        middle[near] = self._other_router(src[near], dst[near])
        first[near, :_LEG] = _local_links(fabric, here[near], middle[near], dst[near])
        for some in fabric.batches(np.flatnonzero(far)):
            target = self._other_group(src[some], dst[some])
            exits, entries = fabric.gateway_ends(here[some] // fabric.routers_per_group, target)
            cable = _pick_column(fabric.local_hops(here[some, None], exits), dst[some])
            first[some], middle[some] = _to_group(
                fabric, here[some], (exits, entries), cable, dst[some]
            )
        second = _minimal_links(fabric, middle, there, dst)
        return _with_nodes(fabric, src, dst, np.concatenate([first, second], axis=1))

    def _detours(self, here: Ints, there: Ints) -> tuple[Bools, Bools]:
        """Mark flows that take a third router of their group, and those that take a third group."""
        size = self.topology.routers_per_group
        local = here // size == there // size
        near = local & (here != there) & (size > 2)  # noqa: PLR2004 (source, destination, other)
        return near, ~local & (self.topology.groups > 2)  # noqa: PLR2004 (the same for groups)

    def _other_router(self, src: Ints, dst: Ints) -> Ints:
        """Draw a router of the group that is neither end."""
        size, per_router = self.topology.routers_per_group, self.topology.nodes_per_router
        here, there = src // per_router, dst // per_router
        group = here // size * size
        drawn = whole_numbers(self.seed, (src, dst), size - 2)
        return group + _skipping_numbers(drawn, here - group, there - group)

    def _other_group(self, src: Ints, dst: Ints) -> Ints:
        """Draw a group that is neither end's."""
        size = self.topology.routers_per_group * self.topology.nodes_per_router
        drawn = whole_numbers(self.seed, (src, dst), max(1, self.topology.groups - 2))
        return _skipping_numbers(drawn, src // size, dst // size)


def _need_dragonfly(topology: Topology, name: str) -> Dragonfly:
    """Refuse any other fabric."""
    if not isinstance(topology, Dragonfly):
        raise RoutingError(f"routing {name!r} needs a dragonfly, got {topology.summary}.")
    return topology


def _skipping_numbers(drawn: Ints, one: Ints, other: Ints) -> Ints:
    """Map 0..n-3 onto 0..n-1 without two different numbers."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    drawn = drawn + (drawn >= low)
    return drawn + (drawn >= high)


def _pick_column(hops: Ints, key: Ints) -> Ints:
    """Return for each flow the column with the fewest hops, the (key mod number)-th of equals."""
    best = hops == hops.min(axis=1, keepdims=True)
    rank = np.cumsum(best, axis=1) - 1
    wanted = key % best.sum(axis=1)
    column: Ints = np.argmax(best & (rank == wanted[:, None]), axis=1)
    return column


def _local_links(fabric: Dragonfly, here: Ints, there: Ints, key: Ints) -> Ints:
    """Return the green and the black link between routers of one group, -1 where not needed."""
    column, row = there % fabric.columns, there // fabric.columns % fabric.rows
    green = fabric.green(here, column, key % fabric.lanes[0])
    turn = here - here % fabric.columns + column
    black = fabric.black(turn, row, key % fabric.lanes[1])
    return np.stack([np.where(here != turn, green, -1), np.where(turn != there, black, -1)], axis=1)


def _to_group(
    fabric: Dragonfly, here: Ints, ends: tuple[Ints, Ints], cable: Ints, key: Ints
) -> tuple[Ints, Ints]:
    """Return green, black and blue link into another group by a chosen cable, and the entry."""
    flow = np.arange(here.size)
    out, into = ends[0][flow, cable], ends[1][flow, cable]
    size = fabric.routers_per_group
    blue = fabric.blue(out // size, into // size, cable, key % fabric.lanes[2])
    return np.concatenate([_local_links(fabric, here, out, key), blue[:, None]], axis=1), into


def _minimal_links(fabric: Dragonfly, here: Ints, there: Ints, key: Ints) -> Ints:
    """Return the links between routers on minimal paths, (F, 5), padded with -1."""
    table = np.full((here.size, _TO_GROUP + _LEG), -1, dtype=np.int64)
    size = fabric.routers_per_group
    arrival = here.copy()
    for some in fabric.batches(np.flatnonzero(here // size != there // size)):
        exits, entries = fabric.gateway_ends(here[some] // size, there[some] // size)
        hops = fabric.local_hops(here[some, None], exits)
        cable = _pick_column(hops + fabric.local_hops(entries, there[some, None]), key[some])
        links, arrival[some] = _to_group(fabric, here[some], (exits, entries), cable, key[some])
        table[some, :_TO_GROUP] = links
    table[:, _TO_GROUP:] = _local_links(fabric, arrival, there, key)
    return table


def _with_nodes(fabric: Dragonfly, src: Ints, dst: Ints, between: Ints) -> Routes:
    """Put the links of the nodes around those between routers."""
    table = np.concatenate([src[:, None], between, fabric.n_nodes + dst[:, None]], axis=1)
    table[src == dst] = -1
    return Routes.from_padded(table, fabric.n_links)
