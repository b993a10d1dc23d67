"""Hops between any two nodes in a form whose sums over windows of a list are quick."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.jit import load_kernels
from netsim.topology.base import Topology
from netsim.topology.torus import Torus
from scheduler.errors import AllocationError


@dataclass(frozen=True, slots=True, eq=False)
class GridHops:
    """Hops on a torus or mesh: distances along the axes add up."""

    place: Ints  # (D, N): coordinates of each node
    ring: Ints  # (D,): routers along each axis; twice as many on an axis that is no ring

    def least_window(self, nodes: Ints, size: int) -> int:
        """Return where the successive nodes of a list with the least sum of hops begin."""
        kernels = load_kernels("scheduler.allocators.closest_kernels", "Closest Fit kernels", 2)
        return int(kernels.grid_window(nodes, self.place, self.ring, size))


@dataclass(frozen=True, slots=True, eq=False)
class TableHops:
    """Hops on any other machine: a table over groups of nodes attached to the same switches."""

    group: Ints  # (N,): group of each node; 0 for nodes that take no jobs
    hops: Ints  # (G, G): hops between groups

    def least_window(self, nodes: Ints, size: int) -> int:
        """Return where the successive nodes of a list with the least sum of hops begin."""
        kernels = load_kernels("scheduler.allocators.closest_kernels", "Closest Fit kernels", 2)
        return int(kernels.table_window(nodes, self.group, self.hops, size))


@lru_cache(maxsize=8)
def window_hops(fabric: Topology) -> GridHops | TableHops:
    """Put the hops of a machine in the form that suits it; all nodes must be connected."""
    if isinstance(fabric, Torus):
        routers = np.arange(fabric.n_nodes) // fabric.nodes_per_router
        sides = zip(fabric.dims, fabric.wrap, strict=True)
        ring = np.array([side if wraps else 2 * side for side, wraps in sides])
        return GridHops(np.ascontiguousarray(fabric.coordinates(routers)), ring)
    group, usable = _same_switches(fabric), fabric.usable_nodes
    _, first = np.unique(group[usable], return_index=True)
    members, n_groups = usable[first], first.size
    hops = fabric.hops(np.repeat(members, n_groups), np.tile(members, n_groups))
    if hops.min() < 0:
        raise AllocationError(
            f"allocator 'closest-fit-mind' needs a connected fabric, got {fabric.name}."
        )
    return TableHops(group, hops.reshape(n_groups, n_groups))


def _same_switches(fabric: Topology) -> Ints:
    """Return the group of each node: usable nodes attached to the same switches are in one."""
    switches: list[list[int]] = [[] for _ in range(fabric.n_nodes)]
    up = fabric.link_tail < fabric.n_nodes
    ends = zip(fabric.link_tail[up].tolist(), fabric.link_head[up].tolist(), strict=True)
    for node, switch in ends:
        switches[node].append(switch)
    usable = [tuple(sorted(switches[node])) for node in fabric.usable_nodes.tolist()]
    number = {key: index for index, key in enumerate(dict.fromkeys(usable))}
    group = np.zeros(fabric.n_nodes, dtype=np.int64)
    group[fabric.usable_nodes] = [number[key] for key in usable]
    return group
