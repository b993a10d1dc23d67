"""Hops between any two nodes as sums of small tables, for sums over the pairs of a window."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.arrays import Ints
from netsim.kernelcache import load_kernels
from netsim.topology.base import Topology
from netsim.topology.torus import Torus
from scheduler.errors import AllocationError


@dataclass(frozen=True, slots=True, eq=False)
class HopSums:
    """
    Distance of two nodes: ``hops[row[i, k] + column[j, k]]`` summed over K tables.

    Parameters
    ----------
    row, column : (N, K) int array
        Where the row of each node begins in each table, and its place in a row.
    hops : (T,) int array
        The tables one after the other: one of coordinates for each axis of a torus, else one
        of groups of nodes that are attached to the same switches.
    metric : bool
        Whether the triangle inequality holds. It does not on every dragonfly: minimal paths
        there use one cable between groups at most, and two can be shorter.
    """

    row: Ints
    column: Ints
    hops: Ints
    metric: bool

    def total(self, nodes: Ints) -> int:
        """
        Return the sum of hops over all unordered pairs of some nodes.

        Parameters
        ----------
        nodes : (n,) int array
            Different nodes.

        Returns
        -------
        int
            What `Topology.total_hops` gives, in O(groups^2) on any machine.
        """
        total = 0
        for row, column in zip(self.row[nodes].T, self.column[nodes].T, strict=True):
            _, first, count = np.unique(row, return_index=True, return_counts=True)
            between = self.hops[row[first, None] + column[first]]
            total += int(count @ between @ count) // 2
        return total


@lru_cache(maxsize=8)
def hop_sums(fabric: Topology) -> HopSums:
    """
    Build the tables of a machine.

    Parameters
    ----------
    fabric : Topology
        Any machine.

    Returns
    -------
    HopSums
        Its tables.

    Raises
    ------
    AllocationError
        If two nodes that take jobs are not connected.
    """
    rows, columns, tables = [], [], []
    base = 0
    for group, table in _tables(fabric):
        rows.append(base + group * len(table))
        columns.append(group)
        tables.append(table)
        base += table.size
    kernels = load_kernels("scheduler.allocators.closest_kernels", "Closest Fit kernels", 2)
    return HopSums(
        np.stack(rows, axis=1),
        np.stack(columns, axis=1),
        np.concatenate([table.ravel() for table in tables]),
        all(kernels.is_metric(table.astype(np.int16)) for table in tables),
    )


def _tables(fabric: Topology) -> Iterator[tuple[Ints, Ints]]:
    """Yield the group of each node, and the hops between groups, of each table."""
    if isinstance(fabric, Torus):
        coordinates = fabric.coordinates(np.arange(fabric.n_nodes) // fabric.nodes_per_router)
        for axis, group in enumerate(coordinates):
            step = fabric.strides[axis] * fabric.nodes_per_router
            yield group, _between(fabric, np.arange(fabric.dims[axis]) * step)
        return
    up = fabric.link_tail < fabric.n_nodes
    switches: list[list[int]] = [[] for _ in range(fabric.n_nodes)]
    for node, switch in zip(
        fabric.link_tail[up].tolist(), fabric.link_head[up].tolist(), strict=True
    ):
        switches[node].append(switch)
    usable = fabric.usable_nodes
    keys = [tuple(sorted(switches[node])) for node in usable.tolist()]
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    group = np.zeros(fabric.n_nodes, dtype=np.int64)
    group[usable] = [number[key] for key in keys]
    _, first = np.unique(group[usable], return_index=True)
    yield group, _between(fabric, usable[first])


def _between(fabric: Topology, nodes: Ints) -> Ints:
    """Return the table of hops between some nodes."""
    size = nodes.size
    table = fabric.hops(np.repeat(nodes, size), np.tile(nodes, size)).reshape(size, size)
    if table.min() < 0:
        raise AllocationError(
            f"allocator 'closest-fit-mind' needs a connected fabric, got {fabric.name}."
        )
    return table
