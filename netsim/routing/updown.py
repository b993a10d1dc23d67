"""Up-down paths of a fat-tree, given the port that each flow takes on its way up."""

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.common.jit import load_kernels
from netsim.routing.base import flow_ends, no_path
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes


def need_fat_tree(topology: Topology, routing: str) -> FatTree:
    """Refuse a fabric that is no PGFT."""
    if not isinstance(topology, FatTree):
        reason = f": {topology.origin.irregularity}" if topology.origin else "."
        raise RoutingError(f"routing {routing!r} needs a fat-tree, got {topology.summary}{reason}")
    return topology


def up_down_routes(tree: FatTree, src: Ints, dst: Ints, ports: Ints, cables: Ints) -> Routes:
    """Return minimal up-down paths from up-ports and cables down (h, F) of each level."""
    kernels = load_kernels("netsim.routing.updown_kernels", "routes of trees", 1)
    indptr, links = kernels.up_down_paths(
        *(np.ascontiguousarray(part, np.int64) for part in (src, dst, ports, cables)), tree.shape
    )
    return Routes(indptr, links, tree.n_links)


def mod_k_routes(tree: FatTree, src: Ints, dst: Ints, *, by_source: bool = False) -> Routes:
    """
    Return minimal up-down paths on ports ``floor(d / (w[0]*...)) mod (w[l]*p[l])`` without holes.

    `by_source`: d is the number of the source, not of the destination.
    """
    kernels = load_kernels("netsim.routing.updown_kernels", "routes of trees", 1)
    rest = tree.shape, tree.down_cable == "mirror"
    try:
        indptr, links = kernels.mod_k_paths(src, dst, src if by_source else dst, *rest)
    except (TypeError, ValueError):  # lists, or arrays with gaps
        indptr = links = np.empty(0, dtype=np.int64)
    if indptr.size:
        return Routes(indptr, links, tree.n_links)
    src, dst = (np.ascontiguousarray(part) for part in flow_ends(src, dst, tree))
    indptr, links = kernels.mod_k_paths(src, dst, src if by_source else dst, *rest)
    return Routes(indptr, links, tree.n_links)


def endpoint_routes(tree: FatTree, src: Ints, dst: Ints, ports: Ints, cables: Ints) -> Routes:
    """
    Return minimal up-down paths between endpoints: they begin and end by the links of these.

    `ports`, `cables` (h, F): as for `up_down_routes`; those of nodes of several links are written.
    """
    width = tree.ports[0]
    if width == 1:
        return up_down_routes(tree, src, dst, ports, cables)
    (here, out), (there, into) = np.divmod(src, width), np.divmod(dst, width)
    rails = tree.parents[0]
    lost = np.flatnonzero((here != there) & (out % rails != into % rails))
    if lost.size:
        raise no_path(int(src[lost[0]]), int(dst[lost[0]]), tree)
    ports[0], cables[0] = out, into // rails
    return up_down_routes(tree, here, there, ports, cables)


def down_cables(tree: FatTree, src: Ints, ports: Ints) -> Ints:
    """Return the cables of the way down (h, F): those that mirror the up-port, or source mod p."""
    cables = np.zeros_like(ports)
    for level in range(tree.levels):  # by scalars: numpy divides by those several times faster
        if tree.parallel[level] == 1:
            continue
        if tree.down_cable == "mirror":
            cables[level] = ports[level] // tree.parents[level]
        else:
            cables[level] = src % tree.parallel[level]
    return cables
