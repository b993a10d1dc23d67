"""Up-down paths of a fat-tree: by given up-ports, or over the least loaded links."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.common.jit import load_kernels
from netsim.routing.base import CheckedRouting, flow_ends, no_path
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.levels import links_in_service
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
    kernels = load_kernels("netsim.routing.modk_kernels", "mod-k routes", 1)
    shape, mirror = tree.shape.view(np.uint64), tree.down_cable == "mirror"

    def between(src: Ints, dst: Ints) -> Routes:
        indptr = np.empty(src.size + 1, dtype=np.int64)
        links = np.empty(2 * shape.shape[1] * src.size, dtype=np.int64)
        numbers = src if by_source else dst
        n_links = kernels.mod_k_paths(src, dst, numbers, shape, mirror, indptr, links)
        if n_links < 0:
            raise ValueError("no node of the tree")
        links.resize(n_links, refcheck=False)  # in place: all-to-alls have a gigabyte of them
        return Routes(indptr, links, tree.n_links)

    try:
        return between(src, dst)
    except (AttributeError, TypeError, ValueError):  # lists, arrays with gaps, or no nodes
        return between(*(np.ascontiguousarray(part) for part in flow_ends(src, dst, tree)))


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


@dataclass(frozen=True, slots=True)
class LeastLoadedPerJob(CheckedRouting):
    """
    Each flow in turn takes the minimal path whose busiest link is least loaded.

    Optimistic: it knows all flows of the call and the load of every link, which no switch does, and
    no flow changes its path later. Load is flows over capacity, counted within one call, that is
    one job: a path depends on the job alone, not on when others started. Greedy, so not the best
    routing there is. Paths with a link out of service do not count; in a PGFT no non-minimal path
    is left where no minimal path is, as a path comes down through the same digits that it went up
    by. Cost: F times the number of minimal paths (a numba kernel).
    """

    per_flow: ClassVar[bool] = False

    topology: FatTree

    @classmethod
    def on(cls, topology: Topology) -> "LeastLoadedPerJob":
        """Make the routing for a fabric."""
        return cls(need_fat_tree(topology, "least-loaded-per-job"))

    def paths(self, src: Ints, dst: Ints) -> Routes:
        """Return the links of flows, routed in the order given, by any links of their nodes."""
        tree = self.topology
        first, last = src, dst
        src, dst = (tree.endpoints.node[end] for end in (src, dst))
        kernels = load_kernels("netsim.routing.leastloaded_kernels", "least-loaded routing", 2)
        shape = (tree.children, tree.parents, tree.parallel, tree.up_base, tree.down_base)
        table = kernels.least_loaded_table(
            np.ascontiguousarray(src),
            np.ascontiguousarray(dst),
            tree.turning_level(src, dst),
            kernels.TreeLinks(*(np.array(part, dtype=np.int64) for part in shape)),
            tree.capacity.max() / tree.capacity,  # mostly whole: sums are not rounded
            links_in_service(tree),
        )
        lost = np.flatnonzero((src != dst) & (table[:, 0] < 0))
        if lost.size:
            flow = int(lost[0])
            raise no_path(int(first[flow]), int(last[flow]), tree, by_rail=False)
        return Routes.from_padded(table, tree.n_links)
