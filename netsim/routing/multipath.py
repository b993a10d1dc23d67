"""Routings that fix no path: switches choose the way of each packet."""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import RoutingError
from netsim.routing.base import CheckedRouting, Routing, no_path, queue_pairs
from netsim.routing.cluster import ClusterRouting
from netsim.routing.dimension import DimensionOrder
from netsim.routing.dragonfly import Minimal
from netsim.routing.path_sets import RouterGraph
from netsim.routing.shortest import Rerouted
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.multipath import (
    LinkGroups,
    has_link_groups,
    link_groups,
    with_multipath,
)
from netsim.topology.reach import switch_meetings
from netsim.topology.routes import Routes
from netsim.topology.torus import Torus

MULTIPATH_RULES = ("adaptive", "spray")


@dataclass(frozen=True)
class MultipathRouting(CheckedRouting):
    """
    Packets are spread over paths: ``adaptive`` by how occupied links are, ``spray`` at random.

    Only `packets` sees single packets. For all other models the links of a tree among which
    switches choose freely are one link with the capacity of all (`netsim.topology.multipath`): what
    a flow crosses here are such *link groups*, each known by the lowest of its links in service. On
    tori and dragonflies there are no link groups: a flow has the path of the usual routing, by
    which `packets` knows its ends and its length, and the links over which its packets are spread
    (`netsim.routing.path_sets`), by which the fluid models go.
    """

    topology: Topology
    rule: str  # "adaptive", "spray": how a switch chooses among the links that lead on

    @classmethod
    def on(cls, topology: Topology, *, rule: str) -> "MultipathRouting":
        """Make the routing for a fabric."""
        if not isinstance(topology, (FatTree, Torus, Dragonfly)):
            raise RoutingError(
                f"routing {rule!r} needs a fat-tree, a torus or a dragonfly, got "
                f"{topology.summary}."
            )
        if topology.half_duplex:
            raise RoutingError(
                f"routing {rule!r} needs full-duplex cables; both directions of some cables of "
                f"the fabric ({topology.summary}) share one capacity."
            )
        return cls(topology, rule)

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the link groups of flows on a tree; elsewhere also sets of paths."""
        tree = self.topology
        if not isinstance(tree, FatTree):
            found = self._usual.routes(src, dst)
            path_sets = self._graph.path_sets(src, dst)
            return Routes(found.indptr, found.links, found.n_links, self.rule, path_sets)
        (here, out), (there, into) = (np.divmod(end, tree.ports[0]) for end in (src, dst))
        table = _group_table(tree, (here, there), (out, into), self._groups.of)
        if _has_absent_links(tree):
            self._require_paths(src, dst, table)
        found = Routes.from_padded(table, tree.n_links)
        return Routes(found.indptr, found.links, found.n_links, self.rule)

    @cached_property
    def _usual(self) -> Routing:
        """The routing whose paths stand for others where there are no link groups."""
        usual = DimensionOrder if isinstance(self.topology, Torus) else Minimal
        routing: Routing = usual.on(self.topology)
        return (
            Rerouted.around(routing, self.topology) if _has_absent_links(self.topology) else routing
        )

    @cached_property
    def _graph(self) -> RouterGraph:
        """Routers of a torus or dragonfly."""
        assert isinstance(self.topology, (Torus, Dragonfly))  # noqa: S101 (asked for on these)
        return RouterGraph.on(self.topology, self.rule)

    @cached_property
    def _groups(self) -> LinkGroups:
        """Pools of the tree."""
        assert isinstance(self.topology, FatTree)  # noqa: S101 (asked for on trees alone)
        return link_groups(self.topology)

    @cached_property
    def _reach(self) -> tuple[Ints, Bools]:
        """Kind of each vertex, and which kinds have a switch above in common."""
        return switch_meetings(self.topology)

    def _require_paths(self, src: Ints, dst: Ints, table: Ints) -> None:
        """Refuse flows whose ends no path in service joins."""
        kind, meet = self._reach
        topology = self.topology
        absent = np.zeros(topology.n_links, dtype=bool)
        absent[topology.absent] = True
        first, last = table[:, 0], table[:, -1]
        above = kind[topology.link_head[first]], kind[topology.link_tail[last]]
        lost = (absent[first] | absent[last] | ~meet[above]) & (first >= 0)
        if lost.any():
            flow = int(np.argmax(lost))
            raise no_path(int(src[flow]), int(dst[flow]), topology)


def _has_absent_links(topology: Topology) -> bool:
    """Say whether links are absent."""
    return topology.absent is not None and topology.absent.size > 0


def _group_table(
    tree: FatTree, nodes: tuple[Ints, Ints], ports: tuple[Ints, Ints], of: Ints
) -> Ints:
    """Return the link groups (F, 2h) that flows cross, as `least_loaded_table` has links."""
    h, rails, (src, dst), (out, into) = tree.levels, tree.parents[0], nodes, ports
    turn = tree.turning_level(src, dst)
    table = np.full((src.size, 2 * h), -1, dtype=np.int64)
    for level in range(h):
        used = turn > level
        below, width = prod(tree.children[:level]), tree.ports[level]
        above = prod(tree.parents[:level])
        for base, end, port, column in (
            (tree.up_base[level], src, out, level),
            (tree.down_base[level], dst, into, 2 * h - 1 - level),
        ):
            own = port if level == 0 else (port % rails) * width  # any link of the link group
            link = base + end // below * above * width + own
            table[:, column] = np.where(used, of[np.where(used, link, 0)], -1)
    return table


def single_paths(routing: Routing, what: str, error: type[ValueError]) -> None:
    """Refuse a routing that fixes no paths; `what` needs paths."""
    routing = routing.inner if isinstance(routing, ClusterRouting) else routing
    if isinstance(routing, MultipathRouting):
        raise error(
            f"routing {routing.rule!r} lets switches choose the way of each packet: {what} a "
            "routing that fixes the path of each flow."
        )
    if queue_pairs(routing) > 1:
        raise error(f"routing option qps: {what} one path for each message, so qps = 1.")


def require_paths(topology: Topology, what: str, error: type[ValueError]) -> None:
    """Refuse a fabric that spreads packets over links that are no link groups."""
    if topology.multipath is not None and not has_link_groups(topology):
        raise error(
            f"routing {topology.multipath.rule!r} on the fabric ({topology.summary}) "
            "spreads the packets of a flow "
            f"over many paths: {what} a single one of each."
        )


def as_routed(topology: Topology, routing: Routing | None) -> Topology:
    """
    Return a fabric as models must see it under a routing.

    Parameters
    ----------
    topology : Topology
        The fabric.
    routing : Routing or None
        Any routing on it; None: no network is simulated.

    Returns
    -------
    Topology
        Where switches choose the way of each packet, a fabric that says so, for `Traffic` of that
        routing and for the contention model; else the fabric as it came.
    """
    inner = routing.inner if isinstance(routing, ClusterRouting) else routing
    if isinstance(inner, MultipathRouting):
        return with_multipath(topology, inner.rule)
    return topology
