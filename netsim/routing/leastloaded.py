"""Least-loaded routing of fat-trees: an optimistic bound on what adaptivity can do."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.jit import load_kernels
from netsim.routing.base import CheckedRouting, no_path
from netsim.routing.updown import need_fat_tree
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.levels import links_in_service
from netsim.topology.routes import Routes


@dataclass(frozen=True, slots=True)
class LeastLoaded(CheckedRouting):
    """
    Each flow in turn takes the minimal path whose busiest link is least loaded.

    Optimistic: it knows all flows of the call and the load of every link, which no switch does, and
    no flow changes its path later. Load is flows over capacity, counted within one call: flows of
    other jobs are not seen. Greedy, so not the best routing there is. Paths with a link out of
    service do not count; in a PGFT no non-minimal path is left where no minimal path is, as a path
    comes down through the same digits that it went up by. Cost: F times the number of minimal paths
    (a numba kernel).
    """

    topology: FatTree

    @classmethod
    def on(cls, topology: Topology) -> "LeastLoaded":
        """Make the routing for a fabric."""
        return cls(need_fat_tree(topology, "least-loaded"))

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
