"""Which part of the flows of a job goes round by third groups of a dragonfly."""

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import load_kernels
from netsim.flows.traffic import read_only
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.routes import Routes


def detoured_part(topology: Topology, routes: Routes, step: Ints, nbytes: Floats) -> Floats | None:
    """
    Return which part of each flow of a job goes round.

    `routes`: of its flows between nodes. `step`, `nbytes` (F,): as in `Traffic`. Result (F,): 0 to
    1; None where packets are not spread over ways. Only the proportions of the bytes matter.
    """
    ways = routes.ways
    if ways is None:
        return None
    if not isinstance(topology, Dragonfly) or not ways.has_detour.any():
        return np.zeros(step.size)
    kernels = load_kernels("netsim.routing.detour_kernels", "routing kernels", 2)
    first = routes.links[routes.indptr[:-1]]
    capacity = topology.capacity if topology.spread is None else topology.spread.capacity
    found: Floats = kernels.detoured_part(
        np.ascontiguousarray(step, np.int64),
        first,
        np.ascontiguousarray(nbytes, np.float64),
        kernels.PairPaths(*map(read_only, (ways.indptr, ways.links, ways.share, ways.pair))),
        capacity,
        topology.bases[2],
    )
    return found
