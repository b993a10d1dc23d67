"""Up-down paths of a fat-tree, given the port that each flow takes on its way up."""

import numpy as np

from netsim.arrays import Ints
from netsim.errors import RoutingError
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree


def need_fat_tree(topology: Topology, routing: str) -> FatTree:
    """Refuse a fabric that is no PGFT."""
    if not isinstance(topology, FatTree):
        reason = f": {topology.origin.irregularity}" if topology.origin else "."
        raise RoutingError(f"routing {routing!r} needs a fat-tree, got {topology.name}{reason}")
    return topology


def path_table(tree: FatTree, src: Ints, dst: Ints, ports: Ints, cables: Ints) -> Ints:
    """
    Return the links of minimal up-down paths.

    `src`, `dst` (F,): source and destination nodes. `ports` (h, F): up-port taken at each level;
    looked at below the turning level only. `cables` (h, F): parallel cable taken down to each level
    0..h-1. Result (F, 2h): up links in columns 0..h-1, down links in columns h..2h-1 in the order
    of travel; -1 where the path turns below.

    The up-ports fix the digits of the switches; on the way down the other digits are those
    of the destination.
    """
    h, w = tree.levels, tree.parents
    turn = tree.turning_level(src, dst)
    table = np.full((src.size, 2 * h), -1, dtype=np.int64)
    low = 1  # w[0] * ... * w[l-1]
    size = 1  # m[0] * ... * m[l-1], nodes below a level-l element
    below = np.zeros(src.size, dtype=np.int64)  # digits 0..l-1 of the element on the path
    for level in range(h):
        used = turn > level
        port, width, single = ports[level], tree.ports[level], tree.parallel[level] == 1
        digit = port if single else port % w[level]
        up = below + low * (src // size)
        table[:, level] = np.where(used, tree.up_base[level] + up * width + port, -1)
        down = below + low * (dst // size)
        down_port = port if single else digit + w[level] * cables[level]
        link = tree.down_base[level] + down * width + down_port
        table[:, 2 * h - 1 - level] = np.where(used, link, -1)
        below += low * digit
        low *= w[level]
        size *= tree.children[level]
    return table


def down_cables(tree: FatTree, src: Ints, ports: Ints, rail: Ints | None = None) -> Ints:
    """
    Return the parallel cables of the way down, by the tree's rule.

    `src` (F,): source nodes. `ports` (h, F): up-ports of each flow. `rail` (F,) or None: up-port of
    the nodes that each flow takes at both ends. Result (h, F): the cable that mirrors the up-port,
    or source mod p.
    """
    cables = np.zeros_like(ports)
    for level in range(tree.levels):  # by scalars: numpy divides by those several times faster
        if tree.parallel[level] == 1:
            continue
        if tree.down_cable == "mirror" or (level == 0 and rail is not None):
            cables[level] = ports[level] // tree.parents[level]
        else:
            cables[level] = src % tree.parallel[level]
    return cables
