"""The ends of flows, checked where a routing takes them in."""

from netsim.arrays import Ints, numbers_below
from netsim.errors import RoutingError
from netsim.topology.base import Topology


def flow_ends(src: Ints, dst: Ints, topology: Topology) -> tuple[Ints, Ints]:
    """
    Return sources and destinations as arrays, or refuse them.

    Parameters
    ----------
    src, dst : (F,) int array
        Source and destination node of each flow; lists will do.
    topology : Topology
        The fabric.

    Returns
    -------
    src, dst : (F,) int array
        The same.

    Raises
    ------
    RoutingError
        If one is no list of nodes of the fabric, or they differ in length.

    Notes
    -----
    Every routing calls it: a node that does not exist has a link number all the same.
    """
    src = numbers_below("src", src, topology.n_nodes, RoutingError)
    dst = numbers_below("dst", dst, topology.n_nodes, RoutingError)
    if src.size != dst.size:
        raise RoutingError(
            f"src and dst: expected one of each for every flow, got {src.size} and {dst.size}."
        )
    return src, dst
