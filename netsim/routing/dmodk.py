"""D-mod-k on PGFT(h; m; w; p): destination-based routing, exactly as OpenSM's ftree does it."""

from dataclasses import dataclass
from math import prod

import numpy as np

from netsim.arrays import Ints
from netsim.errors import RoutingError
from netsim.partition import Partition
from netsim.routes import Routes
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree


@dataclass(frozen=True, slots=True)
class DModK:
    """
    D-mod-k: each switch chooses its up-port from the destination's number.

    Parameters
    ----------
    tree : FatTree
        The fabric.

    Notes
    -----
    Up-port of a level-l element towards destination d:
    ``floor(d / (w[0] * ... * w[l-1])) mod (w[l] * p[l])``; it divides by products of w,
    the numbers of up-ports, also on tapered trees. The path turns at the first level whose
    switch covers d; going down, the digits are those of d. Source: Zahavi 2010; OpenSM 3.3
    ftree agrees hop by hop.
    """

    tree: FatTree

    @classmethod
    def on(cls, topology: Topology) -> "DModK":
        """
        Make the routing for a fabric.

        Parameters
        ----------
        topology : Topology
            A fat-tree.

        Returns
        -------
        DModK
            The routing.

        Raises
        ------
        RoutingError
            If the fabric is no PGFT.
        """
        if not isinstance(topology, FatTree):
            raise RoutingError(f"routing 'd-mod-k' needs a fat-tree, got {topology.name}.")
        return cls(topology)

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
        """
        del partition
        return Routes.from_padded(up_down_table(self.tree, src, dst), self.tree.n_links)


def turning_level(tree: FatTree, src: Ints, dst: Ints) -> Ints:
    """
    Return the level at which each path turns round.

    Parameters
    ----------
    tree : FatTree
        The fabric.
    src, dst : (F,) int array
        Source and destination nodes.

    Returns
    -------
    (F,) int array
        0 inside a node, 1 at the leaf, ..., h at the top.
    """
    level = np.zeros(src.size, dtype=np.int64)
    for step in range(tree.levels):
        below = prod(tree.children[:step])
        level[src // below != dst // below] = step + 1
    return level


def up_down_table(tree: FatTree, src: Ints, dst: Ints) -> Ints:
    """
    Return the links of every D-mod-k path.

    Parameters
    ----------
    tree : FatTree
        The fabric.
    src, dst : (F,) int array
        Source and destination nodes.

    Returns
    -------
    (F, 2h) int array
        Up links in columns 0..h-1, down links in columns h..2h-1 in the order of travel;
        -1 where the path turns below.
    """
    h, w, p = tree.levels, tree.parents, tree.parallel
    turn = turning_level(tree, src, dst)
    table = np.full((src.size, 2 * h), -1, dtype=np.int64)
    low = 1  # w[0] * ... * w[l-1]
    size = 1  # m[0] * ... * m[l-1], nodes below a level-l element
    below = np.zeros(src.size, dtype=np.int64)  # digits 0..l-1 of the element on the path
    for level in range(h):
        used = turn > level
        ports = w[level] * p[level]
        port = (dst // low) % ports
        up = below + low * (src // size)
        table[:, level] = np.where(used, tree.up_base[level] + up * ports + port, -1)
        cable = port // w[level] if tree.down_cable == "mirror" else src % p[level]
        down = below + low * (dst // size)
        down_port = port % w[level] + w[level] * cable
        column = 2 * h - 1 - level
        table[:, column] = np.where(used, tree.down_base[level] + down * ports + down_port, -1)
        below += low * (port % w[level])
        low *= w[level]
        size *= tree.children[level]
    return table
