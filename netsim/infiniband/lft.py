"""Linear forwarding tables: at every switch, the next link towards every endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.routing.base import CheckedRouting, Routing
from netsim.routing.dmodk import endpoint_ports
from netsim.routing.multipath import single_paths
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes


@dataclass(frozen=True, slots=True, eq=False)
class LFT(CheckedRouting):
    """The table of every switch; a routing like any other."""

    topology: Topology
    # (n_switches, n_endpoints): directed link that switch s takes towards endpoint d, a node or,
    # where these have several links, one of them; -1 where it has no entry
    out: NDArray[np.int32]

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Walk the tables from every source to its destination."""
        topology, points = self.topology, self.topology.endpoints
        first, last = self._first_links(src), dst
        src, dst = points.node[src], points.node[dst]
        at = src.copy()
        columns: list[Ints] = []
        moving = np.flatnonzero(at != dst)
        for hop in range(topology.n_switches + 2):
            if not moving.size:
                table = np.column_stack(columns) if columns else np.empty((src.size, 0), np.int64)
                return Routes.from_padded(table, topology.n_links)
            link = (
                first[moving]
                if hop == 0
                else self.out[at[moving] - topology.n_nodes, last[moving]].astype(np.int64)
            )
            self._require_entries(link, at[moving], last[moving])
            column = np.full(src.size, -1, dtype=np.int64)
            column[moving] = link
            columns.append(column)
            at[moving] = topology.link_head[link]
            there = at[moving] < topology.n_nodes
            astray = there & (topology.reverse[link] != points.link[last[moving]])
            if astray.any():
                wrong, flow = int(link[astray][0]), moving[astray][0]
                where = topology.vertex_name(int(topology.link_head[wrong]))
                if topology.link_head[wrong] == dst[flow]:
                    where = f"another link, {topology.link_name(wrong)}"
                to = self._end_name(int(last[flow]))
                raise RoutingError(f"the tables deliver packets for {to} to {where}.")
            moving = moving[at[moving] != dst[moving]]
        name = self._end_name(int(last[moving[0]]))
        raise RoutingError(f"the tables loop: packets for {name} never arrive.")

    def _first_links(self, src: Ints) -> Ints:
        """Return the links by which endpoints send, -1 for those out of service."""
        first = self.topology.endpoints.link[src]
        gone = self.topology.absent
        return first if gone is None else np.where(np.isin(first, gone), -1, first)

    def _end_name(self, end: int) -> str:
        """Name an endpoint: its node, or of several its link."""
        topology, points = self.topology, self.topology.endpoints
        node = topology.vertex_name(int(points.node[end]))
        return node if points.one_each else topology.link_name(int(points.link[end]))

    def _require_entries(self, link: Ints, at: Ints, last: Ints) -> None:
        """Raise for the first flow that cannot go on."""
        if np.all(link >= 0):
            return
        flow = int(np.argmax(link < 0))
        here, there = self.topology.vertex_name(int(at[flow])), self._end_name(int(last[flow]))
        raise RoutingError(f"{here} has no entry towards {there}.")

    def confined_to(self, jobs: Sequence[tuple[Routing, Partition]]) -> "LFT":
        """Return tables that route each job's traffic by a routing of its own."""
        out = self.out.copy()
        owner: dict[int, int] = {}
        for number, (routing, partition) in enumerate(jobs):
            for node in np.unique(partition.nodes).tolist():
                if owner.setdefault(node, number) != number:
                    name = self.topology.vertex_name(node)
                    raise RoutingError(f"{name} is in two jobs; a destination has one table entry.")
            switch, dst, link = self._entries(routing, partition)
            out[switch, dst] = link
        return LFT(self.topology, out)

    def _entries(self, routing: Routing, partition: Partition) -> tuple[Ints, Ints, Ints]:
        """Return switch, destination and link of every hop between the nodes of a job."""
        topology = self.topology
        single_paths(routing, "forwarding tables need", RoutingError)
        if not topology.endpoints.one_each:
            raise RoutingError(f"tables of jobs need one link per node, got {topology.summary}.")
        nodes = np.unique(partition.nodes)
        src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
        routes = routing.routes(src, dst, partition)
        target = np.repeat(dst, routes.hops)
        hop = topology.link_tail[routes.links] >= topology.n_nodes
        switch, target, link = routes.links[hop], target[hop], routes.links[hop]
        switch = topology.link_tail[switch] - topology.n_nodes
        entry, first, inverse = np.unique(
            switch * topology.n_nodes + target, return_index=True, return_inverse=True
        )
        clash = np.flatnonzero(link != link[first][inverse])
        if clash.size:
            at = topology.vertex_name(int(switch[clash[0]]) + topology.n_nodes)
            to = topology.vertex_name(int(target[clash[0]]))
            raise RoutingError(f"no table: at {at} the routing takes two ways towards {to}.")
        switch, target = divmod(entry, topology.n_nodes)
        return switch, target, link[first]


def d_mod_k_tables(tree: FatTree) -> LFT:
    """Return the tables of D-mod-k: an entry at every switch for every node."""
    if tree.ports[0] != 1:
        raise RoutingError(f"forwarding tables need one link per node, got {tree.summary}.")
    nodes = np.arange(tree.n_nodes)
    there = np.ones(nodes.size, dtype=bool) if tree.order is None else tree.order >= 0
    ports = endpoint_ports(tree, nodes)
    rows = []
    for level in range(1, tree.levels + 1):
        x = np.arange(tree.counts[level])[:, None]
        w, low = tree.parents[level - 1], prod(tree.parents[: level - 1])
        # down: the child on the way to d, and of its up-ports the one that leads here
        child = x % low + low * (nodes // prod(tree.children[: level - 1]))
        port = x // low % w + w * (ports[level - 1] // w)
        link = tree.down_base[level - 1] + child * tree.ports[level - 1] + port
        if level < tree.levels:
            up = tree.up_base[level] + x * tree.ports[level] + ports[level]
            covered = x // (low * w) == nodes // prod(tree.children[:level])
            link = np.where(covered, link, up)
        rows.append(np.where(there, link, -1).astype(np.int32))
    return LFT(tree, np.concatenate(rows))
