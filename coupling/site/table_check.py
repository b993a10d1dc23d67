"""Check loaded forwarding tables: does everybody reach everybody, and is it D-mod-k."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.infiniband.lft import LFT
from netsim.infiniband.wiring import Wiring
from netsim.routing.base import Routing
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes

_BATCH = 200_000  # flows routed at once: tens of MB


@dataclass(frozen=True, slots=True)
class TableCheck:
    """What walking the tables between all nodes shows."""

    # nodes, pairs: nodes, and ordered pairs of different ones
    nodes: int
    pairs: int
    fault: str  # First pair that is not connected, and why; empty where all are
    longest_route: int  # Links of the longest route
    # Pairs whose route is that of D-mod-k; None on a fabric that is no PGFT, or where the walk
    # ended early
    pairs_as_d_mod_k: int | None


def check_tables(tables: LFT, wiring: Wiring) -> TableCheck:
    """Walk the tables between all pairs of nodes. Result: what was found, up to the first fault."""
    topology = wiring.topology
    nodes = np.flatnonzero(wiring.device[: topology.n_nodes] >= 0)
    plain: Routing | None = DModK.on(topology) if isinstance(topology, FatTree) else None
    longest, same, fault = 0, 0, ""
    rows = max(1, _BATCH // max(1, nodes.size))
    try:
        for first in range(0, nodes.size, rows):
            some = nodes[first : first + rows]
            src, dst = np.repeat(some, nodes.size), np.tile(nodes, some.size)
            src, dst = src[src != dst], dst[src != dst]
            routes = tables.routes(src, dst)
            longest = max(longest, int(routes.hops.max(initial=0)))
            if plain is not None:
                same += _equal_flows(routes, plain.routes(src, dst))
    except RoutingError as error:
        fault = str(error)
    pairs = nodes.size * (nodes.size - 1)
    counted = plain is not None and not fault
    return TableCheck(nodes.size, pairs, fault, longest, same if counted else None)


def _equal_flows(first: Routes, second: Routes) -> int:
    """Count the flows that cross the same links in both."""
    width = int(max(first.hops.max(initial=0), second.hops.max(initial=0)))
    return int((_padded_links(first, width) == _padded_links(second, width)).all(axis=1).sum())


def _padded_links(routes: Routes, width: int) -> Ints:
    """Return a row of links for each flow, -1 after the last."""
    table = np.full((routes.n_flows, width), -1, dtype=np.int64)
    row = np.repeat(np.arange(routes.n_flows), routes.hops)
    table[row, np.arange(row.size) - np.repeat(routes.indptr[:-1], routes.hops)] = routes.links
    return table
