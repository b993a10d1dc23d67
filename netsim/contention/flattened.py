"""The flows of a job as kernels take them."""

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.base import Traffic
from netsim.errors import ContentionError

Flat = tuple[Ints, Ints, Floats, Ints, Ints, Floats]


def fields_of(traffic: Traffic) -> Flat:
    """Return the flows of a job in the order in which kernels take them."""
    routes = traffic.routes
    flows = traffic.step, traffic.sender, traffic.nbytes
    return (*flows, routes.indptr, routes.links, traffic.latency_s)


def flat(traffic: Traffic) -> Flat:
    """Return the flows of a job as the kernels take them, whatever arrays they are in."""
    step, sender, nbytes, indptr, links, latency_s = fields_of(traffic)
    return (
        np.ascontiguousarray(step, np.int64),
        np.ascontiguousarray(sender, np.int64),
        np.ascontiguousarray(nbytes, np.float64),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(links, np.int64),
        np.ascontiguousarray(latency_s, np.float64),
    )


def ways_of(traffic: Traffic) -> tuple[Ints, Ints, Floats, Ints, Floats]:
    """Return over which links packets are spread, as the kernels take it, or refuse."""
    ways, detoured, n_flows = traffic.routes.ways, traffic.detoured, traffic.step.size
    if ways is None or detoured is None:
        raise ContentionError(
            f"traffic of the routing {traffic.routes.rule!r} must say over which ways packets are "
            "spread and which part of each flow goes round."
        )
    if not ways.pair.size == detoured.size == n_flows:
        raise ContentionError(
            f"traffic must hold one pair of routers and one part that goes round per flow, got "
            f"{n_flows}, {ways.pair.size} and {detoured.size}."
        )
    return ways.indptr, ways.links, ways.share, ways.pair, detoured


def spread(traffic: Traffic) -> tuple[Ints, Floats, Ints, Ints, Ints, Ints, Floats]:
    """Return the flows of a job and their ways as `spread_constants` takes them."""
    step, sender, nbytes, indptr, hops, latency_s = flat(traffic)
    way_indptr, way_links, share, pair, detoured = ways_of(traffic)
    whole, real = np.stack([step, sender, pair]), np.stack([nbytes, latency_s, detoured])
    return whole, real, indptr, hops, way_indptr, way_links, share
