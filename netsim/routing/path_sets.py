"""The paths over which packets are spread on tori and dragonflies whose routers choose."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.common.errors import RoutingError
from netsim.common.jit import load_kernels
from netsim.flows.traffic import read_only
from netsim.routing.base import no_path
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.levels import links_in_service
from netsim.topology.routes import PathSets, Routes
from netsim.topology.torus import Torus

_MOST = 100_000_000  # links of all paths of a job: 1.6 GB


@dataclass(frozen=True, slots=True, eq=False)
class RouterGraph:
    """The links in service between the routers of a fabric."""

    fabric: Torus | Dragonfly
    thirds: tuple[int, int]  # `Dragonfly.thirds`
    columns: tuple[Ints, ...]  # fields of `netsim.routing.path_set_kernels.Graph`

    @classmethod
    def on(cls, fabric: Torus | Dragonfly, rule: str) -> "RouterGraph":
        """Take the links of a fabric; only `rule` ``adaptive`` leads packets round."""
        first, n_routers = fabric.n_nodes, fabric.n_switches
        tail, head = fabric.link_tail - first, fabric.link_head - first
        inner = np.flatnonzero((tail >= 0) & (head >= 0) & links_in_service(fabric))
        link = inner[np.argsort(tail[inner], kind="stable")]
        tail, head = tail[link], head[link]
        into = np.argsort(head, kind="stable")
        group, thirds = np.zeros(n_routers, dtype=np.int64), (0, 0)
        if isinstance(fabric, Dragonfly):
            group = np.arange(n_routers) // fabric.routers_per_group
            thirds = fabric.thirds(rule)
        ends = np.arange(n_routers + 1)
        columns = (
            group,
            np.searchsorted(tail, ends),
            link,
            head,
            group[tail] != group[head],
            np.searchsorted(head[into], ends),
            into,
            tail,
        )
        return cls(fabric, thirds, columns)

    def path_sets(self, src: Ints, dst: Ints) -> PathSets:
        """Return the paths of flows between nodes; `RoutingError` where no link leads on."""
        kernels = load_kernels("netsim.routing.path_set_kernels", "routing kernels", 5)
        per_router, n_routers = self.fabric.nodes_per_router, self.fabric.n_switches
        here, there = src // per_router, dst // per_router
        pairs, pair = np.unique(there * n_routers + here, return_inverse=True)
        indptr, links, share = kernels.find_path_sets(
            pairs % n_routers,
            pairs // n_routers,
            kernels.Graph(*map(read_only, self.columns)),
            *self.thirds,
            _MOST,
        )
        if links.size > _MOST:
            raise RoutingError(
                f"packets between {pairs.size} pairs of routers of the fabric "
                f"({self.fabric.summary}) would be "
                f"spread over more than {_MOST:,} links, the most that are stored: place smaller "
                "jobs, or take a routing that fixes paths."
            )
        self._require(src, dst, (indptr[2 * pair + 1] == indptr[2 * pair]) & (here != there))
        return PathSets(indptr, links, share, pair)

    def _require(self, src: Ints, dst: Ints, lost: Ints) -> None:
        """Refuse flows without a way, or over a node link that is out of service."""
        works = links_in_service(self.fabric)
        lost = (lost | ~works[src] | ~works[self.fabric.n_nodes + dst]) & (src != dst)
        if lost.any():
            flow = int(np.argmax(lost))
            raise no_path(int(src[flow]), int(dst[flow]), self.fabric)


def nonminimal_part(
    topology: Topology, routes: Routes, step: Ints, nbytes: Floats
) -> Floats | None:
    """
    Return the part of each flow by non-minimal paths (F,); None where packets are not spread.

    Only the proportions of the bytes matter.
    """
    path_sets = routes.path_sets
    if path_sets is None:
        return None
    if not isinstance(topology, Dragonfly) or not path_sets.has_nonminimal.any():
        return np.zeros(step.size)
    kernels = load_kernels("netsim.routing.nonminimal_kernels", "routing kernels", 2)
    first = routes.links[routes.indptr[:-1]]
    capacity = topology.capacity if topology.multipath is None else topology.multipath.capacity
    found: Floats = kernels.nonminimal_part(
        np.ascontiguousarray(step, np.int64),
        first,
        np.ascontiguousarray(nbytes, np.float64),
        kernels.PairPaths(
            *map(read_only, (path_sets.indptr, path_sets.links, path_sets.share, path_sets.pair))
        ),
        capacity,
        topology.bases[2],
    )
    return found
